# SPDX-License-Identifier: BSD-3-Clause
"""The binding fits csz.h, csz_frames.h, csz_analyze.h and csz_cuda.h, and calls from many threads and processes do not
disturb each other."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import csz
from csz import _errors, _library
from support import ROOT, smooth

# Structures of calls that this libcsz may lack are checked where csz.h has them.
HEADERS = ("csz.h", "csz_frames.h", "csz_analyze.h", "csz_cuda.h")
header = "".join((ROOT / "include" / name).read_text() for name in HEADERS) if (ROOT / "include").exists() else ""


structures = {name: kind for name, kind in _library.STRUCTURES.items() if f"typedef struct {name} " in header}


@unittest.skipUnless(header, "csz.h is not here")
class Header(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler here")
    def test_structures_lie_as_the_compiler_lays_them(self):
        lines = []
        for name, structure in structures.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{f[0]} %zu\\n", offsetof({name}, {f[0]}));' for f in structure._fields_]
        program = "#include <stdio.h>\n#include <stddef.h>\n#include <csz_analyze.h>\n#include <csz_frames.h>\n#include <csz_cuda.h>\nint main(void) {" + "\n".join(lines) + "return 0;}"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "layout.c"
            source.write_text(program)
            subprocess.run(["cc", "-I", ROOT / "include", source, "-o", Path(folder) / "layout"], check=True)
            told = subprocess.run([Path(folder) / "layout"], check=True, capture_output=True, text=True).stdout
        expected = []
        for name, structure in structures.items():
            expected.append(f"{name} {ctypes.sizeof(structure)}")
            expected += [f"{name}.{f[0]} {getattr(structure, f[0]).offset}" for f in structure._fields_]
        self.assertEqual(told.splitlines(), expected)

    def test_every_member_is_bound(self):
        for name, structure in structures.items():
            body = re.sub(r"/\*.*?\*/", "", re.search(r"typedef struct %s \{(.*?)\n\}" % name, header, re.DOTALL)[1], flags=re.DOTALL)
            members = [re.sub(r"\[.*", "", m.split()[-1].lstrip("*")) for d in body.split(";") if d.strip() for m in d.split(",")]
            self.assertEqual(members, [f[0] for f in structure._fields_], name)

    def test_every_status_has_its_exception(self):
        statuses = {int(n): name for name, n in re.findall(r"CSZ_ERROR_(\w+) = (\d+)", header)}
        self.assertLessEqual(set(statuses), set(_errors.BY_STATUS))
        for number, kind in _errors.BY_STATUS.items():
            self.assertEqual(kind.status, number)
            self.assertIs(getattr(csz, kind.__name__), kind)

    def test_names_stand_at_their_numbers(self):
        for prefix, names in (("WORKFLOW", _library.WORKFLOWS), ("BACKEND", _library.BACKENDS), ("BOUND", _library.BOUND_MODES)):
            numbers = {n: int(v) for n, v in re.findall(rf"CSZ_{prefix}_(\w+) =\s+(\d+)", header)}
            targets = {name.upper(): number for name, number in (_library.TARGETS | {"exact": _library.EXACT}).items() if prefix == "BOUND"}
            self.assertEqual(targets | {n.upper().replace("+", "_"): i for i, n in enumerate(names)}, numbers)

    def test_version(self):
        numbers = re.findall(r"#define CSZ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
        self.assertEqual(csz.__version__, ".".join(numbers))


class Threads(unittest.TestCase):
    def test_many_at_once(self):
        fields = [smooth((30 + i, 40, 20), seed=i) for i in range(8)]
        expected = [csz.compress(f, abs=1e-3) for f in fields]

        def work(i):
            archive = csz.compress(fields[i % 8], abs=1e-3, threads=2)
            return archive == expected[i % 8] and bool(csz.compare(fields[i % 8], csz.decompress(archive), bound=1e-3))

        with ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(64))))

    def test_the_gil_is_released(self):
        """Another thread sees a call between its start and its end.  If calls kept the GIL, it would run
        between two of them alone."""
        field = smooth((256, 256, 32))
        progress = _library.lib.csz_context_progress
        progress.restype, progress.argtypes = ctypes.c_double, [ctypes.c_void_p]
        handles, seen = [], threading.Event()

        def work():
            csz.compress(field[:2], abs=1e-4, threads=1)  # makes this thread's context
            handles.append(_library.context(None).handle)
            for _ in range(1000):
                csz.compress(field, abs=1e-4, threads=1)
                if seen.is_set():
                    break

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            while not working.done():
                if handles and 0 < progress(handles[0]) < 1:
                    seen.set()
            working.result()
        self.assertTrue(seen.is_set())

    def test_scratch_can_be_given_back(self):
        field = smooth((30, 40))
        archive = csz.compress(field, abs=1e-3)
        csz.free_scratch()
        self.assertEqual(csz.compress(field, abs=1e-3), archive)

    @unittest.skipUnless(hasattr(os, "fork") and not csz.features()["cuda_available"], "needs fork, and CUDA does not survive it")
    def test_after_a_fork(self):
        field = smooth((30, 40, 50))
        archive = csz.compress(field, abs=1e-3)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if csz.compress(field, abs=1e-3) == archive else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(csz.compress(field, abs=1e-3), archive)


class Loading(unittest.TestCase):
    def test_the_lowest_instruction_set_gives_the_same_archive(self):
        self.assertIn(csz.features()["cpu_isa"], ("x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "portable"))
        code = (
            "import csz, hashlib, numpy; a = numpy.sin(numpy.arange(60000) * 1e-3).reshape(30, 40, 50);"
            "print(csz.features()['cpu_isa'], hashlib.sha256(csz.compress(a, abs=1e-3)).hexdigest())"
        )
        told = {}
        for wanted in ("", "x86-64"):
            environment = {**os.environ, "CSZ_CPU_ISA": wanted}
            out = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
            isa, archive = out.stdout.split()
            told[isa] = archive
        self.assertEqual(len(set(told.values())), 1)
        self.assertIn(csz.features()["cpu_isa"], told)

    def test_a_library_that_is_not_there_is_named(self):
        environment = {**os.environ, "CSZ_LIBRARY": "/nowhere/libcsz.so"}
        told = subprocess.run([sys.executable, "-c", "import csz"], env=environment, capture_output=True, text=True)
        self.assertNotEqual(told.returncode, 0)
        self.assertRegex(told.stderr, "ImportError: csz cannot load libcsz: .*/nowhere")

    def test_a_library_of_something_else_is_refused(self):
        environment = {**os.environ, "CSZ_LIBRARY": "libm.so.6"}
        told = subprocess.run([sys.executable, "-c", "import csz"], env=environment, capture_output=True, text=True)
        self.assertRegex(told.stderr, "ImportError: (libm.so.6 has no csz_|csz cannot load)")

    def test_typed(self):
        self.assertTrue(Path(csz.__file__).with_name("py.typed").exists())


if __name__ == "__main__":
    unittest.main()
