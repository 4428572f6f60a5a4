#!/bin/sh
# Builds the CPU library and the CUDA decoder with gcc and nvcc alone, then runs the trial of bench/gpu_trial_decompress.cu.
# Arguments go to the trial.  Logs and the compiler's resource report go to $OUT where that is set.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build/gpu-trial-decompress}
build=${BUILD:-build/gpu-trial-decompress}
mkdir -p "$build" "$out"
zstd=
if echo '#include <zstd.h>' | gcc -E -x c - >/dev/null 2>&1; then zstd="-lzstd"; fi
objects=
for f in src/api/*.c src/cpu/*.c src/entropy/*.c src/format/*.c src/select/*.c; do
    o=$build/$(echo "$f" | tr '/' '_' | sed 's/\.c$/.o/')
    gcc -std=c11 -O3 -ffp-contract=off ${zstd:+-DCSZ_HAVE_ZSTD=1} -Isrc -Iinclude -c "$f" -o "$o" &
    objects="$objects $o"
done
nvcc -O3 -std=c++17 -arch=sm_90 -fmad=false -lineinfo -Xptxas -v -Isrc -Iinclude -c src/cuda/tables.cu -o "$build/tables.o" >"$out/ptxas_tables.txt" 2>&1 &
nvcc -O3 -std=c++17 -arch=sm_90 -fmad=false -lineinfo -Xptxas -v -Isrc -Iinclude -c src/cuda/decompress.cu -o "$build/decompress.o" >"$out/ptxas_decompress.txt" 2>&1 &
nvcc -O3 -std=c++17 -arch=sm_90 -Isrc -Iinclude -c bench/gpu_trial_decompress.cu -o "$build/trial.o" &
wait
# shellcheck disable=SC2086
nvcc -arch=sm_90 "$build/trial.o" "$build/tables.o" "$build/decompress.o" $objects -lpthread -lm $zstd -o "$build/gpu_trial_decompress"
grep -A2 "Compiling entry" "$out/ptxas_decompress.txt" | grep -E "Compiling|spill" || true
"$build/gpu_trial_decompress" "$@" 2>&1 | tee "$out/trial_decompress.txt"
