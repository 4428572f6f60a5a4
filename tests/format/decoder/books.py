# SPDX-License-Identifier: BSD-3-Clause
"""Section 5, books: explicit and built-in code lengths, and tables that decode them."""
import struct
from functools import lru_cache

from .bits import U64, WINDOW, BitStream, require

S, PV, PE, QV, QE, MV, ME, W, RV, RL = range(10)
ALPHABET = (140, 256, 140, 256, 140, 256, 140, 236, 236, 128)
LONGEST = (12, 12, 11, 12, 11, 12, 11, 12, 12, 11)
EXCLUDED = {PE: 7, QE: 1, ME: 0}  # deltas -n..n that the book cannot code
DIRECT = 96
THETA = (1024, 2048, 4096, 8192, 12288, 16384, 23040, 32768, 39424, 45824, 52480, 57088, 60288, 62976, 64256, 64896)


def is_delta_book(book):
    return book not in (PV, QV, MV, RL)


def bucket(symbol):
    """(E, smallest w, number of raw bits) of a symbol that is not a direct delta."""
    if symbol < 204:
        E = 5 + (symbol - DIRECT) // 4
        return E, (4 + (symbol - DIRECT) % 4) << (E - 2), E - 2
    E = 32 + symbol - 204
    return E, 1 << E, E


def read_raw(stream, symbol):
    """The delta of a symbol that is not direct; takes its raw bits."""
    _, smallest, nraw = bucket(symbol)
    u = (smallest | stream.read(nraw)) + 64 & U64
    return u >> 1 if u % 2 == 0 else -((u + 1) >> 1)


class Books:
    """The ten decoding tables of a frame; the built-in ones are made when first asked for."""

    def __init__(self, words):
        require(len(words) >= 3, "the section of books is too small")
        section = struct.pack(f"<{len(words)}I", *words)
        self.kinds = section[:10]
        require(max(self.kinds) <= 16, "the kind of a book is not known")
        stream = BitStream.of_words(words[3:])
        self.explicit = {}
        for book, kind in enumerate(self.kinds):
            if kind == 16:
                lengths = read_lengths(stream, book)
                check_lengths(lengths, LONGEST[book])
                self.explicit[book] = decoding_table(lengths)
        require(stream.left < 32 and stream.read(stream.left) == 0,
                "the books' bit stream does not end in zeros to a word")

    def table(self, book):
        return self.explicit[book] if book in self.explicit else built_in_table(book, self.kinds[book])


def read_lengths(stream, book):
    """Explicit code lengths, by symbol."""
    lengths = [0] * ALPHABET[book]
    before = last = 6
    for j in range(2 * EXCLUDED[book] + 1 if book in EXCLUDED else 0, ALPHABET[book]):
        if stream.read(1) == 0:
            length = before
        elif stream.read(1) == 0:
            length = last + 1
        elif stream.read(1) == 0:
            length = last if before == 0 else last - 1
        elif stream.read(1) == 0:
            length = 0
        else:
            length = stream.read(4)
        require(length <= LONGEST[book], "a code is too long")
        symbol = j
        if is_delta_book(book) and j < DIRECT:
            symbol = DIRECT // 2 + (j // 2 if j % 2 == 0 else -(j + 1) // 2)
        lengths[symbol] = before = length
        last = length or last
    return lengths


def check_lengths(lengths, limit):
    used = [length for length in lengths if length]
    complete = sum(1 << (limit - length) for length in used) == 1 << limit
    require(complete or used == [1], "a book is neither complete nor a single symbol")


def scaled(weights):
    return [max(1, w * 2**20 // sum(weights)) for w in weights]


def built_in_weights(book, kind):
    f = [2**20]
    while len(f) < 512:
        f.append(f[-1] * THETA[kind] >> 16)
    f.append(0)  # n is cut at 512

    def tail(n):
        return 2 * sum(f[n:])

    def product(symbol, digit_weights, digit_nbits):
        weight = digit_weights[symbol & ((1 << digit_nbits) - 1)]
        for at in range(digit_nbits, 8, digit_nbits):
            weight = weight * digit_weights[symbol >> at & ((1 << digit_nbits) - 1)] >> 20
        return weight + 1

    def delta_weight(symbol):
        d = symbol - DIRECT // 2
        if symbol < DIRECT:
            return 0 if abs(d) <= EXCLUDED.get(book, -1) else f[abs(d)] + 4
        E, smallest, _ = bucket(symbol)
        n = min((smallest + 64) >> 1, 512)
        return min((1 << min(E - 2, 20)) * f[n], 2**20) + (512 >> min(E - 5, 9)) + 1

    if book == PV:
        digits = scaled([f[abs(v - 7)] for v in range(15)] + [tail(8)])
        return [product(s, digits, 4) for s in range(256)]
    if book == QV:
        digits = scaled([f[abs(v - 1)] for v in range(3)] + [tail(2)])
        return [product(s, digits, 2) for s in range(256)]
    if book == MV:
        digits = scaled([f[0], tail(1)])
        return [product(s, digits, 1) for s in range(256)]
    if book == RL:
        return [f[n] + 64 + (2**18 if n == 127 else 0) for n in range(128)]
    return [delta_weight(s) for s in range(ALPHABET[book])]


def lengths_of_weights(weights, limit):
    order = sorted((s for s, w in enumerate(weights) if w), key=lambda s: (weights[s], s))
    lengths = [0] * len(weights)
    if len(order) == 1:
        lengths[order[0]] = 1
        return lengths

    # Nodes 0 .. n-1 are the leaves in sorted order, then the inner nodes in order of creation.
    n = len(order)
    node_weights = [weights[s] for s in order]
    parent = {}
    leaf, inner = 0, n
    while len(node_weights) < 2 * n - 1:
        new = len(node_weights)
        total = 0
        for _ in range(2):
            if leaf < n and (inner == new or node_weights[leaf] <= node_weights[inner]):
                front, leaf = leaf, leaf + 1
            else:
                front, inner = inner, inner + 1
            parent[front] = new
            total += node_weights[front]
        node_weights.append(total)
    depth = {2 * n - 2: 0}
    for node in range(2 * n - 3, -1, -1):
        depth[node] = depth[parent[node]] + 1
    count = [0] * (limit + 1)
    for node in range(n):
        count[min(depth[node], limit)] += 1

    K = sum(count[l] << (limit - l) for l in range(1, limit + 1))
    while K > 1 << limit:
        l = max(l for l in range(1, limit) if count[l])
        count[l] -= 1
        count[l + 1] += 1
        K -= 1 << (limit - l - 1)
    while K < 1 << limit:
        l = min(l for l in range(2, limit + 1) if count[l] and 1 << (limit - l) <= (1 << limit) - K)
        count[l] -= 1
        count[l - 1] += 1
        K += 1 << (limit - l)

    longest_first = (l for l in range(limit, 0, -1) for _ in range(count[l]))
    for symbol, length in zip(order, longest_first):
        lengths[symbol] = length
    return lengths


def decoding_table(lengths):
    """Maps every window of WINDOW bits to the (symbol, length) it starts with.  In a canonical code the
    codes, taken in order of length and symbol, fill the table from its start."""
    table = []
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths) if length):
        table += [(symbol, length)] * (1 << (WINDOW - length))
    if len(table) < 1 << WINDOW:
        table *= 2  # a single symbol of length 1, for which either bit stands
    return table


@lru_cache(maxsize=None)
def built_in_table(book, kind):
    return decoding_table(lengths_of_weights(built_in_weights(book, kind), LONGEST[book]))
