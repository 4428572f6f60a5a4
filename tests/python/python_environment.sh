#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# python_environment.sh: makes python/venv under the current folder, the virtual environment of all tests that
# need Python packages, and keeps it between runs.  What pip cannot fetch is left out, and the tests that need
# it say so.  Without NumPy there is nothing to run (exit 77).
set -u
work=$PWD/python
venv=$work/venv
python=$venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1
mkdir -p "$work" || exit

# shellcheck source=tests/support/properties.sh
. "$(dirname "$0")/../support/properties.sh"

# fetch PACKAGE...: installs by pip, quietly; a machine without a network finds out soon.
fetch() { "$python" -m pip install -q --no-compile --timeout 15 --retries 1 "$@" >>"$work/pip.log" 2>&1; }

make_venv() { rm -rf "$venv" && python3 -m venv "$@" "$venv" >"$work/pip.log" 2>&1; }

python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || skip "python3 3.9 or newer is not here"
base="numpy setuptools>=77"
set -- "zarr numcodecs" jsonschema "dask distributed" xarray matplotlib mypy basedpyright "h5py netCDF4 h5netcdf hdf5plugin" tables kerchunk vtk adios2 py-rattler-build
wanted="$(python3 -VV) $base $*"
[ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ] || exit 0
# what is there already stays: a package more takes seconds, all of them minutes
[ "$("$python" -VV 2>/dev/null)" = "$(python3 -VV)" ] || make_venv || skip "python3 -m venv fails: install python3-venv"
fetch --upgrade pip # one of 2023 takes twice the processor time, and any will do
# shellcheck disable=SC2086,SC2048 # lists
if fetch $base $*; then
    echo "$wanted" >"$venv/wanted"
elif fetch $base; then
    for packages in "$@"; do
        fetch $packages || echo "pip cannot install $packages: the tests that need it are skipped"
    done
else
    echo "pip cannot install numpy: using what this machine has"
    make_venv --system-site-packages || skip "python3 -m venv fails: install python3-venv"
    "$python" -c 'import numpy' 2>/dev/null || skip "NumPy is not here and pip cannot install it"
fi
