/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cuh: a frame's section of books to decode tables, by a block of the tables kernel.  Explicit lengths
 * are a chain of tokens of 1, 2, 3, 4 or 8 bits, of which each thread takes a byte.  For each of the 8 bits
 * at which the chain may enter the byte, it finds the bit of the next byte at which the chain leaves, and the
 * number of tokens between.  A scan composes these maps, so every byte learns its true entry and its first
 * token's number.  Reading it serially would take longer than decoding a small field.
 */
#ifndef CSZ_CUDA_TABLES_BOOKS_CUH
#define CSZ_CUDA_TABLES_BOOKS_CUH

#include "cuda/tables/job.cuh"

enum { THREADS = 512, WARPS = THREADS / 32, TOKENS_MAX = 4 * CSZ_NARROW_N + 3 * 256 + 2 * CSZ_WIDE_N + 128 };

/* What a token says of the next length: csz_length_code's cases, or TOKEN_ABSOLUTE | the length. */
enum { TOKEN_SAME, TOKEN_MORE, TOKEN_LESS, TOKEN_ZERO, TOKEN_ABSOLUTE = 16 };

/* Exclusive sum over the block, *total of all; shared needs WARPS + 1 words.  Ends with a barrier. */
CSZ_COLD uint32_t block_scan(uint32_t v, uint32_t *total, uint32_t *shared) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sum = csz_warp_scan(v);
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        const uint32_t own = lane < WARPS ? shared[lane] : 0, upto = csz_warp_scan(own);
        if (lane < WARPS) shared[lane] = upto - own;
        if (lane == 31) shared[WARPS] = upto;
    }
    __syncthreads();
    const uint32_t before = shared[warp] + sum - v;
    *total = shared[WARPS];
    __syncthreads();
    return before;
}

/* A byte for each of 8 entries. */
struct entry_map {
    uint32_t low, high;
};

/* By the bit at which the chain enters some bytes: where it leaves them, and how many tokens begin there. */
struct token_map {
    entry_map exit, count;
};

/* A block makes the codes of its books, BOOK_WARPS warps a book and one symbol a thread, and fills its part
 * of the tables. */
enum { BOOKS_OF_PART = 2, BOOK_WARPS = CSZ_SYMBOLS_MAX / 32 };
constexpr int PART_N = TABLE_N / TABLE_PARTS_BOOKS;

CSZ_FN int book_first_of_part(uint32_t part) { return (int)(0x87653210u >> (4 * part) & 15); }
CSZ_FN int book_last_of_part(uint32_t part) { return (int)(0x98754310u >> (4 * part) & 15); }
static_assert(CSZ_BOOK_S == 0 && CSZ_BOOK_PV == 1 && CSZ_BOOK_PE == 2 && CSZ_BOOK_QV == 3 &&
                  CSZ_BOOK_QE == 4 && CSZ_BOOK_MV == 5 && CSZ_BOOK_ME == 6 && CSZ_BOOK_W == 7 &&
                  CSZ_BOOK_RV == 8 && CSZ_BOOK_RL == 9,
              "the digits above are the books' numbers");
static_assert(TABLE_PARTS_BOOKS == 8 && TABLE_PV == PART_N && TABLE_PE == 2 * PART_N &&
                  TABLE_QV < 3 * PART_N && TABLE_QE > 3 * PART_N && TABLE_MV == 4 * PART_N &&
                  TABLE_ME == 5 * PART_N && TABLE_W < 6 * PART_N && TABLE_RV > 6 * PART_N &&
                  TABLE_RV < 7 * PART_N && TABLE_RL > 7 * PART_N,
              "the parts' books");
static_assert((int)BOOKS_OF_PART * BOOK_WARPS <= (int)WARPS, "a block has the warps");

/* The effect of some tokens on lengths, see length_step. */
struct length_map {
    int after[2];
};

/* A book: its symbols, the first that it can use, its kind, and its first token. */
struct book_facts {
    uint32_t n, first, kind, token;
};

struct books_shared {
    book_facts facts[CSZ_NBOOKS];
    uint32_t ntokens, bad_kinds;
    uint8_t lengths[BOOKS_OF_PART][CSZ_SYMBOLS_MAX];
    uint8_t token[TOKENS_MAX + 64];
    uint16_t sorted[BOOKS_OF_PART][CSZ_SYMBOLS_MAX]; /* by length, then symbol: length << 8 | symbol */
    uint32_t first[BOOKS_OF_PART][16], offset[BOOKS_OF_PART][16],
        limit[BOOKS_OF_PART]
             [16]; /* by length: first code, its place in sorted, end of its codes in the table */
    length_map run[BOOKS_OF_PART][BOOK_WARPS];
    uint32_t count[BOOKS_OF_PART][BOOK_WARPS][16]; /* symbols of a warp by length */
    token_map map[WARPS];
    uint32_t wrong;
};

/* A token's length, by its leading ones: 0, 10, 110, 1110, or 1111 and 4 bits. */
CSZ_DEVICE uint32_t token_length(uint32_t window, uint32_t at) {
    const uint32_t ones = (uint32_t)__clz((int)~(window << at));
    return ones < 4 ? ones + 1 : 8;
}

/* Four entries as selectors of a byte permutation. */
CSZ_DEVICE uint32_t map_selectors(uint32_t entries) { return __byte_perm(entries | entries >> 4, 0, 0x4420); }
CSZ_DEVICE uint32_t map_entry(entry_map m, uint32_t i) { return __byte_perm(m.low, m.high, i) & 255; }

/* Sums of bytes, each modulo 256. */
CSZ_DEVICE uint32_t bytes_add(uint32_t a, uint32_t b) {
    return ((a & 0x7F7F7F7Fu) + (b & 0x7F7F7F7Fu)) ^ ((a ^ b) & 0x80808080u);
}

/* First a, then b. */
CSZ_DEVICE token_map map_compose(token_map a, token_map b) {
    const uint32_t low = map_selectors(a.exit.low), high = map_selectors(a.exit.high);
    token_map r;
    r.exit.low = __byte_perm(b.exit.low, b.exit.high, low);
    r.exit.high = __byte_perm(b.exit.low, b.exit.high, high);
    r.count.low = bytes_add(a.count.low, __byte_perm(b.count.low, b.count.high, low));
    r.count.high = bytes_add(a.count.high, __byte_perm(b.count.low, b.count.high, high));
    return r;
}

CSZ_DEVICE token_map map_up(token_map m, uint32_t o) {
    token_map r;
    r.exit.low = __shfl_up_sync(~0u, m.exit.low, o);
    r.exit.high = __shfl_up_sync(~0u, m.exit.high, o);
    r.count.low = __shfl_up_sync(~0u, m.count.low, o);
    r.count.high = __shfl_up_sync(~0u, m.count.high, o);
    return r;
}

/*
 * The map of the byte that a window begins with, built from its last bit to its first; m holds the entries
 * of the 8 bits from there on.
 */
CSZ_DEVICE token_map map_of_byte(uint32_t window) {
    token_map m = {{0x03020100u, 0x07060504u}, {0, 0}};
#pragma unroll
    for (uint32_t at = 8; at-- > 0;) {
        const uint32_t i = token_length(window, at) - 1, leave = map_entry(m.exit, i),
                       n = map_entry(m.count, i) + 1;
        m.exit.high = m.exit.high << 8 | m.exit.low >> 24;
        m.exit.low = m.exit.low << 8 | leave;
        m.count.high = m.count.high << 8 | m.count.low >> 24;
        m.count.low = m.count.low << 8 | n;
    }
    return m;
}

/* Moves entry and number over the bytes of warps first to end.  32 bytes have 1 to 256 tokens; a count of 256
 * is stored as 0. */
CSZ_DEVICE void maps_walk(const token_map *map, uint32_t first, uint32_t end, uint32_t *entry,
                          uint32_t *number) {
#pragma unroll 4
    for (uint32_t w = first; w < end; w++) {
        const token_map m = map[w];
        const uint32_t n = map_entry(m.count, *entry);
        *number += n ? n : 256;
        *entry = map_entry(m.exit, *entry);
    }
}

/*
 * Reads the tokens of all explicit books, in order, into token[]; returns 0 where the stream is malformed.
 * stream: nwords words in shared memory; bits past the end read as 1.
 */
static __device__ uint32_t tokens_read(books_shared *s, const uint32_t *stream, uint32_t nwords,
                                       uint32_t ntokens) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t begin = 0, before = 0, good = 0; /* where a round enters its first byte, and tokens before it */
#pragma unroll 1
    for (uint32_t first = 0; first < 4 * nwords; first += THREADS) {
        const uint32_t i = first + threadIdx.x, within = i < 4 * nwords, at_word = i / 4;
        const uint32_t word = within ? stream[at_word] : ~0u,
                       next = at_word + 1 < nwords ? stream[at_word + 1] : ~0u,
                       window = __funnelshift_l(next, word, 8 * (i & 3));
        token_map map = {{0x03020100u, 0x07060504u}, {0, 0}};
        if (within) map = map_of_byte(window);
        const uint32_t has_bytes =
            first + 32 * warp < 4 * nwords; /* short streams leave most warps without any */
        if (has_bytes) {
#pragma unroll 1
            for (uint32_t o = 1; o < 32; o <<= 1) {
                const token_map up = map_up(map, o);
                if (lane >= o) map = map_compose(up, map);
            }
            if (lane == 31) s->map[warp] = map;
        }
        __syncthreads();
        uint32_t entry = begin, number = before;
        if (has_bytes) {
            maps_walk(s->map, 0, warp, &entry, &number);
            const token_map up = map_up(map, 1);
            if (lane > 0) {
                number += map_entry(up.count, entry);
                entry = map_entry(up.exit, entry);
            }
        }
#pragma unroll 1
        for (uint32_t at = entry; within && at < 8 && number < ntokens; number++) {
            const uint32_t n = token_length(window, at);
            s->token[number] = (uint8_t)(n == 8 ? TOKEN_ABSOLUTE | (window << (at + 4)) >> 28 : n - 1);
            at += n;
            if (number + 1 == ntokens) {
                /* the rest of its word, this thread's or the next, must be zeros, and no word may follow */
                const uint32_t end = 8 * i + at, last = (end - 1) / 32 == at_word ? word : next;
                good = (end + 31) / 32 == nwords && (end % 32 == 0 || last << (end % 32) == 0);
            }
        }
        if (first + THREADS < 4 * nwords) {
            maps_walk(s->map, 0, WARPS, &begin, &before);
            __syncthreads();
        }
    }
    return __syncthreads_or(good != 0) != 0;
}

/*
 * The effect of a token on a state.  Bit 0: the length before is 0.  Bit 1: the other bits are the last
 * length that was not 0; otherwise they are what to add to it.  A length_map has the result for both values
 * of bit 0.
 */
CSZ_DEVICE int length_step(int state, int token) {
    const int zero = state & 1;
    if (token == TOKEN_SAME) return state;
    if (token == TOKEN_ZERO || token == TOKEN_ABSOLUTE) return state | 1;
    if (token == TOKEN_MORE) return (state & ~1) + 4;
    if (token == TOKEN_LESS) return (state & ~1) - (zero ? 0 : 4);
    return (token & 15) << 2 | 2;
}

/* Applies a map to a state. */
CSZ_DEVICE int length_map_apply(length_map m, int state) {
    const int then = m.after[state & 1];
    return then & 2 ? then : (state & ~1) + then;
}

/* The map of the thread's token, composed with those of the lanes before it. */
static __device__ length_map lengths_scan(books_shared *s, const book_facts *own, uint32_t book) {
    const uint32_t j = threadIdx.x % CSZ_SYMBOLS_MAX, lane = threadIdx.x & 31,
                   token = j >= own->first && j < own->n ? s->token[own->token + j - own->first] : TOKEN_SAME;
    length_map map;
    for (int z = 0; z < 2; z++) map.after[z] = length_step(z, (int)token);
#pragma unroll 1
    for (uint32_t o = 1; o < 32; o <<= 1) {
        length_map before;
        for (int z = 0; z < 2; z++) before.after[z] = (int)__shfl_up_sync(~0u, (uint32_t)map.after[z], o);
        if (lane >= o) {
            for (int z = 0; z < 2; z++) before.after[z] = length_map_apply(map, before.after[z]);
            map = before;
        }
    }
    if (lane == 31) s->run[book][j / 32] = map;
    return map;
}

/* Composes the maps of the warps before, and stores the thread's length at its symbol. */
static __device__ void lengths_store(books_shared *s, const book_facts *own, length_map map, int number,
                                     uint32_t book) {
    const uint32_t j = threadIdx.x % CSZ_SYMBOLS_MAX;
    int state = 0;
#pragma unroll 1
    for (uint32_t w = 0; w < j / 32; w++) state = length_map_apply(s->run[book][w], state);
    state = length_map_apply(map, state);
    if (!(state & 2)) state += 6 << 2 | 2; /* the first length is relative to 6 */
    const int last = state >> 2;
    const uint32_t used = j >= own->first && j < own->n;
    if (used && (last < 1 || last > CSZ_LENGTH_MAX)) s->wrong = 1;
    s->lengths[book][csz_book_symbol_at(number, j)] = (uint8_t)(used && !(state & 1) ? last & 15 : 0);
}

/* The rank of the thread's symbol among those of its warp with the same length. */
static __device__ uint32_t lengths_count(books_shared *s, uint32_t length, uint32_t book) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t equal = ~0u, *count = s->count[book][threadIdx.x / 32 % BOOK_WARPS];
#pragma unroll
    for (uint32_t bit = 0; bit < 4; bit++) {
        const uint32_t votes = __ballot_sync(~0u, (length >> bit) & 1);
        equal &= (length >> bit) & 1 ? votes : ~votes;
    }
    if (lane < 16) count[lane] = 0;
    __syncwarp();
    const uint32_t rank = (uint32_t)__popc(equal & ((1u << lane) - 1));
    if (rank == 0 && length) count[length] = (uint32_t)__popc(equal);
    return rank;
}

/* With the counts of all warps: sorts symbols by code, and checks that the code is complete. */
static __device__ void codes_make(books_shared *s, uint32_t length, uint32_t rank, uint32_t limit,
                                  uint32_t book) {
    const uint32_t symbol = threadIdx.x % CSZ_SYMBOLS_MAX, lane = threadIdx.x & 31;
    uint32_t total = 0, before = 0; /* symbols of length `lane` in all warps, and in the warps before */
#pragma unroll
    for (uint32_t w = 0; w < BOOK_WARPS; w++) {
        const uint32_t n = lane < 16 ? s->count[book][w][lane] : 0;
        total += n;
        if (w < symbol / 32) before += n;
    }
    const uint32_t space = lane <= limit ? total << (limit - lane) : 0; /* their part of the table */
    uint32_t used = total, end = space;
#pragma unroll 1
    for (uint32_t o = 1; o < 16; o <<= 1) {
        const uint32_t used_up = __shfl_up_sync(~0u, used, o), end_up = __shfl_up_sync(~0u, end, o);
        if (lane >= o) {
            used += used_up;
            end += end_up;
        }
    }
    if (symbol < 16) {
        s->first[book][lane] = lane <= limit ? (end - space) >> (limit - lane) : 0;
        s->offset[book][lane] = used - total;
        s->limit[book][lane] = lane <= limit ? end : 0;
        if (lane > limit && total) s->wrong = 1;
    }
    /* a single symbol has a code of one bit; otherwise codes fill the table */
    const uint32_t ones = __shfl_sync(~0u, total, 1);
    if (symbol == 15 && (used == 1 ? ones != 1 : end != 1u << limit)) s->wrong = 1;
    const uint32_t place = __shfl_sync(~0u, used - total + before, (int)length) + rank;
    if (length && place < CSZ_SYMBOLS_MAX) s->sorted[book][place] = (uint16_t)(length << 8 | symbol);
}

/* All threads fill the block's part of the tables, eight entries at a time. */
static __device__ void tables_fill(const books_shared *s, uint32_t part, uint16_t *tables) {
    const uint32_t n = PART_N / 8;
    for (uint32_t i = part * n + threadIdx.x; i < (part + 1) * n; i += THREADS) {
        uint32_t at = 8 * i;
        int book = 0;
        uint32_t first = 0;
#pragma unroll
        for (int b = 1; b < CSZ_NBOOKS; b++) {
            if (at >= table_of_book(b)) {
                book = b;
                first = table_of_book(b);
            }
        }
        const uint32_t limit = csz_book_limit(book), origin = csz_book_of_deltas(book) ? CSZ_DIRECT_HALF : 0;
        book -= book_first_of_part(part);
        uint32_t index = at - first, place = 0, own = 1;
#pragma unroll 4
        for (uint32_t l = 1; l <= 12; l++) own += l <= limit && index >= s->limit[book][l];
        if (own <= limit) place = s->offset[book][own] + (index >> (limit - own)) - s->first[book][own];
        /* A book of one symbol covers half its table; in the other half place stays 0. */
        uint32_t entry = s->sorted[book][place & 255], length = (entry >> 8) & 15;
        uint32_t end = ((index >> (limit - length)) + 1) << (limit - length);
        const uint32_t alike = (((entry - origin) & 255) << 8 | length) * 0x10001u;
        uint32_t packed[4] = {alike, alike, alike, alike};
        if (index + 8 > end) {
            /* eight entries of several symbols, of codes of the longest three lengths; no entry waits for
             * another */
            const uint32_t *ends = s->limit[book] + limit - 2, *offset = s->offset[book] + limit - 2,
                           *code = s->first[book] + limit - 2;
            const uint32_t second = ends[0], third = ends[1],
                           from[3] = {offset[0] - code[0], offset[1] - code[1], offset[2] - code[2]};
#pragma unroll
            for (uint32_t k = 0; k < 8; k++) {
                const uint32_t at_k = index + k, is_third = at_k >= third, is_second = at_k >= second;
                const uint32_t at_place = is_third    ? from[2] + at_k
                                          : is_second ? from[1] + (at_k >> 1)
                                                      : from[0] + (at_k >> 2),
                               own_entry = s->sorted[book][at_place & 255],
                               half = ((own_entry - origin) & 255) << 8 | (own_entry >> 8 & 15);
                packed[k / 2] = k % 2 ? packed[k / 2] | half << 16 : half;
            }
        }
        ((uint4 *)tables)[i] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
}

/* The exponent of a frame with a pointwise bound, which stands behind the books' kinds. */
CSZ_DEVICE int frame_exponent(const uint32_t *section) { return (int16_t)(section[CSZ_NBOOKS / 4] >> 16); }

/* By a warp, a book a lane: reads the section's head. */
static __device__ void books_survey(books_shared *s, const decode_call *call, const uint32_t *section) {
    const uint32_t b = threadIdx.x, is_book = b < CSZ_NBOOKS,
                   kind = is_book ? section[b >> 2] >> (8 * (b & 3)) & 255 : 0,
                   n = is_book ? csz_book_size((int)b) : 0, first = is_book ? csz_book_first((int)b) : 0,
                   own = kind == CSZ_KIND_EXPLICIT ? n - first : 0;
    const uint32_t upto = csz_warp_scan(own);
    const uint32_t bad = __ballot_sync(~0u, kind > CSZ_KIND_EXPLICIT);
    if (is_book) s->facts[b] = {n, first, kind, upto - own};
    if (b + 1 == CSZ_NBOOKS) {
        s->ntokens = upto;
        s->bad_kinds = bad | (call->is_pointwise
                                  ? !csz_pointwise_exponent_holds(frame_exponent(section), (int)call->is_f64)
                                  : section[2] >> 16);
    }
}

/* Turns the section of books, nbytes in shared memory, into part `part` of the tables; 0: it is malformed. */
static __device__ uint32_t books_read(books_shared *s, const decode_call *call, const uint32_t *section,
                                      uint32_t nbytes, uint32_t part, uint16_t *tables) {
    const uint32_t i = threadIdx.x, nwords = (nbytes - CSZ_BOOKS_FIXED_NBYTES) / 4;
    const uint32_t book = i / CSZ_SYMBOLS_MAX; /* of the part's */
    const int number = book_first_of_part(part) + (int)book;
    const uint32_t has_book = book < BOOKS_OF_PART && number <= book_last_of_part(part);
    if (i < 32) books_survey(s, call, section);
    __syncthreads();
    const book_facts own = has_book ? s->facts[number] : book_facts{0, 0, 0, 0};
    const uint32_t ntokens = s->ntokens;
    uint32_t length = 0, rank = 0;
    if (s->bad_kinds || (ntokens == 0 && nwords != 0)) return 0;
    const uint32_t is_explicit = has_book && own.kind == CSZ_KIND_EXPLICIT;
    if (has_book && !is_explicit)
        length = call->builtin[((uint32_t)number * CSZ_BUILTIN_N + own.kind) * CSZ_SYMBOLS_MAX +
                               i % CSZ_SYMBOLS_MAX];
    if (i == 0) s->wrong = 0;
    if (ntokens && !tokens_read(s, section + 3, nwords, ntokens)) return 0;
    __syncthreads();
    length_map map = {{0, 0}};
    if (is_explicit) map = lengths_scan(s, &own, book);
    __syncthreads();
    if (is_explicit) lengths_store(s, &own, map, number, book);
    __syncthreads();
    if (has_book) {
        if (is_explicit) length = s->lengths[book][i % CSZ_SYMBOLS_MAX];
        rank = lengths_count(s, length, book);
    }
    __syncthreads();
    if (has_book) codes_make(s, length, rank, csz_book_limit(number), book);
    __syncthreads();
    if (s->wrong) return 0;
    tables_fill(s, part, tables);
    return 1;
}

#endif
