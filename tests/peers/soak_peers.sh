#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# soak_peers.sh BUILD PLUGIN_FOLDER: the checks that numcodecs, zarr and hdf5plugin bring for codecs on those
# of csz (test_peers.py), and h5py's own tests with the plugin on the path of HDF5, in the environment of
# python_environment.sh.  Exits 77 where pip cannot provide them.
set -u
build=$(realpath "${1:?usage: soak_peers.sh BUILD PLUGIN_FOLDER}") || exit 2
plugins=${2:?usage: soak_peers.sh BUILD PLUGIN_FOLDER}
here=$(cd "$(dirname "$0")" && pwd) || exit 2

# shellcheck source=tests/support/properties.sh
. "$here/../support/properties.sh"
[ "$plugins" != none ] || skip "this build has no HDF5 plugin"
(cd "$build" && "$here/../python/python_environment.sh") || exit
python=$build/python/venv/bin/python
"$python" -m pip install -q --no-compile pytest hypothesis || skip "pip cannot install pytest and hypothesis"
"$python" -c 'import zarr, numcodecs, h5py, hdf5plugin' 2>/dev/null || skip "pip could not install zarr, numcodecs, h5py and hdf5plugin"
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_peers.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# not the package that python_test may have installed there
export PYTHONPATH="$here/../../python" CSZ_LIBRARY="$build/libcsz.so" HDF5_PLUGIN_PATH="$plugins"
"$python" -m pytest -q -p no:cacheprovider "$here/test_peers.py" || exit

# h5py's tests fail in places of their own: as root, without MPI.  With the plugin the same ones do, and no
# others.
for plugin in without with; do
    if [ "$plugin" = without ]; then unset HDF5_PLUGIN_PATH; else export HDF5_PLUGIN_PATH="$plugins"; fi
    "$python" -m pytest -q -p no:cacheprovider -W ignore --pyargs h5py.tests >"$plugin.log" 2>&1
    grep -E '^(FAILED|ERROR) ' "$plugin.log" | sed 's/ - .*//' | sort >"$plugin.failed"
    tail -n 1 "$plugin.log"
    grep -q '[1-9][0-9]* passed' "$plugin.log" || exit 1
done
diff without.failed with.failed
