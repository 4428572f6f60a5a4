#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# gpu_ablation.sh: where a compression's time goes, by leaving stages out.  The encoder is compiled four times, each time with one stage less
# (CSZ_CUT in src/cuda/tile.cuh), and linked with the library in front of its own; bench/gpu_compress times each.  What a cut encoder writes is no archive, so only times are compared.
#
#   bench/gpu_ablation.sh BUILD [ARCH] [arguments of gpu_compress]     BUILD holds libcsz.a; ARCH as in sm_90
set -eu
build=$1
arch=${2:-sm_90}
shift
[ $# -eq 0 ] || shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-O3 -std=c++17 -arch=$arch -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -I$root/src -I$root/include"
nvcc $flags -c "$root/bench/gpu_compress.cu" -o "$work/bench.o" &
for cut in 0 1 2 3; do
    nvcc $flags -DCSZ_CUT=$cut -c "$root/src/cuda/compress.cu" -o "$work/cut$cut.o" &
done
wait
for cut in 0 1 2 3; do
    nvcc -arch="$arch" "$work/bench.o" "$work/cut$cut.o" "$build/libcsz.a" ${CSZ_ABLATION_LIBS:--lzstd} -lpthread -lm -ldl -o "$work/cut$cut"
    "$work/cut$cut" "$@" -q -s > "$work/cut$cut.txt"
done
# A field's line begins with two spaces, its stages' with six.
for cut in 0 1 2 3; do
    awk -v cut=$cut '/^  [a-z]/ { name = substr($0, 3, 17) } /encode/ {
        for (i = 1; i < NF; i++) { if ($i == "histogram") h = $(i + 1); if ($i == "books") b = $(i + 1); if ($i == "encode") e = $(i + 1) }
        print cut "|" name "|" h "|" b "|" e }' "$work/cut$cut.txt"
done | awk -F'|' '{ if ($1 == 0) { order[++n] = $2; h[$2] = $3; b[$2] = $4 } e[$2, $1] = $5 } END {
    printf "%-18s %9s %9s %9s %9s %9s %9s   us\n", "", "histogram", "books", "construct", "outliers", "encode", "placement"
    for (i = 1; i <= n; i++) { k = order[i]
        printf "%-18s %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f\n", k, h[k], b[k], e[k, 3], e[k, 2] - e[k, 3], e[k, 1] - e[k, 2], e[k, 0] - e[k, 1] } }'
