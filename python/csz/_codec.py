# SPDX-License-Identifier: BSD-3-Clause
"""What the codecs for Zarr 2 and 3 share: settings, and how they read in JSON."""

from __future__ import annotations

import math
import os
import sys
from typing import Any, Callable

import numpy as np

from . import _api, _arguments, _arrays, _errors, _ranges, _warnings
from ._library import PREDICTORS, WORKFLOWS

_NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def number_to_json(value: float | None) -> float | str | None:
    """JSON has no name for what is not finite; Zarr writes it so."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number_from_json(name: str, value: Any) -> float | None:
    """A number, or None where there is none, which "none" says too."""
    if value is None or (isinstance(value, str) and value == "none"):
        return None
    if isinstance(value, str):
        if value not in _NAMED:
            raise _errors.ArgumentError(f"{name} is a number, NaN, Infinity, -Infinity or none, not {value!r}")
        return _NAMED[value]
    return _arguments.number_of(name, value)


def settings(
    abs: Any, rel: Any, psnr: Any, workflow: str, predictor: str, zstd: int, pwr: Any = None, floor: Any = None, exact: bool = False,
    unsigned_zeros: bool = False,
) -> dict[str, Any]:
    """Checked settings without what is left at its default, as they are stored."""
    mode = ""
    stored: dict[str, Any] = {"exact": True}
    if exact:
        _arguments.check_exact(workflow, predictor)
        if any(value is not None for value in (abs, rel, psnr, pwr)):
            raise _errors.BoundError("exact=True keeps every bit; give no bound with it")
    else:
        mode, bound = _arguments.bound_of(abs, rel, psnr, pwr)
        stored = {mode: bound}
    if _arguments.floor_of(floor, mode):
        stored["floor"] = _arguments.floor_of(floor, mode)
    if _arguments.unsigned_zeros_of(unsigned_zeros, mode == "pwr" or exact):
        stored["unsigned_zeros"] = True
    _arguments.choice_of("workflow", workflow, WORKFLOWS)
    if workflow != "auto":
        stored["workflow"] = workflow
    _arguments.choice_of("predictor", predictor, PREDICTORS)
    if predictor != PREDICTORS[0]:
        stored["predictor"] = predictor
    level = _arguments.integer_of("zstd", zstd, 0, 22)
    if level:
        stored["zstd"] = level
    return stored


def check_threads(threads: Any) -> int | None:
    """A codec is made long before its first chunk, so what it is given is checked then."""
    return None if threads is None else _arguments.integer_of("threads", threads, 0, 2**31 - 1)


def threads_of(threads: int | None) -> int:
    """Threads for one chunk: as given, else CSZ_CODEC_THREADS, else 1, because chunks are already worked on
    side by side."""
    if threads is None:
        text = os.environ.get("CSZ_CODEC_THREADS", "1")
        if not text.isdigit():
            raise _errors.ArgumentError(f"CSZ_CODEC_THREADS is a whole number, not {text!r}")
        threads = int(text)
    return _arguments.integer_of("threads", threads, 0, 2**31 - 1)


def bound_without(chunk: Any, stored: dict[str, Any], padding: float, fill: float | None) -> dict[str, Any]:
    """Settings with a relative bound resolved over values that are neither padding nor missing.  Where they
    are all one value they must come back exactly, for which the smallest bound serves; a chunk of padding
    alone keeps the relative one."""
    if _arrays.is_device(chunk):
        kept = chunk[(chunk != chunk.dtype.type(padding)) & (chunk - chunk == 0)]  # finite
        kept = kept if fill is None else kept[kept != kept.dtype.type(fill)]
        limits = (float(kept.min()), float(kept.max())) if kept.size else None
    else:
        values = _arrays.host_copy(_arrays.view_field(chunk)).owner
        limits = _ranges.value_range(values[values != values.dtype.type(padding)], fill)
    if limits is None:
        return stored
    mode = "rel" if "rel" in stored else "psnr"
    rest = {name: value for name, value in stored.items() if name != mode}
    bound = _api.absolute_bound(np.array(limits), **{mode: stored[mode]}) if limits[0] < limits[1] else 0.0
    return {"abs": max(bound, sys.float_info.min), **rest}


class Warner:
    """Warns of a forgotten fill value once for a codec, and blames the line that made it: chunks may be
    compressed by threads that have no caller."""

    def __init__(self) -> None:
        self.where, self.left = _warnings.outside(), [True]

    def __call__(self, warn: Callable[..., bool]) -> None:
        if self.left and warn(self.where):
            self.left.clear()


def compress_chunk(chunk: Any, stored: dict[str, Any], fill: _arguments.Fill, threads: int | None, warner: Warner) -> Any:
    backend: _arguments.Backend = "auto" if _arrays.is_device(chunk) else "cpu"
    archive, warn = _api.compress_quietly(chunk, **stored, fill=fill, threads=threads_of(threads), backend=backend)
    warner(warn)
    return archive


def decompress_chunk(archive: Any, threads: int | None, **options: Any) -> Any:
    backend: _arguments.Backend = "auto" if _arrays.is_device(archive) else "cpu"
    return _api.decompress(archive, threads=threads_of(threads), backend=backend, **options)
