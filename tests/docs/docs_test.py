#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs_test.py BUILD PLUGIN_FOLDER [SANITIZERS]: what the documentation shows works, and what it names is
there.

Run is every fenced block of sh, python, c and cmake in README.md, SECURITY.md and docs/*.md, every example of
the man page and every example of `csz help`.  A page's blocks run in its own scratch folder, one after the
other, with the data that tests/docs/setup.sh makes for it and with csz, the examples and an installed copy of
this build within reach:

    ```sh              run by bash -eu; the whole block is left out where a command of `needs=a,b` on the fence is missing
    ```python          run by a Python that has the modules of `needs=`
    ```c               compiled and run, put into a main() of its own unless it has one
    ```json            must be JSON
    ```cmake, ```text  shown; saved where the comment before the block says `<!-- file: NAME -->`, as C is too, for the blocks that follow
    ```text output     what the block before it prints on standard output
    <!-- before: CODE -->   in front of a block: code that it needs and a reader does not; may be several lines

tests/docs/plan.txt is the one list of what is not run, with the reason, and of sizes that are made smaller.
An entry that fits nothing fails, so does a block of another language, and an indented block that holds
commands: those are for drawings and formulas.

Also checked: a picture that a page's blocks draw is the one of docs/figures that has its name.  In the text:
links lead somewhere; `make TARGET`, files, tests, CMake options, functions and options of csz in backquotes
exist; docs/api.md names every function of csz.h.  Prints one line for each and exits 1 if any fails.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

source = Path(__file__).resolve().parents[2]
build = Path(sys.argv[1]).resolve()
plugins = sys.argv[2]
NOT_MODULES = ("plugin", "ncgen", "operator", "gfortran")  # among the needs of a block of Python
LANGUAGES = ("sh", "python", "c", "cmake", "json", "text")
SUBCOMMANDS = ("compress", "decompress", "info", "compare", "verify", "test", "analyze", "bench", "hdf5")
counts = {"ok": 0, "FAIL": 0, "left out": 0}


def tell(verdict, where, detail=""):
    counts[verdict] += 1
    print(f"{verdict:9} {where}{': ' + detail if detail else ''}", flush=True)


class Rule:
    """A line of plan.txt: KIND | PAGE or * | PATTERN | REASON or REPLACEMENT."""

    def __init__(self, line):
        self.kind, self.page, self.pattern, self.text = (part.strip() for part in line.split(" | "))

    def fits(self, page, text):
        return self.page in ("*", page) and re.search(self.pattern, text, re.MULTILINE) is not None


plan = [Rule(line) for line in (source / "tests/docs/plan.txt").read_text().splitlines() if line and not line.startswith("#")]


def planned(kind, page, text):
    return next((rule.text for rule in plan if rule.kind == kind and rule.fits(page, text)), None)


# ---- Blocks --------------------------------------------------------------------------------------------------------------


class Block:
    def __init__(self, page, line, language, fence="", text="", file=None, before=""):
        self.page, self.line, self.language, self.fence, self.text, self.file, self.before = page, line, language, fence, text, file, before
        self.where = f"{page}:{line}"

    def needs(self):
        found = re.search(r"needs=(\S+)", self.fence)
        return found[1].split(",") if found else []


COMMANDS = "csz csz-mpi make cmake cc pip python3 mpirun export h5repack h5dump nccopy ncdump ncgen import from cd git spack".split()


def blocks_of_markdown(path):
    """Blocks of a page; indented ones are looked at too, because commands do not belong there."""
    page, blocks, inside, comments = path.name, [], None, {}
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if inside is not None:
            if line.startswith("```"):
                blocks.append(inside)
                inside = None
            else:
                inside.text += line + "\n"
        elif line.startswith("```"):
            language, _, fence = line[3:].partition(" ")
            inside = Block(page, number, language, fence, "", comments.get("file"), comments.get("before", ""))
            comments = {}
        elif found := re.match(r"<!-- (file|before): (.*?) -->$", line):
            comments[found[1]] = f"{comments[found[1]]}\n{found[2]}" if found[1] in comments else found[2]
        else:
            comments = {}
            if line.startswith("    ") and (line.split() or [""])[0] in COMMANDS and not re.match(r"\s*([-*]|\d+\.) ", line):
                tell("FAIL", f"{page}:{number}", f"a command in an indented block, which nothing runs: {line.strip()}")
    if inside is not None:
        tell("FAIL", inside.where, "a block that does not end")
    return blocks


def blocks_of_man(path):
    """The .nf ... .fi parts under EXAMPLES."""
    blocks, inside, in_examples = [], None, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(".SH"):
            in_examples = line == ".SH EXAMPLES"
        elif in_examples and line == ".nf":
            inside = Block(path.name, number, "sh")
        elif inside and line == ".fi":
            blocks.append(inside)
            inside = None
        elif inside:
            inside.text += line.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\\\", "\\") + "\n"
    return blocks


def block_of_help(command):
    told = subprocess.run(["csz", "help", command], capture_output=True, text=True, check=True).stdout
    return Block(f"help {command}", told[: told.index("examples:")].count("\n") + 2, "sh", text=told.partition("examples:\n")[2])


def commands_of(text):
    """A script's lines, those that go on with the next joined to it."""
    command = ""
    for line in text.splitlines():
        command += line + "\n"
        if not re.search(r"(\\|\|)$", line.split(" #")[0].rstrip()):
            yield command
            command = ""
    if command:
        yield command


# ---- What is there -------------------------------------------------------------------------------------------------------


def runs(*command):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


known = {}
told_once = set()


def lacks(need):
    """Why a need is not met, or None."""
    if need not in known:
        known[need] = find_out(need)
    return known[need]


def find_out(need):
    if need == "plugin":
        return None if plugins != "none" else "no HDF5 plugin that other programs can load"
    if need == "hdf5":
        told = subprocess.run(["csz", "--version"], capture_output=True, text=True).stdout
        return None if re.search(r"^hdf5 yes", told, re.MULTILINE) else "no HDF5 in csz"
    if need == "mpi":
        if not shutil.which("csz-mpi") or not shutil.which("mpirun"):
            return "no MPI in this build"
        return None if runs("mpirun", "-n", "2", "true") else "mpirun does not work here"
    if need == "report":
        return None if python_with(["numpy", "matplotlib"]) else "no Python with numpy and matplotlib for csz-report"
    if need == "operator":
        return None if "ADIOS2_PLUGIN_PATH" in os.environ else "no ADIOS2 operator: adios2_test builds it"
    if need == "cuda.h":
        return None if cuda_include() else "no CUDA headers"
    return None if shutil.which(need) else f"no {need}"


def cuda_include():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    folder = Path(nvcc).resolve().parents[1] / "include"
    return folder if (folder / "cuda_runtime_api.h").exists() else None


def python_with(modules):
    """A Python that has the modules: the environment of python_environment.sh, or the system's."""
    for python in (build / "python/venv/bin/python", "python3"):
        if runs(str(python), "-c", f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {list(modules)})))"):
            return str(python)
    return None


# ---- Running -------------------------------------------------------------------------------------------------------------


def smaller(page, text):
    for rule in plan:
        if rule.kind == "smaller" and rule.page in ("*", page):
            text = re.sub(rule.pattern, lambda _, rule=rule: rule.text.replace("@PLUGINS@", plugins), text)
    return text


def shell_script(block):
    """The block's commands without those that the plan leaves out, each of which is told."""
    script = ""
    for command in commands_of(block.text):
        reason = planned("left out", block.page, command)
        need = planned("needs", block.page, command)
        reason = reason or (need and lacks(need))
        if reason:
            tell("left out", block.where, f"{command.split(' #')[0].strip().splitlines()[0]} ({reason})")
        else:
            script += command
    return script if re.sub(r"(?m)^\s*(#.*)?$", "", script).strip() else None


def c_program(block, folder):
    """A script that compiles a block of C, and runs it unless it is to be compiled alone."""
    text = block.text if re.search(r"\bmain\(", block.text) else f"int main(void) {{\n{block.before}\n{block.text}\nreturn 0;\n}}\n"
    headers = "csz.h math.h stdio.h stdlib.h string.h".split()
    headers += ["csz_analyze.h"] if re.search("csz_(analy|quality)", text) else []
    headers += ["csz_frames.h"] if re.search(r"csz_(plan|reader|compress_frame)", text) else []
    headers += ["csz_mpi.h"] if "csz_mpi_" in text else []
    headers += ["csz_cuda.h", "cuda_runtime_api.h", "unistd.h"] if "csz_cuda_" in text else []
    lines = "".join(f"#include <{header}>\n" for header in headers) + f'#line {block.line + 1} "{block.page}"\n'
    (folder / "block.c").write_text(lines + smaller(block.page, text))
    compiler = "mpicc" if "csz_mpi_" in text else "cc"
    flags = "-Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable $(pkg-config --cflags csz)"
    if planned("compiled", block.page, f"```{block.language}"):
        include = f"-isystem {cuda_include()}" if "cuda.h" in block.needs() else ""
        return f"{compiler} {flags} {include} -c block.c -o block.o\n"
    return f"{compiler} {flags} block.c $(pkg-config --libs csz) -lm -o block && ./block\n"


def is_json(block):
    try:
        json.loads(block.text)
    except ValueError as error:
        return tell("FAIL", block.where, f"no JSON: {error}")
    return tell("ok", block.where)


def run(block, folder):
    if block.language not in LANGUAGES:
        return tell("FAIL", block.where, f"a block of '{block.language}': give it one of {', '.join(LANGUAGES)}")
    if block.file:
        return (folder / block.file).write_text(smaller(block.page, block.text))
    if block.language == "text" and block.fence == "output":
        shown = folder / "shown.txt"  # not there where the block was left out
        if shown.exists() and shown.read_text() != block.text:
            tell("FAIL", block.where, f"the block before it prints\n{shown.read_text()}")
        return None
    (folder / "shown.txt").unlink(missing_ok=True)
    if block.language == "json":
        return is_json(block)
    if block.language in ("text", "cmake"):
        return None if block.language == "text" else tell("FAIL", block.where, "cmake that nothing runs: name its file")
    reason = planned("left out", block.page, f"```{block.language}")
    if reason:
        if (block.page, block.language) not in told_once:
            told_once.add((block.page, block.language))
            tell("left out", block.page, f"its blocks of {block.language}: {reason}")
        return None
    modules = [need for need in block.needs() if need not in NOT_MODULES] if block.language == "python" else []
    needs = [need for need in block.needs() if need not in modules]
    reason = next(filter(None, map(lacks, needs)), None)
    if not reason and block.language == "python":
        python = python_with(modules)
        reason = None if python else f"no Python with {', '.join(modules)}"
    if reason:
        return tell("left out", block.where, f"{block.language}: {reason}")

    if block.language == "sh":
        script = shell_script(block)
        if script is None:
            return None
        script = smaller(block.page, f"{block.before}\n{script}")
    elif block.language == "python":
        (folder / "block.py").write_text(smaller(block.page, f"{block.before}\n{block.text}"))
        script = f"{shlex.quote(python)} block.py\n"
    else:
        script = c_program(block, folder)
    (folder / "block.sh").write_text(script)
    done = subprocess.run(["bash", "-eu", "-o", "pipefail", "block.sh"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    if done.returncode == 0:
        (folder / "shown.txt").write_bytes(done.stdout)
        reason = planned("compiled", block.page, f"```{block.language}")
        return tell("left out", block.where, f"compiled and not run: {reason}") if reason else tell("ok", block.where)
    tell("FAIL", block.where, f"status {done.returncode}")
    print("\n".join("          " + line for line in (script + (done.stdout + done.stderr).decode(errors="replace")).splitlines()[:60]))


SAME_PICTURE = """
import sys, numpy as np, matplotlib.image
drawn, shown = (matplotlib.image.imread(path)[..., :3] for path in sys.argv[1:])
sys.exit(int(drawn.shape != shown.shape or (np.abs(drawn - shown).max(axis=2) > 0.1).mean() > 0.01))
"""


def compare_pictures(page, folder):
    """Drivers and versions may differ in single pixels at edges; another picture differs in more than one of
    a hundred."""
    for name in re.findall(r"\(figures/(\w+\.png)\)", page.read_text()):
        if (folder / name).exists():
            same = runs(python_with(["numpy", "matplotlib"]), "-c", SAME_PICTURE, folder / name, page.parent / "figures" / name)
            tell("ok" if same else "FAIL", f"{page.name}: its picture {name}", "" if same else "is not the one that its blocks draw")


def set_up(work):
    """Puts the build within reach: commands, an installed copy, the settings that MPI wants in a
    container."""
    commands = work / "bin"
    commands.mkdir()
    for name in ("csz", "csz-mpi", "csz-mpi-wave", "csz-demo", "csz-generate"):
        if (build / name).exists():
            (commands / name).symlink_to(build / name)
    report = commands / "csz-report"
    report.write_text(f'#!/bin/sh\nexec "{python_with(["numpy", "matplotlib"])}" "{source}/tools/csz-report" "$@"\n')
    report.chmod(0o755)
    for name in ("simulate", "analyse", "ssh"): # the programs that stand for the reader's own
        (commands / name).symlink_to(source / "tests/docs" / name)
    environment = {"PATH": f"{commands}:{os.environ['PATH']}", "LC_ALL": "C", "TMPDIR": str(work), "PYTHONPATH": str(source / "python"),
                   "CSZ_LIBRARY": str(build / "libcsz.so"), "PYTHONPYCACHEPREFIX": str(build / "python/pycache"),
                   "MPLCONFIGDIR": str(build / "python/matplotlib"),
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                   "OMPI_MCA_plm_rsh_agent": "", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                   "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}  # fmt: skip
    # TMPDIR: of two mpiruns that begin at once, as other tests have theirs, Open MPI 4 may fail to make the
    # session folder they share
    os.environ.update(environment)
    os.environ.pop("HDF5_PLUGIN_PATH", None)
    if plugins != "none":
        os.environ["HDF5_PLUGIN_PATH"] = plugins
    os.environ.pop("ADIOS2_PLUGIN_PATH", None)
    if any((build / "adios2-plugins").glob("libcsz_adios2.*")):
        os.environ["ADIOS2_PLUGIN_PATH"] = str(build / "adios2-plugins")
    prefix = work / "installed"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
    libraries = next(prefix.rglob("csz.pc")).parents[1]
    os.environ.update(PKG_CONFIG_PATH=str(libraries / "pkgconfig"), CMAKE_PREFIX_PATH=str(prefix), LD_LIBRARY_PATH=str(libraries),
                      CPATH=str(prefix / "include"), LIBRARY_PATH=str(libraries))  # fmt: skip


# ---- The text ------------------------------------------------------------------------------------------------------------

FOLDERS = "bench cli cmake docs examples fortran include mpi packaging plugins python src tests tools".split()


def read_all(*patterns):
    return "\n".join(path.read_text(errors="replace") for pattern in patterns for path in sorted(source.glob(pattern)) if path.is_file())


class Names:
    """What the text may name."""

    def __init__(self):
        self.targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", (source / "Makefile").read_text()))
        self.cmake = read_all("CMakeLists.txt", "cmake/*.cmake", "fortran/CMakeLists.txt", "mpi/CMakeLists.txt", "plugins/hdf5/CMakeLists.txt")
        self.code = read_all("include/*.h", "src/*/*.[ch]", "src/cuda/*/*.c*", "src/cuda/*/*.h", "mpi/*.[ch]", "plugins/hdf5/*.[ch]", "cli/*.c", "cli/*/*.c", "python/csz/*.py", "fortran/*.f90")
        self.tests = {path.name for path in source.glob("tests/**/*")} | {path.name for folder in ("mpi", "fortran") for path in source.glob(f"{folder}/tests/*")}
        self.stems = {Path(name).stem for name in self.tests}
        self.options = {}

    def options_of(self, command):
        if command not in self.options:
            told = subprocess.run(["csz", "help", command], capture_output=True, text=True)
            self.options[command] = told.stdout if told.returncode == 0 else None
        return self.options[command]

    def lacking(self, span):
        """What a span in backquotes names that is not there, or None."""
        words = span.split()
        if len(words) > 1 and words[0] == "make" and re.fullmatch(r"[a-z-]+", words[1]) and words[1] not in self.targets:
            return f"no target {words[1]}"
        for option in re.findall(r"-D(CSZ_\w+)", span):
            if not re.search(rf"\b{option}\b", self.cmake):
                return f"no CMake option {option}"
        path = words[0] if words else ""
        if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+/?", path):
            top, rest = path.split("/", 1)
            if top in FOLDERS and not any(source.glob(path.rstrip("/"))) and not any(source.glob(path + ".*")):
                return f"no file {path}"
            if top == "build" and re.fullmatch(r"\w+", rest) and rest not in self.stems and not re.search(rf"\b{rest}\b", self.cmake):
                return f"no program {path}"
        name = re.fullmatch(r"((test|soak|fuzz|gpu|emulated|tsan)_\w+|\w+_test)(\.sh)?", span)
        function = re.match(r"(csz_[a-z0-9_]+)\b", span)
        if function:
            return None if re.search(rf"\b{function[1]}\b", self.code) else f"no {function[1]} in the sources"
        if name and name[1] not in self.stems and not re.search(rf"\b{name[1]}\b", self.cmake):
            return f"no test {span}"
        if len(words) > 1 and words[0] == "csz" and re.fullmatch(r"[a-z0-9]+", words[1]) and words[1] != "help":
            text = self.options_of(words[1])
            if text is None:
                return f"no command csz {words[1]}"
            for word in words[2:]:
                if re.match(r"-[a-z]$|--[a-z]", word) and not re.search(rf"(?<![\w-]){word.split('=')[0]}(?![\w-])", text):
                    return f"csz {words[1]} has no option {word}"
        return None


def check_text(path, names):
    text = re.sub(r"(?ms)^```.*?^```$", "", path.read_text())
    wrong = []
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
            wrong.append(f"a link to {target}, which is not there")
    for span in re.findall(r"`([^`\n]+)`", text):
        found = names.lacking(span)
        if found and not planned("named", path.name, span):
            wrong.append(f"`{span}`: {found}")
    for problem in wrong:
        tell("FAIL", path.name, problem)
    if not wrong:
        tell("ok", f"{path.name}: what its text names is there")


def check_api(path):
    declared = "".join((source / "include" / name).read_text() for name in ("csz.h", "csz_frames.h", "csz_analyze.h"))
    functions = set(re.findall(r"\b(csz_\w+)\(", "\n".join(re.findall(r"(?ms)^CSZ_API .*?;", declared))))
    missing = sorted(name for name in functions if not re.search(rf"\b{name}\b", path.read_text()))
    if missing or not functions:
        tell("FAIL", path.name, f"functions of csz.h, csz_frames.h and csz_analyze.h that the page does not name: {', '.join(missing)}")
    else:
        tell("ok", f"{path.name}: names all {len(functions)} functions of csz.h, csz_frames.h and csz_analyze.h")


# ---- All -----------------------------------------------------------------------------------------------------------------


def main():
    pages = [source / "README.md", source / "SECURITY.md", *sorted((source / "docs").glob("*.md"))]
    with tempfile.TemporaryDirectory(prefix="csz_docs_test.") as name:
        work = Path(name)
        set_up(work)
        names = Names()
        everything = [(page.stem, blocks_of_markdown(page)) for page in pages]
        everything += [(page.name, blocks_of_man(page)) for page in sorted((source / "docs").glob("*.1"))]
        everything += [(f"help {command}", [block_of_help(command)]) for command in SUBCOMMANDS]
        for title, blocks in everything:
            folder = work / title
            folder.mkdir()
            if any(block.language in ("sh", "python", "c") for block in blocks):
                subprocess.run(["bash", "-eu", source / "tests/docs/setup.sh", title], cwd=folder, stdout=subprocess.DEVNULL, check=True)
            for block in blocks:
                run(block, folder)
        for page in pages:
            compare_pictures(page, work / page.stem)
            check_text(page, names)
        check_api(source / "docs/api.md")
    shown = [(block.page, f"```{block.language}\n{block.text}") for _, blocks in everything for block in blocks]
    shown += [(page.name, page.read_text()) for page in pages]
    for rule in plan:
        if not any(rule.fits(*one) for one in shown):
            tell("FAIL", "plan.txt", f"'{rule.kind} | {rule.page} | {rule.pattern}' fits nothing")
    print(f"{counts['ok']} ok, {counts['FAIL']} failed, {counts['left out']} left out")
    return 1 if counts["FAIL"] or not counts["ok"] else 0


sys.exit(main())
