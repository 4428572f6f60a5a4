#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# soak_stream.sh CSZ GENERATE [NZ]: 40 GB through a pipe within 1 GiB of memory, and back, every value
# checked; then a region of it, for which at most 8 MiB are read.
set -eu -o pipefail
csz=$1
generate=$2
nz=${3:-9537} # of 1024 x 1024 f32: 40.0 GB
peak_py=$(dirname "$(realpath "$0")")/../support/peak.py
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_soak_stream.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
timed() { # NAME COMMAND...
    local name=$1 begin
    shift
    begin=$(date +%s.%N)
    "$@"
    echo "$name: $(echo "$(date +%s.%N) $begin" | awk '{ printf "%.1f s", $1 - $2 }')"
}
there() { "$generate" "$nz" 1024 1024 | python3 "$peak_py" 1024 "$csz" compress - -o large.csz -t f32 -d "${nz}x1024x1024" -e 1e-3 --memory-limit 1G; }
back() { python3 "$peak_py" 1024 "$csz" decompress large.csz -o - --memory-limit 1G | "$generate" --check 1e-3 "$nz" 1024 1024; }
timed "compress" there
timed "decompress and check" back
PEAK_READ=8 timed "region" python3 "$peak_py" 64 "$csz" decompress large.csz -o part --region "$((nz / 2)):$((nz / 2 + 4)),10:20,:" --memory-limit 64M
[ "$(stat -c %s part)" = 163840 ]
timed "test" python3 "$peak_py" 1024 "$csz" test large.csz --memory-limit 1G
stat -c '%s bytes of archive' large.csz
