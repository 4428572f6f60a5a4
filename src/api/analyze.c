/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.c: how a field would compress, and why.  Sampled tiles are quantized and counted as every policy would code them; books are built from those
 * counts, scaled to what the compressor would count; the sampled tiles are coded with them, and the sizes scaled up.  With `exact` all tiles are counted
 * and the four workflows coded for the truth beside the prediction.  Threads add integers alone, so their number changes nothing.
 */
#include "api/context.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/gpu.h"
#include "core/bound.h"
#include "cpu/team.h"
#include "select/madogram.h"

enum {
    NWORKFLOWS = 4,
    /*
     * A sampled tile costs some four times what a compressed one does (quantized twice, counted, coded four times); with one tile in SAMPLE_STRIDE,
     * and the most that a large field needs, an analysis stays below a tenth of the time of compressing.
     */
    SAMPLE_STRIDE = 96,
    SAMPLE_LEAST = 4,
    SAMPLE_MOST = 512,
    PAIRS_LEAST = 2000,
    PAIRS_MOST = 16000,
    PAIRS_EXACT = 1000000,
    DISTANCES_EACH = 8, /* pairs of quanta that share their first element, for locality */
    FLUSH_TILES = 4096, /* 32-bit counts are moved to 64-bit ones after this many tiles */
    THREAD_TILES = 16   /* a thread is worth starting for so many */
};

/* What a worker counts. */
typedef struct tally {
    uint64_t histogram[CSZ_ANALYSIS_NCODES];
    uint64_t n, noutliers, nexceptions, extra_run_bits;
    uint64_t run_value[CSZ_SYMBOLS_MAX], run_length[CSZ_SYMBOLS_MAX];
    uint64_t words[NWORKFLOWS], squares; /* squares: of auto's words */
    csz_madogram_sums codes;
} tally;

typedef struct worker {
    csz_tile_work tile;
    csz_tally tally; /* on its way into sample */
    csz_sample sample;
    uint32_t part
        [4]
        [CSZ_ANALYSIS_NCODES]; /* the histogram in four, as equal neighbours would wait for each other's store */
    tally sums;
} worker;

typedef struct analysis_job {
    const void *data;
    csz_tile_plan plan[NWORKFLOWS]; /* one for each workflow */
    csz_code_tables tables[NWORKFLOWS];
    worker **workers;
    csz_team *team;
    int nthreads;
    uint64_t ntiles, nchosen; /* of the field; of this pass, spread evenly over it */
    uint32_t npairs_each;
    int encode; /* the second pass */
    atomic_ullong next;
} analysis_job;

/* ---- tiles ---- */

static csz_tile_box tile_box(const csz_geometry *g, uint64_t tile) {
    csz_tile_box box;
    uint64_t at[3] = {tile / g->grid[2] / g->grid[1], tile / g->grid[2] % g->grid[1], tile % g->grid[2]};
    for (int i = 0; i < 3; i++) {
        uint64_t extent = (uint64_t)1 << g->log2_t[i];
        box.origin[i] = at[i] << g->log2_t[i];
        uint64_t left = g->n[i] - box.origin[i];
        box.extent[i] = (uint32_t)(left < extent ? left : extent);
    }
    return box;
}

/* One tile of each equal part of the field, picked by a hash: a fixed stride could alias with the field. */
static uint64_t chosen_tile(const analysis_job *job, uint64_t s) {
    uint64_t begin = (uint64_t)((double)s * (double)job->ntiles / (double)job->nchosen),
             end = (uint64_t)((double)(s + 1) * (double)job->ntiles / (double)job->nchosen);
    if (job->nchosen == job->ntiles) return s;
    return begin + (end > begin ? csz_scatter(1, s) % (end - begin) : 0);
}

static int64_t code_at(const csz_tile_work *w, uint32_t i) {
    return w->klass == 0 ? w->code16[i] : w->code64[i];
}

static void count_codes(worker *k, const csz_geometry *g, const csz_tile_box *box) {
    const csz_tile_work *w = &k->tile;
    uint64_t outliers = 0;
    if (w->klass == 0 && csz_tile_box_count(box) == CSZ_TILE_N) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i += 4) {
            for (uint32_t j = 0; j < 4; j++) {
                uint32_t bin = (uint32_t)(w->code16[i + j] + CSZ_ANALYSIS_NCODES / 2);
                if (bin < CSZ_ANALYSIS_NCODES) {
                    k->part[j][bin]++;
                } else {
                    outliers++;
                }
            }
        }
        k->sums.noutliers += outliers;
        return;
    }
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        if (!csz_element_in_box(g, box, csz_code_element(g->rank, i >> 5, i & 31))) continue;
        int64_t d = code_at(w, i);
        if (d >= -CSZ_ANALYSIS_NCODES / 2 && d < CSZ_ANALYSIS_NCODES / 2) {
            k->part[0][d + CSZ_ANALYSIS_NCODES / 2]++;
        } else {
            k->sums.noutliers++;
        }
    }
}

static uint64_t count_of(const uint32_t *counts) {
    uint64_t sum = 0;
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) sum += counts[s];
    return sum;
}

static void count_tile(analysis_job *job, worker *k, const csz_tile_box *box, uint64_t tile) {
    csz_tile_work *w = &k->tile;
    uint32_t n = csz_tile_box_count(box);
    csz_tile_quantize(w, &job->plan[0], job->data, box);
    k->sums.n += n;
    k->sums.nexceptions += w->n_special;
    if (w->is_fill) return;
    uint64_t before = w->klass ? count_of(k->tally.run_length) : 0;
    csz_tile_measure(w);
    csz_tile_count(w, &job->plan[0], &k->tally, 1,
                   csz_sample_stride(csz_frame_box_at(&job->plan[0].geometry, 0).ntiles));
    if (w->klass)
        k->sums.extra_run_bits += (count_of(k->tally.run_length) - before) * ((16u << w->klass) - 16);
    count_codes(k, &job->plan[0].geometry, box);
    for (uint32_t i = 0; i < job->npairs_each; i++) {
        uint64_t r = csz_scatter(2, tile * job->npairs_each + i);
        uint32_t d = 1 + (uint32_t)(r % CSZ_ANALYSIS_NDISTANCES), a = (uint32_t)(r >> 32) % (CSZ_TILE_N - d);
        csz_madogram_add(&k->sums.codes, d, code_at(w, a), code_at(w, a + d));
    }
}

/* Words of a record of runs: head, bitmap, then base, lengths and lanes as one stream (docs/format.md, section 6). */
static uint32_t runs_record_words(const analysis_job *job, const csz_tile_work *w, const uint32_t *length,
                                  uint32_t n) {
    uint32_t shortest = UINT32_MAX, longest = 0, nbits = 0, width = 0;
    for (uint32_t i = 0; i < n; i++) {
        shortest = length[i] < shortest ? length[i] : shortest;
        longest = length[i] > longest ? length[i] : longest;
        nbits += length[i];
    }
    if (longest > shortest) width = (uint32_t)csz_log2_u32(longest - shortest) + 1;
    nbits += width * n + csz_base_nbits(w->base != 0, w->base >= INT16_MIN && w->base <= INT16_MAX,
                                        job->plan[0].type == CSZ_F32 ? 32 : 64);
    return 1 + (n < 32) + (nbits + 31) / 32;
}

/*
 * What csz_tile_encode would return for the two workflows of runs, without writing the bits: run by run that costs more than all the rest.  Only for tiles
 * of 16-bit deltas without exceptions; returns 0 for others and for those without a nonzero delta.
 */
static int measure_runs(const analysis_job *job, const csz_tile_work *w, uint32_t *rle, uint32_t *rle_vle) {
    const uint32_t *value = job->tables[CSZ_WORKFLOW_RLE_VLE].code[CSZ_BOOK_RV],
                   *run = job->tables[CSZ_WORKFLOW_RLE_VLE].code[CSZ_BOOK_RL];
    uint32_t plain[32], coded[32], n = 0;
    if (w->klass || w->n_special) return 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const int16_t *c = w->code16 + lane * 128;
        uint32_t nruns = 0, nbits = 0, begin = 0;
        for (uint32_t i = 1; i <= 128; i++) {
            if (i < 128 && c[i] == c[begin]) continue;
            uint32_t symbol = csz_narrow_symbol(c[begin]);
            nbits += (value[symbol] & 255) + csz_symbol_nraw(symbol) + (run[i - begin - 1] & 255);
            nruns++;
            begin = i;
        }
        if (nruns == 1 && c[0] == 0) continue;
        plain[n] = nruns * (16 + 7);
        coded[n++] = nbits;
    }
    if (n == 0) return 0;
    *rle = runs_record_words(job, w, plain, n);
    *rle_vle = runs_record_words(job, w, coded, n);
    return 1;
}

static void encode_tile(analysis_job *job, worker *k, const csz_tile_box *box) {
    csz_tile_work *w = &k->tile;
    uint32_t words[NWORKFLOWS], raw = 1 + csz_tile_box_count(box) * (job->plan[0].type == CSZ_F32 ? 1 : 2);
    csz_tile_quantize(w, &job->plan[0], job->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    int measured = measure_runs(job, w, &words[CSZ_WORKFLOW_RLE], &words[CSZ_WORKFLOW_RLE_VLE]);
    for (int i = 1; i < NWORKFLOWS; i++) {
        if (i == CSZ_WORKFLOW_HUFFMAN || !measured)
            words[i] = csz_tile_encode(w, &job->plan[i], &job->tables[i], job->data, box);
        words[i] = words[i] < raw ? words[i] : raw;
    }
    switch (job->tables[0].policy) {
    case CSZ_POLICY_SINGLE: words[0] = words[CSZ_WORKFLOW_HUFFMAN]; break;
    case CSZ_POLICY_RUNS: words[0] = words[CSZ_WORKFLOW_RLE_VLE]; break;
    default: words[0] = csz_tile_encode(w, &job->plan[0], &job->tables[0], job->data, box); break;
    }
    for (int i = 0; i < NWORKFLOWS; i++) k->sums.words[i] += words[i];
    k->sums.squares += (uint64_t)words[0] * words[0];
}

static void flush_counts(worker *k, int with_sample) {
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) {
        k->sums.histogram[i] += (uint64_t)k->part[0][i] + k->part[1][i] + k->part[2][i] + k->part[3][i];
        for (int j = 0; j < 4; j++) k->part[j][i] = 0;
    }
    csz_tally_add(&k->sample, &k->tally);
    memset(&k->tally, 0, sizeof k->tally);
    if (!with_sample) return;
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) {
        k->sums.run_value[s] += k->sample.run_value[s];
        k->sums.run_length[s] += k->sample.run_length[s];
    }
    memset(&k->sample, 0, sizeof k->sample);
}

static void pass_body(void *arg, int rank) {
    analysis_job *job = arg;
    worker *k = job->workers[rank];
    for (uint32_t done = 1;; done++) {
        uint64_t s = atomic_fetch_add(&job->next, 1);
        if (s >= job->nchosen) break;
        uint64_t tile = chosen_tile(job, s);
        csz_tile_box box = tile_box(&job->plan[0].geometry, tile);
        if (job->encode) {
            encode_tile(job, k, &box);
        } else {
            count_tile(job, k, &box, tile);
            if (job->nchosen > SAMPLE_MOST && done % FLUSH_TILES == 0) flush_counts(k, 1);
        }
    }
}

static void run_pass(analysis_job *job) {
    uint64_t useful = (job->nchosen + THREAD_TILES - 1) / THREAD_TILES;
    int n = (uint64_t)job->nthreads > useful ? (int)useful : job->nthreads;
    atomic_store(&job->next, 0);
    csz_team_run(job->team, n, pass_body, job);
}

/* Adds all workers' sums to the first one's, sample and all. */
static tally *gather(analysis_job *job) {
    worker *to = job->workers[0];
    flush_counts(to, 0);
    for (int i = 1; i < job->nthreads; i++) {
        worker *from = job->workers[i];
        flush_counts(from, 0);
        const uint32_t *counts = (const uint32_t *)&from->sample;
        for (size_t c = 0; c < sizeof to->sample / sizeof *counts; c++)
            ((uint32_t *)&to->sample)[c] += counts[c];
        memset(&from->sample, 0, sizeof from->sample);
        const uint64_t *sums = (const uint64_t *)&from->sums;
        for (size_t c = 0; c < sizeof to->sums / sizeof *sums; c++) ((uint64_t *)&to->sums)[c] += sums[c];
        memset(&from->sums, 0, sizeof from->sums);
    }
    return &to->sums;
}

/* ---- quanta ---- */

static int quantum_at(const analysis_job *job, uint64_t i, int64_t *q) {
    const csz_tile_plan *plan = &job->plan[0];
    if (plan->type == CSZ_F32) {
        int32_t narrow;
        int accepted = csz_quantum_f32(((const float *)job->data)[i], &plan->f32, &narrow);
        *q = narrow;
        return accepted;
    }
    return csz_quantum_f64(((const double *)job->data)[i], &plan->f64, q);
}

/* Pairs of quanta in order of index; a pair with an exception is left out. */
static void sample_quanta(const analysis_job *job, csz_madogram_sums *sums, uint64_t n, uint64_t npairs) {
    for (uint64_t i = 0; i < npairs && n > 1; i += DISTANCES_EACH) {
        uint64_t a = csz_scatter(3, i) % (n - 1);
        int64_t first, second;
        if (!quantum_at(job, a, &first)) continue;
        for (uint64_t j = 0; j < DISTANCES_EACH; j++) {
            uint32_t d = 1 + (uint32_t)(csz_scatter(4, i + j) % CSZ_ANALYSIS_NDISTANCES);
            if (a + d < n && quantum_at(job, a + d, &second)) csz_madogram_add(sums, d, first, second);
        }
    }
}

/* ---- prediction ---- */

/* The sample's counts as the compressor would have them, which counts `factor` times as many tiles of a frame. */
static void scale_counts(uint32_t *counts, size_t n, double factor) {
    for (size_t i = 0; i < n; i++) {
        double scaled = (double)counts[i] * factor + 0.5;
        counts[i] = scaled < 4e9 ? (uint32_t)scaled : 4000000000u;
    }
}

/* Bytes of everything but the payload: header, footer, and each frame's header, books and index. */
static uint64_t fixed_nbytes(const csz_header *header, const csz_book *books) {
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    const csz_geometry *g = &header->geometry;
    uint32_t books_nbytes = csz_books_write(section, books);
    uint64_t nbytes = csz_header_nbytes(header) + csz_footer_nbytes(g->nframes);
    for (uint64_t f = 0; f < g->nframes; f++)
        nbytes += csz_frame_layout_of(csz_frame_box_at(g, f).ntiles, books_nbytes).payload;
    return nbytes;
}

/*
 * Books of every workflow, as the compressor would build them for a frame of so many tiles: those of the policies single and runs are the forced
 * workflows', and auto takes the policy of least cost.  Returns that policy.
 */
static int choose_books(csz_book books[NWORKFLOWS][CSZ_NBOOKS], csz_builtin_cache *cache,
                        const csz_sample *sample, uint32_t frame_tiles) {
    static const int workflow_of[] = {CSZ_WORKFLOW_AUTO, CSZ_WORKFLOW_HUFFMAN, CSZ_WORKFLOW_RLE_VLE};
    const uint32_t stride = csz_sample_stride(frame_tiles);
    csz_histograms h;
    uint64_t least = UINT64_MAX;
    int best = CSZ_POLICY_VECTOR;
    for (int policy = CSZ_POLICY_VECTOR; policy <= CSZ_POLICY_RUNS; policy++) {
        csz_policy_histograms(&h, sample, policy);
        csz_books_choose(books[workflow_of[policy]], cache, &h, frame_tiles, stride);
        uint64_t cost = csz_books_cost(books[workflow_of[policy]], &h, stride);
        if (cost >= least) continue;
        least = cost;
        best = policy;
    }
    memset(&h, 0, sizeof h);
    csz_books_choose(books[CSZ_WORKFLOW_RLE], cache, &h, frame_tiles, stride);
    if (best != CSZ_POLICY_VECTOR) {
        memcpy(books[0], books[workflow_of[best]], sizeof books[0]);
    } else if (count_of(sample->probe.count[CSZ_BOOK_RV])) { /* the run-length candidates among the tiles */
        csz_books_choose(books[0], cache, &sample->probe, frame_tiles, stride);
    }
    return best;
}

/* Predicts what each workflow takes from the sample that was just counted; returns auto's policy. */
static int predict(analysis_job *job, csz_analysis *a, const csz_header *header, csz_builtin_cache *cache) {
    csz_frame_box frame = csz_frame_box_at(&header->geometry, 0);
    csz_sample *sample = &job->workers[0]->sample;
    csz_book books[NWORKFLOWS][CSZ_NBOOKS];
    double factor = (double)csz_sample_count(frame.ntiles) * (double)job->ntiles /
                    ((double)frame.ntiles * (double)job->nchosen);
    scale_counts((uint32_t *)sample, sizeof *sample / sizeof(uint32_t), factor);
    int policy = choose_books(books, cache, sample, frame.ntiles);
    for (int i = 0; i < NWORKFLOWS; i++) {
        csz_code_tables_make(&job->tables[i], books[i]);
        job->tables[i].policy = i == CSZ_WORKFLOW_AUTO ? policy : CSZ_POLICY_VECTOR;
    }
    job->encode = 1;
    run_pass(job);
    job->encode = 0;
    const tally *sums = gather(job);
    for (int i = 0; i < NWORKFLOWS; i++) {
        double payload = 4.0 * (double)sums->words[i] * (double)job->ntiles / (double)job->nchosen;
        a->workflow[i].nbytes_predicted = fixed_nbytes(header, books[i]) + ((uint64_t)payload + 7) / 8 * 8;
    }
    /* standard error of a mean of n tiles drawn from ntiles, over that mean */
    double n = (double)job->nchosen, mean = (double)sums->words[0] / n,
           variance = n > 1 ? ((double)sums->squares / n - mean * mean) * n / (n - 1) : 0;
    double left = 1 - n / (double)job->ntiles;
    a->prediction_error = mean > 0 && variance > 0 ? sqrt(variance / n * left) / mean : 0;
    return policy;
}

/* ---- the whole ---- */

static void describe_counts(csz_analysis *a, analysis_job *job, csz_madogram_sums *quanta) {
    uint64_t scratch[2 * CSZ_ANALYSIS_NCODES], escapes = 0, runs = 0;
    worker *k = job->workers[0];
    flush_counts(k, 1);
    const tally *t = &k->sums;
    double n = t->n ? (double)t->n : 1;
    a->nelements_counted = t->n;
    a->ntiles_counted = job->nchosen;
    memcpy(a->histogram, t->histogram, sizeof a->histogram);
    if (csz_statistics_from_histogram(&a->statistics, a->histogram, CSZ_ANALYSIS_NCODES) != CSZ_OK)
        memset(&a->statistics, 0, sizeof a->statistics);
    a->huffman_bits = csz_huffman_average(a->histogram, CSZ_ANALYSIS_NCODES, scratch);
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) runs += t->run_length[s];
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) {
        int d = i - CSZ_ANALYSIS_NCODES / 2;
        if (d < -CSZ_DIRECT_HALF || d >= CSZ_DIRECT_HALF) escapes += a->histogram[i];
    }
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
    csz_madogram_finish(&a->quanta, quanta);
}

static const char *const workflow_names[NWORKFLOWS] = {"auto", "huffman", "rle", "rle+vle"};

static void explain(csz_analysis *a, int policy) {
    static const char *const how[] = {"tile by tile, 8, 4, 2 or 1 codes a symbol",
                                      "every tile with plain Huffman codes", "every tile with run lengths"};
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
    double n = (double)a->nelements / 8;
    snprintf(a->reason, sizeof a->reason,
             "auto codes %s, since that takes %.3g bits a value where %s, the best forced workflow, takes "
             "%.3g; the "
             "paper's rule, H + R- = %.3f %s 1.09, %s run lengths",
             how[policy], (double)size[0] / n, workflow_names[a->best_forced],
             (double)size[a->best_forced] / n, a->statistics.bits_lower,
             a->statistics.rle_advised ? "<=" : ">",
             a->statistics.rle_advised ? "advises" : "does not advise");
}

/* The true size of every workflow. */
static csz_status code_all(csz_context *context, csz_analysis *a, const void *data, const csz_field *field,
                           const csz_options *options) {
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
    }
    free(out);
    return status;
}

static void clear_workers(analysis_job *job) {
    for (int i = 0; i < job->nthreads; i++) {
        worker *k = job->workers[i];
        memset(&k->sample, 0, sizeof k->sample);
        memset(&k->tally, 0, sizeof k->tally);
        memset(k->part, 0, sizeof k->part);
        memset(&k->sums, 0, sizeof k->sums);
    }
}

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* One bound.  header has everything but the bound. */
static void analyze_bound(csz_analysis *a, analysis_job *job, csz_header *header, csz_builtin_cache *cache,
                          int exact) {
    const uint64_t n = header->geometry.nelements;
    csz_madogram_sums quanta = {{0}, {0}, {0}};
    int policy = CSZ_POLICY_VECTOR;
    for (int i = 0; i < NWORKFLOWS; i++) {
        header->workflow = (csz_workflow)i;
        job->plan[i] = csz_tile_plan_of(header);
    }
    a->nelements = n;
    a->ntiles = job->ntiles = header->geometry.ntiles;
    a->nbytes_field = n * (header->field.type == CSZ_F32 ? 4u : 8u);
    clear_workers(job);
    uint64_t npairs = exact ? PAIRS_EXACT : clamp(n / 512, PAIRS_LEAST, PAIRS_MOST);
    if (n) {
        job->nchosen = clamp(job->ntiles / SAMPLE_STRIDE, SAMPLE_LEAST, SAMPLE_MOST);
        if (job->nchosen > job->ntiles) job->nchosen = job->ntiles;
        job->npairs_each = exact ? 0 : (uint32_t)(npairs / job->nchosen + 1);
        run_pass(job);
        gather(job);
        csz_sample counted = job->workers[0]->sample; /* predict scales the counts */
        policy = predict(job, a, header, cache);
        job->workers[0]->sample = counted;
        if (exact) {
            clear_workers(job);
            job->nchosen = job->ntiles;
            job->npairs_each = (uint32_t)(npairs / job->ntiles + 1);
            run_pass(job);
            gather(job);
        }
        sample_quanta(job, &quanta, n, npairs);
    } else {
        job->nchosen = 0;
        for (int i = 0; i < NWORKFLOWS; i++)
            a->workflow[i].nbytes_predicted = csz_header_nbytes(header) + csz_footer_nbytes(0);
    }
    describe_counts(a, job, &quanta);
    explain(a, policy);
}

static void free_job(analysis_job *job) {
    for (int i = 0; job->workers && i < job->nthreads; i++) free(job->workers[i]);
    free(job->workers);
    free(job);
}

static analysis_job *make_job(const csz_header *header, const void *data, int nthreads) {
    analysis_job *job = calloc(1, sizeof *job);
    if (!job) return NULL;
    job->data = data;
    job->nthreads = nthreads;
    job->workers = calloc((size_t)nthreads, sizeof *job->workers);
    for (int i = 0; job->workers && i < nthreads; i++) {
        job->workers[i] = aligned_alloc(64, (sizeof(worker) + 63) / 64 * 64);
        if (!job->workers[i]) break;
        csz_tile_work_init(&job->workers[i]->tile, header->geometry.rank);
        if (i + 1 == nthreads) return job;
    }
    free_job(job);
    return NULL;
}

static csz_status analyze_host(csz_context *context, csz_analysis *analyses, const double *bounds,
                               size_t nbounds, const void *data, const csz_field *field, const csz_options *o,
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
    int has_range = 0, nthreads = o->threads;
    const uint64_t n = header.geometry.nelements;
    if (o->bound_mode != CSZ_BOUND_ABS && n)
        has_range = csz_cpu_range(&context->cpu.team, data, n, field->type, header.has_fill, header.fill_bits,
                                  o->threads, &min, &max);
    uint64_t useful = (exact ? header.geometry.ntiles : SAMPLE_MOST) / THREAD_TILES + 1;
    if ((uint64_t)nthreads > useful) nthreads = (int)useful;
    analysis_job *job = make_job(&header, data, nthreads);
    if (job) job->team = &context->cpu.team;
    if (!context->cpu.builtins) context->cpu.builtins = calloc(1, sizeof *context->cpu.builtins);
    csz_builtin_cache *cache = context->cpu.builtins;
    for (size_t b = 0; job && cache && !status && b < nbounds; b++) {
        csz_analysis *a = &analyses[b];
        memset(a, 0, sizeof *a);
        a->bound = header.bound = bounds[b];
        a->min = min;
        a->max = max;
        a->is_exact = exact != 0;
        a->bound_abs = header.bound_abs =
            csz_bound_resolve((int)o->bound_mode, bounds[b], has_range, min, max);
        if (exact) status = code_all(context, a, data, field, o);
        if (!status) analyze_bound(a, job, &header, cache, exact);
        a->seconds = csz_clock() - start;
        start = csz_clock();
    }
    if (!job || !cache) status = CSZ_ERROR_MEMORY;
    if (job) free_job(job);
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
    if (o.backend == CSZ_BACKEND_CPU || !csz_gpu_is_device_pointer(data))
        return analyze_host(context, analyses, bounds, nbounds, data, field, &o, exact);
    uint64_t nbytes = g.nelements * (field->type == CSZ_F32 ? 4u : 8u);
    void *copy = malloc((size_t)nbytes);
    if (!copy) return CSZ_ERROR_MEMORY;
    status = csz_gpu_copy(copy, data, (size_t)nbytes);
    if (!status) status = analyze_host(context, analyses, bounds, nbounds, copy, field, &o, exact);
    free(copy);
    return status;
}
