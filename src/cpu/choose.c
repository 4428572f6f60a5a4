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
    const csz_tile_plan *plan;
    const void *data;
    const csz_frame_box *box;
    csz_pyramid shape;
    uint32_t nsamples[CSZ_CHOICE_LEVELS], ntiles[CSZ_CHOICE_LEVELS];
    atomic_uint next;
    atomic_ullong lorenzo, pyramid[CSZ_CHOICE_LEVELS];
} choose_job;

/* Bits/512 of the codes and exceptions in w; nknown zeros among them are no codes. */
static uint64_t cost_of(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                        uint32_t nknown) {
    if (w->is_fill) return 512 * 64;
    const uint32_t value_nbits = plan->type == CSZ_F32 ? 32 : 64;
    if (w->is_raw) return 512 * (uint64_t)value_nbits * csz_tile_box_count(box);
    csz_tile_tail_make(w, plan, box);
    uint64_t cost = 512 * 32 * (uint64_t)(w->n_special ? 1 + w->tail.nwords : 0) + (w->base ? 512 * 16 : 0);
    uint32_t count[CSZ_SYMBOLS_MAX] = {0};
    if (w->klass) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
            uint64_t raw;
            uint32_t nraw;
            csz_delta_symbol(w->code64[i], &raw, &nraw);
            cost += 512 * (nraw + 5);
        }
        return cost;
    }
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) count[csz_narrow_symbol_masked(w->code16[i])]++;
    count[CSZ_DIRECT_HALF] -= nknown;
    return cost + csz_choice_cost(count);
}

/* ---- patches: a tile of a lattice and what it is predicted from, out of the field ---- */

#define DEFINE_PATCH(FLOAT, NAME)                                                                                \
    /* extent values `step` apart from `at` on, into out; rounded to multiples of `grid` where that is not 0,  \
       and what is missing there continues its neighbours. */ \
    static void copy_patch_##NAME(FLOAT *out, const FLOAT *at, const uint64_t *pitch, uint64_t step,             \
                                  const uint64_t *extent, FLOAT grid, const csz_tile_plan *plan) {               \
        const FLOAT inverse = grid > 0 ? 1 / grid : 0, largest = (FLOAT)0x1p60;                                  \
        FLOAT last = 0;                                                                                          \
        for (uint64_t z = 0; z < extent[0]; z++) {                                                               \
            for (uint64_t y = 0; y < extent[1]; y++) {                                                           \
                const FLOAT *row = at + (z * pitch[0] + y * pitch[1]) * step;                                    \
                for (uint64_t x = 0; x < extent[2]; x++) {                                                       \
                    FLOAT v = row[x * step];                                                                     \
                    if (inverse > 0) {                                                                           \
                        const int is_missing =                                                                   \
                            !(v <= largest && v >= -largest) ||                                                  \
                            (plan->NAME.has_fill && csz_bits_##NAME(v) == plan->NAME.fill);                      \
                        const FLOAT q = v * inverse;                                                             \
                        if (is_missing)                                                                          \
                            v = last;                                                                            \
                        else if (q < 4194304 && q > -4194304)                                                    \
                            v = (FLOAT)(int32_t)(q + (q < 0 ? -0.5f : 0.5f)) * grid;                             \
                        last = v;                                                                                \
                    }                                                                                            \
                    *out++ = v;                                                                                  \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
    }

DEFINE_PATCH(float, f32)
DEFINE_PATCH(double, f64)

static void copy_patch(void *out, const choose_job *job, const uint64_t *from, uint64_t step,
                       const uint64_t *extent, double bound) {
    const csz_geometry *g = &job->plan->geometry;
    const uint64_t pitch[2] = {g->n[1] * g->n[2], g->n[2]};
    const uint64_t at = from[0] * pitch[0] + from[1] * pitch[1] + from[2];
    if (job->plan->type == CSZ_F32)
        copy_patch_f32(out, (const float *)job->data + at, pitch, step, extent, (float)(2 * bound),
                       job->plan);
    else
        copy_patch_f64(out, (const double *)job->data + at, pitch, step, extent, 2 * bound, job->plan);
}

/* A tile of a lattice as a small field of its own, which knows what lies around it. */
static uint64_t pyramid_cost(const choose_job *job, csz_worker *worker, int l, uint32_t tile) {
    const csz_geometry *g = &job->plan->geometry;
    csz_level level = {
        .plan = *job->plan, .bound_f32 = job->plan->f32.bound, .bound_f64 = job->plan->f64.bound};
    csz_geometry *h = &level.plan.geometry;
    csz_tile_box box = {{0, 0, 0}, {0, 0, 0}};
    uint64_t at[3], from[3], coarse_from[3], extent[3], coarse_extent[3];
    const uint64_t *grid = job->shape.grid[l];
    at[2] = tile % grid[2];
    at[1] = tile / grid[2] % grid[1];
    at[0] = tile / grid[2] / grid[1];
    for (int i = 0; i < 3; i++) {
        const uint64_t t = (uint64_t)1 << g->log2_t[i], origin = at[i] * t, n = job->shape.n[l][i],
                       begin = job->box->first[i] << g->log2_t[i], before = origin > 0 ? 2 : 0;
        extent[i] = n - origin < t ? n - origin : t;
        box.extent[i] = (uint32_t)extent[i];
        h->n[i] = extent[i];
        level.origin[i] = 0 - before;
        level.n[i] = before + (n - origin < t + 3 ? n - origin : t + 3);
        if (t == 1) level.n[i] = 1;
        coarse_extent[i] = (level.n[i] + 1) / 2;
        from[i] = begin + (origin << l);
        coarse_from[i] = begin + ((origin - before) << l);
    }
    const double bound = csz_level_bound(job->plan->bound, 0, l);
    level.plan.f32 = csz_quantizer_make_f32(bound, job->plan->f32.has_fill, job->plan->f32.fill);
    level.plan.f64 = csz_quantizer_make_f64(bound, job->plan->f64.has_fill, job->plan->f64.fill);
    /* wide[] is free: two arrays of a tile's size, and the coarser lattice around one has less than twice as many values */
    uint8_t *values = (uint8_t *)worker->tile.wide[0], *coarse = worker->chunks[0];
    copy_patch(values, job, from, (uint64_t)1 << l, extent, 0);
    copy_patch(coarse, job, coarse_from, (uint64_t)2 << l, coarse_extent,
               csz_level_bound(job->plan->bound, 0, l + 1));
    level.data = values;
    level.coarser = coarse;
    level.coarser_n = coarse_extent;
    csz_pyramid_quantize(&worker->tile, worker->pyramid, &level, &box, 0);
    return cost_of(&worker->tile, &level.plan, &box, CSZ_TILE_N >> g->rank);
}

static void choose_body(void *arg, int rank) {
    choose_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    double mark = csz_now();
    worker->tile.code16 = worker->tile.own_code16;
    for (;;) {
        uint32_t s = atomic_fetch_add(&job->next, 1);
        int l = 0;
        while (l < CSZ_CHOICE_LEVELS && s >= job->nsamples[l]) s -= job->nsamples[l++];
        if (l == CSZ_CHOICE_LEVELS) break;
        const uint32_t tile = csz_choice_tile(s, job->nsamples[l], job->ntiles[l]);
        atomic_fetch_add(&job->pyramid[l], pyramid_cost(job, worker, l, tile));
        if (l > 0 || job->plan->predictor != CSZ_PREDICTOR_AUTO) continue;
        const csz_tile_box box = csz_tile_box_at(&job->plan->geometry, job->box, tile);
        csz_tile_quantize(&worker->tile, job->plan, job->data, &box);
        atomic_fetch_add(&job->lorenzo, cost_of(&worker->tile, job->plan, &box, 0));
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, const void *data, const csz_tile_plan *plan,
                            const csz_frame_box *box, int nthreads) {
    choose_job job = {.scratch = s, .plan = plan, .data = data, .box = box};
    csz_choice choice = {0};
    uint32_t total = 0;
    csz_frame_pyramid(&job.shape, &plan->geometry, box);
    nthreads = csz_threads_for(box->ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    if (!status) status = csz_scratch_levels(s, nthreads, 0);
    if (status) return status;
    for (int l = 0; l < CSZ_CHOICE_LEVELS && l < job.shape.nlevels - 1; l++) {
        job.ntiles[l] = (uint32_t)(job.shape.grid[l][0] * job.shape.grid[l][1] * job.shape.grid[l][2]);
        choice.ntiles[l] = job.nsamples[l] = csz_choice_count(job.ntiles[l], l);
        total += job.nsamples[l];
    }
    atomic_init(&job.next, 0);
    atomic_init(&job.lorenzo, 0);
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) atomic_init(&job.pyramid[l], 0);
    csz_team_run(&s->team, csz_threads_for(total, nthreads), choose_body, &job);
    choice.lorenzo = atomic_load(&job.lorenzo);
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) choice.pyramid[l] = atomic_load(&job.pyramid[l]);
    *tuning = csz_predictor_choose(&choice, &job.shape, csz_frame_nelements(&plan->geometry, box),
                                   plan->predictor == CSZ_PREDICTOR_AUTO);
    return CSZ_OK;
}
