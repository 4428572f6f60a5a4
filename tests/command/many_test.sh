#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# many_test.sh CSZ: several files in one run of csz: names, folders, failures, order and exit statuses.
# Prints one line per property and exits 1 if any does not hold.  Needs coreutils, bash and python3's standard
# library.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: many_test.sh CSZ}") || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_many_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C
# shellcheck source=tests/support/properties.sh
. "$here/../support/properties.sh"

# ends STATUS NAME COMMAND...: the command ends with that status, whatever it says.
ends() {
    local wanted=$1 name=$2 status
    shift 2
    "$@" >out.txt 2>err.txt
    status=$?
    if ((status == wanted)); then
        passed "$name"
    else
        failed "$name" "status $status, not $wanted: $*" "$(head -c 700 err.txt out.txt)"
    fi
}

python3 - <<'PY'
import array, math, os, struct
def npy(path, values):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    text += " " * (-(11 + len(text)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + array.array("f", values).tobytes())
os.makedirs("tree/run/deep")
for i in range(5):
    npy("f%d.npy" % i, [math.sin(j * 0.01 * (i + 1)) for j in range(4000 + i)])
npy("tree/a.npy", [math.cos(j * 0.02) for j in range(3000)])
npy("tree/run/a.npy", [math.cos(j * 0.03) for j in range(3000)])
npy("tree/run/deep/b.npy", [math.cos(j * 0.05) for j in range(3000)])
open("tree/notes.txt", "w").write("not a field")
array.array("f", range(600)).tofile(open("tree/run/raw.f32", "wb"))
PY

# ---- The same bytes as one by one ----------------------------------------------------------------------

for i in 0 1 2 3 4; do "$csz" compress f$i.npy -m rel -e 1e-3 -q -o alone$i.csz || exit 1; done
holds "five files compress" "$csz" compress f?.npy -m rel -e 1e-3 -j2
same_text "one line a file, in their order, and the sum" "f0 f1 f2 f3 f4 5" \
    "$(sed -E 's/^(f[0-9])\.npy -> .*ratio.*/\1/; s/^(5) files: .*ratio.*/\1/' out.txt | tr '\n' ' ' | sed 's/ $//')"
for i in 0 1 2 3 4; do cmp -s f$i.npy.csz alone$i.csz || failed "f$i.npy.csz is what a run of its own writes"; done
for j in 1 3 8; do
    holds "-j $j into a folder that is created" "$csz" compress f?.npy -m rel -e 1e-3 -q -j$j -o out$j/
    holds "-j $j writes the same bytes" bash -c "for i in 0 1 2 3 4; do cmp out$j/f\$i.npy.csz alone\$i.csz || exit 1; done"
done
holds "an existing folder needs no slash" "$csz" compress f0.npy f1.npy -e 1e-3 -q -f -o out1
holds "verify of originals beside their archives" "$csz" verify f?.npy
same_text "verify tells of each" 5 "$(grep -c ': kept' out.txt)"
holds "verify of pairs" "$csz" verify f0.npy alone0.csz f1.npy alone1.csz f2.npy
same_text "verify tells of each pair" 3 "$(grep -c ': kept' out.txt)"
holds "verify of everything that * names" "$csz" verify f?.npy*
holds "verify with the archives elsewhere" "$csz" verify f?.npy --archives out3 -q
holds "several are tested" "$csz" test f?.npy.csz
same_text "and told in order" "$(printf 'f%d.npy.csz: intact\n' 0 1 2 3 4)" "$(cat out.txt)"
holds "several are shown" "$csz" info f?.npy.csz -j2
same_text "each with its own lines" 5 "$(grep -c '^archive ' out.txt)"
holds "several are restored into a folder" "$csz" decompress f?.npy.csz -o back/
holds "as one by one" bash -c "'$csz' decompress f3.npy.csz -o one.npy && cmp one.npy back/f3.npy"
holds "fields follow each other on standard output" bash -c \
    "'$csz' decompress f0.npy.csz f1.npy.csz -o - >both.raw && '$csz' decompress f0.npy.csz -o 0.raw && '$csz' decompress f1.npy.csz -o 1.raw && cat 0.raw 1.raw | cmp - both.raw"

# ---- JSON ----------------------------------------------------------------------------------------------

"$csz" test f?.npy.csz --json >lines.txt
holds "one object a file, each on its line, in order" python3 -c "
import json
found = [json.loads(line)['input'] for line in open('lines.txt')]
assert found == ['f%d.npy.csz' % i for i in range(5)], found"
"$csz" compress f0.npy nowhere.npy f1.npy -e 1e-3 -f --json >lines.txt 2>err.txt
same_text "a file that fails has no object" 2 "$(wc -l <lines.txt)"

# ---- Failures ------------------------------------------------------------------------------------------

cp f2.npy.csz kept.csz
printf 'xxxx' | dd of=f2.npy.csz bs=1 seek=300 conv=notrunc 2>/dev/null
ends 1 "a damaged archive among good ones" "$csz" test f?.npy.csz
same_text "does not stop the others" 4 "$(grep -c intact out.txt)"
says "is named" 'f2.npy.csz is damaged' err.txt
says "and counted" '^csz: 1 of 5 files failed; ' err.txt
mkdir partly
ends 1 "a damaged archive among those to restore" "$csz" decompress f?.npy.csz -o partly
same_text "leaves nothing of itself, and the others whole" "f0.npy f1.npy f3.npy f4.npy" "$(ls -A partly | tr '\n' ' ' | sed 's/ $//')"
ends 1 "a damaged archive among those to verify" "$csz" verify f?.npy -q
mv kept.csz f2.npy.csz
ends 1 "existing outputs are kept" "$csz" compress f?.npy -m rel -e 1e-3
same_text "each with a line" 5 "$(grep -c 'exists and is kept' err.txt)"
ends 1 "and those that are new are written" "$csz" compress f0.npy tree/a.npy -e 1e-3
holds "beside their inputs" test -f tree/a.npy.csz
rm tree/a.npy.csz
cp f0.npy.csz before.csz
ends 1 "a missing file" "$csz" compress f0.npy nowhere.npy -e 1e-2 -f
holds "does not keep the others from -f" bash -c "! cmp -s f0.npy.csz before.csz"
mv before.csz f0.npy.csz
array=(f0.npy tree)
ends 1 "a folder without -r" "$csz" compress "${array[@]}" -m rel -e 1e-3 -f
says "is refused by name" 'tree is a folder; give -r' err.txt
refuses 1 'tree is a folder; give -r' "a folder alone" "$csz" test tree
ends 2 "where every failure is of the command line, so is the status" "$csz" compress tree/run/raw.f32 tree/notes.txt -e 1 -o out1
refuses 2 'f0.npy is given twice' "a file twice" "$csz" compress f0.npy f1.npy f0.npy -e 1 -f
for other in ./f0.npy tree/../f0.npy "$PWD/f0.npy"; do
    refuses 2 "f0.npy and $other are one file; give it once" "and as $other" "$csz" compress f0.npy f1.npy "$other" -e 1 -f
done
refuses 2 'tree/a.npy and ./tree/a.npy are one file' "a folder twice" "$csz" compress -q -r tree ./tree -m rel -e 1e-3
ln f0.npy linked.npy
holds "two names of a file in one folder have an archive each" "$csz" compress f0.npy linked.npy -m rel -e 1e-3 -f
rm linked.npy linked.npy.csz
refuses 2 'tree/a.npy and tree/run/a.npy would both become flat/a.npy.csz' "one name from two folders" \
    "$csz" compress tree/a.npy tree/run/a.npy -e 1 -o flat/
same_text "is found before anything is written" "" "$(ls -A flat)"
cp f0.npy.csz twice.csz.csz
cp f0.npy.csz twice.csz
refuses 2 'twice.csz is an input' "an output that is an input" "$csz" decompress -f twice.csz twice.csz.csz
refuses 2 'twice.csz is an input' "by another name, too" "$csz" decompress -f ./twice.csz twice.csz.csz
holds "and it is as it was" cmp twice.csz f0.npy.csz
refuses 2 'no folder.*-o one.csz/' "several into a file" "$csz" compress f0.npy f1.npy -e 1 -o one.csz
refuses 2 'stream' "several archives to standard output" "$csz" compress f0.npy f1.npy -e 1 -o -
refuses 2 'standard input' "standard input among several to compress" "$csz" compress f0.npy - -e 1
refuses 2 'standard input' "standard input among several to restore" "$csz" decompress f0.npy.csz -
refuses 2 'standard input' "standard input among several to verify" "$csz" verify f0.npy alone0.csz - alone1.csz
holds "standard input among several to test" bash -c "'$csz' test f0.npy.csz - <f1.npy.csz"
holds "an archive among fields is left out" "$csz" compress f0.npy f0.npy.csz f1.npy -m rel -e 1e-3 -f
says "with a note" 'note: f0.npy.csz is an archive already and is left out' err.txt
holds "and is as it was" cmp f0.npy.csz alone0.csz

# ---- Folders -------------------------------------------------------------------------------------------

ends 2 "-r takes fields by their names" "$csz" compress -r tree -m rel -e 1e-3
says "of which one lacks its dims" 'raw.f32 is raw' err.txt
says "others are counted in a note" 'note: 1 other file in tree left out' err.txt
holds "-r mirrors the tree" bash -c "rm tree/run/raw.f32 && '$csz' compress -r tree -m rel -e 1e-3 -o mirror/ -q"
same_text "with its folders" "./a.npy.csz ./run/a.npy.csz ./run/deep/b.npy.csz" \
    "$(cd mirror && find . -type f | sort | tr '\n' ' ' | sed 's/ $//')"
holds "verify -r with a tree of archives" "$csz" verify -r tree --archives mirror
same_text "verifies all of it" 3 "$(grep -c ': kept' out.txt)"
holds "verify -r with archives beside" "$csz" verify -r tree -q
for where in mirror/a.npy.csz:--archives=mirror tree/run/a.npy.csz:; do
    mv "${where%%:*}" gone.csz
    ends 1 "verify -r, an archive missing, ${where#*:}" "$csz" verify -r tree ${where#*:} -q
    says "names it" "^csz: cannot open ${where%%:*}: " err.txt
    ends 1 "and tells of the others" "$csz" verify -r tree ${where#*:}
    same_text "each of them" 2 "$(grep -c ': kept' out.txt)"
    says "other files are counted in a note" '^csz: note: 1 other file in tree left out; only .npy' err.txt
    mv gone.csz "${where%%:*}"
done
mv tree/run/deep/b.npy b.npy
holds "verify -r where an original is gone" "$csz" verify -r tree
says "notes its archive" '^csz: note: 1 archive in tree left out; no original of its name is there' err.txt
holds "verify -r with archives elsewhere" "$csz" verify -r tree --archives mirror
says "notes it too" '^csz: note: 1 archive in mirror left out; no original of its name is there' err.txt
mv b.npy tree/run/deep/b.npy
holds "test -r" "$csz" test -r mirror
same_text "tests all of it" 3 "$(wc -l <out.txt)"
holds "info -r" "$csz" info -r mirror --json
holds "decompress -r" "$csz" decompress -r mirror -o again/ -q
same_text "restores the tree" "./a.npy ./run/a.npy ./run/deep/b.npy" \
    "$(cd again && find . -type f | sort | tr '\n' ' ' | sed 's/ $//')"
mkdir empty
refuses 1 'empty has no file' "-r of a folder without archives" "$csz" test -r empty
ends 1 "-r of such a folder and of another" "$csz" test -r empty mirror
same_text "tests the other" 3 "$(wc -l <out.txt)"
ln -s ../f0.npy tree/link.npy
holds "links in a folder are left out" bash -c "'$csz' compress -r tree -e 1e-3 -f -q && test ! -e tree/link.npy.csz"

# ---- Large files, memory, signals ----------------------------------------------------------------------

head -c 36000000 /dev/zero >large.f32
cp f0.npy.csz small.csz
holds "large and small together" bash -c \
    "'$csz' compress large.f32 -d 9000000 -e 1 -q && '$csz' test f0.npy.csz large.f32.csz f1.npy.csz -j2"
holds "a memory limit for all" "$csz" compress f?.npy -m rel -e 1e-3 -f -q --memory-limit 100M -j8
for i in 0 1 2 3 4; do cmp -s f$i.npy.csz alone$i.csz || failed "f$i.npy.csz with a memory limit"; done
mkfifo pipe
"$csz" compress f0.npy pipe f1.npy -m rel -e 1e-3 -q -o ended/ 2>err.txt &
run=$!
exec 3>pipe # its process reads now
kill -TERM "$run"
wait "$run"
same_text "a signal ends the run" 143 $?
trap '' PIPE
while printf x 2>/dev/null >&3; do sleep 0.05; done # until nobody reads
exec 3>&-
passed "and its processes"
same_text "and leaves no temporary" "" "$(find . -name '.*' ! -name .)"

finish ""
