#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the library with every compiler at hand, without optimization and with much, with flags of a user
# that ask for fast-math and contraction, and for s390x (big-endian, under qemu-user) and x86-64 where the
# tools are; each must write and read the golden archives, and give the same sums over several hundred fields
# with 1, 2, 7 and 64 threads.  On x86-64 every instruction set of the build runs too, and under qemu-user on
# processors that lack the others.  Prints one line a build.  DETERMINISM_OUT: the folder for the builds
# (default: a temporary one); DETERMINISM_REFERENCE: sums of another machine to compare with;
# DETERMINISM_ONLY: a part of the names of the builds wanted.  Exit status: 0 all alike, 1 not.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${DETERMINISM_OUT:-$(mktemp -d)}
[ -n "${DETERMINISM_OUT-}" ] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out"
reference=${DETERMINISM_REFERENCE:-}
failed=0
have() { command -v "$1" >/dev/null 2>&1; }

# variant NAME COMPILER FLAGS RUNNER [CMAKE_ARGUMENT...]
variant() {
    name=$1 compiler=$2 flags=$3 runner=$4
    shift 4
    case $name in *"${DETERMINISM_ONLY-}"*) ;; *) return ;; esac
    dir=$out/$name
    mkdir -p "$dir"
    if ! cmake -S "$root" -B "$dir" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags" -DCMAKE_BUILD_TYPE= -DBUILD_TESTING=OFF \
        -DCSZ_CUDA=OFF -DCSZ_ZSTD=OFF "$@" >"$dir/log" 2>&1 ||
        ! cmake --build "$dir" -j "${JOBS:-2}" --target csz_static >>"$dir/log" 2>&1; then
        tail -n 20 "$dir/log"
        echo "$name: the build failed"
        failed=1
        return
    fi
    for program in sums test_golden; do
        source=$root/tests/determinism/sums.c
        [ $program = sums ] || source=$root/tests/api/test_golden.c
        # shellcheck disable=SC2086 # flags
        if ! "$compiler" -std=c11 -O1 -D_GNU_SOURCE= -DCSZ_TESTS_DIR="\"$root/tests\"" -ffp-contract=off -I "$root/tests/determinism" \
            -I "$root/tests/support" -I "$root/include" -I "$root/src" $link_flags "$source" "$root/tests/support/support.c" "$dir/libcsz.a" -lm -pthread \
            -o "$dir/$program" >>"$dir/log" 2>&1; then
            tail -n 20 "$dir/log"
            echo "$name: $program does not build"
            failed=1
            return
        fi
    done
    if ! $runner "$dir/test_golden" >"$dir/golden.txt" 2>&1; then
        cat "$dir/golden.txt"
        echo "$name: golden archives differ"
        failed=1
    elif ! $runner "$dir/sums" >"$dir/sums.txt" 2>"$dir/words.txt"; then
        tail -n 3 "$dir/words.txt"
        echo "$name: sums failed"
        failed=1
    elif [ -z "$reference" ]; then
        reference=$dir/sums.txt
        echo "$name: golden archives alike; $(wc -l <"$dir/sums.txt") sums: the reference, $(cksum <"$dir/sums.txt")"
    elif cmp -s "$reference" "$dir/sums.txt"; then
        echo "$name: golden archives alike; $(wc -l <"$dir/sums.txt") sums alike"
    else
        diff "$reference" "$dir/sums.txt" | head -n 4
        echo "$name: sums differ"
        failed=1
    fi
}

# instruction_set BUILD SET RUNNER: the sums of a build's loops for one instruction set, which must be the one
# that they run with.
instruction_set() {
    build=$1 isa=$2 runner=$3
    case $build in *"${DETERMINISM_ONLY-}"*) ;; *) return ;; esac
    what="$build, $isa${runner:+, $runner}"
    # shellcheck disable=SC2086 # a command with arguments
    if ! CSZ_CPU_ISA=$isa $runner "$out/$build/sums" >"$out/set.txt" 2>"$out/set_words.txt"; then
        tail -n 3 "$out/set_words.txt"
        echo "$what: sums failed"
        failed=1
    elif [ "$(tail -n 1 "$out/set_words.txt")" != "$isa" ]; then
        echo "$what: runs with $(tail -n 1 "$out/set_words.txt"), so this set is left out"
        [ "$isa" != x86-64 ] || failed=1
    elif cmp -s "$reference" "$out/set.txt"; then
        echo "$what: $(wc -l <"$out/set.txt") sums alike"
    else
        diff "$reference" "$out/set.txt" | head -n 4
        echo "$what: sums differ"
        failed=1
    fi
}

# The command itself, on files that both byte orders read and write.
command_on_s390x() {
    name=s390x
    case $name in *"${DETERMINISM_ONLY-}"*) ;; *) return ;; esac
    mkdir -p "$out/command"
    if ! cmake -S "$root" -B "$out/command" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCSZ_CUDA=OFF -DCSZ_ZSTD=OFF -DCSZ_MPI=OFF \
        >"$out/command/log" 2>&1 ||
        ! cmake --build "$out/command" -j "${JOBS:-2}" --target csz >>"$out/command/log" 2>&1 ||
        ! cmake --build "$out/s390x" -j "${JOBS:-2}" --target csz >>"$out/command/log" 2>&1; then
        tail -n 20 "$out/command/log"
        echo "the command: the build failed"
        failed=1
    elif "$root/tests/determinism/command.sh" "$out/command/csz" qemu-s390x "$out/s390x/csz"; then
        echo "the command: the same files and words on s390x"
    else
        echo "the command: s390x differs"
        failed=1
    fi
}

uname -m
link_flags=
for compiler in gcc clang; do
    if ! have $compiler; then
        echo "$compiler: not here, left out"
        continue
    fi
    native=-march=native # unknown to older clangs for aarch64, whose -mcpu=native takes a virtual machine for more than it is
    if ! echo | $compiler $native -E - >/dev/null 2>&1; then
        native=
        echo "$compiler knows no -march=native here: built for the general machine instead"
    fi
    variant "$compiler-O0" "$compiler" -O0 ""
    variant "$compiler-O3" "$compiler" -O3 ""
    variant "$compiler-O3-native" "$compiler" "-O3 $native" ""
    if [ "$(uname -m)" = x86_64 ]; then
        for isa in x86-64 x86-64-v3 x86-64-v4; do instruction_set "$compiler-O3" $isa ""; done
        if have qemu-x86_64; then # which has no AVX-512: without a machine that has it, it is left out
            instruction_set "$compiler-O3" x86-64 "env CSZ_CPU_ISA= qemu-x86_64 -cpu Nehalem" # chosen by itself
            instruction_set "$compiler-O3" x86-64-v3 "env CSZ_CPU_ISA= qemu-x86_64 -cpu max"
        else
            echo "older processors: need qemu-user, left out"
        fi
    fi
    variant "$compiler-careless" "$compiler" "-Ofast -ffast-math -ffp-contract=fast $native" ""
    # without the build's own flags such a compilation is refused
    if echo '#include "core/base.h"' | $compiler -ffast-math -I "$root/src" -x c -fsyntax-only - 2>/dev/null; then
        echo "$compiler: src/core compiles with -ffast-math"
        failed=1
    fi
done
if [ "$(uname -m)" != x86_64 ] && have x86_64-linux-gnu-gcc && have qemu-x86_64; then
    variant x86_64 x86_64-linux-gnu-gcc -O3 "qemu-x86_64 -L /usr/x86_64-linux-gnu" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCSZ_MPI=OFF
    instruction_set x86_64 x86-64 "qemu-x86_64 -L /usr/x86_64-linux-gnu -cpu Nehalem"
    instruction_set x86_64 x86-64-v3 "qemu-x86_64 -L /usr/x86_64-linux-gnu -cpu max"
fi
if have s390x-linux-gnu-gcc && have qemu-s390x; then
    link_flags="-static -fexcess-precision=fast"
    variant s390x s390x-linux-gnu-gcc -O2 qemu-s390x -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=s390x \
        -DCMAKE_EXE_LINKER_FLAGS=-static -DCSZ_MPI=OFF
    command_on_s390x
else
    echo "s390x: needs gcc-s390x-linux-gnu and qemu-user, left out"
fi
exit $failed
