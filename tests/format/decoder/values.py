# SPDX-License-Identifier: BSD-3-Clause
"""Sections 7 and 8: a tile, its values from deltas, and their checksum."""
import struct
from array import array
from functools import lru_cache
from itertools import accumulate
from operator import mul

from .bits import U32, u64_of
from .pointwise import Pointwise
from .tiles import CODES, TILE, elements_in_code_order


class Tile:
    """Where a tile lies in the field, or in a lattice of it."""

    is_result = True  # its values are the field's
    may_be_sparse = False

    def __init__(self, header, extents, origin, bound):
        self.is_f64, self.rank, self.shape, self.origin = header.is_f64, header.rank, header.tile, origin
        self.is_exact = header.is_exact
        self.step = step_of_bound(bound, header.is_f64)
        self.pointwise = Pointwise(header, bound) if header.is_pointwise else None
        self.inside = tuple(min(t, n - o) for t, n, o in zip(self.shape, extents, origin))
        self.value_nwords = 2 if self.is_f64 else 1

    def restore(self, codes, order, class_nbits, base):
        """The bits of the values of deltas in code order."""
        deltas = [0] * TILE
        for e, delta in zip(elements_in_code_order(self.rank), codes):
            deltas[e] = delta
        return values_of_deltas(self, deltas, order, class_nbits, base)

    def restore_nothing(self):
        """Of a tile without codes: raw, exact, or of one value."""

    def weights(self):
        """W of each element."""
        return element_weights(self.rank)

    def rows(self):
        """((z, y), x, element number, number of elements) of each row of the tile in the field."""
        for z in range(self.inside[0]):
            for y in range(self.inside[1]):
                at = (z * self.shape[1] + y) * self.shape[2]
                yield (self.origin[0] + z, self.origin[1] + y), self.origin[2], at, self.inside[2]

    def elements(self):
        """The numbers of the elements in the field, ascending."""
        return [e for _, _, at, n in self.rows() for e in range(at, at + n)]

    def values(self, words):
        """The bits of stored values."""
        return [u64_of(*pair) for pair in zip(words[::2], words[1::2])] if self.is_f64 else list(words)

    def bits(self, values=()):
        """An array of the bits of floating-point values, or of 4096 zeros."""
        typecode = "Q" if self.is_f64 else "I"
        return array(typecode, values.tobytes()) if values else array(typecode, [0]) * TILE


def add_up(u, starts, stride, n):
    """Partial sums of n elements, one in `stride`, from each of the starts."""
    for start in starts:
        line = slice(start, start + stride * (n - 1) + 1, stride)
        u[line] = list(accumulate(u[line]))


def partial_sums(tile, u, order):
    """Of deltas in order of e, in place.  In unbounded integers: wrapping them once, after, is the same."""
    tz, ty, tx = tile.shape
    plane = ty * tx
    planes, rows = range(0, TILE, plane), range(0, TILE, tx)
    if order == 0:
        add_up(u, rows, 1, tx)
        add_up(u, [start + x for start in planes for x in range(tx)], tx, ty)
        add_up(u, range(plane), plane, tz)
    elif order == 1:
        add_up(u, [0], plane, tz)
        add_up(u, rows, 1, tx)
        add_up(u, [start + x for start in planes for x in range(tx)], tx, ty)
    else:
        add_up(u, [0], plane, tz)
        add_up(u, planes, tx, ty)
        add_up(u, rows, 1, tx)
    return u


def values_of_deltas(tile, u, order, class_nbits, base):
    """The bits of the values."""
    partial_sums(tile, u, order)
    # signed(signed(x, class_nbits) + base, 64 or 32), without a call for each
    half, quantum_half = 1 << class_nbits - 1, 1 << (63 if tile.is_f64 else 31)
    mask, quantum_mask, shift = 2 * half - 1, 2 * quantum_half - 1, base - half + quantum_half
    return values_of_quanta(tile, [((x + half & mask) + shift & quantum_mask) - quantum_half for x in u])


def values_of_quanta(tile, quanta):
    if tile.pointwise:
        tile.octaves = [tile.pointwise.R(tile.pointwise.R(float(q)) * tile.pointwise.step_octaves) for q in quanta]
        return array("Q" if tile.is_f64 else "I", map(tile.pointwise.of_quantum, quanta))
    if tile.is_f64:
        return tile.bits(array("d", [float(q) * tile.step for q in quanta]))
    # A product of two floats is exact in double precision, so that storing it in an array of floats rounds
    # once.
    return tile.bits(array("f", [q * tile.step for q in array("f", quanta)]))


def step_of_bound(bound, is_f64):
    if is_f64:
        return 2 * min(bound, 2.0**1021) if bound >= 2.0**-1022 else 0.0
    bound = min(bound, 2.0**125)
    if bound < 2.0**-126:
        return 0.0
    nearest, = struct.unpack("<f", struct.pack("<f", bound))
    if nearest > bound:
        below, = struct.unpack("<I", struct.pack("<f", nearest))
        nearest, = struct.unpack("<f", struct.pack("<I", below - 1))
    return 2 * nearest


def mix(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & U32
    x ^= x >> 15
    x = x * 0x846CA68B & U32
    return x ^ x >> 16


@lru_cache(TILE)
def code_weight(code):
    T, b = divmod(code, CODES)
    of_code, of_unit = pow(0x9E3779B1, 31 - b, 2**32), pow(0x85EBCA6B, 15 - (T >> 3), 2**32)
    return of_code * of_unit * (mix(T & 7) | 1) & U32


@lru_cache
def element_weights(rank):
    """W of each element, by element number."""
    weights = [0] * TILE
    for code, e in enumerate(elements_in_code_order(rank)):
        weights[e] = code_weight(code)
    return weights


def tile_weight(t):
    return mix(t + 0x51ED27 & U32) | 1


def tile_sum(tile, bits):
    weights = tile.weights()
    total = 0
    for _, _, at, n in tile.rows():
        values = bits[at:at + n]
        if tile.is_f64:
            values = [(v & U32) + (v >> 32) * 0xC2B2AE35 for v in values]
        total += sum(map(mul, values, weights[at:at + n]))
    return total & U32
