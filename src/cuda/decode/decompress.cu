/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.cu: the launches of all that decodes (docs/cuda.md).  Calls of a single round of tiles have a
 * kernel of their own (one_round.cuh), all others the decode kernel (decode_kernel.cuh).  Tiles that the fast
 * path cannot decode, and all tiles of other shapes, go to the general kernel (general.cuh) by a list.
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/decode/decode_kernel.cuh"
#include "cuda/decode/one_round.cuh"
#include "cuda/predict/lorenzo_restore.cuh"

/* ---- launcher ---- */

/* Offsets of the parts of a workspace. */
struct workspace_parts {
    size_t counters, faults, items, jobs, verdict, tables, offsets, claims, pointwise, group_sum, slow,
        lattices, nbytes;
};

static size_t part_after(size_t *at, size_t nbytes) {
    size_t begin = *at;
    *at += (nbytes + 255) / 256 * 256;
    return begin;
}

/* The frames the box touches, and the largest of them. */
static void call_jobs(decode_call *call, const csz_cuda_decompress_plan *plan, uint32_t nfields) {
    const csz_geometry *g = &plan->geometry;
    uint64_t njobs = 1, max_tiles = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t first = (plan->begin[i] << plan->level >> g->log2_t[i]) / g->frame[i];
        uint64_t end = csz_tiles_along(((plan->end[i] - 1) << plan->level) + 1, g->log2_t[i]);
        uint64_t last = (end - 1) / g->frame[i];
        call->job_first[i] = (uint32_t)first;
        call->job_frames[i] = (uint32_t)(last - first + 1);
        call->frames.first[i] = call->job_first[i];
        call->frames.n[i] = call->job_frames[i];
        njobs *= last - first + 1;
        max_tiles *= g->frame[i] < g->grid[i] ? g->frame[i] : g->grid[i];
    }
    call->nfields = nfields;
    call->nframes_box = (uint32_t)njobs;
    call->njobs = nfields * (uint32_t)njobs;
    call->max_tiles = (uint32_t)max_tiles;
    call->max_groups = (uint32_t)((max_tiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP);
    call->lattices_n = 0;
    if (call->is_packed) {
        csz_pyramid largest; /* the first is as large as any */
        uint64_t n[3];
        for (int i = 0; i < 3; i++) n[i] = csz_frame_extent(g, i, call->job_first[i]);
        csz_pyramid_make(&largest, n, g->log2_t);
        call->max_tiles = largest.ntiles;
        call->max_groups = (largest.ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
        call->lattices_n = csz_frames_lay_out(&call->frames, g, largest.nlevels);
        call->nlevels = csz_frames_nlevels(g, &call->frames, 0);
        call->level = plan->level;
        const int smallest = csz_frames_nlevels(g, &call->frames, 1);
        call->last_level = plan->level < smallest ? plan->level : smallest - 1;
        return;
    }
    call->nbox = nfields;
    for (int i = 0; i < 3; i++)
        call->nbox *= csz_tiles_along(plan->end[i], g->log2_t[i]) - (plan->begin[i] >> g->log2_t[i]);
}

static workspace_parts workspace_of(const decode_call *call) {
    workspace_parts p;
    size_t at = 0;
    p.counters = part_after(&at, sizeof(decode_counters));
    p.faults = part_after(&at, call->nfields * sizeof(uint32_t));
    p.items = part_after(&at, call->nfields * sizeof(decode_item));
    p.jobs = part_after(&at, call->njobs * sizeof(decode_job));
    p.verdict = part_after(&at, (size_t)call->njobs * TABLE_PARTS * sizeof(uint32_t));
    p.tables = part_after(&at, (size_t)call->njobs * TABLE_N * sizeof(uint16_t));
    p.offsets = part_after(&at, (size_t)call->njobs * (call->max_tiles + 1) * sizeof(uint32_t));
    p.claims = part_after(&at, call->is_packed ? 0 : (size_t)call->njobs * call->max_tiles * sizeof(uint4));
    p.pointwise = part_after(&at, (size_t)call->njobs * (call->is_packed ? (uint32_t)call->nlevels : 1) *
                                      sizeof(csz_pointwise_f64));
    p.group_sum = part_after(&at, (size_t)call->njobs * call->max_groups * sizeof(uint64_t));
    p.slow = part_after(&at, call->is_packed ? 0 : (size_t)call->njobs * call->max_tiles * sizeof(uint2));
    p.lattices = part_after(&at, call->nfields * (size_t)call->lattices_n * (call->is_f64 ? 8 : 4));
    p.nbytes = at;
    return p;
}

/* Whether frames that Lorenzo predicts have a call of their own, beside that of pyramids. */
static int is_split(const csz_cuda_decompress_plan *plan) { return plan->is_packed && plan->level == 0; }

extern "C" size_t csz_cuda_decompress_many_workspace(const csz_cuda_decompress_plan *plan, uint32_t n) {
    decode_call call = {};
    call.is_f64 = plan->type == CSZ_F64;
    call.is_packed = plan->is_packed != 0;
    call.nfields = n;
    if (plan->geometry.nelements == 0) return workspace_of(&call).nbytes;
    call_jobs(&call, plan, n);
    size_t most = workspace_of(&call).nbytes;
    if (is_split(plan)) {
        call.is_packed = 0;
        call_jobs(&call, plan, n);
        const size_t own = workspace_of(&call).nbytes;
        if (own > most) most = own;
    }
    return most;
}

/* All but what the items need, which is set before. */
static void workspace_assign(decode_call *call, uint8_t *workspace) {
    const workspace_parts parts = workspace_of(call);
    call->counters = (decode_counters *)(workspace + parts.counters);
    call->jobs = (decode_job *)(workspace + parts.jobs);
    call->verdict = (uint32_t *)(workspace + parts.verdict);
    call->tables = (uint16_t *)(workspace + parts.tables);
    call->offsets = (uint32_t *)(workspace + parts.offsets);
    call->claims = (uint4 *)(workspace + parts.claims);
    call->pointwise = (csz_pointwise_f64 *)(workspace + parts.pointwise);
    call->group_sum = (unsigned long long *)(workspace + parts.group_sum);
    call->slow = (uint2 *)(workspace + parts.slow);
    call->lattices = workspace + parts.lattices;
}

extern "C" size_t csz_cuda_decompress_workspace(const csz_cuda_decompress_plan *plan) {
    return csz_cuda_decompress_many_workspace(plan, 1);
}

static int shape_is_default(const csz_geometry *g) {
    const uint32_t *t = g->log2_t;
    if (g->rank == 3) return t[0] == 3 && t[1] == 4 && t[2] == 5;
    if (g->rank == 2) return t[1] == 5 && t[2] == 7;
    return t[2] == 12;
}

/* What launches depend on. */
struct device_limits {
    int nsms, shared_nbytes, major;
};

static int limits_of(device_limits *d) {
#if defined(CSZ_EMU)
    *d = {emu::nsms, emu::shared_nbytes, 9};
    return 1;
#else
    int device;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&d->nsms, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&d->major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&d->shared_nbytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess;
#endif
}

/*
 * One block an SM, with all the shared memory it can have; each frame decides how to use it.  Few tiles: one
 * warp each, on as many SMs as possible.
 */
static void groups_limit(decode_call *call, const device_limits *d) {
    const uint32_t nbytes =
        (uint32_t)d->shared_nbytes - (uint32_t)(BLOCK_NBYTES + TABLE_NARROW_N * sizeof(uint16_t));
    call->shared_chunks = nbytes / 16;
    call->max_ngroups = call->shared_chunks / (GROUP_CHUNKS + STAGE_CHUNKS_MIN);
    if (call->max_ngroups > GROUPS_MAX) call->max_ngroups = GROUPS_MAX;
    const uint64_t grid = (uint64_t)call->njobs * call->max_tiles;
    call->decode_blocks = grid > (uint64_t)d->nsms ? (uint32_t)d->nsms : (uint32_t)grid;
    call->tables_give_way = !call->is_f64 && call->nbox > (uint64_t)call->decode_blocks * call->max_ngroups;
}

/*
 * Whether a call of a whole field is one round of tiles (one_round.cuh): one frame with at most one tile a
 * group, beside two warps without tiles, and stages that hold records of twice the mean.  Not an archive
 * whose size is known on the device alone, which may have longer records.  Not one of more bits a value
 * than this, whose tiles are wide: the general kernel has more of these at work on an SM.
 */
enum { ONE_ROUND_MAX_BITS = 14 };
static void one_round_decide(decode_call *call) {
    if (one_round_is_off() || call->njobs != 1 || call->all_slow || !call->check_groups || call->one.size ||
        call->one.nbytes >> 31 || call->header_words > CSZ_HEADER_MAX_NBYTES / 4 ||
        call->nbox > (uint64_t)call->decode_blocks * (GROUPS_MAX - 2) ||
        call->one.nbytes > call->nbox * (CSZ_TILE_N / 8 * ONE_ROUND_MAX_BITS))
        return;
    const uint32_t ngroups = (uint32_t)((call->nbox + call->decode_blocks - 1) / call->decode_blocks),
                   chunks = call->shared_chunks - ONE_ROUND_CHUNKS,
                   least = GROUP_CHUNKS + stage_chunks_of((uint32_t)(call->one.nbytes / 2 / call->nbox));
    const uint32_t runs = chunks >= RUNS_CHUNKS + ngroups * least ? RUNS_CHUNKS : 0;
    if (chunks < runs + ngroups * least) return;
    call->one_round = 1;
    call->one_round_runs_chunks = runs;
    call->one_round_stage_chunks = (chunks - runs) / ngroups - GROUP_CHUNKS;
    call->shared_chunks = chunks;
    call->max_ngroups = ngroups;
}

template <typename P, typename G>
static int one_round_launch(const decode_call *call, int chained, void *stream) {
    const uint32_t nthreads = (call->max_ngroups + 2) * GROUP_THREADS;
    return kernel_launch(one_round_kernel<P, G>, call,
                         nthreads < GENERAL_THREADS ? (uint32_t)GENERAL_THREADS : nthreads,
                         call->shared_chunks + ONE_ROUND_CHUNKS, chained, stream);
}

/* P3, P2, P1: the predictor's parts for the default tile shapes of each rank; G: for all others. */
template <typename P3, typename P2, typename P1, typename G>
static int call_launch(const decode_call *call, const device_limits *d, int rank, void *stream) {
    /* no kernel may wait for one that was not launched */
    if (!csz_cuda_tables_launch(call, stream)) return 0;
    const int chained = d->major >= 9;
    if (call->one_round)
        return rank == 3   ? one_round_launch<P3, G>(call, chained, stream)
               : rank == 2 ? one_round_launch<P2, G>(call, chained, stream)
                           : one_round_launch<P1, G>(call, chained, stream);
    int good = 1;
    if (!call->all_slow) {
        good = rank == 3 && call->shares_sectors ? decode_launch<P3, true>(call, chained, stream)
               : rank == 3                       ? decode_launch<P3, false>(call, chained, stream)
               : rank == 2                       ? decode_launch<P2, false>(call, chained, stream)
                                                 : decode_launch<P1, false>(call, chained, stream);
    }
    if (!call->check_groups)
        good &= csz_launch_next(verify_kernel, d->nsms * 8, VERIFY_THREADS, 0, chained, stream, *call);
    return good & csz_launch_next(general_kernel<G>, d->nsms * G::blocks, GENERAL_THREADS, 0, chained, stream,
                                  *call);
}

template <typename V>
static int lorenzo_launch(const decode_call *call, const device_limits *d, int rank, void *stream) {
    return call_launch<lorenzo_restore<V, 3>, lorenzo_restore<V, 2>, lorenzo_restore<V, 1>,
                       lorenzo_general<V>>(call, d, rank, stream);
}

/* Frames that are not pyramids. */
static int frames_launch(decode_call *call, const device_limits *d, void *stream) {
    const int rank = call->geometry.rank, chained = d->major >= 9;
    groups_limit(call, d);
    if (call->is_exact) return csz_cuda_exact_launch(call, d->nsms, chained, stream);
    if (call->is_pointwise) {
        call->shares_sectors = 0; /* it has no teams */
        return csz_cuda_pointwise_launch(call, d->nsms, chained, stream);
    }
    one_round_decide(call);
    return call->is_f64 ? lorenzo_launch<double>(call, d, rank, stream)
                        : lorenzo_launch<float>(call, d, rank, stream);
}

/* What the kernels need to know of archive f. */
static decode_item item_of(const csz_cuda_decompress_item *items, uint32_t f, uint32_t *d_faults,
                           int64_t size) {
    decode_item item;
    item.archive = (const uint32_t *)items[f].d_archive;
    item.nbytes = items[f].archive_nbytes;
    item.size = items[f].d_size;
    item.shift = ((intptr_t)items[f].d_out - (intptr_t)items[0].d_out) / size;
    item.faults = items[f].d_faults ? items[f].d_faults : d_faults + f;
    item.result = items[f].d_result;
    return item;
}

extern "C" csz_status csz_cuda_decompress_fields(const csz_cuda_decompress_item *items,
                                                 const csz_cuda_decompress_many *many, void *d_workspace,
                                                 const uint8_t *d_builtin,
                                                 const csz_cuda_decompress_plan *plan, void *stream) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t n = many->n;
    decode_call call = {};
    device_limits limits;
    if (!limits_of(&limits)) return CSZ_ERROR_BACKEND;
    call.is_f64 = plan->type == CSZ_F64;
    call.is_exact = plan->is_exact != 0;
    call.is_pointwise = plan->is_pointwise != 0;
    call.bound = plan->bound;
    call.floor = plan->floor;
    call.is_packed = plan->is_packed != 0;
    if (g->nelements) {
        call_jobs(&call, plan, n);
    } else {
        call.nfields = n;
    }
    const workspace_parts parts = workspace_of(&call);
    uint8_t *workspace = (uint8_t *)d_workspace;
    uint32_t *d_faults = (uint32_t *)(workspace + parts.faults);
    call.geometry = *g;
    if (many->reads_headers) call.field = many->field;
    call.first_frame = many->first_frame;
    int whole = 1;
    for (int i = 0; i < 3; i++) {
        call.begin[i] = plan->begin[i];
        call.end[i] = plan->end[i];
        whole = whole && plan->begin[i] == 0 && plan->end[i] == g->n[i];
        const uint64_t full_first = csz_tiles_along(plan->begin[i], g->log2_t[i]),
                       full_end = plan->end[i] >> g->log2_t[i];
        call.full_first[i] = (uint32_t)full_first;
        call.full_n[i] = full_end > full_first ? (uint32_t)(full_end - full_first) : 0;
    }
    const size_t size = plan->type == CSZ_F32 ? 4 : 8;
    call.pitch_y = plan->end[2] - plan->begin[2];
    call.pitch_z = call.pitch_y * (plan->end[1] - plan->begin[1]);
    call.header_words = plan->header_nbytes / 4;
    call.bound_abs = plan->bound_abs;
    call.default_shape = (uint32_t)shape_is_default(g);
    call.all_slow = call.is_exact || !call.default_shape;
    call.check_groups = whole && plan->level == 0;
    const int one_row = g->rank == 1;
    call.aligned = (one_row || call.pitch_y * size % 16 == 0) && plan->begin[2] * size % 16 == 0;
    for (uint32_t f = 0; f < n; f++) call.aligned = call.aligned && (uintptr_t)items[f].d_out % 16 == 0;
    /* tiles of other ranks have rows of 128 values and more */
    call.shares_sectors = g->rank == 3 && (call.pitch_y * size % 32 || plan->begin[2] * size % 32);
    for (uint32_t f = 0; f < n; f++)
        call.shares_sectors |= g->rank == 3 && (uintptr_t)items[f].d_out % 32 != 0;
    call.builtin = d_builtin;
    call.out = items[0].d_out;
    workspace_assign(&call, workspace);
    if (n == 1) {
        call.one = item_of(items, 0, d_faults, (int64_t)size);
    } else {
        call.items = (decode_item *)(workspace + parts.items);
        decode_item some[ITEMS_AT_ONCE];
        for (uint32_t f = 0; f < n; f += ITEMS_AT_ONCE) {
            const uint32_t now = n - f < ITEMS_AT_ONCE ? n - f : (uint32_t)ITEMS_AT_ONCE;
            for (uint32_t i = 0; i < now; i++) some[i] = item_of(items, f + i, d_faults, (int64_t)size);
            csz_cuda_items_launch((decode_item *)(workspace + parts.items) + f, some, now, stream);
        }
    }
    int good = 1;
    if (g->nelements == 0) {
        csz_cuda_empty_launch(&call, stream);
    } else if (call.is_packed) {
        if (is_split(plan)) { /* one after the other, in the same workspace */
            decode_call lorenzo = call;
            lorenzo.is_packed = 0;
            call_jobs(&lorenzo, plan, n);
            workspace_assign(&lorenzo, workspace);
            lorenzo.is_packed = 1;
            good = frames_launch(&lorenzo, &limits, stream);
        }
        good = good && csz_cuda_packed_launch(&call, limits.nsms, (size_t)limits.shared_nbytes, stream);
    } else {
        good = frames_launch(&call, &limits, stream);
    }
    return good && cudaGetLastError() == cudaSuccess ? CSZ_OK : CSZ_ERROR_BACKEND;
}

extern "C" csz_status csz_cuda_decompress(void *d_out, uint32_t *d_status, void *d_workspace,
                                          const void *d_archive, const uint8_t *d_builtin,
                                          const csz_cuda_decompress_plan *plan, void *stream) {
    const csz_cuda_decompress_item item = {d_archive, plan->archive_nbytes, NULL, d_out, NULL, d_status};
    csz_cuda_decompress_many many = {};
    many.n = 1;
    if (plan->archive_nbytes % 4 ||
        plan->archive_nbytes < plan->header_nbytes + 8 * (plan->geometry.nframes + 1))
        return CSZ_ERROR_TRUNCATED;
    return csz_cuda_decompress_fields(&item, &many, d_workspace, d_builtin, plan, stream);
}
