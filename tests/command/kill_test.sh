#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# kill_test.sh CSZ [TIMES]: kill -9 at TIMES (20) random instants of a compress or decompress always leaves
# the old output whole or the new one whole, and where files without names are to be had nothing else: at
# most, between two calls that name a finished one, that under a hidden name.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
csz=$(realpath "${1:?usage: kill_test.sh CSZ [TIMES]}") || exit 2
times=${2:-20}
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_kill.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
python3 -c '
import array
seed, out = 1, array.array("I")
for i in range(1 << 20):
    seed = (seed * 1664525 + 1013904223) % 2**32
    out.append(0x3F800000 | seed >> 9)
out.tofile(open("in.f32", "wb"))' || exit 2
export ASAN_OPTIONS=detect_leaks=0
compress=("$csz" compress in.f32 -t f32 -d 1048576 -e 1e-6 -f -o result)
decompress=("$csz" decompress good.csz -f -o result)
now() { date +%s%N; }
span=
for _ in 1 2 3; do # the shortest: the first may wait for what the others find in memory
    begin=$(now)
    "${compress[@]}" >out.txt || exit 2
    us=$((($(now) - begin) * 3 / 2000))
    [[ -n $span && $span -le $us ]] || span=$us
done
mv result good.csz
"$csz" decompress good.csz -o good.f32 >out.txt || exit 2
has_nameless=$(python3 -c 'import os; os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY)); print(1)' 2>/dev/null)
RANDOM=1
n_bad=0
n_old=0
n_left=0
for ((k = 0; k < times || (n_old == 0 && k < 10 * times); k++)); do # until one has come in time
    printf 'the old file' >result
    if ((k % 2)); then
        "${compress[@]}" >out.txt 2>err.txt &
        whole=good.csz
    else
        "${decompress[@]}" >out.txt 2>err.txt &
        whole=good.f32
    fi
    pid=$!
    us=$((RANDOM * 32768 + RANDOM))
    sleep "$(printf '%d.%06d' 0 $((us % span % 1000000)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    if [[ $(head -c 20 result | tr -d '\0') == 'the old file' && $(stat -c %s result) -eq 12 ]]; then
        n_old=$((n_old + 1))
    elif ! cmp -s result $whole; then
        echo "FAIL  kill $k: neither the old file nor the new one"
        n_bad=$((n_bad + 1))
    fi
    for hidden in .result.*; do
        [[ -e $hidden ]] || continue
        n_left=$((n_left + 1))
        if [[ -n $has_nameless ]] && ! cmp -s "$hidden" $whole; then
            echo "FAIL  kill $k: a part of the new file is left as $hidden"
            n_bad=$((n_bad + 1))
        fi
        rm "$hidden"
    done
done
[[ -n $has_nameless ]] || echo "no files without names here: temporaries may be left"
echo "$k kills: $n_old left the old file, $((k - n_old - n_bad)) the new one, $n_bad neither; $n_left left a temporary"
((n_bad == 0 && n_old > 0))
