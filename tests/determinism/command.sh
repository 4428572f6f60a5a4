#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# command.sh CSZ RUNNER OTHER: two builds of the command, OTHER under RUNNER (qemu-s390x), work on the same
# files alike: archives, restored raw and .npy files, of little- and big-endian input, through files and
# pipes, and what verify, test, compare and analyze say.  Prints what differs; exit status 0: nothing.
set -u
csz=$(realpath "$1") runner=$2 other=$(realpath "$3")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0
python3 - <<'PY' || exit 2
import math, struct
values = [math.sin(0.01 * i) * (1 + i % 97) + (i % 13) * 1e-4 for i in range(30 * 40 * 50)]
values[7], values[8], values[9], values[10] = -0.0, float("nan"), float("inf"), 1e30
for name, code, descr in (("f32", "f", "f4"), ("f64", "d", "f8")):
    for order, sign in (("<", "little"), (">", "big")):
        data = struct.pack(order + code * len(values), *values)
        if sign == "little":
            open(name, "wb").write(data)
        header = ("{'descr': '%s%s', 'fortran_order': False, 'shape': (30, 40, 50), }" % (order, descr)).ljust(117) + "\n"
        open(name + sign + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
PY

# alike NAME ARGUMENT...: both write the same file out and say the same, but for the seconds.
alike() {
    name=$1
    shift
    rm -f out out.npy
    "$csz" "$@" >said 2>&1 || { cat said; failed=1; }
    for file in out out.npy; do [ ! -e $file ] || mv $file kept.$file; done
    $runner "$other" "$@" >said.other 2>&1 || { echo "$name: $(cat said.other)"; failed=1; }
    for file in out out.npy; do
        [ ! -e kept.$file ] || cmp kept.$file $file || { echo "$name: other bytes"; failed=1; }
        rm -f kept.$file
    done
    for text in said said.other; do grep -v ' s, \|seconds\| s$' $text >$text.plain; done
    cmp -s said.plain said.other.plain || { echo "$name:"; diff said.plain said.other.plain; failed=1; }
}
for type in f32 f64; do
    alike "raw $type" compress $type -t $type -d 30x40x50 -e 1e-3 -m rel --fill 1e30 --verify -o out
    mv out $type.csz
    # shellcheck disable=SC2002 # it is to be a pipe
    cat $type | "$csz" compress - -t $type -d 30x40x50 -e 1e-3 >one 2>said
    # shellcheck disable=SC2002
    cat $type | $runner "$other" compress - -t $type -d 30x40x50 -e 1e-3 2>said | cmp - one || failed=1
    # shellcheck disable=SC2002
    cat one | "$csz" decompress - >two 2>said
    # shellcheck disable=SC2002
    cat one | $runner "$other" decompress - 2>said | cmp - two || failed=1
    for order in little big; do
        alike "$order-endian .npy of $type" compress $type$order.npy -e 1e-3 -m rel --fill 1e30 -o out
        cmp out $type.csz || failed=1
        alike "verify, $order-endian .npy" verify $type$order.npy $type.csz
    done
    alike "restored" decompress $type.csz -o out
    mv out back
    alike "a region of it" decompress $type.csz -o out --region 3:20,:,7:9
    alike "restored to .npy" decompress $type.csz -o out.npy
    alike "verify" verify $type $type.csz
    alike "test" test $type.csz
    alike "info" info $type.csz
    alike "compare" compare $type back -t $type -d 30x40x50
    alike "analyze" analyze $type -t $type -d 30x40x50 -e 1e-3 -m rel
done
exit $failed
