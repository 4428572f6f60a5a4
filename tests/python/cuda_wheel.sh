#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# cuda_wheel.sh PYTHON FOLDER [NAME=VALUE...]: builds a wheel with the CUDA backend in FOLDER, with these
# variables set, installs it beside nothing else and uses it: arrays on the CPU everywhere, the GPU where
# there is one, and where there is none an exception that says what is missing.
set -eu
python=$1
folder=$2
shift 2
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder"
rm -rf "$folder/wheels" "$folder/installed"
env "$@" CSZ_VERSION_SUFFIX=cuda CSZ_PYTHON_BUILD="$folder/build" \
    "$python" -m pip wheel --no-build-isolation --no-deps -w "$folder/wheels" "$source" >"$folder/wheel.log" 2>&1 || {
    tail -n 40 "$folder/wheel.log"
    exit 1
}
ls "$folder"/wheels/csz-*+cuda-py3-none-*.whl
"$python" -m pip install -q --no-compile --no-deps --no-index --target "$folder/installed" "$folder"/wheels/csz-*.whl
cd "$folder"
unset CSZ_LIBRARY
PYTHONPATH=$folder/installed "$python" - <<'PY'
import os
import numpy as np
import csz

features = csz.features()
print(features)
assert features["library"].startswith(os.environ["PYTHONPATH"]) and features["cuda_built"], features
field = np.sin(np.arange(64 * 64 * 64, dtype="float32") * 0.01).reshape(64, 64, 64)
archive = csz.compress(field, abs=1e-3)
assert csz.compare(field, csz.decompress(archive), bound=1e-3)
try:
    assert csz.compress(field, abs=1e-3, backend="cuda") == archive
    assert features["cuda_available"]
    print("the GPU writes the same archive")
except csz.BackendError as error:
    assert not features["cuda_available"] and ("driver" in str(error) or "card" in str(error)), error
    print("without a GPU:", error)
PY
