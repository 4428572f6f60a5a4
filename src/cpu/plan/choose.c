/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.c: sampled tiles of a frame through both predictors.  Nothing is restored yet when a frame is chosen
 * for, so a tile of the sample is predicted from the field's own values at the coarser lattice's places,
 * rounded as that lattice would be.
 */
#include "cpu/plan/choose.h"

#include "cpu/plan/sample.h"
#include "select/predictor.h"

enum { COARSER = CSZ_CHOICE_LEVELS };

typedef struct choose_job {
    csz_cpu_scratch *scratch;
    csz_patch_source source;
    uint32_t nsamples;
    int part, level, ways; /* of the sample, its lattice (COARSER: those above), and to interpolate, a bit for
                              each: tried now */
    uint64_t cubic[CSZ_CHOICE_TILES_MAX]; /* that each sample of lattice 0 takes */
    atomic_uint next;
    atomic_ullong lorenzo[2], pyramid[2][CSZ_CHOICE_LEVELS][CSZ_CHOICE_N], n[2][CSZ_CHOICE_LEVELS],
        coarser[CSZ_CHOICE_ACROSS];
} choose_job;

/* ---- patches: a tile of a lattice and what it is predicted from, out of the field ---- */

static void copy_patch(void *out, const csz_patch_source *s, const uint64_t *from, uint64_t step,
                       const uint64_t *extent, double bound) {
    const uint64_t *n = s->plan->geometry.n, at = (from[0] * n[1] + from[1]) * n[2] + from[2];
    const size_t size = s->plan->type == CSZ_F32 ? 4 : 8;
    csz_sample_copy(out, s->plan, (const uint8_t *)s->data + at * size, step, extent, bound);
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

/* A tile of a lattice but the coarsest by all ways that are tried now: what each takes. */
static void sample_patch(uint64_t *cost, uint64_t *n, choose_job *job, csz_worker *worker, int level,
                         const uint64_t *at) {
    csz_patch p;
    int wanted = CSZ_WANT_CODES;
    csz_patch_make(&p, &job->source, worker, level, at, 0);
    *n = csz_tile_box_count(&p.box);
    for (int way = 0; way < CSZ_CHOICE_N; way++) {
        cost[way] = 0;
        if (!(job->ways >> way & 1) || (way == CSZ_CHOICE_ACROSS && level)) continue;
        p.level.tuning = csz_choice_tuning(way);
        p.level.reach = csz_tuning_reach(p.level.tuning);
        csz_pyramid_quantize(&worker->tile, worker->pyramid, &p.level, &p.box, wanted);
        wanted |= CSZ_SAME_TILE;
        cost[way] = csz_sample_cost(&worker->tile, &p.level.plan, &p.box);
    }
}

static void tile_at(uint64_t *at, const csz_pyramid *shape, int level, uint32_t tile) {
    const uint64_t *grid = shape->grid[level];
    at[0] = tile / grid[2] / grid[1];
    at[1] = tile / grid[2] % grid[1];
    at[2] = tile % grid[2];
}

/* What the coarsest lattice takes, which all ways share. */
static uint64_t sample_coarsest(choose_job *job, csz_worker *worker, uint64_t *n) {
    csz_patch p;
    csz_patch_make_coarsest(&p, &job->source, worker, 0);
    csz_tile_quantize(&worker->tile, &p.level.plan, p.level.data, &p.box);
    *n = csz_tile_box_count(&p.box);
    return csz_sample_cost(&worker->tile, &p.level.plan, &p.box);
}

/* A tile of the lattices above lattice 1. */
static void sample_coarser(choose_job *job, csz_worker *worker, int level, uint32_t tile) {
    const csz_pyramid *shape = &job->source.shape;
    uint64_t cost[CSZ_CHOICE_N], n, at[3];
    tile_at(at, shape, level, tile);
    if (level == shape->nlevels - 1)
        cost[CSZ_CHOICE_CUBIC] = cost[CSZ_CHOICE_LINEAR] = sample_coarsest(job, worker, &n);
    else
        sample_patch(cost, &n, job, worker, level, at);
    for (int way = 0; way < CSZ_CHOICE_ACROSS; way++)
        atomic_fetch_add(&job->coarser[way], csz_choice_of_coarser(cost[way], shape, level));
}

/* Sample s of lattice 0, or the tile of lattice 1 that it lies in. */
static void sample_part(choose_job *job, csz_worker *worker, uint32_t s) {
    const csz_tile_plan *plan = job->source.plan;
    const uint32_t tile = csz_choice_tile(s, job->nsamples, job->source.box.ntiles);
    const int level = job->level, has_cubic = job->ways >> CSZ_CHOICE_CUBIC & 1;
    uint64_t cost[CSZ_CHOICE_N], n, at[3];
    tile_at(at, &job->source.shape, 0, tile);
    for (int i = 0; i < 3; i++) at[i] >>= level;
    if (level + 1 == job->source.shape.nlevels) {
        if (s > 0) return;
        const uint64_t all = sample_coarsest(job, worker, &n);
        atomic_store(&job->n[0][1], n);
        for (int way = 0; way < CSZ_CHOICE_N; way++) atomic_store(&job->pyramid[0][1][way], all);
        return;
    }
    sample_patch(cost, &n, job, worker, level, at);
    for (int way = 0; way < CSZ_CHOICE_N; way++)
        atomic_fetch_add(&job->pyramid[job->part][level][way], cost[way]);
    if (!has_cubic) return;
    atomic_fetch_add(&job->n[job->part][level], n);
    if (level) return;
    job->cubic[s] = cost[CSZ_CHOICE_CUBIC];
    if (plan->predictor != CSZ_PREDICTOR_AUTO) return;
    const csz_tile_box box = csz_tile_box_at(&plan->geometry, &job->source.box, tile);
    csz_tile_quantize(&worker->tile, plan, job->source.data, &box);
    atomic_fetch_add(&job->lorenzo[job->part], csz_sample_cost(&worker->tile, plan, &box));
}

static void choose_body(void *arg, int rank) {
    choose_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    double mark = csz_now();
    worker->tile.code16 = worker->tile.own_code16;
    for (;;) {
        const uint32_t s = atomic_fetch_add(&job->next, 1);
        if (job->level == COARSER) {
            int level;
            uint32_t tile;
            if (!csz_choice_coarser(&level, &tile, &job->source.shape, s)) break;
            sample_coarser(job, worker, level, tile);
        } else {
            if (s >= job->nsamples) break;
            if (csz_choice_part(s) == job->part) sample_part(job, worker, s);
        }
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* Samples of one part; levels, ways: a bit for each. */
static void sample_ways(choose_job *job, csz_choice *choice, int part, int levels, int ways, int nthreads) {
    job->part = part;
    job->ways = ways;
    for (job->level = 0; job->level <= COARSER; job->level++) { /* tiles of a level have much in common */
        if (!(levels >> job->level & 1)) continue;
        if (job->level == 1 && !csz_choice_has_coarser(part, job->nsamples)) continue;
        atomic_store(&job->next, 0);
        csz_team_run(&job->scratch->team, csz_threads_for_phase(job->nsamples, nthreads), choose_body, job);
    }
    choice->lorenzo[part] = atomic_load(&job->lorenzo[part]);
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) {
        choice->n[part][l] = atomic_load(&job->n[part][l]);
        for (int way = 0; way < CSZ_CHOICE_N; way++)
            choice->pyramid[part][l][way] = atomic_load(&job->pyramid[part][l][way]);
    }
    for (int way = 0; way < CSZ_CHOICE_ACROSS; way++) choice->coarser[way] = atomic_load(&job->coarser[way]);
}

/* Scratch and an empty sample. */
static csz_status choose_begin(choose_job *job, csz_cpu_scratch *s, const void *data,
                               const csz_tile_plan *plan, const csz_frame_box *box, int nthreads) {
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    if (!status) status = csz_scratch_chunks(s, nthreads);
    if (!status) status = csz_scratch_levels(s, nthreads, 0);
    memset(job, 0, sizeof *job);
    job->scratch = s;
    job->source.plan = plan;
    job->source.data = data;
    job->source.box = *box;
    csz_frame_pyramid(&job->source.shape, &plan->geometry, box);
    job->nsamples = csz_choice_count(box->ntiles);
    atomic_init(&job->next, 0);
    for (int i = 0; i < 2; i++) {
        atomic_init(&job->lorenzo[i], 0);
        for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) {
            atomic_init(&job->n[i][l], 0);
            for (int way = 0; way < CSZ_CHOICE_N; way++) atomic_init(&job->pyramid[i][l][way], 0);
        }
    }
    for (int way = 0; way < CSZ_CHOICE_ACROSS; way++) atomic_init(&job->coarser[way], 0);
    return status;
}

enum {
    BOTH = 3,
    ABOVE = 1 << COARSER,
    CUBIC = 1 << CSZ_CHOICE_CUBIC,
    LINEAR = 1 << CSZ_CHOICE_LINEAR,
    ACROSS = 1 << CSZ_CHOICE_ACROSS
};

csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, csz_rival *rival, uint64_t *costs,
                            const void *data, const csz_tile_plan *plan, const csz_frame_box *box,
                            int nthreads) {
    const int may_be_lorenzo = plan->predictor == CSZ_PREDICTOR_AUTO, rank = plan->geometry.rank,
              others = rank == 3 ? LINEAR | ACROSS : LINEAR;
    choose_job job;
    csz_choice choice = {{0}, {{{0}}}, {{0}}, {0}};
    const csz_pyramid *shape = &job.source.shape;
    nthreads = csz_threads_for(box->ntiles, nthreads);
    const csz_status status = choose_begin(&job, s, data, plan, box, nthreads);
    if (status) return status;
    *tuning = 0;
    *rival = (csz_rival){0};
    if (shape->nlevels == 1) return CSZ_OK; /* one tile, which Lorenzo predicts */
    const int settles = csz_choice_settles(job.nsamples);
    int is_lorenzo = 0, is_open = 0;
    /* where Lorenzo may be far ahead, that is found out first: lattice 1 only adds to what a pyramid takes */
    for (int level = 0; may_be_lorenzo && !is_lorenzo && level < CSZ_CHOICE_LEVELS; level++) {
        sample_ways(&job, &choice, 0, 1 << level, CUBIC, nthreads);
        if (!settles) sample_ways(&job, &choice, 1, 1 << level, CUBIC, nthreads);
        is_lorenzo = csz_choice_is_lorenzo(&choice, shape, settles);
    }
    if (!is_lorenzo) {
        sample_ways(&job, &choice, 0, BOTH, may_be_lorenzo ? others : CUBIC | others, nthreads);
        is_open = csz_choice_is_open(&choice, shape);
        if (is_open) sample_ways(&job, &choice, 0, ABOVE, CUBIC | LINEAR, nthreads);
    }
    const int is_settled = is_lorenzo || csz_choice_is_pyramid(&choice, shape, may_be_lorenzo),
              has_cubic = may_be_lorenzo && !settles,
              more = (has_cubic ? 0 : CUBIC) | is_open << CSZ_CHOICE_LINEAR;
    if (more && (!is_settled || costs)) sample_ways(&job, &choice, 1, BOTH, more, nthreads);
    if (costs) memcpy(costs, job.cubic, job.nsamples * sizeof *costs);
    *tuning = is_lorenzo ? -1 : csz_predictor_choose(&choice, shape, rank, may_be_lorenzo, plan->bound);
    *rival = csz_rival_of(&choice, shape, may_be_lorenzo);
    return CSZ_OK;
}

csz_status csz_frame_sample_coarser(csz_cpu_scratch *s, csz_rival *rival, const void *data,
                                    const csz_tile_plan *plan, const csz_frame_box *box, int nthreads) {
    choose_job job;
    csz_choice choice = {{0}, {{{0}}}, {{0}}, {0}};
    nthreads = csz_threads_for(box->ntiles, nthreads);
    const csz_status status = choose_begin(&job, s, data, plan, box, nthreads);
    if (status) return status;
    sample_ways(&job, &choice, 0, ABOVE, CUBIC | LINEAR, nthreads);
    rival->nwords_above = csz_rival_above(&choice);
    return CSZ_OK;
}
