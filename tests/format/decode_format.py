#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""decode_format.py IN.csz OUT.raw: a second decoder, written from docs/format.md and nothing else.

It takes an archive and gives the field as raw little-endian values, like `csz decompress`.  It shares no line
with the library, so where the two agree on every byte the document is right and complete; format_test.sh
compares them.  The modules of decoder/ follow the document section by section.  They check every checksum,
refuse all that the document says a reader refuses, and prefer being plain to being fast.  They need Python's
standard library alone, hence no zstd: archives packed with it are checked as far as they can be and then
refused.
"""
import sys

from decoder.archive import decode
from decoder.bits import Refused


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
