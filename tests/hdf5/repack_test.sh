#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# repack_test.sh CSZ PLUGIN_FOLDER [SANITIZERS]: csz hdf5 repack with the tools that people use.  Prints one
# line per property and exits 1 if any does not hold; 77 where HDF5, netCDF's tools or the plugin are
# missing.  Tools read the plugin, which they cannot load where it is built with sanitizers: then what csz
# itself says is tested.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: repack_test.sh CSZ PLUGIN_FOLDER [SANITIZERS]}") || exit 2
plugins=$2
sanitizers=${3-}
here=$(cd "$(dirname "$0")/.." && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_repack_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C
# shellcheck source=tests/support/properties.sh
. "$here/support/properties.sh"

for tool in ncgen ncdump h5diff h5dump h5ls; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
[[ $plugins != none ]] && "$csz" --version | grep -q '^hdf5 yes' || { echo "csz has no HDF5 here"; exit 77; }
reads=1
[[ -z $sanitizers ]] || reads=0
export HDF5_PLUGIN_PATH=$plugins
((reads)) || HDF5_PLUGIN_PATH=$work/none

python3 - <<'PY' >in.cdl
import math
print("""netcdf in {
types: byte enum kind { a = 0, b = 1 } ; compound point { float x ; int y ; } ;
dimensions: time = UNLIMITED ; lat = 40 ; lon = 60 ; nv = 2 ; s = 5 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:bounds = "time_bnds" ;
  double time_bnds(time, nv) ;
  double lat_bnds(lat, lon) ;
  float lat(lat) ; lat:units = "degrees_north" ; lat:bounds = "lat_bnds" ;
  float lon(lon) ;
  double lat2(lat, lon) ;
  float T(time, lat, lon) ; T:units = "K" ; T:_FillValue = 1.e20f ; T:coordinates = "lat2" ;
    T:_ChunkSizes = 1, 40, 60 ; T:_DeflateLevel = 4 ; T:_Fletcher32 = "true" ;
  double p(time, lat, lon) ; string p:note = "x", "y" ; point p:where = {1.5, 3} ;
  int count(time) ; char name(s) ; kind k(time) ; string label(time) ; point q(time) ; float scalar ; float few(s) ;
  float big(time, lat, lon) ; big:_Endianness = "big" ;
:title = "test" ;
data: time = 1, 2, 3, 4 ; time_bnds = 0, 1, 1, 2, 2, 3, 3, 4 ; count = 4, 5, 6, 7 ; name = "abcde" ; k = a, b, a, b ;
  label = "one", "two", "three", "four" ; q = {1, 2}, {3, 4}, {5, 6}, {7, 8} ; scalar = 4 ; few = 1, 2, 3, 4, 5 ;""")
def show(name, values):
    print(name, "=", ", ".join(values), ";")
show("lat", [str(i * 1.5) for i in range(40)])
show("lon", [str(i * 3.1) for i in range(60)])
show("lat2", [str(i * 0.1) for i in range(2400)])
show("lat_bnds", [str(i * 0.2) for i in range(2400)])
for name, scale in (("T", 280), ("p", 1e5), ("big", 3)):
    show(name, ["_" if name == "T" and i % 60 < 9 else "%.7g" % (scale * (1 + 0.05 * math.sin(i * 0.003) + 0.01 * math.cos(i % 60 * 0.1)))
                for i in range(9600)])
print("group: g { dimensions: z = 30 ; variables: float z(z) ; double u(time, z, lat) ; u:units = \"m\" ; :attribute = 3 ; data:")
show("z", [str(i) for i in range(30)])
show("u", ["%.7g" % math.sin(i * 0.01) for i in range(4800)])
print("} }")
PY
holds "a netCDF-4 file with all that it can have" ncgen -k nc4 -o in.nc in.cdl

holds "repack" "$csz" hdf5 repack in.nc out.nc -m rel -e 1e-3 --var p=0.5abs --skip big
cp out.txt table.txt
says "checksums of HDF5 that archives do without are noted" '^csz: note: the Fletcher32 checksums of /T are left out; what the filter writes has its own$' err.txt
says "a relative bound over the variable" '^/g/u +4x30x40 +0.001 rel = 0.002 +[0-9.]+ +0.00' table.txt
says "the bound that --var gives" '^/p +4x40x60 +0.5 abs +[0-9.]+ +0.' table.txt
says "coordinates stay as they are" '^/lat +40 +as it is: coordinates' table.txt
says "auxiliary ones too" '^/lat2 +40x60 +as it is: coordinates' table.txt
says "and bounds" '^/lat_bnds +40x60 +as it is: bounds of coordinates' table.txt
says "integers" '^/count +4 +as it is: integers' table.txt
says "what is skipped" '^/big +4x40x60 +as it is: skipped' table.txt
says "the files' sizes" '^in.nc -> out.nc: .*ratio [0-9.]+$' table.txt
holds "repack with a bound beyond what a variable spans" "$csz" hdf5 repack in.nc coarse.nc -m rel -e 1e-3 --var p=1e6abs
says "notes it" '^csz: note: the bound of /p is 1e\+06, and its values span ' err.txt
python3 -c '
import array
values = array.array("f", (260 + i % 1000 / 25 for i in range(100000)))
values[0], values[1] = 1e20, 2e20
values.tofile(open("two.f32", "wb"))'
"$csz" compress two.f32 -d 100x1000 -m exact -o two.csz >out.txt && "$csz" decompress two.csz -o two.nc:t >out.txt
holds "repack with numbers far outside" "$csz" hdf5 repack two.nc two2.nc -m rel -e 1e-3
says "notes what is lost beside them" '^csz: note: the bound, -m rel -e 0.001, is 2e.17, but most values of /t span 39.96 .*give --fill /t=2e20 if' err.txt
python3 -c '
import array
values = array.array("f", (i % 1000 / 25 for i in range(100000)))
values[3000:19000] = array.array("f", [-9999]) * 16000
values.tofile(open("missing.f32", "wb"))'
"$csz" compress missing.f32 -d 100x1000 -m exact -o missing.csz >out.txt && "$csz" decompress missing.csz -o missing.nc:t >out.txt
for bound in '-m pwr' '-m abs' '-m pwr --dry-run' '-m abs --dry-run'; do
    # shellcheck disable=SC2086 # several options
    holds "repack with an undeclared fill value, $bound" "$csz" hdf5 repack missing.nc missing2.nc -f -e 1e-3 $bound
    says "notes it" '^csz: note: /t has -9999 in about 1[0-9.]+% of its values, .*; give --fill /t=-9999 if it marks' err.txt
done
for fill in t=-9999 t=none; do
    holds "repack with --fill $fill" "$csz" hdf5 repack missing.nc missing2.nc -f -e 1e-3 -m pwr --fill $fill
    same_text "has no note" "" "$(cat err.txt)"
done
if ((reads)); then
    ncdump -h in.nc | sed 1d >wanted.txt
    ncdump -h out.nc | sed 1d >found.txt
    holds "ncdump shows the same dims, variables, attributes, types and groups" cmp wanted.txt found.txt
    others=time,time_bnds,lat,lat_bnds,lon,lat2,count,name,k,label,q,scalar,few,big,/g/z
    ncdump -v $others in.nc | sed 1d >wanted.txt
    ncdump -v $others out.nc | sed 1d >found.txt
    holds "and the same values of what is not compressed" cmp wanted.txt found.txt
fi
for v in time lat lon lat2 lat_bnds time_bnds count big g/z; do
    holds "h5diff agrees on $v" bash -c "! h5diff in.nc out.nc $v $v | grep -q 'dataset:'"
done
holds "chunks are kept" bash -c "h5dump -pH -d T out.nc | grep -q 'CHUNKED ( 1, 40, 60 )'"
holds "the filter is set" bash -c "h5dump -pH -d T out.nc | grep -q 'USER_DEFINED_FILTER\\|FILTER_ID 411'"
same_text "dims are dimension scales of the new file" '"/time""/lat""/lon"' \
    "$(h5dump -a /T/DIMENSION_LIST out.nc | grep -oE '"/[a-z]+"' | tr -d '\n')"
holds "which know their variables" bash -c "h5dump -a /lon/REFERENCE_LIST out.nc | grep -q '\"/T\"'"
if ((reads)); then
    holds "h5diff finds the bound kept" h5diff -d 0.5000001 in.nc out.nc /p /p
    fails "and no tighter one" h5diff -d 0.3 in.nc out.nc /p /p
    holds "h5diff of a group's variable" h5diff -d 0.0020001 in.nc out.nc /g/u /g/u
    if command -v cdo >/dev/null; then holds "cdo reads it" cdo -s -O timmean -selname,T out.nc mean.nc; fi
    if command -v ncks >/dev/null; then holds "ncks reads it" ncks -O -C -v T,time,lat,lon -d lat,3,9 out.nc part.nc; fi
    if command -v nccopy >/dev/null; then holds "nccopy undoes it" nccopy -F none out.nc plain.nc; fi
fi
"$csz" hdf5 repack in.nc out2.nc -m rel -e 1e-3 --var p=0.5abs --skip big --json >report.json
holds "JSON says it too" python3 -c "
import json
d = json.load(open('report.json'))
v = {x['name']: x for x in d['variables']}
assert v['/p']['bound_abs'] == 0.5 and v['/p']['max_abs_error'] <= 0.5 and v['/p']['ratio'] > 5
assert v['/T']['bound_mode'] == 'rel' and v['/T']['max_abs_error'] <= v['/T']['bound_abs'] and v['/lat']['kept_as'] == 'coordinates'
assert d['nbytes_out'] < d['nbytes_in']"
holds "and the file is the same again" cmp out.nc out2.nc
holds "--dry-run predicts" "$csz" hdf5 repack in.nc -m rel -e 1e-3 --dry-run
says "in a table" '^/T +4x40x60 +0.001 rel = 0.0[0-9]+ +[0-9.]+$' out.txt
for mode in '-m rel -e 1e-2' '-m exact' '-m pwr -e 1e-3'; do
    # shellcheck disable=SC2086 # words
    "$csz" hdf5 repack in.nc dry.nc -f $mode --json >real.json && "$csz" hdf5 repack in.nc $mode --dry-run --json >dry.json
    holds "what is predicted comes true, $mode" python3 -c "
import json
real, dry = ({v['name']: v for v in json.load(open(f))['variables'] if not v['kept_as']} for f in ('real.json', 'dry.json'))
assert len(dry) > 2 and dry.keys() == real.keys()
for name, v in dry.items():
    assert v['prediction_error'] == 0 and abs(v['nbytes_after'] / real[name]['nbytes_after'] - 1) < 0.05, (name, v, real[name])"
done
holds "-m pwr" "$csz" hdf5 repack in.nc pwr.nc -m pwr -e 1e-3
says "shows shares of values" '^/T .* 0.001 pwr  .* 0.000[0-9]+ of its value$' out.txt
holds "-m pwr --floor" "$csz" hdf5 repack in.nc floor.nc -m pwr -e 1e-6 --floor 0.01 -q
holds "is within either" "$csz" compare in.nc:T floor.nc:T -m pwr --bound 1e-6 --floor 0.01
refuses 1 'of its value' "and not within the share alone" "$csz" compare in.nc:T floor.nc:T -m pwr --bound 1e-6
holds "a floor beside --var" "$csz" hdf5 repack in.nc floor.nc -f -m rel -e 1e-3 --var T=1e-6pwr --floor 0.01 -q
for words in '--var T=1abs,T=2abs' '--var T=1abs --skip T' '--skip T,T' '--fill T=1 --fill T=2'; do
    # shellcheck disable=SC2086 # words
    refuses 2 'T is named twice by' "$words" "$csz" hdf5 repack in.nc twice.nc -e 1 $words
done
holds "a name and a path, a bound and a fill value" "$csz" hdf5 repack in.nc --dry-run --var p=1abs,/p=2abs --fill p=-999
refuses 2 "no variable with a bound" "a pointwise bound of 2" "$csz" hdf5 repack in.nc pwr2.nc --var T=2pwr
holds "a floor as large as the values" "$csz" hdf5 repack in.nc coarse.nc -f -m pwr -e 1e-3 --floor 100
says "is noted" '^csz: note: the floor of /T is 100, and its values span .*: all may come back as one; give a smaller --floor$' err.txt
says "is in the table, with the absolute error" '^/T .* 0.001 pwr, floor 100 +[0-9.]+  0, [1-9][0-9.]* absolute$' out.txt
holds "and in JSON" "$csz" hdf5 repack in.nc --json --dry-run -m pwr -e 1e-3 --floor 100
says "as floor" '"name": "/T", .*"bound": 0.001, "bound_abs": null, "floor": 100,' out.txt
says "and noted, too" '^csz: note: the floor of /T is 100, and its (sampled )?values span .*: all may come back as one; give a smaller --floor$' err.txt
holds "a share too fine for the type" "$csz" hdf5 repack in.nc fine.nc -m pwr -e 1e-7
says "is noted" '^csz: note: the bound, -m pwr -e 1e-07, is too fine for logarithms of f32: /T is kept bit for bit$' err.txt
says "and the table says exact" '^/T .* exact +[0-9.]+  0$' out.txt
says "but not of f64" '^/p .* 1e-07 pwr ' out.txt
holds "with a floor" "$csz" hdf5 repack in.nc fine.nc -f -m pwr -e 1e-7 --floor 0.01
says "that holds alone" '^/T .* 0.01 abs ' out.txt
holds "--unsigned-zeros, beside bounds that keep signs" "$csz" hdf5 repack in.nc zeros.nc -m rel -e 1e-3 --var T=1e-6pwr,/g/u=exact --unsigned-zeros -q
holds "are in the words of the others" bash -c "h5dump -pH -d p zeros.nc | grep -q 'PARAMS { 2048 ' && ! h5dump -pH -d T zeros.nc | grep -q '{ 2051 '"
holds "-p auto" "$csz" hdf5 repack in.nc out3.nc -m rel -e 1e-3 -p auto -q
holds "--var alone compresses what it names" "$csz" hdf5 repack in.nc out4.nc --var /g/u=1e-3rel,T=40psnr
says "and nothing else" '^/p +4x40x60 +as it is: not named' out.txt
holds "a repacked file is repacked" "$csz" hdf5 repack out.nc out5.nc -e 1

# ---- Coordinates by CF's rules, fill values of variables, chunks beyond the end ------------------------------

python3 - <<'PY' >cf.cdl
import math
n = 30 * 50
print("""netcdf cf {
dimensions: t = 7 ; y = 30 ; x = 50 ; z = 400 ;
variables:
  float nav_lat(y, x) ; nav_lat:units = "degrees_north" ;
  float nav_lon(y, x) ; nav_lon:units = "degree_East " ;
  float XLAT(y, x) ; XLAT:standard_name = "latitude" ;
  float px(y, x) ; px:axis = "X" ;
  double when(y, x) ; when:units = "seconds since 1970-01-01 00:00" ;
  float area(y, x) ;
  float ps(y, x) ; float hyam(z) ;
  float lev(z) ; lev:formula_terms = "a: hyam ps: ps" ;
  float wide(y, x) ;
  float t2(y, x) ; t2:units = "degrees" ; t2:cell_measures = "area: area" ;
  float q(t, y, x) ; q:_ChunkSizes = 4, 16, 32 ; q:_FillValue = 1.e30f ;
  float r(t, y, x) ; r:_ChunkSizes = 4, 16, 32 ;
  float s(t, y, x) ; s:_ChunkSizes = 4, 16, 32 ; s:_NoFill = "true" ;
:coordinates = "wide" ;
data:""")
def show(name, n, f):
    print(name, "=", ", ".join("%.7g" % f(i) for i in range(n)), ";")
for k, name in enumerate(("nav_lat", "nav_lon", "XLAT", "px", "when", "area", "ps", "wide", "t2")):
    show(name, n, lambda i: 40 + k + 0.01 * i + 0.003 * math.sin(i * 0.7))
for name in ("hyam", "lev"):
    show(name, 400, lambda i: i * 1.37)
show("q", 7 * n, lambda i: -999 if i % 50 < 12 else 280 + 9 * math.sin(i * 0.004))
show("r", 7 * n, lambda i: 1e20 if i % 50 < 12 else 280 + 9 * math.sin(i * 0.004))
show("s", 7 * n, lambda i: 280 + 9 * math.sin(i * 0.004))
print("}")
PY
holds "a file with coordinates of two dims that no variable names" ncgen -k nc4 -o cf.nc cf.cdl
holds "repack leaves what CF calls a coordinate as it is" "$csz" hdf5 repack cf.nc cf2.nc -m rel -e 1e-3 --fill q=-999,r=1e20
cp out.txt table.txt
for name in nav_lat nav_lon XLAT px when wide; do
    says "$name: coordinates" "^/$name +30x50 +as it is: coordinates$" table.txt
done
says "terms of vertical coordinates" '^/hyam +400 +as it is: terms of coordinates$' table.txt
says "two of them" '^/ps +30x50 +as it is: terms of coordinates$' table.txt
says "cell measures" '^/area +30x50 +as it is: cell measures$' table.txt
says "other variables are compressed" '^/t2 +30x50 +0.001 rel' table.txt
for name in q r; do
    says "the fill value of $name is not part of its range" "^/$name +7x30x50 +0.001 rel = 0.018 " table.txt
done
holds "--var compresses coordinates all the same" "$csz" hdf5 repack cf.nc cf3.nc --var XLAT=1e-3abs,ps=0.1abs
says "by its name" '^/XLAT +30x50 +0.001 abs ' out.txt
"$csz" hdf5 repack cf.nc cf4.nc -m rel -e 1e-3 --fill -999 --fill r=1e20,s=none --json >fills.json
holds "--fill of all and of some" python3 -c "
import json
v = {x['name']: x for x in json.load(open('fills.json'))['variables']}
assert v['/q']['fill'] == '-999' and v['/r']['fill'] == '1e20' and v['/s']['fill'] is None and v['/XLAT']['fill'] is None
assert v['/t2']['fill'] == '-999' and abs(v['/r']['bound_abs'] - 0.018) < 1e-4"
refuses 2 '/r has 1e20 in about .* give --fill /r=1e20 if' "a fill value that is forgotten, by the variable's name" \
    "$csz" hdf5 repack cf.nc x.nc -m rel -e 1e-3 --fill q=-999
"$csz" hdf5 repack cf.nc x.nc -m rel -e 1e-3 >out.txt 2>err.txt
same_text "several of them are named in one run" "2 /q /r" "$? $(grep -o '^csz: /[a-z]* has' err.txt | grep -o '/[a-z]*' | tr '\n' ' ' | sed 's/ $//')"
for words in q= =5 q=x q=1,r q=1x; do
    refuses 2 'no variable with a fill value; give NAME=V' "--fill $words" "$csz" hdf5 repack cf.nc x.nc -e 1 --fill $words,r=2
done
refuses 2 'has no variable W' "a fill value of a variable that is not there" "$csz" hdf5 repack cf.nc x.nc -e 1 --fill W=1
refuses 2 'does not fit f32' "a fill value that its type cannot hold" "$csz" hdf5 repack cf.nc x.nc -e 1 --fill q=1e300
for mode in '-m rel -e 1e-3' '-e 0.1 -p auto' '-m exact' '-m pwr -e 1e-3'; do
    # shellcheck disable=SC2086 # words
    "$csz" hdf5 repack cf.nc dry.nc -f $mode --fill q=-999,r=1e20 --json >real.json &&
        "$csz" hdf5 repack cf.nc $mode --fill q=-999,r=1e20 --dry-run --json >dry.json
    holds "chunks beyond the end are predicted to the byte, $mode" python3 -c "
import json
real, dry = ({v['name']: v for v in json.load(open(f))['variables'] if not v['kept_as']} for f in ('real.json', 'dry.json'))
assert set(dry) == set(real) == {'/lev', '/q', '/r', '/s', '/t2'}
for name, v in dry.items():
    assert v['prediction_error'] == 0 and v['nbytes_after'] == real[name]['nbytes_after'], (name, v, real[name])"
done

# ---- What grows --------------------------------------------------------------------------------------------

cat >grows.cdl <<'CDL'
netcdf grows { dimensions: x = 2000 ; variables: float a(x) ; a:_ChunkSizes = 1 ; float b(x) ;
  data: a = 1, 2, 3 ; b = 4, 5, 6 ; }
CDL
ncgen -k nc4 -o grows.nc grows.cdl
holds "repack of chunks of one value" "$csz" hdf5 repack grows.nc grown.nc -e 1e-3
says "notes that they grow" '^csz: note: /a becomes larger, 8.0 kB -> [0-9.]+ kB; --skip /a leaves it as it is$' err.txt
says "and the file" '^csz: note: grown.nc is larger than grows.nc; give --skip ' err.txt
holds "a dry run of it" "$csz" hdf5 repack grows.nc --dry-run -e 1e-3
says "notes that, too" '^csz: note: the new file would be larger than grows.nc; give --skip ' err.txt
says "and shows the size" '^grows.nc: [0-9.]+ kB -> about [0-9.]+ kB, ratio 0.[0-9]+$' out.txt
python3 -c '
print("netcdf tiny { dimensions: x = 300 ; variables:")
for i in range(100):
    print(f"float a{i}(x) ;")
print("data:")
for i in range(100):
    print(f"a{i} =", ", ".join(str(k * (i + 7) % 101) for k in range(300)), ";")
print("}")' >tiny.cdl
ncgen -k nc4 -o tiny.nc tiny.cdl
holds "repack of many small variables without chunks" "$csz" hdf5 repack tiny.nc tiny2.nc -e 1e-3
says "notes that HDF5's index of chunks makes the file larger" '^csz: note: tiny2.nc is larger than tiny.nc; give --skip ' err.txt
holds "so does a dry run" "$csz" hdf5 repack tiny.nc --dry-run -e 1e-3
says "whatever each variable gains" '^/a7 +300 +0.001 abs +[1-9]' out.txt
says "in a note" '^csz: note: the new file would be larger than tiny.nc; give --skip ' err.txt
holds "its size" bash -c "'$csz' hdf5 repack tiny.nc --dry-run -e 1e-3 --json | python3 -c '
import json, os, sys
told, now = json.load(sys.stdin)[\"nbytes_out\"], os.path.getsize(\"tiny2.nc\")
assert now * 0.8 < told < now * 1.2, (told, now)'"
holds "repack of what was compressed within a bound" "$csz" hdf5 repack tiny2.nc tiny3.nc -e 1e-2
says "notes it" '^csz: note: values of /a0 and of 99 other variables were compressed within a bound before, and errors add up; ' err.txt
holds "repack of it without loss" "$csz" hdf5 repack tiny2.nc tiny4.nc -m exact
same_text "has no such note" 0 "$(grep -c 'errors add up' err.txt)"
holds "and of what was compressed without loss" "$csz" hdf5 repack tiny4.nc tiny5.nc -e 1e-3
same_text "neither" 0 "$(grep -c 'errors add up' err.txt)"
holds "nothing grows that is skipped" "$csz" hdf5 repack grows.nc grown.nc -f -e 1e-3 --skip a
same_text "and no note says so" "" "$(cat err.txt)"

# ---- No range, no values, nothing written ----------------------------------------------------------------

cat >bare.cdl <<'CDL'
netcdf bare { dimensions: x = 20 ; y = 30 ;
variables: float same(x, y) ; float nans(x, y) ; float never(x, y) ; never:_NoFill = "true" ; float t(x, y) ;
CDL
python3 - <<'PY' >>bare.cdl
import math
print("data:")
for name, f in (("same", lambda i: "3"), ("nans", lambda i: "NaN"), ("t", lambda i: "%.7g" % math.sin(i * 0.01))):
    print(name, "=", ", ".join(f(i) for i in range(600)), ";")
print("}")
PY
ncgen -k nc4 -o bare.nc bare.cdl
holds "repack of equal values, NaN, nothing" "$csz" hdf5 repack bare.nc bare2.nc -m rel -e 1e-4
says "equal values have no range" '^/same +20x30 +0.0001 rel, no range +[0-9.]+  0$' out.txt
says "nor has NaN" '^/nans +20x30 +0.0001 rel, no range +[0-9.]+  0$' out.txt
says "what was never written stays so" '^/never +20x30 +as it is: never written$' out.txt
says "a dim is one" '^/x +20 +as it is: a dim without values$' out.txt
holds "with --json its bound is 0, as of csz compress" bash -c "'$csz' hdf5 repack bare.nc --dry-run -m rel -e 1e-4 --json | grep -q '\"name\": \"/same\"[^}]*\"bound_abs\": 0,'"
refuses 2 '--var names /x of bare.nc, which is a dim without values' "a dim has no bound" "$csz" hdf5 repack bare.nc x.nc --var x=1abs
holds "-m pwr" "$csz" hdf5 repack bare.nc bare2.nc -f -m pwr -e 1e-3
says "a largest error of 0 is 0" '^/nans +20x30 +0.001 pwr +[0-9.]+  0$' out.txt

# ---- Groups of many members, types of groups -------------------------------------------------------------

{
    echo 'netcdf many { dimensions: x = 40 ; variables: float a(x, x) ; data: a = 0 ;'
    echo 'group: g { dimensions: y = 30 ; variables:' # more than 8 members: HDF5 stores their links in another way
    for i in {0..8}; do echo "float w$i(y) ;"; done
    echo 'data: w3 = 7, 8, 9 ; } }'
} >many.cdl
cat >types.cdl <<'CDL'
netcdf types { dimensions: x = 40 ; s = 3 ; variables: double x(x) ; float a(x, x) ; data: a = 0 ;
group: h { types: compound ct { float a ; int b ; } ; ubyte enum et { no = 0, yes = 1 } ;
  variables: ct q(s) ; ct q:extra = {5, 6} ; et flag(s) ; int n(s) ; ct n:kind = {7, 8} ;
  data: q = {1, 2}, {3, 4}, {5, 6} ; flag = yes, no, yes ; n = 1, 2, 3 ; } }
CDL
for what in many types; do
    ncgen -k nc4 -o $what.nc $what.cdl
    holds "$what: members of a group" "$csz" hdf5 repack $what.nc ${what}2.nc --var a=1e-3abs
    holds "$what: and its own output" "$csz" hdf5 repack ${what}2.nc ${what}3.nc --var a=1e-3abs
    ((reads)) || continue
    ncdump $what.nc | sed 1d >wanted.txt
    for n in 2 3; do
        ncdump $what$n.nc | sed 1d >found.txt
        holds "$what: everything is in file $n" cmp wanted.txt found.txt
    done
done

# ---- Links, references, storage of other kinds ----------------------------------------------------------

if python3 -c 'import h5py' 2>/dev/null; then
    python3 - <<'PY'
import h5py, numpy as np
with h5py.File("links.h5", "w") as f:
    x = f.create_dataset("x", data=np.sin(np.arange(40000) * .01).reshape(100, 400).astype("f4"))
    f["hard"], f["soft"], f["external"], f["dangling"] = x, h5py.SoftLink("/x"), h5py.ExternalLink("other.h5", "/y"), h5py.SoftLink("/nowhere")
    g = f.create_group("g")
    g["up"], g["again"] = f["/"], x
    f.create_dataset("references", data=np.array([x.ref, g.ref], dtype=h5py.ref_dtype))
    x.attrs["me"] = x.ref
    g["type"] = np.dtype([("a", "f4"), ("b", "i4")])
    f.create_dataset("before", data=np.ones(9, g["type"].dtype), dtype=g["type"]) # before the type by name
    g.attrs.create("of", np.zeros((), g["type"].dtype), dtype=g["type"])
PY
    holds "links and references" "$csz" hdf5 repack links.h5 links2.h5 -e 1e-3
    holds "are kept" python3 -c "
import h5py
b = h5py.File('links2.h5')
assert b['hard'] == b['x'] == b['g/again'] and b['g/up'] == b['/'] and b.get('soft', getlink=True).path == '/x'
assert b.get('external', getlink=True).filename == 'other.h5' and b.get('dangling', getlink=True).path == '/nowhere'
assert b[b['references'][0]] == b['x'] and b[b['references'][1]] == b['g'] and b[b['x'].attrs['me']] == b['x']
named = lambda i: i.get_type().committed()
assert named(b['before'].id) and named(b['g'].attrs.get_id('of')) and h5py.h5o.get_info(b['g/type'].id).rc == 3
assert b['before'][8].tolist() == (1, 1)"
    holds "a bound by the name of a second link" "$csz" hdf5 repack links.h5 links3.h5 --var hard=0.5abs
    says "is the dataset's" '^/[a-z/]+ +100x400 +0.5 abs ' out.txt
    holds "so is --skip" "$csz" hdf5 repack links.h5 links3.h5 -f -e 1e-3 --skip hard,x
    says "by two names that agree" '^/[a-z/]+ +100x400 +as it is: skipped' out.txt
    refuses 2 '/hard and /x are one dataset of links.h5' "bounds of one dataset that differ" "$csz" hdf5 repack links.h5 x.h5 --var hard=0.5abs,x=1abs
    refuses 2 'are one dataset of links.h5' "a bound and --skip" "$csz" hdf5 repack links.h5 x.h5 --skip /g/again --var x=1abs

    python3 -c "
import h5py, numpy as np
with h5py.File('block.h5', 'w', userblock_size=1024) as f:
    f['x'] = np.sin(np.arange(9000) * .01).astype('f4')
with open('block.h5', 'r+b') as f:
    f.write(b'MATLAB 7.3' + bytes(range(256)))"
    holds "a file with a user block" "$csz" hdf5 repack block.h5 block2.h5 -e 1e-3
    holds "keeps it" cmp -n 1024 block.h5 block2.h5
    holds "before its datasets" python3 -c "
import h5py
b = h5py.File('block2.h5')
assert b.userblock_size == 1024 and b['x'].shape == (9000,)"
fi

# ---- What is refused -------------------------------------------------------------------------------------

refuses 1 'exists and is kept; give -f to replace it, or another name$' "an output that is there" "$csz" hdf5 repack in.nc out.nc -e 1
holds "is replaced with -f" "$csz" hdf5 repack in.nc out.nc -e 1 -f -q
refuses 1 'is the input itself; give another output$' "the input as the output" "$csz" hdf5 repack in.nc in.nc -e 1 -f
refuses 2 'bound is missing' "no bound" "$csz" hdf5 repack in.nc x.nc
refuses 2 'has no variable W' "a variable that is not there" "$csz" hdf5 repack in.nc x.nc -e 1 --var W=1abs
refuses 2 'has no variable W' "to skip either" "$csz" hdf5 repack in.nc x.nc -e 1 --skip W
refuses 2 'count.* is integers' "integers that are named" "$csz" hdf5 repack in.nc x.nc -e 1 --var count=1abs
for words in T T= T=1 T=abs =1abs T=0abs T=-1rel T=nanabs T=1ratio; do
    refuses 2 'NAME=NUMBER' "--var $words" "$csz" hdf5 repack in.nc x.nc --var $words
done
refuses 2 'takes two files' "one file" "$csz" hdf5 repack in.nc -e 1
refuses 2 'takes two files' "three files" "$csz" hdf5 repack in.nc x.nc y.nc -e 1
refuses 2 'streams' "a stream" "$csz" hdf5 repack in.nc - -e 1
refuses 1 'No such file' "a file that is not there" "$csz" hdf5 repack nowhere.nc x.nc -e 1
printf 'no HDF5' >text.nc
refuses 1 'no HDF5 or netCDF-4 file; give one$' "a file of another kind" "$csz" hdf5 repack text.nc x.nc -e 1
sed 's/1.e20f/1.e30f/; s/T:coordinates = "lat2" ;/T:coordinates = "lat2" ;/' in.cdl | sed '/^T = /s/_,/1e20,/g' >untold.cdl
ncgen -k nc4 -o untold.nc untold.cdl
refuses 2 '/T has 1e20 in about' "a fill value that is not told, with a relative bound" "$csz" hdf5 repack untold.nc x.nc -m rel -e 1e-3
holds "unless it is given" "$csz" hdf5 repack untold.nc untold2.nc -m rel -e 1e-3 --fill 1e20 -q
if [[ -z $sanitizers ]]; then # which stop at HDF5's own faults
    for kib in 1 20 60 100; do
        refuses 1 'x.nc.* space' "a full disk after $kib KiB" bash -c \
            "ulimit -f $kib; exec '$csz' hdf5 repack in.nc x.nc --var T=1e-3rel"
    done
fi
same_text "nothing is left of what was refused" "" "$(find . -name 'x.nc' -o -name '.*' ! -name .)"

finish ""
