/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_patches.c: the sample of a field on the host: patches of 256 codes, two neighbouring lanes of a tile, all over the field.  A patch's codes are what its tile's would be, from the few values around it.  The order of
 * prediction is what the whole tile leaves fewest codes with, so that a glance at short rows all over the tile tells it: the codes that are counted have no more say than their part of the tile has, as the least of three noisy
 * counts is too small.  A tile costs as much as 16 patches, which tell far more: tiles differ from each other, and codes of one tile are alike.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cpu/bits.h"
#include "cpu/scratch.h"
#include "cpu/symbols.h"

enum {
    PATCH_N = CSZ_PATCH_N,
    LANE_N = 128,
    ORIGINS = 2,          /* of a patch's pairs at every distance */
    PART_PATCHES = 8 * 16 /* counts of 16 bits and sums of 32 are moved on after this many */
};

/* In line: where n is known it vectorises well. */
static inline uint32_t count_nonzero(const int16_t *delta, uint32_t n) {
    uint32_t nonzero = 0;
    for (uint32_t i = 0; i < n; i++) nonzero += delta[i] != 0;
    return nonzero;
}

/* ---- orders ---- */

/* Codes of a glance, and how many of them are not 0 in orders full, xy and x, in all and in each of its rows. */
typedef struct glance {
    uint32_t n, nrows, nonzero[3];
    uint8_t of_row[3][CSZ_ROWS_MAX];
} glance;

static int delta_of_order(int rank, int order) { return order == CSZ_ORDER_FULL ? 3 - rank : order; }

/* At a tile's rows in the field, or at its padding, whose rows are 0 in an order that has the dim along which they are repeated.  Returns 0 if 16 bits do not hold the quanta. */
static int take_glance(glance *k, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                       uint64_t number, int of_padding) {
    const csz_tile_plan *plan = &job->plan[0];
    const int rank = job->geometry.rank;
    csz_rows l;
    csz_lines_of_glance(&l, w, job, origin, number, of_padding);
    if (!csz_lines_plain(w, plan, l.nvalues) && !csz_lines_careful(w, plan, l.nvalues)) return 0;
    csz_lines_differ(w, &l, rank);
    k->n = 0;
    k->nrows = l.nrows;
    for (uint32_t i = 0; i < l.nrows; i++) k->n += l.rows[i].in_field;
    for (int order = 0; order < 3; order++) {
        const uint32_t nrows = !of_padding || order == CSZ_ORDER_X ? l.nrows
                               : order == CSZ_ORDER_XY             ? l.in_planes
                                                                   : 0;
        const int16_t *delta = w->delta[delta_of_order(rank, order)];
        k->nonzero[order] = 0;
        memset(k->of_row[order] + nrows, 0, l.nrows - nrows);
        for (uint32_t i = 0; i < nrows; i++, delta += l.pitch - 1) {
            const uint32_t n = l.rows[i].in_field, nonzero = n == CSZ_GLANCE_N
                                                                 ? count_nonzero(delta, CSZ_GLANCE_N)
                                                                 : count_nonzero(delta, n);
            k->of_row[order][i] = (uint8_t)nonzero;
            k->nonzero[order] += nonzero;
        }
    }
    return 1;
}

/* Adds to each order's count what a glance tells of ncodes codes. */
static void add_glance(double *n, const glance *k, double ncodes) {
    for (int order = 0; order < 3; order++) n[order] += ncodes / k->n * k->nonzero[order];
}

/* The variance of two orders' difference in ncodes codes that a glance tells of: by how rows differ in it, which may be unlike each other, and as if codes were drawn one by one at the least, where none seen may be one. */
static double glance_variance(const glance *k, int order, int other, double ncodes) {
    const double each = ncodes / k->n, a = k->nonzero[order], b = k->nonzero[other], n = k->nrows;
    double squares = 0;
    for (uint32_t i = 0; i < k->nrows; i++) {
        const double d = (double)k->of_row[order][i] - (double)k->of_row[other][i];
        squares += d * d;
    }
    const double by_rows = n > 1 ? (squares - (a - b) * (a - b) / n) * n / (n - 1) : 0,
                 by_codes = (a + 1) * (1 - a / (k->n + 1)) + (b + 1) * (1 - b / (k->n + 1));
    return each * each * (by_rows > by_codes ? by_rows : by_codes);
}

/*
 * The order of the tile, by a glance at its rows and one at its padding, where there is any: that repeats the last row or plane, which may be unlike the others.  The patch itself has no say: where orders are nearly tied in all,
 * each would be taken by patches that have few codes in it.  What a wrong choice may do, in codes of the tile, is for the error that is stated: what is expected to fall to the other side of a difference that is known this well,
 * about, or what orders differ by in the field, which may be much where padding makes up for it.
 */
static int order_of_tile(csz_patch *p, csz_patch_work *w, const csz_analysis_job *job, const uint64_t *origin,
                         uint64_t number) {
    const csz_geometry *g = &job->geometry;
    uint64_t extent[3];
    uint32_t own = 0, in_planes, below;
    double n[3] = {0, 0, 0}, doubt = 0;
    glance k, padding;
    if (g->rank == 1) return CSZ_ORDER_FULL;
    for (int order = 0; order < 3 && own == 0; order++)
        own = count_nonzero(w->own.delta[delta_of_order(g->rank, order)], PATCH_N);
    if (own == 0 || !take_glance(&k, &w->glance, job, origin, number, 0)) return CSZ_ORDER_FULL;
    csz_tile_extents(extent, g, origin);
    csz_tile_padding(&in_planes, &below, g, extent);
    const double in_field = (double)(extent[0] * extent[1] * extent[2]),
                 beyond = (double)((in_planes + below) * extent[2]);
    const int is_padded = beyond > 0 && take_glance(&padding, &w->glance, job, origin, number, 1);
    add_glance(n, &k, in_field);
    if (is_padded) add_glance(n, &padding, beyond);
    const int order = csz_order_choose(g->rank, (uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2]);
    n[0] *= 31.0 / 32;
    for (int other = 0; other < 3; other++) {
        if (other == order || (other == CSZ_ORDER_XY && g->rank < 3)) continue;
        const double known = sqrt(glance_variance(&k, order, other, in_field) +
                                  (is_padded ? glance_variance(&padding, order, other, beyond) : 0)),
                     apart = n[other] - n[order], left = known > 0 ? 1 - apart / (2 * known) : 0,
                     differ = fabs((double)k.nonzero[order] - (double)k.nonzero[other]) * in_field / k.n,
                     may = (0.4 * known > 0.5 * differ ? 0.4 * known : 0.5 * differ) * left * left;
        if (left > 0 && may > doubt) doubt = may;
    }
    p->doubt = (float)(doubt < n[order] / 4 ? doubt : n[order] / 4);
    p->tile_nonzero = (uint16_t)(PATCH_N * (double)k.nonzero[order] / k.n + 0.5);
    return order;
}

/* ---- counting ---- */

static void count_histogram(csz_analysis_worker *k, const csz_patch_work *w, const csz_patch *p,
                            const csz_rows *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->nrows; i++) n += l->rows[i].in_field;
    k->sums.n += n;
    if (n == PATCH_N && !w->is_wide) {
        uint16_t bins[PATCH_N];
        for (uint32_t i = 0; i < PATCH_N; i++) {
            const uint16_t bin = (uint16_t)(p->code[i] + CSZ_ANALYSIS_NCODES / 2);
            bins[i] = bin < CSZ_ANALYSIS_NCODES ? bin : CSZ_ANALYSIS_NCODES;
        }
        for (uint32_t i = 0; i < PATCH_N; i += 4)
            for (uint32_t j = 0; j < 4; j++) k->part[j][bins[i + j]]++;
        return;
    }
    const uint32_t each = l->each ? l->each : 1;
    for (uint32_t i = 0; i < l->nrows; i++)
        for (uint32_t j = 0; j < l->rows[i].in_field; j++) {
            const uint32_t at = i % each * l->rows[i].n + j, c = at / 4 * 32 + i / each * 4 + at % 4;
            const int64_t d = w->is_wide ? w->code64[c] : p->code[c];
            const int is_in = d >= -CSZ_ANALYSIS_NCODES / 2 && d < CSZ_ANALYSIS_NCODES / 2;
            k->part[0][is_in ? d + CSZ_ANALYSIS_NCODES / 2 : CSZ_ANALYSIS_NCODES]++;
        }
}

/* Kept out of line, as it vectorises. */
static __attribute__((noinline)) void add_pairs(uint32_t *restrict absolute, uint32_t *restrict differ,
                                                const int16_t *restrict code) {
    const int32_t first = code[0];
    for (uint32_t d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) {
        const int32_t difference = code[d + 1] - first;
        absolute[d] += (uint32_t)(difference < 0 ? -difference : difference);
        differ[d] += difference != 0;
    }
}

void csz_patches_clear(csz_patch_work *w) {
    w->npairs = 0;
    memset(w->absolute, 0, sizeof w->absolute);
    memset(w->differ, 0, sizeof w->differ);
}

static void flush_pairs(csz_madogram_sums *sums, csz_patch_work *w) {
    for (int d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) {
        sums->npairs[d] += w->npairs;
        sums->absolute[d] += w->absolute[d];
        sums->differ[d] += w->differ[d];
    }
    csz_patches_clear(w);
}

/* Pairs of codes at every distance from a few places. */
static void count_pairs(csz_madogram_sums *sums, csz_patch_work *w, const int16_t *code, uint64_t number) {
    for (uint32_t i = 0; i < ORIGINS; i++) {
        const uint32_t a = csz_scatter_below((uint32_t)(csz_scatter(2, number) >> (32 * i)),
                                             PATCH_N - CSZ_ANALYSIS_NDISTANCES);
        if (w->is_wide)
            for (uint32_t d = 1; d <= CSZ_ANALYSIS_NDISTANCES; d++)
                csz_madogram_add(sums, d, w->code64[a], w->code64[a + d]);
        else
            add_pairs(w->absolute, w->differ, code + a);
        w->npairs += !w->is_wide;
    }
}

/* Those of its exceptions that lie in the field. */
static void find_exceptions(csz_exceptions *x, const csz_lines *w, const csz_rows *l, uint32_t type_nbits) {
    const uint32_t each = l->each ? l->each : 1;
    x->n = x->in_field = 0;
    for (uint32_t i = 0; i < l->nrows; i++)
        for (uint32_t j = 0; j < l->rows[i].in_field; j++) {
            const uint32_t at = (uint32_t)l->rows[i].line[0] + 1 + j;
            x->in_field++;
            if (w->valid[at]) continue;
            x->bits[x->n] =
                type_nbits == 32 ? csz_bits_f32(w->value.f32[at]) : csz_bits_f64(w->value.f64[at]);
            x->unit[x->n++] = (uint8_t)((i % each * l->rows[i].n + j) / 4);
        }
}

/* Sums over codes, of 16 bits at most, that are the lesser of their size and 65535.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) void measure_sizes(csz_patch *p, const uint16_t *restrict size) {
    uint32_t octaves = 0;
    uint16_t large = 0;
    for (uint32_t i = 0; i < PATCH_N; i++) {
        octaves += (uint32_t)csz_log2_u32((uint32_t)size[i] | 1);
        large = (uint16_t)(large + (size[i] > 1));
    }
    p->octaves = (uint16_t)octaves;
    p->large = large;
}

static __attribute__((noinline)) uint32_t count_changes(const int16_t *code) {
    uint16_t n = 0;
    for (uint32_t i = 1; i < PATCH_N; i++) n = (uint16_t)(n + (code[i] != code[i - 1]));
    return n;
}

/* How many codes are not 0, where, and how large; the runs of each lane. */
static void measure(csz_patch *p, const csz_patch_work *w) {
    uint32_t nonzero = 0;
    uint16_t size[PATCH_N];
    for (uint32_t u = 0; u < PATCH_N / 32; u++) {
        uint16_t zeros = 0;
        if (w->is_wide)
            for (uint32_t i = 32 * u; i < 32 * u + 32; i++) zeros = (uint16_t)(zeros + (w->code64[i] == 0));
        else
            for (uint32_t i = 32 * u; i < 32 * u + 32; i++) zeros = (uint16_t)(zeros + (p->code[i] == 0));
        nonzero += 32u - zeros;
        p->nonempty |= (uint8_t)((zeros < 32) << u);
    }
    p->nonzero = (uint16_t)nonzero;
    if (nonzero == 0) return;
    if (w->is_wide) {
        uint32_t nruns = 2;
        for (uint32_t i = 0; i < PATCH_N; i++) {
            const uint64_t m = w->code64[i] < 0 ? 0 - (uint64_t)w->code64[i] : (uint64_t)w->code64[i];
            size[i] = (uint16_t)(m < 65535 ? m : 65535);
            nruns += i % LANE_N && w->code64[i] != w->code64[i - 1];
        }
        p->nruns = (uint16_t)nruns;
    } else {
        for (uint32_t i = 0; i < PATCH_N; i++)
            size[i] = (uint16_t)(p->code[i] < 0 ? -p->code[i] : p->code[i]);
        p->nruns = (uint16_t)(1 + count_changes(p->code) + (p->code[LANE_N] == p->code[LANE_N - 1]));
    }
    measure_sizes(p, size);
}

/* Codes in pairs of units that are not empty. */
static uint32_t codes_of(const csz_patch *p) {
    const uint32_t pairs = (p->nonempty | p->nonempty >> 1) & 0x55;
    return 64 * (uint32_t)__builtin_popcount(pairs);
}

/* Lanes that have anything, a bit each. */
static uint32_t lanes_of(const csz_patch *p) {
    return (p->nonempty & 15 ? 1 : 0) | (p->nonempty >> 4 ? 2 : 0);
}

/* The mode is the tile's too, as far as the glance tells it: which units of a tile are empty it does not. */
static int mode_of_tile(const csz_patch *p) {
    const uint32_t n = codes_of(p);
    if (n < PATCH_N || p->tile_nonzero == 0) return csz_mode_by_share(p->nonzero, n);
    return csz_mode_by_share((CSZ_TILE_PATCHES - 1u) * p->tile_nonzero + p->nonzero, CSZ_TILE_N);
}

/* Wide codes have a book of their own, and runs like others. */
static void count_wide(csz_analysis_worker *k, csz_worker *worker, const csz_patch *p) {
    csz_tally *tally = &worker->tally;
    const csz_patch_work *w = k->patch;
    uint64_t raw;
    uint32_t nraw;
    csz_analysis_clear_books(k, tally, 1u << CSZ_BOOK_W);
    for (uint32_t i = 0; i < PATCH_N; i++)
        if ((p->nonempty >> (i / 64 * 2) & 3) != 0)
            tally->count[0].count[CSZ_BOOK_W][csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
    for (uint32_t lane = 0; lane < 2; lane++) {
        if (!(lanes_of(p) >> lane & 1)) continue;
        for (uint32_t at = lane * LANE_N, end = at + LANE_N, run; at < end; at += run) {
            for (run = 1; at + run < end && w->code64[at + run] == w->code64[at]; run++) {
            }
            tally->run_value[csz_delta_symbol(w->code64[at], &raw, &nraw)]++;
            tally->run_length[run - 1]++;
            k->sums.extra_run_bits += 16;
        }
    }
}

static void take_patch(csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker, uint64_t s) {
    const csz_geometry *g = &job->geometry;
    const csz_tile_plan *plan = &job->plan[0];
    csz_patch_work *w = k->patch;
    csz_patch *p = &job->patches[s];
    const uint64_t number = csz_patch_place(job, s), tile = number / CSZ_TILE_PATCHES;
    const uint64_t origin[3] = {(tile / g->grid[2] / g->grid[1]) << g->log2_t[0],
                                (tile / g->grid[2] % g->grid[1]) << g->log2_t[1],
                                (tile % g->grid[2]) << g->log2_t[2]};
    const uint32_t type_nbits = plan->type == CSZ_F32 ? 32 : 64;
    csz_rows l;
    memset(p, 0, offsetof(csz_patch, sorted));
    csz_lines_of_patch(&l, &w->own, job, origin, (uint32_t)(number % CSZ_TILE_PATCHES));
    const int is_plain = csz_lines_plain(&w->own, plan, l.nvalues);
    w->is_wide = !is_plain && !csz_lines_careful(&w->own, plan, l.nvalues);
    if (w->is_wide) { /* such a tile is predicted along all dims */
        csz_lines_differ_wide(w->delta64, &w->own, &l, g->rank);
        csz_patch_reorder_wide(w->code64, w->delta64[3 - g->rank]);
    } else {
        csz_lines_differ(&w->own, &l, g->rank);
        const int order = order_of_tile(p, w, job, origin, number);
        csz_patch_reorder(p->code, w->own.delta[delta_of_order(g->rank, order)]);
    }
    if (!is_plain) {
        csz_exceptions x;
        find_exceptions(&x, &w->own, &l, type_nbits);
        if (x.n) csz_exceptions_measure(p, &x, job, origin);
    }
    k->sums.nexceptions += p->nexceptions;
    if (p->is_fill) {
        k->sums.n += p->nexceptions;
        return;
    }
    const int64_t base = w->own.base;
    p->base_nbits = (uint8_t)csz_base_nbits(base != 0, base >= INT16_MIN && base <= INT16_MAX, type_nbits);
    measure(p, w);
    count_histogram(k, w, p, &l);
    count_pairs(&k->sums.codes, w, p->code, number);
    if (p->is_raw) {
        p->nonzero = p->octaves = p->large = p->nruns = 0;
        p->nonempty = p->base_nbits = 0;
    }
    if (p->nonzero == 0) return;
    if (w->is_wide)
        count_wide(k, worker, p);
    else
        p->mode = (uint8_t)mode_of_tile(p);
}

/* Patches of equal parts of the field, each picked by a hash: a fixed stride could alias with the field. */
uint64_t csz_patch_place(const csz_analysis_job *job, uint64_t s) {
    const double part = (double)job->ntiles * CSZ_TILE_PATCHES / (double)job->npatches,
                 u = (double)(csz_scatter(1, s) >> 11) * 0x1p-53;
    const uint64_t number = (uint64_t)(((double)s + u) * part), n = job->ntiles * CSZ_TILE_PATCHES;
    return number < n ? number : n - 1;
}

/* The looks come first, as they take as long as a few patches. */
static void patches_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_analysis_worker *k = job->workers[rank];
    csz_worker *worker = job->scratch->workers[rank];
    enum { CLAIMED = 2 };
    uint32_t done = 0;
    if (rank) csz_analysis_begin(job, rank);
    for (;;) {
        const uint64_t claim = atomic_fetch_add(&job->next, 1);
        if (claim == 0) {
            csz_looks_take(&job->quanta, &job->rows, job->looks, &job->plan[0], job->data, NULL);
            continue;
        }
        const uint64_t first = (claim - 1) * CLAIMED;
        if (first >= job->npatches) break;
        for (uint64_t s = first; s < first + CLAIMED && s < job->npatches; s++) {
            take_patch(job, k, worker, s);
            if (++done % PART_PATCHES) continue;
            flush_pairs(&k->sums.codes, k->patch);
            csz_analysis_flush_parts(k);
            memset(k->part, 0, sizeof k->part);
        }
    }
    flush_pairs(&k->sums.codes, k->patch);
}

/* Number n of the tiles that are made of patches of like mode, the last of each filled up with nothing: counts as its lanes would in tiles of their own. */
static void count_tile(csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker, uint32_t n) {
    int16_t *code = k->patch->tile;
    csz_tile_work *tile = &worker->tile;
    uint32_t m = 0, nfound = 0;
    while (n >= job->modes_first[m + 1]) m++;
    const uint32_t first = job->sorted_first[m] + (n - job->modes_first[m]) * CSZ_TILE_PATCHES;
    for (; nfound < CSZ_TILE_PATCHES && first + nfound < job->sorted_first[m + 1]; nfound++)
        memcpy(code + PATCH_N * nfound, job->patches[job->patches[first + nfound].sorted].code,
               sizeof job->patches[0].code);
    memset(code + PATCH_N * nfound, 0, (CSZ_TILE_PATCHES - nfound) * PATCH_N * sizeof *code);
    tile->code16 = code;
    tile->klass = 0;
    tile->is_fill = 0;
    tile->n_special = 0;
    csz_tile_measure(tile);
    csz_analysis_clear_books(k, &worker->tally, csz_tile_books(tile, &job->plan[0]));
    csz_tile_count(tile, &job->plan[0], &worker->tally,
                   1); /* 1: runs are counted one by one, whatever else is in the tile */
    tile->code16 = tile->own_code16;
}

static void tiles_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_analysis_worker *k = job->workers[rank];
    if (rank && !k->has_joined) csz_analysis_begin(job, rank);
    for (;;) {
        const uint64_t n = atomic_fetch_add(&job->next, 1);
        if (n >= job->modes_first[4]) break;
        count_tile(job, k, job->scratch->workers[rank], (uint32_t)n);
    }
    csz_analysis_end(job, rank, 1);
}

/* By mode; those that have nothing to count come first. */
static void sort_patches(csz_analysis_job *job) {
    uint32_t n[CSZ_MODE_S + 1] = {0}, at[CSZ_MODE_S + 1], sum = 0;
    for (uint64_t s = 0; s < job->npatches; s++) n[job->patches[s].mode]++;
    for (int m = 0; m <= CSZ_MODE_S; m++) {
        at[m] = sum;
        sum += n[m];
    }
    for (uint64_t s = 0; s < job->npatches; s++)
        job->patches[at[job->patches[s].mode]++].sorted = (uint32_t)s;
    job->modes_first[0] = 0;
    job->sorted_first[0] = at[CSZ_MODE_CONSTANT];
    for (int m = 0; m < 4; m++) {
        job->sorted_first[m + 1] = at[CSZ_MODE_M + m];
        job->modes_first[m + 1] =
            job->modes_first[m] + (n[CSZ_MODE_M + m] + CSZ_TILE_PATCHES - 1) / CSZ_TILE_PATCHES;
    }
}

void csz_patches_count(csz_analysis_job *job) {
    void (*run)(csz_team *, int, void (*)(void *, int), void *) =
        job->npatches < THREAD_TILES * CSZ_TILE_PATCHES ? csz_team_run_briefly : csz_team_run;
    csz_analysis_clear(job);
    atomic_store(&job->next, 0);
    run(&job->scratch->team, job->nthreads, patches_body, job);
    sort_patches(job);
    atomic_store(&job->next, 0);
    run(&job->scratch->team, job->nthreads, tiles_body, job);
    for (int i = 0; i < job->nthreads; i++) /* that took patches but came too late for tiles */
        if (job->workers[i]->has_joined && !job->workers[i]->has_ended) csz_analysis_end(job, i, 1);
    csz_analysis_gather(job);
}
