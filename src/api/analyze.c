/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.c: how a field would compress, and why.  Sampled tiles are counted, books are built from those counts, scaled to what the compressor would count, and the
 * tiles coded with them; looks all over the field say whether the few tiles are like the rest, and the sizes are scaled up.  With `exact` all tiles are counted and
 * the four workflows coded for the truth beside the prediction.  Of a field on the GPU only what is sampled comes to the host.
 */
#include "api/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/gpu.h"
#include "core/bound.h"
#include "cpu/scratch.h"

enum {
    NWORKFLOWS = CSZ_NWORKFLOWS,
    /*
     * A sampled tile costs some twice what a compressed one does (counted as every policy would code it, coded as auto would, measured for the others), and books as much as another;
     * the range takes 3 to 5% of the time of compressing.  With one tile in SAMPLE_STRIDE, and the most that a large field needs, an analysis of one bound stays below a tenth of compressing
     * from 2 to 3 MB on.  One row for ROW_STRIDE tiles costs less than the tiles do.
     */
    SAMPLE_STRIDE = 128,
    SAMPLE_ALL = 4,
    SAMPLE_LEAST = 1,
    SAMPLE_MOST = 512,
    BUILTIN_TILES = 16, /* the frames up to which built-in books are weighed */
    ROW_STRIDE = 4,
    ROWS_LEAST = 24,
    ROWS_MOST = 512,
    START_N = 1 << 20, /* values from which threads are started to find the range */
    PAIRS_LEAST = 256,
    PAIRS_MOST = 16000,
    PAIRS_EXACT = 1000000
};

/* ---- prediction ---- */

/* The sample's counts as the compressor would have them, which counts `factor` times as many tiles of a frame.  None stays none; a sample's counts are below 2^24. */
static void scale_counts(uint32_t *restrict counts, size_t n, float factor) {
    for (size_t i = 0; i < n; i++) {
        const float scaled = (float)counts[i] * factor + 0.5f;
        counts[i] = (uint32_t)(scaled < 4e9f ? scaled : 4e9f);
    }
}

/* Bytes of everything but the payload: header, footer, and each frame's header, books and index. */
static uint64_t fixed_nbytes(const csz_header *header, uint32_t lengths_nbits) {
    const csz_geometry *g = &header->geometry;
    const uint32_t books_nbytes = CSZ_BOOKS_FIXED_NBYTES + (lengths_nbits + 31) / 32 * 4;
    uint64_t nbytes = csz_header_nbytes(header) + csz_footer_nbytes(g->nframes);
    for (uint64_t f = 0; f < g->nframes; f++)
        nbytes += csz_frame_layout_of(csz_frame_box_at(g, f).ntiles, books_nbytes).payload;
    return nbytes;
}

/* What counted symbols take, in 128ths of a bit: codes, raw bits, and 7 bits for the length of a lane, of which each symbol has its share. */
static uint64_t coded_cost(int book, const uint32_t *count, const uint8_t *lengths, uint64_t nsymbols) {
    const uint32_t n = csz_book_size(book);
    uint64_t nbits = 0, shares = 0;
    for (uint32_t s = 0; s < n; s++) nbits += (uint64_t)count[s] * lengths[s];
    for (uint32_t s = CSZ_DIRECT_N; csz_book_of_deltas(book) && s < n; s++)
        nbits += (uint64_t)count[s] * csz_symbol_nraw(s);
    if (book != CSZ_BOOK_RL) {
        shares = nsymbols * csz_symbol_share(book, 0);
    } else {
        for (uint32_t s = 0; s < n; s++) shares += (uint64_t)count[s] * (s + 1);
    }
    return 128 * nbits + CSZ_LANE_NBITS * shares;
}

/*
 * What a book could be.  Of small frames, where it matters, all that the compressor weighs.  Of others its own lengths alone: the built-in books take longer to make than the whole sample does, and
 * where one of them would be taken it is for a few bytes.  Should there be no room for its lengths, they still tell about how the symbols would be coded.
 */
static void make_offer(csz_book_offer *offer, csz_builtin_cache *cache, int book, const uint32_t *count,
                       uint32_t frame_tiles) {
    const uint32_t n = csz_book_size(book), stride = csz_sample_stride(frame_tiles);
    if (frame_tiles <= BUILTIN_TILES) {
        csz_book_offer_make(offer, cache, book, count, stride);
        return;
    }
    memset(offer, 0, sizeof *offer);
    offer->builtin.kind = CSZ_KIND_UNUSED;
    offer->own.kind = CSZ_KIND_EXPLICIT;
    uint32_t weights[CSZ_SYMBOLS_MAX];
    uint64_t nsymbols = 0;
    for (uint32_t s = 0; s < n; s++) {
        nsymbols += count[s];
        weights[s] = count[s] + (stride > 1);
    }
    if (nsymbols == 0) return;
    for (uint32_t j = 0; j < csz_book_first(book); j++) weights[csz_book_symbol_at(book, j)] = 0;
    csz_book_lengths(offer->own.lengths, weights, n, csz_book_limit(book));
    memcpy(offer->builtin.lengths, offer->own.lengths, sizeof offer->own.lengths);
    offer->own_nbits = csz_explicit_nbits(book, offer->own.lengths);
    offer->is_worth_them = 1;
    offer->own_cost =
        (coded_cost(book, count, offer->own.lengths, nsymbols) >> 7) * stride + offer->own_nbits;
    offer->builtin_cost = offer->own_cost + offer->own_cost / 16;
}

static void describe_counts(csz_analysis *a, const csz_analysis_job *job) {
    uint64_t scratch[2 * CSZ_ANALYSIS_NCODES], escapes = 0, runs = 0;
    const csz_analysis_sums *t = &job->workers[0]->sums;
    double n = t->n ? (double)t->n : 1;
    a->nelements_counted = t->n;
    a->ntiles_counted = job->nchosen;
    memcpy(a->histogram, t->histogram, sizeof a->histogram);
    uint32_t first = 0, end = CSZ_ANALYSIS_NCODES; /* of the codes that occur, which are mostly few */
    while (first < end && !a->histogram[first]) first++;
    while (end > first && !a->histogram[end - 1]) end--;
    if (csz_statistics_from_histogram(&a->statistics, a->histogram + first, end - first) != CSZ_OK)
        memset(&a->statistics, 0, sizeof a->statistics);
    a->huffman_bits = csz_huffman_average(a->histogram + first, end - first, scratch);
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) runs += t->run_length[s];
    for (int i = 0; i < CSZ_ANALYSIS_NCODES / 2 - CSZ_DIRECT_HALF; i++) escapes += a->histogram[i];
    for (int i = CSZ_ANALYSIS_NCODES / 2 + CSZ_DIRECT_HALF; i < CSZ_ANALYSIS_NCODES; i++)
        escapes += a->histogram[i];
    double raw = 0;
    for (uint32_t s = 0; s < CSZ_WIDE_N; s++) raw += (double)t->run_value[s] * csz_symbol_nraw(s);
    a->rle_bits = ((double)runs * (16 + 7) + (double)t->extra_run_bits) / n;
    a->rle_vle_bits = ((double)runs * (csz_huffman_average(t->run_value, CSZ_SYMBOLS_MAX, scratch) +
                                       csz_huffman_average(t->run_length, CSZ_SYMBOLS_MAX, scratch)) +
                       raw) /
                      n;
    a->outlier_share = (double)t->noutliers / n;
    a->escape_share = (double)(t->noutliers + escapes) / n;
    a->exception_share = (double)t->nexceptions / n;
    csz_madogram_finish(&a->codes, &t->codes);
    csz_madogram_finish(&a->quanta, &job->quanta);
}

/* Offers of all books, and the description of what was counted, which threads that are awake share. */
typedef struct offers_job {
    csz_analysis_job *job;
    csz_analysis *described; /* or NULL */
    csz_policy_offers *offers;
    uint32_t frame_tiles;
    uint32_t single[CSZ_SYMBOLS_MAX];
    atomic_int next;
} offers_job;

/* As csz_policy_weigh makes them of each book. */
static void offers_body(void *arg, int rank) {
    offers_job *o = arg;
    const csz_sample *sample = &o->job->workers[0]->sample;
    csz_builtin_cache *cache = o->job->scratch->builtins;
    csz_policy_offers *offers = o->offers;
    (void)rank;
    for (;;) {
        const int b = atomic_fetch_add(&o->next, 1) - 1;
        if (b >= CSZ_NBOOKS + 3) break;
        if (b < 0) {
            if (o->described) describe_counts(o->described, o->job);
        } else if (b < CSZ_NBOOKS) {
            make_offer(&offers->vector[b], cache, b, sample->count.count[b], o->frame_tiles);
            offers->none[b] = (csz_book_offer){.builtin.kind = CSZ_KIND_UNUSED};
        } else if (b == CSZ_NBOOKS) {
            make_offer(&offers->single, cache, CSZ_BOOK_S, o->single, o->frame_tiles);
        } else {
            const int is_length = b - CSZ_NBOOKS - 1;
            make_offer(&offers->runs[is_length], cache, CSZ_BOOK_RV + is_length,
                       is_length ? sample->run_length : sample->run_value, o->frame_tiles);
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

/* The books of every workflow, the bits of their lengths, and about what a frame's codes take with them besides (auto's are coded instead). */
typedef struct choice {
    csz_book books[NWORKFLOWS][CSZ_NBOOKS];
    uint32_t lengths_nbits[NWORKFLOWS];
    uint64_t cost[NWORKFLOWS];
    uint32_t policy; /* auto's */
} choice;

/* What the codes of a book that was offered take. */
static uint64_t cost_of(const csz_book *book, const csz_book_offer *offer) {
    return book->kind == CSZ_KIND_EXPLICIT ? offer->own_cost - offer->own_nbits : offer->builtin_cost;
}

/*
 * As the compressor would build them for a frame of so many tiles: the books of the policies single and runs are the forced workflows', and auto's are those of the policy that the compressor would take.
 */
static void choose_books(choice *made, csz_analysis_job *job, csz_analysis *described, uint32_t frame_tiles) {
    const csz_sample *sample = &job->workers[0]->sample;
    csz_policy_offers offers;
    offers_job o = {.job = job, .described = described, .offers = &offers, .frame_tiles = frame_tiles};
    csz_policy_singles(o.single, &sample->count, sample->ncodes);
    atomic_init(&o.next, 0);
    /* the built-in books are made once, by one thread */
    csz_team_run_briefly(&job->scratch->team, frame_tiles > BUILTIN_TILES ? job->nthreads : 1, offers_body,
                         &o);
    csz_book_offer huffman[CSZ_NBOOKS], runs[CSZ_NBOOKS];
    memcpy(huffman, offers.none, sizeof huffman);
    memcpy(runs, offers.none, sizeof runs);
    huffman[CSZ_BOOK_S] = offers.single;
    huffman[CSZ_BOOK_W] = offers.vector[CSZ_BOOK_W];
    memcpy(runs + CSZ_BOOK_RV, offers.runs, sizeof offers.runs);
    csz_books_settle(made->books[CSZ_WORKFLOW_HUFFMAN], huffman, frame_tiles);
    csz_books_settle(made->books[CSZ_WORKFLOW_RLE_VLE], runs, frame_tiles);
    for (int b = 0; b < CSZ_NBOOKS; b++) made->books[CSZ_WORKFLOW_RLE][b].kind = CSZ_KIND_UNUSED;
    made->policy = csz_policy_choose(made->books[CSZ_WORKFLOW_AUTO], &offers, sample, frame_tiles, 1);
    for (int i = 0; i < NWORKFLOWS; i++) made->lengths_nbits[i] = lengths_nbits(made->books[i], &offers);

    const uint64_t stride = csz_sample_stride(frame_tiles);
    uint64_t nruns = 0, ncodes = 0;
    for (uint32_t s = 0; s < csz_book_size(CSZ_BOOK_RL); s++) {
        nruns += sample->run_length[s];
        ncodes += (uint64_t)sample->run_length[s] * (s + 1);
    }
    uint64_t *cost = made->cost;
    cost[CSZ_WORKFLOW_AUTO] = 0;
    cost[CSZ_WORKFLOW_HUFFMAN] = 32 * stride * sample->bitmap_nwords[CSZ_POLICY_SINGLE];
    cost[CSZ_WORKFLOW_RLE] = cost[CSZ_WORKFLOW_RLE_VLE] =
        32 * stride * sample->bitmap_nwords[CSZ_POLICY_RUNS];
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        cost[CSZ_WORKFLOW_HUFFMAN] += cost_of(&made->books[CSZ_WORKFLOW_HUFFMAN][b], &huffman[b]);
        cost[CSZ_WORKFLOW_RLE_VLE] += cost_of(&made->books[CSZ_WORKFLOW_RLE_VLE][b], &runs[b]);
    }
    cost[CSZ_WORKFLOW_RLE] += stride * (nruns * (16 + 7) + ncodes / 128 * CSZ_LANE_NBITS);
}

/* Code tables of those books that have codes: auto's, and where the forced workflows code the sample theirs, of which huffman has S and W, rle+vle RV and RL, rle none. */
static void make_tables(csz_analysis_job *job, const choice *made) {
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        uint8_t any = 0;
        for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) any |= made->books[0][b].lengths[s];
        if (any)
            csz_code_table_make(job->tables, b, made->books[0][b].lengths);
        else
            memset(job->tables->code[b], 0, sizeof job->tables->code[b]);
        if (job->forced_tables)
            csz_code_table_make(
                job->forced_tables, b,
                made->books[b < CSZ_BOOK_RV ? CSZ_WORKFLOW_HUFFMAN : CSZ_WORKFLOW_RLE_VLE][b].lengths);
    }
    job->tables->policy = made->policy;
    if (job->forced_tables) job->forced_tables->policy = CSZ_POLICY_VECTOR;
}

/* Bits a value of auto's payload: an estimate and its variance. */
typedef struct rate {
    double mean, variance;
} rate;

static double square(double x) { return x * x; }

/*
 * Two estimates weighted by their variances.  The tiles' own: tiles of one field differ by about as much as their mean, so the variance of a few is joined with that
 * of PRIOR_N more of which this is all that is known.  The rows': their variance, joined likewise, and the model's error, a share and some bits.  The spreads are set so that at
 * least 19 of 20 truths of docs/evaluation.md lie within twice the standard error.
 */
static rate join_rates(const csz_analysis_sums *sums, double ntiles, double n, double nelements,
                       csz_rows_rate rows) {
    enum { PRIOR_N = 3 };
    const double tile_spread = 0.7, row_spread = 3, model_error = 0.2, model_error_bits = 0.1;
    const double to_rate = 32 * ntiles / nelements; /* from words of a tile */
    const double mean = (double)sums->words[0] / n;
    rate r = {mean * to_rate, 0};
    if (n >= ntiles) return r;
    const double squares = (double)sums->squares - n * mean * mean;
    const double scale = r.mean > rows.mean ? r.mean : rows.mean, k = (double)rows.n;
    const double tiles =
        (PRIOR_N * square(tile_spread * scale) + (squares > 0 ? squares * to_rate * to_rate : 0)) /
        (PRIOR_N + n - 1) / n * (1 - n / ntiles);
    r.variance = tiles;
    if (rows.n == 0) return r;
    const double model =
        (PRIOR_N * square(row_spread * scale) + (k - 1) * rows.variance) / (PRIOR_N + k - 1) / k +
        square(model_error * scale) + square(model_error_bits);
    r.mean = (r.mean * model + rows.mean * tiles) / (tiles + model);
    r.variance = tiles * model / (tiles + model);
    return r;
}

/* Words of the sample's tiles under a workflow; share: of a frame that the sample is. */
static double words_of(const csz_analysis_job *job, const choice *made, int workflow, double share) {
    const csz_analysis_sums *sums = &job->workers[0]->sums;
    if (workflow == CSZ_WORKFLOW_AUTO || job->forced_tables) return (double)sums->words[workflow];
    const double nbits = (double)sums->common_nbits + share * (double)made->cost[workflow] +
                         (workflow == CSZ_WORKFLOW_RLE ? (double)sums->extra_run_bits : 0),
                 most = 32 * (double)sums->raw_words;
    return (nbits < most ? nbits : most) / 32;
}

/* Predicts what each workflow takes from the sample that was just counted; returns auto's policy.  described: where the counts are described, or NULL. */
static uint32_t predict(csz_analysis_job *job, csz_analysis *a, const csz_header *header,
                        csz_analysis *described) {
    csz_frame_box frame = csz_frame_box_at(&header->geometry, 0);
    csz_sample *sample = &job->workers[0]->sample;
    choice made;
    const float factor = (float)((double)csz_sample_count(frame.ntiles) * (double)job->ntiles /
                                 ((double)frame.ntiles * (double)job->nchosen));
    scale_counts((uint32_t *)sample, sizeof *sample / sizeof(uint32_t), factor);
    choose_books(&made, job, described, frame.ntiles);
    make_tables(job, &made);
    csz_analysis_encode(job);
    const csz_analysis_sums *sums = &job->workers[0]->sums;
    const double n = (double)header->geometry.nelements, share = (double)job->nchosen / (double)job->ntiles;
    const rate r = join_rates(sums, (double)job->ntiles, (double)job->nchosen, n, job->rows);
    for (int i = 0; i < NWORKFLOWS; i++) {
        /* what the rows say of auto they say of all */
        double payload = r.mean * n / 8;
        if (sums->words[0]) payload *= words_of(job, &made, i, share) / (double)sums->words[0];
        a->workflow[i].nbytes_predicted =
            fixed_nbytes(header, made.lengths_nbits[i]) + ((uint64_t)payload + 7) / 8 * 8;
    }
    a->prediction_error = sqrt(r.variance) * n / 8 / (double)a->workflow[0].nbytes_predicted;
    return made.policy;
}

/* ---- the whole ---- */

static const char *const workflow_names[NWORKFLOWS] = {"auto", "huffman", "rle", "rle+vle"};

/* How auto codes the field, each a clause after "auto codes". */
typedef enum way { WAY_TILE_BY_TILE, WAY_HUFFMAN, WAY_RUNS, WAY_RAW, WAY_ONE_VALUE } way;

/* From an archive's tiles.  Those of one value have a record of their own kind in every workflow. */
static way way_of_tiles(const csz_tile_counts *t) {
    const uint64_t runs = t->rle + t->rle_vle, other = t->mask8 + t->quad + t->pair;
    if (other + t->single + runs + t->raw == 0) return WAY_ONE_VALUE;
    if (other + runs + t->raw == 0) return WAY_HUFFMAN;
    if (other + t->single + t->raw == 0) return WAY_RUNS;
    if (other + t->single + runs == 0) return WAY_RAW;
    return WAY_TILE_BY_TILE;
}

/* From auto's policy and the tiles that were counted; a tile of one bit pattern has no codes. */
static way way_of_policy(uint32_t policy, const csz_analysis_sums *t) {
    static const way of[] = {WAY_TILE_BY_TILE, WAY_HUFFMAN, WAY_RUNS, WAY_TILE_BY_TILE};
    uint64_t ncodes = 0;
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) ncodes += t->histogram[i];
    const uint64_t zeros = t->histogram[CSZ_ANALYSIS_NCODES / 2];
    if (t->noutliers == 0 && zeros == ncodes && (ncodes == 0 || t->nexceptions == 0)) return WAY_ONE_VALUE;
    return of[policy & CSZ_POLICY_MASK];
}

static void explain(csz_analysis *a, way how) {
    static const char *const clause[] = {"tile by tile, 8, 4, 2 or 1 codes a symbol or run lengths",
                                         "the tiles with plain Huffman codes", "the tiles with run lengths",
                                         "no tile, all being kept raw", "no tile, each being one value"};
    uint64_t size[NWORKFLOWS];
    for (int i = 0; i < NWORKFLOWS; i++)
        size[i] = a->is_exact ? a->workflow[i].nbytes : a->workflow[i].nbytes_predicted;
    a->best_forced = CSZ_WORKFLOW_HUFFMAN;
    for (int i = CSZ_WORKFLOW_RLE; i < NWORKFLOWS; i++)
        if (size[i] < size[a->best_forced]) a->best_forced = (csz_workflow)i;
    a->regret = (double)size[0] / (double)size[a->best_forced] - 1;
    if (a->nelements == 0) {
        snprintf(a->reason, sizeof a->reason, "auto has nothing to choose: the field has no elements");
        return;
    }
    const double n = (double)a->nelements / 8;
    const char *best = workflow_names[a->best_forced];
    char sizes[128];
    if (size[0] == size[a->best_forced])
        snprintf(sizes, sizeof sizes, "which takes %.4g bits a value, as does %s, the best forced workflow",
                 (double)size[0] / n, best);
    else
        snprintf(sizes, sizeof sizes,
                 "%s takes %.4g bits a value where %s, the best forced workflow, takes %s%.4g",
                 size[0] < size[a->best_forced] ? "since that" : "which", (double)size[0] / n, best,
                 size[0] < size[a->best_forced] ? "" : "less, ", (double)size[a->best_forced] / n);
    snprintf(a->reason, sizeof a->reason,
             "auto codes %s, %s; the paper's rule, H + R- = %.3f %s 1.09, %s run lengths", clause[how], sizes,
             a->statistics.bits_lower, a->statistics.rle_advised ? "<=" : ">",
             a->statistics.rle_advised ? "advises" : "does not advise");
}

/* The true size of every workflow, and how auto's tiles were coded. */
static csz_status code_all(csz_context *context, csz_analysis *a, csz_tile_counts *tiles, const void *data,
                           const csz_field *field, const csz_options *options) {
    csz_options o = *options;
    size_t capacity, nbytes;
    o.zstd_level = 0;
    o.bound = a->bound;
    csz_status status = csz_compress_bound(&capacity, field, &o);
    if (status) return status;
    void *out = malloc(capacity);
    if (!out) return CSZ_ERROR_MEMORY;
    for (int i = 0; !status && i < NWORKFLOWS; i++) {
        o.workflow = (csz_workflow)i;
        status = csz_compress(context, out, capacity, &nbytes, data, field, &o);
        a->workflow[i].nbytes = nbytes;
        if (!status && i == CSZ_WORKFLOW_AUTO) status = csz_survey(context, tiles, out, nbytes);
    }
    free(out);
    return status;
}

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* Tiles that are sampled: all of the smallest fields, whose analysis is mostly books. */
static uint64_t sample_size(uint64_t ntiles) {
    return ntiles <= SAMPLE_ALL ? ntiles : clamp(ntiles / SAMPLE_STRIDE, SAMPLE_LEAST, SAMPLE_MOST);
}

static uint64_t pairs_wanted(uint64_t nelements, int exact) {
    return exact ? PAIRS_EXACT : clamp(nelements / 1024, PAIRS_LEAST, PAIRS_MOST);
}

/* One bound.  header has everything but the bound; tiles are auto's, NULL where nothing was coded. */
static void analyze_bound(csz_analysis *a, csz_analysis_job *job, csz_header *header,
                          const csz_tile_counts *tiles) {
    const int exact = tiles != NULL;
    const uint64_t n = header->geometry.nelements;
    uint32_t policy = CSZ_POLICY_VECTOR;
    for (int i = 0; i < NWORKFLOWS; i++) {
        header->workflow = (csz_workflow)i;
        job->plan[i] = csz_tile_plan_of(header);
        job->plan[i].geometry = job->layout;
    }
    a->nelements = n;
    a->ntiles = job->ntiles;
    a->nbytes_field = n * (header->field.type == CSZ_F32 ? 4u : 8u);
    job->nchosen = 0;
    memset(&job->quanta, 0, sizeof job->quanta);
    if (n) {
        const uint64_t npairs = pairs_wanted(n, exact);
        job->nchosen = sample_size(job->ntiles);
        job->npairs_each = exact ? 0 : (uint32_t)(npairs / job->nchosen + 1);
        csz_analysis_count(job, 1);
        policy = predict(job, a, header, exact ? NULL : a);
        if (exact) {
            job->nchosen = job->ntiles;
            job->npairs_each = (uint32_t)(npairs / job->ntiles + 1);
            csz_analysis_count(job, 0);
        }
    } else {
        memset(job->workers[0], 0, sizeof *job->workers[0]);
        for (int i = 0; i < NWORKFLOWS; i++)
            a->workflow[i].nbytes_predicted = csz_header_nbytes(header) + csz_footer_nbytes(0);
    }
    if (exact || !n) describe_counts(a, job);
    explain(a, exact ? way_of_tiles(tiles) : way_of_policy(policy, &job->workers[0]->sums));
}

static void free_job(csz_analysis_job *job) {
    for (int i = 0; job->workers && i < job->nthreads; i++) free(job->workers[i]);
    free(job->workers);
    free(job->forced_tables);
    free(job);
}

/* Threads that are awake take a tile each, or the looks; others are started where each has THREAD_TILES of them. */
static int threads_for(const csz_context *context, uint64_t ntiles, int nthreads) {
    const uint64_t waiting = 1 + (uint64_t)context->cpu.team.nmembers, useful = ntiles / THREAD_TILES + 1,
                   helpful = waiting < ntiles + 1 ? waiting : ntiles + 1,
                   most = useful > helpful ? useful : helpful;
    return (uint64_t)nthreads < most ? nthreads : (int)most;
}

static csz_analysis_job *make_job(csz_context *context, const csz_geometry *g, int nthreads) {
    csz_analysis_job *job = calloc(1, sizeof *job);
    if (!job || csz_scratch_workers(&context->cpu, nthreads, g->rank) != CSZ_OK ||
        csz_scratch_kept(&context->cpu, (uint32_t)sample_size(g->ntiles)) != CSZ_OK) {
        free(job);
        return NULL;
    }
    job->scratch = &context->cpu;
    job->geometry = job->layout = *g;
    job->ntiles = g->ntiles;
    job->nthreads = nthreads;
    job->tables = context->cpu.code_tables;
    const int is_whole = sample_size(g->ntiles) == g->ntiles;
    if (is_whole) job->forced_tables = malloc(sizeof *job->forced_tables);
    job->workers = calloc((size_t)nthreads, sizeof *job->workers);
    for (int i = 0; job->workers && (job->forced_tables || !is_whole) && i < nthreads; i++) {
        job->workers[i] = malloc(sizeof *job->workers[i]);
        if (!job->workers[i]) break;
        if (i + 1 == nthreads) return job;
    }
    free_job(job);
    return NULL;
}

/* ---- where the field lies ---- */

/* A field, or what was sampled of it. */
typedef struct source {
    const void *data;
    int is_on_device;
    void *copy; /* of the chosen tiles, one behind the other */
} source;

static csz_device_field device_field(const source *from, const csz_header *h) {
    csz_device_field f = {from->data, h->field.type, h->geometry, h->has_fill, h->fill_bits};
    return f;
}

/* Threads that are awake help; to start or to wake one takes as long as a few MB do. */
static csz_status find_range(csz_context *context, const source *from, const csz_header *h, int nthreads,
                             int *any, double *min, double *max) {
    const uint64_t n = h->geometry.nelements;
    if (from->is_on_device) {
        const csz_device_field f = device_field(from, h);
        return csz_gpu_range(&f, any, min, max);
    }
    *any = (n < START_N ? csz_cpu_range_briefly : csz_cpu_range)(
        &context->cpu.team, from->data, n, h->field.type, h->has_fill, h->fill_bits, nthreads, min, max);
    return CSZ_OK;
}

/* The chosen tiles and what is looked at, from the device; the job then finds its tiles in the copy. */
static csz_status fetch_sample(csz_analysis_job *job, const csz_looks *looks, source *from,
                               const csz_header *h) {
    const csz_device_field f = device_field(from, h);
    const size_t size = h->field.type == CSZ_F32 ? 4 : 8, n = (size_t)sample_size(job->ntiles);
    uint64_t *tiles = malloc(n * sizeof *tiles), *index = malloc((looks->n + 1) * sizeof *index);
    from->copy = malloc((n * CSZ_TILE_N + looks->n) * size);
    csz_status status = tiles && index && from->copy ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status) csz_looks_index(index, looks);
    job->nchosen = n;
    for (size_t s = 0; !status && s < n; s++) tiles[s] = csz_analysis_tile(job, s);
    if (!status) status = csz_gpu_gather(from->copy, &f, tiles, n, index, looks->n);
    free(tiles);
    free(index);
    if (status) return status;
    job->looked_at = (const uint8_t *)from->copy + n * CSZ_TILE_N * size;
    job->is_copy = 1;
    job->data = from->copy;
    /* tiles side by side along the slowest dim that the field has */
    csz_geometry *g = &job->layout;
    for (int i = 0; i < 3; i++) g->n[i] = (uint64_t)1 << g->log2_t[i];
    g->n[3 - g->rank] *= n;
    g->nelements = n * CSZ_TILE_N;
    csz_geometry_finish(g, 0);
    return CSZ_OK;
}

static csz_status analyze_source(csz_context *context, csz_analysis *analyses, const double *bounds,
                                 size_t nbounds, source *from, const csz_field *field, const csz_options *o,
                                 int exact) {
    csz_header header;
    memset(&header, 0, sizeof header);
    header.field = *field;
    header.bound_mode = o->bound_mode;
    header.has_fill = o->has_fill != 0;
    header.fill_bits = header.has_fill ? csz_fill_bits(field->type, o->fill) : 0;
    csz_status status = csz_geometry_of(&header.geometry, field);
    if (status) return status;
    double min = 0, max = 0, start = csz_clock();
    int has_range = 0;
    const uint64_t n = header.geometry.nelements;
    if (o->bound_mode != CSZ_BOUND_ABS && n)
        status = find_range(context, from, &header, o->threads, &has_range, &min, &max);
    if (status) return status;
    const int nthreads = threads_for(
        context, exact ? header.geometry.ntiles : sample_size(header.geometry.ntiles), o->threads);
    csz_looks looks;
    status = csz_looks_make(&looks, &header.geometry, pairs_wanted(n, exact),
                            clamp(header.geometry.ntiles / ROW_STRIDE, ROWS_LEAST, ROWS_MOST));
    if (status) return status;
    csz_analysis_job *job = make_job(context, &header.geometry, nthreads);
    if (!job) status = CSZ_ERROR_MEMORY;
    if (!status && from->is_on_device) {
        status = n ? fetch_sample(job, &looks, from, &header) : CSZ_OK;
    } else if (!status) {
        job->data = from->data;
    }
    if (job) job->looks = &looks;
    for (size_t b = 0; !status && b < nbounds; b++) {
        csz_analysis *a = &analyses[b];
        memset(a, 0, sizeof *a);
        a->bound = header.bound = bounds[b];
        a->min = has_range ? min : NAN;
        a->max = has_range ? max : NAN;
        a->is_exact = exact != 0;
        a->bound_abs = header.bound_abs =
            csz_bound_resolve((int)o->bound_mode, bounds[b], has_range, min, max);
        csz_tile_counts tiles;
        if (exact) status = code_all(context, a, &tiles, from->data, field, o);
        if (!status && exact) status = csz_scratch_workers(&context->cpu, nthreads, header.geometry.rank);
        if (!status) analyze_bound(a, job, &header, exact ? &tiles : NULL);
        a->seconds = csz_clock() - start;
        start = csz_clock();
    }
    if (job) free_job(job);
    csz_looks_free(&looks);
    free(from->copy);
    return status;
}

csz_status csz_analyze(csz_context *context, csz_analysis *analyses, const double *bounds, size_t nbounds,
                       const void *data, const csz_field *field, const csz_options *options, int exact) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    csz_options o;
    csz_geometry g;
    if (!context || !field || !options || (nbounds && (!analyses || !bounds))) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(&o, options);
    if (!status) status = csz_geometry_of(&g, field);
    if (status) return status;
    for (size_t b = 0; b < nbounds; b++)
        if (!(bounds[b] > 0 && bounds[b] <= largest)) return CSZ_ERROR_BOUND;
    if (g.nelements && !data) return CSZ_ERROR_ARGUMENT;
    source from = {data, g.nelements && csz_gpu_is_device_pointer(data), NULL};
    if (from.is_on_device && o.backend == CSZ_BACKEND_CPU) return CSZ_ERROR_ARGUMENT;
    if (from.is_on_device && context->device) {
        status = csz_gpu_set_device(context->device - 1);
        if (status) return status;
    }
    if (!from.is_on_device || !exact)
        return analyze_source(context, analyses, bounds, nbounds, &from, field, &o, exact);
    /* all tiles are wanted */
    uint64_t nbytes = g.nelements * (field->type == CSZ_F32 ? 4u : 8u);
    void *copy = malloc((size_t)nbytes);
    if (!copy) return CSZ_ERROR_MEMORY;
    source whole = {copy, 0, NULL};
    status = csz_gpu_copy(copy, data, (size_t)nbytes);
    if (!status) status = analyze_source(context, analyses, bounds, nbounds, &whole, field, &o, exact);
    free(copy);
    return status;
}
