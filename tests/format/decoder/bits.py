# SPDX-License-Identifier: BSD-3-Clause
"""Words, bits and checksums, and how an archive is refused."""
import struct

U32 = 2**32 - 1
U64 = 2**64 - 1
WINDOW = 12  # no code is longer


class Refused(Exception):
    """The archive breaks a rule of the format, or needs what this decoder lacks."""


def require(condition, message):
    if not condition:
        raise Refused(message)


def words_of(data):
    return struct.unpack(f"<{len(data) // 4}I", data)


def u64_of(low, high):
    return low | high << 32


def ceil_div(a, b):
    return -(-a // b)


def signed(x, nbits):
    """The value of the low nbits of x, taken as two's complement."""
    x &= (1 << nbits) - 1
    return x - (1 << nbits) if x >> (nbits - 1) else x


def low_first(words):
    """Words as one number whose lowest bits are read first."""
    return int.from_bytes(struct.pack(f"<{len(words)}I", *words), "little")


def checksum(seed, words, first=0):
    """H(seed, words), where the first word has the number `first`."""
    return (seed + sum(w * (i * 0x3C6EF362 + 1 & U32) for i, w in enumerate(words, first))) & U64


class BitStream:
    """Words read from the most significant bit down: the low `left` bits of `value` are still to come."""

    def __init__(self, value, nbits):
        self.value, self.left = value, nbits

    @classmethod
    def of_words(cls, words):
        return cls(int.from_bytes(struct.pack(f">{len(words)}I", *words), "big"), 32 * len(words))

    def read(self, nbits):
        require(nbits <= self.left, "a bit stream ends early")
        self.left -= nbits
        return self.value >> self.left & ((1 << nbits) - 1)

    def symbol(self, table):
        """Decodes one symbol with a table of decoding_table()."""
        left = self.left
        window = self.value >> (left - WINDOW) if left >= WINDOW else self.value << (WINDOW - left)
        symbol, length = table[window & ((1 << WINDOW) - 1)]
        require(length <= left, "a bit stream ends early")
        self.left = left - length
        return symbol
