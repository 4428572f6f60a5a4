# SPDX-License-Identifier: BSD-3-Clause
"""Section 11, pointwise bounds: from logarithms to the bits of values."""
import struct
from ctypes import c_float
from functools import lru_cache

from .bits import signed

POWER = {False: ("0x1.5bba14p-10", "0x1.3cea88p-7", "0x1.c6b752p-5", "0x1.ebf9bcp-3", "0x1.62e42ap-1"),
         True: ("0x1.3b2a9efb64994p-7", "0x1.c6b167d8012ecp-5", "0x1.ebfbdff87b627p-3", "0x1.62e42fef6d0cdp-1")}
ROOTS = [float.fromhex(r) for r in """
0x1.0000000000000p+0 0x1.059b0d3158574p+0 0x1.0b5586cf9890fp+0 0x1.11301d0125b51p+0 0x1.172b83c7d517bp+0 0x1.1d4873168b9aap+0
0x1.2387a6e756238p+0 0x1.29e9df51fdee1p+0 0x1.306fe0a31b715p+0 0x1.371a7373aa9cbp+0 0x1.3dea64c123422p+0 0x1.44e086061892dp+0
0x1.4bfdad5362a27p+0 0x1.5342b569d4f82p+0 0x1.5ab07dd485429p+0 0x1.6247eb03a5585p+0 0x1.6a09e667f3bcdp+0 0x1.71f75e8ec5f74p+0
0x1.7a11473eb0187p+0 0x1.82589994cce13p+0 0x1.8ace5422aa0dbp+0 0x1.93737b0cdc5e5p+0 0x1.9c49182a3f090p+0 0x1.a5503b23e255dp+0
0x1.ae89f995ad3adp+0 0x1.b7f76f2fb5e47p+0 0x1.c199bdd85529cp+0 0x1.cb720dcef9069p+0 0x1.d5818dcfba487p+0 0x1.dfc97337b9b5fp+0
0x1.ea4afa2a490dap+0 0x1.f50765b6e4540p+0
""".split()]


class Pointwise:
    """From logarithms to the bits of values, in a lattice of this bound of logarithms."""

    def __init__(self, header, bound):
        self.is_f64, self.k = header.is_f64, header.exponent
        self.R = (lambda x: x) if self.is_f64 else (lambda x: c_float(x).value)
        self.nbits, self.mantissa, self.N = (64, 52, 40) if self.is_f64 else (32, 23, 22)
        one = 2.0**self.N
        self.S = int(2 * bound * one)
        self.step_octaves = self.R(self.S * 2.0**-self.N)
        self.C, self.theta, self.slope = 1 << self.N, 1 << (self.N - 1), 0.0
        self.powers = [float.fromhex(c) for c in POWER[self.is_f64]]
        if header.floor and bound:
            octave = min(header.floor, 2.0**(1021 if self.is_f64 else 125)) / (header.bound + 4 / one)
            quotient, = struct.unpack("<Q", struct.pack("<d", header.floor / header.asked_bound))
            if (quotient >> 52) - 1023 >= (-960 if self.is_f64 else -100) and 2.0**self.k < 2 * octave:
                unit = 1 << 35 if self.is_f64 else 1
                self.C = self.theta = (int(2.0**self.k / octave * one) // unit + 1) * unit
                self.slope = self.R(2.0**self.k / self.C)
        self.of_quantum = lru_cache(None)(self.of_quantum)  # tiles repeat them

    def bits(self, value):
        return struct.unpack("<Q", struct.pack("<d", value))[0] if self.is_f64 else struct.unpack("<I", struct.pack("<f", value))[0]

    def of_quantum(self, q):
        return self.of_logarithm(signed(q * self.S, self.nbits))

    def of_octaves(self, t):
        limit = 2047 if self.is_f64 else 480
        a = abs(t) * 2.0**self.N if -limit < t < limit else 0.0
        a = round(a) if self.is_f64 else int(self.R(a + 0.5))
        return self.of_logarithm(-a if t < 0 else a)

    def of_logarithm(self, T):
        R, a, sign = self.R, abs(T), int(T < 0) << (self.nbits - 1)
        if a < self.theta:
            return self.bits(R(a * self.slope)) | sign if self.slope else 0
        M = self.N - 5 if self.is_f64 else self.N
        n = (a - self.C + (1 << (M - 1))) >> M
        f = (a - self.C - (n << M)) * 2.0**-self.N
        p = self.powers[0]
        for c in self.powers[1:] + [1.0]:
            p = R(R(p * f) + c)
        if self.is_f64:
            p *= ROOTS[n % 32]
            n //= 32
        bits = self.bits(p) + ((n + self.k) << self.mantissa)
        return bits & ((1 << (self.nbits - 1)) - 1) | sign
