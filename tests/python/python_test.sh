#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# python_test.sh CSZ LIBCSZ: makes a source distribution of the Python package and from that a wheel (for the
# CPU, at -O0 and for one instruction set: what takes minutes tells nothing more), installs it into the
# environment of python_environment.sh and runs python/tests there; then the tests of arrays once more against
# LIBCSZ as the project built it, and where that has the CUDA backend, a wheel around it, which must work on
# machines without a GPU.  Tests that need a package which is not there say so; without NumPy exit 77.
set -u
command=$1
library=$2
source=$(cd "$(dirname "$0")/../.." && pwd) || exit
work=$PWD/python
venv=$work/venv
python=$venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONPYCACHEPREFIX="$work/pycache" CSZ_COMMAND="$command"
unset CSZ_LIBRARY CSZ_BUILT_LIBRARY PYTHONPATH
mkdir -p "$work" || exit

# shellcheck source=tests/support/properties.sh
. "$source/tests/support/properties.sh"

"$python" -c 'import numpy' 2>/dev/null || skip "python_environment.sh found no NumPy"

# Installed from a wheel as users do it; without a setuptools that can build one, straight from the source
# tree.
rm -rf "$work/wheels"
if "$python" -c 'import sys, setuptools; sys.exit(int(setuptools.__version__.split(".")[0]) < 77)' 2>/dev/null; then
    rm -rf "$work/sdist"
    if ! { (cd "$source" && CSZ_PYTHON_BUILD=$work/sdist "$python" setup.py -q sdist -d "$work/sdist") &&
        tar -xzf "$work"/sdist/csz-*.tar.gz -C "$work/sdist" && mv "$work"/sdist/csz-*/ "$work/sdist/source" &&
        CMAKE_ARGS="-DCSZ_CUDA=OFF -DCMAKE_C_FLAGS_RELEASE=-O0 -DCSZ_CPU_DISPATCH=OFF" CSZ_PYTHON_BUILD=$work/build "$python" -m pip wheel --no-build-isolation --no-deps \
            -w "$work/wheels" "$work/sdist/source"; } >"$work/wheel.log" 2>&1; then
        tail -n 40 "$work/wheel.log"
        echo "the wheel could not be built"
        exit 1
    fi
    ls "$work"/wheels/csz-*-py3-none-*.whl || exit 1
    read_metadata='import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.read(next(n for n in z.namelist() if n.endswith("/METADATA"))).decode())'
    if ! "$python" -c "$read_metadata" "$work"/wheels/csz-*.whl | grep -qx 'License-Expression: BSD-3-Clause'; then
        echo "the wheel does not name its licence as SPDX does"
        exit 1
    fi
    if [ -d "$work/build/cmake/plugins/hdf5" ]; then # HDF5's headers were found
        "$python" -m zipfile -l "$work"/wheels/csz-*.whl | grep -q 'csz/plugins/libh5csz' || {
            echo "the wheel lacks the HDF5 plugin"
            exit 1
        }
    fi
    "$python" -m pip install -q --no-compile --force-reinstall --no-deps --no-index "$work"/wheels/csz-*.whl || exit 1
else
    echo "setuptools 77 is not here: testing the source tree without building a wheel"
    export PYTHONPATH="$source/python" CSZ_LIBRARY="$library"
fi

# run ARGUMENT...: the tests, briefly where they pass, with the reasons of those skipped.
run() {
    "$python" -m unittest discover -s "$source/python/tests" -t "$source/python/tests" -v "$@" >"$work/tests.log" 2>&1
    status=$?
    if [ "$status" != 0 ]; then
        cat "$work/tests.log"
        exit 1
    fi
    grep -E '^(Ran|OK)' "$work/tests.log"
    grep -o "skipped [\"'].*" "$work/tests.log" | sort | uniq -c
}

cd "$work" || exit # not the source tree, so that the installed package is the one found
"$python" -c 'import csz; print(csz.features())' || exit 1
run
echo "== with the library of the build folder"
export CSZ_LIBRARY="$library"
run -p test_arrays.py

# The wheel with CUDA: what the project built, packed.  soak_cuda_wheel.sh compiles one.
if [ "$("$python" -c 'import csz; print(csz.features()["cuda_built"])')" = True ] && ls "$work"/wheels/csz-*.whl >/dev/null 2>&1; then
    unset CSZ_LIBRARY
    echo "== a wheel with CUDA"
    "$source/tests/python/cuda_wheel.sh" "$python" "$work/cuda" CSZ_BUILT_LIBRARY="$library"
else
    echo "skipped: a wheel with CUDA: this build has no CUDA backend (nvcc), or no wheel could be built"
fi
