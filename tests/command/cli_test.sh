#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cli_test.sh CSZ: end-to-end test of the command csz, through files, pipes and exit statuses alone.  Prints
# one line per property and exits 1 if any does not hold.  Needs coreutils, bash and python3's standard
# library.  A refusal counts as one only if it has the right exit status and says what is wrong in one line.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: cli_test.sh CSZ}") || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_cli_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C
# shellcheck source=tests/support/properties.sh
. "$here/../support/properties.sh"

# keeps_old PATTERN NAME OUTPUT COMMAND...: the command is refused with 1, and OUTPUT holds what it held.
keeps_old() {
    local pattern=$1 name=$2 output=$3
    shift 3
    printf 'the old file' >"$output"
    refuses 1 "$pattern" "$name" "$@"
    same_text "$name: the old file is intact" "the old file" "$(cat "$output")"
    rm -f "$output"
}

absent() {
    if [[ -e $2 || -L $2 ]]; then failed "$1" "$2 exists"; else passed "$1"; fi
}

no_temporaries() {
    local found
    found=$(find "$work" -name '.*' ! -path "$work")
    same_text "$1" "" "$found"
}

cat >tool.py <<'PY'
"""Makes data and checks results without the program under test."""
import array, json, math, struct, sys, zipfile

KEYS = """nbytes_in nbytes_out ratio bits_per_value bound_mode bound bound_abs workflow backend seconds
max_abs_error psnr psnr_formula nrmse violations worst_index""".split()


def wave(n):
    seed, values = 1, []
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2**31
        values.append(math.sin(i * 0.01) * 10 + math.cos(i * 0.13) + seed / 2**31 * 0.05)
    return values


def save(path, code, values):
    with open(path, "wb") as f:
        array.array(code, values).tofile(f)


def load(path, code):
    values = array.array(code)
    values.frombytes(open(path, "rb").read())
    return values


def npy(path, descr, shape, data, major=1, fortran=False, pad=64):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    start = 10 if major == 1 else 12
    text += " " * (-(start + len(text) + 1) % pad) + "\n"
    length = struct.pack("<H" if major == 1 else "<I", len(text))
    open(path, "wb").write(b"\x93NUMPY" + bytes([major, 0]) + length + text.encode() + data)


def columns_first(values, dims):
    """The values of a row-major field, the first index varying fastest."""
    order = [0]
    stride = math.prod(dims)
    for extent in dims:
        stride //= extent
        order = [at + i * stride for i in range(extent) for at in order]
    return [values[i] for i in order]


def make():
    for name, n in (("d1", 5000), ("d2", 60 * 70), ("d3", 12 * 20 * 40), ("d4", 3 * 4 * 20 * 30)):
        values = wave(n)
        save(name + ".f32", "f", values)
        save(name + ".f64", "d", values)
    values = wave(12 * 20 * 40)
    raw = array.array("f", values).tobytes()
    swapped = array.array("f", values)
    swapped.byteswap()
    for major in (1, 2, 3):
        npy("v%d.npy" % major, "<f4", "(12, 20, 40)", raw, major)
    npy("big.npy", ">f4", "(12, 20, 40)", swapped.tobytes())
    npy("unaligned.npy", "<f4", "(12, 20, 40L)", raw, pad=1)
    npy("row.npy", "<f4", "(9600,)", raw, fortran=True)
    npy("scalar.npy", "<f8", "()", struct.pack("<d", 3.25))
    npy("f8.npy", "<f8", "(12, 20, 40)", array.array("d", values).tobytes())
    fortran = columns_first(values, (12, 20, 40))
    npy("fortran.npy", "<f4", "(12, 20, 40)", array.array("f", fortran).tobytes(), fortran=True, pad=1)
    swapped = array.array("f", fortran)
    swapped.byteswap()
    npy("fortran_big.npy", ">f4", "(12, 1, 20, 40)", swapped.tobytes(), fortran=True)
    npy("fortran_f8.npy", "<f8", "(12, 20, 40)", array.array("d", fortran).tobytes(), fortran=True)
    five = columns_first(values, (3, 4, 2, 10, 40))
    npy("fortran_five.npy", "<f4", "(3, 4, 2, 10, 40)", array.array("f", five).tobytes(), fortran=True)
    npy("complex.npy", "<c8", "(12, 20, 20)", raw)
    npy("object.npy", "|O", "(12, 20, 40)", raw)
    npy("text.npy", "<U5", "(12, 20, 40)", raw)
    text = "{'descr': [('u]', '<f4'), ('v', '<f8', (2,))], 'fortran_order': False, 'shape': (3,), }\n"
    open("structured.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(60))
    with zipfile.ZipFile("arrays.npz", "w") as archive:
        archive.writestr("a.npy", open("v1.npy", "rb").read())
    sea = array.array("f", wave(60 * 70))
    for i in range(0, len(sea), 8):
        sea[i] = 1e20
    save("sea.f32", "f", sea)
    npy("sea.npy", "<f4", "(60, 70)", sea.tobytes())
    save("sea.f64", "d", sea)
    save("gauge.f32", "f", [-999.9 if i % 50 < 3 else x for i, x in enumerate(wave(60 * 70))])
    save("land0.f32", "f", [0 if i % 50 < 9 else 280 + x for i, x in enumerate(wave(60 * 70))])
    npy("integers.npy", "<i4", "(12, 20, 40)", raw)
    npy("five.npy", "<f4", "(3, 4, 2, 10, 40)", raw)
    npy("short.npy", "<f4", "(12, 20, 41)", raw)
    npy("overflow.npy", "<f4", "(4294967296, 4294967296, 16)", raw)
    npy("huge.npy", "<f4", "(99999999999999999999999,)", raw)
    npy("negative.npy", "<f4", "(-1,)", raw)
    npy("version.npy", "<f4", "(9600,)", raw, major=9)
    open("length.npy", "wb").write(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'")
    open("stub.npy", "wb").write(b"\x93NUMPY\x01")
    open("fake.npy", "wb").write(raw)
    good = open("v1.npy", "rb").read()
    for n in range(0, 128, 3):
        open("cut%d.npy" % n, "wb").write(good[:n])
    missing = array.array("f", values)
    for i in range(0, len(missing), 7):
        missing[i] = 1e20
    missing[5], missing[6], missing[8], missing[9] = math.nan, math.inf, -math.inf, -0.0
    save("missing.f32", "f", missing)
    altered = array.array("f", values)
    altered[4321] += 0.5
    save("altered.f32", "f", altered)
    seed, noise = 7, array.array("I")
    for i in range(1 << 21):
        seed = (seed * 1664525 + 1013904223) % 2**32
        noise.append(0x3F800000 | seed >> 9)
    with open("noise.f32", "wb") as f:
        noise.tofile(f)


def bound(original, restored, code, limit, fill):
    a, b = load(original, code), load(restored, code)
    assert len(a) == len(b), (len(a), len(b))
    for i, (x, y) in enumerate(zip(a, b)):
        if not math.isfinite(x) or x == fill or x == 0:
            assert struct.pack(code, x) == struct.pack(code, y), (i, x, y)
        else:
            assert abs(x - y) <= limit, (i, x, y)


def box(whole, code, dims, part, begin, end):
    """The .npy file part is the box begin..end of the raw file whole, with its shape in the header."""
    whole = load(whole, code)
    data = open(part, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start].decode())
    shape = tuple(e - b for b, e in zip(begin, end))
    assert header == {"descr": "<f4" if code == "f" else "<f8", "fortran_order": False, "shape": shape}, header
    assert start % 64 == 0
    indices = [()]
    for b, e in zip(begin, end):
        indices = [index + (i,) for index in indices for i in range(b, e)]
    wanted = array.array(code)
    for index in indices:
        at = 0
        for i, d in zip(index, dims):
            at = at * d + i
        wanted.append(whole[at])
    assert wanted.tobytes() == data[start:]


def keys(path, *pairs):
    text = open(path).read()
    assert text.count("\n") == 1 and text.endswith("\n"), text
    value = json.loads(text)
    lacking = [key for key in KEYS if key not in value]
    assert not lacking, lacking
    assert value["psnr_formula"] == "20*log10(range/rmse)"
    for pair in pairs:
        key, wanted = pair.split("=", 1)
        assert value[key] == json.loads(wanted), (key, value[key])


def on_terminal(*command):
    """Runs the command with its output and errors on a terminal; prints what the terminal shows."""
    import os, pty
    pid, fd = pty.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.execv(command[0], command)
    shown = b""
    seen = open("shown.txt", "wb", buffering=0)
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
        seen.write(part)
    sys.stdout.write(shown.decode())
    sys.stdout.flush()
    sys.exit(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))


def numbers(text):
    return [int(part) for part in text.split(",")]


task, words = sys.argv[1], sys.argv[2:]
if task == "make":
    make()
elif task == "bound":
    fill = array.array("f", [float(words[4])])[0] if len(words) > 4 else None
    bound(words[0], words[1], words[2], float(words[3]), fill)
elif task == "box":
    box(words[0], words[1], numbers(words[2]), words[3], numbers(words[4]), numbers(words[5]))
elif task == "keys":
    keys(*words)
elif task == "terminal":
    on_terminal(*words)
PY
tool() { python3 tool.py "$@"; }
tool make || exit 2

# ---- Round trips -------------------------------------------------------------------------------------

for type in f32 f64; do
    code=$([[ $type == f32 ]] && echo f || echo d)
    for shape in d1:5000 d2:60x70 d3:12x20x40 d4:3x4x20x30; do
        file=${shape%%:*}.$type
        holds "$file compresses" "$csz" compress "$file" -t $type -d "${shape#*:}" -e 1e-3
        holds "$file restores" "$csz" decompress "$file.csz" -o restored
        holds "$file keeps the bound" tool bound "$file" restored "$code" 1e-3
        holds "$file verifies" "$csz" verify "$file" "$file.csz"
        holds "$file tests" "$csz" test "$file.csz"
        rm -f restored
    done
done
holds "the default output of decompress is the name without .csz" bash -c "mv d1.f32 kept &&
    '$csz' decompress d1.f32.csz && '$csz' compare kept d1.f32 -t f32 -d 5000 --bound 1e-3 && mv kept d1.f32"
for mode in abs rel psnr pwr; do
    bound=$([[ $mode == psnr ]] && echo 60 || echo 1e-2)
    holds "-m $mode verifies" bash -c "'$csz' compress d3.f32 -t f32 -d 12x20x40 -m $mode -e $bound -o m.csz -f \
        --verify && '$csz' verify d3.f32 m.csz"
done
for type in f32 f64; do
    holds "-m exact gives the same bytes back, of $type" bash -c "'$csz' compress d3.$type -d 12x20x40 -m exact -o m.csz -f --verify &&
        '$csz' verify d3.$type m.csz && '$csz' decompress m.csz -o m.raw -f && cmp m.raw d3.$type &&
        '$csz' compress - -t $type -d 12x20x40 -m exact -o - <d3.$type | cmp - m.csz"
done
holds "csz info says exact" bash -c "'$csz' info m.csz | grep -q '^bound  *exact'"
holds "so does decompress, and not that it is within something" bash -c "'$csz' decompress m.csz -o m.raw -f | grep -q 'of f64, exact$'"
refuses 1 'keeps every bit' "--level of an exact archive" "$csz" decompress m.csz -o m.raw -f --level 1
refuses 2 'without -e' "-m exact with a bound" "$csz" compress d3.f32 -d 12x20x40 -m exact -e 1e-3 -o no.csz
refuses 2 'without -w' "-m exact with a workflow" "$csz" compress d3.f32 -d 12x20x40 -m exact -w rle -o no.csz
refuses 2 'without -p' "-m exact with the pyramid" "$csz" compress d3.f32 -d 12x20x40 -m exact -p pyramid -o no.csz
holds "predicts the size of a small field to the byte" python3 -c "
import json, os, subprocess
subprocess.run(['$csz', 'compress', 'd3.f32', '-d', '12x20x40', '-m', 'exact', '-f', '-q', '-o', 'm.csz'], check=True)
(a,) = json.loads(subprocess.run(['$csz', 'analyze', 'd3.f32', '-d', '12x20x40', '-m', 'exact', '--json'], check=True, capture_output=True).stdout)['bounds']
assert a['workflows']['auto']['nbytes_predicted'] == os.path.getsize('m.csz') and list(a['workflows']) == ['auto'], a['workflows']"
holds "in words" bash -c "'$csz' analyze d3.f32 -d 12x20x40 -m exact --exact | grep -q 'every bit comes back'"
refuses 2 'without -e' "analyze -m exact with a bound" "$csz" analyze d3.f32 -d 12x20x40 -m exact -e 1e-3
for workflow in auto huffman rle rle+vle; do
    holds "-w $workflow verifies" bash -c "'$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-2 -w $workflow -o w.csz \
        -f && '$csz' verify d3.f32 w.csz"
done
if "$csz" --version | grep -q 'zstd yes'; then
    for pass in zstd zstd:1 zstd:22; do
        holds "-z $pass verifies" bash -c "'$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-2 -z $pass -o z.csz -f &&
            '$csz' verify d3.f32 z.csz"
    done
else
    refuses 1 'zstd' "-z zstd is refused where it is not built in" \
        "$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-2 -z zstd -o z.csz
fi
"$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -j1 -o one.csz >out.txt
"$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 --threads=2 -b cpu -o two.csz >out.txt
holds "the archive is the same for every thread count" cmp one.csz two.csz
"$csz" compress -f -e1e-3 --type=f32 -o two.csz --dims 12x20x40 --mode abs -- d3.f32 >out.txt
holds "options before the path, joined and long, mean the same" cmp one.csz two.csz
holds "missing and special values compress" \
    "$csz" compress missing.f32 -t f32 -d 12x20x40 -m rel -e 1e-3 --fill 1e20 --verify
holds "missing and special values verify with the archive's fill value" "$csz" verify missing.f32 missing.f32.csz
holds "missing and special values restore" "$csz" decompress missing.f32.csz -o restored
holds "missing and special values come back bit for bit" tool bound missing.f32 restored f 0.03 1e20
holds "--fill nan is understood" "$csz" compress missing.f32 -t f32 -d 9600 -e 1e-3 --fill nan -o nan.csz
: >empty.raw
holds "a field without elements compresses" "$csz" compress empty.raw -t f64 -d 4x0x7 -e 1 --verify
holds "a field without elements restores" "$csz" decompress empty.raw.csz -f
same_text "a field without elements restores to an empty file" 0 "$(stat -c %s empty.raw)"
rm -f restored

# ---- Pipes -------------------------------------------------------------------------------------------

holds "compress and decompress in a pipe" bash -c \
    "set -o pipefail; cat d3.f32 | '$csz' compress - -t f32 -d 12x20x40 -e 1e-3 | '$csz' decompress - >piped"
holds "the pipe keeps the bound" tool bound d3.f32 piped f 1e-3
holds "standard input as a file" bash -c "'$csz' compress - -t f32 -d 12x20x40 -e 1e-3 <d3.f32 >redirected.csz"
holds "pipe and file give the same archive" cmp redirected.csz one.csz
holds "-o - writes to standard output" bash -c \
    "set -o pipefail; '$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -o - | cmp - one.csz"
holds "/dev/stdout is standard output" bash -c \
    "'$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -o /dev/stdout >s.csz && cmp s.csz one.csz"
holds "a descriptor is written where it is" bash -c \
    "printf 'before' >s.csz && '$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -o /dev/fd/3 3>>s.csz && tail -c +7 s.csz | cmp - one.csz"
cp one.csz s.csz
refuses 1 'exists' "a file behind /proc is one like others" "$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-2 -o /proc/self/cwd/s.csz
holds "and kept" cmp s.csz one.csz
holds "unless -f is given" bash -c \
    "printf '%100000s' x >s.csz && '$csz' compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -f -o /proc/self/cwd/s.csz && cmp s.csz one.csz"
holds "verify reads the original from a pipe" bash -c "cat d3.f32 | '$csz' verify - one.csz"
holds "verify reads the archive from a pipe" bash -c "cat one.csz | '$csz' verify d3.f32 -"
holds "info and test read a pipe" bash -c "cat one.csz | '$csz' info - && cat one.csz | '$csz' test -"
mkfifo fifo
bad=""
for _ in {1..25}; do # a short writer is done, and gone, as soon as someone has opened the pipe
    cat d1.f32 >fifo &
    timeout 300 "$csz" compress fifo -t f32 -d 5000 -e 1e-3 -f -o from_fifo.csz >out.txt 2>err.txt && cmp -s from_fifo.csz d1.f32.csz || bad="$(cat err.txt) "
    kill $! 2>/dev/null
    wait $! 2>/dev/null
    [[ -z $bad ]] || break
done
same_text "a named pipe is opened once" "" "$bad"
for command in "verify fifo d1.f32.csz" "compare fifo d1.f32 -t f32 -d 5000" "analyze fifo -t f32 -d 5000"; do
    cat d1.f32 >fifo &
    # shellcheck disable=SC2086 # words
    holds "$command" timeout 300 "$csz" $command
    kill $! 2>/dev/null
    wait $! 2>/dev/null
done
cat fifo >from_fifo &
holds "a named pipe is written in place" "$csz" decompress one.csz -o fifo
wait
holds "a named pipe carries the field" cmp from_fifo piped
holds "a named pipe stays one" test -p fifo
refuses 1 'standard output.*reader' "a reader that goes away is an error, not a silent end" bash -c \
    "{ '$csz' compress noise.f32 -t f32 -d 2097152 -e 1e-6 -o - --json; echo \$? >status; } | true
     exit \"\$(cat status)\""
unread="import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.execv(sys.argv[1], sys.argv[1:])" # into a pipe without a reader
for words in "info one.csz" "info one.csz one.csz -j2" "help"; do
    # shellcheck disable=SC2086 # words
    python3 -c "$unread" "$csz" $words 2>err.txt
    same_text "printed text that nobody reads ends silently, by SIGPIPE: $words" "status 141" "status $?$(cat err.txt)"
done
refuses 1 'nowhere.csz' "a failure is told all the same" python3 -c "$unread" "$csz" info nowhere.csz
holds "/dev/null is written in place" "$csz" decompress one.csz -o /dev/null
holds "/dev/null is still a device" test -c /dev/null
rm -f fifo

# ---- .npy --------------------------------------------------------------------------------------------

"$csz" decompress one.csz -o whole >out.txt
for file in v1 v2 v3 big unaligned; do
    "$csz" compress $file.npy -e 1e-3 -o npy.csz >out.txt 2>err.txt
    holds "$file.npy gives the archive of its raw data" cmp npy.csz one.csz
    rm -f npy.csz
done
holds ".npy from a pipe" bash -c "set -o pipefail; cat v1.npy | '$csz' compress - -e 1e-3 | cmp - one.csz"
holds ".npy with -t and -d that agree" "$csz" compress v1.npy -t f32 -d 12x20x40 -e 1e-3 -o npy.csz
holds "verify takes a .npy original" "$csz" verify v1.npy one.csz
holds "verify takes a .npy original from a pipe" bash -c "cat v1.npy | '$csz' verify - one.csz"
holds "compare takes .npy and raw" "$csz" compare d3.f32 v1.npy --bound 0
holds "a .npy of shape () is one element" bash -c \
    "'$csz' compress scalar.npy -e 1e-9 && '$csz' verify scalar.npy scalar.npy.csz"
holds "a one-dimensional .npy may say Fortran order" "$csz" compress row.npy -e 1 -o row.csz
holds "decompress writes .npy" "$csz" decompress one.csz -o whole.npy
holds "the .npy written is right" tool box whole f 12,20,40 whole.npy 0,0,0 12,20,40
holds "the .npy written can be read" "$csz" verify whole.npy one.csz
holds "f64 .npy round trip by default names" bash -c \
    "'$csz' compress f8.npy -e 1e-6 && '$csz' decompress -f f8.npy.csz && '$csz' verify f8.npy f8.npy.csz"
for file in fortran fortran_big; do
    "$csz" compress $file.npy -e 1e-3 -o npy.csz -f >out.txt 2>err.txt
    "$csz" decompress npy.csz -o npy.raw -f >out.txt
    holds "$file.npy is read in C order" cmp npy.raw whole
    holds "$file.npy verifies" "$csz" verify $file.npy one.csz
    holds "$file.npy compares" "$csz" compare $file.npy d3.f32 --bound 0
done
holds "Fortran order gives the archive of C order" bash -c "'$csz' compress fortran.npy -e 1e-3 -o npy.csz -f && cmp npy.csz one.csz"
holds "and from a pipe" bash -c "set -o pipefail; cat fortran.npy | '$csz' compress - -e 1e-3 | cmp - one.csz"
holds "and of f64" bash -c "'$csz' compress fortran_f8.npy -e 1e-3 -o npy.csz -f && '$csz' verify d3.f64 npy.csz"
holds "five dims are stored as four, the slowest as one" bash -c \
    "'$csz' compress five.npy -e 1e-3 -o five.csz && '$csz' info five.csz --json | grep -q '\"dims\": .12, 2, 10, 40.'"
holds "and in Fortran order too" bash -c "'$csz' compress fortran_five.npy -e 1e-3 -o npy.csz -f && cmp npy.csz five.csz"
holds "with JSON on standard error there is no note" bash -c "'$csz' compress five.npy -e 1e-3 -o - --json 2>json.txt >five2.csz && cmp five2.csz five.csz"
holds "so that it is JSON" tool keys json.txt
"$csz" compress fortran_five.npy -e 1e-3 -o npy.csz -f >out.txt 2>err.txt
says "which is noted" '^csz: note: fortran_five.npy has 5 dims, of which the archive keeps 12x2x10x40' err.txt
holds "five dims verify" "$csz" verify five.npy five.csz
refuses 1 "<i4.*astype" "integers are refused" "$csz" compress integers.npy -e 1e-3
refuses 1 "complex.*array.real" "complex numbers are refused, with both parts named" "$csz" compress complex.npy -e 1e-3
refuses 1 "Python objects" "objects are refused" "$csz" compress object.npy -e 1e-3
refuses 1 "'<U5'" "text is refused" "$csz" compress text.npy -e 1e-3
refuses 1 "holds records, not numbers; .*array\['NAME'\]" "records are refused" "$csz" compress structured.npy -e 1e-3
refuses 2 "zip file.*numpy.save" "a .npz is refused" "$csz" compress arrays.npz -e 1e-3
refuses 2 "archive already; restore it with csz decompress" "an archive is refused as a field" "$csz" compress one.csz -e 1e-3
refuses 1 '39360 .*38400' "a .npy with too little data is refused" "$csz" compress short.npy -e 1e-3
refuses 1 'overflow' "a .npy whose shape overflows is refused" "$csz" compress overflow.npy -e 1e-3
refuses 1 'header' "a .npy with an extent beyond 64 bits is refused" "$csz" compress huge.npy -e 1e-3
refuses 1 'header' "a .npy with a negative extent is refused" "$csz" compress negative.npy -e 1e-3
refuses 1 '9.0' "a .npy of an unknown version is refused" "$csz" compress version.npy -e 1e-3
refuses 1 'header' "a .npy header longer than the file is refused" "$csz" compress length.npy -e 1e-3
refuses 1 'header' "a .npy of seven bytes is refused" "$csz" compress stub.npy -e 1e-3
refuses 1 'no .npy' "a raw file called .npy is refused" "$csz" compress fake.npy -t f32 -d 9600 -e 1e-3
refuses 1 'f32.*f64' "-t that contradicts a .npy is refused" "$csz" compress v1.npy -t f64 -e 1e-3
refuses 1 '12x20x40.*12x800' "-d that contradicts a .npy is refused" "$csz" compress v1.npy -d 12x800 -e 1e-3
refuses 1 'dims' "verify refuses a .npy of other dims" "$csz" verify row.npy one.csz
refuses 1 'f64' "verify refuses a .npy of another type" "$csz" verify f8.npy one.csz
bad=""
for file in cut*.npy; do
    "$csz" compress "$file" -e 1e-3 -o cut.csz >out.txt 2>err.txt
    [[ $? -eq 1 && $(wc -l <err.txt) -eq 1 && ! -e cut.csz ]] || bad+="$file "
done
same_text "every cut of a .npy is refused" "" "$bad"

# ---- Regions -----------------------------------------------------------------------------------------

region() { # TEXT FILE CODE DIMS BEGIN END
    holds "--region $1 of $4 restores" "$csz" decompress "$2.csz" --region "$1" -o part.npy -f
    "$csz" decompress "$2.csz" -o region_whole -f >out.txt
    holds "--region $1 of $4 is the slice of the whole" tool box region_whole "$3" "$4" part.npy "$5" "$6"
}
region 2:7,3:20,5:39 d3.f32 f 12,20,40 2,3,5 7,20,39
region 0:1,:,39: d3.f32 f 12,20,40 0,0,39 1,20,40
region :,19:20,:1 d3.f64 d 12,20,40 0,19,0 12,20,1
region 4095:4097 d1.f32 f 5000 4095 4097
region 10:60,1:2 d2.f64 d 60,70 10,1 60,2
region 1:3,0:4,19:20,2:29 d4.f32 f 3,4,20,30 1,0,19,2 3,4,20,29
holds "--region=... is understood" "$csz" decompress d1.f32.csz --region=5:6 -o part -f
same_text "a raw region has the size of the box" 4 "$(stat -c %s part)"
for text in 0:1,0:1 3:3,:,: 5:4,:,: 0:13,:,: :,:,40:; do
    refuses 1 'region|range' "--region $text of 12x20x40 is refused" "$csz" decompress one.csz --region "$text" -o bad
done
for text in '' 5 a:b 1:2:3 '0:1,' -1:2 0:1,0:1,0:1,0:1,0:1 99999999999999999999:; do
    refuses 2 'region' "--region '$text' is a usage error" "$csz" decompress one.csz --region "$text" -o bad
done
absent "a refused region leaves no output" bad

# ---- JSON --------------------------------------------------------------------------------------------

json() { # NAME PAIRS... -- COMMAND...
    local name=$1 pairs=()
    shift
    while [[ $1 != -- ]]; do
        pairs+=("$1")
        shift
    done
    shift
    "$@" >json.txt 2>err.txt
    holds "$name --json is one object with all keys" tool keys json.txt "${pairs[@]}"
}
json compress nbytes_in=38400 'bound_mode="rel"' bound=0.001 'workflow="auto"' 'backend="cpu"' psnr=null \
    violations=null -- "$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -m rel --json -f -b cpu
json "compress --verify" violations=0 'type="f32"' 'dims=[12, 20, 40]' -- \
    "$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 --verify --json -f
json decompress nbytes_out=38400 'output="json.out"' -- "$csz" decompress d3.f32.csz -o json.out --json
json info nelements=9600 seconds=null -- "$csz" info d3.f32.csz --json
json compare violations=1 worst_index=4321 ratio=null bound=0.01 -- \
    "$csz" compare d3.f32 altered.f32 -t f32 -d 12x20x40 --bound 0.01 --json
json "compare without a bound" bound=null bound_mode=null -- "$csz" compare d3.f32 d3.f32 -t f32 -d 9600 --json
: >empty.f32
json "compare of empty fields" min=null max=null worst_index=null violations=0 -- "$csz" compare empty.f32 empty.f32 -t f32 -d 0x5 --json
json "compare of equal fields" ssim=1 pearson=1 max_pwr_error=0 ssim_window=8 -- "$csz" compare d3.f32 d3.f32 -t f32 -d 9600 --json
json "csz analyze -m exact" 'analysis_mode="exact"' -- "$csz" analyze d3.f32 -t f32 -d 12x20x40 -m exact --json
json analyze exact=false nbytes_out=null 'analysis_mode="rel"' 'dims=[12, 20, 40]' -- "$csz" analyze d3.f32 -t f32 -d 12x20x40 --json
json "analyze --exact" exact=true 'analysis_mode="abs"' -- \
    "$csz" analyze d3.f32 -t f32 -d 12x20x40 -e 1e-3 -e 1e-2 --exact --json -j3
holds "analyze's exact sizes are those of compress" python3 -c '
import json, sys
bounds = json.load(open("json.txt"))["bounds"]
assert [b["bound"] for b in bounds] == [1e-3, 1e-2] and len(bounds[0]["madogram_codes"]["binary"]) == 200
assert bounds[0]["workflows"]["auto"]["nbytes"] == len(open("one.csz", "rb").read())
assert all(b["huffman_bits_lower"] <= b["huffman_bits"] + 1e-9 for b in bounds) and bounds[0]["reason"]'
json "analyze of an empty field" backend=null ratio=null -- "$csz" analyze empty.f32 -t f32 -d 0x5 -e 1 --exact --json
holds "analyze of an empty field has null for what is not computed" python3 -c '
import json
bound = json.load(open("json.txt"))["bounds"][0]
assert bound["p1"] is None and bound["prediction_error"] is None
assert all(w["ratio"] is None and w["ratio_predicted"] is None for w in bound["workflows"].values())'
holds "arrays have as many digits as numbers" bash -c "
    '$csz' compare d3.f32 altered.f32 -t f32 -d 9600 --json | grep -Eq '\"autocorrelation\": .-?[0-9.]{15}'"
head -c 400000 /dev/zero >zeros.f32
"$csz" analyze zeros.f32 -t f32 -d 100000 -e 1 >said.txt
holds "no regret is none" grep 'auto is as large as' said.txt
for _ in 1 2 3 4 5 6 7 8; do cat zeros.f32 d3.f32; done >rare.f32
"$csz" analyze rare.f32 -t f32 -d 876800 -e 1e-3 >said.txt
holds "an uncertain ratio is a range" grep -E '^    -w auto +[0-9.]+ to [0-9.]+ *$' said.txt
"$csz" analyze d3.f32 -t f32 -d 9600 -e 1e-3 >said.txt
holds "a certain ratio is a number" grep -E '^    -w auto +[0-9.]+, [0-9.e-]+%$' said.txt

# ---- Predictors and previews ---------------------------------------------------------------------------

python3 - <<'PY'
import array, math
values = (10 * math.sin(z / 9) * math.cos(y / 11) + 5 * math.sin(x / 13 + y / 17) for z in range(50) for y in range(61) for x in range(130))
array.array("f", values).tofile(open("hills.f32", "wb"))
PY
hills=(hills.f32 -d 50x61x130 -e 0.05)
for predictor in lorenzo pyramid auto; do
    holds "compress -p $predictor keeps the bound" "$csz" compress "${hills[@]}" -p $predictor --verify -o "$predictor.csz"
    holds "the same bytes by one thread and by three" bash -c \
        "'$csz' compress ${hills[*]} -p $predictor -j1 -o - | cmp - $predictor.csz && '$csz' compress ${hills[*]} -p $predictor -j3 -o - | cmp - $predictor.csz"
    holds "$predictor: test" "$csz" test $predictor.csz
done
holds "compress names the predictor" bash -c "'$csz' compress ${hills[*]} -p auto -f -o auto.csz | grep -q '^  bound 0.05 absolute, predictor pyramid, workflow auto, '"
json "and as a key" 'predictor="pyramid"' npyramids=1 -- "$csz" compress "${hills[@]}" -p auto -f -o auto.csz --json
holds "also where Lorenzo takes the pyramid's place" bash -c "'$csz' compress hills.f32 -d 50x61x130 -e 1e-7 -p pyramid -o tight.csz | grep -q ', predictor lorenzo, '"
holds "and in one dim" bash -c "'$csz' compress hills.f32 -d 1x396500 -e 0.05 -p pyramid -o dim.csz | grep -q ', predictor lorenzo, '"
holds "pyramids are smaller where a field is smooth" test "$(stat -c %s pyramid.csz)" -lt "$(($(stat -c %s lorenzo.csz) * 2 / 3))"
same_text "auto takes them" "$(stat -c %s pyramid.csz)" "$(stat -c %s auto.csz)"
holds "info of pyramids" "$csz" info auto.csz
says "says how values are predicted" '^predictor +pyramid$' out.txt
says "and lists the levels" '^  bytes of level 2 +[0-9]+  13x16x33$' out.txt
"$csz" info auto.csz >said.txt
holds "and says that tiles by coder count those of coarser lattices, too" python3 -c '
import re
text = open("said.txt").read()
field, all = map(int, re.search(r"^tiles +(\d+) of [x\d]+; with those of coarser lattices (\d+):$", text, re.M).groups())
rows = re.search(r":\n((?:  .* +\d+ +[\d.]+%\n)+)", text)[1].splitlines()
assert field == 7 * 4 * 5 and field < all == sum(int(row.split()[-2]) for row in rows), (field, all, rows)'
holds "info of Lorenzo" bash -c "'$csz' info lorenzo.csz | grep -qE '^tiles +[0-9]+ of [x0-9]+$'"
holds "info says what previews cost where Lorenzo took the pyramid's place" bash -c "'$csz' info tight.csz | grep -q '^previews  *from the whole payload' && ! '$csz' info tight.csz | grep -q 'bytes of level'"
holds "of pyramids it does not" bash -c "! '$csz' info auto.csz | grep -q '^previews'"
json "info of pyramids" 'predictor="pyramid"' npyramids=1 -- "$csz" info pyramid.csz --json
json "info of Lorenzo" 'predictor="lorenzo"' npyramids=0 nlevels=1 -- "$csz" info lorenzo.csz --json
"$csz" decompress auto.csz -o whole.f32 -q
holds "a preview" "$csz" decompress auto.csz --level 2 -o preview.npy
holds "a part of it, from a pipe to a pipe" bash -c "cat auto.csz | '$csz' decompress - --level 2 --region 3:9,:,10:20 -o - >part.f32"
holds "it is every fourth value of the field, within the bound" python3 -c '
import array
field, preview, part = array.array("f"), array.array("f"), array.array("f")
field.frombytes(open("hills.f32", "rb").read())
preview.frombytes(open("preview.npy", "rb").read()[128:])
part.frombytes(open("part.f32", "rb").read())
assert b"(13, 16, 33)" in open("preview.npy", "rb").read(128) and len(preview) == 13 * 16 * 33
for z in range(13):
    for y in range(16):
        for x in range(33):
            assert abs(preview[(z * 16 + y) * 33 + x] - field[(4 * z * 61 + 4 * y) * 130 + 4 * x]) <= 0.05
assert list(part) == [preview[(z * 16 + y) * 33 + x] for z in range(3, 9) for y in range(16) for x in range(10, 20)]'
cp auto.csz named.f32.csz && echo kept >named.f32
holds "a preview and its part have names of their own" bash -c "'$csz' decompress named.f32.csz --level 2 --region 3:9,:,10:20 &&
    cmp part.f32 named.level2.part.f32 && '$csz' decompress named.f32.csz --level 2 && test -s named.level2.f32 && grep -q kept named.f32"
json "a preview says its level" level=2 -- "$csz" decompress named.f32.csz --level 2 -f --json
refuses 1 'lorenzo.csz has no previews.*-p pyramid' "a preview of Lorenzo" "$csz" decompress lorenzo.csz --level 1 -o x
"$csz" compress hills.f32 -d 396500 -e 0.05 -p pyramid -q -o one_row.csz
refuses 1 'one_row.csz has no previews, which need two dims' "a preview of a row" "$csz" decompress one_row.csz --level 1 -o x
head -c 4000 hills.f32 >tile.f32
"$csz" compress tile.f32 -d 20x50 -e 0.05 -p pyramid -q -o one_tile.csz
refuses 1 'one_tile.csz has no previews, as one tile holds' "a preview of a tile" "$csz" decompress one_tile.csz --level 1 -o x
refuses 1 'no level 9; give --level 1 to [1-8]$' "a level beyond all" "$csz" decompress auto.csz --level 9 -o x
refuses 2 "level '40'" "a level that no archive has" "$csz" decompress auto.csz --level 40 -o x
refuses 2 "predictor 'linear' is unknown; give -p" "a predictor that is none" "$csz" compress "${hills[@]}" -p linear -o x
refuses 1 'previews are written to raw and .npy files alone' "a preview as a dataset" "$csz" decompress auto.csz --level 1 -o x.h5:/x
head -c 5000 auto.csz >cut.csz
refuses 1 'short' "a preview of an archive cut short" "$csz" decompress cut.csz --level 1 -o x
absent "no refusal leaves an output" x
keeps_old 'short' "a preview that fails" old.npy "$csz" decompress cut.csz --level 1 -f -o old.npy
"$csz" analyze "${hills[@]}" >said.txt
holds "analyze predicts every predictor" bash -c 'for p in lorenzo pyramid auto; do grep -Eq "^    -p $p +[0-9.]+(,| to)" said.txt || exit 1; done'
says "and says what auto takes, and why" '^  predictor auto takes the pyramid, which by its sample is smaller: the pyramid takes [0-9.]+ bits a value, lorenzo [0-9.]+\.$' said.txt
holds "analyze -p lorenzo leaves them out" bash -c "'$csz' analyze ${hills[*]} -p lorenzo >said.txt && grep -q '^    -w rle ' said.txt && ! grep -q pyramid said.txt"
json "analyze --exact of predictors" exact=true -- "$csz" analyze "${hills[@]}" --exact --json
holds "exact sizes of predictors are those of compress" python3 -c '
import json, os
bound = json.load(open("json.txt"))["bounds"][0]
assert {p: s["nbytes"] for p, s in bound["predictors"].items()} == {p: os.path.getsize(p + ".csz") for p in ("lorenzo", "pyramid", "auto")}
assert bound["npyramids"] == bound["nframes"] == 1'

report() { python3 -S "$here/../../tools/csz-report" "$@"; } # without site-packages: no matplotlib
holds "csz-report --help needs no library" report --help
same_text "csz-report tells its version" "csz-report $("$csz" --version | grep -o -m1 '[0-9][0-9.]*')" "$(report --version)"
echo '{"command": "analyze"}' >lacking.json
report lacking.json 2>said.txt
same_text "csz-report exits 1 on incomplete JSON" 1 $?
same_text "and says so in one line" "csz-report: lacking.json, line 1 lacks dims" "$(sed 's/;.*//' said.txt)"
mkdir -p old/matplotlib
echo >old/numpy.py
echo >old/matplotlib/pyplot.py
printf '__version__ = "3.5.1"\ndef use(backend): pass\n' >old/matplotlib/__init__.py
"$csz" analyze d3.f32 -t f32 -d 9600 -e 1e-3 --json >whole.json
PYTHONPATH=old report -o report.html whole.json 2>said.txt
same_text "csz-report exits 1 with a matplotlib that is too old" 1 $?
same_text "and says so, whatever the JSON" "csz-report: matplotlib 3.5.1 is too old" "$(sed 's/;.*//' said.txt)"
rm -rf said.txt lacking.json zeros.f32 whole.json old
json verify violations=0 bound=0.001 -- "$csz" verify d3.f32 d3.f32.csz --json
json "verify of an altered original" violations=1 worst_index=4321 -- "$csz" verify altered.f32 d3.f32.csz --json
json test 'command="test"' -- "$csz" test d3.f32.csz --json
json bench violations=0 repeat=2 'predictor="lorenzo"' -- "$csz" bench d3.f32 -t f32 -d 12x20x40 -e 1e-3 --repeat 2 --json
json "bench of a pyramid" 'predictor="pyramid"' npyramids=1 -- "$csz" bench d3.f32 -t f32 -d 12x20x40 -e 1e-3 -p pyramid --repeat 1 --json
holds "bench names the predictor" grep -q "^bound .*, predictor pyramid, " <("$csz" bench d3.f32 -t f32 -d 12x20x40 -e 1e-3 -p pyramid --repeat 1)
"$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -o - --json >data 2>json.txt
holds "with -o - the JSON goes to standard error" tool keys json.txt
holds "and standard output carries the archive alone" cmp data one.csz
awkward=$'na"me\\ \t\xff\xc3\xa9.f32'
cp d3.f32 "$awkward"
json "an awkward file name:" nbytes_in=38400 -- "$csz" compress "$awkward" -t f32 -d 9600 -e 1 --json -o awkward.csz
refuses 1 'has 38400 bytes' "an awkward file name stays on one line" \
    "$csz" compress "$awkward" -t f32 -d 9601 -e 1 -o a.csz
holds "bench prints a table" bash -c \
    "set -o pipefail; '$csz' bench d3.f32 -t f32 -d 12x20x40 -e 1e-3 --repeat 1 | grep '^decompress'"
rm -f json.out data "$awkward"

# ---- Fill values that were forgotten -------------------------------------------------------------------

for words in "sea.f32 -m rel" "sea.f32 -m psnr" "sea.npy -m rel" "sea.f64 -m rel" "- -t f32 -m rel"; do
    # shellcheck disable=SC2086
    refuses 2 '1e20|1.0000000200408773e20.* 12.* --fill 1.*e20 .*--fill none' "a fill value stops $words" bash -c \
        "'$csz' compress $words -d 60x70 -e 1e-3 -o forgotten.csz <sea.f32"
done
refuses 2 'has -999.9 in .*--fill -999.9 if' "-999.9 stops it" "$csz" compress gauge.f32 -d 60x70 -m rel -e 1e-3 -o forgotten.csz
refuses 2 'has 1e20' "a fill value stops a run with a memory limit" \
    "$csz" compress sea.f32 -d 60x70 -m rel -e 1e-3 -o forgotten.csz --memory-limit 64M
refuses 2 'has 1e20' "and one for a ratio" "$csz" compress sea.f32 -d 60x70 -m ratio -e 20 -f -o forgotten.csz
refuses 2 'has 1e20' "and one for a size, quiet or not" "$csz" compress sea.f32 -d 60x70 --size 2kB -q -f -o forgotten.csz
refuses 2 'has 1e20' "and bench" "$csz" bench sea.f32 -d 60x70 -m rel -e 1e-3
refuses 2 'has 1e20' "and cdvals --of" "$csz" hdf5 cdvals --of sea.f32 -d 60x70 -m rel -e 1e-3
absent "nothing is written then" forgotten.csz
keeps_old_on_fill() {
    printf 'the old file' >old.csz
    "$csz" compress sea.f32 -d 60x70 -m rel -e 1e-3 -f -o old.csz >out.txt 2>err.txt
    same_text "and an older output is kept" "the old file" "$(cat old.csz)"
    rm -f old.csz
}
keeps_old_on_fill
holds "--fill 1e20 lets it pass" "$csz" compress sea.f32 -d 60x70 -m rel -e 1e-3 --fill 1e20 -f -o forgotten.csz
same_text "without a note" "" "$(cat err.txt)"
holds "--fill none too" "$csz" compress sea.f32 -d 60x70 -m rel -e 1e-3 --fill none -f -o forgotten.csz
same_text "without a note either" "" "$(cat err.txt)"
refuses 2 'the fill value 1e20 nowhere.*--fill 1.0000000200408773e20 if' "a fill value that occurs nowhere beside one that does" \
    "$csz" compress sea.f64 -d 60x70 -m rel -e 1e-3 --fill 1e20 -f -q -o forgotten.csz
holds "the right one lets it pass" \
    "$csz" compress sea.f64 -d 60x70 -m rel -e 1e-3 --fill 1.0000000200408773e20 -f -o forgotten.csz
python3 -c '
import array, random
random.seed(3)
values = [40 * random.random() for _ in range(64800)]
marked = lambda marks: [m if (m := marks.get(i % 1000)) is not None else v for i, v in enumerate(values)]
for name, marks in (("rare", {77: 1e20}), ("two", {5: 1e20, 7: -1e20, 8: -1e20}), ("near", {5: -9999, 7: -9998}), ("six", {0: 1e20, 1: 1e20, 2: 1e20, 3: 1e21, 4: 1e22, 5: 1e23, 6: 1e24, 7: 1e25}), ("round", {5: 100, 6: 100})):
    array.array("f", marked(marks)).tofile(open(name + ".f32", "wb"))
array.array("f", [v if i % 180 == 0 else 1e20 for i, v in enumerate(values)]).tofile(open("few.f32", "wb"))
'
refuses 2 'rare.f32 has 1e20 in about 0.1%.*--fill 1e20 if' "one value in a thousand" \
    "$csz" compress rare.f32 -d 180x360 -m rel -e 1e-3 -o forgotten2.csz
refuses 2 'few.f32 has 1e20 in about 99.4%.*--fill 1e20 if' "a field that is almost all missing" \
    "$csz" compress few.f32 -d 180x360 -m psnr -e 60 -o forgotten2.csz
refuses 2 'has -1e20 in about 0.2[0-9]*% and 1e20 in about 0.1[0-9]*% .*make them one' "two fill values" \
    "$csz" compress two.f32 -d 180x360 -m rel -e 1e-3 -o forgotten2.csz
refuses 2 'has 1e20 in about 0.3[0-9]*%, 1e25 in about 0.1[0-9]*% and more such numbers in some of its values, far' "six fill values" \
    "$csz" compress six.f32 -d 180x360 -m rel -e 1e-3 -o forgotten2.csz
refuses 2 'has 1e20 in about 0.1%.*besides its fill value -1e20.*-m abs' "two fill values of which one is named" \
    "$csz" compress two.f32 -d 180x360 -m rel -e 1e-3 --fill -1e20 -o forgotten2.csz
python3 -c '
import array
values = array.array("f", open("two.f32", "rb").read())
array.array("f", [-9999 if i % 10 == 3 else 1e20 if i % 10 == 7 else v for i, v in enumerate(values)]).tofile(open("both.f32", "wb"))'
for fill in 1e20 -9999; do
    holds "and with an absolute bound: $fill" "$csz" compress both.f32 -d 180x360 -e 1e-3 --fill $fill -f -o forgotten.csz
    says "a note that does not name one after the other" "^csz: note: both.f32 has .*, besides its fill value $fill; .* make all of them one" err.txt
    same_text "alone" "0" "$(grep -c 'give --fill' err.txt)"
    "$csz" analyze both.f32 -d 180x360 -m rel -e 1e-3 --fill $fill >said.txt
    says "analyze neither" 'make all missing values one' said.txt
done
refuses 2 'has -9999 in about 0.1% and -9998 in about 0.1% ' "two fill values side by side" \
    "$csz" compress near.f32 -d 180x360 -m rel -e 1e-3 -o forgotten2.csz
refuses 2 'has 1e20 in about 0.1%' "a rare fill value stops cdvals --of" \
    "$csz" hdf5 cdvals --of rare.f32 -d 180x360 -m rel -e 1e-3
refuses 2 'has 1e20 in about 0.1%' "and a pipe" bash -c "cat rare.f32 | '$csz' compress - -t f32 -d 180x360 -m rel -e 1e-3 -o forgotten2.csz"
holds "100 is no fill value in f32" "$csz" compress round.f32 -d 180x360 -m rel -e 1e-3 -f -o forgotten.csz
same_text "and gives no note" "" "$(cat err.txt)"
absent "nothing is written of those" forgotten2.csz
rm -f both.f32 rare.f32 two.f32 near.f32 six.f32 round.f32 few.f32
python3 -c '
import array, random
random.seed(9)
for name, mark, low in (("odd", 12345, 0), ("density", 0, 1020)):
    array.array("f", [mark if i % 50 == 3 else low + 8 * random.random() for i in range(64800)]).tofile(open(name + ".f32", "wb"))
'
for words in "compress odd.f32 -o forgotten2.csz -m rel -e 1e-3" "compress odd.f32 -o forgotten2.csz -m psnr -e 60" \
    "compress odd.f32 -o forgotten2.csz -m ratio -e 25" "compress odd.f32 -o forgotten2.csz --size 10kB --verify" \
    "bench odd.f32 -m rel -e 1e-3" "hdf5 cdvals --of odd.f32 -m rel -e 1e-3"; do
    # shellcheck disable=SC2086 # words
    refuses 2 'odd.f32 has 12345 in about 2% .*far outside .* --fill 12345 if' "a number beside which the bound flattens all others: $words" \
        "$csz" $words -d 180x360
done
"$csz" analyze odd.f32 -d 180x360 -m rel -e 1e-3 -e 1e-5 >said.txt
same_text "analyze tells it of the bound that flattens" "1" "$(grep -c 'has 12345 in about 2%' said.txt)"
holds "a bound that does not is taken" "$csz" compress odd.f32 -d 180x360 -m rel -e 1e-5 -f -o forgotten.csz
same_text "without a note" "" "$(cat err.txt)"
holds "and a ratio whose bound does not" "$csz" compress odd.f32 -d 180x360 -m ratio -e 2 -f -o forgotten.csz
same_text "without a note, too" "" "$(cat err.txt)"
holds "zeros may be data" "$csz" compress density.f32 -d 180x360 -m rel -e 1e-2 -f -o forgotten.csz
says "so that a note tells" '^csz: note: density.f32 has 0 in about 2% .* --fill 0 if it marks missing values' err.txt
absent "nothing is written of what is refused" forgotten2.csz
rm -f odd.f32 density.f32
holds "with an absolute bound it is a note" "$csz" compress sea.f32 -d 60x70 -e 1e-3 -f -o forgotten.csz
says "which says what to do" '^csz: note: .*--fill 1e20 if it marks missing values' err.txt
holds "and so in a pipe" bash -c "cat sea.f32 | '$csz' compress - -t f32 -d 60x70 -e 1e-3 >forgotten.csz"
says "which says the same" '^csz: note: .*--fill 1e20 if it marks missing values' err.txt
"$csz" analyze sea.f32 -d 60x70 >said.txt
python3 -c '
import array, random
random.seed(5)
array.array("f", [1e9 if i % 50 == 3 else random.random() * 100 for i in range(4200)]).tofile(open("big.f32", "wb"))
'
"$csz" analyze big.f32 -d 60x70 >said2.txt
says "in the digits of compress" 'has 1e9 in about 2%.*--fill 1e9' said2.txt
rm -f big.f32 said2.txt
says "analyze tells it in its reason" '^  the field has 1e20 in about 12.*, far outside the others .*give --fill 1e20.*advise' said.txt
for file in land0.f32:60x70 d2.f32:60x70 noise.f32:2097152; do
    holds "${file%%:*} has no fill value" "$csz" compress "${file%%:*}" -d "${file#*:}" -m rel -e 1e-3 -f -o forgotten.csz
    same_text "and gives no note" "" "$(cat err.txt)"
done
rm -f forgotten.csz said.txt

for words in "-q compress d1.f64" "--quiet compress d1.f64" "-v compress d1.f64" "-j4 compress d1.f64" "-q" "-q d1.f64"; do
    # shellcheck disable=SC2086 # words
    refuses 2 "^csz: option ${words%% *} stands before the command; give it after, as in csz compress ${words%% *}\$" "an option before the command: csz $words" "$csz" $words
done
refuses 2 'as in csz decompress -q$' "and before another" "$csz" -q decompress x.csz
refuses 2 'option -q stands .*, as in csz hdf5 repack -q$' "and before one of hdf5" "$csz" hdf5 -q repack a.nc b.nc
refuses 2 'option -q stands .*, as in csz hdf5 repack -q$' "and before hdf5" "$csz" -q hdf5 repack a.nc b.nc

# ---- What was hardly meant ---------------------------------------------------------------------------

holds "-m rel -e 2 is done" "$csz" compress d3.f32 -d 9600 -m rel -e 2 -f -o odd.csz
says "with a note" '^csz: note: .*-m rel -e 2, .* smaller -e' err.txt
cp d3.f32 wrong.f64
holds "a name that says another type than -t is done" "$csz" compress wrong.f64 -t f32 -d 9600 -e 1e-3 -f -o odd.csz
says "with a note that it differs" '^csz: note: the values of wrong.f64 were read as f32' err.txt
holds "-m psnr -e 1e-3 is done" "$csz" compress d3.f32 -d 9600 -m psnr -e 1e-3 -f -o odd.csz
says "with a note that says larger" '^csz: note: .* larger -e' err.txt
holds "an absolute bound beyond the range is kept" "$csz" compress noise.f32 -d 2097152 -e 100 -f -o odd.csz
says "with a note that says so" '^csz: note: the bound, 100, exceeds' err.txt
holds "and so is one of half the range" "$csz" compress noise.f32 -d 2097152 -e "$(python3 -c '
import array
values = array.array("f", open("noise.f32", "rb").read())
print(0.6 * (max(values) - min(values)))')" -f -o odd.csz
says "with a note, too" '^csz: note: the bound, .*, exceeds half of what sampled values of noise.f32 span, .*: most may come back' err.txt
holds "so is a floor beyond it" "$csz" compress noise.f32 -d 2097152 -m pwr -e 1e-3 --floor 100 -f -o odd.csz
says "with a note of the floor" '^csz: note: the floor, 100, exceeds what sampled values of noise.f32 span, .*; give a smaller --floor$' err.txt
head -c 4000 noise.f32 >few.f32
holds "of few values all are looked at" "$csz" compress few.f32 -d 1000 -e 100 -f -o odd.csz
says "and the note speaks of all" '^csz: note: the bound, 100, exceeds what the values of few.f32 span, .*: all may come back' err.txt
python3 -c '
import array
values = array.array("f", (5 + i % 2000 / 100 for i in range(1000000)))
for i in range(0, 1000000, 10000):
    values[i] = -9999
values.tofile(open("rare.f32", "wb"))'
holds "a fill value too rare to be found is taken for data" "$csz" compress rare.f32 -d 1000x1000 -m rel -e 1e-2 -f -o odd.csz
says "with a note where the others lie within the bound" '^csz: note: the bound, -m rel -e 0.01, is 100.*span 19.99 and .*counts -9999 and .*give --fill -9999' err.txt
"$csz" compress rare.f32 -d 1000x1000 -m rel -e 1e-2 --fill nan -f -o odd.csz 2>err.txt >out.txt
says "which has them made one where another is named" 'make that nan if that marks missing values' err.txt
holds "not with a bound that they do not lie within" "$csz" compress rare.f32 -d 1000x1000 -m rel -e 1e-4 -f -o odd.csz
same_text "no note there" "" "$(cat err.txt)"
holds "analyze looks for it, too" "$csz" analyze rare.f32 -d 1000x1000 -m rel -e 1e-2 -e 1e-4 -p lorenzo
same_text "and tells it of the bound that flattens" "1" "$(grep -c 'the bound is 100.*span 19.99 and .*counts -9999 and .*give --fill -9999' out.txt)"
python3 -c '
import array
values = array.array("f", (260 + i % 1000 / 25 for i in range(1000000)))
values[0], values[1] = 1e20, 2e20
values.tofile(open("rare.f32", "wb"))'
holds "two numbers far outside that differ are taken for data" "$csz" compress rare.f32 -d 1000x1000 -m psnr -e 60 --verify -f -o odd.csz
says "with the same note" '^csz: note: the bound, -m psnr -e 60, is 2e.17, but most values of rare.f32 span 39.96 and .*counts 2e20 and ' err.txt
holds "bench measures it" "$csz" bench rare.f32 -d 1000x1000 -m psnr -e 60 --repeat 1
says "with it, too" '^csz: note: the bound, -m psnr -e 60, is 2e.17, but most values of rare.f32 span 39.96 and ' err.txt
holds "cdvals finds its bound" "$csz" hdf5 cdvals --of rare.f32 -d 1000x1000 -m psnr -e 60
says "with it as well" '^csz: note: the bound, -m psnr -e 60, is 2e.17, but most values of rare.f32 span 39.96 and .*counts 2e20 and ' err.txt
for words in "bench d3.f32 -d 9600 -m rel -e 2" "bench d3.f32 -d 9600 -e 1e9" "analyze d3.f32 -d 9600 -m rel -e 2" "analyze d3.f32 -d 9600 -e 1e9" \
    "analyze d3.f32 -d 9600 -m psnr -e 1" "hdf5 cdvals -m rel -e 2" "hdf5 cdvals -m psnr -e 1" "hdf5 cdvals --of d3.f32 -d 9600 -m rel -e 2"; do
    # shellcheck disable=SC2086 # words
    holds "csz $words is done" "$csz" $words
    says "with its note" '^csz: note: the bound, .* may come back as one' err.txt
done
holds "cdvals of an ordinary bound" "$csz" hdf5 cdvals -m psnr -e 60
same_text "gets no note" "" "$(cat err.txt)"
"$csz" compress d3.f32 -d 9600 -e 1e-3 -f -q -o odd.csz
holds "a name that says another type than the archive's is taken" "$csz" decompress odd.csz -o odd.f64
says "with a note on the type" '^csz: note: the values in odd.f64 are f32' err.txt
holds "and one that says that the output is an archive" "$csz" decompress odd.csz -o odd2.csz
says "with a note that it is none" '^csz: note: odd2.csz holds raw values' err.txt
cp d3.f32 CAPITAL.F32
holds "a name in capitals tells the type, and dims may be joined by X" "$csz" compress CAPITAL.F32 -d 12X20x40 -e 1e-3 -q -f -o odd.csz
same_text "without a note" "" "$(cat err.txt)"
refuses 2 "bound '80dB' is in dB; give a PSNR as -m psnr -e 80" "a bound in dB" "$csz" compress d3.f32 -d 9600 -e 80dB -f -o odd.csz
rm -f odd.f64 odd2.csz CAPITAL.F32
holds "a constant field may have any bound" bash -c \
    "head -c 4000000 /dev/zero >zeros.f32 && '$csz' compress zeros.f32 -d 1000000 -e 100 -f -o odd.csz"
same_text "and gets no note" "" "$(cat err.txt)"
head -c $(($(stat -c %s one.csz) / 4 * 4)) one.csz >again.f32
holds "an archive is compressed again" "$csz" compress again.f32 -d $(($(stat -c %s again.f32) / 4)) -e 1e-3 -f -o odd.csz
says "with a note that it is one" '^csz: note: again.f32 is itself an archive' err.txt
holds "-q says nothing of it" "$csz" compress again.f32 -d $(($(stat -c %s again.f32) / 4)) -e 1e-3 -f -o odd.csz -q
same_text "at all" "" "$(cat out.txt err.txt)"
for command in "decompress one.csz -o q.raw" "test one.csz" "verify d3.f32 one.csz" "compare d3.f32 d3.f32 -d 9600 --bound 0"; do
    # shellcheck disable=SC2086
    holds "csz $command -q" "$csz" $command -q
    same_text "prints nothing" "" "$(cat out.txt err.txt)"
    rm -f q.raw
    # shellcheck disable=SC2086
    "$csz" $command >brief.txt
    rm -f q.raw
    # shellcheck disable=SC2086
    holds "csz $command --verbose" "$csz" $command --verbose
    holds "prints more" test "$(wc -l <out.txt)" -gt "$(wc -l <brief.txt)"
    rm -f q.raw brief.txt
done
refuses 1 'no csz archive' "-q shows errors" "$csz" test d3.f32 -q
json "compress -q" nbytes_in=38400 -- "$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 --json -f -q -o odd.csz
holds "compress -v tells range and frames" bash -c \
    "'$csz' compress d3.f32 -d 12x20x40 -m rel -e 1e-3 -f -v -o odd.csz | grep -q 'values from -1' && '$csz' compress d3.f32 -d 12x20x40 -e 1e-3 -f -v -o odd.csz | grep -q 'frames 1, '"
rm -f odd.csz again.f32 zeros.f32

# ---- Verdicts ----------------------------------------------------------------------------------------

"$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3 -f -o d3.f32.csz >out.txt
refuses 1 '1 of 9600 elements' "verify exits 1 on a violating file" "$csz" verify altered.f32 d3.f32.csz
refuses 1 '1 element differs' "compare --bound exits 1 on a violation" \
    "$csz" compare d3.f32 altered.f32 -t f32 -d 9600 --bound 0.4
holds "compare --bound exits 0 where it holds" "$csz" compare d3.f32 altered.f32 -t f32 -d 9600 --bound 0.6
holds "compare without --bound exits 0" "$csz" compare d3.f32 altered.f32 -t f32 -d 9600
python3 - <<'PY'
import array
a = array.array("f", range(100))
b = a[:]
for i in range(9):
    a[7 * i] = float("nan")
a.tofile(open("gaps.f32", "wb"))
b.tofile(open("filled.f32", "wb"))
b[50] += 5
b.tofile(open("both.f32", "wb"))
PY
refuses 1 '^csz: 9 special values differ in bits; .* 0$' "compare counts special values apart" \
    "$csz" compare gaps.f32 filled.f32 -t f32 -d 100 --bound 1
refuses 1 '1 element differs by more than 1, and 9 special values differ' "compare counts both kinds" \
    "$csz" compare gaps.f32 both.f32 -t f32 -d 100 --bound 1
holds "compare without --bound says that special values differ" bash -c \
    "'$csz' compare gaps.f32 filled.f32 -t f32 -d 100 | grep -q '9 of them differ, the first at .0.'"
json "compare of special values" violations=10 special_violations=9 -- \
    "$csz" compare gaps.f32 both.f32 -t f32 -d 100 --bound 1 --json
"$csz" compress both.f32 -t f32 -d 100 -e 1e-3 >out.txt
refuses 1 '9 of 100 elements .*9 of them special' "verify counts special values apart" bash -c \
    "'$csz' compress filled.f32 -t f32 -d 100 -e 1e-3 >out.txt && '$csz' verify gaps.f32 filled.f32.csz"
json "verify of special values" violations=10 special_violations=9 -- "$csz" verify gaps.f32 both.f32.csz --json
refuses 1 'bytes' "verify refuses an original of another size" "$csz" verify d1.f32 d3.f32.csz

# ---- Completion ---------------------------------------------------------------------------------------

# completes WANTED WORD...: whether the last word, as far as it is typed, may become each word of WANTED.
cat >completes.sh <<EOF
. "$here/../../cli/csz-completion.bash"
wanted=\$1; shift
COMP_WORDS=("$csz" "\$@"); COMP_CWORD=\$#
_csz "$csz"
for word in \$wanted; do [[ " \${COMPREPLY[*]} " == *" \$word "* ]] || { echo "no \$word in \${COMPREPLY[*]}"; exit 1; }; done
EOF
grep '^\\fB\\-' "$here/../../docs/csz.1" >headings.txt # of options in the man page
missing=
for command in compress decompress info test verify compare analyze bench "hdf5 repack" "hdf5 cdvals" "hdf5 decode"; do
    # shellcheck disable=SC2086 # words
    for option in $("$csz" $command --help | grep -oE '^ +(-., +)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        grep -qF "\\fB${option//-/\\-}\\fR" headings.txt || missing="$missing $option"
    done
done
same_text "every option is in the man page" "" "$missing"
holds "completion of commands" bash completes.sh 'compare compress' com
holds "of options" bash completes.sh '-p --predictor --floor --size --unsigned-zeros -r --no-metadata -h --help' compress in.f32 -
holds "of other commands" bash completes.sh '--level' decompress --le
holds "of hdf5" bash completes.sh '--var --skip --dry-run --unsigned-zeros --floor' hdf5 repack --
holds "of values" bash completes.sh 'lorenzo pyramid auto' compress -p ''
refuses_completion() { ! bash completes.sh "$@" >/dev/null; }
holds "and of no option that a command lacks" refuses_completion '--size' decompress --

# ---- Targets ------------------------------------------------------------------------------------------

json "a ratio to reach" 'bound_mode="abs"' 'input="d3.f64"' nbytes_wanted=7680 -- "$csz" compress d3.f64 -d 12x20x40 -m ratio -e 10 -o r.csz --json
holds "is reached within 3%" python3 -c "import os; assert 7680 / 1.031 <= os.path.getsize('r.csz') <= 7680"
holds "by the archive of the bound found" bash -c "'$csz' compress d3.f64 -d 12x20x40 -e \$('$csz' info r.csz --json |
    python3 -c 'import json, sys; print(repr(json.load(sys.stdin)[\"bound\"]))') -o r2.csz && cmp r.csz r2.csz"
holds "the same through pipes" bash -c "cat d3.f64 | '$csz' compress - -t f64 -d 12x20x40 -m ratio -e 10 | cmp - r.csz"
holds "the same with --verify" bash -c "'$csz' compress d3.f64 -d 12x20x40 -m ratio -e 10 --verify -f -o r2.csz && cmp r.csz r2.csz"
for size in 7680 7.68kB 7680B 7.5K 7.5KiB; do
    holds "--size $size" bash -c "'$csz' compress d3.f64 -d 12x20x40 --size $size -f -o r2.csz && cmp r.csz r2.csz"
done
python3 -c 'import array, random; random.seed(1); array.array("f", random.choices((-1, 1), k=9600)).tofile(open("coins.f32", "wb"))'
holds "a ratio beyond which sizes jump" "$csz" compress coins.f32 -d 9600 -m ratio -e 100 -f -o r2.csz
says "is noted" '^csz: note: coins.f32 reaches ratio [0-9.]+: of the bounds that were tried the next tighter one reaches [1-9][0-9]?[.][0-9]+, which is too little$' err.txt
says "beside a bound that loses most" '^csz: note: such an archive of coins.f32 takes a bound of [0-9.]+, 50% of its range' err.txt
refuses 1 'cannot be brought to .* ratio [0-9.]+; ' "a ratio that no bound reaches" "$csz" compress d3.f64 -d 12x20x40 -m ratio -e 1e5 -o none.csz
absent "leaves nothing" none.csz
holds "a ratio below what exact values take" "$csz" compress d1.f64 -d 5000 -m ratio -e 1.01 -f -o r2.csz
says "is reached without loss" '^csz: note: d1.f64 reaches ratio [0-9.]+ without any loss, and so it is stored' err.txt
for words in '' '-p pyramid --verify' '-w rle'; do
    # shellcheck disable=SC2086 # words
    holds "as the exact archive $words" bash -c "'$csz' compress d1.f64 -d 5000 -m ratio -e 1.01 -f -o r2.csz $words &&
        '$csz' compress d1.f64 -d 5000 -m exact -f -o r3.csz && cmp r2.csz r3.csz"
done
head -c 40000 /dev/zero >zeros.f32
refuses 1 'values are all equal or missing, and its archive still has .*; ask for a larger size or a smaller ratio' "a size that not even zeros take" \
    "$csz" compress zeros.f32 -d 10000 --size 9 -o none.csz
: >nothing.f32
holds "a ratio of a field without elements" "$csz" compress nothing.f32 -d 0 -m ratio -e 2 -f -o r2.csz
same_text "is not reached, which is noted" "csz: note: nothing.f32 has no values, so its archive reaches no ratio" "$(cat err.txt)"
refuses 1 'nothing.f32 cannot be brought to 10 B: an archive without values has [0-9]+ B; ask for a larger size$' "but no size below what that takes" \
    "$csz" compress nothing.f32 -d 0 --size 10 -o none.csz
absent "which leaves nothing" none.csz
python3 - <<'PY'
import array, random
random.seed(1)
for name, code, most in (("wide.f32", "f", 3.4028234663852886e38), ("wide.f64", "d", 1.7976931348623157e308)):
    array.array(code, (random.uniform(-1, 1) * most for _ in range(20000))).tofile(open(name, "wb"))
PY
for name in wide.f32 wide.f64; do
    for ratio in 3 5 7; do
        holds "ratio $ratio of $name, which the loosest bound misses" "$csz" compress $name -d 20000 -m ratio -e $ratio -f -o r2.csz
        holds "says nothing of pyramids for one dim" bash -c "! grep -qe '-p auto' err.txt"
    done
    refuses 1 'values lie from -[0-9.]+e[+](38|308) to [0-9.]+e[+](38|308), and the smallest archive found, with a bound of ' \
        "a ratio of $name that none reaches" "$csz" compress $name -d 20000 -m ratio -e 900 -f -o none.csz
done
refuses 2 'the ratio is missing; give one, such as -e 50$' "a ratio that is not given" "$csz" compress d3.f64 -d 9600 -m ratio
for order in '-m ratio -e 0' '-e 0 -m ratio' '-m ratio -e -3'; do
    # shellcheck disable=SC2086 # words
    refuses 2 'ratio (0|-3) is not a finite number above 0; give one, such as -e 50$' "and $order" "$csz" compress d3.f64 -d 9600 $order
done
refuses 2 'bound 0 is not a finite number above 0; give one, such as -e 1e-3$' "beside a bound of 0" "$csz" compress d3.f64 -d 9600 -e 0
# With so many values the analysis chooses the first bound, and must see the same ones however they are read.
python3 - <<'PY'
import array, random
random.seed(1)
values = array.array("f", (random.gauss(0, 1) + i * 1e-3 for i in range(4096)))
many = array.array("f")
for i in range(2100):
    many.extend(values[i:] + values[:i])
many.tofile(open("many.f32", "wb"))
many.byteswap()
text = "{'descr': '>f4', 'fortran_order': False, 'shape': (2100, 4096), }\n"
open("many.npy", "wb").write(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text.encode() + many.tobytes())
PY
holds "a ratio of many values" "$csz" compress many.f32 -d 2100x4096 -m ratio -e 9 -f -o r2.csz
holds "of the other byte order at an odd offset" "$csz" compress many.npy -m ratio -e 9 -f -o r3.csz --memory-limit 500M
holds "gives the same bytes" cmp r2.csz r3.csz
rm -f many.f32 many.npy wide.f32 wide.f64
refuses 2 'without -e' "--size with -e" "$csz" compress d3.f64 -d 9600 --size 10K -e 1
for size in 0 '' x 10X 10MBs -1 inf; do
    refuses 2 'size' "--size '$size'" "$csz" compress d3.f64 -d 9600 --size "$size"
done
for size in 10KB 10kb 10000b 10000; do
    "$csz" compress d3.f64 -d 9600 --size "$size" -f -q -o "size_$size.csz"
    holds "--size $size" cmp "size_$size.csz" size_10KB.csz
done
holds "binary units have small letters, too" bash -c "'$csz' compress d3.f64 -d 9600 --size 10kib -f -q -o size_kib.csz &&
    '$csz' compress d3.f64 -d 9600 --size 10K -f -q -o size_10KB.csz && cmp size_kib.csz size_10KB.csz"
rm -f size_*.csz
refuses 2 '-e is given 2 times; give one bound$' "two bounds" "$csz" compress d3.f64 -d 9600 -e 1 -e 2
refuses 2 'no -m ratio' "bench has no -m ratio" "$csz" bench d3.f64 -d 9600 -m ratio -e 5
rm -f r.csz r2.csz r3.csz

# ---- Bad input ---------------------------------------------------------------------------------------

compress=("$csz" compress d3.f32 -t f32 -d 12x20x40 -e 1e-3)
refuses 1 'nowhere.f32.*No such file' "a missing file" "$csz" compress nowhere.f32 -t f32 -d 5 -e 1
refuses 1 'nowhere.csz.*No such file' "a missing archive" "$csz" decompress nowhere.csz -o x
refuses 1 'folder|directory' "a folder as input" "$csz" compress . -t f32 -d 5 -e 1 -o x
refuses 1 '38400 bytes.* 38440' "a size that does not match the dims" "$csz" compress d3.f32 -t f32 -d 9610 -e 1 -o x
refuses 1 '38400 bytes.* 76800' "a size that does not match the type" "$csz" compress d3.f32 -t f64 -d 9600 -e 1 -o x
refuses 1 'bytes' "a pipe that brings too much" bash -c "'$csz' compress - -t f32 -d 5 -e 1 -o x </dev/zero"
refuses 1 '100 bytes.* 20000' "a pipe that brings too little" bash -c \
    "head -c 100 d3.f32 | '$csz' compress - -t f32 -d 5000 -e 1 -o x"
cp noise.f32 shrinking.f32
# More than a pipe holds comes first, so that the other file is open when it shrinks; several threads meet the
# fault at once.
refuses 1 'shorter' "a file that shrinks while it is read" bash -c \
    "{ head -c 4000000 noise.f32; truncate -s 0 shrinking.f32; tail -c +4000001 noise.f32; } | '$csz' compare shrinking.f32 - -t f32 -d 2097152 -j8"
# Cut within its last page, it has zeros instead and no fault.
cp noise.f32 shrinking.f32
refuses 1 'shorter' "a file that shrinks by less than a page" bash -c \
    "{ head -c 4000000 noise.f32; truncate -s 8388000 shrinking.f32; tail -c +4000001 noise.f32; } | '$csz' compare shrinking.f32 - -t f32 -d 2097152"
rm shrinking.f32
refuses 2 'f32.*f64' "an unknown type" "$csz" compress d3.f32 -t f16 -d 9600 -e 1
for dims in 99999999999999999999 4294967296x4294967296 18446744073709551615x2x2x2 72057594037927937 4294967296x4294967296x1x1x1; do
    refuses 2 'overflow' "dims that overflow: $dims" "$csz" compress d3.f32 -t f32 -d $dims -e 1
done
for dims in '' x 5x -5 5x-5 1.5 5xx5 1x2x3x4x '5 ' 0x10y; do
    refuses 2 'dims' "dims '$dims' are a usage error" "$csz" compress d3.f32 -t f32 -d "$dims" -e 1
done
for bound in 0 -1 nan inf -inf 1e999 1e-400 '' abc 1e-3x ' 1' 0.0; do
    refuses 2 'bound' "bound '$bound' is refused" "$csz" compress d3.f32 -t f32 -d 9600 -e "$bound"
    refuses 2 'bound' "bound '$bound' is refused for psnr" "$csz" compress d3.f32 -t f32 -d 9600 -m psnr -e "$bound"
done
for bound in 1e-300 1e300; do
    holds "bound $bound works" "$csz" compress d3.f32 -t f32 -d 9600 -e $bound -o b.csz -f --verify
done
holds "-m pwr --floor verifies" bash -c "'$csz' compress d3.f32 -t f32 -d 12x20x40 -m pwr -e 1e-2 --floor 1e-3 -p auto \
    --verify -f -o m.csz && '$csz' verify d3.f32 m.csz && '$csz' info m.csz"
says "info tells a pointwise bound and its floor" '0.01 of each value, or 0.001 absolute' out.txt
for floor in '' '--floor 1e-3'; do
    "$csz" compress d3.f32 -t f32 -d 12x20x40 -m pwr -e 1e-9 $floor --verify -f -o m.csz >/dev/null 2>note.txt
    "$csz" compress d3.f32 -t f32 -d 12x20x40 $([[ $floor ]] && echo --bound 1e-3 || echo -m exact) -f -o e.csz >/dev/null
    holds "a share too fine for logarithms is exact, or the floor" cmp m.csz e.csz
    says "which is noted" 'too fine for logarithms of f32' note.txt
done
holds "-m pwr has shares of values" bash -c "'$csz' compress d3.f32 -t f32 -d 12x20x40 -m pwr -e 1e-2 -f -o m.csz --verify &&
    '$csz' decompress m.csz -f -o m.raw && '$csz' verify d3.f32 m.csz"
says "verify shows the largest error as one" 'largest error  0.00[0-9]* of its value, of 0.01 allowed, at \[.*; [0-9.e-]* absolute' out.txt
json "verify of a pointwise bound" bound_kept=true bound_abs=null -- "$csz" verify d3.f32 m.csz --json
holds "compare -m pwr" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m pwr --bound 1e-2
refuses 1 'more than 0.001 of its value' "a pointwise bound that is broken" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m pwr --bound 1e-3
holds "compare -m pwr --floor" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m pwr --bound 1e-9 --floor 1
refuses 2 'below 1' "compare with a pointwise bound of 1" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m pwr --bound 1
refuses 2 'no -m rel' "compare -m rel" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m rel --bound 1e-2
holds "compare -m exact" "$csz" compare d3.f32 d3.f32 -t f32 -d 9600 -m exact
refuses 1 'in bits' "bits that differ" "$csz" compare d3.f32 m.raw -t f32 -d 9600 -m exact
holds "-m pwr analyzes" "$csz" analyze d3.f32 -t f32 -d 12x20x40 -m pwr -e 1e-2
refuses 2 'below 1' "a pointwise bound of 1" "$csz" compress d3.f32 -t f32 -d 9600 -m pwr -e 1
python3 -c "
import math, struct, sys
hill = [max(math.sin(i / 40) + math.cos(i / 300), 0.0) for i in range(12000)]
for name, zeros in ('signed', (0.0, -0.0)), ('plain', (0.0, 0.0)):
    values = [v or zeros[i * i // 7 % 2] for i, v in enumerate(hill)]
    open(name + '_zeros.f32', 'wb').write(struct.pack('<12000f', *values))"
for how in '-e 1e-3' '-m rel -e 1e-2' '-m psnr -e 50 -z 3' '--memory-limit 64M -j 3 -e 1e-3 -p auto'; do
    "$csz" compress plain_zeros.f32 -d 10x30x40 $how -f -o b.csz >/dev/null
    holds "--unsigned-zeros $how" "$csz" compress signed_zeros.f32 -d 10x30x40 $how --unsigned-zeros --verify -f -o m.csz
    holds "makes the archive that 0 makes" cmp m.csz b.csz
    holds "which verifies" "$csz" verify signed_zeros.f32 m.csz
done
"$csz" compress signed_zeros.f32 -d 10x30x40 -e 1e-3 -p auto -f -o b.csz >/dev/null
holds "without it signs take their bytes" test "$(stat -c %s b.csz)" -gt $(($(stat -c %s m.csz) + 1000))
"$csz" compress signed_zeros.f32 -d 10x30x40 -e 0.1 -f -o b.csz >/dev/null 2>err.txt
says "signs that take much of the archive are noted" '^csz: note: signs of zeros, of which (49|50|51)% are -0.0, take .*signed_zeros.f32.*give --unsigned-zeros$' err.txt
mv err.txt compressed.txt
holds "by analyze, too" "$csz" analyze signed_zeros.f32 -d 10x30x40 -m abs -e 1e-6 -e 0.1
same_text "in the same words" "$(cat compressed.txt)" "$(cat err.txt)"
for how in '-e 0.1 --unsigned-zeros' '-e 1e-6' '-m exact' '-m pwr -e 0.1' '-e 0.1 --fill 0'; do
    # shellcheck disable=SC2086 # words
    holds "but not with $how" "$csz" analyze signed_zeros.f32 -d 10x30x40 $how
    same_text "of which it says nothing" 0 "$(grep -c unsigned-zeros err.txt)"
done
for how in '-e 0.1 --unsigned-zeros' '-e 1e-6' '-m exact' '-m pwr -e 0.1' '-e 0.1 --fill 0'; do
    holds "which no one hears with $how" bash -c "! '$csz' compress signed_zeros.f32 -d 10x30x40 $how -f -o b.csz 2>&1 | grep -q unsigned-zeros"
done
refuses 1 'ask for a larger size or a smaller ratio, or give --unsigned-zeros' "a ratio that signs of zeros stand against" \
    "$csz" compress signed_zeros.f32 -d 10x30x40 -m ratio -e 60 -f -o b.csz
holds "is reached without them" "$csz" compress signed_zeros.f32 -d 10x30x40 -m ratio -e 60 --unsigned-zeros -f -o b.csz
holds "nor where no signs are" bash -c "! '$csz' compress plain_zeros.f32 -d 10x30x40 -e 0.1 -f -o b.csz 2>&1 | grep -q unsigned-zeros"
holds "--unsigned-zeros -p pyramid" "$csz" compress signed_zeros.f32 -d 10x30x40 -e 1e-2 -p pyramid --unsigned-zeros --verify -f -o m.csz
holds "--unsigned-zeros with a ratio that an exact archive reaches" "$csz" compress signed_zeros.f32 -d 12000 -m ratio -e 1 --unsigned-zeros -f -o m.csz
holds "keeps them" bash -c "'$csz' decompress m.csz -f -o m.raw && cmp m.raw signed_zeros.f32"
holds "bench --unsigned-zeros" "$csz" bench signed_zeros.f32 -d 12000 -e 1e-3 --unsigned-zeros --repeat 1
json "analyze --unsigned-zeros" -- "$csz" analyze signed_zeros.f32 -d 12000 -e 1e-3 --unsigned-zeros --json
for mode in '-m exact' '-m pwr -e 1e-3'; do
    refuses 2 'keeps signs; give it without --unsigned-zeros' "--unsigned-zeros $mode" "$csz" compress signed_zeros.f32 -d 12000 $mode --unsigned-zeros
done
refuses 2 'm pwr' "a floor without -m pwr" "${compress[@]}" --floor 1e-3
refuses 2 'floor' "a floor of 0" "${compress[@]}" -m pwr --floor 0
python3 -c "
import hashlib, sys
sys.stdout.buffer.write(b''.join(hashlib.sha256(b'%d' % i).digest() for i in range(1250)))" >hashes.f32
holds "what -m exact cannot make smaller" "$csz" compress hashes.f32 -d 10000 -m exact -o b.csz -f
says "is said, and that a bound would" '^csz: note: the archive is as large as hashes.f32: without loss .* give a bound' err.txt
python3 -c "
import sys
sys.stdout.buffer.write(open('hashes.f32', 'rb').read() * 8)" >repeats.f32
holds "values that repeat without a pattern" "$csz" compress repeats.f32 -d 80000 -m exact -o b.csz -f
if "$csz" --version | grep -q 'zstd yes'; then
    says "are what zstd is named for" 'repeats.f32: without loss .* try -z zstd' err.txt
    holds "with it" "$csz" compress repeats.f32 -d 80000 -m exact -z zstd -o b.csz -f
    holds "they are a sixth" test "$(wc -c <b.csz)" -lt 53334
    holds "and nothing more is said" test ! -s err.txt
fi
holds "a bound that makes nothing smaller leads to a larger one" bash -c "'$csz' compress hashes.f32 -d 10000 -e 1e-300 -o b.csz -f 2>&1 |
    grep -q 'note: the archive is as large as hashes.f32: within this bound .* give a larger one'"
refuses 2 'abs.*rel.*psnr' "an unknown mode" "${compress[@]}" -m max
refuses 2 'auto.*huffman.*rle' "an unknown workflow" "${compress[@]}" -w lz
refuses 2 'auto.*cpu.*cuda' "an unknown backend" "${compress[@]}" -b gpu
refuses 2 'zstd' "an unknown final pass" "${compress[@]}" -z gzip
for level in zstd:0 zstd:23 zstd: zstd:x zstd:-1; do
    refuses 2 'zstd' "-z $level is a usage error" "${compress[@]}" -z $level
done
refuses 2 'threads' "a thread count that is no number" "${compress[@]}" -j two
refuses 2 'fill' "a fill value that is no number" "${compress[@]}" --fill some
refuses 2 'fill.*f32' "a fill value beyond f32" "${compress[@]}" --fill 1e39 -o x
if "$csz" --version | grep -q 'cuda no'; then
    refuses 1 'backend cuda is missing: .*(built without CUDA|no NVIDIA driver|no GPU)' "a backend that is missing" "${compress[@]}" -b cuda -o x
fi
for fill in 1e400 -1e999 1e20x ''; do
    refuses 2 'fill' "fill value '$fill' is refused" "${compress[@]}" --fill "$fill" -o x
done
for fill in inf -inf nan 1e-400; do
    holds "fill value $fill is understood" "${compress[@]}" --fill=$fill -f -o fill.csz
done
refuses 1 'missing_folder' "an output in a folder that does not exist" "${compress[@]}" -o missing_folder/x.csz
refuses 1 'd1.f32/x' "an output below a file" "${compress[@]}" -o d1.f32/x
mkdir folder
holds "a folder as output holds the archive" bash -c "'$csz' compress d3.f32 -d 12x20x40 -e 1e-3 -o folder && cmp folder/d3.f32.csz one.csz"
holds "an output name that ends in / is a folder, which is created" "${compress[@]}" -o new_folder/
holds "and holds the archive" cmp new_folder/d3.f32.csz one.csz
refuses 1 'exists' "and is kept the next time" "${compress[@]}" -o new_folder/
if [[ $(id -u) -ne 0 ]]; then
    chmod 555 folder
    refuses 1 'ermission' "a folder that cannot be written" "${compress[@]}" -o folder/x
    chmod 755 folder
fi
refuses 1 '/proc/' "an output that the system refuses" "${compress[@]}" -o /proc/nobody_has_this/x
refuses 1 'space' "a full disk" "${compress[@]}" -o /dev/full
refuses 1 'space' "a full disk while restoring" "$csz" decompress one.csz -o /dev/full
refuses 1 'standard output.*space' "a full disk behind standard output" bash -c \
    "'$csz' decompress one.csz -o - --json >/dev/full"
refuses 1 'standard output.*space' "a full disk behind printed text" bash -c "'$csz' info one.csz >/dev/full"
refuses 1 'standard output' "a closed standard output" bash -c "'$csz' decompress one.csz -o - --json >&-"
holds "a closed standard output harms no output file" bash -c "'$csz' decompress one.csz -o c -f >&-; cmp c whole"
refuses 1 'no csz archive' "a file that is no archive" "$csz" decompress d3.f32 -o x
refuses 1 'empty' "an empty file is no archive" "$csz" test empty.raw
for n in 1 3; do
    head -c $n one.csz >cut.csz
    refuses 1 'archive|short' "an archive of $n bytes" "$csz" test cut.csz
done
patch_byte() { # FILE OFFSET OCTAL
    # shellcheck disable=SC2059
    printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
cp one.csz newer.csz
patch_byte newer.csz 4 002
for command in info test decompress; do
    refuses 1 'version 2.*newer csz' "an archive of a newer version ($command)" "$csz" $command newer.csz
done
cp one.csz feature.csz
patch_byte feature.csz 9 200
refuses 1 'newer csz|damaged' "an archive with an unknown feature" "$csz" test feature.csz
size=$(stat -c %s one.csz)
bad=""
for n in 4 8 17 40 100 $((size / 2)) $((size - 8)) $((size - 1)); do
    head -c "$n" one.csz >cut.csz
    for command in info "decompress -o cut.out" test "verify d3.f32"; do
        # shellcheck disable=SC2086
        "$csz" $command cut.csz >out.txt 2>err.txt
        [[ $? -eq 1 && $(wc -l <err.txt) -eq 1 && ! -e cut.out ]] || bad+="$command at $n; "
    done
done
same_text "every cut of an archive is refused by every command" "" "$bad"
refuses 1 'short' "a truncated archive" "$csz" test cut.csz
cp one.csz trailing.csz
printf 'x' >>trailing.csz
refuses 1 'after the archive' "an archive with a byte too many" "$csz" test trailing.csz
cp one.csz two_ends.csz
cat one.csz >>two_ends.csz
refuses 1 'after the archive' "two archives in one file" "$csz" decompress two_ends.csz -o x
bad=""
for offset in 60 $((size / 3)) $((size / 2)) $((size - 3)); do
    cp one.csz damaged.csz
    byte=$(od -An -tu1 -j "$offset" -N1 one.csz)
    patch_byte damaged.csz "$offset" "$(printf '%03o' $((byte ^ 16)))"
    for command in "decompress -o damaged.out" test "verify d3.f32"; do
        # shellcheck disable=SC2086
        "$csz" $command damaged.csz >out.txt 2>err.txt
        [[ $? -eq 1 && $(wc -l <err.txt) -eq 1 && ! -e damaged.out ]] || bad+="$command at $offset; "
    done
done
same_text "a damaged archive gives an error and no output" "" "$bad"
refuses 1 'memory' "--memory-limit holds" "$csz" decompress one.csz --memory-limit 16K -o x
holds "--memory-limit lets through what fits" "$csz" decompress one.csz --memory-limit 1G -o fits
refuses 2 'memory limit' "--memory-limit 12Q is a usage error" "$csz" decompress one.csz --memory-limit 12Q
holds "--memory-limit takes what --size takes" "$csz" decompress one.csz --memory-limit 1.5GB -o fits -f
absent "no refusal has left an output" x

# ---- Output files ------------------------------------------------------------------------------------

compress_noise=("$csz" compress noise.f32 -t f32 -d 2097152 -e 1e-6)
keeps_old 'exists.*-f' "an existing output is kept without -f" old.csz "${compress[@]}" -o old.csz
keeps_old 'exists.*-f' "decompress keeps an existing output without -f" old.raw "$csz" decompress one.csz -o old.raw
keeps_old 'bytes' "a size mismatch" old.csz "$csz" compress d3.f32 -t f32 -d 9601 -e 1 -f -o old.csz
keeps_old 'No such' "a missing input" old.csz "$csz" compress nowhere -t f32 -d 9601 -e 1 -f -o old.csz
keeps_old 'short' "a truncated archive" old.raw "$csz" decompress cut.csz -f -o old.raw
keeps_old 'version' "a newer archive" old.raw "$csz" decompress newer.csz -f -o old.raw
keeps_old 'damaged' "a damaged archive" old.raw "$csz" decompress damaged.csz -f -o old.raw
keeps_old 'no csz archive' "no archive" old.raw "$csz" decompress d3.f32 -f -o old.raw
keeps_old 'ulimit' "a limit on file size" old.csz bash -c "ulimit -f 8; exec \"\$@\"" - \
    "${compress_noise[@]}" -f -o old.csz
keeps_old 'ulimit' "a limit on file size while restoring" old.raw bash -c \
    "ulimit -f 8; exec '$csz' decompress one.csz -f -o old.raw"
no_temporaries "failures leave no temporaries"

printf 'the old file' >old.csz
chmod 640 old.csz
holds "-f replaces" "${compress[@]}" -f -o old.csz
holds "what -f wrote is the archive" cmp old.csz one.csz
same_text "the old file's mode is kept" 640 "$(stat -c %a old.csz)"
holds "umask decides the mode of a new file" bash -c "umask 027; \"\$@\" && [ \$(stat -c %a new.csz) = 640 ]" - \
    "${compress[@]}" -o new.csz
ln -s target link.csz
printf 'target' >target
refuses 1 'exists' "a symbolic link counts as existing" "${compress[@]}" -o link.csz
holds "a symbolic link is replaced with -f" "${compress[@]}" -f -o link.csz
same_text "what it pointed to is untouched" target "$(cat target)"
holds "the link is now the archive" bash -c "[ ! -L link.csz ] && cmp link.csz one.csz"
ln -s folder folder_link
holds "a link to a folder is the folder" "${compress[@]}" -f -o folder_link
refuses 1 'input itself' "input and output the same file" "${compress[@]}" -f -o d3.f32
ln d3.f32 hard_link
refuses 1 'input itself' "input and output the same file by another name" "${compress[@]}" -f -o hard_link
refuses 1 'input itself' "standard input and output the same file" bash -c \
    "'$csz' compress - -t f32 -d 9600 -e 1 -f -o d3.f32 <d3.f32"
cp one.csz name
refuses 2 '-o' "decompress needs -o where the name does not end in .csz" "$csz" decompress name
refuses 1 'd1.f32 is no csz archive' "what is no archive is told so first" "$csz" decompress d1.f32
refuses 1 'd1.f32.csz is an archive.*csz decompress.*csz verify' "compare with an archive" "$csz" compare d1.f32 d1.f32.csz -t f32 -d 5000
refuses 1 'd1.f32.csz is an archive.*csz decompress' "verify an archive by itself" "$csz" verify d1.f32.csz d1.f32.csz
python3 -c '
import struct
values = struct.pack("<720f", *(i % 17 for i in range(720)))
text = "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (2, 3, 4, 5, 6), }"
text += " " * (64 - (10 + len(text) + 1) % 64) + "\n"
open("dims5.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values)
open("dims5.f32", "wb").write(values)
'
holds "five dims of a .npy file may be given" "$csz" compress dims5.npy -d 2x3x4x5x6 -e 1e-3 -o dims5.csz
refuses 1 'dims5.npy has the dims 6x4x5x6.*6x4x6x5' "and must be its own" "$csz" compress dims5.npy -d 2x3x4x6x5 -e 1e-3 -o dims5_no.csz
holds "five dims of a raw file" "$csz" compress dims5.f32 -d 2x3x4x5x6 -e 1e-3 -o dims5_raw.csz
says "of which the slowest become one" 'dims5.f32 has 5 dims, of which the archive keeps 6x4x5x6' err.txt
holds "and the archive is the same" cmp dims5.csz dims5_raw.csz
rm -f dims5.npy dims5.f32 dims5.csz dims5_raw.csz
mkdir long
name=$(printf 'n%.0s' {1..250})
holds "a file name near the limit" "${compress[@]}" -o "long/$name"
no_temporaries "successes leave no temporaries"

# ---- Kills -------------------------------------------------------------------------------------------

old_or_new() {
    printf 'the old file' | cmp -s - killed.csz || "$csz" test killed.csz >out.txt 2>err.txt
}
bad=""
for delay in 0.005 0.01 0.02 0.03 0.04 0.06 0.08 0.12; do
    printf 'the old file' >killed.csz
    "${compress_noise[@]}" -f -o killed.csz >out.txt 2>err.txt &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    old_or_new || bad+="$delay "
done
same_text "kill -9 at several instants leaves the old file or the whole new one" "" "$bad"
# One that surely comes in time: half of the field has gone through the pipe, and the rest never comes.
printf 'the old file' >killed.csz
mkfifo half
exec 7<>half
"$csz" compress half -t f32 -d 2097152 -e 1e-6 -f -o killed.csz >out.txt 2>err.txt &
pid=$!
head -c 4194304 noise.f32 >&7
kill -9 $pid
wait $pid 2>/dev/null
same_text "kill -9 ends it half way" 137 $?
same_text "and leaves the old file" "the old file" "$(cat killed.csz)"
exec 7>&-
rm -f half
find . -name '.killed.csz.*' -delete
for signal in INT TERM HUP; do
    bad=""
    for delay in 0.01 0.03 0.06 0.1; do
        printf 'the old file' >killed.csz
        # A shell without job control starts background jobs with SIGINT ignored, and nohup all with SIGHUP;
        # env puts the default back.
        env --default-signal=INT,TERM,HUP "${compress_noise[@]}" -f -o killed.csz >out.txt 2>err.txt &
        pid=$!
        sleep $delay
        kill -$signal $pid 2>/dev/null
        wait $pid 2>/dev/null
        old_or_new || bad+="$delay "
    done
    same_text "SIG$signal leaves the old file or the whole new one" "" "$bad"
    no_temporaries "SIG$signal leaves no temporary"
done

# ---- Terminal ----------------------------------------------------------------------------------------

shown=$(tool terminal "$csz" compress d3.f32 -t f32 -d 9600 -e 1e-3 -o -)
same_text "an archive is not written to a terminal" "1 csz: binary data is not written to a terminal" \
    "$? ${shown%%;*}"
for _ in {1..5}; do # a machine so busy that it needs a second for it may show one
    begin=${EPOCHREALTIME/./}
    shown=$(tool terminal "$csz" test d3.f32.csz)
    took_us=$((${EPOCHREALTIME/./} - begin))
    [[ $shown != *$'\e'* ]] && break
done
if ((took_us < 1000000)) || [[ $shown != *$'\e'* ]]; then
    same_text "quick work shows no progress bar" $'d3.f32.csz: intact\r' "$shown"
else
    echo "      this machine is too busy to tell that quick work shows no progress bar"
fi
# slowly WAIT: a quarter of the field, the wait, the rest.
slowly() { echo "{ head -c 2097152 noise.f32; $1; tail -c +2097153 noise.f32; } | '$csz' compress - -t f32 -d 2097152 -e 1e-6 -f -o slow.csz"; }
shown=$(tool terminal /bin/bash -c "$(slowly "for _ in {1..2000}; do grep -q '\[========' shown.txt && break; sleep 0.05; done")")
same_text "work longer than a second shows a bar" "reading 8.4 MB [========   " \
    "$(tr '\r' '\n' <<<"$shown" | grep -o -m1 'reading 8.4 MB \[========   ')"
holds "with the rate and the time left" grep -qE ' s, [0-9.]+ [kMG]?B/s, [0-9]+ s left' <<<"$shown"
holds "no bar in a pipe" bash -c "$(slowly "sleep 2")"
same_text "no bar in a pipe: standard error is empty" "" "$(cat err.txt)"

# ---- Usage -------------------------------------------------------------------------------------------

"$csz" >usage_out.txt 2>usage_err.txt
same_text "no arguments: exit 2" 2 $?
holds "no arguments: usage on standard error" bash -c \
    "[ ! -s usage_out.txt ] && grep -q '^usage: csz' usage_err.txt"
holds "--help" "$csz" --help
for line in '^csz [0-9]' '^format 1' '^cpu [a-z]' '^zstd (yes|no)' '^cuda (yes|no)'; do
    "$csz" --version >version.txt
    holds "--version says $line" grep -E "$line" version.txt
done
for command in compress decompress info compare analyze verify test bench; do
    "$csz" $command --help >help.txt
    same_text "csz $command --help exits 0" 0 $?
    holds "csz $command --help has usage and examples" bash -c \
        "grep -q '^usage: csz $command' help.txt && grep -q '^examples:' help.txt"
    for words in help --help -h; do
        "$csz" $words $command >help2.txt
        holds "csz $words $command is the same" cmp help.txt help2.txt
    done
    refuses 2 "$command" "csz $command without a file" "$csz" $command
    refuses 2 "no-such" "csz $command --no-such-option" "$csz" $command --no-such-option x y
done
refuses 2 "squeeze" "an unknown command" "$csz" squeeze x
refuses 2 "squeeze" "help for an unknown command" "$csz" help squeeze
refuses 2 'one too many' "a path too many" "$csz" compare d3.f32 d3.f32 second -d 9600
refuses 2 'bound' "a missing bound" "$csz" compress d3.f32 -t f32 -d 9600
cp d3.f32 d3.raw
refuses 2 '-t f32' "a raw field without type and dims" "$csz" compress d3.raw -e 1e-3 -o x
refuses 2 '-d' "a raw field without dims" "$csz" compress d3.raw -t f32 -e 1e-3 -o x
refuses 2 '-t' "a raw field without type" "$csz" compress d3.raw -d 9600 -e 1e-3 -o x
refuses 2 'its dims' "a name that ends in .f32 tells the type" "$csz" compress d3.f32 -e 1e-3 -o x
for words in "-t float32 -d 12,20,40" "-t single -d 12x20x40" "-d 12x20x40"; do
    # shellcheck disable=SC2086
    holds "$words is understood" bash -c "'$csz' compress d3.f32 $words -e 1e-3 -o x.csz -f && cmp x.csz one.csz"
done
holds "a name that ends in .f64 tells the type" "$csz" compress d3.f64 -d 12,20,40 -e 1e-3 -o x.csz -f
refuses 2 'dims' "dims of two kinds" "$csz" compress d3.f32 -d 12x20,40 -e 1e-3
refuses 2 '-m rel -e 0.01' "a bound in percent" "$csz" compress d3.f32 -d 9600 -e 1%
refuses 2 '-m rel -e 0.01' "and with a blank" "$csz" compress d3.f32 -d 9600 -e "1 %"
refuses 2 'give csz verify d3.f32 one.csz' "verify with its files swapped" "$csz" verify one.csz d3.f32
rm -f x.csz d3.raw
refuses 2 'needs a value' "an option without its value" "$csz" compress d3.f32 -t
refuses 2 'takes no value' "a flag with a value" "${compress[@]}" --json=yes
refuses 2 'standard input' "compare of standard input with itself" "$csz" compare - - -t f32 -d 5
refuses 2 'bounds are missing' "analyze with -m and no -e" "$csz" analyze d3.f32 -t f32 -d 9600 -m abs
refuses 2 'above 0' "analyze with a bound of 0" "$csz" analyze d3.f32 -t f32 -d 9600 -e 0
refuses 1 'has 38400 bytes' "analyze of a file of another size" "$csz" analyze d3.f32 -t f32 -d 9601
holds "analyze says why, in a sentence" bash -c "'$csz' analyze d3.f32 -t f32 -d 9600 -e 1e-3 | grep -q 'auto codes .*since'"
refuses 2 '--region' "compress has no --region" "${compress[@]}" --region 0:1
no_temporaries "nothing is left behind"

finish ""
