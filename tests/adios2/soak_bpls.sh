#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# soak_bpls.sh BUILD: the ADIOS2 operator under MPI and in bpls.  PyPI's wheels of adios2 have neither, so
# ADIOS2 is built from PyPI's source, with MPI and without everything that is optional, in adios2-mpi of BUILD,
# where it is kept for the next run; that takes a quarter of an hour of processor time.  Then 2 and 4 ranks
# write a field and read it again (ranks.cpp), and bpls and PyPI's Python read what they wrote.  Exits 77
# without MPI or where pip cannot fetch the source.
set -u -o pipefail
build=$(realpath "${1:?usage: soak_bpls.sh BUILD}") || exit 2
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
version=2.12.1.1001
made=$build/adios2-mpi
python=$build/python/venv/bin/python
# shellcheck source=tests/support/properties.sh
. "$source/tests/support/properties.sh"
# quietly COMMAND...: prints what it said where it fails.
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }; }

command -v mpicxx >/dev/null && command -v mpirun >/dev/null || skip "no MPI compiler"
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_bpls.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
(cd "$build" && "$source/tests/python/python_environment.sh") || exit
mkdir -p "$made" && cd "$made" || exit 2
if [ ! -d adios2-$version ]; then
    "$python" -m pip download -q --no-binary adios2 --no-deps "adios2==$version" >"$work/log" 2>&1 || skip "pip cannot fetch the source of adios2 $version"
    tar xf adios2-$version.tar.gz || exit
fi
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DBUILD_TESTING=OFF -DADIOS2_USE_MPI=ON)
for name in BigWhoop Blosc2 BZip2 Caliper ZFP SZ SZ3 LIBPRESSIO MGARD PRODM PNG DAOS DataMan DataSpaces MHS SST ZeroMQ HDF5 \
    HDF5_VOL IME Python Fortran UCX Sodium Catalyst Campaign OpenSSL XRootD CURL; do
    options+=("-DADIOS2_USE_$name=OFF")
done
quietly cmake -S adios2-$version -B build "${options[@]}"
quietly cmake --build build -j "$(nproc)" --target bpls adios2_cxx_mpi
for part in adios2_core-development adios2_cxx-development; do # the headers
    quietly cmake --install build --prefix "$made/installed" --component $part
done
bpls=$made/build/bin/bpls

cd "$work" || exit 2
quietly cmake --install "$build" --prefix "$work/csz"
quietly cmake -S "$source/plugins/adios2" -B operator -DCMAKE_PREFIX_PATH="$work/csz" -DADIOS2_INCLUDE_DIR="$made/installed/include"
quietly cmake --build operator
quietly mpicxx -std=c++17 -Wall -Wextra -Werror -DADIOS2_USE_MPI -isystem "$made/installed/include" "$source/tests/adios2/ranks.cpp" -o ranks \
    -L"$made/build/lib" -Wl,-rpath,"$made/build/lib" -Wl,-rpath-link,"$made/build/lib" -ladios2_cxx_mpi -ladios2_cxx
export ADIOS2_PLUGIN_PATH=$work/operator TMPDIR=$work LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm_rsh_agent=
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none

# dump NAME: all values of a variable, one a line.
dump() { "$bpls" -d -y -n 1 -f %.9g field.bp "$1" | awk 'NF == 1 { print $1 }' >"$1.txt"; }
# near: what bpls reads through the operator is within the bound, and not the same as what was written.
near() {
    dump packed && dump plain &&
        paste packed.txt plain.txt | awk -v n="$1" '{ d = $1 - $2; d = d < 0 ? -d : d; if (d > worst) worst = d } END { exit !(NR == n && worst > 0 && worst <= 1e-3) }'
}
READ='import adios2, numpy as np
with adios2.FileReader("field.bp") as file:
    for step in range(2):
        packed, plain = (file.read(name, step_selection=[step, 1]).astype("f8") for name in ("packed", "plain"))
        assert 0 < np.abs(packed - plain).max() <= 1e-3'
for engine in BP4 BP5; do
    for n in 2 4; do
        rm -rf field.bp
        holds "$engine: $n ranks write, and read across their blocks" mpirun -n $n ./ranks field.bp $engine 1e-3
        holds "$engine: bpls reads what $n ranks wrote" near $((n * 20 * 60 * 70 * 2))
    done
    if "$python" -c 'import adios2' 2>/dev/null; then
        holds "$engine: the Python of PyPI reads what 4 ranks wrote" "$python" -c "$READ"
    else
        echo "skipped: pip could not install adios2"
    fi
done
finish
