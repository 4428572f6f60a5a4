/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bits.h: bit streams of the CPU backend.  While a tile is coded its stream is bytes, most significant bit
 * first: a write is one unaligned store and a read one unaligned load.  Swapping bytes on the way in and out
 * gives the archive's order, the same bits in little-endian words.
 */
#ifndef CSZ_CPU_BITS_H
#define CSZ_CPU_BITS_H

#include "core/words.h"

/* 32 bytes of 0 and 1 to a mask, eight at a time: the multiplication moves byte i to bit 56 + i. */
CSZ_FN uint32_t csz_mask_of_bytes(const uint8_t *flags) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 4; i++)
        mask |= (uint32_t)((csz_load_u64(flags + 8 * i) * 0x0102040810204080ull) >> 56) << (8 * i);
    return mask;
}

/* The low n bits of acc wait to be written; between flushes at most 57 may gather. */
typedef struct csz_bit_writer {
    uint64_t acc;
    uint32_t n;
    uint8_t *at;
    uint32_t seen; /* sums of up to four entries that were put, or-ed: tells whether one was CSZ_NO_CODE */
} csz_bit_writer;

/* The entry of a symbol without a code.  Real ones are below 2^21, and four of any kind add up to less than
 * 2^31. */
#define CSZ_NO_CODE 0x10000000u

CSZ_FN void csz_bits_put(csz_bit_writer *w, uint64_t value, uint32_t nbits) {
    w->acc = w->acc << nbits | value;
    w->n += nbits;
}

/* An entry is code << 8 | length. */
CSZ_FN void csz_bits_put_code(csz_bit_writer *w, uint32_t entry) {
    w->seen |= entry;
    csz_bits_put(w, entry >> 8, entry & 63);
}

/* Stores eight bytes whatever is due, so that no branch is needed. */
CSZ_FN void csz_bits_flush(csz_bit_writer *w) {
    uint64_t big = CSZ_BIG64((w->acc << 1) << (63 - w->n));
    memcpy(w->at, &big, sizeof big);
    w->at += w->n >> 3;
    w->n &= 7;
}

/* Up to 64 bits, flushing as needed; the writer must have been flushed. */
CSZ_FN void csz_bits_put_long(csz_bit_writer *w, uint64_t value, uint32_t nbits) {
    if (nbits > 32) {
        csz_bits_put(w, value >> 32, nbits - 32);
        csz_bits_flush(w);
        csz_bits_put(w, value & 0xFFFFFFFFu, 32);
    } else {
        csz_bits_put(w, value, nbits);
    }
    csz_bits_flush(w);
}

CSZ_FN uint32_t csz_bits_position(const csz_bit_writer *w, const uint8_t *start) {
    return (uint32_t)(w->at - start) * 8 + w->n;
}

/* At least 57 bits from position pos, left-aligned; reads eight bytes. */
CSZ_FN uint64_t csz_bits_peek(const uint8_t *start, uint32_t pos) {
    uint64_t big;
    memcpy(&big, start + (pos >> 3), sizeof big);
    return CSZ_BIG64(big) << (pos & 7);
}

/* nbits <= 63 at *pos. */
CSZ_FN uint64_t csz_bits_get_long(const uint8_t *start, uint32_t *pos, uint32_t nbits) {
    uint64_t high = 0;
    if (nbits > 32) {
        uint32_t n = nbits - 32;
        high = csz_bits_peek(start, *pos) >> (64 - n) << 32;
        *pos += n;
        nbits = 32;
    }
    if (nbits == 0) return high;
    uint64_t low = csz_bits_peek(start, *pos) >> (64 - nbits);
    *pos += nbits;
    return high | low;
}

/* Appends nbits of a byte stream to a stream of words that holds `at` bits; the words behind are cleared. */
CSZ_FN void csz_bits_append(uint32_t *words, uint32_t at, const uint8_t *bytes, uint32_t nbits) {
    uint32_t shift = at & 31, n = (nbits + 31) / 32;
    uint32_t *out = words + (at >> 5);
    if (n == 0) return;
    uint32_t first;
    memcpy(&first, bytes, sizeof first);
    out[0] = (shift ? out[0] : 0) | CSZ_BIG32(first) >> shift;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t both;
        memcpy(&both, bytes + 4 * i - 4, sizeof both);
        out[i] = (uint32_t)(CSZ_BIG64(both) >> shift);
    }
    if (shift == 0) return;
    uint32_t last;
    memcpy(&last, bytes + 4 * n - 4, sizeof last);
    out[n] = CSZ_BIG32(last) << (32 - shift);
}

/* Words of the archive to a byte stream. */
CSZ_FN void csz_words_to_bits(uint8_t *bytes, const uint8_t *words, uint32_t nwords) {
    for (uint32_t i = 0; i < nwords; i++) {
        uint32_t word;
        memcpy(&word, words + 4 * i, sizeof word);
        word = CSZ_BIG32(CSZ_LITTLE32(word));
        memcpy(bytes + 4 * i, &word, sizeof word);
    }
}

#endif
