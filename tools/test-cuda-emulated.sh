#!/bin/sh
# Builds tests/emu/test_cuda_decompress.cpp with the emulator and a sanitizer (SANITIZE= for none) and runs it.
# Arguments: level (1, or 2 for many more cases) and a seed.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/emu}
sanitize=${SANITIZE--fsanitize=address,undefined}
mkdir -p "$build"
objects=
for f in src/api/*.c src/cpu/*.c src/entropy/*.c src/format/*.c src/select/*.c; do
    o=$build/$(echo "$f" | tr '/' '_' | sed 's/\.c$/.o/')
    gcc -std=c11 -O2 -g -ffp-contract=off -Isrc -Iinclude -c "$f" -o "$o"
    objects="$objects $o"
done
# shellcheck disable=SC2086
g++ -std=c++17 -O1 -g -ffp-contract=off -fno-strict-aliasing -DCSZ_EMU $sanitize -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-function -Wno-clobbered \
    -Isrc -Iinclude -Itests/emu tests/emu/test_cuda_decompress.cpp $objects -lpthread -lm -o "$build/test_cuda_decompress"
"$build/test_cuda_decompress" "$@"
