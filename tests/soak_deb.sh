#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# soak_deb.sh CSZ: builds the Debian packages in a folder beside CSZ, unpacks them into one root and uses what is there: the command, a program against the
# library, the plugin where Debian's HDF5 looks for it.  Exit 77 without debhelper.
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit
work=$(dirname "$(realpath "${1:?usage: soak_deb.sh CSZ}")")/deb-test
if ! command -v dh >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
    echo "skipped: debhelper or dpkg-dev is not here"
    exit 77
fi
n_failed=0
holds() {
    name=$1
    shift
    if "$@" >"$work/out.txt" 2>&1; then
        echo "ok    $name"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $name: $*"
        tail -n 20 "$work/out.txt"
    fi
}

rm -rf "$work"
mkdir -p "$work" || exit
holds "the packages build, and lintian, where it is there, finds no error" "$source/packaging/build_deb" "$work/deb"
root=$work/root
for package in libcsz0 libcsz-dev csz csz-hdf5-plugin csz-report csz-mpi libcsz-mpi-dev; do
    holds "$package is there" dpkg-deb -x "$work/deb/$package"_*.deb "$root"
done
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
for file in usr/bin/csz usr/bin/csz-report usr/bin/csz-mpi usr/share/man/man1/csz.1.gz usr/share/man/man1/csz-report.1.gz usr/share/man/man1/csz-mpi.1.gz \
    usr/share/bash-completion/completions/csz usr/include/csz.h usr/include/csz_analyze.h usr/include/csz_hdf5.h usr/include/csz_mpi.h \
    "usr/lib/$triplet/libcsz_mpi.a" "usr/lib/$triplet/pkgconfig/csz_mpi.pc" "usr/lib/$triplet/cmake/csz_mpi/csz_mpi-config.cmake" \
    "usr/lib/$triplet/libcsz.so.0" "usr/lib/$triplet/libcsz.a" "usr/lib/$triplet/pkgconfig/csz.pc" "usr/lib/$triplet/cmake/csz/csz-config.cmake" \
    "usr/lib/$triplet/hdf5/serial/plugins/libh5csz.so" "usr/lib/$triplet/hdf5/openmpi/plugins/libh5csz.so"; do
    holds "$file" test -e "$root/$file"
done
export PKG_CONFIG_PATH="$root/usr/lib/$triplet/pkgconfig" LD_LIBRARY_PATH="$root/usr/lib/$triplet" PATH="$root/usr/bin:$PATH"
# shellcheck disable=SC2046 # lists of flags
holds "an example builds against them" cc "$source/examples/compress_file.c" $(pkg-config --cflags --libs csz) -lm -o "$work/compress_file"
holds "and runs" "$work/compress_file" "$work/field.csz"
holds "the command reads what it wrote" "$root/usr/bin/csz" test "$work/field.csz"
if [ "$triplet" = x86_64-linux-gnu ]; then
    for file in libcsz.so.0 hdf5/serial/plugins/libh5csz.so; do
        holds "$file has code for AVX-512 to choose" grep -q x86-64-v4 "$root/usr/lib/$triplet/$file"
    done
fi
holds "csz-mpi runs" "$root/usr/bin/csz-mpi" --version
holds "the library's dependencies are found" sh -c "dpkg-deb -f '$work'/deb/libcsz0_*.deb Depends | grep -q libzstd1"
if command -v h5repack >/dev/null && csz --version | grep -q '^hdf5 yes'; then
    holds "a dataset" csz decompress "$work/field.csz" -o "$work/in.h5:field"
    HDF5_PLUGIN_PATH=$root/usr/lib/$triplet/hdf5/serial/plugins
    export HDF5_PLUGIN_PATH
    holds "the plugin packs it" h5repack -f field:UD=411,0,3,0,3539053052,1062232653 "$work/in.h5" "$work/out.h5"
    holds "with the filter" sh -c "h5dump -pH '$work/out.h5' | grep -q csz"
fi
[ "$n_failed" = 0 ]
