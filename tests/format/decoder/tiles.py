# SPDX-License-Identifier: BSD-3-Clause
"""Section 1, from field to tiles: dims, frames, and the order of codes in a tile."""
from functools import lru_cache

TILE = 4096
UNITS = 128
CODES = 32


def effective_dims(dims):
    """(rank, (nz, ny, nx)) of the dims that the archive names."""
    extents = [n for n in dims if n != 1]
    if len(extents) == 4:
        extents[:2] = [extents[0] * extents[1]]
    rank = max(1, len(extents))
    return rank, tuple([1] * (3 - len(extents)) + extents)


@lru_cache
def elements_in_code_order(rank):
    """The element number e of each code 32 T + b."""
    if rank == 3:
        return [512 * (b >> 2) + 4 * T + (b & 3) for T in range(UNITS) for b in range(CODES)]
    return [1024 * (T >> 5) + 128 * (b >> 2) + 4 * (T & 31) + (b & 3) for T in range(UNITS) for b in range(CODES)]


def default_frame_grid(gz, gy, gx):
    if gx * gy * gz <= 8192:
        return gz, gy, gx
    if gx * gy <= 8192:
        return 8192 // (gx * gy), gy, gx
    if gx <= 8192:
        return 1, 8192 // gx, gx
    return 1, 1, 8192


def aligned_frame_grid(frame_grid, grid, tile):
    """Frames that begin at multiples of 8 elements."""
    aligned = []
    for F, g, t in zip(frame_grid, grid, tile):
        s = max(1, 8 // t)
        aligned.append(max(s, F // s * s) if F < g else F)
    return tuple(aligned)


def boxes(whole, box):
    """(origin, extents) of the boxes that cut up `whole`, in row-major order; those at the upper faces are
    smaller."""
    for z in range(0, whole[0], box[0]):
        for y in range(0, whole[1], box[1]):
            for x in range(0, whole[2], box[2]):
                yield (z, y, x), tuple(min(b, w - o) for b, w, o in zip(box, whole, (z, y, x)))
