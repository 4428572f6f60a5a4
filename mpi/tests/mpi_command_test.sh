#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi_command_test.sh BUILD MPIEXEC: options, messages, files and memory of csz-mpi, and the library as it is
# installed.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u -o pipefail
build=$(realpath "${1:?usage: mpi_command_test.sh BUILD MPIEXEC}") || exit 2
mpiexec=${2:?usage: mpi_command_test.sh BUILD MPIEXEC}
tests=$(realpath "$(dirname "$0")/../../tests") || exit 2
# shellcheck source=ranks.sh
. "$(dirname "$0")/ranks.sh"

# within MIB COMMAND...: each rank, not mpirun
within() { python3 "$tests/support/peak.py" "$@"; }
export -f within
export tests
cp one.csz mpi.csz
for bound in "abs 1e-2" "rel 1e-3" "psnr 60"; do
    # shellcheck disable=SC2086
    set -- $bound
    refuses "csz-mpi --verify and $bound resolved too large" 'field would come back with (a PSNR|an error) of .* asked for, so nothing is written' mpi 3 \
        "$build/csz-mpi-forged" compress field -t f32 -d 70x300x200 -m "$1" -e "$2" --verify -o refused
    holds "nothing was written" test ! -e refused
    holds "csz-mpi --verify and $bound" mpi 3 "$build/csz-mpi" compress field -t f32 -d 70x300x200 -m "$1" -e "$2" --verify -o kept.csz -f
    says "with its PSNR" '^verified: .* PSNR [0-9]+\.[0-9]+ dB$' out.txt
done
if [[ -e $build/libfault_shim.so ]]; then
    # Long reads alone count: the input's, then those of verifying.  The first gives another value than the
    # second: what was written is not what verifying expects.
    refuses "csz-mpi --verify and a value that is not the input's" '1 elements of field would break the bound' mpi 1 \
        env CSZ_FAULT=pread:1:wrong CSZ_FAULT_LEAST=262144 LD_PRELOAD="$build/libfault_shim.so" "$build/csz-mpi" compress field -t f32 -d 4200000 -e 1e-9 --verify -o x
    refuses "csz-mpi --verify and a file that cannot be read again" 'cannot verify what was written|cannot read field: Input/output error' mpi 1 \
        env CSZ_FAULT=pread:2:EIO CSZ_FAULT_LEAST=262144 LD_PRELOAD="$build/libfault_shim.so" "$build/csz-mpi" compress field -t f32 -d 4200000 -e 1e-9 --verify -o x
    # ended CALL COMMAND...: a run whose ranks wait at CALL, and whose rank 0, which has its pid in the hidden
    # file's name, then gets a signal fails, and leaves neither.
    ended() {
        local call=$1 run hidden="" signalled=1
        shift
        rm -f reached stopped .stopped.*
        mpi 2 timeout 1000 env CSZ_FAULT="$call:wait" CSZ_FAULT_LEAST=262144 CSZ_FAULT_HIT="$work/reached" LD_PRELOAD="$build/libfault_shim.so" "$build/csz-mpi" "$@" -o stopped &
        run=$!
        until [[ -e reached ]] && hidden=$(compgen -G '.stopped.*') || ! kill -0 "$run" 2>/dev/null; do sleep 0.01; done
        [[ $hidden =~ ^\.stopped\.([0-9]+)\.[0-9a-f]{16}$ ]] && kill -TERM "${BASH_REMATCH[1]}" && signalled=0
        ! wait "$run" && [[ $signalled = 0 && ! -e stopped ]] && ! compgen -G '.stopped.*'
    }
    holds "a run that is ended while it restores removes its hidden file" ended pwrite:2 decompress one.csz
    holds "and one that is ended while it writes an archive" ended fsync:1 compress field -t f32 -d 4200000 -e 1e-9
    holds "and one that is ended while it verifies" ended pread:2 compress field -t f32 -d 4200000 -e 1e-9 --verify
else
    echo "      without a library to preload: faults and signals are left out"
fi
if "$build/csz" --version | grep -q 'zstd yes'; then
    "$build/csz" compress field -t f32 -d 70x300x200 -e 1e-3 -m rel -w rle+vle -z zstd:5 -o other.csz >out.txt || exit 2
    for level in zstd:5 5; do
        holds "csz-mpi -w rle+vle -z $level compresses" mpi 2 "$build/csz-mpi" "${what[@]}" -w rle+vle -z $level -o other.mpi -f
        holds "csz-mpi -w rle+vle -z $level: the bytes of csz" cmp other.mpi other.csz
    done
fi
holds "csz reads what csz-mpi wrote" "$build/csz" verify field mpi.csz
holds "names of one letter are names" mpi 2 "$build/csz-mpi" "${what[@]}" -o z
holds "and give the same archive" cmp z mpi.csz
rm -f z
refuses "an existing output is kept" 'exists' mpi 2 "$build/csz-mpi" "${what[@]}" -o mpi.csz
refuses "a missing input" 'cannot open' mpi 2 "$build/csz-mpi" compress nowhere -t f32 -d 70x300x200 -e 1e-3 -o x
refuses "a wrong size" 'field has 16800000 bytes, and 70x300x200 of f64 are 33600000' mpi 2 "$build/csz-mpi" compress field -t f64 -d 70x300x200 -e 1e-3 -o x
refuses "a grid that is not the number of ranks" '--grid 2x2x1 does not make 2 parts' mpi 2 "$build/csz-mpi" "${what[@]}" -o x --grid 2x2x1
cp field twin
refuses "ranks with different inputs" 'input files differ' timeout 1000 "$mpiexec" "${ranks[@]}" -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" compress twin "${what[@]:2}" -o x
refuses "ranks of which one has -e 0.5" "ranks' bounds.* differ" timeout 1000 "$mpiexec" "${ranks[@]}" \
    -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" "${what[@]/1e-3/0.5}" -o x
for wrong in "fill --fill 0" "predictors -p auto" "--unsigned-zeros --unsigned-zeros"; do
    # shellcheck disable=SC2086
    refuses "ranks of which one has ${wrong#* }" "ranks' ${wrong%% *}.* differ" timeout 1000 "$mpiexec" "${ranks[@]}" \
        -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" "${what[@]}" -o x ${wrong#* }
done
refuses "a grid of other dims" '--grid 2x1 has 2 numbers, and the field has the dims 70x300x200' mpi 2 "$build/csz-mpi" "${what[@]}" -o x --grid 2x1
refuses "an empty name" 'output has no name' mpi 2 "$build/csz-mpi" "${what[@]}" -o ""
refuses "a wrong argument of one rank" 'rank 1: bound -1 is not a finite number above 0' timeout 1000 "$mpiexec" "${ranks[@]}" -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" "${what[@]/1e-3/-1}" -o x
refuses "the input as the output" 'input itself' mpi 2 "$build/csz-mpi" "${what[@]}" -o field -f
ln -s /dev/null device
for wrong in /dev/null device - /proc/self/fd/1; do
    refuses "$wrong as the output" 'no regular file' mpi 2 "$build/csz-mpi" "${what[@]}" -o $wrong -f
done
holds "the link is there still" test -L device
for how in "compress field ${what[*]:2}" "compress field ${what[*]:2} --verify" "decompress one.csz"; do
    printf 'old' >private
    chmod 600 private
    # shellcheck disable=SC2086
    holds "csz-mpi ${how%% *} replaces a private file" mpi 2 "$build/csz-mpi" $how -f -o private
    holds "which stays private" test "$(stat -c %a private)" = 600
done
refuses "a folder that is not there" 'cannot write no/x' mpi 2 "$build/csz-mpi" "${what[@]}" -o no/x
# Each wrong value is named.
while IFS='|' read -r wrong said; do
    # shellcheck disable=SC2086
    refuses "compress $wrong" "^csz-mpi: $said" mpi 1 "$build/csz-mpi" "${what[@]}" -o x $wrong
done <<'EOF'
-z 5abc|final pass '5abc' is unknown; give
-z zstd:23|final pass 'zstd:23' is unknown; give
-w lzw|workflow 'lzw' is unknown; give
-p linear|predictor 'linear' is unknown; give
-m most|mode 'most' is unknown; give
-t f16|type 'f16' is unknown; give
-d 70xy|dims '70xy' are not understood; give
-j 3xyz|'3xyz' is no number of threads; give
--fill sea|fill value 'sea' is no number
--grid 2x0|grid '2x0' is not understood; give
--memory-limit 12Q|memory limit '12Q' is not understood; give
--memory-limit 0|memory limit '0' is not understood; give
--frobnicate|compress has no option --frobnicate; see csz-mpi compress --help
--json|compress has no option --json
another|compress takes one file, and 'another' is one too many
EOF
refuses "decompress -t f32" 'decompress has no option -t; see csz-mpi decompress --help' mpi 1 "$build/csz-mpi" decompress one.csz -o x -t f32
refuses "decompress --memory-limit 12Q" "memory limit '12Q' is not understood" mpi 1 "$build/csz-mpi" decompress one.csz -o x --memory-limit 12Q
holds "the help promises nothing of HDF5 files, which it does not read" test -z "$("$build/csz-mpi" compress --help | grep HDF5)"
refuses "no command" 'the command is missing; see csz-mpi --help' mpi 1 "$build/csz-mpi"
refuses "an option before the command" 'option -q stands before the command; give it after, as in csz-mpi decompress -q$' mpi 1 "$build/csz-mpi" -q decompress one.csz
refuses "an unknown command" "no command 'pack'; see csz-mpi --help" mpi 1 "$build/csz-mpi" pack
refuses "no output" 'the output is missing; give it with -o' mpi 1 "$build/csz-mpi" "${what[@]}"
refuses "no dims" 'is raw, so its dims must be given' mpi 1 "$build/csz-mpi" compress field -t f32 -e 1 -o x
refuses "a pipe" 'is no regular file, and ranks read at different places' mpi 1 "$build/csz-mpi" compress - -t f32 -d 9 -e 1 -o x
refuses "a dataset" 'is a dataset, and csz-mpi reads raw and \.npy files' mpi 1 "$build/csz-mpi" compress run.nc:T -e 1 -o x
"$build/csz" --version | sed '1s/csz/csz-mpi/; /^hdf5/d' >wanted.txt
holds "csz-mpi --version" mpi 2 "$build/csz-mpi" --version
mv out.txt told.txt
holds "says what csz says, once" bash -c "grep -v '^mpi ' told.txt | cmp - wanted.txt && grep -q '^mpi ' told.txt"
holds "csz-mpi -q" mpi 2 "$build/csz-mpi" "${what[@]}" -o quiet.csz -q --verify
mv out.txt told.txt
holds "says nothing" test ! -s told.txt

# ---- NumPy's files ------------------------------------------------------------------------------------

"$build/csz" decompress one.csz -o one.npy >out.txt || exit 2
cp field field.f32
holds "csz-mpi decompress to .npy" mpi 3 "$build/csz-mpi" decompress one.csz -o mpi.npy --grid 1x3x1
holds "csz-mpi decompress to .npy: the file of csz" cmp mpi.npy one.npy
# npy FILE DESCR ORDER: the values of one.raw as a NumPy file
npy() {
    python3 - "$@" <<'EOF'
import array, struct, sys
values = array.array("f", open("one.raw", "rb").read())
if (sys.argv[2][0] == ">") == (sys.byteorder == "little"):
    values.byteswap()
text = "{'descr': '%s', 'fortran_order': %s, 'shape': (70, 300, 200), }" % tuple(sys.argv[2:])
text += " " * (-(11 + len(text)) % 64) + "\n"
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values.tobytes())
EOF
}
npy big.npy '>f4' False
npy fortran.npy '<f4' True
"$build/csz" compress one.npy -e 1e-3 -m rel -o npy.csz >out.txt || exit 2
for file in one.npy big.npy; do
    holds "csz-mpi compress $file" mpi 3 "$build/csz-mpi" compress $file -e 1e-3 -m rel -o npy.mpi -f --verify --grid 1x3x1
    holds "csz-mpi compress $file: the bytes of csz" cmp npy.mpi npy.csz
done
refuses "a .npy file and other dims" 'has the dims 70x300x200, and the command line says 70x200x300' mpi 2 "$build/csz-mpi" compress one.npy -d 70x200x300 -e 1 -o x
refuses "a .npy file in Fortran order" 'is in Fortran order' mpi 2 "$build/csz-mpi" compress fortran.npy -e 1 -o x
holds "a name tells the type" mpi 2 "$build/csz-mpi" compress field.f32 -d 70,300,200 -e 1e-3 -m rel -o named.csz
holds "a name tells the type: the bytes of csz" cmp named.csz one.csz
# a fill value that was not named
python3 -c 'import array
values = array.array("f", open("field", "rb").read())
for i in range(0, len(values), 5): values[i] = 1e20
values.tofile(open("land", "wb"))'
python3 -c 'import array
values = array.array("f", open("land", "rb").read())
values.byteswap()
header = "{\"descr\": \">f4\", \"fortran_order\": False, \"shape\": (70, 300, 200)}".encode()
header = header.replace(b"\"", b"\x27").ljust(117) + b"\n"
open("swapped.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.tobytes())'
refuses "a forgotten fill value in the other byte order" 'swapped.npy has 1e20 in about (19|20).*give --fill 1e20' mpi 2 "$build/csz-mpi" compress swapped.npy -e 1e-3 -m rel -o x
refuses "a forgotten fill value" 'land has 1e20 in about (19|20).*give --fill 1e20' mpi 2 "$build/csz-mpi" compress land -t f32 -d 70x300x200 -e 1e-3 -m rel -o x
holds "a fill value that is named" mpi 2 "$build/csz-mpi" compress land -t f32 -d 70x300x200 -e 1e-3 -m rel --fill 1e20 -o land.csz --verify
python3 -c 'import array
values = array.array("f", open("land", "rb").read())
for i in range(0, len(values), 5): values[i] = 5432100
values.tofile(open("land", "wb"))'
refuses "a number beside which the bound flattens all others" 'land has 5432100 in about (19|20).*give --fill 5432100' \
    mpi 2 "$build/csz-mpi" compress land -t f32 -d 70x300x200 -e 1e-2 -m rel -o x
python3 -c 'import array
values = array.array("f", open("field", "rb").read())
for i in range(77, len(values), 1000): values[i] = 1e20
values.tofile(open("rare", "wb"))'
for limit in "" "--memory-limit 200M"; do
    # shellcheck disable=SC2086 # words
    refuses "a rare fill value $limit" 'rare has 1e20 in about 0.1%.*give --fill 1e20' mpi 2 "$build/csz-mpi" compress rare -t f32 -d 70x300x200 -e 1e-3 -m rel -o x $limit
done
holds "nothing is written then" test ! -e x
rm -f rare
# what was hardly meant: the notes of csz
noted() {
    local pattern=$1
    shift
    holds "csz-mpi compress $*" mpi 2 "$build/csz-mpi" compress "$@" -f -o noted.csz
    if [ "$(grep -c '^csz-mpi: note: ' err.txt)" = 1 ] && grep -qE -- "$pattern" err.txt; then passed "notes it"; else failed "notes it" "$(head -c 700 err.txt)"; fi
    "$build/csz" compress "$@" -f -o noted2.csz >out.txt 2>err2.txt
    if cmp -s <(sed 's/^csz-mpi/csz/' err.txt | grep '^csz: note') err2.txt; then passed "as csz does"; else failed "as csz does" "$(cat err2.txt)"; fi
}
noted 'the bound, -m rel -e 2, is .*span' field.f32 -d 70x300x200 -m rel -e 2
noted 'the bound, 1000000, exceeds what sampled values of field.f32 span' field.f32 -d 70x300x200 -e 1e6
head -c 4000 one.csz >again.f32
noted 'again.f32 is itself an archive' again.f32 -d 1000 -e 1
python3 -c '
import struct
text = "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (2, 3, 4, 5, 6), }"
text += " " * (64 - (10 + len(text) + 1) % 64) + "\n"
open("dims5.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<720f", *(i % 17 for i in range(720))))'
noted 'dims5.npy has 5 dims, of which the archive keeps 6x4x5x6' dims5.npy -e 1e-3
python3 -c '
import math, struct
hill = [max(math.sin(i / 40) - 0.9, 0.0) or (0.0, -0.0)[i * i // 7 % 2] for i in range(4000)]
open("signs.f64", "wb").write(struct.pack("<4000d", *hill))'
for limit in "" "--memory-limit 200M"; do
    # shellcheck disable=SC2086 # words
    noted 'signs of zeros, .* of signs.f64; if they do not matter, give --unsigned-zeros' signs.f64 -t f64 -d 4000 -e 0.01 $limit
done
for name in noted.f64 noted.csz; do
    holds "csz-mpi decompress -o $name" mpi 2 "$build/csz-mpi" decompress one.csz -o $name -f
    mv err.txt told.txt
    "$build/csz" decompress one.csz -o $name -f >out.txt 2>err.txt
    same_text "says what it holds once, as csz does" "$(cat err.txt)" "$(sed -n 's/^csz-mpi: note/csz: note/p' told.txt)"
    says "unlike its name" '^csz: note: .*noted.*, unlike what its name says' err.txt
done
holds "csz-mpi -q keeps quiet" mpi 2 "$build/csz-mpi" compress dims5.npy -e 1e-3 -f -q -o noted.csz
mv err.txt told.txt
holds "of notes too" bash -c '! grep -q note: told.txt'
holds "csz-mpi -v" mpi 2 "$build/csz-mpi" compress dims5.npy -m rel -e 1e-3 -f -v -o noted.csz
mv out.txt told.txt
holds "tells more, and small sizes" bash -c "grep -q '6x4x5x6 of f32; frames 1, ' told.txt && grep -q 'values from 0 to 16' told.txt && grep -q ' 2.9 kB of values' told.txt"
refuses "ranks with different outputs" 'differ' timeout 1000 "$mpiexec" "${ranks[@]}" -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" "${what[@]}" -o y
refuses "ranks with different commands" 'differ' timeout 1000 "$mpiexec" "${ranks[@]}" -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 1 "$build/csz-mpi" decompress one.csz -o x
refuses "ranks of which one asks for help" "commands differ" timeout 1000 "$mpiexec" "${ranks[@]}" -n 1 "$build/csz-mpi" "${what[@]}" -o x : -n 2 "$build/csz-mpi" --help

# ---- Less memory than the field takes --------------------------------------------------------------------

# needs N COMMAND...: the limit that a refusal names is enough, and one MiB less is not.
needs() {
    local n=$1 mib
    shift
    local -x OMPI_MCA_odls_base_sigkill_timeout=0 # as above
    mpi "$n" "$build/csz-mpi" "$@" -j 1 --memory-limit 1M >out.txt 2>err.txt && return 1
    mib=$(sed -n 's/.*needs \([0-9]*\) MiB of memory.*/\1/p' err.txt)
    [[ -n $mib ]] && ! mpi "$n" "$build/csz-mpi" "$@" -j 1 --memory-limit "$((mib - 1))M" >out.txt 2>&1 &&
        mpi "$n" "$build/csz-mpi" "$@" -j 1 --memory-limit "${mib}M"
}
holds "what a refusal says compressing needs is enough, and no less is" needs 2 "${what[@]}" -o within.csz --grid 1x2x1
holds "within it the bytes of csz" cmp within.csz one.csz
"$build/csz" "${what[@]}" -p auto -o predicted.csz >out.txt || failed "csz -p auto"
holds "and what it says that pyramids need" needs 2 "${what[@]}" -p auto -o within_auto.csz --grid 1x2x1
holds "within it the bytes of csz -p auto" cmp within_auto.csz predicted.csz
holds "and what it says restoring needs" needs 2 decompress one.csz -o within.raw --grid 1x1x2
holds "within it the values of csz" cmp within.raw one.raw
# 332 MiB, a rank's box where there is one, in three frames; compressed they do not fit beside one that is
# being coded, and the last waits in a file.
large=(-t f32 -d 332x512x512 -e 1e-9)
"$build/csz-generate" 332 512 512 >large || exit 2
"$build/csz" compress large "${large[@]}" -o large.csz >out.txt || failed "csz compresses the large field"
holds "332 MiB in one rank within 300" mpi 1 bash -c "within 300 '$build/csz-mpi' compress large ${large[*]} --verify -o small.csz --memory-limit 300M"
printf '      %s\n' "$(grep peak err.txt)"
holds "with the bytes of csz" cmp small.csz large.csz
holds "and back within 300" mpi 1 bash -c "within 300 '$build/csz-mpi' decompress large.csz -o back --memory-limit 300M"
printf '      %s\n' "$(grep peak err.txt)"
"$build/csz" decompress large.csz -f -o large >out.txt || failed "csz restores the large field"
holds "with the values of csz" cmp large back
rm -f large large.csz small.csz back
# Two runs at once without -f: the later one keeps the file of the earlier.
for command in compress decompress; do
    arguments=(decompress one.csz)
    [[ $command = decompress ]] || arguments=("${what[@]}")
    rm -f raced
    mpi 2 "$build/csz-mpi" "${arguments[@]}" -o raced >out1.txt 2>err1.txt &
    mpi 2 "$build/csz-mpi" "${arguments[@]}" -o raced >out2.txt 2>err2.txt
    second=$?
    wait $!
    holds "of two that $command to one name one is refused" test $(($? + second)) = 1
    if grep -q 'exists and is kept' err1.txt err2.txt; then passed "it says so"; else failed "it says so" "$(head -c 1500 err1.txt err2.txt)"; fi
done
# Files may not grow beyond 6 MB: a full disk, as far as the command can tell.
refuses "an archive that finds no room" 'cannot write x' mpi 2 bash -c \
    "ulimit -f 6000; exec '$build/csz-mpi' compress field -t f32 -d 70x300x200 -e 1e-9 -o x"
refuses "a raw file that finds no room" 'cannot write x: File too large' mpi 2 bash -c "ulimit -f 6000; exec '$build/csz-mpi' decompress one.csz -o x"
holds "nor a temporary" bash -c "! ls -A | grep '^\.[xr]'"
holds "no refusal has left an output" test ! -e x -a ! -e y 

# ---- Installed -------------------------------------------------------------------------------------------

cmake --install "$build" --prefix "$work/first" >out.txt 2>&1 && mv first prefix
mkdir user
cat >user/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(csz_mpi REQUIRED)
add_executable(user user.c)
target_link_libraries(user csz::csz_mpi)
EOF
printf '%s\n' '#include <csz_mpi.h>' 'int main(int argc, char **argv) {' \
    'csz_info info;' 'MPI_Init(&argc, &argv);' \
    'csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, argv[1]);' 'MPI_Finalize();' \
    'return status != CSZ_OK || info.field.dims[0] != 70;' '}' >user/user.c
holds "find_package(csz_mpi): configure" cmake -S user -B user/build -DCMAKE_PREFIX_PATH="$work/prefix"
holds "find_package(csz_mpi): build" cmake --build user/build
holds "find_package(csz_mpi): run" mpi 2 user/build/user one.csz
holds "the man page is installed" test -e prefix/share/man/man1/csz-mpi.1
if command -v pkg-config >/dev/null && command -v mpicc >/dev/null; then
    PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name csz_mpi.pc)")
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046 # lists of flags
    holds "pkg-config csz_mpi: build" mpicc user/user.c $(pkg-config --cflags --libs csz_mpi) -o by_pc
    holds "pkg-config csz_mpi: run" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir csz_mpi)" "$mpiexec" "${ranks[@]}" -n 2 ./by_pc one.csz
fi

finish
