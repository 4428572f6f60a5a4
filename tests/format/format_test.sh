#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# format_test.sh CSZ: holds docs/format.md against the library.  Compresses small fields with csz, restores
# each with csz and with decode_format.py, which knows the document alone, and requires the same bytes of
# both.  Prints one line per field and exits 1 if any differs.  A last part requires that the fields met every
# mode, class, order, book and kind of mask the format has, and that damage is refused.  Needs bash and
# python3's standard library.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: format_test.sh CSZ}") || exit 2
tests=$(realpath "$(dirname "$0")") || exit 2
command -v python3 >/dev/null || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_format_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C PYTHONPATH=$tests PYTHONDONTWRITEBYTECODE=1
n_failed=0

# field (of the maker below), type, dims, then the options of csz
cat >cases.txt <<'CASES'
smooth   f32 1             -e 1e-3
smooth   f32 4096          -e 1e-3
smooth   f32 9999          -e 1e-2
smooth   f64 4097          -e 1e-4
smooth   f32 50x70         -e 1e-3
smooth   f32 65x257        -e 1e-3 -m rel
smooth   f64 61x127        -e 70 -m psnr
smooth   f32 1x333x1       -e 1e-3
smooth   f32 3x2           -e 1e-3
smooth   f32 5000x2        -e 1e-2
smooth   f32 2x5000        -e 1e-2
smooth   f32 10x20x40      -e 1e-3
smooth   f32 10x20x40      -e 3e-2
smooth   f64 9x17x33       -e 1e-2
smooth   f32 3x4x33x37     -e 1e-3
smooth   f64 2x3x5x7       -e 1e-6
smooth   f32 1x2x1x2000    -e 1e-3
smooth   f32 10x20x20      -e 1e-1 -w huffman
smooth   f32 10x20x20      -e 1e-1 -w rle
smooth   f32 10x20x20      -e 1e-1 -w rle+vle
smooth   f64 100x99        -e 1e-2 -w rle
smooth   f64 100x99        -e 1e-2 -w rle+vle
noisy    f32 8191          -e 1e-2
noisy    f32 90x91         -e 1e-1
noisy    f32 9x18x35       -e 1e-1
noisy    f32 9x18x35       -e 3e-1
noisy    f32 9x18x35       -e 1e-4
noisy    f64 90x91         -e 1e-3
noisy    f64 9x18x35       -e 1e-2
noisy    f32 90x91         -e 1e-1 -w huffman
noisy    f32 90x91         -e 1e-1 -w rle
noisy    f32 90x91         -e 1e-1 -w rle+vle
noisy    f64 9x18x35       -e 1e-2 -w rle+vle
mild     f32 4096          -e 1e-1
mild     f32 4096          -e 5e-2
mild     f64 9x18x35       -e 1e-1
mild     f64 9x18x35       -e 5e-2
mild     f64 64x128        -e 1e-1
sparse   f32 20000         -e 1e-3
sparse   f32 2000          -e 1e-3 -w rle+vle
sparse   f32 300           -e 1e-3 -w rle+vle
sparse   f32 100x130       -e 1e-3
sparse   f64 15x31x32      -e 1e-3
sparse   f32 15x31x32      -e 1e-3 -w rle
sparse   f32 15x31x32      -e 1e-3 -w rle+vle
steps    f32 100x130       -e 1e-3
steps    f64 15x31x32      -e 1e-3
steps    f32 20000         -e 1e-3 -w rle
zero     f32 100x100       -e 1e-3
zero     f64 100x100       -e 1e-3
constant f32 100x100       -e 1e-3
constant f64 12x20x30      -e 1e-9
special  f32 9000          -e 1e-3
special  f32 97x131        -e 1e-3
special  f64 97x131        -e 1e-3
special  f32 11x21x53      -e 1e-3
special  f64 2x5x21x53     -e 1e-2
special  f32 97x131        -e 1e-3 -w rle
special  f32 97x131        -e 1e-3 --fill nan
islands  f32 97x131        -e 1e-3
islands  f32 100x190       -e 1e-3 --fill 1e20
islands  f64 100x190       -e 1e-3 --fill 1e20
islands  f32 13x25x37      -e 1e-3 --fill 1e20 -w rle+vle
islands  f64 13x25x37      -e 1e-2 --fill 1e20
islands  f32 13x25x37      -e 1e-2 --fill 7
wide     f32 9999          -e 1e-3
wide     f32 70x71         -e 1e-3
wide     f32 21x22x23      -e 1e-3
wide     f32 21x22x23      -e 1e-3 -w rle
wide     f32 21x22x23      -e 1e-3 -w rle+vle
wide     f64 9999          -e 1e-3
wide     f64 70x71         -e 1e-8
wide     f64 21x22x23      -e 1e-8
wide     f64 70x71         -e 1e-8 -w huffman
wide     f64 70x71         -e 1e-8 -w rle
wide     f64 21x22x23      -e 1e-8 -w rle+vle
wide     f64 70x71         -e 1e-14
bits     f32 70x71         -e 1e-3
bits     f64 3000          -e 1e-3
bits     f32 3000          -e 1e38
bits     f64 3000          -e 1e300
noisy    f32 300           -e 1e-40
tiny     f32 70x71         -e 2e-38
tiny     f64 70x71         -e 1e-307
holes    f32 97x131        -e 1e-3
holes    f64 25x27x29      -e 1e-2 --fill nan
noisy    f32 40            -e 1e-1 -w huffman
noisy    f32 20x30         -e 6e-2
noisy    f32 8x9x10        -e 6e-2
noisy    f64 10x40         -e 2e-2
wide     f32 300           -e 1e-3
sparse   f64 1000          -e 1e-6 -w huffman
constant f32 40x50         -e 1e-3 -m rel
smooth   f32 10x20x40      -e 1e-2 -m pwr
noisy    f64 90x91         -e 1e-3 -m pwr
special  f32 97x131        -e 1e-3 -m pwr
wide     f32 21x22x23      -e 1e-4 -m pwr --floor 1e-6
special  f64 11x21x53      -e 1e-2 -m pwr --floor 1e-2
islands  f32 13x25x37      -e 1e-2 -m pwr --fill 1e20
tiny     f32 70x71         -e 1e-2 -m pwr
constant f64 12x20x30      -e 1e-9 -m pwr
zero     f32 100x100       -e 1e-3 -m pwr
smooth   f32 10x20x40      -e 1e-2 -m pwr -p pyramid
smooth   f64 61x127        -e 1e-3 -m pwr -p pyramid --floor 1e-3
special  f32 97x131        -e 1e-3 -m pwr -p pyramid
smooth   f32 10x20x40      -e 1e-2 -p pyramid
smooth   f32 20x50x60      -e 3e-2 -p pyramid
smooth   f64 17x33x65      -e 1e-4 -p pyramid
smooth   f32 65x257        -e 1e-2 -p pyramid -m rel
smooth   f64 61x127        -e 1e-6 -p pyramid
smooth   f32 5000x2        -e 1e-2 -p pyramid
smooth   f32 2x5000        -e 1e-2 -p pyramid
smooth   f32 3x4x33x37     -e 1e-3 -p pyramid
smooth   f32 5000          -e 1e-3 -p pyramid
noisy    f32 9x18x35       -e 1e-1 -p pyramid
noisy    f64 90x91         -e 1e-1 -p pyramid
noisy    f32 9x18x35       -e 1e-1 -p pyramid -w rle
noisy    f64 9x18x35       -e 1e-1 -p pyramid -w rle+vle
noisy    f32 90x91         -e 1e-1 -p pyramid -w huffman
sparse   f32 100x130       -e 1e-3 -p auto
sparse   f64 15x31x32      -e 1e-3 -p auto
steps    f64 15x31x32      -e 1e-3 -p auto
zero     f32 100x100       -e 1e-3 -p pyramid
constant f64 12x20x30      -e 1e-9 -p pyramid
special  f32 97x131        -e 1e-3 -p pyramid
special  f64 2x5x21x53     -e 1e-2 -p pyramid
islands  f32 100x190       -e 1e-3 -p pyramid --fill 1e20
islands  f64 13x25x37      -e 1e-2 -p pyramid --fill 1e20
islands  f32 13x25x37      -e 1e-2 -p pyramid --fill 7
islands  f32 100x190       -e 5    -p pyramid --fill 1e20
wide     f64 70x71         -e 1e-8 -p pyramid
bits     f32 70x71         -e 1e-3 -p pyramid
holes    f64 25x27x29      -e 1e-2 -p pyramid --fill nan
smooth   f32 9999          -m exact
smooth   f32 50x70         -m exact
smooth   f64 9x17x33       -m exact
noisy    f64 4097          -m exact
noisy    f32 9x18x35       -m exact
sparse   f64 10x31x32      -m exact
sparse   f32 100x130       -m exact
steps    f32 16x17x40      -m exact
steps    f64 70x150        -m exact
coarse   f64 9x17x33       -m exact
coarse   f32 9999          -m exact
zero     f32 100x100       -m exact
constant f64 9x9x9         -m exact
special  f32 97x131        -m exact
islands  f32 12x21x37      -m exact
bits     f64 3000          -m exact
bits     f32 70x71         -m exact
smooth   f32 0             -e 1e-3
smooth   f64 3x0x5         -e 1e-3
frames   f32 524800x5x5    -e 1e-3
CASES

# ---- Fields: the same on every machine (sines are rounded, generators are our own) -------------------------

cat >make_fields.py <<'PYTHON'
import itertools
import math
import os
import struct

def noise(seed):
    """Endless numbers in [-1, 1)."""
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (seed >> 33) / 2**30 - 1

def smooth(at):
    return round(sum(math.sin(0.05 * (k + 1) * x + k) for k, x in enumerate(at)), 5)

def coordinates(dims):
    """Of all elements, the fastest dim's first."""
    for at in itertools.product(*map(range, dims)):
        yield at[::-1]

def is_island(at):
    return math.sin(0.11 * at[0] + 1) + math.sin(0.13 * at[-1]) > 0.4

def special(at, r, _):
    """Scattered odd values, and boxes of them that fill whole units and whole tiles."""
    odd = [math.nan, -0.0, math.inf, -math.inf, 12345.5]
    if at[0] % 64 >= 32 and at[-1] % 8 < 6:
        return odd[at[0] // 64 % 2]
    if at[0] % 16 < 4:
        return odd[2]
    if at[0] > 70:
        return odd[1]
    return odd[int((r + 1) * 50) % 5] if abs(r) < 0.02 else smooth(at)

makers = {
    "smooth": lambda at, r, _: smooth(at),
    "noisy": lambda at, r, _: smooth(at) + r,
    "mild": lambda at, r, _: smooth(at) + r * r * r,
    "sparse": lambda at, r, _: 100 * r if abs(r) < 0.01 else 0.0,
    "steps": lambda at, r, _: float(sum(x // 13 for x in at)),
    "zero": lambda at, r, _: 0.0,
    "constant": lambda at, r, _: -31.25,
    "special": special,
    "islands": lambda at, r, _: 1e20 if is_island(at) else smooth(at) + 0.01 * r,
    "wide": lambda at, r, _: 1000 * smooth(at) if abs(r) > 0.001 else 5000 * r / abs(r),
    "tiny": lambda at, r, type_name: r * 2.0 ** (-118 if type_name == "f32" else -1010),
    "coarse": lambda at, r, _: math.copysign(1, r + 0.9) * math.floor(100 * smooth(at)) / 16,
    "holes": lambda at, r, _: math.nan if r < -0.2 else smooth(at),
}

def make(kind, type_name, dims, target):
    letter = {"f32": "f", "f64": "d"}[type_name]
    if kind == "frames":  # more than 8192 tiles; zeros but for a few values in each frame
        target.truncate(struct.calcsize(letter) * math.prod(dims))
        for at in (1000, 13_110_000):
            target.seek(struct.calcsize(letter) * at)
            target.write(struct.pack("<3" + letter, 1, -2, math.nan))
        return
    numbers = noise(math.prod(dims))
    for at in coordinates(dims):
        if kind == "bits":
            target.write(bytes(int((next(numbers) + 1) * 128) for _ in range(struct.calcsize(letter))))
        else:
            target.write(struct.pack("<" + letter, makers[kind](at, next(numbers), type_name)))

made = {}
for number, line in enumerate(open("cases.txt"), 1):
    kind, type_name, dims = line.split()[:3]
    if (kind, type_name, dims) in made:
        os.link(made[kind, type_name, dims], f"{number}.raw")
        continue
    made[kind, type_name, dims] = f"{number}.raw"
    with open(f"{number}.raw", "wb") as target:
        make(kind, type_name, [int(n) for n in dims.split("x")], target)
PYTHON
python3 make_fields.py || exit 1

# ---- Both decoders -----------------------------------------------------------------------------------------

number=0
while read -r _ type dims options; do
    number=$((number + 1))
    # shellcheck disable=SC2086 # options are words
    { "$csz" compress $number.raw -t "$type" -d "$dims" $options -o $number.csz &&
        "$csz" decompress $number.csz -o $number.out; } >/dev/null 2>$number.err # without output the comparison fails
done <cases.txt

# Decodes all archives in one process, and notes what they made the decoder do.
cat >decode_all.py <<'PYTHON'
import os

from decoder import archive, books, frame, pyramid, record
from decoder.bits import Refused

MODES = "constant M Q P S rle rle+vle raw fill sparse exact".split()
BOOKS = "S PV PE QV QE MV ME W RV RL".split()
met = set()

def watch(owner, name, notes):
    """Wraps a function that the module `owner` calls, so that notes(arguments) are added to what was met."""
    original = getattr(owner, name)
    def watched(*arguments):
        met.update(notes(*arguments))
        return original(*arguments)
    setattr(owner, name, watched)

def note_quanta(tile, _, record, first):
    return {f"class {first >> 4 & 3} of mode {MODES[first & 15]}", f"order {first >> 30} of rank {tile.rank}",
            f"base {first >> 6 & 1} short {first >> 10 & 1} f64 {tile.is_f64}", f"{first >> 8 & 3} masks",
            f"bitmap {first >> 7 & 1} of mode {MODES[first & 15]}"}

def note_record(tile, _, words):
    kind = "lattice" if isinstance(tile, pyramid.LatticeTile) and tile.lattice.coarser else "field"
    mode = MODES[words[0] & 15] if words else "none"
    return {f"mode {mode} f64 {tile.is_f64}", f"{kind} {mode}"}

def note_exact(tile, record, first):
    return {f"exact groups {first >> 4 & 3}", f"exact bitmap {first >> 9 & 1}",
            f"exact shift {(first >> 17 & 63) > 0} f64 {tile.is_f64}", f"exact order {first >> 30} of rank {tile.rank}"}

watch(frame, "decode_record", note_record)
watch(record, "decode_exact", note_exact)
watch(record, "decode_quanta", note_quanta)
watch(frame, "Pyramid", lambda header, first, tiles, tuning: {f"tuning {tuning}"})
watch(record, "unit_mask", lambda unit_class, *_: {f"unit of class {unit_class}"})
watch(archive, "decode_frame", lambda *arguments: {f"frame {arguments[3]}"})
watch(books.Books, "table", lambda of_frame, book:
      {f"book {BOOKS[book]} {'explicit' if book in of_frame.explicit else 'built in'}"})

for number in range(1, 1 + sum(1 for _ in open("cases.txt"))):
    if not os.path.exists(f"{number}.csz"):
        continue
    try:
        field = archive.decode(open(f"{number}.csz", "rb").read())
    except Refused as error:
        print(error, file=open(f"{number}.err", "w"))
        continue
    open(f"{number}.py", "wb").write(field)

wanted = {f"mode {mode} f64 {f64}" for mode in MODES for f64 in (False, True)}
wanted |= {f"class {c} of mode {mode}" for mode in ("S", "rle", "rle+vle") for c in range(3)}
wanted |= {f"lattice {mode}" for mode in MODES[:10] + ["none"]} | {"tuning 0", "tuning 1"}
wanted |= {f"bitmap {bitmap} of mode {mode}" for mode in MODES[1:7] for bitmap in (0, 1)}
wanted |= {"order 0 of rank 1", "order 0 of rank 2", "order 2 of rank 2", "order 0 of rank 3", "order 1 of rank 3",
           "order 2 of rank 3", "frame 0", "frame 1"}
wanted |= {f"base {base} f64 {f64}" for base in ("0 short 0", "1 short 0", "1 short 1") for f64 in (False, True)}
wanted |= {"exact groups 1", "exact groups 2", "exact groups 3", "exact bitmap 0", "exact bitmap 1"}
wanted |= {f"exact shift {shift} f64 {f64}" for shift in (False, True) for f64 in (False, True)}
wanted |= {f"exact {order}" for order in ("order 0 of rank 1", "order 0 of rank 2", "order 2 of rank 2", "order 0 of rank 3",
                                          "order 1 of rank 3", "order 2 of rank 3")}
wanted |= {f"{n} masks" for n in range(4)} | {f"unit of class {c}" for c in range(4)}
wanted |= {f"book {book} {kind}" for book in BOOKS for kind in ("explicit", "built in")}
print(*sorted(wanted - met), sep=", ", end="", file=open("not_met.txt", "w"))

# One bit of each word, in turn, of a small archive with masks; and all that is left when its end is cut off.
small = open("small.csz", "rb").read()
damaged = [small[:i] + bytes([small[i] ^ 1 << i // 4 % 8]) + small[i + 1:] for i in range(0, len(small), 4)]
damaged += [small[:n] for n in range(len(small))] + [small + bytes(4), small + bytes(8)]
with open("taken.txt", "w") as taken:
    for i, copy in enumerate(damaged):
        try:
            archive.decode(copy)
            print(f"damage {i} of {len(damaged)} was not noticed", file=taken)
        except Refused:
            pass
PYTHON
small=$(grep -n '^special  f32 9000' cases.txt | cut -d: -f1)
cp "$small.csz" small.csz
python3 decode_all.py || n_failed=$((n_failed + 1))

# report HOLDS NAME [WHY]
report() {
    if "$1"; then
        printf 'ok    %s\n' "$2"
    else
        n_failed=$((n_failed + 1))
        printf 'FAIL  %s\n      %s\n' "$2" "${3:-}"
    fi
}

number=0
while read -r line; do
    number=$((number + 1))
    cmp -s $number.out $number.py && holds=true || holds=false
    report "$holds" "$line" "$(cat $number.err)"
done <cases.txt

[[ ! -s not_met.txt && -e not_met.txt ]] && holds=true || holds=false
report "$holds" "the fields met all of the format" "not met: $(cat not_met.txt)"
[[ ! -s taken.txt && -e taken.txt ]] && holds=true || holds=false
report "$holds" "damage is refused" "$(head -3 taken.txt)"
python3 "$tests/decode_format.py" small.csz small.raw && cmp -s small.raw "$small.out" && holds=true || holds=false
report "$holds" "decode_format.py IN.csz OUT.raw"
if "$csz" compress "$small.raw" -t f32 -d 9000 -e 1e-3 -z zstd -o zstd.csz >/dev/null 2>&1; then # csz may lack zstd
    python3 "$tests/decode_format.py" zstd.csz zstd.raw 2>&1 | grep -q 'needs zstd' && holds=true || holds=false
    report "$holds" "decode_format.py says what it lacks"
fi
((n_failed == 0))
