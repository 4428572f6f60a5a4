# SPDX-License-Identifier: BSD-3-Clause
"""Section 6, a tile's record: its modes, lanes, masks and exceptions."""
from .bits import U32, BitStream, ceil_div, low_first, require, signed
from .books import DIRECT, ME, MV, PE, PV, QE, QV, RL, RV, S, W, read_raw
from .tiles import CODES, TILE, UNITS, elements_in_code_order
from .values import partial_sums

CONSTANT, MODE_M, MODE_Q, MODE_P, MODE_S, RLE, RLE_VLE, RAW, FILL, SPARSE, EXACT = range(11)
S_ORDER = [b + half for b in range(16) for half in (0, 16)]
# mode: (book of symbols, book of escapes, bits of a digit, digit of delta 0, where the symbols of a unit
# begin)
PACKED_MODES = {
    MODE_P: (PV, PE, 4, 7, [4 * s + b for s in range(4) for b in (0, 2, 16, 18)]),
    MODE_Q: (QV, QE, 2, 1, [s + b for s in (0, 8) for b in (0, 4, 16, 20)]),
    MODE_M: (MV, ME, 1, 0, [0, 8, 16, 24]),
}


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
        require(mode <= EXACT and (mode != SPARSE or tile.may_be_sparse), "the mode of a tile is not known")
    if mode in (RAW, FILL):
        require(first == mode, "a raw or fill tile has other bits")
        tile.restore_nothing()
        bits = tile.bits()
        elements = tile.elements()
        values = tile.values(record.take(tile.value_nwords * (len(elements) if mode == RAW else 1)))
        for e, value in zip(elements, values if mode == RAW else values * len(elements)):
            bits[e] = value
    elif mode == EXACT:
        tile.restore_nothing()
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


def decode_exact(tile, record, first):
    nbits = 64 if tile.is_f64 else 32
    size, width_nbits, has_bitmap = 1 << (first >> 4 & 3), first >> 6 & 7, first >> 9 & 1
    least, shift, order = first >> 10 & 127, first >> 17 & 63, first >> 30
    require(first >> 23 & 127 == 0 and size > 1 and width_nbits <= 6 and least <= nbits and shift < nbits, "the first word of an exact tile is not possible")
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
        x = (q + base << shift) & (2 * half - 1)
        bits[e] = x if x < half else x ^ half - (1 << shift)
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
