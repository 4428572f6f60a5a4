/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.c: sampled tiles of a frame through both predictors.  Nothing is restored yet when a frame is chosen for, so a tile of the
 * sample is predicted from the field's own values at the coarser lattice's places, rounded as that lattice would be.
 */
#include "cpu/choose.h"

#include "cpu/symbols.h"
#include "cpu/tail.h"
#include "select/predictor.h"

typedef struct choose_job {
    csz_cpu_scratch *scratch;
    csz_patch_source source;
    uint32_t nsamples;
    int first, end;                       /* ways to interpolate that are tried now */
    uint64_t enough[CSZ_CHOICE_N];        /* a way that takes as much is out, whatever the other tiles take */
    uint64_t cubic[CSZ_CHOICE_TILES_MAX]; /* that each sample takes */
    uint8_t order[CSZ_CHOICE_TILES_MAX];  /* in which samples are tried */
    atomic_uint next;
    atomic_ullong lorenzo, pyramid[CSZ_CHOICE_N], pair[2];
} choose_job;

/* Bits/512 of the codes and exceptions in w; nknown zeros among them are no codes. */
static uint64_t cost_of(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                        uint32_t nknown) {
    if (w->is_fill) return 512 * 64;
    const uint32_t value_nbits = plan->type == CSZ_F32 ? 32 : 64;
    if (w->is_raw) return 512 * (uint64_t)value_nbits * csz_tile_box_count(box);
    csz_tile_tail_make(w, plan, box);
    uint64_t cost = 512 * 32 * (uint64_t)(w->n_special ? 1 + w->tail.nwords : 0) + (w->base ? 512 * 16 : 0);
    uint32_t count[CSZ_NARROW_N];
    if (w->klass) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
            uint64_t raw;
            uint32_t nraw;
            csz_delta_symbol(w->code64[i], &raw, &nraw);
            cost += 512 * (nraw + 5);
        }
        return cost;
    }
    /* in four parts that take turns: equal neighbours would wait for each other's store */
    uint32_t part[4][CSZ_SYMBOLS_MAX] = {{0}};
    w->symbols_mode = CSZ_NO_SYMBOLS;
    csz_tile_symbols_make(w, CSZ_MODE_S);
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) part[i & 3][w->symbol[i]]++;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) count[s] = part[0][s] + part[1][s] + part[2][s] + part[3][s];
    count[CSZ_DIRECT_HALF] -= nknown;
    return cost + csz_choice_cost(count);
}

/* ---- patches: a tile of a lattice and what it is predicted from, out of the field ---- */

/*
 * Values `step` apart, rounded to multiples of `grid`.  A row in which none is missing is one loop, kept out of line so that every compiler
 * vectorises it; in others what is missing continues the value before it.
 */
#define DEFINE_PATCH(FLOAT, NAME, BITS)                                                                   \
    static __attribute__((noinline)) int round_row_##NAME(FLOAT *restrict out, const FLOAT *restrict row, \
                                                          uint64_t n, uint64_t step, FLOAT grid,          \
                                                          FLOAT inverse, BITS fill) {                     \
        const FLOAT largest = (FLOAT)0x1p60, most = 4194304, half = (FLOAT)0.5;                           \
        BITS missing = 0;                                                                                 \
        for (uint64_t x = 0; x < n; x++) {                                                                \
            const FLOAT v = row[x * step], q = v * inverse;                                               \
            const BITS bits = csz_bits_##NAME(v), rounds = (BITS)0 - (BITS)(q < most && q > -most);       \
            const FLOAT safe = csz_##NAME##_bits(csz_bits_##NAME(q) & rounds),                            \
                        rounded = (FLOAT)(int32_t)(safe + (safe < 0 ? -half : half)) * grid;              \
            missing |= (BITS)(bits == fill) | (BITS) !(v <= largest && v >= -largest);                    \
            out[x] = csz_##NAME##_bits((csz_bits_##NAME(rounded) & rounds) | (bits & ~rounds));           \
        }                                                                                                 \
        return missing == 0;                                                                              \
    }                                                                                                     \
    static void copy_patch_##NAME(FLOAT *out, const FLOAT *at, const uint64_t *pitch, uint64_t step,      \
                                  const uint64_t *extent, FLOAT grid, const csz_tile_plan *plan) {        \
        /* without a fill value NaN is taken for it, which is missing anyway */                           \
        const BITS fill = plan->NAME.has_fill ? plan->NAME.fill : ~(BITS)0;                               \
        const FLOAT inverse = grid > 0 ? 1 / grid : 0;                                                    \
        const int rounds = inverse > 0;                                                                   \
        FLOAT last = 0;                                                                                   \
        for (uint64_t row = 0; row < extent[0] * extent[1]; row++, out += extent[2]) {                    \
            const FLOAT *from = at + (row / extent[1] * pitch[0] + row % extent[1] * pitch[1]) * step;    \
            const int is_whole =                                                                          \
                !rounds || round_row_##NAME(out, from, extent[2], step, grid, inverse, fill);             \
            for (uint64_t x = 0; !rounds && x < extent[2]; x++) out[x] = from[x * step];                  \
            for (uint64_t x = 0; !is_whole && x < extent[2]; x++) {                                       \
                const FLOAT v = from[x * step];                                                           \
                if (csz_bits_##NAME(v) == fill || !(v <= (FLOAT)0x1p60 && v >= -(FLOAT)0x1p60))           \
                    out[x] = x > 0 ? out[x - 1] : last;                                                   \
            }                                                                                             \
            last = out[extent[2] - 1];                                                                    \
        }                                                                                                 \
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

/* All but the values, which begin at `from` and `coarser_from` of the field. */
static void patch_place(csz_patch *p, const csz_patch_source *s, int l, const uint64_t *at, int tuning,
                        uint64_t *from, uint64_t *coarser_from) {
    const csz_geometry *g = &s->plan->geometry;
    csz_level *level = &p->level;
    memset(p, 0, sizeof *p);
    level->plan = *s->plan;
    level->bound_f32 = s->plan->f32.bound;
    level->bound_f64 = s->plan->f64.bound;
    level->tuning = tuning;
    level->reach = csz_tuning_reach(tuning);
    level->coarser_n = p->coarser_n;
    csz_geometry *h = &level->plan.geometry;
    for (int i = 0; i < 3; i++) {
        const uint64_t t = (uint64_t)1 << g->log2_t[i], origin = at[i] * t, left = s->shape.n[l][i] - origin,
                       begin = s->box.first[i] << g->log2_t[i], before = origin > 0 ? 2 : 0;
        h->n[i] = left < t ? left : t;
        p->box.extent[i] = (uint32_t)h->n[i];
        level->origin[i] = 0 - before;
        level->n[i] = t == 1 ? 1 : before + (left < t + 3 ? left : t + 3);
        p->coarser_n[i] = (level->n[i] + 1) / 2;
        from[i] = begin + (origin << l);
        coarser_from[i] = begin + ((origin - before) << l);
    }
    const double bound = csz_level_bound(s->plan->bound, tuning, l);
    level->plan.f32 = csz_quantizer_make_f32(bound, s->plan->f32.has_fill, s->plan->f32.fill);
    level->plan.f64 = csz_quantizer_make_f64(bound, s->plan->f64.has_fill, s->plan->f64.fill);
}

void csz_patch_make(csz_patch *p, const csz_patch_source *s, csz_worker *worker, int l, const uint64_t *at,
                    int tuning) {
    uint64_t from[3], coarser_from[3];
    patch_place(p, s, l, at, tuning, from, coarser_from);
    /* wide[] is free: two arrays of a tile's size, and the coarser lattice around one has less than twice as many values */
    uint8_t *values = (uint8_t *)worker->tile.wide[0], *coarser = worker->chunks[0];
    copy_patch(values, s, from, (uint64_t)1 << l, p->level.plan.geometry.n, 0);
    copy_patch(coarser, s, coarser_from, (uint64_t)2 << l, p->coarser_n,
               csz_level_bound(s->plan->bound, tuning, l + 1));
    p->level.data = values;
    p->level.coarser = coarser;
}

void csz_patch_make_coarsest(csz_patch *p, const csz_patch_source *s, csz_worker *worker, int tuning) {
    const int l = s->shape.nlevels - 1;
    const uint64_t at[3] = {0, 0, 0};
    uint64_t from[3], coarser_from[3];
    patch_place(p, s, l, at, tuning, from, coarser_from);
    copy_patch(worker->chunks[0], s, from, (uint64_t)1 << l, p->level.plan.geometry.n, 0);
    p->level.data = worker->chunks[0];
}

static uint64_t patch_cost(csz_patch *p, csz_worker *worker, int way) {
    p->level.tuning = csz_choice_tuning(way);
    p->level.reach = csz_tuning_reach(p->level.tuning);
    csz_pyramid_quantize(&worker->tile, worker->pyramid, &p->level, &p->box, CSZ_WANT_CODES);
    return cost_of(&worker->tile, &p->level.plan, &p->box, CSZ_TILE_N >> p->level.plan.geometry.rank);
}

static void choose_body(void *arg, int rank) {
    choose_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    const uint64_t *grid = job->source.shape.grid[0];
    double mark = csz_now();
    worker->tile.code16 = worker->tile.own_code16;
    for (;;) {
        const uint32_t next = atomic_fetch_add(&job->next, 1);
        if (next >= job->nsamples) break;
        const uint32_t s = job->order[next], tile = csz_choice_tile(s, job->nsamples, job->source.box.ntiles);
        const uint64_t at[3] = {tile / grid[2] / grid[1], tile / grid[2] % grid[1], tile % grid[2]};
        csz_patch p;
        int is_made = 0;
        for (int way = job->first; way < job->end; way++) {
            if (atomic_load(&job->pyramid[way]) >= job->enough[way]) continue;
            if (!is_made) csz_patch_make(&p, &job->source, worker, 0, at, 0);
            is_made = 1;
            const uint64_t cost = patch_cost(&p, worker, way);
            atomic_fetch_add(&job->pyramid[way], cost);
            if (way == CSZ_CHOICE_CUBIC) job->cubic[s] = cost;
        }
        if (job->first > CSZ_CHOICE_CUBIC) continue;
        if (job->source.plan->geometry.rank == 2 && s % 2 == 0) {
            const uint64_t around[3] = {0, at[1] / 2, at[2] / 2};
            atomic_fetch_add(&job->pair[0], job->cubic[s]);
            csz_patch_make(&p, &job->source, worker, 1, around, 0);
            atomic_fetch_add(&job->pair[1], patch_cost(&p, worker, CSZ_CHOICE_CUBIC));
        }
        if (job->source.plan->predictor != CSZ_PREDICTOR_AUTO) continue;
        const csz_tile_box box = csz_tile_box_at(&job->source.plan->geometry, &job->source.box, tile);
        csz_tile_quantize(&worker->tile, job->source.plan, job->source.data, &box);
        atomic_fetch_add(&job->lorenzo, cost_of(&worker->tile, job->source.plan, &box, 0));
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* The sampled tiles by the ways first .. end - 1. */
static void sample_ways(choose_job *job, csz_choice *choice, int first, int end, int nthreads) {
    job->first = first;
    job->end = end;
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, csz_threads_for(job->nsamples, nthreads), choose_body, job);
    choice->lorenzo = atomic_load(&job->lorenzo);
    for (int i = 0; i < 2; i++) choice->pair[i] = atomic_load(&job->pair[i]);
    for (int way = first; way < end; way++) choice->pyramid[way] = atomic_load(&job->pyramid[way]);
}

/*
 * Other ways than cubic: they are tried on the most expensive samples first, and only until it is clear that they lose.  So what is sampled of a way
 * that loses depends on the threads, but not what is chosen.
 */
static void sample_other_ways(choose_job *job, csz_choice *choice, int rank, int nthreads) {
    const uint64_t cubic = choice->pyramid[CSZ_CHOICE_CUBIC];
    job->enough[CSZ_CHOICE_LINEAR] = csz_choice_linear_limit(cubic);
    job->enough[CSZ_CHOICE_ACROSS] = csz_choice_across_limit(cubic);
    for (uint32_t i = 1; i < job->nsamples; i++) {
        const uint8_t s = job->order[i];
        uint32_t at = i;
        for (; at > 0 && job->cubic[job->order[at - 1]] < job->cubic[s]; at--)
            job->order[at] = job->order[at - 1];
        job->order[at] = s;
    }
    sample_ways(job, choice, CSZ_CHOICE_LINEAR, rank == 3 ? CSZ_CHOICE_N : CSZ_CHOICE_ACROSS, nthreads);
}

csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, uint64_t *costs, const void *data,
                            const csz_tile_plan *plan, const csz_frame_box *box, int nthreads) {
    const int rank = plan->geometry.rank, may_be_lorenzo = plan->predictor == CSZ_PREDICTOR_AUTO;
    choose_job job = {.scratch = s, .source = {.plan = plan, .data = data, .box = *box}};
    csz_choice choice = {0};
    csz_frame_pyramid(&job.source.shape, &plan->geometry, box);
    nthreads = csz_threads_for(box->ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, rank);
    if (!status) status = csz_scratch_levels(s, nthreads, 0);
    if (status) return status;
    *tuning = 0;
    if (job.source.shape.nlevels == 1) return CSZ_OK; /* one tile, which Lorenzo predicts */
    job.nsamples = csz_choice_count(box->ntiles);
    atomic_init(&job.next, 0);
    atomic_init(&job.lorenzo, 0);
    for (int i = 0; i < 2; i++) atomic_init(&job.pair[i], 0);
    for (int way = 0; way < CSZ_CHOICE_N; way++) atomic_init(&job.pyramid[way], 0);
    job.enough[CSZ_CHOICE_CUBIC] = UINT64_MAX;
    for (uint32_t i = 0; i < job.nsamples; i++) job.order[i] = (uint8_t)i;
    sample_ways(&job, &choice, CSZ_CHOICE_CUBIC, CSZ_CHOICE_CUBIC + 1, nthreads);
    if (costs) memcpy(costs, job.cubic, job.nsamples * sizeof *costs);
    if (!may_be_lorenzo || !csz_choice_is_lorenzo(&choice, rank))
        sample_other_ways(&job, &choice, rank, nthreads);
    *tuning = csz_predictor_choose(&choice, rank, job.nsamples, may_be_lorenzo);
    return CSZ_OK;
}
