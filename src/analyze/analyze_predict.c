/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_predict.c: what each workflow would take.  Books are built from the sample's counts by the compressor's rule, and priced by those counts.  Of a field on the host patches of tiles were counted, or, if it
 * has a few tiles, all, which are then coded; of one on the GPU the compressor's own sample was, frame by frame, so that counts tell the size, and a few coded tiles what counts do not: bases, masks, exceptions.
 */
#include "analyze/analysis.h"

#include <math.h>

#include "core/logarithm.h"
#include "cpu/scratch.h"

enum { NWORKFLOWS = CSZ_NWORKFLOWS };

/* The sample's counts as the compressor would have them, which counts `factor` times as many tiles of a frame.  None stays none; a sample's counts are below 2^24. */
static void scale_counts(uint32_t *restrict counts, size_t n, float factor) {
    for (size_t i = 0; i < n; i++) {
        const float scaled = (float)counts[i] * factor + 0.5f;
        counts[i] = (uint32_t)(scaled < 4e9f ? scaled : 4e9f);
    }
}

/* Bytes of frames but for their payload: header, books and index. */
static uint64_t frames_nbytes(const csz_geometry *g, uint64_t first, uint64_t nframes,
                              uint32_t lengths_nbits) {
    const uint32_t books_nbytes = CSZ_BOOKS_FIXED_NBYTES + (lengths_nbits + 31) / 32 * 4;
    uint64_t nbytes = 0;
    for (uint64_t f = first; f < first + nframes; f++)
        nbytes += csz_frame_layout_of(csz_frame_box_at(g, f).ntiles, books_nbytes).payload;
    return nbytes;
}

static uint64_t ends_nbytes(const csz_header *header) {
    return csz_header_nbytes(header) + csz_footer_nbytes(header->geometry.nframes);
}

/*
 * Code tables: auto's, of the books that tiles may use, those of their modes, S, which stands in for modes that were not seen, and those of runs; and where the forced workflows code the sample theirs, of which huffman has S and
 * W, rle+vle RV and RL, rle none.
 */
static void make_tables(csz_analysis_job *job, const csz_choice *made) {
    const uint32_t used = made->counted | 1u << CSZ_BOOK_S | 3u << CSZ_BOOK_RV;
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        uint8_t any = 0;
        for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) any |= made->books[0][b].lengths[s];
        if (any && (used >> b & 1))
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

/* What is known of the spread of tiles and of rows: of so many of each this is all that is known, and their own spread is joined with it. */
enum { PRIOR_N = 3 };

/*
 * Two estimates weighted by their variances: that of the tiles, and that of the rows, whose variance is their own and the model's error, a share and some bits.  scale: the larger of the two means.  The spreads are set so
 * that at least 19 of 20 truths of docs/evaluation.md lie within twice the standard error.
 */
static rate join_rows(rate tiles, csz_rows_rate rows, double scale) {
    const double row_spread = 3, model_error = 0.2, model_error_bits = 0.1, k = (double)rows.n;
    if (rows.n == 0) return tiles;
    const double model =
        (PRIOR_N * square(row_spread * scale) + (k - 1) * rows.variance) / (PRIOR_N + k - 1) / k +
        square(model_error * scale) + square(model_error_bits);
    rate r = {(tiles.mean * model + rows.mean * tiles.variance) / (tiles.variance + model),
              tiles.variance * model / (tiles.variance + model)};
    return r;
}

/* The variance of the tiles' words: tiles of one field differ by about as much as their mean, scale.  known: how much of it is no chance, as each part of the field has its own count. */
static double tile_variance(const csz_analysis_sums *sums, double n, double to_rate, double scale,
                            double known) {
    const double tile_spread = 0.7, mean = (double)sums->words[0] / n,
                 squares = ((double)sums->squares - n * mean * mean) * to_rate * to_rate - (n - 1) * known;
    return (PRIOR_N * square(tile_spread * scale) + (squares > 0 ? squares : 0)) / (PRIOR_N + n - 1);
}

/* Of a field of a few tiles all are coded under every workflow, with the books that the compressor would make. */
static uint32_t predict_from_tiles(csz_analysis_job *job, csz_analysis *a, const csz_header *header,
                                   csz_analysis *described) {
    const csz_sample *sample = &job->workers[0]->sample;
    csz_choice *made = &job->room->made;
    csz_choice_make(made, job, sample, described, csz_frame_box_at(&header->geometry, 0).ntiles);
    make_tables(job, made);
    csz_analysis_encode(job);
    for (int i = 0; i < NWORKFLOWS; i++)
        a->workflow[i].nbytes_predicted =
            (ends_nbytes(header) +
             frames_nbytes(&header->geometry, 0, header->geometry.nframes, made->lengths_nbits[i]) +
             4 * job->workers[0]->sums.words[i] + 7) /
            8 * 8;
    return made->policy;
}

/* ---- from the GPU's sample ---- */

/* What counted symbols take: codes, raw bits, and the lengths of lanes as the codes' lengths have them vary.  lengths NULL: a book made for the counts; stride: of the frame's sample. */
static double spent_nbits(int book, const uint32_t *count, const uint8_t *lengths, uint32_t stride) {
    uint64_t nbits = 0, n = 0, sum = 0, squares = 0, shares = 0;
    uint8_t own[CSZ_SYMBOLS_MAX];
    if (!lengths) {
        csz_own_lengths(own, book, count, stride);
        lengths = own;
    }
    for (uint32_t s = 0; s < csz_book_size(book); s++) {
        const uint64_t c = count[s], with = lengths[s] + csz_symbol_follows(book, s);
        nbits += c * (lengths[s] + csz_symbol_raw(book, s));
        n += c;
        sum += c * with;
        squares += c * with * with;
        shares += c * csz_symbol_share(book, s);
    }
    return (double)nbits + (n ? (double)shares * csz_lane_width(book, n, sum, squares) / 32768 : 0);
}

/* What a sample is priced by: a set of books, or NULL for books of its own. */
typedef struct price {
    const csz_book *books;
    uint32_t stride;
} price;

static double book_nbits(int book, const uint32_t *count, const price *by) {
    uint32_t any = 0;
    for (uint32_t s = 0; s < csz_book_size(book); s++) any |= count[s];
    return any ? spent_nbits(book, count, by->books ? by->books[book].lengths : NULL, by->stride) : 0;
}

/* Symbols and bitmaps of a sample as a policy codes them.  Tiles that weigh runs take what is less, at most. */
static double policy_nbits(const csz_sample *s, const price *by, uint32_t policy) {
    double nbits = 0;
    switch (policy & CSZ_POLICY_MASK) {
    case CSZ_POLICY_VECTOR:
        for (int b = 0; b < CSZ_BOOK_RV; b++) nbits += book_nbits(b, s->count.count[b], by);
        break;
    case CSZ_POLICY_SINGLE: {
        uint32_t single[CSZ_SYMBOLS_MAX];
        csz_policy_singles(single, &s->count, s->ncodes);
        nbits = book_nbits(CSZ_BOOK_S, single, by) + book_nbits(CSZ_BOOK_W, s->count.count[CSZ_BOOK_W], by);
        break;
    }
    case CSZ_POLICY_RUNS:
        nbits = book_nbits(CSZ_BOOK_RV, s->run_value, by) + book_nbits(CSZ_BOOK_RL, s->run_length, by);
        break;
    default: {
        const double vector = policy_nbits(s, by, CSZ_POLICY_VECTOR),
                     runs = policy_nbits(s, by, CSZ_POLICY_RUNS);
        return vector < runs ? vector : runs;
    }
    }
    return nbits + 32.0 * s->bitmap_nwords[policy & CSZ_POLICY_MASK];
}

/* Symbols and bitmaps of a sample under each workflow; own: with books of its own. */
static void sample_nbits(double *nbits, const csz_field_sample *s, const csz_choice *made, int own,
                         uint32_t stride) {
    static const uint32_t policy_of[] = {0, CSZ_POLICY_SINGLE, 0, CSZ_POLICY_RUNS};
    uint64_t nruns = 0, ncodes = 0;
    for (uint32_t n = 0; n < csz_book_size(CSZ_BOOK_RL); n++) {
        nruns += s->counts.run_length[n];
        ncodes += (uint64_t)s->counts.run_length[n] * (n + 1);
    }
    for (int i = 0; i < NWORKFLOWS; i++) {
        const price by = {own ? NULL : made->books[i], stride};
        if (i != CSZ_WORKFLOW_RLE)
            nbits[i] = policy_nbits(&s->counts, &by, i == CSZ_WORKFLOW_AUTO ? made->policy : policy_of[i]);
    }
    const uint64_t nlanes = ncodes / 128;
    nbits[CSZ_WORKFLOW_RLE] = (double)(nruns * (16 + 7) + nlanes * CSZ_LANE_NBITS) +
                              16.0 * s->more.wide_run_halves +
                              32.0 * s->counts.bitmap_nwords[CSZ_POLICY_RUNS];
}

/* What those tiles take at most that weigh runs against their own mode, of which a sum over tiles does not know how many gain. */
static double weighed_nbits(const csz_sample *s, const csz_choice *made, double nbits) {
    if (csz_policy_all_weigh(made->policy)) return nbits;
    double runs = 0;
    for (int b = CSZ_BOOK_RV; b < CSZ_NBOOKS; b++)
        runs += spent_nbits(b, s->count.count[b], made->books[CSZ_WORKFLOW_AUTO][b].lengths, 1);
    return runs < nbits ? runs : nbits;
}

/* Bits that a record has besides, in every workflow, as the coded tiles show them: of tiles that have symbols, of constant ones, of those of one bit pattern, and for exceptions. */
typedef struct besides {
    double coded, constant, fill, tail;
} besides;

/* Exceptions: where no coded tile has any, and beside those that have, a list of a few, or a mask of some 40 words. */
static double tail_nbits(const csz_analysis_job *job, uint32_t type_nbits) {
    const csz_analysis_sums *t = &job->workers[0]->sums;
    uint64_t nexceptions = 0, nspecial = 0;
    for (uint32_t i = 0; i < job->survey->groups.n; i++) {
        const csz_sample_more *more = &job->groups[i].more;
        const uint64_t filled = (uint64_t)more->nfill * CSZ_TILE_N;
        nspecial += more->nspecial;
        nexceptions += more->nexceptions > filled ? more->nexceptions - filled : 0;
    }
    const double each = nspecial ? (double)nexceptions / (double)nspecial : 0,
                 list = each * (type_nbits + 16), guess = 32 + (list < 32 * 40 ? list : 32 * 40);
    return (guess + 32.0 * (double)t->tail_words) / (1 + (double)t->nspecial);
}

static besides besides_of(const csz_analysis_job *job, uint32_t type_nbits) {
    const csz_analysis_sums *t = &job->workers[0]->sums;
    besides b;
    b.coded = 32 + 16 + (t->ncoded ? (double)t->base_nbits / (double)t->ncoded : 16);
    b.constant = t->nconstant ? 32 * (double)t->constant_words / (double)t->nconstant : 64;
    b.fill = 32 + type_nbits;
    b.tail = tail_nbits(job, type_nbits);
    return b;
}

static double besides_nbits(const besides *b, const csz_field_sample *s, double nsampled) {
    return b->coded * s->counts.ntiles + b->constant * (nsampled - s->more.nfill - s->counts.ntiles) +
           b->fill * s->more.nfill + b->tail * s->more.nspecial;
}

/* The sample of a typical frame of these groups, which are sampled alike. */
static void typical_frame(csz_sample *frame, const csz_field_sample *groups, uint32_t ngroups,
                          uint64_t nframes) {
    memset(frame, 0, sizeof *frame);
    for (size_t i = 0; i < sizeof *frame / sizeof(uint32_t); i++) {
        uint64_t all = 0;
        for (uint32_t g = 0; g < ngroups; g++) all += ((const uint32_t *)&groups[g].counts)[i];
        ((uint32_t *)frame)[i] = (uint32_t)(nframes > 1 ? (all + nframes / 2) / nframes : all);
    }
}

/*
 * What each workflow takes, by the sample: payloads in bits, all else in bytes; and of auto's payload about what exceptions take, and tiles that weigh runs; and what it gains by the groups' own books.
 * squares: of what a group's tile takes, added up over all tiles; chance: the variance of a mean over the field whose groups are counted apart, for a tile's variance of 1.
 */
typedef struct estimate {
    double payload[NWORKFLOWS], tails, weighed, gained, squares, chance;
    uint64_t fixed[NWORKFLOWS];
} estimate;

/* made: the books of a typical frame, which are those of a field of one group; others have their own. */
static void estimate_make(estimate *e, const csz_analysis_job *job, const csz_header *header,
                          const csz_choice *made) {
    const csz_analysis_survey *survey = job->survey;
    const besides b = besides_of(job, header->field.type == CSZ_F32 ? 32 : 64);
    memset(e, 0, sizeof *e);
    for (uint32_t k = 0; k < survey->groups.n; k++) {
        const csz_analysis_group *group = &survey->group[k];
        const csz_field_sample *sample = &job->groups[k];
        const double weight = group->weight, ntiles = (double)group->ntiles,
                     nsampled = (double)group->nsampled, common = besides_nbits(&b, sample, nsampled);
        const uint32_t stride = csz_sample_stride(group->frame_tiles);
        double nbits[NWORKFLOWS];
        sample_nbits(nbits, sample, made, survey->groups.n > 1, stride);
        for (int i = 0; i < NWORKFLOWS; i++) e->payload[i] += weight * (nbits[i] + common);
        e->squares += ntiles * square((nbits[CSZ_WORKFLOW_AUTO] + common) / nsampled);
        e->chance += square(ntiles / (double)job->ntiles) / nsampled;
        const price by = {made->books[CSZ_WORKFLOW_AUTO], stride};
        if (survey->groups.n > 1)
            e->gained += weight * (policy_nbits(&sample->counts, &by, made->policy) - nbits[0]);
        e->tails += weight * b.tail * sample->more.nspecial;
        e->weighed += weight * weighed_nbits(&sample->counts, made, nbits[CSZ_WORKFLOW_AUTO]);
    }
    for (int i = 0; i < NWORKFLOWS; i++)
        e->fixed[i] = ends_nbytes(header) +
                      frames_nbytes(&header->geometry, 0, header->geometry.nframes, made->lengths_nbits[i]);
    if (!job->forced_tables) return;
    for (int i = 0; i < NWORKFLOWS; i++) e->payload[i] = 32 * (double)job->workers[0]->sums.words[i];
}

/*
 * The rate of auto's payload.  Its variance: tiles differ, by what the coded ones show, less what groups differ, and some were counted; what exceptions take is known from the coded tiles that have some, whose tails differ by as much as their mean,
 * and bases from all of them; and counts price what they count to 1%, and tiles that weigh runs to 5%; and where groups have several
 * frames, these may gain by their own books as much again as groups do.
 */
static rate sampled_rate(const estimate *e, const csz_analysis_job *job, double n) {
    const double model_error = 0.01, weighed_error = 0.05, base_spread = 12; /* bits */
    const csz_analysis_sums *tiles = &job->workers[0]->sums;
    const double ntiles = (double)job->ntiles, nsampled = (double)job->survey->nsampled,
                 ncoded = (double)job->nchosen;
    rate r = {e->payload[0] / n, 0};
    if (job->forced_tables) return r; /* all tiles were coded */
    const double scale = r.mean > job->rows.mean ? r.mean : job->rows.mean,
                 known = e->squares / ntiles * square(ntiles / n) - square(r.mean),
                 coded = 32 * ntiles / n * (double)tiles->words[0] / ncoded;
    /* groups have books of their own, with which tiles take less than the coded ones do, and differ by less */
    const double less = job->survey->groups.n > 1 && coded > r.mean ? r.mean / coded : 1;
    r.variance =
        tile_variance(tiles, ncoded, less * 32 * ntiles / n, scale, known) * e->chance *
            (1 - nsampled / ntiles) +
        (square(e->tails / n) / (1 + (double)tiles->nspecial) + square(base_spread * ntiles / n) / ncoded) *
            (1 - ncoded / ntiles) +
        square(model_error * r.mean) + square(weighed_error * e->weighed / n) +
        (job->survey->groups.n < job->geometry.nframes ? square(e->gained / n) : 0);
    return join_rows(r, job->rows, scale);
}

/* Of p1 and entropy: tiles of the sample are alike within, so that each counts as one; and what buckets hide of the codes that they are of is 3% of the entropy at most, of particles. */
static void state_survey_errors(csz_analysis *a, const csz_analysis_job *job) {
    const double n = (double)job->survey->nsampled, left = 1 - n / (double)job->ntiles, p1 = a->statistics.p1,
                 h = a->statistics.entropy, scale = (double)job->workers[0]->sums.words[0];
    const double spread = scale > 0 ? tile_variance(&job->workers[0]->sums, (double)job->nchosen, 1,
                                                    scale / (double)job->nchosen, 0) /
                                          square(scale / (double)job->nchosen)
                                    : 0;
    a->p1_error = sqrt(p1 * (1 - p1) / n * left);
    a->entropy_error = h * sqrt(spread / n * left + square(0.03 * (a->escape_share > 0)));
}

static uint32_t predict_from_survey(csz_analysis_job *job, csz_analysis *a, const csz_header *header) {
    const csz_analysis_survey *survey = job->survey;
    const double n = (double)header->geometry.nelements,
                 raw_nbits = 32 * (double)job->ntiles + (header->field.type == CSZ_F32 ? 32 : 64) * n;
    const uint32_t odd = survey->groups.has_odd_last;
    csz_choice *made = &job->room->made;
    estimate e;
    typical_frame(&job->room->frame, job->groups, survey->groups.n - odd, header->geometry.nframes - odd);
    csz_choice_make(made, job, &job->room->frame, NULL, survey->group[0].frame_tiles);
    make_tables(job, made);
    csz_analysis_encode(job);
    estimate_make(&e, job, header, made);
    const rate r = sampled_rate(&e, job, n);
    const double joined =
        e.payload[0] > 0 && !job->forced_tables ? r.mean * n / e.payload[0] : 1; /* the rows' say */
    for (int i = 0; i < NWORKFLOWS; i++) {
        double nbits = e.payload[i] * joined;
        nbits = nbits < raw_nbits ? nbits : raw_nbits;
        a->workflow[i].nbytes_predicted = (e.fixed[i] + (uint64_t)(nbits / 8) + 7) / 8 * 8;
    }
    const double relative =
        r.mean > 0 ? sqrt(r.variance) / r.mean : 0; /* what auto's are off by, others are */
    for (int i = 0; i < NWORKFLOWS; i++) {
        const double payload = (double)(a->workflow[i].nbytes_predicted - e.fixed[i]);
        a->workflow[i].error = relative * payload / (double)a->workflow[i].nbytes_predicted;
    }
    a->prediction_error = a->workflow[0].error;
    csz_survey_count(&job->workers[0]->sums, job);
    csz_analysis_describe(a, job);
    state_survey_errors(a, job);
    return made->policy;
}

/* ---- from patches ---- */

/* What the patches show of tiles. */
typedef struct patches_shape {
    double coded, empty;         /* share of tiles that have codes other than 0; of patches that have none */
    double bitmap_32, bitmap_64; /* of these, the share that have an empty lane, of 128 codes and of 64 */
    double base_nbits, constant_nbits, tail_nbits,
        special; /* mean of each tile; the share that have exceptions */
} patches_shape;

static double power(double x, int log2_n) {
    while (log2_n-- > 0) x *= x;
    return x;
}

/*
 * Two lanes of a patch tell how often a lane is empty in tiles that have any codes at all, if lanes are so by chance: lanes alone among empty ones, against lanes in company.
 */
static patches_shape shape_of(const csz_analysis_job *job) {
    double n = (double)job->npatches, both = 0, mixed = 0, ncodes = 0, base = 0, constant = 0, tail = 0,
           special = 0;
    for (uint64_t i = 0; i < job->npatches; i++) {
        const csz_patch *p = &job->patches[i];
        const int first = (p->nonempty & 15) != 0, second = p->nonempty >> 4 != 0;
        both += first & second;
        mixed += first ^ second;
        ncodes += 64 * __builtin_popcount((p->nonempty | p->nonempty >> 1) & 0x55);
        if (p->nonzero)
            base += p->base_nbits;
        else if (p->base_nbits)
            constant += p->base_nbits > 32 ? 96 : 64;
        tail += p->tail_nbits;
        special += p->nexceptions > 0 && !p->is_fill && !p->is_raw;
    }
    const double lanes = 2 * both + mixed, empty = mixed / (mixed + 2 * both + 1);
    patches_shape s = {0};
    s.coded = lanes / (2 * n) / (1 - empty);
    if (s.coded > 1) s.coded = 1;
    const double empty_pair = s.coded > 0 ? 1 - ncodes / (s.coded * n * CSZ_PATCH_N) : 0;
    s.empty = 1 - (both + mixed) / n;
    s.bitmap_32 = 1 - power(1 - empty, 5);
    s.bitmap_64 = empty_pair > 0 ? 1 - power(1 - empty_pair, 6) : 0;
    s.base_nbits = both + mixed > 0 ? base / (both + mixed) : 0;
    s.constant_nbits = n > both + mixed ? constant / (n - both - mixed) : 0;
    s.tail_nbits = CSZ_TILE_PATCHES * tail / n;
    s.special = 2 * special < n ? 2 * special / n : 1;
    return s;
}

/* Of each patch a number that grows as what a workflow spends on it, about; the last is for the share of zeros. */
enum { SPREAD_ZEROS = NWORKFLOWS, NSPREADS };

static void measures_of(double *m, const csz_patch *p) {
    const double nonzero = p->nonzero, octaves = p->octaves, x = nonzero / CSZ_PATCH_N;
    const double entropy = x > 0 && x < 1 ? -CSZ_PATCH_N * (x * csz_log2(x) + (1 - x) * csz_log2(1 - x)) : 0;
    m[CSZ_WORKFLOW_AUTO] =
        1.32 * entropy + 0.97 * nonzero + 0.96 * octaves + 2.96 * p->large + p->tail_nbits + 5;
    m[CSZ_WORKFLOW_HUFFMAN] = 64 * __builtin_popcount((p->nonempty | p->nonempty >> 1) & 0x55) + 2 * nonzero +
                              octaves + p->tail_nbits + 5;
    m[CSZ_WORKFLOW_RLE] = 23 * p->nruns + p->tail_nbits + 5;
    m[CSZ_WORKFLOW_RLE_VLE] = 4 * p->nruns + 0.96 * octaves + p->tail_nbits + 5;
    m[SPREAD_ZEROS] = nonzero / CSZ_PATCH_N;
}

/* Mean and variance of each. */
typedef struct spreads {
    double mean[NSPREADS], variance[NSPREADS];
    double
        doubt; /* codes of all that tiles may have besides, or less, as their orders are not those of their looks */
} spreads;

static spreads spreads_of(const csz_analysis_job *job) {
    double sum[NSPREADS] = {0}, squares[NSPREADS] = {0}, n = (double)job->npatches, doubt = 0;
    for (uint64_t i = 0; i < job->npatches; i++) {
        double m[NSPREADS];
        measures_of(m, &job->patches[i]);
        doubt += (double)job->patches[i].doubt / CSZ_TILE_N;
        for (int k = 0; k < NSPREADS; k++) {
            sum[k] += m[k];
            squares[k] += m[k] * m[k];
        }
    }
    spreads s = {.doubt = doubt / n};
    for (int k = 0; k < NSPREADS; k++) {
        s.mean[k] = sum[k] / n;
        const double v = (squares[k] - sum[k] * s.mean[k]) / (n > 1 ? n - 1 : 1);
        s.variance[k] = v > 0 ? v : 0;
    }
    return s;
}

/* Where tiles weigh runs one by one, what they take over what the better of both would for all: patches of a tile's kind tell, by the measures of both, scaled to what they cost. */
static double weighed_share(const csz_analysis_job *job, const csz_choice *made, const spreads *s) {
    const double vector = (double)made->weighed[0] / s->mean[CSZ_WORKFLOW_AUTO],
                 runs = (double)made->weighed[1] / s->mean[CSZ_WORKFLOW_RLE_VLE];
    double least = 0;
    for (uint64_t i = 0; i < job->npatches; i++) {
        double m[NSPREADS];
        measures_of(m, &job->patches[i]);
        const double x = m[CSZ_WORKFLOW_AUTO] * vector, y = m[CSZ_WORKFLOW_RLE_VLE] * runs;
        least += x < y ? x : y;
    }
    least /= (double)job->npatches;
    const double all = (double)(made->weighed[0] < made->weighed[1] ? made->weighed[0] : made->weighed[1]);
    return all > 0 ? least / all : 1;
}

/* What orders that are wrong may add to what codes take: about as much as to the codes that are not 0. */
static double doubt_variance(const spreads *s) {
    return s->mean[SPREAD_ZEROS] > 0 ? square(s->doubt / s->mean[SPREAD_ZEROS]) : 0;
}

/* The relative variance of a mean of n of all, of which so much is known beforehand. */
static double mean_variance(double mean, double variance, double n, double all) {
    const double prior_n = 3, prior = 1;
    const double relative = mean > 0 ? variance / square(mean) : 0;
    return (prior_n * square(prior) + (n - 1) * relative) / (prior_n + n - 1) / n *
           (n < all ? 1 - n / all : 0);
}

/*
 * Standard errors of p1 and entropy.  p1 is mostly the share of zeros, which patches differ in; where it is another code's each patch counts as one that has it or not.  The entropy differs as the rate does.
 */
static void state_errors(csz_analysis *a, const spreads *s, const patches_shape *shape, double n,
                         double all) {
    const double p1 = a->statistics.p1, share = p1 * (1 - p1), left = n < all ? 1 - n / all : 0,
                 missed = shape->empty / n;
    const int is_zero = fabs(1 - s->mean[SPREAD_ZEROS] - p1) < 0.02;
    const double variance =
        is_zero ? (PRIOR_N * share / 4 + (n - 1) * s->variance[SPREAD_ZEROS]) / (PRIOR_N + n - 1) : share;
    a->p1_error = sqrt((variance / n + square(missed / 3)) * left + (is_zero ? square(s->doubt) : 0));
    const double relative =
        mean_variance(s->mean[CSZ_WORKFLOW_AUTO], s->variance[CSZ_WORKFLOW_AUTO], n, all) + square(0.02) +
        doubt_variance(s);
    a->entropy_error = sqrt(relative * square(a->statistics.entropy) + square(2 * missed) * left);
    if (p1 < 1 || left == 0) return;
    const double seen = n + 1; /* all codes in range are one, in all patches: the next may have another */
    if (a->p1_error < 1 / seen) a->p1_error = 1 / seen;
    if (a->entropy_error < csz_log2(seen) / seen) a->entropy_error = csz_log2(seen) / seen;
}

static uint32_t predict_from_patches(csz_analysis_job *job, csz_analysis *a, const csz_header *header,
                                     csz_analysis *described) {
    static const double model_error[] = {0.03, 0.03, 0.03, 0.03};
    const csz_frame_box frame = csz_frame_box_at(&header->geometry, 0);
    const patches_shape shape = shape_of(job);
    const double ntiles = (double)job->ntiles, type_nbits = header->field.type == CSZ_F32 ? 32 : 64,
                 n = (double)header->geometry.nelements, raw_nbits = 32 * ntiles + type_nbits * n,
                 nsampled = (double)csz_sample_count(frame.ntiles), all = ntiles * CSZ_TILE_PATCHES;
    csz_sample *sample = &job->workers[0]->sample;
    const double factor = nsampled * CSZ_TILE_PATCHES / (double)job->npatches;
    scale_counts((uint32_t *)sample, sizeof *sample / sizeof(uint32_t), (float)factor);
    const double coded = nsampled * shape.coded;
    sample->ntiles = (uint32_t)(coded + 0.5);
    sample->bitmap_nwords[CSZ_POLICY_SINGLE] = (uint32_t)(2 * coded * shape.bitmap_64);
    sample->bitmap_nwords[CSZ_POLICY_RUNS] = (uint32_t)(coded * shape.bitmap_32);
    sample->bitmap_nwords[CSZ_POLICY_VECTOR] = (uint32_t)(coded * (shape.bitmap_32 + shape.bitmap_64));
    csz_choice *made = &job->room->made;
    csz_choice_make(made, job, sample, described, frame.ntiles);
    const spreads s = spreads_of(job);
    if (csz_policy_all_weigh(made->policy))
        made->cost[CSZ_WORKFLOW_AUTO] =
            (uint64_t)((double)made->cost[CSZ_WORKFLOW_AUTO] * weighed_share(job, made, &s));
    const double stride = csz_sample_stride(frame.ntiles),
                 others = ntiles *
                          (shape.coded * (48 + shape.base_nbits) + (1 - shape.coded) * shape.constant_nbits +
                           shape.tail_nbits + shape.special * (32 + type_nbits));
    const double missed_nbits =
        3 * shape.empty / (double)job->npatches * n * (1 - (double)job->npatches / all);
    for (int i = 0; i < NWORKFLOWS; i++) {
        double payload = (double)made->cost[i] / stride * ntiles / nsampled + others;
        if (i == CSZ_WORKFLOW_RLE)
            payload += (double)job->workers[0]->sums.extra_run_bits * all / (double)job->npatches;
        payload = payload < raw_nbits ? payload : raw_nbits;
        a->workflow[i].nbytes_predicted =
            (ends_nbytes(header) +
             frames_nbytes(&header->geometry, 0, header->geometry.nframes, made->lengths_nbits[i]) +
             (uint64_t)(payload / 8) + 7) /
            8 * 8;
        const double relative = mean_variance(s.mean[i], s.variance[i], (double)job->npatches, all) +
                                square(model_error[i]) + doubt_variance(&s),
                     variance = relative * square(payload) + square(missed_nbits);
        a->workflow[i].error = sqrt(variance) / 8 / (double)a->workflow[i].nbytes_predicted;
    }
    a->prediction_error = a->workflow[0].error;
    if (described) state_errors(described, &s, &shape, (double)job->npatches, all);
    return made->policy;
}

uint32_t csz_analysis_predict(csz_analysis_job *job, csz_analysis *a, const csz_header *header,
                              csz_analysis *described) {
    if (job->npatches) return predict_from_patches(job, a, header, described);
    return job->survey ? predict_from_survey(job, a, header) : predict_from_tiles(job, a, header, described);
}
