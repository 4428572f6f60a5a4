#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# evaluation_test.sh CSZ_EVALUATE CSZ_FIELDS: the evaluation runs from generated fields to tables, published files are found below a folder, and bad requests are
# refused in one line.
set -eu
evaluate=$1
fields=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL  $1" >&2; exit 1; }

"$evaluate" --quick --scale tiny --out "$work/results.jsonl" 2>/dev/null || fail "csz-evaluate"
python3 "$here/../bench/evaluation/tables.py" "$work/evaluation.md" "$work/results.jsonl" || fail "tables.py"
for heading in "The choice" "1.09" "ratio of 32" "gzip" "RLE+VLE" "Throughput" "Reconstruction" "Quality" "books" "analysis itself"; do
    grep -q "^## .*$heading" "$work/evaluation.md" || fail "no table: $heading"
done
grep -q 'more than 1% + 256 bytes on \*\*0\*\* of them' "$work/evaluation.md" || fail "auto is not within 1% + 256 bytes of the best"

# A file of the published name and size is taken as it is, however deep it lies.
mkdir -p "$work/sdrbench/a/b"
head -c 25920000 /dev/zero >"$work/sdrbench/a/b/PHIS_1_1800_3600.f32"
"$fields" cesm/PHIS -o "$work/phis" --scale tiny --sdrbench "$work/sdrbench" 2>"$work/said" || fail "a published file"
cmp "$work/phis" "$work/sdrbench/a/b/PHIS_1_1800_3600.f32" || fail "a published file is not used"
grep -q 'published.*-d 1800x3600' "$work/said" || fail "a published file is not named"
head -c 100 /dev/zero >"$work/sdrbench/a/b/PHIS_1_1800_3600.f32"
if "$fields" cesm/PHIS -o "$work/phis" --sdrbench "$work/sdrbench" 2>"$work/said"; then fail "a published file of another size"; fi
[ "$(wc -l <"$work/said")" = 1 ] || fail "a published file of another size: more than one line"

if "$fields" cesm/NOTHING -o "$work/x" 2>"$work/said"; then fail "an unknown field"; fi
[ "$(wc -l <"$work/said")" = 1 ] || fail "an unknown field: more than one line"
if "$fields" cesm/PHIS --scale tiny -o /nonexistent/x 2>"$work/said"; then fail "an output that cannot be written"; fi
[ "$(wc -l <"$work/said")" = 1 ] || fail "an output that cannot be written: more than one line"
[ "$("$fields" list | wc -l)" -ge 31 ] || fail "list"
echo "the evaluation holds"
