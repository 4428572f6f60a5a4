#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# parallel_hdf5_test.sh PROGRAM MPIEXEC PLUGINS [SANITIZERS]: collective filtered writes of 1 to 3 ranks, of
# which one has nothing to write; read back by other numbers of ranks and by HDF5's serial tools.  Exit 77
# where mpirun or the plugin is missing.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
program=$(realpath "${1:?usage: parallel_hdf5_test.sh PROGRAM MPIEXEC PLUGINS}") mpiexec=$2 plugins=$(realpath "$3")
[ -e "$plugins/libh5csz.so" ] || { echo "the HDF5 plugin is not built; skipped"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_parallel_hdf5.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# a session folder of its own: another test's mpirun may begin at once, and of two Open MPI 4 may fail to make
# the one they share
export TMPDIR=$work LC_ALL=C HDF5_PLUGIN_PATH=$plugins OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
ranks=()
if "$mpiexec" --version 2>/dev/null | grep -qi 'open mpi\|openrte\|prrte'; then
    ranks=(--oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none)
fi
mpi() { "$mpiexec" "${ranks[@]}" -n "$@"; }
mpi 2 true >probe.txt 2>&1 || { echo "mpirun does not work here; skipped: $(head -n1 probe.txt)"; exit 77; }
n_failed=0
holds() {
    local name=$1
    shift
    if "$@" >out.txt 2>err.txt; then
        printf 'ok    %s\n' "$name"
    else
        n_failed=$((n_failed + 1))
        printf 'FAIL  %s\n      %s\n' "$name" "$(cat out.txt err.txt | head -c 1500)"
    fi
}
for n in 1 2 3; do
    holds "$n ranks write" mpi $n "$program" write "by$n.h5" 1e-3
    holds "and $((4 - n)) read it within the bound" mpi $((4 - n)) "$program" read "by$n.h5" 1e-3
done
if [ -n "${4-}" ]; then
    echo "a sanitized plugin cannot be loaded by h5dump: left out"
elif command -v h5dump >/dev/null; then
    for n in 1 3; do holds "h5dump reads what $n ranks wrote" h5dump -d pressure -b LE -o "by$n.raw" "by$n.h5"; done
    holds "the values do not depend on the ranks" cmp by1.raw by3.raw
    holds "the chunks went through the filter" bash -c "h5dump -pH by3.h5 | grep -q 'FILTER_ID 411'"
    holds "they are compressed" bash -c "[ \$(stat -c %s by3.h5) -lt 400000 ]"
fi
((n_failed == 0))
