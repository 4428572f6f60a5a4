# SPDX-License-Identifier: BSD-3-Clause
"""Section 9, the pyramid: lattices, and tiles that are interpolated from the coarser one."""
from array import array
from ctypes import c_float
from functools import lru_cache
from itertools import product

from .bits import ceil_div, require
from .tiles import TILE, boxes
from .values import Tile, code_weight

CLASSES = {2: ((0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)),
           3: ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1))}
TUNINGS = ((1.125, 1.5), (1.0, 1.0))


@lru_cache
def lattice_codes(rank, shape, inside):
    """The number of the code of each element of a lattice's tile, by element number.  inside: its extents in
    the lattice."""
    bits = [(bit, i) for bit in range(12) for i in (2, 1, 0) if 2 << bit < shape[i]]
    bits.sort(key=lambda b: (inside[b[1]] - 1) >> 1 >> b[0] == 0)  # those that only padding has come last
    # What a coordinate adds to the number within its class, dim by dim.
    z_adds, y_adds, x_adds = ([sum((k >> 1 >> bit & 1) << at for at, (bit, i) in enumerate(bits) if i == dim)
                               for k in range(shape[dim])] for dim in range(3))
    first = {parities: c * (TILE >> rank) for c, parities in enumerate(CLASSES[rank])}
    return [first[z & 1, y & 1, x & 1] + z_adds[z] + y_adds[y] + x_adds[x] for z, y, x in product(*map(range, shape))]


@lru_cache
def lattice_weights(rank, shape, inside):
    return [code_weight(code) for code in lattice_codes(rank, shape, inside)]


class Pyramid:
    """The lattices of a frame."""

    def __init__(self, header, first_tile, tiles_zyx, tuning):
        self.header, self.is_linear, self.is_across = header, tuning & 2, tuning & 4
        self.origin = tuple(f * t for f, t in zip(first_tile, header.tile))
        extents = tuple(min((f + i) * t, n) - f * t
                        for f, i, t, n in zip(first_tile, tiles_zyx, header.tile, header.extents))
        self.lattices = [Lattice(self, extents, self.bound(tuning, 0))]
        while any(n > t for n, t in zip(self.lattices[-1].extents, header.tile)):
            extents = tuple(ceil_div(n, 2) for n in self.lattices[-1].extents)
            self.lattices.append(Lattice(self, extents, self.bound(tuning, len(self.lattices))))
            self.lattices[-2].coarser = self.lattices[-1]

    def bound(self, tuning, level):
        alpha, beta = TUNINGS[tuning & 1]
        factor = 1.0
        for _ in range(level):
            if factor < beta:
                factor *= alpha
        return self.header.bound / min(factor, beta)

    def tiles(self):
        return [LatticeTile(self.header, lattice, origin, self.origin if lattice is self.lattices[0] else None)
                for lattice in reversed(self.lattices)
                for origin, _ in boxes(lattice.extents, self.header.tile)]


class Lattice:
    """What was restored of a lattice, by its elements' numbers in row-major order."""

    def __init__(self, pyramid, extents, bound):
        self.extents, self.bound, self.coarser = extents, bound, None
        self.is_linear, self.is_across = pyramid.is_linear, pyramid.is_across
        self.restored = {}


class LatticeTile(Tile):
    """A tile of a lattice.  The coarsest is predicted by Lorenzo, the others from the coarser lattice."""

    may_be_sparse = True

    def __init__(self, header, lattice, origin, frame_origin):
        super().__init__(header, lattice.extents, origin, lattice.bound)
        self.lattice, self.at = lattice, origin
        self.is_result = frame_origin is not None
        if self.is_result:
            self.origin = tuple(o + f for o, f in zip(origin, frame_origin))

    def weights(self):
        return lattice_weights(self.rank, self.shape, tuple(self.inside)) if self.lattice.coarser else super().weights()

    def keep(self, values):
        _, ny, nx = self.lattice.extents
        for z, y in product(range(self.inside[0]), range(self.inside[1])):
            to = ((self.at[0] + z) * ny + self.at[1] + y) * nx + self.at[2]
            at = (z * self.shape[1] + y) * self.shape[2]
            self.lattice.restored.update(zip(range(to, to + self.inside[2]), values[at:at + self.inside[2]]))

    def restore(self, codes, order, class_nbits, base):
        if self.lattice.coarser is None:
            bits = super().restore(codes, order, class_nbits, base)
            self.keep(self.octaves if self.pointwise else array("d" if self.is_f64 else "f", bits.tobytes()))
            return bits
        require(order == 0 and class_nbits == 16 and base == 0, "a tile of a lattice has a base, an order or a class")
        values = self.interpolate([codes[number] for number in lattice_codes(self.rank, self.shape, tuple(self.inside))])
        self.keep(values)
        if self.pointwise:
            return array("Q" if self.is_f64 else "I", map(self.pointwise.of_octaves, values))
        return self.bits(array("d" if self.is_f64 else "f", values))

    def restore_nothing(self):
        if self.lattice.coarser is None:
            self.keep([0.0] * TILE)
        else:
            self.keep(self.interpolate([0] * TILE))

    def interpolate(self, codes):
        """The restored values of all elements, by element number."""
        R = (lambda x: x) if self.is_f64 else (lambda x: c_float(x).value)
        half, far, eighth, third = 0.5, R(0.075), 0.125, R(1 / 3)
        values = [0.0] * TILE
        used = [i >= 3 - self.rank for i in range(3)]
        # What is known in and around the tile, by number in a box that begins two elements before it.
        tz, ty, tx = self.shape
        strides = ((ty + 5) * (tx + 5), tx + 5, 1)
        known = {}
        coarser, (cz, cy, cx) = self.lattice.coarser.restored, self.lattice.coarser.extents
        for z, y, x in product(*(range(-2, t + 3, 2) if u else (0,) for t, u in zip(self.shape, used))):
            Z, Y, X = ((o + i) // 2 for o, i in zip(self.at, (z, y, x)))
            if 0 <= Z < cz and 0 <= Y < cy and 0 <= X < cx:
                known[(z + 2) * strides[0] + (y + 2) * strides[1] + x + 2] = coarser[(Z * cy + Y) * cx + X]
        is_linear = self.lattice.is_linear

        def along(place, stride):
            """(order, prediction) along one dim."""
            a, b, c, d = (None if is_linear else known.get(place - 3 * stride), known[place - stride],
                          known.get(place + stride), None if is_linear else known.get(place + 3 * stride))
            if c is None:
                return 0, b if a is None else R(b + R(R(b - a) * half))
            mean = R(R(b + c) * half)
            if a is not None and d is not None:
                return 3, R(mean + R(R(R(b + c) - R(a + d)) * far))
            if a is not None:
                return 2, R(mean + R(R(R(b - a) + R(b - c)) * eighth))
            if d is not None:
                return 2, R(mean + R(R(R(c - d) + R(c - b)) * eighth))
            return 1, mean

        for parities in CLASSES[self.rank]:
            # Of even coordinates the next tile's first, too; all within the lattice.
            ranges = [range(odd, min(t + (u and not odd), n - o), 2)
                      for t, odd, u, n, o in zip(self.shape, parities, used, self.lattice.extents, self.at)]
            odd_dims = [dim for dim in range(3) if parities[dim]]
            used_strides = [strides[dim] for dim in odd_dims if dim > 0 or odd_dims == [0] or not self.lattice.is_across]
            for z, y, x in product(*ranges):
                place = (z + 2) * strides[0] + (y + 2) * strides[1] + x + 2
                e = (z * ty + y) * tx + x if z < tz and y < ty and x < tx else None  # of the tile's own
                if not odd_dims:
                    if e is not None:
                        values[e] = known[place]
                    continue
                found = [along(place, stride) for stride in used_strides]
                order = max(found)[0]
                best = [p for found_order, p in found if found_order == order]
                if len(best) == 1:
                    value = best[0]
                elif len(best) == 2:
                    value = R(R(best[0] + best[1]) * half)
                else:
                    p, q, r = best
                    value = R(p + R(R(R(q - p) + R(r - p)) * third))
                value = value + 0.0 if abs(value) < float("inf") else 0.0
                if e is not None:
                    value = R(value + R(codes[e] * self.step))
                    values[e] = value
                known[place] = value
        return values
