#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""spack_test.py: the Spack recipe and the build agree, as far as that can be told without Spack.

The recipe is loaded with a stand-in for what it imports, as Spack before 1.0 and as Spack from 1.0 on lays it
out.  For every choice of variants: each CMake variable it sets exists, each dependency belongs to the variant
that needs it, and CMake, run with the arguments, takes them all and decides as the variant says.  Not shown:
that Spack itself accepts the recipe, finds the dependencies and installs.  Prints a line for each property;
exits 1 if one does not hold.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

source = Path(__file__).resolve().parents[2]
recipe = source / "packaging/spack/csz/package.py"
cmake_text = "\n".join(p.read_text() for p in (source / "CMakeLists.txt", source / "mpi/CMakeLists.txt", source / "fortran/CMakeLists.txt", *sorted((source / "cmake").glob("*.cmake"))))
PACKAGES = {"zstd": "find_package(Zstd", "hdf5": "find_package(Hdf5Serial", "mpi": "find_package(MPI",
            "fortran": "check_language(Fortran"}  # by variant: what CMake looks for
failures = 0


def check(name, holds, detail=""):
    global failures
    failures += not holds
    print(f"{'ok   ' if holds else 'FAIL '} {name}{'' if holds else f': {detail}'}")


class CMakePackage:
    """The methods that the recipe calls, as Spack documents them."""

    run_tests = False

    @staticmethod
    def define(name, value):
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        return f"-D{name}:STRING={value}"

    def define_from_variant(self, name, variant):
        assert variant in self.spec.known, f"no variant {variant}"
        return self.define(name, variant in self.spec.chosen)


class CudaPackage:
    """Brings the variants cuda and cuda_arch."""


class Spec:
    def __init__(self, known, chosen, archs):
        self.known, self.chosen = known, chosen
        self.variants = {"cuda_arch": types.SimpleNamespace(value=archs)}

    def satisfies(self, text):
        name = text.lstrip("+~")
        assert name in self.known, f"no variant {name}"
        return (name in self.chosen) == text.startswith("+")


def load(is_new):
    """The recipe's class, and what its directives said: name, then arguments."""
    said = []

    def directive(name):
        return lambda *arguments, **options: said.append((name, arguments, options))

    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on"):
        setattr(package, name, directive(name))
    package.join_path = os.path.join
    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    if is_new:
        for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            modules[name] = types.ModuleType(name)
        modules["spack_repo.builtin.build_systems.cmake"] = types.SimpleNamespace(CMakePackage=CMakePackage)
        modules["spack_repo.builtin.build_systems.cuda"] = types.SimpleNamespace(CudaPackage=CudaPackage)
    else:
        package.CMakePackage, package.CudaPackage = CMakePackage, CudaPackage
    sys.modules.update(modules)
    try:
        names = {}
        exec(compile(recipe.read_text(), str(recipe), "exec"), names)
    finally:
        for name in modules:
            del sys.modules[name]
    return names["Csz"], said


def arguments_of(kind, variants, chosen, archs=("none",)):
    package = kind()
    package.spec = Spec({*variants, "cuda"}, chosen, archs)
    return package.cmake_args()


def configure(arguments):
    """Exit status, output and cache of CMake with these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["cmake", "-S", source, "-B", folder, *arguments], capture_output=True, text=True)
        cache = Path(folder, "CMakeCache.txt")
        return done.returncode, done.stdout + done.stderr, cache.read_text() if cache.exists() else ""


old, _ = load(is_new=False)
kind, said = load(is_new=True)
check("loads as Spack before 1.0 and from 1.0 on lays things out", old.__name__ == kind.__name__ == "Csz")
variants = {arguments[0]: options for name, arguments, options in said if name == "variant"}
dependencies = {arguments[0]: options for name, arguments, options in said if name == "depends_on"}
check("has a version", any(name == "version" for name, *_ in said))
check("every variant says what it is and whether it is on", all("description" in o and "default" in o for o in variants.values()), variants)
licence = next(arguments[0] for name, arguments, _ in said if name == "license")
check("names the licence of the sources", f"SPDX-License-Identifier: {licence}" in (source / "CMakeLists.txt").read_text(), licence)
check("the variants are those of CMake's optional packages", set(variants) == set(PACKAGES), variants)

least = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", cmake_text)[1]
check("asks for the CMake that CMakeLists.txt asks for", f"cmake@{least}:" in dependencies, dependencies)
for variant, search in PACKAGES.items():
    needed = [name for name, options in dependencies.items() if options.get("when") == f"+{variant}" and re.split("[@~+]", name)[0] == variant]
    check(f"+{variant} depends on {variant}, which CMake looks for", len(needed) == 1 and search in cmake_text, needed)
named = re.search(r"variants ([\w\s,]+?);", (source / "docs/install.md").read_text())
named = set(re.findall(r"\w+", named[1])) - {"and"} if named else set()
check("docs/install.md names them all", named == {*variants, "cuda", "cuda_arch"}, named)
conditions = {options["when"] for options in dependencies.values() if "when" in options}
check("no dependency hangs on another variant", conditions <= {f"+{v}" for v in (*variants, "cuda")}, conditions)

settable = set(re.findall(r"(?:option\(|set\()(\w+)(?= [^)]*?(?:\"|CACHE))", cmake_text)) | {"BUILD_TESTING"}
every = [set(c) for n in range(len(variants) + 2) for c in itertools.combinations([*variants, "cuda"], n)]
unknown = {name for chosen in every for name in re.findall(r"-D(\w+)", " ".join(arguments_of(kind, variants, chosen, ("80", "90"))))} - settable
check(f"every variable of {len(every)} choices of variants exists in CMake", not unknown, unknown)
check("cuda_arch becomes CSZ_CUDA_ARCHS", "-DCSZ_CUDA_ARCHS:STRING=80;90" in arguments_of(kind, variants, {"cuda"}, ("80", "90")))
check("and none leaves CMake's own", not any("ARCHS" in a for a in arguments_of(kind, variants, {"cuda"})))

for chosen in (set(), set(variants)):
    title = " ".join("+" + v if v in chosen else "~" + v for v in variants)
    status, told, cache = configure(arguments_of(kind, variants, chosen))
    check(f"CMake configures with {title}", status == 0, told[-1500:])
    check("and uses every argument", "not used by the project" not in told, told[-1500:])
    for variant in variants:
        wanted = "ON" if variant in chosen else "OFF"
        check(f"CSZ_{variant.upper()} is {wanted}", f"CSZ_{variant.upper()}:BOOL={wanted}\n" in cache)
    if not chosen:
        check("nothing that was not chosen is found", "zstd: no" in told and re.search(r"hdf5: *(;|$|FALSE|0)", told, re.M) and "MPI_C_FOUND" not in cache, told)

plugin_dir = re.search(r"set\(CSZ_HDF5_PLUGIN_DIR \"?\$\{CMAKE_INSTALL_LIBDIR\}/([^\" )]+)", (source / "plugins/hdf5/CMakeLists.txt").read_text())
check("HDF5_PLUGIN_PATH is where the plugin is installed", plugin_dir and plugin_dir[1].replace("/", '", "') in recipe.read_text(), plugin_dir)
print("not shown here: that Spack itself accepts the recipe and installs (it is not installed)")
sys.exit(1 if failures else 0)
