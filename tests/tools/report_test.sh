#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# report_test.sh BUILD: runs report_test.py in the environment of python_environment.sh.  Exit 77 where there
# is no matplotlib; without h5py what concerns datasets is left out.
build=$(realpath "${1:?usage: report_test.sh BUILD}") || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
for python in "$build/python/venv/bin/python" python3; do
    "$python" -c 'import numpy, matplotlib' 2>/dev/null && break
    python=
done
if [ -z "$python" ]; then
    echo "skipped: no Python with numpy and matplotlib"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_report_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir -p "$build/python/matplotlib" # keeps its list of fonts, which takes seconds to make
MPLCONFIGDIR=$build/python/matplotlib PYTHONPYCACHEPREFIX=$build/python/pycache "$python" \
    "$here/report_test.py" "$here/../../tools/csz-report"
