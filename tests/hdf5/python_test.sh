#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# python_test.sh CSZ PLUGIN_FOLDER [SANITIZERS]: runs python_test.py, module_test.py, imports_test.py and
# nczarr_test.py with h5py, netCDF4, xarray, h5netcdf and PyTables from pip, which bring an HDF5 of their own, in
# the environment of python_environment.sh beside CSZ.  Exits 77 where pip cannot provide them, without the plugin, and in a
# sanitized build, whose plugin an ordinary Python cannot load.
set -u
csz=$(realpath "${1:?usage: python_test.sh CSZ PLUGIN_FOLDER}") || exit 2
plugins=${2:?usage: python_test.sh CSZ PLUGIN_FOLDER}
here=$(cd "$(dirname "$0")" && pwd) || exit 2

# shellcheck source=tests/support/properties.sh
. "$here/../support/properties.sh"
[ "$plugins" != none ] || skip "this build has no HDF5 plugin"
[ -z "${3-}" ] || skip "a sanitized plugin cannot be loaded by an ordinary Python"

venv=$(dirname "$csz")/python/venv
"$venv/bin/python" -c 'import h5py, netCDF4, xarray, h5netcdf, hdf5plugin' 2>/dev/null ||
    skip "pip could not install h5py, netCDF4, xarray, h5netcdf and hdf5plugin"
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_hdf5_python.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
HDF5_PLUGIN_PATH=$plugins "$venv/bin/python" "$here/python_test.py" "$csz" || exit
# csz.hdf5 in a package as a wheel has it
cp -r "$here/../../python/csz" csz && mkdir -p csz/plugins && cp "$plugins"/libh5csz.* csz/plugins && cp "$(dirname "$csz")"/libcsz.so csz || exit 2
env -u HDF5_PLUGIN_PATH PYTHONPATH="$work" "$venv/bin/python" "$here/module_test.py" "$csz" || exit
env -u HDF5_PLUGIN_PATH PYTHONPATH="$work" "$venv/bin/python" "$here/imports_test.py" || exit
if "$venv/bin/python" -c 'import zarr, numcodecs' 2>/dev/null; then
    env -u HDF5_PLUGIN_PATH PYTHONPATH="$work" "$venv/bin/python" "$here/nczarr_test.py" "$plugins/libh5csz.so"
else
    echo "skipped: NCZarr, since pip could not install zarr and numcodecs"
fi
