# SPDX-License-Identifier: BSD-3-Clause
"""Warnings: values that look like fill values, bounds that keep nothing, archives given as arrays."""

from __future__ import annotations

import ctypes as c
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from . import _arrays, _errors, _library, _ranges
from ._arguments import Fill, named_fill
from ._library import BOUND_MODES, DTYPES, lib

_WITHIN = {"csz", "zarr", "numcodecs", "dataclasses", "asyncio", "concurrent", "threading"}


def outside() -> tuple[str, int]:
    """File and line of the nearest caller outside this package and those that call it as a codec."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _WITHIN:
        frame = frame.f_back
    assert frame is not None
    return frame.f_code.co_filename, frame.f_lineno


def _number(value: float, dtype: np.dtype[Any]) -> str:
    return str(dtype.type(value)).replace("+", "")


def warn_of_fill(
    suspect: _library.FillSuspect, outlier: _library.FillOutlier, fill: Fill, dtype: np.dtype[Any], where: tuple[str, int] | None = None
) -> bool:
    """Warns of values that look like fill values, and of one too rare for that beside which the bound
    flattens all others, unless none is said to be one.  ``where``: the line to blame, by default the
    caller's."""
    if isinstance(fill, str):
        return False
    if outlier.found:
        text, span = _number(outlier.value, dtype), outlier.high - outlier.low
        advice = f"give fill={text} if that marks missing values, fill='none' if it is data, or"
        if fill is not None:
            advice = f"make that {_number(fill, dtype)} if it marks missing values, or give"
        warnings.warn_explicit(
            f"the bound is {outlier.bound_abs:.4g}, but most values span {span:.4g} and may come back as {'one' if 2 * outlier.bound_abs >= span else 'a few'}: the range "
            f"counts {text} and perhaps others, far outside: {advice} another bound",
            _errors.FillWarning,
            *(outside() if where is None else where),
        )
    if not suspect.found:
        return bool(outlier.found)
    text, other = (_number(value, dtype) for value in (suspect.value, suspect.other))
    also = f" and {other} in about {100 * suspect.other_share:.3g}%" if suspect.found > 1 else ""
    if suspect.found > 2:
        also = f",{also[4:]} and more such numbers in some"
    advice = f"give fill={text} if it marks missing values, or fill='none' if it is data"
    if suspect.found > 1:
        advice = "make them one and give that as fill if they mark missing values, or give fill='none' if they are data"
    if fill is not None and suspect.missing_share > 0:
        also += f", besides the fill value {_number(fill, dtype)},"
        advice = "make all missing values one"
    warnings.warn_explicit(
        f"{text} stands in about {100 * suspect.share:.3g}%{also} of the values, far outside the others "
        f"({suspect.low:.4g} to {suspect.high:.4g}): {advice}",
        _errors.FillWarning,
        *(outside() if where is None else where),
    )
    return True


def warn_of_bound(array: Any, abs: float | None, rel: float | None, psnr: float | None, floor: float | None, fill: Fill) -> None:
    """Warns of a bound, or a floor, so large, from half the range on, that all values may come back as one."""
    name, most = ("abs", abs) if floor is None else ("floor", floor)
    share = rel if rel is not None else 0 if psnr is None else 10 ** (-psnr / 20)
    if share >= 0.5:
        text = f"rel={rel:g} allows errors of {rel:g} times the range" if rel is not None else f"psnr={psnr:g} allows errors of {share:.3g} times the range"
    elif most is not None and hasattr(array, "shape") and not _arrays.is_device(array):
        # First of some values: to look at all takes as long as compressing.
        array = _arrays.in_parts(array)
        few = array[tuple(slice(None, None, max(1, n // 16)) for n in array.shape)]
        limits = _ranges.range_of(few, named_fill(fill))
        if limits is not None and limits[0] < limits[1] and 2 * most >= limits[1] - limits[0]:
            limits = _ranges.range_of(array, named_fill(fill))
        if limits is None or limits[0] == limits[1] or 2 * most < limits[1] - limits[0]:
            return
        text = f"{name}={most:g} exceeds {'' if most >= limits[1] - limits[0] else 'half of '}what the values span, {limits[1] - limits[0]:.4g}"
    else:
        return
    warnings.warn_explicit(f"{text}: all may come back as one; give a {'larger PSNR' if psnr is not None else f'smaller {name}' if name == 'floor' else 'smaller bound'}", UserWarning, *outside())


def _header(archive: Any) -> _library.Info | None:
    """What the archive says of itself, if it is on the host."""
    info = _library.Info()
    if not isinstance(archive, bytes) or lib.csz_inspect_header(c.byref(info), c.sizeof(info), c.cast(c.c_char_p(archive), c.c_void_p), len(archive)) != 0:
        return None
    return info


def warn_of_fineness(archive: Any, pwr: float) -> None:
    """Warns of a pointwise bound finer than logarithms of the type, of which the archive has no use."""
    info = _header(archive)
    if info is None or info.bound_mode == BOUND_MODES.index("pwr"):
        return
    kept = "kept bit for bit" if info.bound_mode == _library.EXACT else f"kept within the floor, {info.bound_abs:g}"
    warnings.warn_explicit(f"pwr={pwr:g} is too fine for logarithms of {DTYPES[info.field.type]}: every value is {kept}", UserWarning, *outside())


def warn_of_target(array: Any, archive: Any, fill: Fill) -> None:
    """Warns where a ratio or size was reached with a bound of a tenth of the range or more."""
    info = _header(archive)
    if _arrays.is_device(array) or info is None:
        return
    limits = _ranges.range_of(_arrays.in_parts(array), named_fill(fill))
    if limits is None or limits[0] == limits[1] or info.bound_abs < 0.1 * (limits[1] - limits[0]):
        return
    warnings.warn_explicit(
        f"such an archive takes a bound of {info.bound_abs:.4g}, {100 * info.bound_abs / (limits[1] - limits[0]):.0f}% of the range: most detail is lost; "
        "ask for less" + (", or try predictor='auto'" if sum(n > 1 for n in info.field.dims[: info.field.ndim]) > 1 and not info.has_pyramids else ""),
        UserWarning,
        *outside(),
    )


def warn_of_jump(target: _library.Target, nbytes: int, warn: Callable[[], bool]) -> bool:
    """Warns where the bound that was found makes an archive of ``nbytes`` much smaller than asked for, besides
    what ``warn`` does.  Nothing is lost where the archive is exact, and :func:`info` says so."""
    if nbytes and target.bound > 0 and not target.is_close:
        tighter = f"the next tighter bound that was tried reaches {nbytes / target.nbytes_low:.2f}, which is too little" if target.has_low else "no tighter bound was tried"
        warnings.warn_explicit(f"the archive reaches ratio {nbytes / target.nbytes:.2f}, more than asked for: {tighter}", UserWarning, *outside())
    return warn()


def starts_as_archive(array: Any) -> bool:
    start, info = _arrays.as_numpy(array).flat[: _library.HEADER_MAX_NBYTES].tobytes(), _library.Info()
    return bool(lib.csz_inspect_header(c.byref(info), c.sizeof(info), c.cast(c.c_char_p(start), c.c_void_p), len(start)) == 0)
