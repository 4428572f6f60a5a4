#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""conda_test.py: the Conda recipe and the build agree.  rattler-build (PyPI's py-rattler-build) parses and
renders the recipe; versions and requirements are those of csz.h and pyproject.toml; CMake, run with the
recipe's arguments, takes them all and decides as they say.  Not shown: that the packages build from
conda-forge's compilers and libraries.  Prints a line for each property; exits 1 if one does not hold, 77
without rattler-build."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import rattler_build
    import yaml
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

source = Path(__file__).resolve().parents[2]
text = (source / "packaging/conda/recipe.yaml").read_text()
failures = 0


def check(name, holds, detail=""):
    global failures
    failures += not holds
    print(f"{'ok   ' if holds else 'FAIL '} {name}{'' if holds else f': {detail}'}")


recipe = rattler_build.Stage0Recipe.from_yaml(text)
compilers = rattler_build.VariantConfig({"c_compiler": ["gcc"], "fortran_compiler": ["gfortran"], "c_stdlib": ["sysroot"]})
rendered = {str(variant.recipe.package.name): variant.recipe for variant in recipe.render(compilers)}
check("rattler-build renders both packages", sorted(rendered) == ["csz", "csz-python"], sorted(rendered))
numbers = re.findall(r"^#define CSZ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (source / "include/csz.h").read_text(), re.MULTILINE)
versions = {str(one.package.version) for one in rendered.values()}
check("the version is that of csz.h", versions == {".".join(numbers)}, versions)

outputs = {one["package"]["name"]: one for one in yaml.safe_load(text)["outputs"]}
needed = {name: {kind: set(map(str, some)) for kind, some in one["requirements"].items()} for name, one in outputs.items()}
project = (source / "pyproject.toml").read_text()
for line, kind, what in (('requires-python = ">=3.9"', "run", "python >=3.9"), ('"numpy>=1.22"', "run", "numpy >=1.22"), ('"setuptools>=77"', "host", "setuptools >=77")):
    check(f"{what}, as pyproject.toml says", line in project and what in needed["csz-python"][kind], needed["csz-python"])

configure = next(line for line in outputs["csz"]["build"]["script"] if line.startswith("cmake -S"))
given = dict(re.findall(r"-D(CSZ_\w+)=(\w+)", configure))
options = {"CSZ_ZSTD": "zstd", "CSZ_HDF5": "hdf5 >=1.10", "CSZ_FORTRAN": '${{ compiler("fortran") }}', "CSZ_CUDA": None, "CSZ_MPI": None}
check("every part that CMake would look for is decided", given.keys() == options.keys(), given)
for option, package in options.items():
    is_on, everything = given.get(option) == "ON", needed["csz"]["build"] | needed["csz"]["host"]
    check(f"{option}={given.get(option)} and its requirement go together", is_on == (package in everything), sorted(everything))
with tempfile.TemporaryDirectory() as folder:
    arguments = [one for one in shlex.split(configure.replace("${CMAKE_ARGS}", "")) if one.startswith("-D")]
    told = subprocess.run(["cmake", "-S", source, "-B", folder, *arguments], capture_output=True, text=True)
    check("CMake takes the arguments", told.returncode == 0 and "not used by the project" not in told.stderr, told.stderr[-300:])
    check("and leaves CUDA out", "cuda: OFF" in told.stdout, told.stdout[-300:])
sys.exit(failures > 0)
