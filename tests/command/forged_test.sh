#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# forged_test.sh CSZ FORGED GENERATE: verifying compares with what was asked for.  FORGED is csz with bounds
# resolved four times too large: its archives keep the bound they store, and `csz verify` and --verify must
# refuse them all the same.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u -o pipefail
csz=$(realpath "${1:?usage: forged_test.sh CSZ FORGED GENERATE}") || exit 2
forged=$(realpath "${2:?usage: forged_test.sh CSZ FORGED GENERATE}") || exit 2
generate=$(realpath "${3:?usage: forged_test.sh CSZ FORGED GENERATE}") || exit 2
tests=$(realpath "$(dirname "$0")/..") || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_forged_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C TMPDIR=$work
# shellcheck source=tests/support/properties.sh
. "$tests/support/properties.sh"

"$generate" 20 100 80 >field || exit 2
for bound in "abs 1e-2" "rel 1e-3" "psnr 60" "psnr 120"; do
    # shellcheck disable=SC2086
    set -- $bound
    what=(field -t f32 -d 20x100x80 -m "$1" -e "$2" -f)
    said='an error of .* and at most .* was asked for'
    [[ $1 != psnr ]] || said="a PSNR of .* dB, and $2 dB were asked for"
    holds "$bound: kept" "$csz" compress "${what[@]}" --verify -o sound.csz
    holds "$bound: csz verify holds" "$csz" verify field sound.csz
    holds "$bound: the JSON says so" bash -c "'$csz' verify field sound.csz --json | grep -q '\"bound_kept\": *true'"
    holds "$bound: forged, without --verify it is written" "$forged" compress "${what[@]}" -o forged.csz
    holds "$bound: forged, its checksums hold" "$csz" test forged.csz
    refuses 1 "$said" "$bound: forged, csz verify refuses it" "$csz" verify field forged.csz
    mv out.txt told.txt
    holds "$bound: forged, the report says BROKEN" grep -q 'BROKEN$' told.txt
    refuses 1 "$said" "$bound: forged, csz verify --json refuses it" "$csz" verify field forged.csz --json
    mv out.txt told.txt
    holds "$bound: forged, the JSON says false" grep -q '"violations": *0.*"bound_kept": *false' told.txt
    refuses 1 "$said, so nothing is written" "$bound: forged, compress --verify refuses it" \
        "$forged" compress "${what[@]}" --verify -o refused.csz
    holds "$bound: forged, nothing was written" test ! -e refused.csz
done

# Bounds at which 10^(-x/20) leaves the doubles: what is not exact would be off by hundreds of dB.
python3 -c 'import random, struct, sys
random.seed(22)
values = [random.uniform(-1, 1) * 10.0 ** random.uniform(-300, 308) for _ in range(3000)]
sys.stdout.buffer.write(struct.pack("<3000d", *values))' >noise
for psnr in 6000 6232 6400 6470 6500 7000 12000 1e5 1e300; do
    holds "$psnr dB is kept" "$csz" compress noise -t f64 -d 3000 -m psnr -e $psnr --verify -f -o noise.csz
    holds "$psnr dB verifies" "$csz" verify noise noise.csz
done
finish
