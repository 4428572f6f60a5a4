# SPDX-License-Identifier: BSD-3-Clause
# setup.sh PAGE: the data that a page's blocks start from, made in the current folder.  Fields are those of
# tests/docs/plan.txt, smaller than the page says.
# shellcheck shell=bash

# npy FILE RAW TYPE SHAPE: a raw file as a NumPy one.
npy() {
    python3 -c 'import struct, sys
file, raw, kind, shape = sys.argv[1:]
text = "{\x27descr\x27: \x27%s\x27, \x27fortran_order\x27: False, \x27shape\x27: (%s,), }" % (kind, shape)
text += " " * (-(11 + len(text)) % 64) + "\n"
open(file, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + open(raw, "rb").read())' "$@"
}

# A dataset in an HDF5 or netCDF-4 file, where this build writes them.
dataset() { # RAW DIMS FILE:DATASET
    if csz --version | grep -q '^hdf5 yes'; then
        csz compress "$1" -t f32 -d "$2" -e 1e-6 -o dataset.csz
        csz decompress dataset.csz -o "$3"
        rm dataset.csz
    fi
}

field() { csz-generate 48 48 48; }
case $1 in
README)
    field >pressure.f32
    npy tos.npy pressure.f32 '<f4' 48,48,48
    echo '4 50 100' >simulate.dims # read as 100x100 of f64
    dataset pressure.f32 48x48x48 run.nc:temperature
    dataset pressure.f32 48x48x48 in.h5:temperature
    ;;
csz-report.1) field >velocity.f32 ;;
csz-mpi.1)
    field >velocity.f32
    npy sst.npy velocity.f32 '<f4' 48,48,48
    ;;
csz.1)
    field >velocity.f32
    npy sst.npy velocity.f32 '<f4' 48,48,48
    csz-generate 1 100 200 >rho.f64
    echo '10 50 50' >simulate.dims
    dataset velocity.f32 48x48x48 run.nc:temperature
    ;;
help\ *)
    field >velocity.f32
    cp velocity.f32 restored.f32
    cp velocity.f32 geoid.f32
    npy temperature.npy velocity.f32 '<f4' 48,48,48
    for name in a b rho; do cp temperature.npy $name.npy; done
    csz-generate 1 100 200 >rho.f64
    echo '10 50 50' >simulate.dims
    dataset velocity.f32 48x48x48 run.nc:temperature
    mkdir results
    cp temperature.npy results
    [ "$1" != "help compress" ] || exit 0
    csz compress -r results -e 1e-3
    csz compress ./*.npy -e 1e-3 -o packed/
    csz compress velocity.f32 -t f32 -d 48x48x48 -e 1e-3
    csz compress temperature.npy -e 1e-3
    cp velocity.f32.csz field.csz
    csz compress geoid.f32 -d 48x2304 -e 1e-3 -p pyramid
    [ "$1" != "help decompress" ] || rm velocity.f32
    ;;
streaming) echo '96 64 64' >simulate.dims ;;
mpi) field >pressure.f32 ;;
visualization)
    field >pressure.f32
    csz compress pressure.f32 -t f32 -d 48x48x48 -e 1e-3 -p pyramid -o pressure.csz
    ;;
esac
