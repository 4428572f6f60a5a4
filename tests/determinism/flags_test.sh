#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# flags_test.sh SOURCE: src/core compiles with ordinary flags and refuses those that change IEEE arithmetic,
# with gcc and with clang, whichever are here.  -fassociative-math is given with the two flags without which
# both compilers ignore it.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
source=$(realpath "${1:?usage: flags_test.sh SOURCE}") || exit 2
n_failed=0 n_run=0

compiles() { # COMPILER FLAGS...
    local compiler=$1
    shift
    echo '#include "core/bound.h"' |
        "$compiler" -std=c11 -Wall -Wextra -Werror "$@" -I "$source/src" -x c -fsyntax-only - 2>message.txt
}

expect() { # NAME WANTED COMPILER FLAGS...
    local name=$1 wanted=$2 found=compiles
    shift 2
    n_run=$((n_run + 1))
    compiles "$@" || found=refused
    if [[ $found = "$wanted" ]] && { [[ $found = compiles ]] || grep -qE 'fast-math|precise|own precision' message.txt; }; then
        echo "ok    $name: $found"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $name: $found"
        sed 's/^/      /' message.txt
    fi
}

work=$(mktemp -d "${TMPDIR:-/tmp}/csz_flags_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "skip  $compiler: not here"; continue; }
    for flags in -O0 -O2 -O3 "-O2 -ffp-contract=off -fno-math-errno" "-O2 -freciprocal-math -fno-fast-math"; do
        # shellcheck disable=SC2086
        expect "$compiler $flags" compiles $compiler $flags
    done
    for flags in -Ofast -ffast-math -ffinite-math-only; do expect "$compiler $flags" refused $compiler -O2 $flags; done
    if ! echo '#pragma float_control(push)' | $compiler -Werror=ignored-pragmas -x c -fsyntax-only - 2>message.txt; then
        echo "skip  parts of fast-math: this $compiler does not know the pragma that shows them"
        continue
    fi
    for flags in -funsafe-math-optimizations -freciprocal-math -fno-signed-zeros \
        "-fassociative-math -fno-signed-zeros -fno-trapping-math"; do
        # shellcheck disable=SC2086
        expect "$compiler $flags" refused $compiler -O2 $flags
    done
done
[[ $n_run -gt 0 ]] || exit 77
[[ $n_failed -eq 0 ]]
