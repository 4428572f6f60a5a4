# SPDX-License-Identifier: BSD-3-Clause
"""Section 3, the header."""
import struct
from math import prod

from .bits import U32, ceil_div, checksum, require, u64_of, words_of
from .tiles import aligned_frame_grid, default_frame_grid, effective_dims

FEATURE_FILL = 1
FEATURE_FRAME_GRID = 2
FEATURE_ZSTD = 4
FEATURE_FLOOR = 8


class Header:
    def __init__(self, archive):
        require(len(archive) >= 56 and archive[:4] == b"CSZ+", "this is not a cuSZ+ archive")
        version, kind, ndims, bound_mode, features, _ = struct.unpack_from("<4B2H", archive, 4)
        require(version == 1, f"format version {version} is not known")
        predictor, lz, ly, lx, workflow, zero8, self.nbytes, self.metadata_nbytes = struct.unpack_from("<6BHI", archive, 12)
        require(self.nbytes % 4 == 0 and 56 <= self.nbytes <= min(256, len(archive)),
                "the header's size is not possible")
        words = words_of(archive[:self.nbytes])
        require(checksum(0, words[:-2]) == u64_of(*words[-2:]), "the header's checksum does not agree")

        require(kind <= 1, "the type is not known")
        require(1 <= ndims <= 4, "the number of dims is not 1 to 4")
        require(bound_mode <= 4, "the bound mode is not known")
        self.is_pointwise, self.is_exact = bound_mode == 3, bound_mode == 4
        require(features & ~15 == 0, "the archive has features that are not known")
        require(predictor <= 1, "the predictor is not known")
        self.may_be_pyramid = predictor == 1
        require(workflow <= 3, "the workflow is not known")
        require(zero8 == 0, "padding of the header is not zero")
        require(self.metadata_nbytes % 8 == 0 and self.metadata_nbytes <= 2**20, "the metadata's size is not possible")
        self.is_f64 = kind == 1
        self.zstd = bool(features & FEATURE_ZSTD)

        needed = 40 + 8 * ndims + 8 * bool(features & FEATURE_FILL) + 16 * bool(features & FEATURE_FRAME_GRID) + 8
        needed += 8 * bool(features & FEATURE_FLOOR)
        require(self.nbytes >= needed, "the header is too small for what it holds")
        self.asked_bound, self.bound = struct.unpack_from("<2d", archive, 24)
        if self.is_exact:
            require(archive[24:40] == bytes(16) and predictor == 0 and workflow == 0, "an exact archive has a bound, predictor or workflow")
        require(not self.is_pointwise or max(self.asked_bound, self.bound) < 1, "a pointwise bound is not below 1")
        require(self.is_exact or 0 < self.asked_bound < float("inf"), "the bound asked for is not a finite number above 0")
        require(0 <= self.bound < float("inf"), "the bound is not a finite number from 0 up")
        self.dims = struct.unpack_from(f"<{ndims}Q", archive, 40)
        self.nelements = prod(self.dims)
        require(prod(n for n in self.dims if n) <= 2**56, "the field is too large")
        offset = 40 + 8 * ndims
        if features & FEATURE_FILL:
            fill, = struct.unpack_from("<Q", archive, offset)
            require(self.is_f64 or fill <= U32, "padding of the fill value is not zero")
            offset += 8

        self.rank, self.extents = effective_dims(self.dims)
        require(lz + ly + lx == 12 and lx >= 2, "the tile is not 4096 elements with rows of at least 4")
        require((self.rank == 3 or lz == 0) and (self.rank > 1 or ly == 0), "the tile has dims that the field lacks")
        self.tile = (1 << lz, 1 << ly, 1 << lx)
        require(not self.may_be_pyramid or (self.rank > 1 and min(self.tile[3 - self.rank:]) > 1),
                "the tile does not suit pyramids")
        self.grid = tuple(ceil_div(n, t) for n, t in zip(self.extents, self.tile))
        self.frame_grid = default_frame_grid(*self.grid)
        if self.may_be_pyramid:
            self.frame_grid = aligned_frame_grid(self.frame_grid, self.grid, self.tile)
        if features & FEATURE_FRAME_GRID:
            *frame_grid, zero = struct.unpack_from("<4I", archive, offset)
            require(zero == 0, "padding of the frame grid is not zero")
            self.frame_grid = tuple(frame_grid)
            require(1 <= prod(self.frame_grid) <= 2**20, "the frame grid is not possible")
            require(not self.may_be_pyramid or self.frame_grid == aligned_frame_grid(self.frame_grid, self.grid, self.tile),
                    "frames do not begin at multiples of 8")
            offset += 16
        self.floor = 0.0
        if features & FEATURE_FLOOR:
            self.floor, = struct.unpack_from("<d", archive, offset)
            require(self.is_pointwise and 0 < self.floor < float("inf"), "the floor is not possible")
        self.ntiles = self.nframes = 0
        if self.nelements:
            self.ntiles = prod(self.grid)
            self.nframes = prod(ceil_div(g, f) for g, f in zip(self.grid, self.frame_grid))
