/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_choice.c: the books of every workflow as the compressor would build them of a sample's counts, its policy, and about what the codes take with them.
 */
#include "analyze/analysis.h"

#include "cpu/scratch.h"

enum {
    NWORKFLOWS = CSZ_NWORKFLOWS,
    BUILTIN_TILES = 16 /* the frames up to which built-in books are weighed */
};

/* What counted symbols take, in 128ths of a bit: codes, raw bits, and 7 bits for the length of a lane, of which each symbol has its share. */
static uint64_t coded_cost(int book, const uint32_t *count, const uint8_t *lengths, uint64_t nsymbols) {
    const uint32_t n = csz_book_size(book);
    uint64_t nbits = 0, shares = 0;
    for (uint32_t s = 0; s < n; s++) nbits += (uint64_t)count[s] * lengths[s];
    if (csz_book_of_deltas(book)) { /* csz_symbol_nraw, in loops that vectorise */
        for (uint32_t s = CSZ_DIRECT_N; s < CSZ_NARROW_N; s++)
            nbits += (uint64_t)count[s] * (((s - CSZ_DIRECT_N) >> 2) + 3);
        for (uint32_t s = CSZ_NARROW_N; s < n; s++) nbits += (uint64_t)count[s] * csz_symbol_nraw(s);
    }
    if (book != CSZ_BOOK_RL) {
        shares = nsymbols * csz_symbol_share(book, 0);
    } else {
        for (uint32_t s = 0; s < n; s++) shares += (uint64_t)count[s] * (s + 1);
    }
    return 128 * nbits + CSZ_LANE_NBITS * shares;
}

/* Lengths made for the counts, for all symbols where those are a sample's; returns how many were counted. */
uint64_t csz_own_lengths(uint8_t *lengths, int book, const uint32_t *count, uint32_t stride) {
    const uint32_t n = csz_book_size(book);
    uint32_t weights[CSZ_SYMBOLS_MAX];
    uint64_t nsymbols = 0;
    for (uint32_t s = 0; s < n; s++) {
        nsymbols += count[s];
        weights[s] = count[s] + (stride > 1);
    }
    if (nsymbols == 0) return 0;
    for (uint32_t j = 0; j < csz_book_first(book); j++) weights[csz_book_symbol_at(book, j)] = 0;
    csz_book_lengths(lengths, weights, n, csz_book_limit(book));
    return nsymbols;
}

/*
 * What a book could be.  With built-in books, of small frames, where it matters, all that the compressor weighs.  Else its own lengths alone: the built-in books take longer to make than the whole sample does, and
 * where one of them would be taken it is for a few bytes.  Should there be no room for its lengths, they still tell about how the symbols would be coded.
 */
static void make_offer(csz_book_offer *offer, csz_builtin_cache *cache, int book, const uint32_t *count,
                       uint32_t frame_tiles, int with_builtins) {
    const uint32_t stride = csz_sample_stride(frame_tiles);
    if (with_builtins) {
        csz_book_offer_make(offer, cache, book, count, stride);
        return;
    }
    memset(offer, 0, sizeof *offer);
    offer->builtin.kind = CSZ_KIND_UNUSED;
    offer->own.kind = CSZ_KIND_EXPLICIT;
    const uint64_t nsymbols = csz_own_lengths(offer->own.lengths, book, count, stride);
    if (nsymbols == 0) return;
    memcpy(offer->builtin.lengths, offer->own.lengths, sizeof offer->own.lengths);
    offer->own_nbits = csz_explicit_nbits(book, offer->own.lengths);
    offer->is_worth_them = 1;
    offer->own_cost =
        (coded_cost(book, count, offer->own.lengths, nsymbols) >> 7) * stride + offer->own_nbits;
    offer->builtin_cost = offer->own_cost + offer->own_cost / 16;
}

/* Offers of all books, and the description of what was counted, which threads that are awake share. */
typedef struct offers_job {
    csz_analysis_job *job;
    const csz_sample *sample;
    csz_analysis *described; /* or NULL */
    csz_policy_offers *offers;
    uint32_t frame_tiles;
    int with_builtins;
    int same_single, same_runs[2]; /* as policy vector counts: its offer is theirs */
    uint32_t single[CSZ_SYMBOLS_MAX];
    atomic_int next;
} offers_job;

/* As csz_policy_weigh makes them of each book. */
static void offers_body(void *arg, int rank) {
    offers_job *o = arg;
    const csz_sample *sample = o->sample;
    csz_builtin_cache *cache = o->job->scratch->builtins;
    csz_policy_offers *offers = o->offers;
    (void)rank;
    for (;;) {
        const int b = atomic_fetch_add(&o->next, 1) - 1;
        if (b >= CSZ_NBOOKS + 3) break;
        if (b < 0) {
            if (o->described) csz_analysis_describe(o->described, o->job);
        } else if (b < CSZ_NBOOKS) {
            make_offer(&offers->vector[b], cache, b, sample->count.count[b], o->frame_tiles,
                       o->with_builtins);
            offers->none[b] = (csz_book_offer){.builtin.kind = CSZ_KIND_UNUSED};
        } else if (b == CSZ_NBOOKS) {
            if (o->same_single) continue;
            make_offer(&offers->single, cache, CSZ_BOOK_S, o->single, o->frame_tiles, o->with_builtins);
        } else {
            const int is_length = b - CSZ_NBOOKS - 1;
            if (o->same_runs[is_length]) continue;
            make_offer(&offers->runs[is_length], cache, CSZ_BOOK_RV + is_length,
                       is_length ? sample->run_length : sample->run_value, o->frame_tiles, o->with_builtins);
        }
    }
}

/* Bits of the explicit lengths of a set of books, which were all offered. */
static uint32_t lengths_nbits(const csz_book *books, const csz_policy_offers *offers) {
    uint32_t nbits = 0;
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        const csz_book_offer *other = b == CSZ_BOOK_S    ? &offers->single
                                      : b >= CSZ_BOOK_RV ? &offers->runs[b - CSZ_BOOK_RV]
                                                         : &offers->vector[b];
        if (books[b].kind != CSZ_KIND_EXPLICIT) continue;
        const int is_other = memcmp(books[b].lengths, other->own.lengths, sizeof other->own.lengths) == 0;
        nbits += (is_other ? other : &offers->vector[b])->own_nbits;
    }
    return nbits;
}

/* What the codes of a book that was offered take. */
static uint64_t cost_of(const csz_book *book, const csz_book_offer *offer) {
    return book->kind == CSZ_KIND_EXPLICIT ? offer->own_cost - offer->own_nbits : offer->builtin_cost;
}

/*
 * As the compressor would build them for a frame of so many tiles: the books of the policies single and runs are the forced workflows', and auto's are those of the policy that the compressor would take.
 */
void csz_choice_make(csz_choice *made, csz_analysis_job *job, const csz_sample *sample,
                     csz_analysis *described, uint32_t frame_tiles) {
    /* a frame that the GPU has counted whole has the compressor's own books */
    const int with_builtins =
        frame_tiles <= BUILTIN_TILES || (job->survey && csz_sample_stride(frame_tiles) == 1);
    csz_policy_offers *offers = &job->room->offers;
    offers_job o = {.job = job,
                    .sample = sample,
                    .described = described,
                    .offers = offers,
                    .frame_tiles = frame_tiles,
                    .with_builtins = with_builtins};
    csz_policy_singles(o.single, &sample->count, sample->ncodes);
    o.same_single = memcmp(o.single, sample->count.count[CSZ_BOOK_S], sizeof o.single) == 0;
    o.same_runs[0] =
        memcmp(sample->run_value, sample->count.count[CSZ_BOOK_RV], sizeof sample->run_value) == 0;
    o.same_runs[1] =
        memcmp(sample->run_length, sample->count.count[CSZ_BOOK_RL], sizeof sample->run_length) == 0;
    atomic_init(&o.next, 0);
    /* the built-in books are made once, by one thread */
    csz_team_run_briefly(&job->scratch->team, with_builtins ? 1 : job->nthreads, offers_body, &o);
    if (o.same_single) offers->single = offers->vector[CSZ_BOOK_S];
    for (int i = 0; i < 2; i++)
        if (o.same_runs[i]) offers->runs[i] = offers->vector[CSZ_BOOK_RV + i];
    made->counted = 0;
    for (int b = 0; b < CSZ_NBOOKS; b++) made->counted |= (uint32_t)(offers->vector[b].own_nbits != 0) << b;
    csz_book_offer *huffman = job->room->huffman, *runs = job->room->runs;
    memcpy(huffman, offers->none, sizeof offers->none);
    memcpy(runs, offers->none, sizeof offers->none);
    huffman[CSZ_BOOK_S] = offers->single;
    huffman[CSZ_BOOK_W] = offers->vector[CSZ_BOOK_W];
    memcpy(runs + CSZ_BOOK_RV, offers->runs, sizeof offers->runs);
    csz_books_settle(made->books[CSZ_WORKFLOW_HUFFMAN], huffman, frame_tiles);
    csz_books_settle(made->books[CSZ_WORKFLOW_RLE_VLE], runs, frame_tiles);
    for (int b = 0; b < CSZ_NBOOKS; b++) made->books[CSZ_WORKFLOW_RLE][b].kind = CSZ_KIND_UNUSED;
    made->policy = csz_policy_choose(made->books[CSZ_WORKFLOW_AUTO], offers, sample, frame_tiles, 1);
    for (int i = 0; i < NWORKFLOWS; i++) made->lengths_nbits[i] = lengths_nbits(made->books[i], offers);

    const uint64_t stride = csz_sample_stride(frame_tiles);
    uint64_t nruns = 0, ncodes = 0;
    for (uint32_t s = 0; s < csz_book_size(CSZ_BOOK_RL); s++) {
        nruns += sample->run_length[s];
        ncodes += (uint64_t)sample->run_length[s] * (s + 1);
    }
    uint64_t *cost = made->cost, of_policy[CSZ_POLICY_N];
    for (int p = 0; p < CSZ_POLICY_N; p++) of_policy[p] = 32 * stride * sample->bitmap_nwords[p];
    cost[CSZ_WORKFLOW_HUFFMAN] = of_policy[CSZ_POLICY_SINGLE];
    cost[CSZ_WORKFLOW_RLE] = cost[CSZ_WORKFLOW_RLE_VLE] = of_policy[CSZ_POLICY_RUNS];
    const csz_book *books = made->books[CSZ_WORKFLOW_AUTO];
    for (int b = 0; b < CSZ_BOOK_RV; b++)
        of_policy[CSZ_POLICY_VECTOR] += cost_of(&books[b], &offers->vector[b]);
    of_policy[CSZ_POLICY_SINGLE] += cost_of(&books[CSZ_BOOK_S], &offers->single) +
                                    cost_of(&books[CSZ_BOOK_W], &offers->vector[CSZ_BOOK_W]);
    for (int i = 0; i < 2; i++)
        of_policy[CSZ_POLICY_RUNS] += cost_of(&books[CSZ_BOOK_RV + i], &offers->runs[i]);
    const uint32_t policy = made->policy & CSZ_POLICY_MASK;
    cost[CSZ_WORKFLOW_AUTO] = of_policy[policy < CSZ_POLICY_N ? policy : CSZ_POLICY_VECTOR];
    made->weighed[0] = of_policy[CSZ_POLICY_VECTOR];
    made->weighed[1] = of_policy[CSZ_POLICY_RUNS];
    if (policy == CSZ_POLICY_WEIGHED && of_policy[CSZ_POLICY_RUNS] < cost[CSZ_WORKFLOW_AUTO])
        cost[CSZ_WORKFLOW_AUTO] = of_policy[CSZ_POLICY_RUNS]; /* tiles take what is less, at most */
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        cost[CSZ_WORKFLOW_HUFFMAN] += cost_of(&made->books[CSZ_WORKFLOW_HUFFMAN][b], &huffman[b]);
        cost[CSZ_WORKFLOW_RLE_VLE] += cost_of(&made->books[CSZ_WORKFLOW_RLE_VLE][b], &runs[b]);
    }
    cost[CSZ_WORKFLOW_RLE] += stride * (nruns * (16 + 7) + ncodes / 128 * CSZ_LANE_NBITS);
}
