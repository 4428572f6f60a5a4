# SPDX-License-Identifier: BSD-3-Clause
"""What an archive says of itself."""

from __future__ import annotations

import ctypes as c
import math
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _arrays, _cuda, _library, _metadata
from ._arguments import integer_of
from ._library import BOUND_MODES, DTYPES, WORKFLOWS, check as _check, lib


@dataclass(frozen=True)
class Info:
    """What an archive says of itself; see :func:`info`."""

    shape: tuple[int, ...]
    """Dims of the field, slowest first: 1 to 4 of them."""
    dtype: np.dtype[Any]
    mode: str
    """Which bound was given: abs, rel, psnr or pwr; or exact."""
    bound: float
    """The bound as given."""
    bound_abs: float
    """What no finite value differs by more than; 0 means exact.  NaN with pwr, where that depends on the
    value."""
    workflow: str
    fill: float | None
    """The value that stands for missing ones, where one was given."""
    zstd: bool
    format_version: int
    size: int
    nbytes: int
    """Bytes of the field."""
    nbytes_archive: int
    frames: int
    tiles: int
    tile_shape: tuple[int, ...]
    levels: int
    """Levels of resolution, the field's own included; 1 means that there are no previews."""
    level_shapes: tuple[tuple[int, ...], ...]
    """The shape of each level, the field's own first."""
    predictor: str | None
    """How frames are predicted: lorenzo, pyramid, or auto where some are and some are not.  None where that
    is to be looked up in the frames, and ``survey`` was not given; likewise of the next two."""
    pyramids: int | None
    """Frames that the pyramid predicts."""
    level_nbytes: tuple[int, ...] | None = None
    """Bytes of the archive that a preview of each level reads, headers and index apart."""
    name: str | None = None
    """What the field is called, where the archive says so."""
    dims: tuple[str, ...] | None = None
    """Names of the dims, slowest first, where the archive has them."""
    floor: float | None = None
    """The absolute error that values may have besides a pointwise bound, where one was given."""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """Attributes: text, lists of text, NumPy scalars and arrays."""

    @property
    def ratio(self) -> float:
        """Bytes of the field over bytes of the archive."""
        return self.nbytes / self.nbytes_archive


def inspect(archive: _arrays.View, survey: bool = False) -> Info:
    raw, counts = _library.Info(), _library.TileCounts()
    if archive.device is None:
        status = lib.csz_inspect(c.byref(raw), c.sizeof(raw), archive.pointer, archive.nbytes)
    else:
        start = _cuda.read(archive.device, archive.stream, archive.pointer, min(archive.nbytes, _library.HEADER_MAX_NBYTES))
        status = lib.csz_inspect_header(c.byref(raw), c.sizeof(raw), (c.c_char * len(start)).from_buffer(start), len(start))
    _check(status, f"reading an archive of {archive.nbytes} bytes")
    if survey:
        host = _arrays.host_copy(archive)
        status = _cuda.call(lib.csz_survey, None, (), c.byref(counts), c.sizeof(counts), host.pointer, host.nbytes)
        _check(status, f"reading an archive of {archive.nbytes} bytes")
    is_known = survey or not raw.has_pyramids
    name, dims, attrs = _metadata.decode(_section(archive, raw.metadata_nbytes))
    return Info(
        shape=tuple(raw.field.dims[: raw.field.ndim]),
        dtype=np.dtype(DTYPES[raw.field.type]),
        mode="exact" if raw.bound_mode == _library.EXACT else BOUND_MODES[raw.bound_mode],
        bound=raw.bound,
        bound_abs=math.nan if raw.bound_abs and BOUND_MODES[raw.bound_mode] == "pwr" else raw.bound_abs,
        floor=raw.floor or None,
        workflow=WORKFLOWS[raw.workflow],
        fill=raw.fill if raw.has_fill else None,
        zstd=bool(raw.has_zstd),
        format_version=raw.format_version,
        size=raw.nelements,
        nbytes=raw.nbytes_field,
        nbytes_archive=archive.nbytes,
        frames=raw.nframes,
        tiles=raw.ntiles,
        tile_shape=tuple(raw.tile_dims),
        levels=raw.nlevels,
        level_shapes=tuple(_level_shape(raw, level) for level in range(raw.nlevels)),
        predictor=None if not is_known else "lorenzo" if counts.npyramids == 0 else "pyramid" if counts.npyramids == raw.nframes else "auto",
        pyramids=counts.npyramids if is_known else None,
        level_nbytes=tuple(counts.nbytes_level[: raw.nlevels]) if survey else None,
        name=name,
        dims=dims,
        attrs=attrs,
    )


def _section(archive: _arrays.View, nbytes: int) -> bytes:
    """The metadata of an archive, its last bytes."""
    if archive.device is None or nbytes > archive.nbytes:
        return c.string_at(archive.pointer + archive.nbytes - nbytes, nbytes) if 0 < nbytes <= archive.nbytes else b""
    if nbytes == 0:
        return b""
    section = bytes(_cuda.read(archive.device, archive.stream, archive.pointer + archive.nbytes - nbytes, nbytes))
    _check(lib.csz_metadata_check(section, nbytes), "reading the attributes of an archive")
    return section


def _level_shape(raw: _library.Info, level: int) -> tuple[int, ...]:
    field = _library.Field()
    _check(lib.csz_level_field(c.byref(field), c.byref(raw), level), f"level {level} of an archive with {'previews 1 to ' + str(raw.nlevels - 1) if raw.nlevels > 1 else 'no previews'}")
    return tuple(field.dims[: field.ndim])


def level_shape(archive: _arrays.View, level: int) -> tuple[int, ...]:
    """The shape of a preview."""
    raw = _library.Info()
    _check(lib.csz_inspect(c.byref(raw), c.sizeof(raw), archive.pointer, archive.nbytes), f"reading an archive of {archive.nbytes} bytes")
    return _level_shape(raw, integer_of("level", level, 0, 31))
