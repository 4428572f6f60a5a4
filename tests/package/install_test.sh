#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install_test.sh BUILD SOURCE [SANITIZERS]: installs the build into a folder of its own, moves that folder,
# and uses what is there as people do: headers in C11 and C++17, the examples with find_package and with
# pkg-config, shared and static, the command, the HDF5 plugin.  Then uninstalls.  Prints one line per property
# and exits 1 if any does not hold; 77 in a sanitized build, whose libraries ordinary programs cannot link.
set -u
build=$(realpath "${1:?usage: install_test.sh BUILD SOURCE}") || exit 2
source=$(realpath "${2:?usage: install_test.sh BUILD SOURCE}") || exit 2
if [ -n "${3-}" ]; then
    echo "skipped: ordinary programs cannot link sanitized libraries"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_install_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export TMPDIR="$work" # mpirun's too: of two that begin at once Open MPI 4 may fail to make the session folder they share
unset HDF5_PLUGIN_PATH LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH
cc=${CC:-cc}
n_failed=0

# holds NAME COMMAND...: the command succeeds.
holds() {
    name=$1
    shift
    if "$@" >out.txt 2>&1; then
        echo "ok    $name"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $name: $*"
        tail -n 15 out.txt | sed 's/^/      /'
    fi
}

# fails NAME COMMAND...: the command does not.
fails() {
    name=$1
    shift
    if "$@" >out.txt 2>&1; then
        n_failed=$((n_failed + 1))
        echo "FAIL  $name: it succeeds: $*"
    else
        echo "ok    $name"
    fi
}

same() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $1: wanted '$2', found '$3'"
    fi
}

holds "install" cmake --install "$build" --prefix "$work/first"
mv first prefix
prefix=$work/prefix
pc=$(dirname "$(find "$prefix" -name csz.pc)")
libdir=$(dirname "$pc")
export PKG_CONFIG_PATH="$pc"

# ---- What lies there ----
for file in include/csz.h include/csz_frames.h include/csz_analyze.h include/csz_hdf5.h bin/csz share/man/man1/csz.1 share/bash-completion/completions/csz; do
    holds "$file is installed" test -e "$prefix/$file"
done
same "the shared library exports csz_* alone" "" "$(nm -D --defined-only "$libdir/libcsz.so" | awk '{print $3}' | grep -v '^csz_')"
same "its soname" libcsz.so.0 "$(readelf -d "$libdir/libcsz.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
same "every function of csz.h, csz_frames.h and csz_analyze.h is exported" "" "$(sed -n 's/^CSZ_API.*[ *]\(csz_[a-z0-9_]*\)(.*/\1/p' "$prefix/include/csz.h" "$prefix/include/csz_frames.h" "$prefix/include/csz_analyze.h" | sort |
    while read -r name; do nm -D --defined-only "$libdir/libcsz.so" | grep -q " $name\$" || echo "$name"; done)"
same "no path of the build is in what programs read" "" "$(grep -rl "$build" "$prefix/include" "$pc" "$libdir/cmake" 2>/dev/null)"
holds "the command runs" "$prefix/bin/csz" --version

# ---- Headers ----
for header in csz.h csz_frames.h csz_analyze.h csz_hdf5.h; do
    printf '#include <%s>\nint main(void) { return CSZ_FORMAT_VERSION - 1; }\n' $header >header.c
    cp header.c header.cpp
    holds "$header is C11" "$cc" -std=c11 -Wall -Wextra -Werror -pedantic -Wstrict-prototypes -I "$prefix/include" -c header.c -o h.o
    if command -v c++ >/dev/null; then
        holds "$header is C++17" c++ -std=c++17 -Wall -Wextra -Werror -pedantic -I "$prefix/include" -c header.cpp -o h.o
    fi
done

# ---- Examples ----
mkdir examples
cp "$source"/examples/*.c "$source"/examples/CMakeLists.txt examples/
cp "$source"/examples/*.cu "$source"/examples/*.h examples/ 2>/dev/null
plugin=$(find "$prefix" -name libh5csz.so)
for kind in shared static; do
    # virtual: that a kernel compiles and links is enough, and ptxas takes its time
    holds "find_package, $kind: configure" cmake -S examples -B "by-cmake-$kind" -DCMAKE_PREFIX_PATH="$prefix" -DCSZ_LINK=$kind \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=80-virtual
    # all of them against the shared one: the project links its own copies statically
    # shellcheck disable=SC2046 # two words or none
    holds "find_package, $kind: build" cmake --build "by-cmake-$kind" $([ $kind = shared ] || echo --target compress_file)
    holds "find_package, $kind: run" "./by-cmake-$kind/compress_file" "$kind.csz"
    holds "the command tests what it wrote" "$prefix/bin/csz" test "$kind.csz"
done
same "shared and static wrote the same bytes" "$(cksum <shared.csz)" "$(cksum <static.csz)"
if [ -x by-cmake-shared/hdf5_writer ] && [ -n "$plugin" ]; then
    export HDF5_PLUGIN_PATH="${plugin%/*}"
    holds "the HDF5 example" ./by-cmake-shared/hdf5_writer out.h5
    if "$prefix/bin/csz" --version | grep -q '^hdf5 yes'; then
        holds "the command reads its file" "$prefix/bin/csz" compress out.h5:pressure -e 1e-2 --verify
    fi
else
    echo "left out: the HDF5 example (no HDF5 here, or none in this build)"
fi
# ---- Components ----
mkdir component
cat >component/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(component LANGUAGES C)
find_package(csz REQUIRED COMPONENTS ${COMPONENT})
add_executable(ranks ranks.c)
target_link_libraries(ranks PRIVATE csz::csz_${COMPONENT})
CMAKE
cat >component/ranks.c <<'C'
#include <csz_mpi.h>
int main(int argc, char **argv) {
    csz_info info;
    MPI_Init(&argc, &argv);
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, argv[1]);
    MPI_Finalize();
    return (int)status;
}
C
fails "a component that nobody knows is refused" cmake -S component -B by-cmake-none -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT=none
if [ -e "$libdir/libcsz_mpi.a" ]; then
    holds "find_package with COMPONENTS mpi: configure" cmake -S component -B by-cmake-mpi -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT=mpi
    holds "find_package with COMPONENTS mpi: build" cmake --build by-cmake-mpi
    if OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 1 true >/dev/null 2>&1; then
        holds "find_package with COMPONENTS mpi: run" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 1 \
            ./by-cmake-mpi/ranks static.csz
    fi
else
    fails "the component mpi is refused where there is none" cmake -S component -B by-cmake-mpi -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT=mpi
fi

if command -v pkg-config >/dev/null; then
    [ -z "$plugin" ] || same "pkg-config names the plugin's folder" "${plugin%/*}" "$(realpath "$(pkg-config --variable=hdf5plugindir csz)")"
    # shellcheck disable=SC2046 # lists of flags
    holds "pkg-config, shared: build" "$cc" examples/compress_file.c $(pkg-config --cflags --libs csz) -Wl,-rpath,"$libdir" -lm -o by_pc_shared
    holds "pkg-config, shared: run" ./by_pc_shared pc.csz
    static_libs=$(pkg-config --static --libs csz | sed "s|-lcsz|$libdir/libcsz.a|")
    # shellcheck disable=SC2046,SC2086
    holds "pkg-config, static: build" "$cc" examples/compress_file.c $(pkg-config --cflags csz) $static_libs -lm -o by_pc_static
    holds "pkg-config, static: run" ./by_pc_static pc.csz
    same "the static one needs no libcsz.so" "" "$(readelf -d by_pc_static | grep 'NEEDED.*libcsz')"
else
    echo "left out: pkg-config is not installed"
fi

# ---- Uninstalling ----
# Other tests install from the same build folder: the manifest copied must be the one of this installation.
mkdir folder
for attempt in 1 2 3 4 5; do
    cmake --install "$build" --prefix "$work/gone" >out.txt 2>&1
    cp "$build/install_manifest.txt" folder/installed.txt
    grep -q "^$work/gone/" folder/installed.txt && break
done
touch gone/include/other.h
holds "make uninstall" make -C "$source" uninstall BUILD="$work/folder"
same "it leaves what others have placed there, and nothing else" "gone gone/include gone/include/other.h " "$(find gone | sort | tr '\n' ' ')"
fails "a second time there is nothing to uninstall" make -C "$source" uninstall BUILD="$work/folder"
for attempt in 1 2 3 4 5; do
    make -C "$source" -o all install BUILD="$build" PREFIX=/prefix DESTDIR="$work/staged" >out.txt 2>&1
    cp "$build/installed.txt" folder/installed.txt
    grep -q "^$work/staged/prefix/" folder/installed.txt && break
done
holds "make uninstall after make install DESTDIR=..." make -C "$source" uninstall BUILD="$work/folder"
same "it removes what lies there" "" "$(find staged -type f)"

[ "$n_failed" = 0 ] && echo "all properties hold" || echo "$n_failed properties do not hold"
[ "$n_failed" = 0 ]
