# SPDX-License-Identifier: BSD-3-Clause
"""CuPy arrays of one shape, compressed and restored in one set of launches, for chunks.

These are shortcuts.  A result is None where the call could not do it: a damaged archive, one with another
shape, predictor or zstd, no memory for all at once.  It is then done alone, as without this module, and an
error there says what is wrong.
"""

from __future__ import annotations

import ctypes as c
from typing import Any, Sequence

import numpy as np

from . import _arguments, _arrays, _cuda, _errors, _library
from ._library import lib

_RESULT = np.dtype([("nbytes", np.uint64), ("status", np.uint32), ("faults", np.uint32)])  # csz_cuda_result
_ALIGNMENT = 256  # of CuPy's own allocations


def compress(arrays: Sequence[Any], fill: _arguments.Fill, **settings: Any) -> list[Any]:
    """An archive of each array; ``settings`` as of :func:`csz.compress`."""
    named, n = _arguments.named_fill(fill), len(arrays)
    sources = [_arrays.view_field(array, named) for array in arrays]
    if not _are_alike(sources):
        return [None] * n
    _arguments.check_fill(named, sources[0])
    options, field, capacity = _arguments.compress_options(fill=named, **settings), _arguments.field_of(sources[0]), c.c_size_t()
    if lib.csz_compress_bound(c.byref(capacity), c.byref(field), c.byref(options)):
        return [None] * n
    step = -(-capacity.value // _ALIGNMENT) * _ALIGNMENT
    try:
        room, out = _make(sources[0], (n * step,), np.dtype("uint8"))
        results = _make(sources[0], (n, 2), np.dtype("uint64"))[1]
    except _errors.OutOfMemoryError:
        return [None] * n
    status = _cuda.call(
        lib.csz_cuda_compress_batch, out.device, [view.stream for view in (out, results, *sources)],
        n, _pointers([out.pointer + i * step for i in range(n)]), (c.c_size_t * n)(*[step] * n), results.pointer,
        _pointers([source.pointer for source in sources]), c.byref(field), c.byref(options), None, 0, None,
    )  # fmt: skip
    archives = [
        None if nbytes is None else room[i * step : i * step + nbytes].copy() for i, nbytes in enumerate(_sizes(status, results, n))
    ]
    for archive in archives:
        if archive is not None:
            view = _arrays.view_device(archive)
            assert view.device is not None
            _cuda.wait(view.device, view.stream)  # before the room goes
    return archives


def decompress(archives: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any], predictor: str) -> list[Any]:
    """The arrays of archives that were made with this predictor."""
    n, sources = len(archives), [_arrays.view_archive(archive) for archive in archives]
    if len({source.device for source in sources}) > 1:
        return [None] * n
    try:
        made = [_make(sources[0], shape, dtype) for _ in archives]
        results = _make(sources[0], (n, 2), np.dtype("uint64"))[1]
    except _errors.OutOfMemoryError:
        return [None] * n
    targets = [target for _, target in made]
    field, is_lorenzo = _arguments.field_of(targets[0]), predictor == _library.PREDICTORS[0]
    status = _cuda.call(
        lib.csz_cuda_decompress_batch if is_lorenzo else lib.csz_cuda_decompress_level_batch,
        results.device, [view.stream for view in (results, *sources, *targets)],
        n, _pointers([target.pointer for target in targets]), targets[0].nbytes, results.pointer,
        _pointers([source.pointer for source in sources]), (c.c_size_t * n)(*(source.nbytes for source in sources)), None,
        c.byref(field), *([] if is_lorenzo else [0]), None, 0, None,
    )  # fmt: skip
    return [None if nbytes is None else array for nbytes, (array, _) in zip(_sizes(status, results, n), made)]


def _are_alike(views: Sequence[_arrays.View]) -> bool:
    return len({(view.device, view.shape, view.dtype) for view in views}) == 1


def _make(like: _arrays.View, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, _arrays.View]:
    return _arrays.make(_arrays.place_of(None, like), shape, dtype)


def _pointers(addresses: Sequence[int]) -> Any:
    return (c.c_void_p * len(addresses))(*addresses)


def _sizes(status: int, results: _arrays.View, n: int) -> list[int | None]:
    """What the device says of each, once it is done: the size, or None where it failed."""
    if status:
        return [None] * n
    assert results.device is not None
    told = np.frombuffer(_cuda.read(results.device, None, results.pointer, n * _RESULT.itemsize), dtype=_RESULT)
    return [None if one["status"] else int(one["nbytes"]) for one in told]
