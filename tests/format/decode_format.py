#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""decode_format.py IN.csz OUT.raw: a second decoder, written from docs/format.md and nothing else.

It takes an archive and gives the field as raw little-endian values, like `csz decompress`.  It shares no line
with the library, so where the two agree on every byte the document is right and complete; format_test.sh
compares them.  It follows the document section by section, checks every checksum, refuses all that the
document says a reader refuses, and prefers being plain to being fast.  Needs Python's standard library alone,
hence no zstd: archives packed with it are checked as far as they can be and then refused.
"""
import struct
import sys
from array import array
from ctypes import c_float
from functools import lru_cache
from itertools import accumulate, product
from math import prod
from operator import mul

U32 = 2**32 - 1
U64 = 2**64 - 1


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


# ---- 1. From field to tiles ------------------------------------------------------------------------------

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
    """(origin, extents) of the boxes that cut up `whole`, in row-major order; those at the upper faces are smaller."""
    for z in range(0, whole[0], box[0]):
        for y in range(0, whole[1], box[1]):
            for x in range(0, whole[2], box[2]):
                yield (z, y, x), tuple(min(b, w - o) for b, w, o in zip(box, whole, (z, y, x)))


# ---- 2. The archive --------------------------------------------------------------------------------------

def checksum(seed, words, first=0):
    """H(seed, words), where the first word has the number `first`."""
    return (seed + sum(w * (i * 0x3C6EF362 + 1 & U32) for i, w in enumerate(words, first))) & U64


def decode(archive):
    """The bytes of the field in an archive."""
    header = Header(archive)
    footer_nbytes = 8 * (header.nframes + 1)
    require(len(archive) >= header.nbytes + 32 * header.nframes + footer_nbytes + header.metadata_nbytes,
            "the archive is cut short")
    if not header.zstd and not header.is_packed:
        require(len(archive) >= 2 * header.ntiles, "the archive is cut short")
    field = Field(header)
    offset = header.nbytes
    sizes = []
    for number, (origin, extents) in enumerate(boxes(header.grid, header.frame_grid) if header.nframes else ()):
        frame = frame_bytes(archive, offset)
        decode_frame(header, field, frame, number, origin, extents)
        offset += len(frame)
        sizes.append(len(frame))
    require(len(archive) >= offset + header.metadata_nbytes, "the archive is cut short")
    end = len(archive) - header.metadata_nbytes
    check_footer(archive[offset:end], sizes)
    if header.metadata_nbytes:
        read_metadata(archive[end:], len(header.dims))
    return field.to_bytes()


def check_footer(footer, sizes):
    require(len(footer) == 8 * (len(sizes) + 1), "the footer does not have the size its frames imply")
    words = words_of(footer)
    require(checksum(1, words[:-2]) == u64_of(*words[-2:]), "the footer's checksum does not agree")
    require(list(struct.unpack(f"<{len(sizes)}Q", footer[:-8])) == sizes, "the footer does not give the frames' sizes")


# ---- 10. Metadata -----------------------------------------------------------------------------------------

VALUE_NBYTES = (1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8)  # by type


def read_metadata(section, ndims):
    """Role, type, name and value bytes of each entry."""
    require(len(section) >= 24, "the metadata is too short")
    words = words_of(section)
    require(checksum(2, words[:-2]) == u64_of(*words[-2:]), "the metadata's checksum does not agree")
    require(1 <= words[0] <= 1024 and words[1] == 0, "the number of entries of the metadata is not possible")
    body, at, entries, seen = section[:-8], 8, [], set()

    def take(nbytes, text):
        nonlocal at
        room = 4 * ceil_div(nbytes, 4)
        require(at + room <= len(body), "an entry reaches past the metadata")
        require(not any(body[at + nbytes:at + room]), f"padding of an entry's {text} is not zero")
        at += room
        return body[at - room:at - room + nbytes]

    for _ in range(words[0]):
        name_nbytes, role, kind, nbytes = struct.unpack("<HBBI", take(8, "head"))
        name = take(name_nbytes + 1, "name")
        values = take(nbytes, "values")
        require(name.index(0) == name_nbytes, "the name of an entry does not end where it should")
        require(role <= 2 and kind < len(VALUE_NBYTES), "the role or type of an entry is not known")
        require(1 <= name_nbytes <= 1024 if role == 0 else name_nbytes == 0, "the name of an entry has no possible size")
        require(nbytes % VALUE_NBYTES[kind] == 0, "the values of an entry do not have the size of their type")
        require(role == 0 or kind == role - 1, "the type of an entry does not suit its role")
        require(kind != 1 or not values or values[-1] == 0, "the last string of an entry has no end")
        require(role != 2 or values.count(0) == ndims, "the metadata does not name every dim")
        require((role, name) not in seen, "two entries have the same name")
        seen.add((role, name))
        entries.append((role, kind, name[:-1], values))
    require(len(body) - at < 8 and not any(body[at:]), "padding of the metadata is not zero")
    return entries


# ---- 3. Header -------------------------------------------------------------------------------------------

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
        self.is_packed = predictor == 1
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
        require(not self.is_packed or (self.rank > 1 and min(self.tile[3 - self.rank:]) > 1),
                "the tile does not suit pyramids")
        self.grid = tuple(ceil_div(n, t) for n, t in zip(self.extents, self.tile))
        self.frame_grid = default_frame_grid(*self.grid)
        if self.is_packed:
            self.frame_grid = aligned_frame_grid(self.frame_grid, self.grid, self.tile)
        if features & FEATURE_FRAME_GRID:
            *frame_grid, zero = struct.unpack_from("<4I", archive, offset)
            require(zero == 0, "padding of the frame grid is not zero")
            self.frame_grid = tuple(frame_grid)
            require(1 <= prod(self.frame_grid) <= 2**20, "the frame grid is not possible")
            require(not self.is_packed or self.frame_grid == aligned_frame_grid(self.frame_grid, self.grid, self.tile),
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


class Field:
    """The restored field, as the bits of its values.  Tiles are stored in it row by row."""

    def __init__(self, header):
        self.extents = header.extents
        typecode = "Q" if header.is_f64 else "I"
        self.bits = array(typecode, bytes(array(typecode).itemsize * header.nelements))

    def store_row(self, z, y, x, row):
        at = (z * self.extents[1] + y) * self.extents[2] + x
        self.bits[at:at + len(row)] = row

    def to_bytes(self):
        if sys.byteorder == "big":
            self.bits.byteswap()
        return self.bits.tobytes()


# ---- 4. Frame --------------------------------------------------------------------------------------------

GROUP = 64


def frame_bytes(archive, offset):
    require(len(archive) >= offset + 32, "the archive is cut short")
    nbytes, = struct.unpack_from("<Q", archive, offset)
    require(nbytes % 8 == 0 and 32 <= nbytes <= len(archive) - offset, "a frame's size is not possible")
    return archive[offset:offset + nbytes]


def largest_frame(header, first_tile, tiles_zyx):
    ntiles = prod(tiles_zyx)
    nelements = prod(min((f + i) * t, n) - f * t
                     for f, i, t, n in zip(first_tile, tiles_zyx, header.tile, header.extents))
    index_nbytes = 12 * ceil_div(ntiles, GROUP) + 4 * ceil_div(ntiles, 2)
    raw_nbytes = 4 * ntiles + (8 if header.is_f64 else 4) * nelements
    return ceil_div(32 + 1924 + index_nbytes + raw_nbytes, 8) * 8 + 16 * header.is_packed


def decode_frame(header, field, frame, number, first_tile, tiles_zyx):
    """Checks and decodes one frame, whose tiles are the box of extents tiles_zyx at first_tile of the tile grid."""
    stored, unpacked, books_nbytes, is_pyramid, tuning, wanted_values, _ = struct.unpack_from("<QQHBBIQ", frame)
    words = words_of(frame)
    wanted = u64_of(*words[6:8])
    seed = (number + 1) * 0x9E3779B97F4A7C15
    if header.zstd:
        require(checksum(seed, words[:6] + (0, 0) + words[8:]) == wanted,
                f"frame {number}: its checksum does not agree")
        raise Refused("the archive needs zstd, which this decoder does not have")
    require(stored == unpacked, f"frame {number}: its two sizes differ")
    require(unpacked <= largest_frame(header, first_tile, tiles_zyx), f"frame {number}: it is larger than a raw one")

    require(is_pyramid <= header.is_packed and tuning <= 7 * is_pyramid, f"frame {number}: its predictor is not known")
    books_at = 8 + header.is_packed
    require(books_at + 3 <= len(words), f"frame {number}: its books do not fit")
    exponent = signed(words[books_at + 2] >> 16, 16)
    least, most = ((-1022, 1023) if header.is_f64 else (-126, 127)) if header.is_pointwise else (0, 0)
    require(least <= exponent <= most, f"frame {number}: its exponent is not possible")
    header.exponent = exponent
    tiles = Pyramid(header, first_tile, tiles_zyx, tuning).tiles() if is_pyramid else field_tiles(header, first_tile, tiles_zyx)
    ntiles = len(tiles)
    ngroups = ceil_div(ntiles, GROUP)
    require(books_nbytes % 4 == 0, f"frame {number}: the size of the books is not a multiple of 4")
    books_end = books_at + books_nbytes // 4
    require(books_end + 3 * ngroups <= len(words), f"frame {number}: its books and index do not fit")
    if header.is_packed:
        payload_at, index_at = books_end, books_end + words[8]
        sizes, end = packed_sizes(words, index_at + 3 * ngroups, ntiles)
        hashed = words[:6] + (0, 0) + words[8:payload_at] + words[index_at:end]
        require(sum(sizes) == words[8], f"frame {number}: the payload's size is not what its tiles imply")
    else:
        index_at = books_end
        sizes_at = index_at + 3 * ngroups
        payload_at = sizes_at + ceil_div(ntiles, 2)
        require(payload_at <= len(words), f"frame {number}: its books and index do not fit")
        halves = [half for word in words[sizes_at:payload_at] for half in (word & 0xFFFF, word >> 16)]
        sizes = halves[:ntiles]
        require(not any(halves[ntiles:]), f"frame {number}: padding of the index is not zero")
        hashed = words[:6] + (0, 0) + words[8:payload_at]
        end = payload_at + sum(sizes)
    require(checksum(seed, hashed) == wanted, f"frame {number}: its checksum does not agree")
    begins = [0, *accumulate(sizes)]
    require(len(words) == (end + 1) // 2 * 2, f"frame {number}: its size is not what its tiles imply")
    payload = words[payload_at:payload_at + begins[-1]]
    require(not any(words[end:]), f"frame {number}: padding is not zero")
    for g in range(ngroups):
        first, *group_checksum = words[index_at + 3 * g:index_at + 3 * g + 3]
        begin, end = begins[GROUP * g], begins[min(GROUP * (g + 1), ntiles)]
        require(first == begin, f"frame {number}: group {g} does not begin where the sizes imply")
        require(checksum(0, payload[begin:end], begin) == u64_of(*group_checksum),
                f"frame {number}: the checksum of group {g} does not agree")

    books = Books(words[books_at:books_end])
    sum_of_values = 0
    for t, tile in enumerate(tiles):
        if sizes[t] == 0 and not is_pyramid:
            continue  # quanta 0 are values +0.0, whose bits are 0: the field holds them, the sum does not change
        bits = decode_record(tile, books, payload[begins[t]:begins[t + 1]])
        if tile.is_result:
            for zy, x, row_at, row_nelements in tile.rows():
                field.store_row(*zy, x, bits[row_at:row_at + row_nelements])
        sum_of_values += tile_sum(tile, bits) * tile_weight(t)
    require(sum_of_values & U32 == wanted_values, f"frame {number}: the checksum of the restored values does not agree")


def field_tiles(header, first_tile, tiles_zyx):
    origins = [tuple((f + i) * n for f, i, n in zip(first_tile, tile, header.tile))
               for tile, _ in boxes(tiles_zyx, (1, 1, 1))]
    return [Tile(header, header.extents, origin, header.bound) for origin in origins]


def packed_sizes(words, at, ntiles):
    """(sizes in words of all tiles, the word at which the index ends), from the widths at word `at`."""
    ngroups = ceil_div(ntiles, GROUP)
    nwords = ceil_div(ngroups, 4)
    require(at + nwords <= len(words), "a frame's index does not fit")
    widths = struct.pack(f"<{nwords}I", *words[at:at + nwords])
    require(not any(widths[ngroups:]), "padding of a frame's index is not zero")
    at += nwords
    sizes = []
    for g in range(ngroups):
        n, width = min(GROUP, ntiles - GROUP * g), widths[g]
        nwords = ceil_div(n * width, 32)
        require(at + nwords <= len(words), "a frame's index does not fit")
        stream = BitStream.of_words(words[at:at + nwords])
        group = [stream.read(width) for _ in range(n)]
        require(max(group).bit_length() == width <= 16, "the width of a group's sizes is not the least")
        require(stream.read(stream.left) == 0, "padding of a frame's index is not zero")
        sizes += group
        at += nwords
    return sizes, at


# ---- 5. Books --------------------------------------------------------------------------------------------

WINDOW = 12  # no code is longer
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
    """Maps every window of WINDOW bits to the (symbol, length) it starts with.  In a canonical code the codes, taken
    in order of length and symbol, fill the table from its start."""
    table = []
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths) if length):
        table += [(symbol, length)] * (1 << (WINDOW - length))
    if len(table) < 1 << WINDOW:
        table *= 2  # a single symbol of length 1, for which either bit stands
    return table


@lru_cache(maxsize=None)
def built_in_table(book, kind):
    return decoding_table(lengths_of_weights(built_in_weights(book, kind), LONGEST[book]))


# ---- 6. Tile record --------------------------------------------------------------------------------------

CONSTANT, MODE_M, MODE_Q, MODE_P, MODE_S, RLE, RLE_VLE, RAW, FILL, SPARSE, EXACT = range(11)

S_ORDER = [b + half for b in range(16) for half in (0, 16)]

# mode: (book of symbols, book of escapes, bits of a digit, digit of delta 0, where the symbols of a unit begin)
PACKED_MODES = {
    MODE_P: (PV, PE, 4, 7, [4 * s + b for s in range(4) for b in (0, 2, 16, 18)]),
    MODE_Q: (QV, QE, 2, 1, [s + b for s in (0, 8) for b in (0, 4, 16, 20)]),
    MODE_M: (MV, ME, 1, 0, [0, 8, 16, 24]),
}


class Tile:
    """Where a tile lies in the field, or in a lattice of it."""

    is_result = True  # its values are the field's

    def __init__(self, header, extents, origin, bound):
        self.is_f64, self.rank, self.shape, self.origin = header.is_f64, header.rank, header.tile, origin
        self.may_be_sparse, self.is_exact = header.is_packed, header.is_exact
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
        """Of a tile without codes: raw, or of one value."""

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


class Record:
    """The words of a record, taken one part after another."""

    def __init__(self, words):
        self.words, self.at = words, 0

    def take(self, nwords):
        require(self.at + nwords <= len(self.words), "a tile's record ends early")
        self.at += nwords
        return self.words[self.at - nwords:self.at]

    def take_fields(self, n, nbits):
        """n fields of 8 or 16 bits, the first in the lowest bits of a word, zeros to a word."""
        per_word = 32 // nbits
        fields = [word >> nbits * i & ((1 << nbits) - 1)
                  for word in self.take(ceil_div(n, per_word)) for i in range(per_word)]
        require(not any(fields[n:]), "padding in a tile's record is not zero")
        return fields[:n]


def decode_record(tile, books, words):
    """The bits of the tile's 4096 values."""
    if not words:
        return tile.restore([0] * TILE, 0, 16, 0)
    record = Record(words)
    first, = record.take(1)
    mode = first & 15
    if tile.is_exact:
        require(mode in (RAW, EXACT), "a tile of an exact archive has another mode")
    else:
        require(mode <= SPARSE - (not tile.may_be_sparse), "the mode of a tile is not known")
    if mode in (RAW, FILL):
        require(first == mode, "a raw or fill tile has other bits")
        tile.restore_nothing()
        bits = tile.bits()
        elements = tile.elements()
        values = tile.values(record.take(tile.value_nwords * (len(elements) if mode == RAW else 1)))
        for e, value in zip(elements, values if mode == RAW else values * len(elements)):
            bits[e] = value
    elif mode == EXACT:
        bits = decode_exact(tile, record, first)
    elif mode == SPARSE:
        bits = decode_sparse(tile, record, first)
    else:
        bits = decode_quanta(tile, books, record, first)
    require(record.at == len(words), "a tile's record is longer than its parts")
    return bits


def read_tail(record, first):
    """(number of masks, their size in words, number of exceptions)"""
    nmasks, has_tail = first >> 8 & 3, first >> 11 & 1
    require(has_tail or not nmasks, "a tile has masks and no tail")
    tail = record.take(1)[0] if has_tail else 0
    nexceptions, masks_nwords = tail & 0xFFFF, tail >> 16
    require(not has_tail or nmasks or nexceptions, "a tile has a tail and neither masks nor exceptions")
    require(nmasks or not masks_nwords, "a tile has no masks, yet words for them")
    return nmasks, masks_nwords, nexceptions


def decode_sparse(tile, record, first):
    n, has_base = first >> 4 & 15 | (first >> 12 & 15) << 4, first >> 10 & 1
    require(n > 0, "a sparse tile has no nonzero delta")
    nmasks, masks_nwords, nexceptions = read_tail(record, first)
    tail_nwords = masks_nwords + ceil_div(nexceptions, 2) + tile.value_nwords * nexceptions
    rest = len(record.words) - record.at - tail_nwords
    require(rest >= 0, "a tile's record ends early")
    stream = BitStream(first >> 16 << 32 * rest | BitStream.of_words(record.take(rest)).value, 16 + 32 * rest)
    width = stream.read(4) + 1
    order = stream.read(2)
    require(order <= 2 and (order != 1 or tile.rank == 3), "the order of a tile is not possible")
    base = signed(stream.read(16), 16) if has_base else 0
    require(has_base == (base != 0), "the base is not in its shortest form")
    k = (2839 // n).bit_length() - 1
    lows = [stream.read(k) for _ in range(n)]
    numbers = [stream.read(width) for _ in range(n)]
    codes = [0] * TILE
    h, before = 0, -1
    for low, u in zip(lows, numbers):
        while stream.read(1) == 0:
            h += 1
        position = h << k | low
        require(before < position < TILE, "positions of a sparse tile do not ascend to less than 4096")
        codes[position] = (u + 1) // 2 if u % 2 else -(u + 2) // 2
        require(codes[position] < 2**15, "a delta of a sparse tile is too large")
        before = position
    require(stream.left < 32 and stream.read(stream.left) == 0, "a sparse tile is not used up")
    bits = tile.restore(codes, order, 16, base)
    apply_tail(tile, record, bits, nmasks, masks_nwords, nexceptions)
    return bits


def low_first(words):
    """Words as one number whose lowest bits are read first."""
    return int.from_bytes(struct.pack(f"<{len(words)}I", *words), "little")


def decode_exact(tile, record, first):
    nbits = 64 if tile.is_f64 else 32
    size, width_nbits, has_bitmap = 1 << (first >> 4 & 3), first >> 6 & 7, first >> 9 & 1
    least, order = first >> 10 & 127, first >> 30
    require(first >> 17 & 0x1FFF == 0 and size > 1 and width_nbits <= 6 and least <= nbits, "the first word of an exact tile is not possible")
    require(order <= 2 and (order != 1 or tile.rank == 3) and (order != 2 or tile.rank >= 2),
            "the order of a tile is not possible")
    base, = tile.values(record.take(tile.value_nwords))
    bitmap = low_first(record.take(4)) if has_bitmap else 2**128 - 1
    units = [T for T in range(UNITS) if bitmap >> T & 1]
    n = len(units) * CODES // size
    fields = low_first(record.take(ceil_div(n * width_nbits, 32)))
    widths = [least + (fields >> i * width_nbits & ((1 << width_nbits) - 1)) for i in range(n)]
    require(fields >> n * width_nbits == 0, "padding of an exact tile's widths is not zero")
    require(all(w <= nbits for w in widths), "a width of an exact tile is too large")
    stream = low_first(record.take(ceil_div(size * sum(widths), 32)))
    codes, at = [0] * TILE, 0
    for i, w in enumerate(widths):
        for k in range(size):
            u = stream >> at & ((1 << w) - 1)
            place = i * size + k
            codes[CODES * units[place // CODES] + place % CODES] = -((u + 1) // 2) if u & 1 else u // 2
            at += w
    require(stream >> at == 0, "padding of an exact tile's codes is not zero")
    deltas = [0] * TILE
    for e, delta in zip(elements_in_code_order(tile.rank), codes):
        deltas[e] = delta
    bits = tile.bits()
    half = 1 << (nbits - 1)
    for e, q in enumerate(partial_sums(tile, deltas, order)):
        q = (q + base) & (2 * half - 1)
        bits[e] = q if q < half else q ^ (half - 1)
    return bits


def decode_quanta(tile, books, record, first):
    mode, size_class, width = first & 15, first >> 4 & 3, first >> 12 & 15
    has_base, has_bitmap, short_base = first >> 6 & 1, first >> 7 & 1, first >> 10 & 1
    smallest, order = first >> 16 & 0x3FFF, first >> 30
    require(size_class <= (2 if tile.is_f64 else 1), "the class of a tile is not possible")
    require(size_class == 0 or mode in (MODE_S, RLE, RLE_VLE), "the class of a tile does not suit its mode")
    require(order <= 2 and (order != 1 or tile.rank == 3) and (order != 2 or tile.rank >= 2),
            "the order of a tile is not possible")
    require(order == 0 or (size_class == 0 and mode != CONSTANT), "the order of a tile does not suit its class or mode")
    if mode == CONSTANT:
        require(not has_bitmap and width == 0 and smallest == 0, "a constant tile has lanes")

    nmasks, masks_nwords, nexceptions = read_tail(record, first)
    nlanes = 0 if mode == CONSTANT else 64 if mode in (MODE_P, MODE_S) else 32
    lanes = range(nlanes)
    if has_bitmap:
        bitmap = record.take(nlanes // 32)
        lanes = [l for l in lanes if bitmap[l >> 5] >> (l & 31) & 1]

    # The stream's size is not stored: it is what the lane lengths add up to.
    base_nbits = (16 if short_base else 64 if tile.is_f64 else 32) if has_base else 0
    head_nbits = base_nbits + width * len(lanes)
    stream_at = record.at
    head = BitStream.of_words(record.take(ceil_div(head_nbits, 32)))
    base = signed(head.read(base_nbits), base_nbits) if has_base else 0
    require(has_base == (base != 0) and short_base == (base != 0 and -2**15 <= base < 2**15),
            "the base is not in its shortest form")
    excess = [head.read(width) for _ in lanes]
    if mode != CONSTANT:
        require(lanes and has_bitmap == (len(lanes) < nlanes), "the lane bitmap is not what the lanes imply")
        require(min(excess) == 0 and width == max(excess).bit_length(),
                "the lane lengths are not in their shortest form")
    lengths = [smallest + n for n in excess]
    nbits = head_nbits + sum(lengths)
    record.at = stream_at
    stream = BitStream.of_words(record.take(ceil_div(nbits, 32)))
    stream.read(head_nbits)
    codes = [0] * TILE
    for l, length in zip(lanes, lengths):
        lane = BitStream(stream.read(length), length)
        decode_lane(lane, mode, size_class, books, codes, TILE // nlanes * l, UNITS // nlanes)
        require(lane.left == 0, "a lane is not used up")
    require(stream.read(stream.left) == 0, "padding of a tile's bit stream is not zero")

    bits = tile.restore(codes, order, 16 << size_class, base)
    apply_tail(tile, record, bits, nmasks, masks_nwords, nexceptions)
    return bits


def apply_tail(tile, record, bits, nmasks, masks_nwords, nexceptions):
    """Masked values and exceptions replace what was restored."""
    if not nmasks and not nexceptions:
        return
    elements = elements_in_code_order(tile.rank)
    in_field = set(tile.elements())
    code_in_field = [e in in_field for e in elements]
    replaced = [False] * TILE
    masks_end = record.at + masks_nwords
    masks = [read_mask(tile, record, code_in_field) for _ in range(nmasks)]
    require(record.at == masks_end, "the masks do not have the size the tail gives")
    positions = record.take_fields(nexceptions, 16)
    require(all(p < TILE for p in positions) and all(p < q for p, q in zip(positions, positions[1:])),
            "the positions of a tile's exceptions do not ascend to less than 4096")
    values = tile.values(record.take(tile.value_nwords * nexceptions))
    for position, value in [(p, value) for value, marked in masks for p in marked] + list(zip(positions, values)):
        require(code_in_field[position], "a mask or an exception lies outside the field")
        require(not replaced[position], "masks or exceptions overlap")
        replaced[position] = True
        bits[elements[position]] = value


def decode_lane(lane, mode, size_class, books, codes, begin, nunits):
    """Sets the deltas of one lane, which begin at codes[begin]."""
    units = range(begin, begin + CODES * nunits, CODES)
    if mode == MODE_S:
        table = books.table(W if size_class else S)
        places = [unit + b for unit in units for b in S_ORDER]
        read_deltas(lane, table, codes, places)
    elif mode in PACKED_MODES:
        value_book, escape_book, digit_nbits, digit_of_0, starts = PACKED_MODES[mode]
        table = books.table(value_book)
        escape = (1 << digit_nbits) - 1
        escaped = []
        for unit in units:
            for b in starts:
                symbol = lane.symbol(table)
                for i in range(8 // digit_nbits):
                    digit = symbol >> digit_nbits * i & escape
                    if digit == escape:
                        escaped.append(unit + b + i)
                    else:
                        codes[unit + b + i] = digit - digit_of_0
        if escaped:
            read_deltas(lane, books.table(escape_book), codes, sorted(escaped))
    else:
        at, end = begin, begin + CODES * nunits
        while at < end:
            if mode == RLE:
                delta = signed(lane.read(16 << size_class), 16 << size_class)
                n = 1 + lane.read(7)
            else:
                symbol = lane.symbol(books.table(RV))
                delta = symbol - DIRECT // 2 if symbol < DIRECT else read_raw(lane, symbol)
                n = 1 + lane.symbol(books.table(RL))
            require(at + n <= end, "a run leaves its lane")
            codes[at:at + n] = [delta] * n
            at += n


def read_deltas(lane, table, codes, places):
    """Symbols of deltas for the places, in order, and then the raw bits of those that have any."""
    with_raw = []
    for place in places:
        symbol = lane.symbol(table)
        if symbol < DIRECT:
            codes[place] = symbol - DIRECT // 2
        else:
            with_raw.append((place, symbol))
    for place, symbol in with_raw:
        codes[place] = read_raw(lane, symbol)


def read_mask(tile, record, code_in_field):
    """(bits of the value, the codes in the field that have it)."""
    value, = tile.values(record.take(tile.value_nwords))
    group_words = record.take(2)
    group_classes = [group_words[g >> 4] >> 2 * (g & 15) & 3 for g in range(UNITS // 4)]
    require(3 not in group_classes, "the class of a mask's group is not known")
    unit_bytes = iter(record.take_fields(group_classes.count(2), 8))
    unit_classes = []
    for group_class in group_classes:
        if group_class == 2:
            byte = next(unit_bytes)
            unit_classes += [byte >> 2 * k & 3 for k in range(4)]
        else:
            unit_classes += [group_class] * 4

    literals = iter(record.take(unit_classes.count(2)))
    flags = record.take_fields(unit_classes.count(3), 8)
    nibbles = iter(record.take_fields(sum(bin(byte).count("1") for byte in flags), 4))
    flags = iter(flags)
    marked = []
    for T, unit_class in enumerate(unit_classes):
        mask = unit_mask(unit_class, literals, flags, nibbles)
        codes = [CODES * T + b for b in range(CODES) if mask >> b & 1]
        in_field = [code for code in codes if code_in_field[code]]
        require(unit_class != 2 or codes == in_field, "a mask marks padding in a literal word")
        marked += in_field
    return value, marked


def unit_mask(unit_class, literals, flags, nibbles):
    """Bit b is 1 for the marked codes b of a unit; takes what its class needs."""
    if unit_class < 2:
        return U32 * unit_class
    if unit_class == 2:
        return next(literals)
    mask = nibble = 0
    byte = next(flags)
    for s in range(8):
        if byte >> s & 1:
            nibble = next(nibbles)
        mask |= nibble << 4 * s
    return mask


# ---- 7. From deltas to values ----------------------------------------------------------------------------

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
    quantum_nbits = 64 if tile.is_f64 else 32
    quanta = [signed(signed(x, class_nbits) + base, quantum_nbits) for x in u]
    return values_of_quanta(tile, quanta)


def values_of_quanta(tile, quanta):
    if tile.pointwise:
        tile.octaves = [tile.pointwise.R(tile.pointwise.R(float(q)) * tile.pointwise.step_octaves) for q in quanta]
        return array("Q" if tile.is_f64 else "I", map(tile.pointwise.of_quantum, quanta))
    if tile.is_f64:
        return tile.bits(array("d", [float(q) * tile.step for q in quanta]))
    # A product of two floats is exact in double precision, so that storing it in an array of floats rounds once.
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


# ---- 8. Checksum of the restored values ------------------------------------------------------------------

def mix(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & U32
    x ^= x >> 15
    x = x * 0x846CA68B & U32
    return x ^ x >> 16


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


# ---- 9. The pyramid --------------------------------------------------------------------------------------

CLASSES = {2: ((0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)),
           3: ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1))}
TUNINGS = ((1.125, 1.5), (1.0, 1.0))


@lru_cache
def lattice_codes(rank, shape, inside):
    """The number of the code of each element of a lattice's tile, by element number.  inside: its extents in the lattice."""
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


# ---- 11. Pointwise bounds --------------------------------------------------------------------------------

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


def main(arguments):
    if len(arguments) != 3:
        print("usage: decode_format.py IN.csz OUT.raw", file=sys.stderr)
        return 2
    try:
        with open(arguments[1], "rb") as source:
            field = decode(source.read())
        with open(arguments[2], "wb") as target:
            target.write(field)
    except (Refused, OSError) as error:
        print(f"decode_format.py: {arguments[1]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
