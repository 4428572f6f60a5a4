# SPDX-License-Identifier: BSD-3-Clause
"""Shapes and regions: what an archive's dims keep of an array's shape, and which part of them a caller asks
for."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from . import _errors
from ._library import MAX_NDIM


def fold(shape: Sequence[int]) -> tuple[int, ...]:
    """The dims an archive stores for a shape: of more than four the slowest become one, and none become
    (1,)."""
    shape = tuple(shape)
    extra = max(len(shape) - MAX_NDIM, 0)
    return (math.prod(shape[: extra + 1]), *shape[extra + 1 :]) if shape else (1,)


def _axis(item: Any, extent: int, axis: int) -> tuple[int, int, bool]:
    """Begin, end, and whether the axis stays, of one entry of a region."""
    if isinstance(item, slice):
        if item.step not in (None, 1):
            raise _errors.RegionError(f"axis {axis}: a region has no step: decode it, then take {item.step} by {item.step}")
        begin, end, keep = item.start, item.stop, True
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        (begin, end), keep = item, True
    else:
        begin, end, keep = item, None, False
    try:
        if any(isinstance(number, (bool, np.bool_)) for number in (begin, end)):
            raise TypeError
        begin = 0 if begin is None and keep else operator.index(begin)
        end = None if end is None else operator.index(end)
    except TypeError:
        raise _errors.RegionError(f"axis {axis}: a region is made of slices, (begin, end) pairs and whole numbers, not {_errors.shown(item)}") from None
    begin += extent if begin < 0 else 0
    if end is None:
        end = extent if keep else begin + 1
    elif end < 0:
        end += extent
    if not (0 <= begin < end <= extent or begin == end == extent == 0):  # of an axis without elements, all of it
        raise _errors.RegionError(f"axis {axis}: {item!r} is empty, reversed or outside an extent of {extent}")
    return begin, end, keep


def region_of(region: Any, dims: tuple[int, ...]) -> tuple[list[int], list[int], tuple[int, ...]]:
    """Begin and end on every axis of the archive, and the shape of what they hold."""
    items = list(region) if isinstance(region, (tuple, list)) else [region]
    if sum(item is Ellipsis for item in items) > 1:
        raise _errors.RegionError("a region has at most one ellipsis")
    if Ellipsis not in [item if item is Ellipsis else None for item in items]:
        items.append(Ellipsis)
    if len(items) - 1 > len(dims):
        raise _errors.RegionError(f"the region has {len(items) - 1} axes, and the archive {len(dims)}: {dims}")
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at : at + 1] = [slice(None)] * (len(dims) - len(items) + 1)
    axes = [_axis(item, extent, axis) for axis, (item, extent) in enumerate(zip(items, dims))]
    return [a[0] for a in axes], [a[1] for a in axes], tuple(a[1] - a[0] for a in axes if a[2])


def shape_of(shape: Any, dims: tuple[int, ...], what: str, flat: bool = False) -> tuple[int, ...]:
    """A shape that holds the same elements in the same order as the archive's dims: only extents folded or of
    1 may differ."""
    try:
        wanted = tuple(operator.index(n) for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        raise _errors.DimsError(f"{what} is a tuple of whole numbers, not {shape!r}") from None
    def solid(s: Sequence[int]) -> list[int]:
        return [n for n in s if n != 1]
    if min(wanted, default=0) < 0 or not (
        solid(fold(wanted)) == solid(dims) or solid(wanted) == solid(dims) or (flat and wanted == (math.prod(dims),))
    ):
        raise _errors.DimsError(f"{what} {wanted} does not fit what is decoded, which is {dims}")
    return wanted
