#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# soak_deb.sh CSZ: builds the Debian packages in a folder beside CSZ, unpacks them into one root and uses what
# is there: the command, a program against the library, the plugin where Debian's HDF5 looks for it.  Then, as
# root and where debootstrap is, installs them by apt-get into a fresh Debian and uses them there, without a
# variable set.  Exit 77 without debhelper.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd) || exit
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

# What a run that was killed left mounted in its fresh root goes first; nothing is removed across a mount.
fresh=$work/fresh
for mounted in "$fresh/proc" "$fresh/sys"; do
    if mountpoint -q "$mounted"; then umount "$mounted" || exit; fi
done
rm -rf --one-file-system "$work"
mkdir -p "$work" || exit
holds "the packages build, and lintian, where it is there, finds neither error nor warning" "$source/packaging/build_deb" "$work/deb"
root=$work/root
for package in libcsz0 libcsz-dev csz csz-hdf5-plugin csz-report csz-mpi libcsz-mpi-dev libcsz-fortran-dev csz-doc; do
    holds "$package is there" dpkg-deb -x "$work/deb/$package"_*.deb "$root"
done
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
for file in usr/bin/csz usr/bin/csz-report usr/bin/csz-mpi usr/share/man/man1/csz.1.gz usr/share/man/man1/csz-report.1.gz usr/share/man/man1/csz-mpi.1.gz \
    usr/share/bash-completion/completions/csz usr/include/csz.h usr/include/csz_frames.h usr/include/csz_analyze.h usr/include/csz_hdf5.h usr/include/csz_mpi.h \
    usr/share/doc/csz/README.md usr/share/doc/csz/docs/zarr-codec.schema.json usr/share/doc/csz/examples/compress_file.c \
    "usr/lib/$triplet/libcsz_mpi.a" "usr/lib/$triplet/pkgconfig/csz_mpi.pc" "usr/lib/$triplet/cmake/csz_mpi/csz_mpi-config.cmake" \
    "usr/lib/$triplet/libcsz.so.0" "usr/lib/$triplet/libcsz.a" "usr/lib/$triplet/pkgconfig/csz.pc" "usr/lib/$triplet/cmake/csz/csz-config.cmake" \
    "usr/lib/$triplet/hdf5/serial/plugins/libh5csz.so" "usr/lib/$triplet/hdf5/openmpi/plugins/libh5csz.so"; do
    holds "$file" test -e "$root/$file"
done
# linked: every link of the pages leads to a file, but those to files of the source that are no documentation.
linked() {
    find "$root/usr/share/doc/csz" -name '*.md' >"$work/pages.txt" && [ "$(wc -l <"$work/pages.txt")" -gt 15 ] &&
        ! while read -r page; do
            grep -oE '\]\([^)#: ]+' "$page" | cut -c 3- | grep -vE '^(https?$|LICENSE|(\.\./)?bench/|\.\./(include|packaging|mpi)/)' |
                while read -r link; do [ -e "$(dirname "$page")/$link" ] || echo "$page: $link leads nowhere"; done
        done <"$work/pages.txt" | grep .
}
holds "the pages of csz-doc link one another" linked
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

# A fresh Debian of this machine's release, from the mirror that apt uses.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016 # $(SITE) is apt-get's, the others are for the shell in the fresh root
mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $release" 2>/dev/null | head -n 1)
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skipped: a fresh root, which needs debootstrap and root"
elif ! debootstrap --variant=minbase "$release" "$fresh" ${mirror:+"$mirror"} >"$work/debootstrap.txt" 2>&1; then
    echo "skipped: a fresh root: $(tail -n 1 "$work/debootstrap.txt")"
else
    mkdir "$fresh/packages" && cp "$work"/deb/*.deb "$fresh/packages" && rm "$fresh"/packages/*-dbgsym_*.deb
    in_fresh() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$fresh" sh -euc "cd /tmp; $1"; }
    holds "fresh: the packages install" in_fresh 'apt-get update -q
        apt-get install -q -y --no-install-recommends /packages/*.deb hdf5-tools gcc gfortran libc6-dev pkg-config'
    holds "fresh: an example of csz-doc builds and runs" in_fresh 'cc /usr/share/doc/csz/examples/compress_file.c $(pkg-config --cflags --libs csz) -lm -o compress_file
        ./compress_file field.csz'
    holds "fresh: the command reads what it wrote" in_fresh 'csz test field.csz && csz decompress field.csz -o in.h5:field'
    holds "fresh: HDF5 finds the plugin by itself" in_fresh 'h5repack -f field:UD=411,0,3,0,3539053052,1062232653 in.h5 out.h5
        h5dump -pH out.h5 | grep csz
        h5diff -d 1e-3 in.h5 out.h5'
    holds "fresh: csz-mpi and csz-report start" in_fresh 'csz-mpi --version && csz-report --help'
    holds "fresh: and go again" in_fresh 'apt-get remove -q -y csz libcsz0 csz-hdf5-plugin && ! command -v csz'
    rm -rf --one-file-system "$fresh"
fi
[ "$n_failed" = 0 ]
