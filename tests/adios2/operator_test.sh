#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# operator_test.sh BUILD: builds the ADIOS2 operator on an installed copy of BUILD, as docs/adios2.md says,
# and runs operator_test.py with the adios2 of python_environment.sh.  Leaves the operator in adios2-plugins of
# BUILD, for docs_test.  Exits 77 where pip could not install adios2, or there is no C++ compiler.
set -u
build=$(realpath "${1:?usage: operator_test.sh BUILD}") || exit 2
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
python=$build/python/venv/bin/python

# shellcheck source=tests/support/properties.sh
. "$source/tests/support/properties.sh"
"$python" -c 'import adios2' 2>/dev/null || skip "pip could not install adios2"
command -v c++ >/dev/null || skip "no C++ compiler"
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_adios2.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
if ! { cmake --install "$build" --prefix "$work/installed" &&
    cmake -S "$source/plugins/adios2" -B made -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_INSTALL_PREFIX="$work/installed" \
        -DPython3_EXECUTABLE="$python" -DCMAKE_CXX_FLAGS=-Werror && cmake --build made && cmake --install made; } >log 2>&1; then
    cat log
    exit 1
fi
ADIOS2_PLUGIN_PATH=$(dirname "$(find installed -name 'libcsz_adios2*')") || exit 1
mkdir -p "$build/adios2-plugins" && cp "$ADIOS2_PLUGIN_PATH"/libcsz_adios2* "$build/adios2-plugins" || exit 1
export ADIOS2_PLUGIN_PATH
"$python" "$source/tests/adios2/operator_test.py" "$source/docs/adios2.md"
