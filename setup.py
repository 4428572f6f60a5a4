# SPDX-License-Identifier: BSD-3-Clause
"""Builds libcsz with CMake into the package, so that `pip install .` needs a C compiler and cmake and nothing
else.  Where HDF5's headers are found the HDF5 plugin is built into it, too, for csz.hdf5.

The environment decides what the wheel holds:
  CMAKE_ARGS          arguments for CMake: "-DCSZ_CUDA=OFF" for the CPU alone, "-DCSZ_CUDA_ARCHS=all" for every card.  By default the
                      CUDA backend is built where nvcc is found, for the GPU of this machine
                      (docs/install.md), and such a wheel works on machines without a GPU too.
  CSZ_BUILT_LIBRARY   a libcsz that was built already, taken as it is
  CSZ_BUILT_PLUGIN    the same of libh5csz
  CSZ_VERSION_SUFFIX  for example cu13: makes the version 0.1.0+cu13, to tell wheels apart
  CSZ_PYTHON_BUILD    the folder for what is made on the way, build-python/ by default
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

root = Path(__file__).resolve().parent
work = Path(os.environ.get("CSZ_PYTHON_BUILD", root / "build-python")).resolve()
library = "libcsz.dylib" if sys.platform == "darwin" else "libcsz.so"


def version():
    header = (root / "include" / "csz.h").read_text()
    numbers = re.findall(r"^#define CSZ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE)
    suffix = os.environ.get("CSZ_VERSION_SUFFIX", "")
    return ".".join(numbers) + (f"+{suffix}" if suffix else "")


def build_libraries():
    """The shared library and the HDF5 plugin, or None in its place; built here unless they were named."""
    built, plugin = os.environ.get("CSZ_BUILT_LIBRARY"), os.environ.get("CSZ_BUILT_PLUGIN")
    if built:
        return Path(built).resolve(), Path(plugin).resolve() if plugin else None
    if not shutil.which("cmake"):
        sys.exit("csz is built with CMake, which was not found: install it (pip install cmake) and try again")
    folder = work / "cmake"
    cache = folder / "CMakeCache.txt"
    if cache.exists():
        cache.unlink()  # it holds an earlier build's arguments
    given = shlex.split(os.environ.get("CMAKE_ARGS", ""))
    configure = ["cmake", "-S", str(root), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    # no symbols in a wheel; to compile with them takes a third longer
    configure += ["-DCMAKE_SHARED_LINKER_FLAGS=-s", "-DCSZ_DEBUG_INFO=OFF"]
    subprocess.run([*configure, *given], check=True)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    targets = ["csz_shared", "h5csz"] if (folder / "plugins/hdf5").exists() else ["csz_shared"]
    subprocess.run(["cmake", "--build", str(folder), "--target", *targets, "-j", jobs], check=True)
    return (folder / library).resolve(), next((folder / "hdf5-plugins").glob("libh5csz.*"), None)


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class BuildWithLibrary(build_py):
    def run(self):
        editable = getattr(self, "editable_mode", False)
        folder = root / "python" / "csz" if editable else Path(self.build_lib) / "csz"
        if not editable:
            shutil.rmtree(folder, ignore_errors=True)  # no file of an earlier build
        super().run()
        folder.mkdir(parents=True, exist_ok=True)
        built, plugin = build_libraries()
        shutil.copyfile(built, folder / library)
        if plugin:
            (folder / "plugins").mkdir(exist_ok=True)
            shutil.copyfile(plugin, folder / "plugins" / plugin.name)


class PlatformWheel(bdist_wheel):
    """For one platform, and for every Python 3: the library is reached through ctypes."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


work.mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    distclass=Binary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
    options={"build": {"build_base": str(work / "setuptools")}, "egg_info": {"egg_base": str(work)}},
)
