/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * book_choice.cuh: a frame's policy and its books from the candidates that its blocks have left, as csz_policy_choose does on the host: by its last block, which writes the encoder's tables and the archive's
 * section of books.
 */
#ifndef CSZ_CUDA_BOOK_CHOICE_CUH
#define CSZ_CUDA_BOOK_CHOICE_CUH

#include "cuda/plan/book_candidate.cuh"

/*
 * A set is the candidates of a policy in the order of their books: what policies vector and single end up with, with the books of runs that some tiles weigh, what they are compared by, without them, and those
 * of the others.
 */
enum { SET_FINAL, SET_VECTOR, SET_SINGLE, SET_RUNS, SET_WEIGHED, SET_SINGLE_WEIGHED, NSETS };

CSZ_DEVICE int set_size(int set) {
    return set == SET_VECTOR                      ? (int)CSZ_BOOK_RV
           : set == SET_SINGLE || set == SET_RUNS ? 2
           : set == SET_SINGLE_WEIGHED            ? 4
                                                  : (int)CSZ_NBOOKS;
}

/* The place of a book in a set; -1: it has none. */
CSZ_DEVICE int set_place(int set, int book) {
    const int of_runs = book - (int)CSZ_BOOK_RV;
    if (set == SET_RUNS) return of_runs < 0 ? -1 : of_runs;
    if (set != SET_SINGLE && set != SET_SINGLE_WEIGHED) return book;
    return book == (int)CSZ_BOOK_S                     ? 0
           : book == (int)CSZ_BOOK_W                   ? 1
           : of_runs >= 0 && set == SET_SINGLE_WEIGHED ? 2 + of_runs
                                                       : -1;
}

/* What takes the place of book S where no sampled tile has mode S: see vector_offers in select/policy.c. */
enum { SINGLE_NOT, SINGLE_BUILTIN, SINGLE_ANY };

/* The candidate at a place of a set. */
CSZ_DEVICE int set_candidate(int set, int i, uint32_t single) {
    if (set == SET_RUNS) return OF_RUN_VALUE + i;
    if (set == SET_SINGLE || set == SET_SINGLE_WEIGHED)
        return i == 0 ? (int)OF_SINGLE : i == 1 ? (int)CSZ_BOOK_W : OF_RUN_VALUE + i - 2;
    if (set == SET_WEIGHED && i >= (int)CSZ_BOOK_RV) return OF_RUN_VALUE + i - CSZ_BOOK_RV;
    return i == (int)CSZ_BOOK_S && set != SET_VECTOR && single ? (int)OF_SINGLE : i;
}

/*
 * What the candidates of a frame leave for the last block: in the frame's tables, which it writes after it has read this.  Books whose counts nobody else reads are left where
 * those were.
 */
struct books_left {
    book_candidate candidate[NCANDIDATES];
    book_made made[NLEFT];
};
static_assert(sizeof(books_left) <= CSZ_NBOOKS * CSZ_SYMBOLS_MAX * sizeof(uint32_t) &&
                  sizeof(book_made) <= CSZ_SYMBOLS_MAX * sizeof(uint32_t),
              "a frame's tables hold its candidates, a book's counts a book");

struct set_choice {
    uint64_t cost;
    uint32_t total;             /* bits of explicit lengths */
    uint32_t own;               /* which of its books are explicit */
    uint32_t start[CSZ_NBOOKS]; /* of the bits of each */
};

struct books_shared {
    book_shared book;
    book_candidate candidate[NCANDIDATES]; /* of the frame, in its last block */
    set_choice choice[NSETS];
    uint32_t section[CSZ_SECTION_WORDS + 1];
    uint32_t last;
};

struct books_job {
    csz_geometry geometry;
    csz_work work;
    const csz_cuda_builtins *builtins;
    int is_auto;
};

/* Where a frame's explicit book is left. */
CSZ_DEVICE book_made *made_at(const csz_work &work, uint32_t frame, int number) {
    if (number >= NREAD && number < OF_SINGLE) return (book_made *)work.sample[frame].count.count[number];
    return &((books_left *)&work.table[frame])->made[number < NREAD ? number : number - OF_SINGLE + NREAD];
}

/*
 * The books of a set: explicit lengths are taken, those that save most first, where there is room for them, and stored in order.  One warp, a lane for each book.  All fit but in
 * frames of few tiles.
 */
CSZ_DEVICE void set_choose(books_shared &sh, int set, uint32_t ntiles, uint32_t single) {
    const uint32_t lane = threadIdx.x & 31, room = csz_explicit_limit_nbits(ntiles);
    const bool is_book = (int)lane < set_size(set);
    const int number = set_candidate(set, is_book ? (int)lane : 0, single), book = candidate_book(number);
    const book_candidate &c = sh.candidate[number];
    const bool is_instead = number == OF_SINGLE && (set == SET_FINAL || set == SET_WEIGHED);
    const bool worth = is_book && c.worth && !(is_instead && single == SINGLE_BUILTIN);
    uint32_t all_own = __ballot_sync(CSZ_ALL, worth);
    const uint32_t wanted = worth ? c.explicit_nbits : 0;
    if (csz_warp_add(wanted) > room) {
        const uint64_t saving = worth ? c.cost_builtin - c.cost_explicit : 0;
        uint32_t before = 0, left = room;
#pragma unroll 1
        for (uint32_t m = all_own; m; m &= m - 1) {
            const int i = __ffs((int)m) - 1;
            before += csz_book_comes_first(candidate_book(set_candidate(set, i, single)),
                                           __shfl_sync(CSZ_ALL, saving, i), book, saving);
        }
        const uint32_t candidates = all_own;
        all_own = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < (uint32_t)__popc(candidates); k++) {
            const uint32_t turn = __ballot_sync(CSZ_ALL, worth && before == k),
                           nbits = __shfl_sync(CSZ_ALL, wanted, __ffs((int)turn) - 1);
            if (nbits > left) continue;
            left -= nbits;
            all_own |= turn;
        }
    }
    const uint32_t nbits = all_own >> lane & 1 ? wanted : 0, upto = csz_warp_scan(nbits),
                   start = upto - nbits, total = __shfl_sync(CSZ_ALL, upto, 31);
    const bool own = all_own >> lane & 1;
    const uint64_t cost = csz_warp_sum_u64(is_book ? own ? c.cost_explicit : c.cost_builtin : 0);
    set_choice *choice = &sh.choice[set];
    if (is_book) choice->start[lane] = start;
    if (lane == 0) {
        choice->cost = cost;
        choice->total = total;
        choice->own = all_own;
    }
}

/* The last block of a frame: its policy, tables and section. */
CSZ_DEVICE void books_finish(books_shared &sh, const books_job &job, uint32_t frame, uint32_t ntiles) {
    const uint32_t t = threadIdx.x, lane = t & 31;
    const int book = (int)(t >> 5);
    const books_left *left = (const books_left *)&job.work.table[frame];
    /* what most frames take, the final books' own codes, comes together with what decides it, the built-in ones' while it is decided */
    const book_made *made = made_at(job.work, frame, book);
    uint32_t code[PER_LANE / 2], bits[BITS_WORDS / 32]; /* codes of two symbols each */
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) code[i] = __ldcg((const uint32_t *)made->code + 32 * i + lane);
#pragma unroll
    for (int i = 0; i < BITS_WORDS / 32; i++) bits[i] = __ldcg(made->bits + 32 * i + lane);
    const uint32_t nsampled = __ldcg(&job.work.sample[frame].ntiles);
    uint32_t bitmap_nwords[CSZ_POLICY_N];
#pragma unroll
    for (int i = 0; i < CSZ_POLICY_N; i++)
        bitmap_nwords[i] = __ldcg(&job.work.sample[frame].bitmap_nwords[i]);
    const uint32_t nwords_left = ncandidates_of(job.is_auto) * (uint32_t)(sizeof(book_candidate) / 4);
    for (uint32_t i = t; i < nwords_left; i += BOOK_THREADS)
        ((uint32_t *)sh.candidate)[i] = __ldcg((const uint32_t *)left->candidate + i);
    for (uint32_t i = t; i <= CSZ_SECTION_WORDS; i += BOOK_THREADS) sh.section[i] = 0;
    __syncthreads();
    uint32_t builtin_code[PER_LANE / 2];
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++)
        builtin_code[i] =
            __ldg((const uint32_t *)job.builtins->code[book][sh.candidate[book].builtin] + 32 * i + lane);
    const bool is_sampled = csz_sample_stride(ntiles) > 1,
               is_poor = csz_policy_sample_is_poor(ntiles, nsampled);
    /* no counts, no cost */
    const uint32_t instead = !job.is_auto || !is_sampled || sh.candidate[CSZ_BOOK_S].cost_builtin
                                 ? (uint32_t)SINGLE_NOT
                             : is_poor ? (uint32_t)SINGLE_ANY
                                       : (uint32_t)SINGLE_BUILTIN;
    if (book < (job.is_auto ? (int)NSETS : 1)) set_choose(sh, book, ntiles, instead);
    __syncthreads();
    int policy = CSZ_POLICY_VECTOR;
    uint32_t unknown = 0;
    uint64_t best_cost = 0, runs_cost = 0;
    bool beside_runs = false; /* tiles weigh their own modes, with built-in books */
    if (job.is_auto) {
        const uint64_t word = 32 * (uint64_t)csz_sample_stride(ntiles);
        const uint64_t vector = sh.choice[SET_VECTOR].cost + word * bitmap_nwords[CSZ_POLICY_VECTOR],
                       single = sh.choice[SET_SINGLE].cost + word * bitmap_nwords[CSZ_POLICY_SINGLE],
                       runs = sh.choice[SET_RUNS].cost + word * bitmap_nwords[CSZ_POLICY_RUNS];
        unknown = csz_policy_unseen_modes(
            sh.candidate[CSZ_BOOK_MV].cost_builtin != 0, sh.candidate[CSZ_BOOK_QV].cost_builtin != 0,
            sh.candidate[CSZ_BOOK_PV].cost_builtin != 0, ntiles); /* no counts, no cost */
        if (single < vector) policy = CSZ_POLICY_SINGLE;
        if (runs < min(vector, single)) policy = CSZ_POLICY_RUNS;
        best_cost = min(vector, min(single, runs));
        runs_cost = runs;
        beside_runs = policy == CSZ_POLICY_RUNS && is_sampled && 4 * runs < 3 * vector;
        if (!beside_runs && policy != CSZ_POLICY_SINGLE &&
            csz_policy_weighs(vector, runs, sh.choice[SET_RUNS].total, ntiles, nsampled,
                              (int)sh.candidate[OF_RUN_LENGTH].continues) &&
            (is_sampled || /* there is room */
             sh.choice[SET_WEIGHED].own ==
                 (sh.choice[SET_VECTOR].own | sh.choice[SET_RUNS].own << CSZ_BOOK_RV)))
            policy = CSZ_POLICY_WEIGHED;
    }
    /* books of runs of tiles that are heavy: policy runs', where runs are close or no sampled tile uses others */
    const bool close = csz_policy_runs_are_close(best_cost, runs_cost, ntiles, nsampled),
               runs_instead =
                   job.is_auto && is_sampled && !beside_runs &&
                   (policy == CSZ_POLICY_SINGLE ||
                    (policy == CSZ_POLICY_VECTOR && (close || sh.candidate[CSZ_BOOK_RV].cost_builtin == 0))),
               are_close = runs_instead && close;
    const int set = policy == CSZ_POLICY_SINGLE    ? (are_close ? SET_SINGLE_WEIGHED : SET_SINGLE)
                    : policy == CSZ_POLICY_RUNS    ? (beside_runs && is_poor ? SET_SINGLE_WEIGHED : SET_RUNS)
                    : policy == CSZ_POLICY_WEIGHED ? SET_WEIGHED
                    : are_close                    ? SET_WEIGHED
                                                   : SET_FINAL;
    const int place = set_place(set, book);
    const set_choice &choice = sh.choice[set];
    uint32_t kind = CSZ_KIND_UNUSED;
    const uint32_t *codes = NULL;
    int number = -1;
    if (runs_instead && !are_close && book >= (int)CSZ_BOOK_RV) {
        number = OF_RUN_VALUE + book - CSZ_BOOK_RV;
        kind = sh.candidate[number].builtin;
    } else if (place >= 0) {
        number = set_candidate(set, place, instead);
        kind = sh.candidate[number].builtin;
        if (choice.own >> place & 1) {
            kind = CSZ_KIND_EXPLICIT;
            if (number != book) {
                made = made_at(job.work, frame, number);
                codes = (const uint32_t *)made->code;
#pragma unroll
                for (int i = 0; i < BITS_WORDS / 32; i++) bits[i] = __ldcg(made->bits + 32 * i + lane);
            }
            const uint32_t start = 8 * CSZ_BOOKS_FIXED_NBYTES + choice.start[place], shift = start & 31;
#pragma unroll
            for (uint32_t i = 0; i < BITS_WORDS / 32; i++) {
                const uint32_t at = (start >> 5) + 32 * i + lane;
                if (32 * (32 * i + lane) >= sh.candidate[number].explicit_nbits) break;
                csz_shared_or(&sh.section[at], bits[i] >> shift);
                csz_shared_or(&sh.section[at + 1], __funnelshift_r(0u, bits[i], shift));
            }
        }
    } else if (beside_runs) {
        number = set_candidate(SET_WEIGHED, book, instead);
        kind = sh.candidate[number].builtin;
    }
    if (kind != CSZ_KIND_EXPLICIT) {
        if (number == book) {
#pragma unroll
            for (int i = 0; i < PER_LANE / 2; i++) code[i] = builtin_code[i];
        } else {
            codes = (const uint32_t *)job.builtins->code[book][kind];
        }
    }
    if (codes) {
#pragma unroll
        for (int i = 0; i < PER_LANE / 2; i++) code[i] = __ldcg(codes + 32 * i + lane);
    }
    if (lane == 0) csz_shared_or(&sh.section[book / 4], kind << (8 * (book % 4)));
    __syncthreads(); /* nobody reads what is left in the tables any more */
    uint2 *table = (uint2 *)job.work.table[frame][book];
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) {
        __stcg(table + 32 * i + lane, make_uint2(csz_packet(code[i] >> 4 & 0xFFFu, code[i] & 15u),
                                                 csz_packet(code[i] >> 20, code[i] >> 16 & 15u)));
    }
    const uint32_t nwords = CSZ_BOOKS_FIXED_NBYTES / 4 + (choice.total + 31) / 32;
    for (uint32_t i = t; i < nwords; i += BOOK_THREADS) job.work.section[frame][i] = sh.section[i];
    if (t == 0) job.work.section_nwords[frame] = nwords;
    __syncthreads();
    if (t == 0) {
        uint32_t word = (uint32_t)policy;
        if (beside_runs || policy == CSZ_POLICY_WEIGHED)
            word = csz_policy_weighed(ntiles, nsampled);
        else if (job.is_auto)
            word |= csz_policy_heavy(best_cost, runs_cost, ntiles, nsampled,
                                     (int)sh.candidate[OF_RUN_LENGTH].continues);
        csz_store_release(&job.work.policy[frame], word | unknown | CSZ_BOOKS_READY);
    }
}

#endif
