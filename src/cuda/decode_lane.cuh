/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_lane.cuh: one thread turns the bits of one lane into 16-bit deltas in shared memory (class 0, every mode).
 *
 * A unit's 32 codes are 16 words, word W holding codes W and W + 16, and four words make a 16-byte chunk: chunk 4 T + i holds slices i and i + 4 of
 * unit T.  The low three bits of a chunk's place are XOR-ed with `swizzle` of its pair of units, chosen so that each pass below finds eight threads in a
 * row at eight different 16-byte banks: lanes of 2 units (pairs p..p+7), lanes of 4 units (every second pair), rows of x, and units in order.
 */
#ifndef CSZ_CUDA_DECODE_LANE_CUH
#define CSZ_CUDA_DECODE_LANE_CUH

#include "cuda/decompress_job.cuh"

/* Longest lane that 4 units of escapes with 13 raw bits can make: readers stay within this many words of a lane's start. */
enum { LANE_MAX_WORDS = 116 };

CSZ_DEVICE uint32_t swizzle(uint32_t pair) {
    return (pair & 4) | ((pair >> 1) & 1) | (((pair ^ (pair >> 3)) & 1) << 1);
}

CSZ_DEVICE uint32_t chunk_place(uint32_t unit, uint32_t i) {
    uint32_t pair = unit >> 1;
    return 8 * pair + ((4 * (unit & 1) + i) ^ swizzle(pair));
}

/*
 * Bits from the most significant down; 96 of them in registers, so that the next word is loaded long before it is needed.  Only the low 8 bits of at
 * count: entries are added to it whole.
 */
struct bit_reader {
    const uint32_t *p;
    uint32_t high, low, next, at;
};

CSZ_DEVICE bit_reader bits_open(const uint32_t *words, uint32_t at) {
    bit_reader r;
    r.p = words + (at >> 5);
    r.high = r.p[0];
    r.low = r.p[1];
    r.next = r.p[2];
    r.p += 3;
    r.at = at;
    return r;
}

/* 1 if the reader has come to bit `at` of words. */
CSZ_DEVICE uint32_t bits_are_at(const bit_reader *r, const uint32_t *words, uint32_t at) {
    return r->p == words + (at >> 5) + 3 && ((r->at ^ at) & 31) == 0;
}

CSZ_DEVICE uint32_t bits_window(const bit_reader *r) { return __funnelshift_l(r->low, r->high, r->at); }

/* Moves on to `at`, which is less than 32 bits away. */
CSZ_DEVICE void bits_move(bit_reader *r, uint32_t at) {
    if ((at ^ r->at) & 32) {
        r->high = r->low;
        r->low = r->next;
        r->next = *r->p++;
    }
    r->at = at;
}

/* Next symbol's entry. */
template <int LIMIT> CSZ_DEVICE uint32_t bits_symbol(bit_reader *r, const uint16_t *table) {
    uint32_t entry = table[bits_window(r) >> (32 - LIMIT)];
    bits_move(r, r->at + entry);
    return entry;
}

/* Next two symbols' entries, from one window: together they have at most 24 bits. */
template <int LIMIT>
CSZ_DEVICE void bits_symbols(bit_reader *r, const uint16_t *table, uint32_t *first, uint32_t *second) {
    uint32_t window = bits_window(r);
    *first = table[window >> (32 - LIMIT)];
    *second = table[__funnelshift_l(0, window, *first) >> (32 - LIMIT)];
    bits_move(r, r->at + *first + *second);
}

/* The delta of a bucket, whose raw bits are next; narrow alphabets have at most 13. */
CSZ_DEVICE uint16_t bits_bucket(bit_reader *r, uint32_t symbol) {
    uint32_t n = csz_symbol_nraw(symbol), raw = bits_window(r) >> (32 - n);
    bits_move(r, r->at + n);
    return (uint16_t)csz_symbol_delta(symbol, raw);
}

/* Exchanges bits i and i + shift of x where mask has bit i. */
CSZ_DEVICE uint32_t bits_swap(uint32_t x, uint32_t shift, uint32_t mask) {
    uint32_t t = (x ^ (x >> shift)) & mask;
    return x ^ t ^ (t << shift);
}

template <int MODE> struct lane_traits;
template <> struct lane_traits<CSZ_MODE_M> {
    enum { UNITS = 4, VECTOR = TABLE_MV, ESCAPE = TABLE_ME, STEPS = 1 };
};
template <> struct lane_traits<CSZ_MODE_Q> {
    enum { UNITS = 4, VECTOR = TABLE_QV, ESCAPE = TABLE_QE, STEPS = 2 };
};
template <> struct lane_traits<CSZ_MODE_P> {
    enum { UNITS = 2, VECTOR = TABLE_PV, ESCAPE = TABLE_PE, STEPS = 4 };
};
template <> struct lane_traits<CSZ_MODE_S> {
    enum { UNITS = 2, VECTOR = TABLE_S, ESCAPE = TABLE_S, STEPS = 1 };
};

/* Mode S: 64 symbols, then the raw bits of buckets, whose symbols stand in their halves meanwhile. */
CSZ_DEVICE void decode_single(bit_reader *r, const uint16_t *tables, uint4 *chunks, uint32_t twist) {
    uint32_t largest = 0;
#pragma unroll 2
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t word[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t low, high;
            bits_symbols<12>(r, tables + TABLE_S, &low, &high);
            word[k] = second_bytes_pack(low, high);
            largest = __vmaxs2(largest, word[k]);
        }
        chunks[i ^ twist] = make_uint4(word[0], word[1], word[2], word[3]);
    }
    if ((int16_t)largest < CSZ_DIRECT_HALF && (int16_t)(largest >> 16) < CSZ_DIRECT_HALF) return;
#pragma unroll 1
    for (uint32_t i = 0; i < 8; i++) {
        uint4 chunk = chunks[i ^ twist];
        uint32_t word[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int low = (int16_t)word[k], high = (int16_t)(word[k] >> 16);
            if (low >= CSZ_DIRECT_HALF)
                word[k] = (word[k] & 0xFFFF0000u) | bits_bucket(r, (uint32_t)(low + CSZ_DIRECT_HALF));
            if (high >= CSZ_DIRECT_HALF) {
                word[k] = (word[k] & 0xFFFFu) | (uint32_t)bits_bucket(r, (uint32_t)(high + CSZ_DIRECT_HALF))
                                                    << 16;
            }
        }
        chunks[i ^ twist] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

/* The vector symbols of one unit: digits to shared memory, and the mask of codes that escapes follow for. */
template <int MODE>
CSZ_DEVICE uint32_t decode_vectors(bit_reader *r, const uint16_t *table, uint4 *chunks, uint32_t first,
                                   uint32_t twist) {
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t s = 0; s < lane_traits<MODE>::STEPS; s++) {
        uint32_t e0, e1, e2, e3;
        bits_symbols<12>(r, table, &e0, &e1);
        bits_symbols<12>(r, table, &e2, &e3);
        const uint32_t four = __byte_perm(__byte_perm(e0, e1, 0x0051), __byte_perm(e2, e3, 0x0051), 0x5410);
        if (MODE == CSZ_MODE_M) escapes = four;
        if (MODE == CSZ_MODE_P) {
            uint32_t top = four & (four >> 1), word[4];
            top &= top >> 2;
            escapes |= (top & 0x11111111u) << s;
#pragma unroll
            for (int k = 0; k < 4; k++)
                word[k] = __vadd2((four >> (4 * k)) & 0x000F000Fu, 0xFFF9FFF9u); /* - 7 */
            chunks[(first + s) ^ twist] = make_uint4(word[0], word[1], word[2], word[3]);
        }
        if (MODE == CSZ_MODE_Q) {
            uint32_t word[8];
            escapes |= (four & (four >> 1) & 0x55555555u) << s;
#pragma unroll
            for (int k = 0; k < 8; k++)
                word[k] = __vadd2((four >> (2 * k)) & 0x00030003u, 0xFFFFFFFFu); /* - 1 */
            chunks[(first + 2 * s) ^ twist] = make_uint4(word[0], word[1], word[2], word[3]);
            chunks[(first + 2 * s + 1) ^ twist] = make_uint4(word[4], word[5], word[6], word[7]);
        }
    }
    /* Bit 4 k + s stands for code 4 s + k of its half (P), bit 2 k + s for code 8 s + k (Q): transpose. */
    if (MODE == CSZ_MODE_P && escapes) {
        escapes = bits_swap(escapes, 3, 0x0A0A0A0Au);
        escapes = bits_swap(escapes, 6, 0x00CC00CCu);
    }
    if (MODE == CSZ_MODE_Q && escapes) {
        escapes = bits_swap(escapes, 1, 0x22222222u);
        escapes = bits_swap(escapes, 2, 0x0C0C0C0Cu);
        escapes = bits_swap(escapes, 4, 0x00F000F0u);
    }
    return escapes;
}

/* A code's half word: unit u of the lane, code b. */
CSZ_DEVICE uint16_t *code_half(uint4 *chunks, uint32_t u, uint32_t b, uint32_t twist) {
    uint32_t chunk = 8 * (u >> 1) + ((4 * (u & 1) + ((b >> 2) & 3)) ^ twist ^
                                     (u & 2)); /* an odd pair's swizzle differs in bit 1 */
    return (uint16_t *)(chunks + chunk) + 2 * (b & 3) + (b >> 4);
}

/* Next n bits. */
CSZ_DEVICE uint64_t bits_take(bit_reader *r, uint32_t n) {
    uint64_t value = 0;
    while (n) {
        const uint32_t part = n < 24 ? n : 24;
        value = value << part | bits_window(r) >> (32 - part);
        bits_move(r, r->at + part);
        n -= part;
    }
    return value;
}

/*
 * The runs of a lane of 4 units, where zeros stand already: only runs of other deltas are written.  tables are the job's, whole, since a block keeps no books of runs.
 * A lane is left once its bits are used up, so that a reader never gets further past its end than one run.
 */
CSZ_DEVICE uint32_t decode_runs(bit_reader *r, uint32_t nbits, uint32_t mode, const uint16_t *tables,
                                uint4 *chunks, uint32_t twist) {
    int left = (int)nbits;
    for (uint32_t i = 0; i < 128;) {
        uint32_t delta, run;
        if (left <= 0) return 0;
        if (mode == CSZ_MODE_RLE) {
            delta = (uint32_t)bits_take(r, 16);
            run = (uint32_t)bits_take(r, 7) + 1;
            left -= 16 + 7;
        } else {
            const uint32_t value = bits_symbol<12>(r, tables + TABLE_RV),
                           symbol = ((value >> 8) + CSZ_DIRECT_HALF) & 255, nraw = csz_symbol_nraw(symbol);
            delta = (uint32_t)csz_symbol_delta(symbol, bits_take(r, nraw)) & 0xFFFF;
            const uint32_t length = bits_symbol<11>(r, tables + TABLE_RL);
            run = (length >> 8) + 1;
            left -= (int)((value & 31) + nraw + (length & 31));
        }
        if (run > 128 - i) return 0;
        const uint32_t end = i + run;
        if (delta) {
            for (; i < end; i++) *code_half(chunks, i >> 5, i & 31, twist) = (uint16_t)delta;
        }
        i = end;
    }
    return left == 0;
}

/*
 * Decodes lane number `lane`, which begins at bit `at` of words and has nbits; returns 1 if it used them up exactly.
 * Never reads beyond LANE_MAX_WORDS words from its start.
 */
template <int MODE>
CSZ_DEVICE uint32_t decode_lane(const uint32_t *words, uint32_t at, uint32_t nbits, const uint16_t *tables,
                                uint4 *code, uint32_t lane) {
    constexpr int UNITS = lane_traits<MODE>::UNITS;
    const uint32_t pair = lane * (UNITS / 2), twist = swizzle(pair);
    uint4 *chunks = code + 8 * pair;
    if (MODE == CSZ_MODE_M || nbits == 0) {
#pragma unroll
        for (uint32_t i = 0; i < 4 * UNITS; i++) chunks[i ^ twist] = make_uint4(0, 0, 0, 0);
    }
    if (nbits == 0) return 1;
    bit_reader r = bits_open(words, at);
    if (MODE == CSZ_MODE_S) {
        decode_single(&r, tables, chunks, twist);
        return bits_are_at(&r, words, at + nbits);
    }
    uint32_t escapes[4] = {0, 0, 0, 0};
#pragma unroll
    for (uint32_t u = 0; u < UNITS; u++) {
        escapes[u] = decode_vectors<MODE>(&r, tables + lane_traits<MODE>::VECTOR, chunks + 8 * (u >> 1),
                                          4 * (u & 1), twist ^ (u & 2));
    }
    /* One loop over the escapes of all units: its length is the lane's sum of them, not the sum of the warp's largest. */
    uint32_t left = escapes[0], queue[3] = {escapes[1], escapes[2], escapes[3]}, u = 0;
    int largest = 0;
    while (left | queue[0] | queue[1] | queue[2]) {
        if (left == 0) {
            left = queue[0];
            queue[0] = queue[1];
            queue[1] = queue[2];
            queue[2] = 0;
            u++;
        }
        if (left) {
            uint32_t b = (uint32_t)__ffs((int)left) - 1,
                     entry = bits_symbol<11>(&r, tables + lane_traits<MODE>::ESCAPE);
            left &= left - 1;
            const int value = (int16_t)entry >> 8;
            largest = value > largest ? value : largest;
            *code_half(chunks, u, b, twist) = (uint16_t)value;
        }
    }
    if (largest >= CSZ_DIRECT_HALF) {
#pragma unroll
        for (uint32_t v = 0; v < UNITS; v++) {
#pragma unroll 1
            for (uint32_t m = escapes[v]; m; m &= m - 1) {
                uint16_t *half = code_half(chunks, v, (uint32_t)__ffs((int)m) - 1, twist);
                int value = (int16_t)*half;
                if (value >= CSZ_DIRECT_HALF) *half = bits_bucket(&r, (uint32_t)(value + CSZ_DIRECT_HALF));
            }
        }
    }
    return bits_are_at(&r, words, at + nbits);
}

#endif
