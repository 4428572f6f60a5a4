#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# stream_test.sh CSZ GENERATE [NZ]: fields larger than the memory allowed, through files and pipes.  NZ planes
# of 768 x 3072 f32 are the large field (64: 600 MB).  Prints one line per property and exits 1 if any does
# not hold.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u -o pipefail
csz=$(realpath "${1:?usage: stream_test.sh CSZ GENERATE [NZ]}") || exit 2
generate=$(realpath "${2:?usage: stream_test.sh CSZ GENERATE [NZ]}") || exit 2
nz=${3:-64}
tests=$(realpath "$(dirname "$0")/..") || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_stream_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C TMPDIR=$work
# shellcheck source=tests/support/properties.sh
. "$tests/support/properties.sh"

# within MIB COMMAND...
within() { python3 "$tests/support/peak.py" "$@"; }
peak() { sed -n 's/^peak/      peak/p' err.txt; } # of the last one

# ---- A field larger than the memory allowed ----------------------------------------------------------

dims=(-t f32 -d "${nz}x768x3072")
large_to_archive() {
    "$generate" "$nz" 768 3072 | within 256 "$csz" compress - -o large.csz "${dims[@]}" -e 1e-3 --memory-limit 256M
}
large_from_archive() {
    within 256 "$csz" decompress large.csz -o - --memory-limit 256M | "$generate" --check 1e-3 "$nz" 768 3072
}
large_verify() { "$generate" "$nz" 768 3072 | within 320 "$csz" verify - large.csz --memory-limit 320M; }
holds "$nz x 768 x 3072 from a pipe within 256 MiB" large_to_archive
peak
holds "back to a pipe within 256 MiB, every value within the bound" large_from_archive
peak
holds "verify from a pipe within 320 MiB" large_verify
peak
holds "test within 128 MiB" within 128 "$csz" test large.csz --memory-limit 128M
holds "info within 128 MiB" within 128 "$csz" info large.csz --memory-limit 128M
holds "the archive from a pipe within 256 MiB" bash -c "cat large.csz | '$csz' test - --memory-limit 256M"
refuses 1 'memory.*raise the limit' "a limit below one frame is refused" \
    "$csz" decompress large.csz -o x --memory-limit 64M
holds "a region within 64 MiB" \
    within 64 "$csz" decompress large.csz -o part --region "$((nz / 2)):$((nz / 2 + 2)),100:200,500:900" --memory-limit 64M

# ---- What goes wrong ----------------------------------------------------------------------------------

"$generate" 24 768 3072 | "$csz" compress - -t f32 -d 24x768x3072 -e 1e-3 -f -o large.csz >out.txt 2>err.txt || failed "24 planes compress"
"$csz" decompress large.csz -o part --region 20:22,100:200,500:900 -f >out.txt
# A region needs its own groups of tiles alone: damage in another frame does not matter to it.
cp large.csz hurt.csz
dd if=/dev/zero of=hurt.csz bs=1 seek=20000 count=4000 conv=notrunc status=none
holds "damage in another frame does not keep a region from being read" bash -c \
    "'$csz' decompress hurt.csz -o part2 --region 20:22,100:200,500:900 && cmp part part2"
refuses 1 'damaged' "but the whole field is refused" "$csz" decompress hurt.csz -o whole
for cut in 1000 $(($(stat -c %s large.csz) / 2)) $(($(stat -c %s large.csz) - 4)); do
    head -c "$cut" large.csz >cut.csz
    refuses 1 'short' "an archive cut at $cut" "$csz" decompress cut.csz -o whole
    refuses 1 'short' "a pipe cut at $cut" bash -c "cat cut.csz | '$csz' decompress - -o whole"
done
refuses 1 'after' "a pipe with a byte too many" bash -c "{ cat large.csz; echo; } | '$csz' decompress - -o whole"
refuses 1 'bytes' "a field from a pipe that ends early" bash -c \
    "'$generate' 23 768 3072 | '$csz' compress - -t f32 -d 24x768x3072 -e 1e-3 -o whole"
refuses 1 'bytes' "a field from a pipe that goes on" bash -c \
    "{ '$generate' 24 768 3072; echo; } | '$csz' compress - -t f32 -d 24x768x3072 -e 1e-3 -o whole"
printf 'the old file' >old
"$csz" compress - "${dims[@]}" -e 1e-3 -f -o old < <("$generate" "$nz" 768 3072) >out.txt 2>err.txt &
sleep 0.5
kill -TERM $!
wait $! 2>/dev/null
holds "a run that is cut off leaves the old file" bash -c "printf 'the old file' | cmp - old || '$csz' test old"
holds "and nothing else" bash -c "[ -z \"\$(ls -A | grep '^\\.')\" ] && [ ! -e whole ] && [ ! -e x ]"
rm -f large.csz hurt.csz cut.csz

# ---- What a frame needs --------------------------------------------------------------------------------

# needs OPTIONS...: the limit that a refusal names lets the frame through, one MiB less does not.  zstd's own
# memory is part of it.
needs() {
    local mib
    "$csz" compress field -t f32 -d 24x512x520 -e 1e-3 "$@" --memory-limit 1M >out.txt 2>err.txt && return 1
    mib=$(sed -n 's/.*needs \([0-9]*\) MiB of memory.*/\1/p' err.txt)
    [[ -n $mib ]] && ! "$csz" compress field -t f32 -d 24x512x520 -e 1e-3 "$@" --memory-limit "$((mib - 1))M" >out.txt 2>&1 &&
        "$csz" compress field -t f32 -d 24x512x520 -e 1e-3 "$@" --memory-limit "${mib}M" >out.txt 2>err.txt && echo "$mib"
}
"$generate" 24 512 520 >field
plain=$(needs -f -o a.csz)
holds "what a refusal says is needed is enough, and no less is" [ "${plain:-0}" -gt 50 ]
piped=$(needs -o -)
holds "for a pipe it counts what is held back" [ "${piped:-0}" -gt "${plain:-0}" ]
pyramid=$(needs -p pyramid -f -o a.csz)
holds "with pyramids it counts their lattices" [ "${pyramid:-0}" -gt "$((plain + 7))" ]
if "$csz" --version | grep -q 'zstd yes'; then
    third=$(needs -z zstd:3 -f -o a.csz) ultra=$(needs -z zstd:22 -f -o a.csz)
    holds "with zstd it counts the frame before it" [ "${third:-0}" -gt "$((plain + 50))" ]
    holds "and zstd's memory, which grows with the level" [ "${ultra:-0}" -gt "$((third + 100))" ]
fi

# ---- The same bytes whatever the limit, the way and the threads ----------------------------------------

same() { # NAME TYPE DIMS OPTIONS...: file with much memory, file with little, pipe
    local name=$1 size=$2 shape=$3 least=$4
    shift 4
    "$csz" compress field -t f32 -d "$shape" "$@" -o a.csz -f --memory-limit 4G >out.txt || failed "$name: compressed"
    holds "$name: little memory, one thread" bash -c \
        "'$csz' compress field -t f32 -d $shape $* -o b.csz -f -j1 --memory-limit $least && cmp a.csz b.csz"
    holds "$name: from a pipe" bash -c "cat field | '$csz' compress - -t f32 -d $shape $* --memory-limit $least | cmp - a.csz"
    "$csz" decompress a.csz -o back -f >out.txt || failed "$name: restored"
    holds "$name: restored to a pipe" bash -c "'$csz' decompress a.csz -o - --memory-limit $least | cmp - back"
    holds "$name: restored from a pipe" bash -c "cat a.csz | '$csz' decompress - -o - --memory-limit $least | cmp - back"
    holds "$name: verified" "$csz" verify field a.csz
    same_text "$name: every byte is back" "$size" "$(stat -c %s back)"
}
"$generate" 130 512 520 >field
same "slabs" 138444800 130x512x520 512M -e 1e-3 -m rel --verify
same "slabs of four dims" 138444800 10x13x512x520 320M -e 1e-3
holds "a region of four dims is the slice of the whole" bash -c \
    "'$csz' decompress a.csz -o part --region 8:10,3:5,:,100:102 -f && python3 - <<'PY'
import array
whole = open('back', 'rb')
part = array.array('f', open('part', 'rb').read())
wanted = array.array('f')
for w in (8, 9):
    for z in (3, 4):
        for y in range(512):
            whole.seek(4 * (((w * 13 + z) * 512 + y) * 520 + 100))
            wanted.frombytes(whole.read(8))
assert part == wanted
PY"
same "pyramids of four dims" 138444800 10x13x512x520 360M -e 1e-3 -p pyramid
holds "a preview of several frames, by its parts" bash -c \
    "'$csz' decompress a.csz --level 1 -o preview -f && '$csz' decompress a.csz --level 1 --region 30:40,:,: -o part -f && python3 - <<'PY'
plane = 4 * 256 * 260
whole, part = open('preview', 'rb').read(), open('part', 'rb').read()
assert len(whole) == 65 * plane and part == whole[30 * plane:40 * plane]
PY"
"$generate" 2 4100 4100 >field
same "bands of rows" 134480000 2x4100x4100 320M -e 1e-2
holds "a region out of order goes to a pipe" bash -c \
    "'$csz' decompress a.csz -o part --region :,4000:4100,7:4001 -f && '$csz' decompress a.csz -o - --region :,4000:4100,7:4001 | cmp - part"
"$generate" 4 1 8500000 >field
same "pieces of rows" 136000000 2x2x8500000 320M -e 1e-2

# ---- Holes -------------------------------------------------------------------------------------------

truncate -s 768M sparse
holds "a sparse file of 768 MiB, relative, within 320 MiB" \
    within 320 "$csz" compress sparse -t f32 -d 192x1024x1024 -e 1e-3 -m rel --memory-limit 320M
peak
# The least that docs/streaming.md and the man page name, for full frames.
least() { # MIB OPTIONS...
    refuses 1 "needs $1 MiB of memory, .* allows $(($1 - 1)).0 MiB; raise" "full frames need $1 MiB: ${*:2}" \
        "$csz" compress sparse -f -b cpu -d 192x1024x1024 -e 1e-3 "${@:2}" --memory-limit "$(($1 - 1))M"
}
least 276 -t f32 -o least.csz
least 315 -t f32 -o -
least 404 -t f32 -o least.csz --verify
least 462 -t f32 -o - --verify
holds "which is enough" "$csz" compress sparse -b cpu -t f32 -d 192x1024x1024 -e 1e-3 -o least.csz --memory-limit 276M
least 314 -t f32 -o least.csz -p pyramid
holds "which is enough for pyramids" within 314 "$csz" compress sparse -b cpu -t f32 -d 192x1024x1024 -e 1e-3 -p pyramid -f -o least.csz --memory-limit 314M
peak
truncate -s 1536M sparse
least 532 -t f64 -o least.csz
least 596 -t f64 -o -
least 788 -t f64 -o least.csz --verify
least 852 -t f64 -o - --verify
holds "its archive is small" bash -c "[ \$(stat -c %s sparse.csz) -lt 400000 ]"

finish
