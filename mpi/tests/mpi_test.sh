#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi_test.sh BUILD MPIEXEC: the MPI library with 1 to 5 ranks on this machine: the bytes and values of one
# process, from boxes in memory, from the command, from a solver, on an emulated GPU; damage; a rank that is
# killed.  With CSZ_TEST_QUICK set (sanitizers take long) fewer numbers of ranks.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u -o pipefail
build=$(realpath "${1:?usage: mpi_test.sh BUILD MPIEXEC}") || exit 2
mpiexec=${2:?usage: mpi_test.sh BUILD MPIEXEC}
tests=$(realpath "$(dirname "$0")/../../tests") || exit 2
# shellcheck source=ranks.sh
. "$(dirname "$0")/ranks.sh"

several="1 2 5" predictors="pyramid auto" waves="1 2 4" on_gpu="1 2 3" kills="5 60 150 300"
grids=("1" "2 --grid 1x1x2" "4 --grid 2x2x1" "3 --grid 1x3x1")
if [[ -n ${CSZ_TEST_QUICK:-} ]]; then
    several=3 predictors=auto waves=2 on_gpu=2 kills=60
    grids=("4 --grid 2x2x1")
fi
for n in $several; do holds "$n ranks: any boxes give the bytes of one process" mpi $n "$build/test_mpi"; done
[[ -n ${CSZ_TEST_QUICK:-} ]] || holds "3 ranks, several frames" mpi 3 "$build/test_mpi" large

# ---- The command -------------------------------------------------------------------------------------

for how in "${grids[@]}"; do
    # shellcheck disable=SC2086
    set -- $how
    n=$1
    shift
    holds "csz-mpi $how compresses" mpi "$n" "$build/csz-mpi" "${what[@]}" -o mpi.csz -f "$@"
    holds "csz-mpi $how: the bytes of csz" cmp mpi.csz one.csz
    holds "csz-mpi $how restores" mpi "$n" "$build/csz-mpi" decompress one.csz -o mpi.raw -f "$@"
    holds "csz-mpi $how: the values of csz" cmp mpi.raw one.raw
done
holds "csz-mpi --verify compresses" mpi 3 "$build/csz-mpi" "${what[@]}" --verify -o mpi.csz -f --grid 1x3x1
mv out.txt told.txt
holds "it tells of every value" grep -q 'bound kept by all 4200000 elements' told.txt
holds "csz-mpi --verify: the bytes of csz" cmp mpi.csz one.csz
for predictor in $predictors; do
    "$build/csz" "${what[@]}" -p $predictor -f -o predicted.csz >out.txt || failed "csz -p $predictor"
    "$build/csz" decompress predicted.csz -f -o predicted.raw >out.txt || failed "csz restores -p $predictor"
    holds "csz-mpi -p $predictor compresses" mpi 3 "$build/csz-mpi" "${what[@]}" -p $predictor --verify -o mpi.csz -f --grid 1x3x1
    holds "csz-mpi -p $predictor: the bytes of csz" cmp mpi.csz predicted.csz
    holds "csz-mpi restores -p $predictor" mpi 2 "$build/csz-mpi" decompress predicted.csz -o mpi.raw -f --grid 1x1x2
    holds "csz-mpi -p $predictor: the values of csz" cmp mpi.raw predicted.raw
done
refuses "an archive that is none" 'is no csz archive' mpi 2 "$build/csz-mpi" decompress field -o x
head -c 3000 one.csz >cut.csz
refuses "an archive cut short" 'cut short' mpi 2 "$build/csz-mpi" decompress cut.csz -o x
cp one.csz hurt.csz
printf 'hurt' | dd of=hurt.csz bs=1 seek=$(($(stat -c %s one.csz) / 2)) conv=notrunc status=none
refuses "a damaged archive" 'damaged' mpi 2 "$build/csz-mpi" decompress hurt.csz -o x
holds "no refusal has left an output" test ! -e x

# ---- The example: distributed, dumped while it runs ------------------------------------------------------

for n in $waves; do
    holds "the wave in $n ranks" mpi "$n" "$build/csz-mpi-wave" --dims 64x72x80 --steps 40 --every 20 --out "wave$n"
    holds "csz reads a snapshot of it" "$build/csz" test "wave${n}_0040.csz"
    [[ ! -e wave1_0040.csz ]] ||
        holds "its snapshots are those of one" bash -c "cmp wave1_0020.csz wave${n}_0020.csz && cmp wave1_0040.csz wave${n}_0040.csz"
done

# The solver and the boxes on a GPU, or on the emulated one: the snapshots of the CPU.
gpu_wave=
if [[ -x $build/emulated_wave ]]; then
    gpu_wave=$build/emulated_wave
    for n in $on_gpu; do holds "$n ranks: boxes in device memory give the bytes of one process" mpi "$n" "$build/emulated_mpi" device; done
fi
if mpi 1 "$build/csz-mpi-wave" --dims 24x24x24 --steps 1 --backend cuda >out.txt 2>err.txt; then
    gpu_wave=$build/csz-mpi-wave
    for n in 1 2 3; do holds "$n ranks: boxes on the GPU give the bytes of one process" mpi $n "$build/test_mpi" device; done
else
    says "a GPU that is not there is not replaced by the CPU" 'no GPU that can be used' err.txt
fi
if [[ -n $gpu_wave ]]; then
    small=(--dims 28x34x40 --steps 10 --every 5 --bound 1e-7)
    holds "a small wave on the CPU" mpi 1 "$build/csz-mpi-wave" "${small[@]}" --backend cpu --out cpu
    for n in $waves; do
        holds "the wave of $n ranks on the GPU" mpi "$n" "$gpu_wave" "${small[@]}" --backend cuda --out "gpu$n"
        says "it ran there, and was compressed there" 'on the GPU for the wave' out.txt
        holds "it is the CPU's, to the byte" bash -c "cmp cpu_0005.csz gpu${n}_0005.csz && cmp cpu_0010.csz gpu${n}_0010.csz"
    done
fi
for wrong in "--steps 4x" "--dims 64x72" "--nothing 1"; do
    # shellcheck disable=SC2086
    mpi 1 "$build/csz-mpi-wave" $wrong >out.txt 2>err.txt
    status=$?
    holds "the wave refuses $wrong" test $status = 2
done

# ---- A rank is killed ----------------------------------------------------------------------------------

bad=""
for ms in $kills; do
    printf 'the old file' >killed.csz
    mpi 3 "$build/test_mpi" kill $ms killed.csz >out.txt 2>err.txt && bad+="$ms: exit 0; "
    printf 'the old file' | cmp -s - killed.csz || "$build/csz" test killed.csz >out.txt 2>&1 || bad+="$ms: half a file; "
done
if [ -z "$bad" ]; then
    passed "a rank that is killed ends the run, and leaves the old file or a whole new one"
else
    failed "a rank that is killed" "$bad"
fi

finish
