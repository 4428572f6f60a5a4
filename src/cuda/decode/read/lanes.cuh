/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.cuh: one thread decodes a lane, or two at the same time, into 16-bit codes in shared memory
 * (codes.cuh), for class 0 and modes M, Q, P and S. A warp takes a tile; in modes of 64 lanes a thread has
 * lanes r and r + 32, whose look-ups do not wait for each other.
 *
 * A thread sees its lane's codes from the lane's first chunk on, through `twist`, the swizzle of its first
 * pair of units.
 */
#ifndef CSZ_CUDA_DECODE_LANES_CUH
#define CSZ_CUDA_DECODE_LANES_CUH

#include "cuda/common/bits.cuh"
#include "cuda/common/codes.cuh"
#include "cuda/tables/job.cuh"

/*
 * The longest lane: 4 units of escapes with 13 raw bits each.  Readers stay within this many words of a
 * lane's start.
 */
enum { LANE_MAX_WORDS = 116 };

/* Exchanges bits i and i + shift of x where mask has bit i. */
CSZ_DEVICE uint32_t bits_swap(uint32_t x, uint32_t shift, uint32_t mask) {
    uint32_t t = (x ^ (x >> shift)) & mask;
    return x ^ t ^ (t << shift);
}

/* A mode's table of vector symbols, and the steps of a unit, four symbols each. */
template <int MODE> struct vector_traits;
template <> struct vector_traits<CSZ_MODE_M> {
    enum { TABLE = TABLE_MV, STEPS = 1 };
};
template <> struct vector_traits<CSZ_MODE_Q> {
    enum { TABLE = TABLE_QV, STEPS = 2 };
};
template <> struct vector_traits<CSZ_MODE_P> {
    enum { TABLE = TABLE_PV, STEPS = 4 };
};

/* Chunks from a thread's first lane of 2 units to its second; both have the same swizzle. */
enum { LANE_CHUNKS = 256 };

/* The number of raw bits of an entry's value, and the delta, given a window that begins with them. */
CSZ_DEVICE uint32_t value_nraw(int value) {
    return value >= CSZ_DIRECT_HALF ? (uint32_t)(value >> 2) - (CSZ_DIRECT_HALF / 4 - 3) : 0;
}
CSZ_DEVICE uint32_t value_delta(int value, uint32_t window, uint32_t n) {
    /* as csz_symbol_delta: the bits 1 and symbol & 3 come before the raw ones */
    const uint32_t u = __funnelshift_l(window, 4 | (value & 3), n);
    return value >= CSZ_DIRECT_HALF ? ((u >> 1) + 32) ^ (0 - (u & 1)) : (uint32_t)value;
}

CSZ_DEVICE uint32_t halves_have_bucket(uint32_t largest) {
    return (int16_t)largest >= CSZ_DIRECT_HALF || (int16_t)(largest >> 16) >= CSZ_DIRECT_HALF;
}

/* The deltas of a word's two values, whose raw bits are next: at most 26, so one window holds them. */
template <typename W> CSZ_DEVICE uint32_t buckets_finish(bit_reader<W> *r, uint32_t word) {
    const int low = (int16_t)word, high = (int16_t)(word >> 16);
    const uint32_t window = bits_window(r), n0 = value_nraw(low), n1 = value_nraw(high);
    word = __byte_perm(value_delta(low, window, n0), value_delta(high, __funnelshift_l(0, window, n0), n1),
                       0x5410);
    bits_move(r, r->at + n0 + n1);
    return word;
}

/*
 * Mode S: 64 symbols a lane, then the raw bits of buckets (symbols that have raw bits), which wait in their
 * halves meanwhile.  Threads have buckets at different places, and would wait for each other if all went
 * through their words in order. few: up to so many words with buckets in a lane, each thread visits its own
 * words instead.
 */
template <int N, typename W, typename T>
CSZ_DEVICE void decode_single(bit_reader<W> *r, const uint32_t *nbits, T table, uint4 *chunks, uint32_t twist,
                              uint32_t few) {
    uint32_t has[N]; /* words with buckets, from the most significant bit down */
#pragma unroll
    for (int l = 0; l < N; l++) has[l] = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t word[N][4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int l = 0; l < N; l++) {
                const uint32_t window = bits_window(&r[l]);
                const int low = table_entry_signed(table, window >> (32 - 12)),
                          high = table_entry_signed(table,
                                                    __funnelshift_l(0, window, (uint32_t)low) >> (32 - 12)),
                          larger = low > high ? low : high;
                bits_move(&r[l], r[l].at + (uint32_t)low + (uint32_t)high);
                word[l][k] = csz_pack_second_bytes((uint32_t)low, (uint32_t)high);
                has[l] = __funnelshift_l((uint32_t)(CSZ_DIRECT_HALF * 256 - 1 - larger), has[l], 1);
            }
        }
#pragma unroll
        for (int l = 0; l < N; l++) {
            uint32_t *w = word[l];
            if (nbits[l] == 0) w[0] = w[1] = w[2] = w[3] = 0;
            chunks[LANE_CHUNKS * l + (i ^ twist)] = make_uint4(w[0], w[1], w[2], w[3]);
        }
    }
    uint32_t most = 0;
#pragma unroll
    for (int l = 0; l < N; l++) {
        if (nbits[l] == 0) has[l] = 0;
        const uint32_t n = (uint32_t)__popc(has[l]);
        most = n > most ? n : most;
    }
    if (!csz_agreed(most > few)) {
        for (uint32_t any = most; any;) {
            any = 0;
#pragma unroll
            for (int l = 0; l < N; l++) {
                const uint32_t w = csz_leading_zeros(has[l]) & 31, is_there = has[l] != 0;
                uint32_t *p = (uint32_t *)((uint8_t *)(chunks + LANE_CHUNKS * l) + ((4 * w) ^ (16 * twist)));
                const uint32_t word = buckets_finish(&r[l], is_there ? *p : 0);
                if (is_there) *p = word;
                has[l] &= 0x7FFFFFFFu >> w;
                any |= has[l];
            }
        }
        return;
    }
#pragma unroll 1
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t word[N][4];
#pragma unroll
        for (int l = 0; l < N; l++) {
            const uint4 c = chunks[LANE_CHUNKS * l + (i ^ twist)];
            uint32_t *w = word[l];
            w[0] = c.x;
            w[1] = c.y;
            w[2] = c.z;
            w[3] = c.w;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int l = 0; l < N; l++) word[l][k] = buckets_finish(&r[l], word[l][k]);
        }
#pragma unroll
        for (int l = 0; l < N; l++)
            chunks[LANE_CHUNKS * l + (i ^ twist)] =
                make_uint4(word[l][0], word[l][1], word[l][2], word[l][3]);
    }
}

/*
 * Step s of a unit's vector symbols: puts digits into shared memory. *escapes receives the codes with
 * escapes, in an order that escapes_order undoes. chunks: the unit's, seen through x.
 */
template <int MODE, typename W, typename T>
CSZ_DEVICE void decode_vectors(bit_reader<W> *r, T table, uint32_t s, uint4 *chunks, uint32_t x,
                               uint32_t *escapes) {
    uint32_t e0, e1, e2, e3;
    bits_symbols<12>(r, table, &e0, &e1);
    bits_symbols<12>(r, table, &e2, &e3);
    const uint32_t four = __byte_perm(__byte_perm(e0, e1, 0x0051), __byte_perm(e2, e3, 0x0051), 0x5410);
    if (MODE == CSZ_MODE_M) *escapes = four;
    if (MODE == CSZ_MODE_P) {
        uint32_t top = four & (four >> 1), word[4];
        top &= top >> 2;
        *escapes |= (top & 0x11111111u) << s;
#pragma unroll
        for (int k = 0; k < 4; k++) word[k] = __vadd2((four >> (4 * k)) & 0x000F000Fu, 0xFFF9FFF9u); /* - 7 */
        chunks[s ^ x] = make_uint4(word[0], word[1], word[2], word[3]);
    }
    if (MODE == CSZ_MODE_Q) {
        uint32_t word[8];
        *escapes |= (four & (four >> 1) & 0x55555555u) << s;
#pragma unroll
        for (int k = 0; k < 8; k++) word[k] = __vadd2((four >> (2 * k)) & 0x00030003u, 0xFFFFFFFFu); /* - 1 */
        chunks[(2 * s) ^ x] = make_uint4(word[0], word[1], word[2], word[3]);
        chunks[(2 * s + 1) ^ x] = make_uint4(word[4], word[5], word[6], word[7]);
    }
}

/* Transposes: bit 4 k + s is code 4 s + k of its half (P), bit 2 k + s is code 8 s + k (Q). */
template <int MODE> CSZ_DEVICE uint32_t escapes_order(uint32_t escapes) {
    if (MODE == CSZ_MODE_P) {
        escapes = bits_swap(escapes, 3, 0x0A0A0A0Au);
        escapes = bits_swap(escapes, 6, 0x00CC00CCu);
    }
    if (MODE == CSZ_MODE_Q) {
        escapes = bits_swap(escapes, 1, 0x22222222u);
        escapes = bits_swap(escapes, 2, 0x0C0C0C0Cu);
        escapes = bits_swap(escapes, 4, 0x00F000F0u);
    }
    return escapes;
}

/*
 * The place of a lane's unit u, in bytes from the lane's start, to be XOR-ed with the place of a code in
 * its unit: an odd pair's swizzle differs from the even one's in bit 1. unit_places has units 0 to 3 in
 * bytes 0 to 3.
 */
CSZ_DEVICE uint32_t code_place_of_unit(uint32_t u, uint32_t twist) {
    return 128 * (u >> 1) + 16 * ((4 * (u & 1)) ^ twist ^ (u & 2));
}
CSZ_DEVICE uint32_t unit_places(uint32_t twist) { return 0xE0A04000u ^ twist * 0x10101010u; }

/* A code's half word, 4 (b mod 16) + 2 (b / 16) bytes from its unit's place. */
CSZ_DEVICE uint16_t *code_half(uint4 *chunks, uint32_t place, uint32_t b) {
    return (uint16_t *)((uint8_t *)chunks + (((4 * b + (b >> 3)) & 0x3E) ^ place));
}

/* Moves each unit's mask to the place before it. */
template <int UNITS> CSZ_DEVICE void masks_move(uint32_t *mask) {
#pragma unroll
    for (int u = 1; u < UNITS; u++) mask[u - 1] = mask[u];
}

/*
 * Escapes of a lane that are still to be read, from each mask's most significant bit down: of the current
 * unit, and of the units after it, with empty masks last; and those units' places, one byte each.
 */
template <int UNITS> struct escape_queue { uint32_t left, after[UNITS - 1], place, places; };

template <int UNITS> CSZ_DEVICE escape_queue<UNITS> escapes_queue(const uint32_t *escapes, uint32_t twist) {
    uint32_t mask[UNITS];
    escape_queue<UNITS> q;
    q.places = unit_places(twist);
#pragma unroll
    for (int u = 0; u < UNITS; u++) mask[u] = __brev(escapes[u]);
#pragma unroll
    for (int first = UNITS - 2; first >= 0; first--) {
        if (mask[first] == 0) {
#pragma unroll
            for (int u = first + 1; u < UNITS; u++) mask[u - 1] = mask[u];
            mask[UNITS - 1] = 0;
            q.places = __byte_perm(q.places, 0, first == 2 ? 0x4310 : first == 1 ? 0x4320 : 0x4321);
        }
    }
    q.left = mask[0];
#pragma unroll
    for (int u = 1; u < UNITS; u++) q.after[u - 1] = mask[u];
    q.place = q.places & 255;
    return q;
}

/*
 * Visits the escapes of a thread's lanes: each(l, has, halves) with the half words of up to two escapes of
 * one unit of lane l, and whether they exist.  One loop runs over the escapes of all units, so that its
 * length is the largest lane's number of escapes, not the sum of each unit's largest.
 */
template <int N, typename F>
CSZ_DEVICE void escapes_visit(const uint32_t (*escapes)[4 / N], uint4 *chunks, uint32_t twist, F each) {
    constexpr int UNITS = 4 / N;
    escape_queue<UNITS> queue[N];
    uint32_t any = 0;
#pragma unroll
    for (int l = 0; l < N; l++) {
        queue[l] = escapes_queue<UNITS>(escapes[l], twist);
        any |= queue[l].left;
    }
    while (any) {
        any = 0;
#pragma unroll
        for (int l = 0; l < N; l++) {
            escape_queue<UNITS> *q = &queue[l];
            const uint32_t b = csz_leading_zeros(q->left), rest = q->left & (0x7FFFFFFFu >> (b & 31)),
                           c = csz_leading_zeros(rest);
            const bool has[2] = {N == 1 || q->left != 0, rest != 0};
            uint4 *own = chunks + LANE_CHUNKS * l;
            uint16_t *half[2] = {code_half(own, q->place, b), code_half(own, q->place, c)};
            q->left = rest & (0x7FFFFFFFu >> (c & 31));
            each(l, has, half);
            if (q->left == 0) {
                q->left = q->after[0];
#pragma unroll
                for (int u = 1; u < UNITS - 1; u++) q->after[u - 1] = q->after[u];
                q->after[UNITS - 2] = 0;
                q->places >>= 8;
                q->place = q->places & 255;
            }
            any |= q->left;
        }
    }
}

/* Puts the symbols of escapes over the digits; returns the largest value. */
template <int N, typename W, typename T>
CSZ_DEVICE uint32_t decode_escapes(bit_reader<W> *r, const uint32_t (*escapes)[4 / N], T table, uint4 *chunks,
                                   uint32_t twist) {
    uint32_t largest = 0;
    escapes_visit<N>(escapes, chunks, twist, [&](int l, const bool *has, uint16_t **half) {
        const uint32_t window = bits_window(&r[l]);
        uint32_t first = table_entry(table, window >> (32 - 11));
        first = has[0] ? first : 0;
        uint32_t second = table_entry(table, __funnelshift_l(0, window, first) >> (32 - 11));
        second = has[1] ? second : 0;
        bits_move(&r[l], r[l].at + first + second);
        const uint32_t values = csz_pack_second_bytes(first, second);
        largest = __vmaxs2(largest, values);
        if (has[0]) *half[0] = (uint16_t)values;
        if (has[1]) *half[1] = (uint16_t)(values >> 16);
    });
    return largest;
}

/* Reads the raw bits of escapes that are buckets, whose symbols are in their halves. */
template <int N, typename W>
CSZ_DEVICE void decode_buckets(bit_reader<W> *r, const uint32_t (*escapes)[4 / N], uint4 *chunks,
                               uint32_t twist) {
    escapes_visit<N>(escapes, chunks, twist, [&](int l, const bool *has, uint16_t **half) {
        uint32_t at = r[l].at, window = bits_window(&r[l]); /* both have their bits in one: at most 26 */
#pragma unroll
        for (uint32_t k = 0; k < 2; k++) {
            const int value = has[k] ? (int16_t)*half[k] : 0;
            const uint32_t nraw = value_nraw(value), delta = value_delta(value, window, nraw);
            if (has[k]) *half[k] = (uint16_t)delta;
            window = __funnelshift_l(0, window, nraw);
            at += nraw;
        }
        bits_move(&r[l], at);
    });
}

/*
 * The same for one lane of 4 units by a whole warp, four codes a thread; escapes: which of them are
 * escapes. first: the bit at which the lane's raw bits begin; returns the bit at which they end.
 */
template <typename W>
CSZ_DEVICE uint32_t buckets_share(W words, uint32_t first, uint32_t escapes, uint4 *code, uint32_t lane,
                                  uint32_t r) {
    const uint32_t place = code_place_of_unit(r >> 3, swizzle(2 * lane)), b = 4 * (r & 7);
    uint4 *chunks = code + 16 * lane;
    int value[4];
    uint32_t n[4], sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        value[k] = escapes >> k & 1 ? (int16_t)*code_half(chunks, place, b + k) : 0;
        n[k] = value_nraw(value[k]);
        sum += n[k];
    }
    const uint32_t upto = csz_warp_scan(sum);
    uint32_t at = first + upto - sum;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (n[k]) {
            const W p = words_after(words, at >> 5);
            *code_half(chunks, place, b + k) =
                (uint16_t)value_delta(value[k], __funnelshift_l(word_load(p, 1), word_load(p, 0), at), n[k]);
        }
        at += n[k];
    }
    return first + __shfl_sync(~0u, upto, 31);
}

/*
 * All lanes' buckets, where threads have one lane each.  Lanes of few escapes are left to their threads; the
 * warp shares the others, one after another, since a single lane of 128 would take its thread 7 us.
 */
enum { BUCKETS_ALONE = 16, BUCKETS_OF_SHARE = 8 };
template <typename W>
CSZ_DEVICE void buckets_finish_shared(bit_reader<W> *reader, W words, const uint32_t (*escapes)[4],
                                      uint32_t largest, uint4 *code, uint4 *chunks, uint32_t twist,
                                      uint32_t r) {
    uint32_t n = 0;
#pragma unroll
    for (int u = 0; u < 4; u++) n += (uint32_t)__popc(escapes[0][u]);
    if (!halves_have_bucket(largest)) n = 0;
    uint32_t many = __ballot_sync(~0u, n > BUCKETS_ALONE);
    /* to share a lane takes as long as this many escapes take one thread */
    const uint32_t few = BUCKETS_ALONE + BUCKETS_OF_SHARE * (uint32_t)__popc(many);
    if (!csz_agreed(n > few)) many = 0;
    if (n && !(many >> r & 1)) decode_buckets<1>(reader, escapes, chunks, twist);
    __syncwarp();
#pragma unroll 1
    for (; many; many &= many - 1) {
        const int lane = __ffs((int)many) - 1;
        uint32_t own = 0;
#pragma unroll
        for (uint32_t u = 0; u < 4; u++) {
            const uint32_t mask = __shfl_sync(~0u, escapes[0][u], lane);
            if (r >> 3 == u) own = mask >> (4 * (r & 7)) & 15;
        }
        const uint32_t first = __shfl_sync(~0u, bits_place(reader, words), lane),
                       end = buckets_share(words, first, own, code, (uint32_t)lane, r);
        if (r == (uint32_t)lane) {
            reader->p = words_after(words, (end >> 5) + 3);
            reader->at = end;
        }
    }
    __syncwarp();
}

/* A lane: its first bit in the record and its length. */
struct lane_place {
    uint32_t at, nbits;
};

/*
 * The vector symbols of a thread's lanes.  Loops over units and steps are not unrolled, so that the code of
 * all modes fits the instruction cache; instead of indexing, masks move by one place each time.
 */
template <int MODE, int N, typename W, typename T>
CSZ_DEVICE void decode_units(bit_reader<W> *reader, const uint32_t *nbits, T tables, uint4 *chunks,
                             uint32_t twist, uint32_t (*escapes)[4 / N]) {
    constexpr int UNITS = 4 / N;
    const T table = table_after(tables, vector_traits<MODE>::TABLE);
#pragma unroll 1
    for (uint32_t u = 0; u < UNITS; u++) {
        uint32_t mask[N];
#pragma unroll
        for (int l = 0; l < N; l++) mask[l] = 0;
#pragma unroll 1
        for (uint32_t s = 0; s < vector_traits<MODE>::STEPS; s++) {
#pragma unroll
            for (int l = 0; l < N; l++)
                decode_vectors<MODE>(&reader[l], table, s, chunks + LANE_CHUNKS * l + 8 * (u >> 1),
                                     (4 * (u & 1)) ^ twist ^ (u & 2), &mask[l]);
        }
#pragma unroll
        for (int l = 0; l < N; l++) {
            masks_move<UNITS>(escapes[l]);
            escapes[l][UNITS - 1] = escapes_order<MODE>(nbits[l] ? mask[l] : 0);
        }
    }
}

/*
 * Decodes a thread's N lanes: r, in mode M or Q, a lane of 4 units; or r and r + 32, in mode P or S, lanes
 * of 2 units.  Returns 1 if each used its bits up exactly.  The caller has cleared the codes of mode M, and
 * of empty lanes where N is 1.  Never reads beyond LANE_MAX_WORDS words from a lane's start.  SHARES: the
 * warp shares raw bits of long lanes.
 */
template <int N, bool SHARES, typename W, typename T>
CSZ_DEVICE uint32_t decode_lane(uint32_t mode, W words, const lane_place *lane, T tables, uint4 *code,
                                uint32_t r, uint32_t few) {
    constexpr int UNITS = 4 / N;
    const uint32_t pair = r * (UNITS / 2), twist = swizzle(pair);
    uint4 *chunks = code + 8 * pair;
    /* voted while the warp is whole: threads of empty lanes leave early */
    const bool is_single = N == 2 && csz_agreed(mode == CSZ_MODE_S),
               is_quad = N == 1 && csz_agreed(mode == CSZ_MODE_Q);
    if constexpr (SHARES) {
        static_assert(N == 1, "a thread's only lane");
        bit_reader<W> reader = bits_open(words, lane[0].nbits ? lane[0].at : 0);
        uint32_t escapes[1][4] = {}, largest = 0;
        const uint32_t nbits = lane[0].nbits;
        if (nbits) {
            if (is_quad)
                decode_units<CSZ_MODE_Q, 1>(&reader, &nbits, tables, chunks, twist, escapes);
            else
                decode_units<CSZ_MODE_M, 1>(&reader, &nbits, tables, chunks, twist, escapes);
            largest = decode_escapes<1>(&reader, escapes, table_after(tables, is_quad ? TABLE_QE : TABLE_ME),
                                        chunks, twist);
        }
        __syncwarp();
        buckets_finish_shared(&reader, words, escapes, largest, code, chunks, twist, r);
        return nbits == 0 || bits_place(&reader, words) == lane[0].at + nbits;
    }
    if (N == 1 && lane[0].nbits == 0) return 1;
    bit_reader<W> reader[N];
    uint32_t nbits[N];
#pragma unroll
    for (int l = 0; l < N; l++) {
        nbits[l] = lane[l].nbits;
        reader[l] = bits_open(words, lane[l].at);
    }
    if (is_single) {
        decode_single<N>(reader, nbits, table_after(tables, TABLE_S), chunks, twist, few);
    } else {
        uint32_t escapes[N][UNITS] = {}; /* else they would stay alive from tile to tile */
        if (N == 2) {
            decode_units<CSZ_MODE_P, N>(reader, nbits, tables, chunks, twist, escapes);
        } else if (is_quad) {
            decode_units<CSZ_MODE_Q, N>(reader, nbits, tables, chunks, twist, escapes);
        } else {
            decode_units<CSZ_MODE_M, N>(reader, nbits, tables, chunks, twist, escapes);
        }
        /* an empty lane beside another was decoded from meaningless bits */
        if (N > 1 && csz_agreed(nbits[0] == 0 || nbits[N - 1] == 0)) {
#pragma unroll
            for (int l = 0; l < N; l++) {
                if (nbits[l] == 0) {
#pragma unroll 1
                    for (uint32_t i = 0; i < 4 * UNITS; i++)
                        chunks[LANE_CHUNKS * l + (i ^ twist)] = make_uint4(0, 0, 0, 0);
                }
            }
        }
        const uint32_t table = N == 2    ? TABLE_PE
                               : is_quad ? TABLE_QE
                                         : TABLE_ME,
                       largest =
                           decode_escapes<N>(reader, escapes, table_after(tables, table), chunks, twist);
        if (halves_have_bucket(largest)) decode_buckets<N>(reader, escapes, chunks, twist);
    }
    uint32_t good = 1;
#pragma unroll
    for (int l = 0; l < N; l++)
        good &= nbits[l] == 0 || bits_place(&reader[l], words) == lane[l].at + nbits[l];
    return good;
}

#endif
