# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# ranks.sh: what the tests of MPI share; read by them with build, mpiexec and tests set.  Goes to a scratch
# folder with a field, its archive by one process (one.csz) and what that restores (one.raw).  Exit 77 where
# mpirun does not work here.
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_mpi_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C OMP_NUM_THREADS=1 TMPDIR=$work
# shellcheck source=../../tests/support/properties.sh
. "$tests/support/properties.sh"

# Ranks beyond the cores take turns; a container's root may run them; no network is looked for.
ranks=()
if "$mpiexec" --version 2>/dev/null | grep -qi 'open mpi\|openrte\|prrte'; then
    ranks=(--oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader --mca btl_vader_single_copy_mechanism none)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm_rsh_agent=
fi
# mpi N COMMAND...: in a session folder of its own, for of two runs that begin at once Open MPI 4 may fail to
# make the one they share.
mpi() {
    local n=$1
    shift
    TMPDIR=$(mktemp -d "$work/s.XXXX") "$mpiexec" "${ranks[@]}" -n "$n" "$@"
}
if ! mpi 2 true >probe.txt 2>&1; then
    echo "mpirun does not work here; skipped: $(head -n1 probe.txt)"
    exit 77
fi

# refuses NAME PATTERN COMMAND...: not 0, and a line that says what is wrong.  Ranks that end by themselves
# need not be waited for, as Open MPI does for two seconds.
refuses() {
    local name=$1 pattern=$2
    shift 2
    if ! OMPI_MCA_odls_base_sigkill_timeout=0 "$@" >out.txt 2>err.txt && [ "$(grep -c '^csz-mpi: ' err.txt)" = 1 ] && grep -qE -- "$pattern" err.txt; then
        passed "$name"
    else
        failed "$name" "$(head -c 1500 err.txt)"
    fi
}

"$build/csz-generate" 70 300 200 >field || exit 2
"$build/csz" compress field -t f32 -d 70x300x200 -e 1e-3 -m rel -o one.csz >out.txt || exit 2
"$build/csz" decompress one.csz -o one.raw >out.txt || exit 2
what=(compress field -t f32 -d 70x300x200 -e 1e-3 -m rel)
