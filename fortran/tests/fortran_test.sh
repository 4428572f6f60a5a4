#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fortran_test.sh BUILD: the module's own test; the same bytes as the command's; both examples, built against
# an installed library with pkg-config as their first lines say.
set -eu
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_fortran_test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

"$build/test_fortran"
# Fortran's (37, 51, 29) is 29x51x37 elsewhere
"$build/csz" compress fortran.f32 -t f32 -d 29x51x37 -m rel -e 1e-4 -q -o command.csz
cmp fortran.csz command.csz
"$build/csz" test fortran.csz >/dev/null
expected=$("$build/csz" hdf5 cdvals -m rel -e 1e-3 | grep -o '[0-9]*,[0-9]*,[0-9]*' | head -n 1)
[ "$(cat parameters.txt)" = "$expected" ] || {
    echo "parameters of the filter: $(cat parameters.txt), the command says $expected"
    exit 1
}

cmake --install "$build" --prefix "$work/install" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/install" -name csz-fortran.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
# shellcheck disable=SC2046
gfortran -O2 "$source/examples/fortran_solver.f90" $(pkg-config --cflags --libs csz-fortran) -o solver
./solver | tee solver.txt
grep -q 'step 200: 8388608 bytes become' solver.txt
"$build/csz" info t0200.csz | grep -q '128x128x128 of f32'

if command -v nf-config >/dev/null && plugins=$(pkg-config --variable=hdf5plugindir csz) && ls "$plugins"/*.so >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    gfortran "$source/examples/fortran_netcdf.f90" $(pkg-config --cflags --libs csz-fortran) $(nf-config --fflags --flibs) -o writer
    HDF5_PLUGIN_PATH=$plugins ./writer
    # a bound that cannot be, its status not asked for: the variable is refused, not stored without a bound
    sed -e 's/abs=1e-2_real64)/abs=-1e-2_real64)/' -e 's/fortran\.nc/refused.nc/' "$source/examples/fortran_netcdf.f90" >refused.f90
    # shellcheck disable=SC2046
    gfortran refused.f90 $(pkg-config --cflags --libs csz-fortran) $(nf-config --fflags --flibs) -o refused
    if HDF5_PLUGIN_PATH=$plugins ./refused; then
        echo "parameters of a negative bound are taken"
        exit 1
    fi
    if command -v ncdump >/dev/null; then
        HDF5_PLUGIN_PATH=$plugins ncdump -hs fortran.nc | grep -q 't:_Filter = "411'
    fi
else
    echo "netCDF: skipped, it needs nf-config and the HDF5 plugin"
fi
