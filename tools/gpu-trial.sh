#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the compressing kernels and the CPU backend, and times and checks them on this machine's GPU.  Logs go to $OUT, or build/trial.
set -e
cd "$(dirname "$0")/.."
out=${OUT:-build/trial}
mkdir -p "$out" build/trial
nvcc=${NVCC:-nvcc}
flags="-O3 -std=c++17 -arch=sm_90 -fmad=false -lineinfo -split-compile=0 -Xptxas -v -Iinclude -Isrc"
objects=
pids=
for f in src/entropy/*.c src/format/*.c src/cpu/*.c src/api/*.c; do
    o=build/trial/$(echo "$f" | tr / _).o
    gcc -std=c11 -O3 -march=native -ffp-contract=off -Iinclude -Isrc -c "$f" -o "$o"
    objects="$objects $o"
done
for f in src/cuda/books.cu src/cuda/compress.cu src/cuda/histogram.cu src/cuda/range.cu src/cuda/work.cu bench/gpu_trial.cu; do
    o=build/trial/$(echo "$f" | tr / _).o
    $nvcc $flags -c "$f" -o "$o" > "$o.log" 2>&1 &
    pids="$pids $!"
    objects="$objects $o"
done
for p in $pids; do wait "$p" || { cat build/trial/*.log; exit 1; }; done
cat build/trial/*.log | c++filt > "$out/ptxas.log"
grep -A2 -E "Function properties for void (encode|histogram)_kernel" "$out/ptxas.log" | grep -v Compile || true
$nvcc -arch=sm_90 $objects -o build/trial/gpu_trial -lpthread
t=build/trial/gpu_trial
{
    $t 512 512 512 -s
    $t 64 64 64
    $t 100 449 235
    $t 8192 16384 -q -s
    $t 1800 3600 -s
    $t 134217728 -q -s
    $t 3000001 -k 2
    $t 512 512 512 -r -b 1e-3 -q -k 2 -s
    $t 256 512 512 -t f64 -s
    $t 64 100 100 -t f64
} 2>&1 | tee "$out/trial.txt"
