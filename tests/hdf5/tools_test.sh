#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools_test.sh CSZ PLUGIN_FOLDER [SANITIZERS]: the command on HDF5 and netCDF files, and the filter in the
# tools that people use: h5repack, h5dump, h5diff, ncgen, nccopy, ncdump, the operators of NCO, cdo.  Prints
# one line per property and exits 1 if any does not hold, 77 if the command was built without HDF5 or the
# tools are missing.  A sanitized plugin cannot be loaded by tools that are not, so with SANITIZERS those
# parts are left out.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: tools_test.sh CSZ PLUGIN_FOLDER}") || exit 2
plugins=${2:?usage: tools_test.sh CSZ PLUGIN_FOLDER}
sanitizers=${3-}
here=$(cd "$(dirname "$0")/.." && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_hdf5_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C
unset HDF5_PLUGIN_PATH
# shellcheck source=tests/support/properties.sh
. "$here/support/properties.sh"

# ---- cd_values: arithmetic, in every build -----------------------------------------------------------

holds "cdvals of an absolute bound" "$csz" hdf5 cdvals -e 1e-3
cp out.txt cdvals.txt
says "the line for h5repack" 'h5repack -f VAR:UD=411,0,3,0,3539053052,1062232653 IN.h5 OUT.h5' cdvals.txt
says "the line for nccopy" 'nccopy -F VAR,411,0,3539053052,1062232653 IN.nc OUT.nc' cdvals.txt
says "that * takes coordinates too, and what to give instead" 'one -F for each variable .*"\*,411,\.\.\." makes coordinates .*lossy' cdvals.txt
holds "cdvals without loss" "$csz" hdf5 cdvals -m exact
same_text "needs no such line" 0 "$(grep -c lossy out.txt)"
says "the line for CDL" 'VAR:_Filter = "411,0,3539053052,1062232653" ;' cdvals.txt
says "the line for h5py" 'compression=411, compression_opts=\(0, 3539053052, 1062232653\)' cdvals.txt
says "the line for netCDF4" 'netCDF4.Dataset.fromcdl' cdvals.txt
same_text "every bit of the bound is there" 1 \
    "$("$csz" hdf5 cdvals -e 0.1234567890123456789 --json | grep -c '"cd_values": \[0, 1653650829, 1069521345\]\|1234567890123456')"
for options in "-e 1e-3" "-e 1e-3 -p auto" "-m rel -e 1e-4 -w rle -p pyramid" "-m rel -e 1e-4 -w rle" "-m psnr -e 80.5" "-e 3 --fill none" "-e 0.1 --fill 1e20 -w rle+vle" \
    "-e 1e-300 --fill nan --optional"; do
    # shellcheck disable=SC2086 # options
    words=$("$csz" hdf5 cdvals $options --json | sed 's/.*"cd_values": \[\([^]]*\)\].*/\1/')
    # shellcheck disable=SC2086
    same_text "decode undoes cdvals $options" \
        "$("$csz" hdf5 cdvals $options --json | sed 's/"cd_values": \[[^]]*\], //; s/}$//')" \
        "$("$csz" hdf5 decode "$words" --json | sed 's/, "type": null, "chunk_dims": \[\]}$//')"
done
holds "decode what h5dump shows" "$csz" hdf5 decode '{ 0 -755914244 1062232653 0 0 0 0 16777218 0 0 64 0 32 0 }'
says "decode tells the chunks" '64x32 of little-endian f32' out.txt
holds "decode what h5repack takes" "$csz" hdf5 decode UD=411,0,3,0,3539053052,1062232653
says "decode tells the bound" 'abs 0.001' out.txt
for words in 411 512 0 411,512,0,0,0,0,0,0,16777729,0,0,4,0; do
    holds "decode of $words" "$csz" hdf5 decode $words
    says "says that every bit is kept" 'bound +none: every bit' out.txt
done
says "and how large an element is" 'elements of 4 bytes' out.txt
refuses 1 'words 1 to 6 are not 0' "decode of no bound and one" "$csz" hdf5 decode 512,0,1072693248
holds "cdvals of a relative bound" "$csz" hdf5 cdvals -m rel -e 1e-3
says "and what numbers far outside do" 'more than eight numbers far outside in a chunk, its others may come back as one' out.txt
says "what nccopy forgets is said" 'nccopy creates variables without their fill value' out.txt
holds "cdvals of a relative bound and a fill value" "$csz" hdf5 cdvals -m rel -e 1e-3 --fill 1e20
fails "which nccopy is told" grep -q 'without their fill value' out.txt
refuses 2 "takes options alone, and 'run.nc:t' is none; give --of run.nc:t" "cdvals of a path" "$csz" hdf5 cdvals -e 1 run.nc:t
refuses 2 "one list, and '1' is one argument too many; put the words in quotes" "decode of words apart" "$csz" hdf5 decode 0 1 2
refuses 2 'needs the words' "decode of nothing" "$csz" hdf5 decode
refuses 2 'bound is missing' "cdvals without a bound" "$csz" hdf5 cdvals
refuses 2 'not a finite number above 0' "cdvals with bound 0" "$csz" hdf5 cdvals -e 0
refuses 2 'keeps missing values as all others; give it without --fill' "cdvals of a fill value and no bound" "$csz" hdf5 cdvals -m exact --fill 3
refuses 2 'cdvals or decode' "hdf5 without a command" "$csz" hdf5
refuses 2 'no list' "decode of text" "$csz" hdf5 decode 1,two
refuses 1 'no bound' "decode of too few words" "$csz" hdf5 decode 0,1
same_text "the predictor is in word 3" 512 "$("$csz" hdf5 cdvals -e 1e-3 -p auto --json | sed 's/.*"cd_values": \[[^]]*, \([0-9]*\)\].*/\1/')"
refuses 1 'the predictor, bits 8 to 15 of word 3, is not' "decode of a wrong predictor" "$csz" hdf5 decode 0,3539053052,1062232653,768
refuses 1 'the workflow, bits 0 to 7 of word 3, is not' "decode of a wrong workflow" "$csz" hdf5 decode 0,3539053052,1062232653,4
refuses 1 'mode' "decode of a wrong mode" "$csz" hdf5 decode 7,1,2
refuses 1 'bound' "decode of a negative bound" "$csz" hdf5 decode 0,0,4294967295

head -c 48000 /dev/zero >raw.f32
if ! "$csz" --version | grep -q '^hdf5 yes'; then
    refuses 1 'without HDF5|not found here' "a dataset without HDF5" "$csz" compress none.h5:/a -e 1
    finish "built without HDF5, so the rest is left out" && exit 77
    exit 1
fi

# ---- The command on datasets -------------------------------------------------------------------------

python3 - <<'PY' || exit 2
import array, math, struct
v = array.array("f", (math.sin(i * 0.01) * 10 + math.cos(i * 0.13) + i % 7 * 1e-3 for i in range(30 * 40 * 50)))
v.tofile(open("wave.f32", "wb"))
PY
holds "compress a raw field" "$csz" compress wave.f32 -t f32 -d 30x40x50 -e 1e-6 -o wave.csz
holds "decompress into a new HDF5 file" "$csz" decompress wave.csz -o data.h5:/run/wave
holds "compare a dataset with a raw file" "$csz" compare wave.f32 data.h5:/run/wave --bound 1e-6
holds "add a second dataset" "$csz" decompress wave.csz -o data.h5:second
holds "both are there" "$csz" compare data.h5:/run/wave data.h5:second --bound 0
refuses 1 'exists in data.h5 and is kept' "an existing dataset is kept" "$csz" decompress wave.csz -o data.h5:second
holds "unless -f is given" "$csz" decompress wave.csz -o data.h5:second -f
refuses 1 'a group' "a group is not replaced" "$csz" decompress wave.csz -o data.h5:/run -f
refuses 1 'a group' "a dataset is no group" "$csz" decompress wave.csz -o data.h5:/second/x
refuses 2 'has no name' "an HDF5 output without a dataset" "$csz" decompress wave.csz -o other.h5
refuses 2 'empty part' "a dataset's name that ends in /" "$csz" decompress wave.csz -o data.h5:/run/
for name in '/ x' '/x ' '/run/..' "/$(printf 'a\002b')" "/$(printf '%0300d' 0)"; do
    refuses 2 'netCDF cannot read the name' "a name in a .nc that netCDF cannot read" "$csz" decompress wave.csz -o "names.nc:$name"
done
refuses 1 'folder' "an HDF5 output in no folder" "$csz" decompress wave.csz -o none/data.h5:/a
holds "a region into a dataset" "$csz" decompress wave.csz --region 0:5,:,10:20 -o data.h5:/part
holds "compress a dataset; the archive's name comes from it" "$csz" compress data.h5:/run/wave -e 1e-3 --verify
holds "verify against the dataset" "$csz" verify data.h5:/run/wave data.h5.run.wave.csz
holds "bench reads it" "$csz" bench data.h5:/run/wave -e 1e-3 --repeat 1
refuses 1 'says f64' "another type than -t says" "$csz" compress data.h5:second -t f64 -e 1
refuses 1 'says 3' "other dims than -d says" "$csz" compress data.h5:second -d 3 -e 1
refuses 2 'one of: .*second' "a file without a dataset's name" "$csz" compress data.h5 -e 1
refuses 1 'no dataset none; give one of: .*second' "a dataset that is not there" "$csz" compress data.h5:none -e 1
refuses 1 '/run of data.h5 is a group and no dataset; give one of: /run/wave$' "a group" "$csz" compress data.h5:/run -e 1
refuses 1 'no dataset /run/tide; give one of: /run/wave$' "a dataset that its group lacks" "$csz" compress data.h5:/run/tide -e 1
refuses 1 'no dataset /run/wave/x; give one of: /run/wave$' "a dataset within a dataset" "$csz" compress data.h5:/run/wave/x -e 1
refuses 1 'cannot open none.h5' "a file that is not there" "$csz" compress none.h5:/a -e 1
refuses 2 'archive is a file' "an archive as a dataset" "$csz" compress data.h5:second -e 1 -o data.h5:/a
refuses 2 'auto needs' "--fill auto on a raw file" "$csz" compress wave.f32 -t f32 -d 30x40x50 -e 1 --fill auto
head -c 3000 data.h5 >cut.h5
refuses 1 'cannot be opened|cannot be read|no dataset' "a file that is cut short" "$csz" compress cut.h5:second -e 1
printf 'no HDF5 at all' >text.h5
refuses 1 'no HDF5' "text called .h5" "$csz" compress text.h5:/a -e 1
refuses 1 'no HDF5' "text is not written to" "$csz" decompress wave.csz -o text.h5:/a -f
same_text "text is as it was" 'no HDF5 at all' "$(cat text.h5)"
cp data.h5 before.h5
(ulimit -f 100 && exec "$csz" decompress wave.csz -o data.h5:/third) >out.txt 2>err.txt
if cmp -s data.h5 before.h5; then passed "a file that cannot grow is left as it was"; else failed "a file that cannot grow is left as it was" "$(cat err.txt)"; fi
same_text "no temporary is left" "" "$(find . -name '.*' -type f)"

# A file that loses its bytes at any of the reads: HDF5 itself would go on with zeros.
shim=$(dirname "$csz")/libfault_shim.so
if [[ -z $sanitizers && -e $shim ]]; then
    whole=(data.h5)
    "$csz" decompress wave.csz -o alone.h5:second >out.txt
    command -v h5repack >/dev/null && h5repack -f second:GZIP=1 -l second:CHUNK=10x40x50 alone.h5 packed.h5 && whole+=(packed.h5)
    for job in "${whole[@]/%/ }" "${whole[@]/%/ --memory-limit 64M}"; do
        options=${job#* }
        bad=""
        for ((k = 1; k < 100; k++)); do
            cp "${job%% *}" cut.h5
            rm -f hit
            # shellcheck disable=SC2086 # options
            CSZ_FAULT=pread:$k:cut CSZ_FAULT_HIT=$work/hit LD_PRELOAD=$shim "$csz" compress cut.h5:second -e 1e-3 --verify $options -f -o cut.csz >out.txt 2>err.txt
            status=$?
            [[ -e hit ]] || break
            [[ $status -eq 1 && $(wc -l <err.txt) -eq 1 && ! -e cut.csz ]] || bad+="read $k: $status; "
        done
        same_text "a file that loses its bytes is refused at each of $((k - 1)) reads: $job" "" "$bad"
        same_text "and at none it is not" "0 yes" "$status $([[ -e cut.csz ]] && echo yes)"
        rm -f cut.csz
    done
    holds "there were such reads" test $k -gt 3
    if [[ -e packed.h5 ]]; then # a chunk that cannot be unpacked, in another thread, too
        dd if=/dev/zero of=packed.h5 bs=1 seek=$(($(stat -c %s packed.h5) / 2)) count=2000 conv=notrunc status=none
        refuses 1 'packed.h5.*damaged' "a damaged chunk" "$csz" compress packed.h5:second -e 1e-3 -f -o cut.csz
        refuses 1 'packed.h5.*damaged' "a damaged chunk, read a frame at a time" "$csz" compress packed.h5:second -e 1e-3 --memory-limit 64M -f -o cut.csz
    fi
fi

# Writers at once into one file, which none of them finds there at first: all succeed, and every dataset is
# there.
n_written=0
writers=()
for k in 1 2 3 4 5 6 7 8; do
    "$csz" decompress wave.csz -o many.h5:/d$k >/dev/null 2>>many.txt &
    writers+=($!)
done
for job in "${writers[@]}"; do wait "$job" && n_written=$((n_written + 1)); done
same_text "eight writers at once succeed" 8 "$n_written"
n_kept=0
for k in 1 2 3 4 5 6 7 8; do "$csz" compare wave.f32 many.h5:/d$k --bound 1e-6 >/dev/null 2>&1 && n_kept=$((n_kept + 1)); done
same_text "and what each wrote is kept" 8 "$n_kept"

# A file that appears while a writer waits for its turn is added to, not replaced.
flock -o . -c 'touch turn.taken; sleep 0.6; cp data.h5 turn.h5' &
turn=$!
until [[ -e turn.taken ]] || ! kill -0 "$turn" 2>/dev/null; do sleep 0.01; done
holds "a writer waits for its turn" "$csz" decompress wave.csz -o turn.h5:/later
wait "$turn"
holds "and adds to what it then finds" "$csz" compare turn.h5:second turn.h5:/later --bound 0

mkdir real linked
holds "a file behind a link" "$csz" decompress wave.csz -o real/data.h5:/a
chmod 640 real/data.h5
ln -s ../real/data.h5 linked/data.h5
holds "a dataset added through the link" "$csz" decompress wave.csz -o linked/data.h5:/b
holds "is in the file itself" "$csz" compare real/data.h5:/a real/data.h5:/b --bound 0
same_text "the link stays one" ../real/data.h5 "$(readlink linked/data.h5)"
same_text "the file keeps its permissions" 640 "$(stat -c %a real/data.h5)"
ln -s nowhere.h5 linked/lost.h5
refuses 1 'cannot follow the link linked/lost.h5' "a link that leads nowhere" "$csz" decompress wave.csz -o linked/lost.h5:/a

# ---- A crash while a file is read, as HDF5 has with some damaged ones ----------------------------------

seq 100000 400000 | head -c 1048576 >digits.f32
holds "a text's bits into an archive" "$csz" compress digits.f32 -t f32 -d 512x512 -m exact -q -o digits.csz
holds "and into a dataset" "$csz" decompress digits.csz -q -o digits.h5:x
mkfifo slow
# Its reader takes a byte, so the rest waits in the pipe, with the dataset open.
crash_while_reading() {
    "$csz" compress digits.h5:x -m exact -q -o - >slow &
    local pid=$!
    timeout 60 head -c 1 <&9 >/dev/null
    kill -ABRT $pid
    wait $pid
}
exec 9<>slow
refuses 1 'crashed while HDF5 read digits\.h5' "a crash ends with a line that names the file" crash_while_reading
exec 9>&-

# ---- Datasets larger than the memory allowed ---------------------------------------------------------

# A limit is a reason to read a frame at a time, and changes no byte; frames of four dims begin and end within
# rows of the second.
limited() { # DATASET LIMIT OPTIONS...
    local dataset=$1 limit=$2
    shift 2
    "$csz" compress "$dataset" "$@" --no-metadata -f -o held.csz && "$csz" compress "$dataset" "$@" --no-metadata -f -o limited.csz --memory-limit "$limit" &&
        cmp held.csz limited.csz && "$csz" verify "$dataset" limited.csz --memory-limit "$limit"
}
holds "a small dataset with a limit" limited data.h5:/run/wave 64M -m rel -e 1e-3
refuses 1 'needs [0-9]+ MiB of memory' "a limit below its frame and HDF5" "$csz" compress data.h5:/run/wave -e 1 --memory-limit 12M -f -o limited.csz
if [[ -z $sanitizers ]]; then # which use memory of their own
    python3 - <<'PY' || exit 2
import array, math
v = array.array("f", (math.sin(i * 1e-3) * 10 + math.cos(i * 0.13) for i in range(512 * 520)))
with open("planes.f32", "wb") as f:
    for k in range(20 * 13):
        (v[k * 7:] + v[:k * 7]).tofile(f)
PY
    holds "compress 264 MiB in three frames" "$csz" compress planes.f32 -t f32 -d 20x13x512x520 -e 1e-3 -o planes.csz
    holds "make a dataset of them within 200 MiB" \
        python3 "$here/support/peak.py" 200 "$csz" decompress planes.csz -o planes.h5:/v --memory-limit 200M
    printf '      %s\n' "$(cat err.txt)"
    "$csz" decompress planes.csz -f -o planes.f32 >out.txt
    holds "and compress that, relative, within 300 MiB" \
        python3 "$here/support/peak.py" 300 "$csz" compress planes.h5:/v -m rel -e 1e-4 --no-metadata --memory-limit 300M -f -o limited.csz
    printf '      %s\n' "$(cat err.txt)"
    holds "compress the same values, raw" "$csz" compress planes.f32 -t f32 -d 20x13x512x520 -m rel -e 1e-4 -o held.csz -f
    holds "the bytes are those" cmp held.csz limited.csz
    holds "a ratio is reached by the same bytes" limited planes.h5:/v 450M -m ratio -e 12
    holds "verify within 450 MiB" python3 "$here/support/peak.py" 450 "$csz" verify planes.h5:/v limited.csz --memory-limit 450M
    # Chunks that both frames of 169 planes share: neither do all stay in memory, nor is one forgotten that is
    # read while another is held.
    if command -v h5repack >/dev/null; then
        "$csz" decompress planes.csz --region 0:13,:,:,: -o part.h5:/v >out.txt
        "$csz" compress part.h5:/v -e 1e-2 -o held.csz -f >out.txt
        for chunk in 13x13x64x130 13x13x512x390; do
            h5repack -l v:CHUNK=$chunk part.h5 shared.h5
            "$csz" compress shared.h5:/v -e 1e-2 --memory-limit 100M -f -o limited.csz 2>err.txt
            need=$(sed -n 's/.*needs \([0-9]*\) MiB of memory.*/\1/p' err.txt)
            holds "chunks of $chunk, cut by frames, within the $need MiB that a refusal names" \
                python3 "$here/support/peak.py" "${need:-0}" "$csz" compress shared.h5:/v -e 1e-2 --memory-limit "${need}M" -f -o limited.csz
            printf '      %s\n' "$(cat err.txt)"
            holds "with the same bytes" cmp held.csz limited.csz
        done
        rm -f part.h5 shared.h5
    fi
    rm -f planes.*
fi

for tool in h5repack h5dump h5diff ncgen nccopy ncdump; do
    if ! command -v $tool >/dev/null; then
        finish "$tool is not installed, so the rest is left out" && exit 77
        exit 1
    fi
done

# ---- netCDF files ------------------------------------------------------------------------------------

cat >schema.cdl <<'CDL'
netcdf schema {
dimensions: y = 100; x = 130; a = 3; b = 4; c = 2; d = 5;
variables:
  double deep(a, b, c, d, b, a);
  float t(y, x); t:_FillValue = 1e20f;
  double p(y, x);
  float be(y, x); be:_Endianness = "big";
  int k(x);
  short packed(x); packed:scale_factor = 0.01f; packed:add_offset = 280.f;
  float m(x); m:missing_value = -999.f;
  float wide(x); wide:missing_value = 1e20;
  float both(x); both:_FillValue = 7.f; both:missing_value = 8.f;
  float nans(x); nans:_FillValue = 1e20f; nans:missing_value = NaNf;
  float alike(x); alike:_FillValue = 1e20f; alike:missing_value = 1e20;
  float text(x); text:missing_value = "none";
  float pair(x); pair:missing_value = 1.f, 2.f;
}
CDL
{
    sed '$d' schema.cdl
    echo 'data:'
    awk 'BEGIN { split("t p be", names, " ")
        for (v = 1; v <= 3; v++) {
            printf("%s = ", names[v])
            for (i = 0; i < 13000; i++) {
                is_missing = v == 1 && i % 130 > 50 && i % 130 < 70
                value = sprintf("%.6g", 280 + 20 * sin(i * 0.003) + cos(i % 130 * 0.1))
                printf("%s%s", i ? (i % 10 ? ", " : ",\n") : "", is_missing ? "_" : value)
            }
            print ";"
        } }'
    echo '}'
} >full.cdl
holds "ncgen writes a netCDF-4 file" ncgen -k nc4 -o run.nc full.cdl
holds "compress a variable" "$csz" compress run.nc:t -m rel -e 1e-3 --fill auto -o t.csz --json
says "its _FillValue is taken" '"fill": 1.00000002004087734e\+20|"fill": 1.0000000200408773e\+20' out.txt
holds "compress a variable without _FillValue" "$csz" compress run.nc:p -e 1e-3 -o p.csz --json
says "netCDF's default is taken" '"fill": 9.96920996838686' out.txt
holds "--fill none takes none" "$csz" compress run.nc:t -e 1e-3 --fill none -o none.csz --json
says "and says so" '"fill": null' out.txt
holds "compress a variable with missing_value alone" "$csz" compress run.nc:m -e 1e-3 -o m.csz --json
says "which is taken" '"fill": -999[,}]' out.txt
holds "compress one whose missing_value is a double" "$csz" compress run.nc:wide -e 1e-3 --fill auto -o wide.csz --json
says "which is taken as the data have it" '"fill": 1.00000002004087734e\+20|"fill": 1.0000000200408773e\+20' out.txt
holds "a missing_value of NaN beside a number" "$csz" compress run.nc:nans -e 1e-3 -o nans.csz --json
says "the number is the fill value" '"fill": 1.0000000200408773' out.txt
refuses 1 'run.nc:both has the _FillValue 7 and the missing_value 8.* with --fill V,' "both, which differ" "$csz" compress run.nc:both -e 1e-3 -o both.csz
holds "unless one is given" "$csz" compress run.nc:both -e 1e-3 --fill 8 -o both.csz --json
says "which is taken, of two" '"fill": 8[,}]' out.txt
holds "compress one whose two are one in its type" "$csz" compress run.nc:alike -e 1e-3 -o alike.csz --json
says "which is taken as the data have it, of two" '"fill": 1.00000002004087734e\+20|"fill": 1.0000000200408773e\+20' out.txt
refuses 1 'missing_value of run.nc:text is not a single number; give .* with --fill V, or --fill none' "a missing_value of text" "$csz" compress run.nc:text -e 1e-3 -o x.csz
refuses 1 'missing_value of run.nc:pair is not a single number; give .* with --fill V, or --fill none' "two of them" "$csz" compress run.nc:pair -e 1e-3 -o x.csz
holds "unless a fill value is given" "$csz" compress run.nc:pair -e 1e-3 --fill 2 -o pair.csz
holds "verify a big-endian variable" "$csz" compress run.nc:be -e 1e-3 --verify -o be.csz
holds "six dims are stored as four, the slowest as one" "$csz" compress run.nc:deep -e 1 -o deep.csz --json
says "which are these" '"dims": .24, 5, 4, 3.' out.txt
says "and noted" '^csz: note: run.nc:deep has 6 dims, of which the archive keeps 24x5x4x3' err.txt
holds "and verify" "$csz" verify run.nc:deep deep.csz
refuses 1 'deep has no range' "cdvals reads them too" "$csz" hdf5 cdvals -m rel -e 1e-3 --of run.nc:deep
refuses 1 '32-bit integers' "integers" "$csz" compress run.nc:k -e 1
refuses 1 'packed into 16-bit integers .*ncpdq -U run.nc' "packed floats, with how to unpack them" "$csz" compress run.nc:packed -e 1
holds "the fill value that a file tells raises no alarm" "$csz" compress run.nc:t -m rel -e 1e-3 -o t2.csz
same_text "nor a note" "" "$(cat err.txt)"
ncdump -v t run.nc | sed '/t:_FillValue/d; s/\<_\>/1e20/g; s/netcdf run/netcdf untold/' >untold.cdl
holds "a file that does not tell it" ncgen -k nc4 -o untold.nc untold.cdl
for words in "" "--fill auto"; do
    # shellcheck disable=SC2086 # words
    refuses 2 'has 1e20 in about 14.*the fill value 9.96921e36 nowhere.*--fill 1e20 if .*--fill none if it is data' "stops, netCDF's default being another $words" \
        "$csz" compress untold.nc:t -m rel -e 1e-3 $words -o t3.csz
done
holds "unless all is data" "$csz" compress untold.nc:t -m rel -e 1e-3 --fill none -o t3.csz
holds "a restored variable goes into the netCDF file" "$csz" decompress t.csz -o run.nc:t_restored
holds "which ncdump reads" ncdump -h run.nc
says "with its fill value" 't_restored:_FillValue = 1.e\+20f' out.txt
same_text "where nothing is replaced, nothing is noted" "" "$("$csz" decompress t.csz -o run.nc:t_other 2>&1 >/dev/null)"
same_text "nor where _FillValue, written anew, was all" "" "$("$csz" decompress t.csz -o run.nc:t_other -f 2>&1 >/dev/null)"
cp run.nc replaced.nc
"$csz" compress run.nc:t -m rel -e 1e-3 --no-metadata -o t_bare.csz >out.txt
holds "a variable is replaced with -f" "$csz" decompress t_bare.csz -o replaced.nc:t -f
same_text "its lost attributes are told in one line" 1 "$(grep -c '^csz: note: the t that was replaced in replaced.nc had attributes' err.txt)"

# ---- Metadata ----------------------------------------------------------------------------------------

cat >meta.cdl <<'CDL'
netcdf meta {
dimensions: time = UNLIMITED; lat = 4; lon = 6;
variables:
  double time(time); time:units = "days since 2000-01-01";
  float plain(time, lat); plain:zone = 1; plain:axis = "Y";
  float lat(lat); lat:units = "degrees_north";
  float T(time, lat, lon); T:units = "K"; T:_FillValue = 1e20f; T:valid_range = 200.f, 320.f; T:flags = 1s, 2s, 3s;
    string T:notes = "first", "", "dritte \xc3\xa4"; T:long_name = "air temperature"; T:one = 5; T:big = 12345678901LL;
    T:odd = 9007199254740993LL; T:ends = -9223372036854775807LL, 9223372036854775807LL; T:most = 18446744073709551615ULL;
    T:a1 = -3b; T:a2 = 200ub; T:a3 = 4000000000u; T:empty = ""; T:missing_value = 1e20f;
data: time = 1, 2; lat = 10, 20, 30, 40;
  T = 250, 251, 252, 253, 254, 255, 250, 251, 252, 253, 254, 255, 250, 251, 252, 253, 254, 255, 250, 251, 252, 253, 254, 255,
      250, 251, 252, 253, 254, 255, 250, 251, 252, 253, 254, _, 250, 251, 252, 253, 254, 255, 250, 251, 252, 253, 254, 255;
}
CDL
variable() { ncdump -h "$1" | grep -aE "^[[:space:]]+(string )?T[(:]|float T|time = "; } # FILE: what ncdump says of T and its growing dim
holds "ncgen writes attributes of every type" ncgen -k nc4 -o meta.nc meta.cdl
holds "compress keeps them" "$csz" compress meta.nc:T -e 0.25 -o meta.csz
holds "csz info shows them" "$csz" info meta.csz
says "with the name" '^name +T$' out.txt
says "the dims" '^names of dims +time, lat, lon$' out.txt
says "text" '^  units +K$' out.txt
says "numbers" '^  valid_range +200, 320$' out.txt
says "large ones" '^  big +12345678901$' out.txt
"$csz" info meta.csz --json >meta.json
holds "and as JSON" python3 -c "
import json
d = json.load(open('meta.json'))
assert d['name'] == 'T' and d['dim_names'] == ['time', 'lat', 'lon']
a = d['attributes']
assert a['units'] == 'K' and a['flags'] == [1, 2, 3] and a['a1'] == -3 and a['a3'] == 4000000000 and a['empty'] == ''
assert a['odd'] == 2**53 + 1 and a['ends'] == [1 - 2**63, 2**63 - 1] and a['most'] == 2**64 - 1 and a['valid_range'] == [200, 320]
assert a['notes'][:2] == ['first', ''] and a['_FillValue'] > 0.99e20 and a['_Unlimited'] == ['time']"
holds "decompress writes them into a netCDF file" "$csz" decompress meta.csz -o meta2.nc:T
same_text "as they were and in their order, with the dims, of which one can grow" "$(variable meta.nc)" "$(variable meta2.nc)"
"$csz" compress meta.nc:plain -e 0.25 -f -o plain.csz >out.txt
"$csz" decompress plain.csz -f -o plain.nc:plain >out.txt
same_text "a variable without _FillValue stays so" "$(ncdump -h meta.nc | grep 'plain[(:]')" "$(ncdump -h plain.nc | grep 'plain[(:]')"
holds "more can be appended to the new file" bash -c "[ -z \"\$(command -v ncrcat)\" ] || ncrcat -O meta2.nc meta2.nc twice.nc"
holds "the same from a pipe" bash -c "cat meta.csz | '$csz' decompress - -o meta3.nc:T"
same_text "to the last attribute" "$(variable meta.nc)" "$(variable meta3.nc)"
"$csz" compress meta.nc:lat -e 1e-3 -o lat.csz >out.txt
holds "coordinates take the place of a dim without any" "$csz" decompress lat.csz -o meta2.nc:lat -f
holds "which stays the dim of the variable" bash -c "h5dump -a /T/DIMENSION_LIST meta2.nc | grep -q 'DATASET [0-9]* \"/lat\"'"
holds "and keeps its attributes" bash -c "ncdump -h meta2.nc | grep -q 'lat:units = \"degrees_north\"'"
if command -v ncks >/dev/null; then holds "ncks reads them" ncks -O -v T -d lat,1,2 meta2.nc meta4.nc; fi

holds "a variable in a new file" "$csz" decompress meta.csz -o bare.nc:T
refuses 1 'lat is a dimension without values in bare.nc; give -f' "a dim without values is told from a dataset" "$csz" decompress lat.csz -o bare.nc:lat

# Dims of the groups around a variable's.
cat >scopes.cdl <<'CDL'
netcdf scopes {
dimensions: lat = 3; lon = 4; time = UNLIMITED;
variables: float lat(lat); float lon(lon); double time(time);
data: lat = 1, 2, 3; lon = 1, 2, 3, 4; time = 1, 2;
group: g {
  variables: float T(time, lat, lon);
  data: T = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12;
  group: h {
    dimensions: lon = 2;
    variables: float U(lat, lon); float lat(lat, lon);
    data: U = 1, 2, 3, 4, 5, 6; lat = 1, 2, 3, 4, 5, 6;
  }
}
}
CDL
holds "a file whose groups inherit dims" ncgen -k nc4 -o scopes.nc scopes.cdl
for name in lat lon time g/T g/h/U g/h/lat; do
    "$csz" compress "scopes.nc:/$name" -m exact -f -q -o scope.csz && "$csz" decompress scope.csz -q -o "scopes2.nc:/$name"
done
same_text "comes back with these dims" "$(ncdump scopes.nc | sed 1d | sort)" "$(ncdump scopes2.nc | sed 1d | sort)"
"$csz" compress scopes.nc:g/T -m exact -f -q -o scope.csz
holds "a region of a variable" "$csz" decompress scope.csz -o scopes2.nc:g/part --region :,0:2,:
same_text "nothing is noted" "" "$(cat err.txt)"
same_text "its group has a dim of that length, and inherits the others" "lat = 3 lon = 4 lat = 2 part(time, lat, lon) lon = 2" \
    "$(ncdump -h scopes2.nc | sed -n 's/^.*\(l[ao][tn] = [0-9]\|part(.*)\).*$/\1/p' | tr '\n' ' ' | sed 's/ $//')"

# More than an archive's metadata holds, and than HDF5 puts into an object's header.
python3 -c "
print('netcdf large { dimensions: x = 40 ; y = 50 ; variables: float T(x, y) ; T:units = \"K\" ;')
print('T:history = \"' + 700000 * 'h' + '\" ; T:log = \"' + 600000 * 'l' + '\" ; T:last = 7 ; data: T =', ', '.join(str(i % 97) for i in range(2000)), '; }')" >large.cdl
holds "attributes of more than 1 MiB in all" ncgen -k nc4 -o large.nc large.cdl
holds "compress keeps those that fit" "$csz" compress large.nc:T -e 0.25 -o large.csz
same_text "and names the others in a line" "csz: note: 1 attribute of large.nc:T left out (history): of another type than text and numbers, or more than metadata holds, 1 MiB and 1024 attributes" "$(cat err.txt)"
refuses 1 '^csz: large.nc:T cannot be brought to 500.0 kB: an archive found has 60[0-9.]+ kB, of which its name, dims and attributes take 600[.][0-9] kB; give --no-metadata' \
    "a size below that of the attributes" "$csz" compress large.nc:T --size 500kB -q -o size.csz
holds "without them it is reached" "$csz" compress large.nc:T --size 4kB --no-metadata -o size.csz
holds "restored under the archive's name" bash -c "mkdir bare && cp large.csz bare && '$csz' decompress bare/large.csz"
says "attributes are left out with a note" '^csz: note: the name, dims and attributes that bare/large.csz has of its field are left out; give -o FILE.nc:NAME' err.txt
cp large.csz bare/other.csz
"$csz" compress large.nc:T -e 0.25 --no-metadata -q -o bare/plain.csz
holds "restored among several" "$csz" decompress bare/large.csz bare/other.csz bare/plain.csz -o bare/out/
says "one note counts them" '^csz: note: fields were restored without the names, dims and attributes that 2 of the archives have of them; restore each with -o FILE.nc:NAME' err.txt
holds "restored under a name that is given" "$csz" decompress large.csz -o large.f32
same_text "they go without a note" "" "$(cat err.txt)"
holds "what fits" bash -c "'$csz' info large.csz --json | python3 -c '
import json, sys
a = json.load(sys.stdin)[\"attributes\"]
assert a == {\"units\": \"K\", \"log\": 600000 * \"l\", \"last\": 7}'"
holds "goes into a new file, more than 64 KiB of it" "$csz" decompress large.csz -o large2.nc:T
holds "and into an old one" "$csz" decompress large.csz -o large.nc:again
for name in large2.nc:T large.nc:again; do
    same_text "ncdump reads it, $name" 600000 "$(ncdump -h "${name%:*}" | grep "${name#*:}:log" | tr -cd l | sed s/^l// | wc -c)"
done

# Six dims, of which an archive makes four.
python3 -c "
print('netcdf five { dimensions: time = UNLIMITED ; member = 3 ; z = 1 ; y = 4 ; x = 5 ; w = 2 ; variables: float T(time, member, z, y, x, w) ; T:units = \"K\" ;')
print('data: T =', ', '.join(map(str, range(240))), '; }')" >five.cdl
holds "a variable of six dims" ncgen -k nc4 -o five.nc five.cdl
holds "is compressed" "$csz" compress five.nc:T -m exact -o five.csz
holds "csz info shows its dims" bash -c "'$csz' info five.csz | grep -qE '_Dimensions +2 time, 3 member, 1 z, 4 y, 5 x, 2 w$'"
holds "and restored" "$csz" decompress five.csz -o five2.nc:T
same_text "with all that it had" "$(ncdump five.nc | sed 1d | sort)" "$(ncdump five2.nc | sed 1d | sort)"
holds "a region of it" "$csz" decompress five.csz -o part.nc:T --region 0:3,:,:,:
same_text "has the archive's four dims" 3,4,5,2 "$(h5dump -H -d T part.nc | grep -oE 'SIMPLE \{ \([^)]*' | tr -cd '0-9,')"

# None, which an archive makes one.
printf 'netcdf scalar { dimensions: one = 1 ; variables: float T ; T:units = "K" ; T:_FillValue = -9.f ; double p ; float one(one) ; data: T = 280.5 ; p = 2 ; one = 1 ; }' >scalar.cdl
holds "a scalar variable" ncgen -k nc4 -o scalar.nc scalar.cdl
for name in T p one; do
    holds "$name is compressed" "$csz" compress "scalar.nc:$name" -m exact -o "scalar_$name.csz"
    holds "and restored" "$csz" decompress "scalar_$name.csz" -o "scalar2.nc:$name"
done
same_text "with as many dims as it had" "$(ncdump scalar.nc | sed 1d | sort)" "$(ncdump scalar2.nc | sed 1d | sort)"
holds "csz info tells it" bash -c "'$csz' info scalar_T.csz | grep -qE '^ *_Dimensions *$'"
holds "as a raw file it is one value" "$csz" decompress scalar_T.csz -o scalar.f32
same_text "of 4 bytes" 4 "$(wc -c <scalar.f32)"
printf 'netcdf used { dimensions: one = 1 ; variables: float one(one) ; float u(one) ; data: one = 1 ; u = 3 ; }' >used.cdl
holds "a file whose dim is used" ncgen -k nc4 -o used.nc used.cdl
refuses 1 'one is a dimension of others in used.nc, of length 1, and is kept' "is no place for a scalar" "$csz" decompress scalar_T.csz -f -o used.nc:one

# Dims that the file has already: those of equal length are taken, of others the name is left alone, and what
# was there stays readable.
cat >grown.cdl <<'CDL'
netcdf grown {
dimensions: time = UNLIMITED; y = 4; x = 5; w = 5; z = 3;
variables: float b(time, y, x); float s(z, z, x); float y(y); float lone(w);
data: b = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20; y = 1, 2, 3, 4;
}
CDL
holds "a file with a growing dim that has no coordinates" ncgen -k nc4 -o grown.nc grown.cdl
for name in b s y lone; do "$csz" compress "grown.nc:$name" -e 1e-3 -o "grown_$name.csz" >out.txt; done
declared() { ncdump "$1" >dump.txt && sed -n "s/^.*float $2(\(.*\)) ;/\1/p" dump.txt; } # FILE VARIABLE: its dims, where the whole file can be read
older() { ncdump -v b,s,lone grown.nc | sed -n '/^data:/,$p'; }
before=$(older)
holds "a variable beside the one of its dims" "$csz" decompress grown_b.csz -o grown.nc:b2
same_text "nothing is noted" "" "$(cat err.txt)"
same_text "it has the growing dim, too" "time, y, x" "$(declared grown.nc b2)"
cp grown.nc alone.nc
holds "all variables of that dim" "$csz" decompress grown_b.csz -f -o alone.nc:b
holds "are replaced" "$csz" decompress grown_b.csz -f -o alone.nc:b2
same_text "and keep it" "time, y, x time, y, x" "$(declared alone.nc b) $(declared alone.nc b2)"
same_text "which has its length" 1 "$(grep -c 'time = UNLIMITED ; // (2 currently)' dump.txt)"
holds "a shorter one in the place of one" "$csz" decompress grown_b.csz -f -o alone.nc:b2 --region 0:1,:,:
same_text "has another dim while one is longer" "time, y, x time_2, y, x" "$(declared alone.nc b) $(declared alone.nc b2)"
holds "a region beside the whole" "$csz" decompress grown_b.csz -o grown.nc:part --region :,0:2,1:3
same_text "its names are noted once" 1 "$(grep -c '^csz: note: the dims of part are named time, y_2, x_2, as the file has' err.txt)"
same_text "it has dims of its own lengths" "time, y_2, x_2" "$(declared grown.nc part)"
holds "another one" "$csz" decompress grown_b.csz -o grown.nc:part2 --region :,2:4,1:3
same_text "takes the same" "time, y_2, x_2" "$(declared grown.nc part2)"
holds "a part with a dim twice" "$csz" decompress grown_s.csz -o twice.nc:s --region 0:2,:,:
same_text "has two" "z, z_2, x" "$(declared twice.nc s)"
holds "the whole of it" "$csz" decompress grown_s.csz -o twice.nc:whole
same_text "has one" "z_2, z_2, x" "$(declared twice.nc whole)"
for name in x y; do
    holds "a dataset named as its dim $name" "$csz" decompress grown_b.csz -o "own_$name.h5:$name"
    same_text "has another name for it" "$(sed "s/$name/${name}_2/" <<<"time, y, x")" "$(declared "own_$name.h5" "$name")"
done
cp grown.nc kept.nc
refuses 1 'x is a dimension of others in grown.nc, of length 5, and is kept' "other values in the place of a dim" "$csz" decompress grown_b.csz -f -o grown.nc:x
refuses 1 'y is a dimension of others in grown.nc, of length 4, and is kept' "fewer coordinates" "$csz" decompress grown_y.csz -f -o grown.nc:y --region 0:3
holds "leave the file as it was" cmp grown.nc kept.nc
holds "coordinates are replaced" "$csz" decompress grown_y.csz -f -o grown.nc:y
same_text "and stay those of the variables" "y time, y, x" "$(declared grown.nc y) $(declared grown.nc b)"
holds "other values of their length take the place of a dim" "$csz" decompress grown_lone.csz -f -o grown.nc:x
same_text "and are it" "x time, y, x" "$(declared grown.nc x) $(declared grown.nc b)"
same_text "what was there is as it was" "$before" "$(older)"

"$csz" compress meta.nc:T -e 0.25 --no-metadata -o bare.csz >out.txt
"$csz" decompress meta.csz -o with.raw -q
"$csz" decompress bare.csz -o without.raw -q
holds "--no-metadata leaves them out, and nothing else" cmp with.raw without.raw
same_text "of the archive" null "$("$csz" info bare.csz --json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["name"]))')"
printf x | dd of=meta.csz bs=1 seek=$(($(wc -c <meta.csz) - 30)) conv=notrunc 2>/dev/null
refuses 1 'damaged' "damaged attributes" "$csz" test meta.csz
refuses 1 'damaged' "in a pipe too" bash -c "cat meta.csz | '$csz' test -"
holds "nccopy writes a classic file" nccopy -k classic -V t,p,be,k run.nc classic.nc
refuses 1 'nccopy -k nc4' "a classic file" "$csz" compress classic.nc:t -e 1

# Chunks across the slow dims, larger than HDF5's cache: read whole, not element by element.
python3 - <<'PY' || exit 2
import array
array.array("f", range(640 * 512 * 4)).tofile(open("slabs.f32", "wb"))
PY
holds "a dataset" "$csz" compress slabs.f32 -t f32 -d 640x512x4 -e 1e-3 -o slabs.csz
holds "in one piece" "$csz" decompress slabs.csz -o slabs.h5:/a
holds "is cut into slabs" h5repack -l a:CHUNK=640x512x1 slabs.h5 cut_slabs.h5
cat >reads.py <<'PY'
import os, sys
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
n = int(next(line for line in open("/proc/%d/io" % pid) if line.startswith("syscr:")).split()[1])
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(n, "reads", file=sys.stderr)
sys.exit(status if status else n > int(sys.argv[1]))
PY
holds "slabs are read in few steps" python3 reads.py 2000 "$csz" compare slabs.f32 cut_slabs.h5:/a --bound 1e-3

# ---- The filter in the tools ---------------------------------------------------------------------------

if [[ $plugins == none || -n $sanitizers ]]; then
    finish "the plugin in other programs is left out here"
    exit
fi
export HDF5_PLUGIN_PATH=$plugins
ud() { "$csz" hdf5 cdvals "$@" | sed -n 's/.*VAR:\(UD=[0-9,]*\) .*/\1/p'; }
nc() { "$csz" hdf5 cdvals "$@" | sed -n 's/.*VAR,\([0-9,]*\) .*/\1/p'; }

same_text "the plugin exports what HDF5 and NCZarr look for and no more" "H5PLget_plugin_info H5PLget_plugin_type NCZ_get_codec_info" \
    "$(nm -D --defined-only "$plugins/libh5csz.so" | awk '{print $3}' | sort | xargs)"
same_text "the plugin links no HDF5" "" "$(readelf -d "$plugins/libh5csz.so" | grep NEEDED | grep -i hdf5)"
same_text "the plugin asks for no H5 symbol" "" "$(nm -D -u "$plugins/libh5csz.so" | grep ' H5')"

if command -v h5cc >/dev/null; then
    holds "the example's line compiles it" h5cc -shlib "$here/../examples/hdf5_writer.c" -I"$here/../plugins/hdf5" -I"$here/../include" -lm -o hdf5_writer
    holds "and it writes through the plugin" ./hdf5_writer written.h5
    says "within the bound" 'largest error .* of 0.001 allowed' out.txt
fi

holds "h5repack writes it" h5repack -l run/wave:CHUNK=16x32x32 -f "run/wave:$(ud -e 1e-3)" data.h5 packed.h5
holds "h5diff finds the bound kept" h5diff -d 0.001 data.h5 packed.h5 /run/wave /run/wave
fails "h5diff finds a smaller one broken" h5diff -d 0.00001 data.h5 packed.h5 /run/wave /run/wave
holds "h5dump reads it" h5dump -p -d /run/wave -s 0,0,0 -c 1,1,4 packed.h5
says "h5dump names it" 'csz: error-bounded' out.txt
says "h5dump shows its words" 'PARAMS \{ 0 -755914244 1062232653' out.txt
holds "csz reads it without the plugin" env -u HDF5_PLUGIN_PATH "$csz" compare data.h5:/run/wave packed.h5:/run/wave --bound 1e-3
holds "h5repack again, other chunks, same settings" h5repack -l run/wave:CHUNK=10x40x50 packed.h5 again.h5
holds "the words follow the chunks" h5dump -pH -d /run/wave again.h5
says "dims 10x40x50 in the words" 'PARAMS \{ 0 -755914244 1062232653 0 0 0 0 16777219 0 0 10 0 40 0 50 0 \}' out.txt
# The predictor, by each tool; what a chunk holds is an archive of pyramids.
chunk_predictor() { # FILE: of the first chunk, whose archive ends where the next begins or behind all
    python3 -c 'import sys
bytes = open(sys.argv[1], "rb").read()
print(bytes[bytes.index(b"CSZ+") + 12])' "$1"
}
holds "h5repack writes pyramids" h5repack -l run/wave:CHUNK=30x40x50 -f "run/wave:$(ud -e 1e-3 -p pyramid)" data.h5 pyramid.h5
same_text "as archives of them" 1 "$(chunk_predictor pyramid.h5)"
holds "h5diff finds their bound kept" h5diff -d 0.001 data.h5 pyramid.h5 /run/wave /run/wave
holds "csz reads them without the plugin" env -u HDF5_PLUGIN_PATH "$csz" compare data.h5:/run/wave pyramid.h5:/run/wave --bound 1e-3
holds "h5repack keeps the predictor" h5repack -l run/wave:CHUNK=16x40x50 pyramid.h5 again.h5
same_text "in other chunks" 1 "$(chunk_predictor again.h5)"
holds "nccopy writes pyramids" nccopy -c y/64,x/64 -F "t,$(nc -e 1e-3 -p auto --fill 1e20)" run.nc pyramid.nc
says "with the predictor in word 3" 't:_Filter = "411,0,3539053052,1062232653,512' <(ncdump -hs pyramid.nc)
same_text "as archives that may be such" 1 "$(chunk_predictor pyramid.nc)"
holds "the bound is kept there" "$csz" compare run.nc:t pyramid.nc:t --bound 1e-3 --fill 1e20
holds "h5repack takes it off" h5repack -f run/wave:NONE packed.h5 plain.h5
holds "what it held stays" h5diff packed.h5 plain.h5 /run/wave /run/wave
holds "h5repack falls back where settings are refused" h5repack -v -l run/wave:CHUNK=16x32x32 -f run/wave:UD=411,0,3,9,0,0 data.h5 wrong.h5
says "and warns" 'could not create dataset' out.txt

holds "nccopy writes it" nccopy -c y/64,x/64 -F "t,$(nc -m rel -e 1e-3 --of run.nc:t)" run.nc packed.nc
holds "ncdump shows it" ncdump -hs packed.nc
says "as _Filter" 't:_Filter = "411,0,' out.txt
holds "the whole variable's relative bound holds" "$csz" compare run.nc:t packed.nc:t --bound \
    "$("$csz" hdf5 cdvals -m rel -e 1e-3 --of run.nc:t --json | sed 's/.*"bound": \([^,]*\),.*/\1/')"
holds "nccopy again, other chunks" nccopy -c y/50,x/130 packed.nc again.nc
holds "ncdump reads that" ncdump -v t again.nc
fails "nccopy on an integer variable fails" nccopy -c x/13 -F "k,$(nc -e 1e-3)" run.nc wrong.nc
holds "unless it is made optional" nccopy -c x/13 -F "k,$(nc -e 1e-3 --optional)" run.nc optional.nc
sed 's/double p(y, x);/double p(y, x); p:_Storage = "chunked"; p:_ChunkSizes = 64, 64; p:_Filter = "'"411,$(nc -e 1e-4 | cut -d, -f2-)"'";/' full.cdl >filtered.cdl
holds "CDL asks for it" ncgen -k nc4 -o cdl.nc filtered.cdl
holds "and the bound is kept" "$csz" compare run.nc:p cdl.nc:p --bound 1e-4
says "the CDL took" 'p:_Filter = "411,' <(ncdump -hs cdl.nc)

# NCO gives the filter to variables behind a compressed one without its settings; ncpdq packs floats into
# integers under them.  What an operator makes of a compressed file is what it makes of the same values
# uncompressed: of compressed variables within their bound once more, of all others bit for bit.
cat >nco.cdl <<'CDL'
netcdf nco {
dimensions: time = UNLIMITED; lat = 30; lon = 50;
variables: double time(time); double lat(lat); float lon(lon); int k(lat, lon); float t(time, lat, lon); t:_FillValue = 1e20f;
  short u(time, lat, lon); double w(time, lat);
CDL
awk 'BEGIN { CONVFMT = "%.15g"; print "data:"; series("time", 4, "12.0001"); series("lat", 30, "5.9123456789"); series("lon", 50, "7.123"); series("k", 1500, 7); series("t", 6000, 0)
        series("u", 6000, 5); series("w", 120, "0.1"); print "}" }
    function series(name, n, step, i) {
        printf("%s = ", name)
        for (i = 0; i < n; i++)
            printf("%s%s", i ? "," : "", step ? i * step % 30000 : i % 50 < 4 ? "_" : sprintf("%.7g", 280 + 20 * sin(i * 0.003) + cos(i % 50 * 0.1)))
        print ";"
    }' >>nco.cdl
left_out=
nco_bound=0.001
exactly() { for variable in ${1//,/ }; do ncdump -p 9,17 -v "$variable" "$2" | sed -n "/^ $variable =/,\$p"; done; }
if command -v ncks >/dev/null; then
    holds "a file for NCO" ncgen -k nc4 -o nco.nc nco.cdl
    holds "with one variable compressed" nccopy -c time/1,lat/30,lon/50 -F "t,$(nc -e $nco_bound --of nco.nc:t)" nco.nc nco_packed.nc
    holds "and the same values uncompressed" ncks -O -3 nco_packed.nc nco_classic.nc
    holds "in netCDF-4" nccopy -k nc4 nco_classic.nc nco_plain.nc
    while read -r others operator; do
        read -ra command <<<"$operator"
        inputs=("nco_packed.nc") plains=("nco_plain.nc")
        case $operator in ncea* | ncrcat* | ncflint* | ncbo*) inputs+=("nco_packed.nc") plains+=("nco_plain.nc") ;; esac
        holds "$operator on compressed files" "${command[@]}" -O "${inputs[@]}" made.nc
        holds "$operator on the same values" "${command[@]}" -O "${plains[@]}" wanted.nc
        holds "$operator: the bound is kept" "$csz" compare wanted.nc:t made.nc:t --bound $nco_bound
        says "$operator: compressed variables stay so" 't:_Filter = "411,0,' <(ncdump -hs made.nc)
        same_text "$operator: all others are exact" "$(exactly "$others" wanted.nc)" "$(exactly "$others" made.nc)"
        says "$operator: and the filter was given to one" 'u:_Filter = "411,512,' <(ncdump -hs made.nc)
    done <<'OPERATORS'
time,lat,lon,k,u,w ncks
time,lat,lon,k,u,w ncea
time,lat,lon,k,u,w ncbo --op_typ=add
time,lat,lon,k,u,w ncpdq -a lat,time
time,lat,lon,k,u,w,t2 ncap2 -s t2=t*2.5
lat,lon,k,u,w ncwa -a time
time,lat,lon,k,u,w ncrcat
time,lat,lon,k,u,w ncra
OPERATORS
    holds "ncks on what ncks wrote" ncks -O made.nc again.nc
    same_text "is exact where there is no bound" "$(exactly time,lat,lon,k,u,w made.nc)" "$(exactly time,lat,lon,k,u,w again.nc)"
    holds "nccopy on what NCO wrote" nccopy made.nc again.nc
    same_text "is so, too" "$(exactly time,lat,lon,k,u,w made.nc)" "$(exactly time,lat,lon,k,u,w again.nc)"
    holds "ncpdq packs a compressed variable into integers" ncpdq -O -P all_new nco_packed.nc made.nc
    holds "and an uncompressed one" ncpdq -O -P all_new nco_plain.nc wanted.nc
    same_text "to the same integers" "$(exactly t,k,w wanted.nc)" "$(exactly t,k,w made.nc)"
    holds "nccopy gives the filter without settings" nccopy -F t,411 nco_plain.nc made.nc
    says "to floats" 't:_Filter = "411,512,' <(ncdump -hs made.nc)
    holds "which csz reads exactly" "$csz" compare nco_plain.nc:t made.nc:t --bound 0
else
    left_out="NCO is not installed, so its part is left out"
fi
if command -v cdo >/dev/null && [[ -e nco_packed.nc ]]; then
    for operator in copy timmean fldmean; do
        holds "cdo $operator on a compressed file" cdo -s -O $operator nco_packed.nc made.nc
        holds "cdo $operator on the same values" cdo -s -O $operator nco_plain.nc wanted.nc
        same_text "cdo $operator: the same" "$(exactly t,u,w wanted.nc)" "$(exactly t,u,w made.nc)"
    done
else
    left_out="${left_out:+$left_out; }CDO or NCO is not installed, so CDO's part is left out"
fi

# Bytes flipped in a stored chunk: every reader must say so.
python3 - packed.h5 bad.h5 <<'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.find(b"\x43\x53\x5a", 2000)  # an archive's first bytes, CSZ
at = at if at > 0 else len(b) // 2
b[at + 400] ^= 0x10
open(sys.argv[2], "wb").write(b)
PY
fails "h5dump fails on a damaged chunk" h5dump -d /run/wave -o bad.txt bad.h5
refuses 1 'cannot be read' "csz refuses a damaged chunk" "$csz" compress bad.h5:/run/wave -e 1 -o bad.csz
# Settings that describe smaller chunks than the layout has: HDF5 would read beyond them.
python3 - packed.h5 forged.h5 <<'PY'
import struct, sys
b = open(sys.argv[1], "rb").read()
head = struct.pack("<IIIIII", 16777219, 0, 0, 16, 0, 32)
assert b.count(head) == 1
open(sys.argv[2], "wb").write(b.replace(head, struct.pack("<IIIIII", 16777219, 0, 0, 16, 0, 16)))
PY
refuses 1 'another size' "csz refuses settings that do not fit the layout" "$csz" compress forged.h5:/run/wave -e 1 -o bad.csz
same_text "no temporary is left behind" "" "$(find . -name '.*' -type f)"

finish "$left_out"
