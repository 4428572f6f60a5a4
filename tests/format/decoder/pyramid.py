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
    numbers = []
    bits = [(bit, i) for bit in range(12) for i in (2, 1, 0) if 2 << bit < shape[i]]
    bits.sort(key=lambda b: (inside[b[1]] - 1) >> 1 >> b[0] == 0)  # those that only padding has come last
    for zyx in product(*map(range, shape)):
        m = sum((zyx[i] >> 1 >> bit & 1) << at for at, (bit, i) in enumerate(bits))
        c = CLASSES[rank].index(tuple(i & 1 for i in zyx))
        numbers.append(c * (TILE >> rank) + m)
    return numbers


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
    """What was restored of a lattice, by its elements' coordinates."""

    def __init__(self, pyramid, extents, bound):
        self.extents, self.bound, self.coarser = extents, bound, None
        self.is_linear, self.is_across = pyramid.is_linear, pyramid.is_across
        self.restored = {}


class LatticeTile(Tile):
    """A tile of a lattice.  The coarsest is predicted by Lorenzo, the others from the coarser lattice."""

    def __init__(self, header, lattice, origin, frame_origin):
        super().__init__(header, lattice.extents, origin, lattice.bound)
        self.lattice, self.at = lattice, origin
        self.is_result = frame_origin is not None
        if self.is_result:
            self.origin = tuple(o + f for o, f in zip(origin, frame_origin))

    def weights(self):
        return lattice_weights(self.rank, self.shape, tuple(self.inside)) if self.lattice.coarser else super().weights()

    def own(self):
        """(element number, coordinates in the tile) of the elements in the lattice."""
        for z, y, x in product(*map(range, self.inside)):
            yield (z * self.shape[1] + y) * self.shape[2] + x, (z, y, x)

    def keep(self, values):
        for e, zyx in self.own():
            self.lattice.restored[tuple(o + i for o, i in zip(self.at, zyx))] = values[e]

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
        known = {}
        coarser = self.lattice.coarser.restored
        used = [i >= 3 - self.rank for i in range(3)]
        even = [range(-2, t + 3, 2) if u else (0,) for t, u in zip(self.shape, used)]
        for zyx in product(*even):
            place = tuple((o + i) // 2 for o, i in zip(self.at, zyx))
            if place in coarser:
                known[zyx] = coarser[place]

        def along(dim, zyx, is_first):
            """(order, prediction) along one dim."""
            low, high = (-2, self.shape[dim] + 2) if is_first else (0, self.shape[dim])

            def at(step):
                i = zyx[dim] + step
                if not low <= i <= high or self.at[dim] + i >= self.lattice.extents[dim]:
                    return None
                return known.get(zyx[:dim] + (i,) + zyx[dim + 1:])

            a, b, c, d = at(-3), at(-1), at(1), at(3)
            if self.lattice.is_linear:
                a = d = None
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
            ranges = [range(1, t, 2) if odd else range(0, t + u, 2) for t, odd, u in zip(self.shape, parities, used)]
            odd_dims = [dim for dim in range(3) if parities[dim]]
            used_dims = [dim for dim in odd_dims if dim > 0 or odd_dims == [0] or not self.lattice.is_across]
            for zyx in product(*ranges):
                if any(o + i >= n for o, i, n in zip(self.at, zyx, self.lattice.extents)):
                    continue
                is_own = all(i < t for i, t in zip(zyx, self.shape))
                e = (zyx[0] * self.shape[1] + zyx[1]) * self.shape[2] + zyx[2] if is_own else None
                if not odd_dims:
                    if is_own:
                        values[e] = known[zyx]
                    continue
                found = [along(dim, zyx, len(odd_dims) == 1) for dim in used_dims]
                best = [p for order, p in found if order == max(found, key=lambda f: f[0])[0]]
                if len(best) == 1:
                    value = best[0]
                elif len(best) == 2:
                    value = R(R(best[0] + best[1]) * half)
                else:
                    p, q, r = best
                    value = R(p + R(R(R(q - p) + R(r - p)) * third))
                value = value + 0.0 if abs(value) < float("inf") else 0.0
                if is_own:
                    value = R(value + R(codes[e] * self.step))
                    values[e] = value
                known[zyx] = value
        return values
