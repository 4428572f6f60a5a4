# SPDX-License-Identifier: BSD-3-Clause
"""Sections 2 and 10, the archive: its parts, its footer and its metadata."""
import struct

from .bits import ceil_div, checksum, require, u64_of, words_of
from .frame import Field, decode_frame, frame_bytes
from .header import Header
from .tiles import boxes


def decode(archive):
    """The bytes of the field in an archive."""
    header = Header(archive)
    footer_nbytes = 8 * (header.nframes + 1)
    require(len(archive) >= header.nbytes + 32 * header.nframes + footer_nbytes + header.metadata_nbytes,
            "the archive is cut short")
    if not header.zstd and not header.may_be_pyramid:
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
