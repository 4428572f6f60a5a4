# SPDX-License-Identifier: BSD-3-Clause
"""Section 11, pointwise bounds: from logarithms to the bits of values."""
import struct
from ctypes import c_float
from functools import lru_cache

from .bits import signed

POWER = {False: ("0x1.5bba14p-10", "0x1.3cea88p-7", "0x1.c6b752p-5", "0x1.ebf9bcp-3", "0x1.62e42ap-1"),
         True: ("0x1.c3bd650fc2983p-36", "0x1.e8cac7351bb22p-32", "0x1.e4cf5158b8ec7p-28", "0x1.b5253d395e7c1p-24",
                "0x1.62c0223a5c822p-20", "0x1.ffcbfc588b0c5p-17", "0x1.430912f86c786p-13", "0x1.5d87fe78a6730p-10",
                "0x1.3b2ab6fba4e77p-7", "0x1.c6b08d704a0bfp-5", "0x1.ebfbdff82c58ep-3", "0x1.62e42fefa39efp-1")}


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
            octave = min(header.floor, 2.0**(1021 if self.is_f64 else 125)) / (bound + 4 / one)
            quotient, = struct.unpack("<Q", struct.pack("<d", header.floor / header.asked_bound))
            if (quotient >> 52) - 1023 >= (-960 if self.is_f64 else -100) and 2.0**self.k < 2 * octave:
                self.C = self.theta = max(1, int(2.0**self.k / octave * one))
                self.slope = self.R(octave / one)
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
        n = (a - self.C + (1 << (self.N - 1))) >> self.N
        f = (a - self.C - (n << self.N)) * 2.0**-self.N
        p = self.powers[0]
        for c in self.powers[1:] + [1.0]:
            p = R(R(p * f) + c)
        bits = self.bits(p) + ((n + self.k) << self.mantissa)
        return bits & ((1 << (self.nbits - 1)) - 1) | sign
