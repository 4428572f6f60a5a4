/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_lane.cuh: one thread turns the bits of a lane, or of two side by side, into 16-bit deltas in shared memory (class 0, every mode).  A warp takes a tile: of the modes with 64 lanes a
 * thread has lanes r and r + 32, whose look-ups do not wait for each other.
 *
 * A unit's 32 codes are 16 words, word W holding codes W and W + 16, and four words make a 16-byte chunk: chunk 4 T + i holds slices i and i + 4 of
 * unit T.  The low three bits of a chunk's place are XOR-ed with `swizzle` of its pair of units, chosen so that each pass below finds eight threads in a
 * row at eight different 16-byte banks: lanes of 2 units (pairs p..p+7), lanes of 4 units (every second pair), rows of x, and units in order.
 */
#ifndef CSZ_CUDA_DECODE_LANE_CUH
#define CSZ_CUDA_DECODE_LANE_CUH

#include "cuda/common/bits.cuh"
#include "cuda/decode/decompress_job.cuh"

/* Longest lane that 4 units of escapes with 13 raw bits can make: readers stay within this many words of a lane's start. */
enum { LANE_MAX_WORDS = 116 };

CSZ_DEVICE uint32_t swizzle(uint32_t pair) {
    return (pair & 4) | ((pair >> 1) & 1) | (((pair ^ (pair >> 3)) & 1) << 1);
}

CSZ_DEVICE uint32_t chunk_place(uint32_t unit, uint32_t i) {
    uint32_t pair = unit >> 1;
    return 8 * pair + ((4 * (unit & 1) + i) ^ swizzle(pair));
}

/* Exchanges bits i and i + shift of x where mask has bit i. */
CSZ_DEVICE uint32_t bits_swap(uint32_t x, uint32_t shift, uint32_t mask) {
    uint32_t t = (x ^ (x >> shift)) & mask;
    return x ^ t ^ (t << shift);
}

/* Steps of a unit's vector symbols, four each. */
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

/* From a thread's first lane of 2 units to its second, in chunks; both have the same swizzle. */
enum { LANE_CHUNKS = 256 };

/* Raw bits that follow for an entry's value, and the delta that they make, given a window that begins with them. */
CSZ_DEVICE uint32_t value_nraw(int value) {
    return value >= CSZ_DIRECT_HALF ? (uint32_t)(value >> 2) - (CSZ_DIRECT_HALF / 4 - 3) : 0;
}
CSZ_DEVICE uint32_t value_delta(int value, uint32_t window, uint32_t n) {
    /* csz_symbol_delta: the leading bits 1 and symbol & 3 stand before the raw ones */
    const uint32_t u = __funnelshift_l(window, 4 | (value & 3), n);
    return value >= CSZ_DIRECT_HALF ? ((u >> 1) + 32) ^ (0 - (u & 1)) : (uint32_t)value;
}

CSZ_DEVICE uint32_t halves_have_bucket(uint32_t largest) {
    return (int16_t)largest >= CSZ_DIRECT_HALF || (int16_t)(largest >> 16) >= CSZ_DIRECT_HALF;
}

/* The deltas of a word's two values, whose raw bits are next: they lie in one window, being at most 26. */
template <typename W> CSZ_DEVICE uint32_t buckets_finish(bit_reader<W> *r, uint32_t word) {
    const int low = (int16_t)word, high = (int16_t)(word >> 16);
    const uint32_t window = bits_window(r), n0 = value_nraw(low), n1 = value_nraw(high);
    word = __byte_perm(value_delta(low, window, n0), value_delta(high, __funnelshift_l(0, window, n0), n1),
                       0x5410);
    bits_move(r, r->at + n0 + n1);
    return word;
}

/*
 * Mode S: 64 symbols a lane, then the raw bits of buckets, whose symbols stand in their halves meanwhile.  Where buckets are few, threads have them at different places, and would wait for each other if all went through
 * their words in order; few: words of a lane with buckets up to which they are visited one by one.
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
    if (CSZ_CUT >= 3) return;
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
 * Step s of a unit's vector symbols: digits to shared memory; *escapes receives codes that escapes follow for, in the order that escapes_order undoes.  chunks are the
 * unit's, seen through x.
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

/* Bit 4 k + s stands for code 4 s + k of its half (P), bit 2 k + s for code 8 s + k (Q): transpose. */
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
 * Where unit u of a lane stands, in bytes from the lane's start, to be XOR-ed with the place of a code in its unit: an odd pair's swizzle differs from the even one's in bit 1.
 * Of units 0 to 3 in bytes 0 to 3 of a word: unit_places.
 */
CSZ_DEVICE uint32_t code_place_of_unit(uint32_t u, uint32_t twist) {
    return 128 * (u >> 1) + 16 * ((4 * (u & 1)) ^ twist ^ (u & 2));
}
CSZ_DEVICE uint32_t unit_places(uint32_t twist) { return 0xE0A04000u ^ twist * 0x10101010u; }

/* A code's half word, 4 (b mod 16) + 2 (b / 16) bytes from its unit's place. */
CSZ_DEVICE uint16_t *code_half(uint4 *chunks, uint32_t place, uint32_t b) {
    return (uint16_t *)((uint8_t *)chunks + (((4 * b + (b >> 3)) & 0x3E) ^ place));
}

/* Masks of units move to the places before theirs. */
template <int UNITS> CSZ_DEVICE void masks_move(uint32_t *mask) {
#pragma unroll
    for (int u = 1; u < UNITS; u++) mask[u - 1] = mask[u];
}

/*
 * Escapes of a lane that are still to be read, from the most significant bit of each mask down: of the unit at work, and of those after it, none of which is empty before another; where these units
 * stand, a byte each.
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
 * Draws out the runs of a unit: a code at which none begins, as starts tells by code, has the delta of the one before it.  chunks are the unit's, seen through x; *last is the delta of the code
 * before the unit, and is left as that of its last.
 */
CSZ_DEVICE void runs_draw(uint4 *chunks, uint32_t x, uint32_t starts, uint32_t *last) {
    uint32_t low[16], high[16], delta = *last;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const uint4 c = chunks[i ^ x];
        high[4 * i] = c.x;
        high[4 * i + 1] = c.y;
        high[4 * i + 2] = c.z;
        high[4 * i + 3] = c.w;
    }
#pragma unroll
    for (uint32_t b = 0; b < 16; b++) low[b] = delta = starts >> b & 1 ? high[b] : delta;
    delta <<= 16;
#pragma unroll
    for (uint32_t b = 0; b < 16; b++) {
        delta = starts >> (b + 16) & 1 ? high[b] : delta;
        high[b] = __byte_perm(low[b], delta, 0x7610);
    }
    *last = delta >> 16;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        chunks[i ^ x] = make_uint4(high[4 * i], high[4 * i + 1], high[4 * i + 2], high[4 * i + 3]);
}

/* Puts the delta of a run where it begins, code i of a lane of 4 units. */
CSZ_DEVICE void run_put(uint4 *chunks, uint32_t twist, uint32_t i, uint32_t delta, uint32_t *starts) {
    *code_half(chunks, code_place_of_unit(i >> 5, twist), i & 31) = (uint16_t)delta;
#pragma unroll
    for (uint32_t u = 0; u < 4; u++) {
        if (i >> 5 == u) starts[u] |= 1u << (i & 31);
    }
}

/* Runs as they stand, 16 bits of delta and 7 of length; returns 1 if they fill the lane with its bits. */
CSZ_DEVICE uint32_t runs_read(bit_reader<const uint32_t *> *r, uint32_t nbits, uint4 *chunks, uint32_t twist,
                              uint32_t *starts) {
    uint32_t i = 0;
    int left = (int)nbits;
#pragma unroll 1
    do {
        const uint32_t delta = (uint32_t)bits_take(r, 16);
        run_put(chunks, twist, i, delta, starts);
        i += (uint32_t)bits_take(r, 7) + 1;
        left -= 16 + 7;
    } while (i < 128 && left > 0);
    return i == 128 && left == 0;
}

/* Coded ones.  A run is a chain of two look-ups, and a lane one of runs: both come from one window, but for deltas of more than 9 raw bits.  tables: from TABLE_RV on. */
CSZ_DEVICE uint32_t runs_decode(bit_reader<const uint32_t *> *r, uint32_t nbits, const uint16_t *tables,
                                uint4 *chunks, uint32_t twist, uint32_t *starts) {
    enum { VALUE_END = CSZ_DIRECT_HALF + 4 * 7 }; /* of those with at most 9 raw bits */
    static_assert((VALUE_END - 1) / 4 - (CSZ_DIRECT_HALF / 4 - 3) == 9 && 12 + 9 + 11 <= 32,
                  "a run's bits lie in a window");
    uint32_t i = 0;
    int left = (int)nbits;
#pragma unroll 1
    do {
        const uint32_t window = bits_window(r), entry = tables[window >> (32 - 12)];
        const int value = (int8_t)(entry >> 8);
        uint32_t delta, used, length;
        if (value >= -CSZ_DIRECT_HALF && value < VALUE_END) {
            const uint32_t nraw = value_nraw(value);
            used = (entry & 31) + nraw;
            delta = value_delta(value, __funnelshift_l(0, window, entry), nraw);
            length = tables[TABLE_RL - TABLE_RV + (__funnelshift_l(0, window, used) >> (32 - 11))];
            bits_move(r, r->at + used + length);
        } else {
            const uint32_t symbol = ((entry >> 8) + CSZ_DIRECT_HALF) & 255, nraw = csz_symbol_nraw(symbol);
            bits_move(r, r->at + entry);
            delta = (uint32_t)csz_symbol_delta(symbol, bits_take(r, nraw));
            used = (entry & 31) + nraw;
            length = bits_symbol<11>(r, tables + (TABLE_RL - TABLE_RV));
        }
        run_put(chunks, twist, i, delta, starts);
        i += (length >> 8) + 1;
        left -= (int)(used + (length & 31));
    } while (i < 128 && left > 0);
    return i == 128 && left == 0;
}

/*
 * The runs of a lane of 4 units, where zeros stand already.  A run's delta is put where it begins; all are drawn out at the end, since the threads of a warp would wait for the longest of each 32 runs
 * otherwise.  A lane is left once its bits are used up, so that a reader never gets further past its end than one run.
 */
CSZ_DEVICE uint32_t decode_runs(bit_reader<const uint32_t *> *r, uint32_t nbits, uint32_t mode,
                                const uint16_t *tables, uint4 *chunks, uint32_t twist) {
    uint32_t starts[4] = {0, 0, 0, 0}, last = 0;
    const uint32_t good = mode == CSZ_MODE_RLE ? runs_read(r, nbits, chunks, twist, starts)
                                               : runs_decode(r, nbits, tables, chunks, twist, starts);
    if (!good) return 0;
#pragma unroll 1
    for (uint32_t u = 0; u < 4; u++) {
        runs_draw(chunks + 8 * (u >> 1), (4 * (u & 1)) ^ twist ^ (u & 2), starts[0], &last);
        masks_move<4>(starts);
    }
    return 1;
}

/*
 * Visits the escapes of a thread's lanes, so that lanes do not wait for each other: each(l, has, halves) with the half words of up to two escapes of one unit of lane l, and whether they are there.
 * One loop over the escapes of all units: its length is the lane's sum of them, not the sum of the warp's largest.
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

/* Symbols of escapes, over what the vector symbols have put there; returns the largest value. */
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

/* The raw bits of those that are buckets, whose symbols stand in their halves. */
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
 * The same of one lane of 4 units by a whole warp, a thread four codes of which it has escapes, four bits.  first: the bit of words at which the lane's raw bits begin; returns the one at which they end.
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
    uint32_t upto = sum;
#pragma unroll
    for (uint32_t o = 1; o < 32; o <<= 1) {
        const uint32_t up = __shfl_up_sync(~0u, upto, o);
        if (r >= o) upto += up;
    }
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
 * All lanes' buckets, where threads have one lane each: those of few escapes by their threads, the others one after the other by all, since a single lane of 128 would keep the warp for 7 us.
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
    /* a lane by all takes about as long as so many escapes of another by its thread */
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

/* A thread's lane: its first bit in the record and its length. */
struct lane_place {
    uint32_t at, nbits;
};

/*
 * The vector symbols of a thread's lanes.  Loops over units and steps are not unrolled, so that the code of all modes fits the instruction cache; masks move up by one place each time.
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
 * Decodes a thread's N lanes, r and, where it has two, r + 32, in mode M or Q (one lane of 4 units) or P or S (two of 2); returns 1 if each used its bits up exactly.  Zeros stand in the lanes of mode M
 * and in a thread's only lane that is empty.  Never reads beyond LANE_MAX_WORDS words from a lane's start.  SHARES: threads help each other with raw bits.
 */
template <int N, bool SHARES, typename W, typename T>
CSZ_DEVICE uint32_t decode_lane(uint32_t mode, W words, const lane_place *lane, T tables, uint4 *code,
                                uint32_t r, uint32_t few) {
    constexpr int UNITS = 4 / N;
    const uint32_t pair = r * (UNITS / 2), twist = swizzle(pair);
    uint4 *chunks = code + 8 * pair;
    /* asked while the warp is whole: threads of empty lanes leave it */
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
        uint32_t escapes[N][UNITS] = {}; /* set, or they would be taken to live since the tile before */
        if (N == 2) {
            decode_units<CSZ_MODE_P, N>(reader, nbits, tables, chunks, twist, escapes);
        } else if (is_quad) {
            decode_units<CSZ_MODE_Q, N>(reader, nbits, tables, chunks, twist, escapes);
        } else {
            decode_units<CSZ_MODE_M, N>(reader, nbits, tables, chunks, twist, escapes);
        }
        /* an empty lane beside another was decoded from bits that mean nothing */
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
        uint32_t largest = 0;
        const uint32_t table = N == 2 ? TABLE_PE : is_quad ? TABLE_QE : TABLE_ME;
        if (CSZ_CUT < 3)
            largest = decode_escapes<N>(reader, escapes, table_after(tables, table), chunks, twist);
        if (halves_have_bucket(largest)) decode_buckets<N>(reader, escapes, chunks, twist);
    }
    uint32_t good = 1;
#pragma unroll
    for (int l = 0; l < N; l++)
        good &= nbits[l] == 0 || bits_place(&reader[l], words) == lane[l].at + nbits[l];
    return good;
}

#endif
