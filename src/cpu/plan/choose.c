/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.c: sampled tiles of a frame through both predictors.  Nothing is restored yet when a frame is chosen
 * for, so a tile of the sample is predicted from the field's own values at the coarser lattice's places,
 * rounded as that lattice would be.
 */
#include "cpu/plan/choose.h"

#include "cpu/symbols.h"
#include "cpu/tail.h"
#include "select/predictor.h"

typedef struct choose_job {
    csz_cpu_scratch *scratch;
    csz_patch_source source;
    uint32_t nsamples;
    int part, ways; /* of the sample, and to interpolate, a bit for each: those that are tried now */
    uint64_t cubic[CSZ_CHOICE_TILES_MAX]; /* that each sample of lattice 0 takes */
    atomic_uint next;
    atomic_ullong lorenzo[2], pyramid[2][CSZ_CHOICE_LEVELS][CSZ_CHOICE_N];
} choose_job;

/* Bits/512 of the codes and exceptions in w. */
static uint64_t cost_of(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    if (w->is_fill) return 512 * 64;
    const uint32_t value_nbits = plan->type == CSZ_F32 ? 32 : 64;
    if (w->is_raw) return 512 * (uint64_t)value_nbits * csz_tile_box_count(box);
    csz_tile_tail_make(w, plan, box);
    uint64_t cost = 512 * 32 * (uint64_t)(w->n_special ? 1 + w->tail.nwords : 0) + (w->base ? 512 * 16 : 0);
    csz_tile_measure(w);
    const uint32_t n = w->statistics.n_codes;
    cost += csz_choice_record(n);
    if (n == 0) return cost;
    /* in four parts that take turns: equal neighbours would wait for each other's store */
    uint32_t part[4][CSZ_SYMBOLS_MAX] = {{0}};
    if (!w->klass) csz_tile_symbols_make(w, CSZ_MODE_S);
    for (uint32_t pair = 0; pair < CSZ_TILE_UNITS / 2; pair++) {
        if (csz_lane_is_empty(w, pair, 2)) continue;
        for (uint32_t i = 64 * pair; i < 64 * (pair + 1); i++) {
            uint64_t raw;
            uint32_t nraw;
            part[i & 3][w->klass ? csz_delta_symbol(w->code64[i], &raw, &nraw) : w->symbol[i]]++;
        }
    }
    for (uint32_t s = 0; s < (w->klass ? CSZ_WIDE_N : CSZ_NARROW_N); s++)
        cost += csz_choice_term(n, part[0][s] + part[1][s] + part[2][s] + part[3][s], s);
    return cost;
}

/* ---- patches: a tile of a lattice and what it is predicted from, out of the field ---- */

/* A patch's rows lie too far apart for the processor to foresee; so many later ones are on their way. */
enum { ROWS_AHEAD = 6 };

/* Values of a row of the coarser lattice around a tile, whose rows have 2,048 at most. */
enum { PATCH_ROW_MAX = 1040 };

static inline void fetch_row(const void *row, uint64_t nbytes) {
    for (uint64_t i = 0; i < nbytes; i += 64) __builtin_prefetch((const uint8_t *)row + i);
}

/*
 * Values `step` apart, as a coarser lattice has them.  A row in which none is missing is one loop, kept out
 * of line so that every compiler vectorises it; in others what is missing continues the value before it.
 */
#define DEFINE_PATCH(FLOAT, NAME, BITS)                                                                     \
    static inline __attribute__((always_inline)) int round_steps_##NAME(                                    \
        FLOAT *restrict out, const FLOAT *restrict row, uint32_t n, size_t step, FLOAT grid, FLOAT inverse, \
        BITS fill) {                                                                                        \
        const FLOAT largest = (FLOAT)0x1p60;                                                                \
        BITS missing = 0;                                                                                   \
        for (uint32_t x = 0; x < n; x++) {                                                                  \
            const FLOAT v = row[x * step];                                                                  \
            missing |= (BITS)(csz_bits_##NAME(v) == fill) | (BITS) !((v <= largest) & (v >= -largest));     \
        }                                                                                                   \
        for (uint32_t x = 1; x + 1 < n; x++)                                                                \
            out[x] = csz_choice_value_##NAME(row[x * step], row[(x - 1) * step], row[(x + 1) * step], grid, \
                                             inverse);                                                      \
        const FLOAT last = row[(n - 1) * step], next = row[n > 1 ? step : 0],                               \
                    before = row[n > 1 ? (n - 2) * step : 0];                                               \
        out[0] = csz_choice_value_##NAME(row[0], next, next, grid, inverse);                                \
        out[n - 1] = csz_choice_value_##NAME(last, before, before, grid, inverse);                          \
        return missing == 0;                                                                                \
    }                                                                                                       \
    static __attribute__((noinline)) int round_twos_##NAME(                                                 \
        FLOAT *restrict out, const FLOAT *restrict row, uint32_t n, FLOAT grid, FLOAT inverse, BITS fill) { \
        return round_steps_##NAME(out, row, n, 2, grid, inverse, fill);                                     \
    }                                                                                                       \
    static __attribute__((noinline)) int round_row_##NAME(FLOAT *restrict out, const FLOAT *restrict row,   \
                                                          uint32_t n, size_t step, FLOAT grid,              \
                                                          FLOAT inverse, BITS fill) {                       \
        return round_steps_##NAME(out, row, n, step, grid, inverse, fill);                                  \
    }                                                                                                       \
    /* Octaves of a pointwise bound; NaN for what is missing. */                                            \
    static void logarithms_##NAME(FLOAT *restrict out, const FLOAT *restrict row, uint32_t n, size_t step,  \
                                  const csz_pointwise_##NAME *z) {                                          \
        for (uint32_t x = 0; x < n; x++) {                                                                  \
            const FLOAT v = row[x * step];                                                                  \
            const int is_missing = !(v - v == 0) || (z->has_fill && csz_bits_##NAME(v) == z->fill);         \
            out[x] = is_missing ? (FLOAT)NAN : csz_pointwise_octaves_##NAME(v, z);                          \
        }                                                                                                   \
    }                                                                                                       \
    static void copy_patch_##NAME(FLOAT *out, const FLOAT *at, const uint64_t *pitch, uint64_t step,        \
                                  const uint64_t *extent, FLOAT grid, const csz_tile_plan *plan) {          \
        /* without a fill value NaN is taken for it, which is missing anyway */                             \
        const BITS fill = plan->NAME.has_fill ? plan->NAME.fill : ~(BITS)0;                                 \
        const FLOAT inverse = grid > 0 ? 1 / grid : 0;                                                      \
        const int rounds = inverse > 0, keeps_sign = fill == csz_bits_##NAME(-(FLOAT)0);                    \
        const uint32_t n = (uint32_t)extent[2];                                                             \
        FLOAT last = 0, logarithms[PATCH_ROW_MAX];                                                          \
        for (uint64_t row = 0; row < extent[0] * extent[1]; row++, out += n) {                              \
            const uint64_t next = row + ROWS_AHEAD;                                                         \
            if (next < extent[0] * extent[1])                                                               \
                fetch_row(at + (next / extent[1] * pitch[0] + next % extent[1] * pitch[1]) * step,          \
                          ((n - 1) * step + 1) * sizeof *at);                                               \
            const FLOAT *from = at + (row / extent[1] * pitch[0] + row % extent[1] * pitch[1]) * step;      \
            if (rounds && plan->is_pointwise) {                                                             \
                logarithms_##NAME(logarithms, from, n, step, &plan->pointwise_##NAME);                      \
                from = logarithms;                                                                          \
            }                                                                                               \
            const uint64_t apart = from == logarithms ? 1 : step;                                           \
            const int is_whole = !rounds      ? 1                                                           \
                                 : apart == 2 ? round_twos_##NAME(out, from, n, grid, inverse, fill)        \
                                              : round_row_##NAME(out, from, n, apart, grid, inverse, fill); \
            for (uint32_t x = 0; !rounds && x < n; x++)                                                     \
                out[x] = csz_unsigned_zero_##NAME(from[x * step], keeps_sign);                              \
            for (uint32_t x = 0; !is_whole && x < n; x++) {                                                 \
                const FLOAT v = from[x * apart];                                                            \
                if (csz_bits_##NAME(v) == fill || !(v <= (FLOAT)0x1p60 && v >= -(FLOAT)0x1p60))             \
                    out[x] = x > 0 ? out[x - 1] : last;                                                     \
            }                                                                                               \
            last = out[n - 1];                                                                              \
        }                                                                                                   \
    }

DEFINE_PATCH(float, f32, uint32_t)
DEFINE_PATCH(double, f64, uint64_t)

static void copy_patch(void *out, const csz_patch_source *s, const uint64_t *from, uint64_t step,
                       const uint64_t *extent, double bound) {
    const csz_geometry *g = &s->plan->geometry;
    const uint64_t pitch[2] = {g->n[1] * g->n[2], g->n[2]};
    const uint64_t at = from[0] * pitch[0] + from[1] * pitch[1] + from[2];
    if (s->plan->type == CSZ_F32)
        copy_patch_f32(out, (const float *)s->data + at, pitch, step, extent, (float)(2 * bound), s->plan);
    else
        copy_patch_f64(out, (const double *)s->data + at, pitch, step, extent, 2 * bound, s->plan);
}

/* All but the values of lattices above 0, and the coarser lattice: those begin at `from` and `coarser_from`
 * of the field. */
static void patch_place(csz_patch *p, const csz_patch_source *s, int l, const uint64_t *at, int tuning,
                        uint64_t *from, uint64_t *coarser_from) {
    const csz_geometry *g = &s->plan->geometry;
    csz_level *level = &p->level;
    memset(p, 0, sizeof *p);
    level->plan = *s->plan;
    level->data = s->data;
    level->bound_f32 = s->plan->f32.bound;
    level->bound_f64 = s->plan->f64.bound;
    level->tuning = tuning;
    level->reach = csz_tuning_reach(tuning);
    level->coarser_n = p->coarser_n;
    for (int i = 0; i < 3; i++) {
        const uint64_t t = (uint64_t)1 << g->log2_t[i], origin = at[i] * t, left = s->shape.n[l][i] - origin,
                       begin = s->box.first[i] << g->log2_t[i], before = origin > 0 ? 2 : 0;
        from[i] = begin + (origin << l);
        coarser_from[i] = begin + ((origin - before) << l);
        p->box.extent[i] = (uint32_t)(left < t ? left : t);
        p->box.origin[i] = l ? 0 : from[i]; /* lattice 0 is the field */
        if (l) level->plan.geometry.n[i] = p->box.extent[i];
        level->origin[i] = p->box.origin[i] - before;
        level->n[i] = t == 1 ? 1 : before + (left < t + 3 ? left : t + 3);
        p->coarser_n[i] = (level->n[i] + 1) / 2;
    }
    const double bound = csz_level_bound(s->plan->bound, tuning, l);
    csz_tile_plan_quantize(&level->plan, bound, s->plan->f64.has_fill, s->plan->f64.fill);
}

/* Values of a lattice above 0 into the worker.  wide[] is free. */
static void patch_values(csz_patch *p, const csz_patch_source *s, csz_worker *worker, int l,
                         const uint64_t *from) {
    if (l == 0) return;
    copy_patch(worker->tile.wide[0], s, from, (uint64_t)1 << l, p->level.plan.geometry.n, 0);
    p->level.data = worker->tile.wide[0];
}

void csz_patch_make(csz_patch *p, const csz_patch_source *s, csz_worker *worker, int l, const uint64_t *at,
                    int tuning) {
    uint64_t from[3], coarser_from[3];
    patch_place(p, s, l, at, tuning, from, coarser_from);
    patch_values(p, s, worker, l, from);
    /* the coarser lattice around a tile has less than twice as many values */
    copy_patch(worker->chunks[0], s, coarser_from, (uint64_t)2 << l, p->coarser_n,
               csz_level_bound(s->plan->bound, tuning, l + 1));
    p->level.coarser = worker->chunks[0];
}

void csz_patch_make_coarsest(csz_patch *p, const csz_patch_source *s, csz_worker *worker, int tuning) {
    const int l = s->shape.nlevels - 1;
    const uint64_t at[3] = {0, 0, 0};
    uint64_t from[3], coarser_from[3];
    patch_place(p, s, l, at, tuning, from, coarser_from);
    copy_patch(worker->chunks[0], s, from, (uint64_t)1 << l, p->level.plan.geometry.n, 0);
    p->level.data = worker->chunks[0];
}

/* ---- the sample ---- */

static uint64_t patch_cost(csz_patch *p, csz_worker *worker, int way) {
    p->level.tuning = csz_choice_tuning(way);
    p->level.reach = csz_tuning_reach(p->level.tuning);
    csz_pyramid_quantize(&worker->tile, worker->pyramid, &p->level, &p->box, CSZ_WANT_CODES);
    return cost_of(&worker->tile, &p->level.plan, &p->box);
}

/* A sample by all ways that are tried now. */
static void sample_patch(choose_job *job, csz_worker *worker, int level, const uint64_t *at, uint32_t s) {
    csz_patch p;
    csz_patch_make(&p, &job->source, worker, level, at, 0);
    for (int way = 0; way < CSZ_CHOICE_N; way++) {
        if (!(job->ways >> way & 1) || (way == CSZ_CHOICE_ACROSS && level)) continue;
        const uint64_t cost = patch_cost(&p, worker, way);
        atomic_fetch_add(&job->pyramid[job->part][level][way], cost);
        if (level == 0 && way == CSZ_CHOICE_CUBIC) job->cubic[s] = cost;
    }
}

static void choose_body(void *arg, int rank) {
    choose_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    const csz_pyramid *shape = &job->source.shape;
    const csz_tile_plan *plan = job->source.plan;
    const uint64_t *grid = shape->grid[0];
    double mark = csz_now();
    worker->tile.code16 = worker->tile.own_code16;
    for (;;) {
        const uint32_t s = atomic_fetch_add(&job->next, 1);
        if (s >= job->nsamples) break;
        if (csz_choice_part(s) != job->part) continue;
        const uint32_t tile = csz_choice_tile(s, job->nsamples, job->source.box.ntiles);
        const uint64_t at[3] = {tile / grid[2] / grid[1], tile / grid[2] % grid[1], tile % grid[2]};
        const uint64_t above[3] = {at[0] / 2, at[1] / 2, at[2] / 2};
        sample_patch(job, worker, 0, at, s);
        if (shape->nlevels > 2) sample_patch(job, worker, 1, above, s);
        if (!(job->ways >> CSZ_CHOICE_CUBIC & 1) || plan->predictor != CSZ_PREDICTOR_AUTO) continue;
        const csz_tile_box box = csz_tile_box_at(&plan->geometry, &job->source.box, tile);
        csz_tile_quantize(&worker->tile, plan, job->source.data, &box);
        atomic_fetch_add(&job->lorenzo[job->part], cost_of(&worker->tile, plan, &box));
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* Samples of one part; ways: a bit for each. */
static void sample_ways(choose_job *job, csz_choice *choice, int part, int ways, int nthreads) {
    job->part = part;
    job->ways = ways;
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, csz_threads_for(job->nsamples, nthreads), choose_body, job);
    choice->lorenzo[part] = atomic_load(&job->lorenzo[part]);
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++)
        for (int way = 0; way < CSZ_CHOICE_N; way++)
            choice->pyramid[part][l][way] = atomic_load(&job->pyramid[part][l][way]);
}

csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, uint64_t *costs, const void *data,
                            const csz_tile_plan *plan, const csz_frame_box *box, int nthreads) {
    const int rank = plan->geometry.rank, may_be_lorenzo = plan->predictor == CSZ_PREDICTOR_AUTO;
    choose_job job = {.scratch = s, .source = {.plan = plan, .data = data, .box = *box}};
    const csz_pyramid *shape = &job.source.shape;
    csz_choice choice = {{0}, {{{0}}}};
    csz_frame_pyramid(&job.source.shape, &plan->geometry, box);
    nthreads = csz_threads_for(box->ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, rank);
    if (!status) status = csz_scratch_chunks(s, nthreads);
    if (!status) status = csz_scratch_levels(s, nthreads, 0);
    if (status) return status;
    *tuning = 0;
    if (shape->nlevels == 1) return CSZ_OK; /* one tile, which Lorenzo predicts */
    job.nsamples = csz_choice_count(box->ntiles);
    atomic_init(&job.next, 0);
    for (int i = 0; i < 2; i++) {
        atomic_init(&job.lorenzo[i], 0);
        for (int l = 0; l < CSZ_CHOICE_LEVELS; l++)
            for (int way = 0; way < CSZ_CHOICE_N; way++) atomic_init(&job.pyramid[i][l][way], 0);
    }
    const int cubic = 1 << CSZ_CHOICE_CUBIC, others = 1 << CSZ_CHOICE_LINEAR | (rank == 3)
                                                                                   << CSZ_CHOICE_ACROSS;
    int is_lorenzo = 0, is_open = 0;
    /* where Lorenzo may be far ahead, that is found out first */
    sample_ways(&job, &choice, 0, may_be_lorenzo ? cubic : cubic | others, nthreads);
    is_lorenzo = may_be_lorenzo && csz_choice_is_lorenzo(&choice, shape, rank, 1);
    if (!is_lorenzo) {
        if (may_be_lorenzo) sample_ways(&job, &choice, 0, others, nthreads);
        is_open = csz_choice_is_open(&choice, shape, rank);
    }
    const int is_settled = is_lorenzo || csz_choice_is_pyramid(&choice, shape, rank, may_be_lorenzo);
    if (!is_settled || costs) sample_ways(&job, &choice, 1, cubic | is_open << CSZ_CHOICE_LINEAR, nthreads);
    if (costs) memcpy(costs, job.cubic, job.nsamples * sizeof *costs);
    *tuning = is_lorenzo ? -1 : csz_predictor_choose(&choice, shape, rank, may_be_lorenzo);
    return CSZ_OK;
}
