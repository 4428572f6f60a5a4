#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# evaluation_test.sh CSZ_EVALUATE CSZ_FIELDS: the evaluation runs from generated fields to tables, published
# files are found below a folder, and bad requests are refused in one line.
set -eu
evaluate=$1
fields=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL  $1" >&2; exit 1; }

"$evaluate" --quick --scale tiny --out "$work/results.jsonl" 2>/dev/null || fail "csz-evaluate"
python3 "$here/../../bench/evaluation/tables.py" "$work/evaluation.md" "$work/results.jsonl" || fail "tables.py"
for heading in "The choice" "Predictors" "1.09" "ratio of 32" "gzip" "RLE+VLE" "Throughput" "Reconstruction" "Quality" "books" "analysis itself"; do
    grep -q "^## .*$heading" "$work/evaluation.md" || fail "no table: $heading"
done

# auto beside the best forced workflow, on some fields of the evaluation at its own scale: those of tiny have
# too few tiles for the books of several modes.
for field in hacc/xx cesm/CLDHGH cesm/SOLIN hurricane/P; do
    "$evaluate" --quick --scale small --only "$field" --out "$work/small.jsonl" 2>/dev/null || fail "csz-evaluate --only $field"
    python3 "$here/../../bench/evaluation/tables.py" "$work/small.md" "$work/small.jsonl" || fail "tables.py, $field"
    grep -q ' 3 pairs of .* more than 1% + 256 bytes on \*\*0\*\* of them' "$work/small.md" || fail "auto on $field is not within 1% + 256 bytes of the best"
done

# An analysis against compressing: warm and cold, relative and absolute, each of three bounds and all at once,
# one thread and two.
"$evaluate" --share --scale tiny --only hacc/xx --out "$work/share.jsonl" 2>/dev/null || fail "csz-evaluate --share"
[ "$(wc -l <"$work/share.jsonl")" = $((4 * 4 * 2)) ] || fail "csz-evaluate --share: not as many lines as there are cases"
python3 "$here/../../bench/evaluation/tables.py" "$work/evaluation.md" "$work/results.jsonl" "$work/share.jsonl" || fail "tables.py with shares"
grep -q '^| first call of a context, one thread, CPU time |.* of 1' "$work/evaluation.md" || fail "no table: shares"
python3 "$here/../../bench/evaluation/tables.py" --share "$work/share.jsonl" | grep -q '^| call of a warm context, one thread, CPU time, three bounds |.* of 1' || fail "tables.py --share"
python3 "$here/../../bench/evaluation/tables.py" --paper-size "$work/paper.md" "$work/results.jsonl" || fail "tables.py --paper-size"
if grep -q '^## Reconstruction' "$work/paper.md"; then fail "what has one size stands among the paper's sizes"; fi

# The tables of a GPU, from what csz-gpu-fields --workflows and gpu_reconstruct write.
for workflow in huffman rle_vle auto; do
    echo '{"kind": "gpu_speed", "device": "card", "dataset": "cesm", "field": "FSDSC", "nbytes": 25920000, "bound": 0.01, "workflow": "'$workflow'", "ratio": 20.5, "compress": 321, "decompress": 654, "host_compress": 9.5, "host_decompress": 8.5}'
done >"$work/gpu.jsonl"
python3 "$here/../../bench/evaluation/tables.py" --gpu "$work/gpu.jsonl" >"$work/gpu.md" || fail "tables.py --gpu"
[ "$(grep -c '| cesm/FSDSC | 26 | 0.01 | 20.5 | 321 | 654 | 20.5' "$work/gpu.md")" = 1 ] || fail "tables.py --gpu: device to device"
[ "$(grep -c '| cesm/FSDSC | 0.01 | 9.5 / 8.5 | 9.5 / 8.5 | 9.5 / 8.5 |' "$work/gpu.md")" = 1 ] || fail "tables.py --gpu: host to host"

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
