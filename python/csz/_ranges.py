# SPDX-License-Identifier: BSD-3-Clause
"""The range of values of a dataset, which may be larger than memory."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator

import numpy as np

from . import _arguments, _arrays, _errors


def value_range(data: Any, fill: float | None = None) -> tuple[float, float] | None:
    """Minimum and maximum over finite values that are not missing, or None where there are none.

    ``data`` may be larger than memory: Dask arrays are reduced block by block, anything else with ``shape``
    and slices (Zarr, HDF5, memmap) is read some rows at a time.
    """
    return range_of(data, _arguments.fill_of(fill))


def range_of(data: Any, fill: float | None, look: Callable[[Any, int], None] | None = None) -> tuple[float, float] | None:
    """As value_range; ``look`` gets each block of rows and the number of its first element, but for Dask
    arrays."""
    if hasattr(data, "to_delayed") and hasattr(data, "dask"):
        import dask

        task = dask.delayed(_range_of_block)  # type: ignore[attr-defined]
        ranges = dask.compute(*(task(block, fill) for block in data.to_delayed().ravel()))  # type: ignore[attr-defined,no-untyped-call]
    else:
        data = _arrays.in_parts(data)
        ranges = tuple(_ranges_of_rows(data, fill, look)) if data.shape else (_range_of_block(data[()], fill),)
    low, high = min((r[0] for r in ranges), default=math.inf), max((r[1] for r in ranges), default=-math.inf)
    return (low, high) if low <= high else None


def _ranges_of_rows(data: Any, fill: float | None, look: Callable[[Any, int], None] | None) -> Iterator[tuple[float, float]]:
    row = math.prod(data.shape[1:])
    rows = max(1, (64 << 20) // max(1, row * np.dtype(data.dtype).itemsize))
    chunk = (getattr(data, "chunks", None) or (1,))[0]
    if isinstance(chunk, int):  # whole chunks, so that none is read twice
        rows = max(chunk, rows // chunk * chunk)
    for i in range(0, data.shape[0], rows):
        block = data[i : i + rows]
        if look is not None:
            look(block, i * row)
        yield _range_of_block(block, fill)


def _range_of_block(block: Any, fill: float | None) -> tuple[float, float]:
    values = _arrays.as_numpy(block)
    if values.dtype.kind not in "fiub":
        raise _errors.DtypeError(f"a range is of numbers, not of {values.dtype}")
    keep = np.isfinite(values)
    if fill is not None:
        missing = values == values.dtype.type(fill)
        if values.dtype.kind == "f":  # the library compares bits, to which 0.0 and -0.0 are two values
            missing &= np.signbit(values) == np.signbit(values.dtype.type(fill))
        keep &= ~missing
    values = values[keep]
    return (float(values.min()), float(values.max())) if values.size else (math.inf, -math.inf)
