/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symbols.cuh: from a unit's deltas of 16 bits to symbols, and from these to packets.  Look-ups come first
 * and give packets and lengths; once all lengths are known the packets are written where they belong.
 * Modes are M, Q, P and S; halves are delta + 2^15.
 */
#ifndef CSZ_CUDA_SYMBOLS_CUH
#define CSZ_CUDA_SYMBOLS_CUH

#include "cuda/code/packets.cuh"

/* Bits of one unit: vector symbols (all symbols for S), escapes, raw bits. */
struct csz_unit_bits {
    uint32_t symbols, escapes, raw;
    uint32_t buckets; /* codes with raw bits; for S in the order of writing */
};

CSZ_DEVICE int32_t csz_half_delta(const uint32_t (&w)[16], int b) {
    return (int32_t)(b < 16 ? w[b] & 0xFFFFu : w[b - 16] >> 16) - 32768;
}

/*
 * A unit's words, eight or four a turn: parked in the exchange, or held in registers. Loops over them are
 * not unrolled: the instruction cache then holds them, and moving packets along costs less than fetching
 * unrolled code.
 */
struct csz_words_parked {
    const uint32_t *exchange;
    __device__ __forceinline__ void get(uint32_t (&x)[8], uint32_t turn) const {
        const uint4 *from = (const uint4 *)exchange + 2 * turn * CSZ_TILE_UNITS + threadIdx.x;
        const uint4 a = from[0], b = from[CSZ_TILE_UNITS];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
    }
    __device__ __forceinline__ void quad(uint32_t (&x)[4], uint32_t turn) const {
        const uint4 a = ((const uint4 *)exchange)[turn * CSZ_TILE_UNITS + threadIdx.x];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
    }
};

struct csz_words_held {
    const uint32_t (&w)[16];
    __device__ __forceinline__ void get(uint32_t (&x)[8], uint32_t turn) const {
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = turn ? w[8 + i] : w[i];
    }
    __device__ __forceinline__ void quad(uint32_t (&x)[4], uint32_t turn) const {
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = turn & 2 ? turn & 1 ? w[12 + i] : w[8 + i] : turn & 1 ? w[4 + i] : w[i];
    }
};

/*
 * How far both deltas of a word lie beyond the direct ones. Let m = d, or -d - 1 for d < 0. Then zigzag -
 * 64 = 2 (m - 32) + sign. So m - 32, at least 16 for a bucket, holds the bucket's octave less one, its
 * quarter, and all raw bits but the last; the last raw bit is the sign. *signs: ~0 in halves below 0.
 */
template <uint32_t LEAST> CSZ_DEVICE uint32_t csz_beyond_direct(uint32_t word, uint32_t *signs) {
    const uint32_t d = word ^ 0x80008000u;
#if defined(__CUDA_ARCH__)
    asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(*signs) : "r"(d)); /* the high bytes' signs */
#else
    *signs = (d & 0x8000u ? 0xFFFFu : 0) | (d & 0x80000000u ? 0xFFFF0000u : 0);
#endif
    return __viaddmax_s16x2(d ^ *signs, 0xFFE0FFE0u, LEAST * 0x10001u);
}

/*
 * Bits of a half as a float: the half under the exponent of 2^23, minus 2^23. There are more FP adders
 * than converters.
 */
template <bool HIGH> CSZ_DEVICE uint32_t csz_half_as_float(uint32_t word) {
    return csz_bits_f32(__uint_as_float(__byte_perm(word, 0x4B00u, HIGH ? 0x5432 : 0x5410)) - 8388608.0f);
}

/*
 * Number of symbols from the first bucket to the bucket of a delta. beyond: csz_beyond_direct's result,
 * at least 16, as float bits: the exponent is the octave, the first two bits of the fraction are the
 * quarter.
 */
CSZ_DEVICE uint32_t csz_bucket_past(uint32_t beyond) { return (beyond >> 21) - 4 * (127 + 4); }

/*
 * A book that both halves of a word index at once: addresses of shared memory fit 16 bits, so one
 * multiplication makes the addresses of two symbols. In the emulator addresses count from the book.
 */
struct csz_book_pair {
    const uint32_t *book;
    uint32_t at; /* of the book, in both halves */

    __device__ __forceinline__ csz_book_pair(const uint32_t *words) : book(words), at(0) {
#if defined(__CUDA_ARCH__)
        at = (uint32_t)__cvta_generic_to_shared(words) * 0x10001u;
#endif
    }

    __device__ __forceinline__ uint32_t word(uint32_t address) const {
#if defined(__CUDA_ARCH__)
        uint32_t x;
        asm("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address));
        return x;
#else
        return book[address / 4];
#endif
    }
};

/*
 * Looks up single symbols. S: packets[i] holds codes i and i + 16. Other modes: escapes only, packets[i]
 * holds codes 2 i and 2 i + 1; codes that are no escape have length 0 in the book.
 */
template <bool IS_S, typename Words>
CSZ_DEVICE void csz_look_singles(const Words &words, const uint32_t *of_mode, uint32_t biased,
                                 uint32_t (&packets)[16], csz_unit_bits *n) {
    const csz_book_pair book(of_mode);
    const uint32_t to_direct = biased + 0x00300030u;
    uint32_t sum = 0, buckets = 0; /* of the words so far in the highest bits */
#pragma unroll 1
    for (uint32_t turn = 0; turn < 4; turn++) {
        uint32_t w[4], at[8], x[4]; /* in the book: of four low halves, then of four high ones */
        words.quad(w, turn);
#pragma unroll
        for (int i = 0; i < (IS_S ? 12 : 6); i++) packets[i] = packets[i + (IS_S ? 4 : 2)];
#pragma unroll
        for (int i = 8; i < (IS_S ? 8 : 14); i++) packets[i] = packets[i + 2];
        buckets >>= IS_S ? 8 : 4;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = __viaddmin_u16x2(w[i], to_direct, 0x00600060u);
            const uint32_t pair = 4 * x[i] + book.at;
            at[i] = pair & 0xFFFFu;
            at[4 + i] = pair >> 16;
        }
        const uint32_t most = __vmaxu2(__vmaxu2(x[0], x[1]), __vmaxu2(x[2], x[3]));
        if ((most & 0xFFFFu) == CSZ_DIRECT_N || most >> 16 == CSZ_DIRECT_N) {
            /* all eight without a branch: if one lane comes here, the whole warp does */
            uint32_t found = 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                uint32_t signs;
                const uint32_t beyond = csz_beyond_direct<16>(w[i], &signs),
                               is_bucket = (x[i] + 0x00200020u) & 0x00800080u; /* in bits 7 and 23 */
                found += is_bucket * (IS_S ? (1u << 17 | 1u << 2) << (2 * i) : 1u << (5 + i));
                /* symbols past the first bucket; 0 for direct deltas */
                const uint32_t low = csz_bucket_past(csz_half_as_float<false>(beyond)),
                               high = csz_bucket_past(csz_half_as_float<true>(beyond));
                at[i] += 4 * low;
                at[4 + i] += 4 * high;
                n->raw += (low >> 2) + (high >> 2);
            }
            buckets |= found & (IS_S ? 0xFF000000u : 0xF000F000u);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int a = IS_S ? i : 2 * i, b = IS_S ? i + 4 : 2 * i + 1;
            const uint32_t c0 = book.word(at[a]), c1 = book.word(at[b]);
            sum += c0 + c1;
            packets[IS_S ? 12 + i : i < 2 ? 6 + i : 12 + i] = csz_packet_merge(c0, c1);
        }
    }
    n->buckets |= buckets;
    n->raw += 3 * (uint32_t)__popc(buckets);
    sum &= 0xFFFu; /* 32 lengths of at most 12; above them the codes' own bits */
    if (IS_S)
        n->symbols = sum;
    else
        n->escapes = sum;
}

/*
 * P and Q: vector symbols of half a unit (eight words), times SCALE plus origin in both halves; four for
 * each chunk, in the order of docs/format.md, section 6. Shifts the codes that need an escape (those with
 * the largest digit) into *escapes: the second half's first. biased: CSZ_BIASED, see csz_held.
 */
template <int MODE, int SCALE>
CSZ_DEVICE void csz_vector_half(const uint32_t (&w)[8], uint32_t biased, uint32_t origin,
                                uint32_t (&symbol)[8], uint32_t *escapes) {
    const int nchunks = MODE == CSZ_MODE_P ? 2 : 1, per_symbol = 4 / nchunks;
    const uint32_t radius = csz_mode_radius(MODE), both = 0x10001u, to_digit = biased + radius * both;
#pragma unroll
    for (int c = nchunks - 1; c >= 0; c--) {
        uint32_t y[2];
#pragma unroll
        for (int m = 1; m >= 0; m--) {
            y[m] = origin;
#pragma unroll
            for (int j = per_symbol - 1; j >= 0; j--) {
                const uint32_t x = w[(8 / nchunks) * c + per_symbol * m + j];
                const uint32_t digit = __viaddmin_u16x2(x, to_digit, (2 * radius + 1) * both);
                y[m] += digit * ((uint32_t)SCALE << ((int)csz_mode_digit_nbits(MODE) * j));
                *escapes = *escapes * 2 + __viaddmax_s16x2(digit, (0x10000u - 2 * radius) * both, 0u);
            }
        }
        symbol[4 * c] = y[0] & 0xFFFFu;
        symbol[4 * c + 1] = y[1] & 0xFFFFu;
        symbol[4 * c + 2] = y[0] >> 16;
        symbol[4 * c + 3] = y[1] >> 16;
    }
}

/* All vector symbols of a unit; returns the codes that need an escape (M: all that are not 0). */
template <int MODE>
CSZ_DEVICE uint32_t csz_vector_symbols(const uint32_t (&w)[16], uint32_t nonzero, uint32_t biased,
                                       uint32_t (&symbol)[16]) {
    if (MODE == CSZ_MODE_M) {
#pragma unroll
        for (int i = 0; i < 4; i++) symbol[i] = (nonzero >> (8 * i)) & 255u;
        return nonzero;
    }
    uint32_t escapes = 0;
#pragma unroll
    for (int turn = 1; turn >= 0; turn--) {
        uint32_t x[8], half[8];
        csz_words_held{w}.get(x, (uint32_t)turn);
        csz_vector_half<MODE, 1>(x, biased, 0, half, &escapes);
#pragma unroll
        for (int i = 0; i < (int)csz_mode_unit_symbols(MODE) / 2; i++)
            symbol[(int)csz_mode_unit_symbols(MODE) / 2 * turn + i] = half[i];
    }
    return escapes;
}

/* Packets of a unit's vector symbols; of mode M's four a string of bits.  Returns the codes that need an
 * escape. */
template <int MODE, typename Words>
CSZ_DEVICE uint32_t csz_look_vectors(const Words &words, uint32_t nonzero, const uint32_t *books,
                                     uint32_t biased, uint32_t (&packets)[8], csz_unit_bits *n) {
    const uint32_t *book = books + csz_book_at(csz_mode_book(MODE));
    const int half = (int)csz_mode_unit_symbols(MODE) / 4; /* packets */
    uint32_t sum = 0, escapes = 0;
    if (MODE == CSZ_MODE_M) {
        const uint32_t c0 = book[nonzero & 255u], c1 = book[nonzero >> 8 & 255u],
                       c2 = book[nonzero >> 16 & 255u], c3 = book[nonzero >> 24];
        uint32_t words[2] = {c3 & ~31u, 0};
        csz_prepend<2>(words, c2);
        csz_prepend<2>(words, c1);
        csz_prepend<2>(words, c0);
        packets[0] = words[0];
        packets[1] = words[1];
        n->symbols = (c0 + c1 + c2 + c3) & 0xFFFu;
        return nonzero;
    }
    const csz_book_pair pairs(book);
#pragma unroll 1
    for (int turn = 1; turn >= 0; turn--) {
        uint32_t w[8], at[8];
        words.get(w, (uint32_t)turn);
        csz_vector_half<MODE, 4>(w, biased, pairs.at, at, &escapes);
#pragma unroll
        for (int i = 0; i < half; i++) {
            const uint32_t c0 = pairs.word(at[2 * i]), c1 = pairs.word(at[2 * i + 1]);
            sum += c0 + c1;
            packets[half + i] = packets[i];
            packets[i] = csz_packet_merge(c0, c1);
        }
    }
    n->symbols = sum & 0xFFFu;
    return escapes;
}

/*
 * Where no unit of the warp has more than CSZ_FEW_ESCAPES escapes, they are looked up one by one;
 * otherwise all 32 codes are. CSZ_FEW_ESCAPES_WORDS: words for their bits. Up to CSZ_FEW_BUCKETS buckets
 * have their raw bits put one by one.
 */
enum { CSZ_FEW_ESCAPES = 10, CSZ_FEW_ESCAPES_WORDS = 4, CSZ_FEW_BUCKETS = 12 };
static_assert(CSZ_FEW_ESCAPES * CSZ_LENGTH_MAX <= 32 * CSZ_FEW_ESCAPES_WORDS, "room for the longest codes");

/*
 * The half of code b of this thread's unit in the exchange. Its byte offset is (b & 12) * 2^9 + 16 *
 * thread + (b & 3) * 4 + (b & 16) / 8. The terms share no bits, so one multiplication places two of them.
 * (The low half of a word comes first, on the GPU and in the emulator.)
 */
CSZ_DEVICE uint32_t csz_parked_half(const uint32_t *exchange, uint32_t b) {
    const uint32_t at = ((b * 0x204u & 0x180Cu) | 16 * threadIdx.x) + ((b & 16u) >> 3);
    return *(const uint16_t *)((const char *)exchange + at);
}

/*
 * One pass over a unit's escapes; their codes become one bit string from the highest bit of words[0].
 * most: the largest number of escapes in the warp. DIRECT: treats all as direct deltas; *highest then
 * shows whether one is not. Goes from the last escape to the first and prepends each code. Returns the
 * number of bits.
 */
template <bool DIRECT>
CSZ_DEVICE uint32_t csz_sparse_pass(const uint32_t *exchange, const uint32_t *book, uint32_t escapes,
                                    uint32_t most, uint32_t (&words)[16], uint32_t *highest) {
    const csz_book_pair pairs(book);
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < CSZ_FEW_ESCAPES_WORDS; i++) words[i] = 0;
#pragma unroll 1
    for (uint32_t left = most; (int32_t)left > 0; left -= 2) {
        uint32_t packet[2], symbol[2];
#pragma unroll
        for (int k = 1; k >= 0; k--) {
            const bool any = escapes != 0;
            const uint32_t b = 31u - (uint32_t)__clz((int)escapes); /* of none: some code, escape or direct */
            escapes &= __funnelshift_l(~1u, ~1u, b);
            const uint32_t half = csz_parked_half(exchange, b);
            symbol[k] = DIRECT ? __viaddmin_u32(half, CSZ_DIRECT_HALF - 32768u, CSZ_DIRECT_N)
                               : csz_narrow_symbol((int32_t)half - 32768);
            packet[k] = pairs.word(4 * symbol[k] + (pairs.at & 0xFFFFu));
            if (!any) packet[k] = 0;
            csz_prepend<CSZ_FEW_ESCAPES_WORDS>(words, packet[k]);
        }
        if (DIRECT) *highest = max(*highest, max(symbol[0], symbol[1]));
        sum += packet[0] + packet[1];
    }
    return sum & 0xFFFu;
}

/*
 * Few escapes. The first pass assumes direct deltas; if one in the warp is not, a second pass looks them
 * all up again.
 */
CSZ_DEVICE void csz_look_sparse(const uint32_t *exchange, const uint32_t *book, uint32_t escapes,
                                uint32_t most, uint32_t (&words)[16], csz_unit_bits *n) {
    uint32_t highest = 0;
    n->escapes = csz_sparse_pass<true>(exchange, book, escapes, most, words, &highest);
    if (!__any_sync(CSZ_ALL, highest >= CSZ_DIRECT_N)) return;
    n->escapes = csz_sparse_pass<false>(exchange, book, escapes, most, words, &highest);
    if (highest < CSZ_DIRECT_N) return;
#pragma unroll 1
    for (uint32_t rest = escapes; rest; rest &= rest - 1) {
        const uint32_t b = (uint32_t)__ffs((int)rest) - 1;
        const uint32_t symbol = csz_narrow_symbol((int32_t)csz_parked_half(exchange, b) - 32768);
        if (symbol < CSZ_DIRECT_N) continue;
        n->buckets |= 1u << b;
        n->raw += ((symbol - CSZ_DIRECT_N) >> 2) + 3;
    }
}

CSZ_DEVICE uint32_t csz_raw_packet(int32_t delta) {
    uint32_t raw, nraw;
    csz_bucket_narrow(delta, &raw, &nraw);
    return csz_packet(raw, nraw);
}

/* Raw bits of the unit's buckets, at most 13 each; the words are parked. */
CSZ_DEVICE void csz_put_raw(csz_putter out, const uint32_t *exchange, int mode, uint32_t buckets) {
    for (uint32_t m = buckets; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1, word = mode == CSZ_MODE_S ? b >> 1 : b & 15,
                       high = mode == CSZ_MODE_S ? b & 1 : b >> 4;
        const uint32_t x = exchange[(word >> 2) * (4 * CSZ_TILE_UNITS) + 4 * threadIdx.x + (word & 3)];
        out.put(csz_raw_packet((int32_t)(x >> (16 * high) & 0xFFFFu) - 32768));
    }
    out.flush();
}

/*
 * Raw bits of a delta as a packet; empty for a direct delta. twice: 2 * csz_beyond_direct's result +
 * sign, as float bits. The raw bits follow the first two bits of the fraction; their number is the
 * exponent minus 2.
 */
CSZ_DEVICE uint32_t csz_raw_packet_or_none(uint32_t twice) {
    const uint32_t count = (twice >> 23) - (127 + 2);
#if defined(__CUDA_ARCH__)
    uint32_t chosen; /* the compiler would make a branch of it, and three instructions of the sum */
    asm("{.reg .pred q; .reg .u32 p; mad.lo.u32 p, %1, 2048, %2; setp.ge.u32 q, %1, 0x42000000; selp.b32 %0, "
        "p, 0, q;}"
        : "=r"(chosen)
        : "r"(twice), "r"(count));
    return chosen;
#else
    return twice >= 0x42000000u /* 32.0f */ ? (twice << 11) + count : 0;
#endif
}

/*
 * The same for a unit of mode S with many buckets: word by word, the raw bits of both halves (at most 26)
 * in one put.
 */
CSZ_DEVICE void csz_put_raw_here(uint32_t *stage, uint32_t bit, const uint32_t *exchange) {
    csz_putter out(stage, bit);
    const csz_words_parked words = {exchange};
#pragma unroll 1
    for (uint32_t turn = 0; turn < 4; turn++) {
        uint32_t w[4];
        words.quad(w, turn);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t signs;
            const uint32_t beyond = csz_beyond_direct<0>(w[i], &signs),
                           twice = 2 * beyond + (signs & 0x00010001u);
            out.put(csz_packet_merge(csz_raw_packet_or_none(csz_half_as_float<false>(twice)),
                                     csz_raw_packet_or_none(csz_half_as_float<true>(twice))));
        }
    }
    out.flush();
}
CSZ_COLD void csz_put_raw_all(uint32_t *stage, uint32_t bit, const uint32_t *exchange) {
    csz_put_raw_here(stage, bit, exchange);
}

#endif
