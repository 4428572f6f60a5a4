#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# soak_cuda_wheel.sh CSZ: compiles the wheel with CUDA from nothing, for the architectures of this machine, as
# docs/python.md says, and uses it (cuda_wheel.sh).  Works in a folder beside CSZ.  Exit 77 without nvcc, or
# where pip cannot fetch what a wheel is built with.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit
work=$(dirname "$(realpath "${1:?usage: soak_cuda_wheel.sh CSZ}")")/cuda-wheel
# shellcheck source=tests/support/properties.sh
. "$here/../support/properties.sh"
command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || skip "nvcc is not here"
rm -rf "$work"
mkdir -p "$work" || exit
python3 -m venv "$work/venv" >"$work/pip.log" 2>&1 || skip "python3 -m venv fails: install python3-venv"
"$work/venv/bin/pip" install -q numpy "setuptools>=77" >>"$work/pip.log" 2>&1 || skip "pip cannot install numpy and setuptools"
exec "$here/cuda_wheel.sh" "$work/venv/bin/python" "$work" CMAKE_ARGS=-DCSZ_CUDA=ON
