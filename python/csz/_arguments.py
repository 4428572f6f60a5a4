# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of calls, checked, and the library's options made of them."""

from __future__ import annotations

import ctypes as c
import math
import operator
from typing import Any, Literal, Sequence, Union

import numpy as np

from . import _arrays, _cuda, _errors, _library
from ._library import BACKENDS, BOUND_MODES, DTYPES, MAX_NDIM, PREDICTORS, WORKFLOWS, lib
from ._shapes import fold

Workflow = Literal["auto", "huffman", "rle", "rle+vle"]
Predictor = Literal["lorenzo", "pyramid", "auto"]
Backend = Literal["auto", "cpu", "cuda"]
Fill = Union[float, Literal["none"], None]


def choice_of(name: str, value: str, names: Sequence[str]) -> int:
    try:
        return names.index(value)
    except ValueError:
        raise _errors.ArgumentError(f"{name} is one of {', '.join(names)}, not {value!r}") from None


def integer_of(name: str, value: Any, least: int, most: int) -> int:
    try:
        if isinstance(value, (bool, np.bool_)):  # which index() would take
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise _errors.ArgumentError(f"{name} is a whole number, not {value!r}") from None
    if not least <= number <= most:
        raise _errors.ArgumentError(f"{name} lies between {least} and {most}, not {number}")
    return number


def number_of(name: str, value: Any, kind: type[_errors.Error] = _errors.ArgumentError) -> float:
    try:
        if isinstance(value, (bool, np.bool_, str, bytes, bytearray)):  # which float() would take
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise kind(f"{name} is a number, not {_errors.shown(value)}") from None


def bound_of(abs: float | None, rel: float | None, psnr: float | None, pwr: float | None = None) -> tuple[str, float]:
    """The one bound given, as a mode and a number."""
    given = [(mode, value) for mode, value in zip(BOUND_MODES, (abs, rel, psnr, pwr)) if value is not None]
    if len(given) != 1:
        raise _errors.BoundError("give exactly one of abs=, rel=, psnr= and pwr=")
    mode, value = given[0]
    number = number_of(mode, value, _errors.BoundError)
    if not 0 < number < math.inf:
        raise _errors.BoundError(f"{mode} is a positive finite number, not {value!r}")
    if mode == "pwr" and number >= 1:
        raise _errors.BoundError(f"pwr is a number below 1, not {value!r}")
    return mode, number


def floor_of(floor: float | None, mode: str) -> float:
    """The absolute error that values may have besides a pointwise bound, or 0."""
    if floor is None:
        return 0.0
    number = number_of("floor", floor, _errors.BoundError)
    if mode != "pwr" or not 0 < number < math.inf:
        raise _errors.BoundError(f"floor is a positive finite number beside pwr=, not {floor!r}")
    return number


def unsigned_zeros_of(unsigned_zeros: bool, keeps_signs: bool) -> int:
    """1 where -0.0 counts as 0, which a pointwise bound and exact=True rule out."""
    if not isinstance(unsigned_zeros, (bool, np.bool_)):
        raise _errors.ArgumentError(f"unsigned_zeros is True or False, not {_errors.shown(unsigned_zeros)}")
    if unsigned_zeros and keeps_signs:
        raise _errors.ArgumentError("pwr= and exact=True keep signs; leave out unsigned_zeros=True")
    return int(unsigned_zeros)


def check_exact(workflow: str, predictor: str) -> None:
    """What exact=True leaves no choice of."""
    if workflow != "auto":
        raise _errors.ArgumentError(f"exact=True has one way to code values; leave out workflow={workflow!r}")
    if predictor == "pyramid":
        raise _errors.ArgumentError("exact=True cannot interpolate; leave out predictor='pyramid'")


def bound_or_target(
    abs: float | None, rel: float | None, psnr: float | None, pwr: float | None, ratio: float | None, size: int | None, exact: bool = False
) -> tuple[int, float]:
    """The one bound or target given, as the number of its mode and its own."""
    if exact:
        if any(value is not None for value in (abs, rel, psnr, pwr, ratio, size)):
            raise _errors.BoundError("exact=True keeps every bit; give no bound and no target with it")
        return _library.EXACT, 0.0
    targets = [(mode, value) for mode, value in (("ratio", ratio), ("size", size)) if value is not None]
    if not targets and sum(value is not None for value in (abs, rel, psnr, pwr)) == 1:
        mode, bound = bound_of(abs, rel, psnr, pwr)
        return BOUND_MODES.index(mode), bound
    if len(targets) != 1 or any(value is not None for value in (abs, rel, psnr, pwr)):
        raise _errors.BoundError("give exactly one of abs=, rel=, psnr=, pwr=, ratio=, size= and exact=True")
    mode, value = targets[0]
    number = number_of(mode, value, _errors.BoundError)
    if not 0 < number < math.inf:
        raise _errors.BoundError(f"{mode} is a positive finite number, not {value!r}")
    return _library.TARGETS[mode], number


_FLOAT32_END = float.fromhex("0x1.ffffffp127")  # the largest float32 and half a step: from here on numbers round to infinity


def check_fill(fill: float | None, view: _arrays.View) -> None:
    """Refuses a fill value that becomes infinite in the array's type."""
    if fill is not None and view.dtype.itemsize == 4 and _FLOAT32_END <= math.fabs(fill) < math.inf:
        raise _errors.ArgumentError(f"fill {fill!r} does not fit float32: give the value as it stands in the array")


def fill_of(fill: float | None) -> float | None:
    """The fill value as it is given, which for integers may exceed what a float holds; refused if no number."""
    if fill is not None:
        number_of("fill", fill)
    return fill


def named_fill(fill: Fill) -> float | None:
    """The fill value, None where there is none, whether it was left out or said."""
    return None if isinstance(fill, str) and fill == "none" else fill_of(fill)


def _limit(memory_limit: int | None) -> int:
    """What csz.h calls it: 0 is none."""
    if memory_limit is None:
        return 0
    try:
        nbytes = operator.index(memory_limit)
    except TypeError:
        nbytes = 0
    if nbytes <= 0:
        raise _errors.ArgumentError(f"memory_limit is a whole number of bytes above 0, or None for no limit, not {memory_limit!r}")
    return min(nbytes, 2**63)


def _machine(options: _library.Options | _library.DecompressOptions, backend: str, threads: int) -> None:
    """Sets what options of compressing and of decompressing have in common."""
    options.backend = choice_of("backend", backend, BACKENDS)
    if options.backend == _library.CUDA:
        _cuda.require()
    options.threads = integer_of("threads", threads, 0, 2**31 - 1)


def decompress_options(backend: str, threads: int, memory_limit: int | None) -> _library.DecompressOptions:
    options = _library.DecompressOptions()
    lib.csz_decompress_options_init_sized(c.byref(options), c.sizeof(options))
    _machine(options, backend, threads)
    options.memory_limit = _limit(memory_limit)
    return options


def base_options(backend: str, threads: int, fill: float | None = None) -> _library.Options:
    options = _library.Options()
    lib.csz_options_init_sized(c.byref(options), c.sizeof(options))
    _machine(options, backend, threads)
    if fill is not None:
        options.has_fill = 1
        options.fill = number_of("fill", fill)
    return options


def compress_options(
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    fill: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    workflow: str = "auto",
    predictor: str = "lorenzo",
    backend: str = "auto",
    threads: int = 0,
    zstd: int = 0,
    unsigned_zeros: bool = False,
) -> _library.Options:
    """Checked options, without metadata."""
    mode, bound = bound_or_target(abs, rel, psnr, pwr, ratio, size, exact)
    options = base_options(backend, threads, fill)
    options.bound_mode, options.bound = mode, bound
    options.floor = floor_of(floor, "pwr" if pwr is not None else "")
    options.unsigned_zeros = unsigned_zeros_of(unsigned_zeros, pwr is not None or exact)
    options.workflow = choice_of("workflow", workflow, WORKFLOWS)
    options.predictor = choice_of("predictor", predictor, PREDICTORS)
    if exact:
        check_exact(workflow, predictor)
    options.zstd_level = integer_of("zstd", zstd, 0, 22)
    return options


def field_of(view: _arrays.View) -> _library.Field:
    dims = fold(view.shape)
    if max(dims) >= 2**64:
        raise _errors.DimsError(f"the shape {view.shape} holds more than 2**56 elements")
    return _library.Field(DTYPES.index(view.dtype.name), len(dims), (c.c_uint64 * MAX_NDIM)(*dims))


_WORTH_A_GPU = 32 << 20  # bytes from which AUTO takes the GPU for data on the host; see csz.h


def device_of(options: _library.Options | _library.DecompressOptions, *views: _arrays.View) -> int | None:
    """The device that a call runs on, None where it cannot need one."""
    devices = {view.device for view in views if view.device is not None}
    if len(devices) > 1:
        raise _errors.ArgumentError(f"the arrays lie on different devices: {sorted(devices)}")
    if devices:
        if options.backend == _library.CPU:
            raise _errors.ArgumentError("backend='cpu' cannot reach an array on the GPU: leave backend out, or move the array to the host")
        return devices.pop()
    if options.backend == BACKENDS.index("auto") and all(view.nbytes < _WORTH_A_GPU for view in views):
        options.backend = _library.CPU  # what the library would choose, without starting CUDA to find out
    if options.backend == _library.CPU or not _cuda.usable():
        return None
    return _cuda.current_device()
