# SPDX-License-Identifier: BSD-3-Clause
"""Section 4, the frame: its sizes, books, index, payload and checksums."""
import struct
import sys
from array import array
from itertools import accumulate
from math import prod

from .bits import U32, BitStream, Refused, ceil_div, checksum, require, signed, u64_of, words_of
from .books import Books
from .pyramid import Pyramid
from .record import decode_record
from .tiles import boxes
from .values import Tile, tile_sum, tile_weight

GROUP = 64


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


def frame_bytes(archive, offset):
    require(len(archive) >= offset + 32, "the archive is cut short")
    nbytes, = struct.unpack_from("<Q", archive, offset)
    require(nbytes % 8 == 0 and 32 <= nbytes <= len(archive) - offset, "a frame's size is not possible")
    return archive[offset:offset + nbytes]


def largest_frame(header, first_tile, tiles_zyx, is_pyramid):
    ntiles = prod(tiles_zyx)
    nelements = prod(min((f + i) * t, n) - f * t
                     for f, i, t, n in zip(first_tile, tiles_zyx, header.tile, header.extents))
    index_nbytes = 12 * ceil_div(ntiles, GROUP) + 4 * ceil_div(ntiles, 2)
    raw_nbytes = 4 * ntiles + (8 if header.is_f64 else 4) * nelements
    return ceil_div(32 + 1924 + index_nbytes + raw_nbytes, 8) * 8 + 16 * is_pyramid


def decode_frame(header, field, frame, number, first_tile, tiles_zyx):
    """Checks and decodes one frame, whose tiles are the box of extents tiles_zyx at first_tile of the tile
    grid."""
    stored, unpacked, books_nbytes, is_pyramid, tuning, wanted_values, _ = struct.unpack_from("<QQHBBIQ", frame)
    words = words_of(frame)
    wanted = u64_of(*words[6:8])
    seed = (number + 1) * 0x9E3779B97F4A7C15
    if header.zstd:
        require(checksum(seed, words[:6] + (0, 0) + words[8:]) == wanted,
                f"frame {number}: its checksum does not agree")
        raise Refused("the archive needs zstd, which this decoder does not have")
    require(stored == unpacked, f"frame {number}: its two sizes differ")
    require(is_pyramid <= header.may_be_pyramid and tuning <= 7 * is_pyramid,
            f"frame {number}: its predictor is not known")
    require(unpacked <= largest_frame(header, first_tile, tiles_zyx, is_pyramid),
            f"frame {number}: it is larger than a raw one")
    books_at = 8 + is_pyramid
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
    if is_pyramid:
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
