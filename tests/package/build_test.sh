#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# build_test.sh SOURCE: what the make targets leave for `make` and `make install`, and which CUDA
# architectures a build takes.  CMake stands behind a stand-in that notes how it was called and, unless told
# to, configures nothing.  Prints one line per property; exits 1 if any does not hold.
set -u
source=$(realpath "${1:?usage: build_test.sh SOURCE}") || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_build_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
unset MAKEFLAGS MAKELEVEL CMAKE_ARGS
n_failed=0

same() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $1: wanted '$2', found '$3'"
    fi
}

# A make target stops at its first call of CMake; with CONFIGURES set, at the first that builds.  No package
# is installed meanwhile.
mkdir tools
CMAKE=$(command -v cmake)
CALLS=$work/calls.txt
export CMAKE CALLS
cat >tools/cmake <<'SH'
#!/bin/sh
printf '%s \n' "$*" >>"$CALLS"
[ "$1" = -S ] && [ -n "${CONFIGURES:-}" ] && exec "$CMAKE" "$@" -DBUILD_TESTING=OFF
exit 1
SH
printf '#!/bin/sh\nexit 1\n' >tools/apt-get
cp tools/apt-get tools/sudo
cp tools/apt-get tools/ctest
chmod +x tools/*
build=$work/build
make_target() { PATH=$work/tools:$PATH make -C "$source" "$1" BUILD="$build" JOBS=1 >out.txt 2>&1; }

# ---- Options that stay ----
for target in all demo test soak bench bench-mpi bench-isa share evaluation lint; do
    : >calls.txt
    make_target $target
    same "make $target configures" yes "$([ -s calls.txt ] && echo yes || tail -n 3 out.txt)"
    same "and leaves no choice of CUDA in the folder of make install" "" "$(grep -e "-B $build " calls.txt | grep -o -e '-DCSZ_CUDA[^ ]*')"
done
CONFIGURES=1 make_target demo
CONFIGURES=1 make_target all
same "after make demo, make has CUDA switched on" "CSZ_CUDA:BOOL=ON" "$(grep '^CSZ_CUDA:' "$build/CMakeCache.txt")"
if grep -q '^CSZ_NVCC:FILEPATH=/' "$build/CMakeCache.txt"; then
    same "and with nvcc builds it" "cuda: ON" "$(grep -o 'cuda: ON' out.txt)"
else
    echo "left out: nvcc is not here"
fi

# ---- Folders with blanks in their names ----
mkdir arguments
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >arguments/cmake
chmod +x arguments/cmake
mkdir -p "$build"
echo "$work/my prefix/include/csz.h" >"$build/install_manifest.txt"
PATH=$work/arguments:$PATH make -s -C "$source" -o all install BUILD="$build" PREFIX="$work/my prefix" DESTDIR="$work/a root" >out.txt 2>&1
same "make install takes a PREFIX with a blank" "$work/my prefix" "$(grep -A 1 -xe --prefix out.txt | tail -n 1)"
same "and a DESTDIR" "$work/a root$work/my prefix/include/csz.h" "$(cat "$build/installed.txt")"

# ---- CUDA architectures ----
cat >nvcc <<'SH'
#!/bin/sh
[ "$1" = --list-gpu-arch ] && printf 'compute_75\ncompute_80\ncompute_86\ncompute_90\n'
SH
cat >archs.cmake <<SH
cmake_minimum_required(VERSION 3.18)
include("$source/cmake/cuda_archs.cmake")
csz_find_cuda_archs(found "$work/nvcc")
message("\${found}")
SH
chmod +x nvcc
# archs CAPABILITY...: what is compiled where nvidia-smi finds these.
archs() {
    { echo '#!/bin/sh'; printf 'echo %s\n' "$@"; } >tools/nvidia-smi
    chmod +x tools/nvidia-smi
    PATH=$work/tools:$PATH "$CMAKE" -P archs.cmake 2>&1
}
same "the GPU that is here" "90" "$(archs 9.0)"
same "two of one kind, and another" "80;90" "$(archs 8.0 8.0 9.0)"
same "one that csz does not run on beside one that it does" "86" "$(archs 6.1 8.6)"
same "one that this nvcc does not know" none "$(archs 12.0)"
same "a driver that finds none" none "$(archs 'No devices were found')"
printf '#!/bin/sh\nexit 9\n' >tools/nvidia-smi
same "a driver that fails" none "$(PATH=$work/tools:$PATH "$CMAKE" -P archs.cmake 2>&1)"

[ "$n_failed" = 0 ]
