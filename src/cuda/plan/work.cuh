/* SPDX-License-Identifier: BSD-3-Clause */
/* work.cuh: the scratch that the kernels of one compression share, and each one's launcher, in the order of
 * calls: range, prepare, histogram, books, encode. */
#ifndef CSZ_CUDA_WORK_CUH
#define CSZ_CUDA_WORK_CUH

#include "cuda/plan/compress.h"
#include "cuda/predict/codes.cuh"
#include "cuda/predict/lattices.h"
#include "select/predictor.h"

enum {
    CSZ_RANGE_BLOCKS = 1024, /* partial results of one field at most; an H200 holds 1056 blocks at once */
    CSZ_SECTION_WORDS = CSZ_BOOKS_MAX_NBYTES / 4
};

/* A field and its archive, as the kernels see them. */
struct csz_place {
    const void *data;
    uint64_t shift;    /* from the first field's data to this one's, in elements modulo 2^64 */
    uint64_t out, end; /* the archive's first word and the end of its room: addresses / 4 */
    uint64_t *nbytes;
    uint32_t *status, *faults;
};

/* Sums over a frame's tiles. */
struct csz_frame_sums {
    unsigned long long checksum;
    uint32_t hash;
    uint32_t done; /* tiles */
};

struct csz_range {
    double min, max;
    uint32_t any, padding;
};

/* Bits/512 and values of sampled tiles of a frame: csz_choice, in a type that there are atomics for. */
struct csz_choice_sums {
    unsigned long long lorenzo[2], pyramid[2][CSZ_CHOICE_LEVELS][CSZ_CHOICE_N], n[2][CSZ_CHOICE_LEVELS],
        coarser[CSZ_CHOICE_ACROSS];
};

/* Look-back over a group of 64 tiles: how many have published their sizes, and the sum; once the last of them
 * is placed, the words of the frame's payload up to its end. */
struct csz_group_state {
    unsigned long long published, end;
};

/* What archives whose frames may be pyramids need besides. */
struct csz_packed_work {
    uint32_t is_used;
    uint32_t may_be_lorenzo; /* frames are chosen for; else they are pyramids, if those are not too large */
    int nlevels;             /* of the largest frame */
    uint32_t slot_nwords;
    csz_frames frames;        /* all of a field */
    uint64_t lattices_n;      /* values of a field's restored lattices */
    csz_choice_sums *choice;  /* of each frame; zero before the sample */
    uint32_t *redo;           /* a frame has turned out too large; zero at first */
    uint32_t *restored;       /* of each frame: tiles of lattices above the field that are restored; zero at
                                 first, */
    uint32_t *levels_claimed; /* as what blocks have taken of those and of samples, */
    uint32_t *claimed;        /* and of each field's tiles, to be coded */
    void *lattices;
    double *bound;                /* of each field */
    int32_t *tuning;              /* of each frame; -1: predicted by Lorenzo */
    csz_rival *rival;             /* of each frame, if it may be */
    uint32_t *first;              /* index of each frame's tile 0 among all tiles, and behind the last */
    uint32_t *levels_n;           /* of each frame: tiles that levels_kernel has to make */
    uint32_t *slot_words;         /* of each frame's coarsest tile: its record's size, */
    uint32_t *slots;              /* and slot_nwords words for it */
    csz_group_state *group_state; /* of groups of 64 tiles */
    /* Of each field 1 if one of its frames is a pyramid; then how many fields have none. */
    uint32_t *has_pyramid;
    /* In place of csz_work's, for Lorenzo's kernels, which code the fields without pyramids. */
    struct {
        unsigned long long *tile_state, *group_sum;
        uint32_t *counters;
        void *pointwise;
    } lorenzo;
};

struct csz_work {
    csz_packed_work packed;
    uint32_t nfields, nframes, ntiles; /* fields of one shape; frames and tiles of each */
    uint32_t aligned;                  /* every field's data to 16 bytes */
    uint32_t chained;                  /* kernels start while those before them end, see csz_launch_next */
    /* zero before the histogram: */
    uint32_t *zero; /* the first byte of these */
    size_t zero_nwords;
    int32_t *exponent;      /* of each frame with a pointwise bound; else 0 */
    uint32_t *zero_again;   /* the first of those that are cleared for a second try, see csz_packed_work */
    csz_histograms *sample; /* of each frame; bins of a book begin at a line's start */
    unsigned long long *tile_state;  /* look-back: words of the tile, or of its frame up to it */
    unsigned long long *frame_state; /* words of the archive up to the frame's end */
    unsigned long long *group_sum;   /* checksums of groups of 64 tiles */
    csz_frame_sums *frame_sums;
    uint32_t *counters; /* tiles claimed, of packed parts of samples; then for each field frames finished */
    uint32_t *ready;    /* of each frame: 1 once its tables and section can be read */
    /* written before it is read: */
    uint32_t (*table)[CSZ_NBOOKS][CSZ_SYMBOLS_MAX]; /* packets */
    uint32_t (*section)[CSZ_SECTION_WORDS];
    uint32_t *section_nwords;
    csz_range *range; /* csz_range_blocks of each field */
    void *quantizer;  /* of each field */
    void *pointwise;  /* csz_pointwise_sets of each frame, where the bound is pointwise */
    csz_place *place; /* of each field */
    /* csz_packed_work's has_pyramid, of whose fields Lorenzo's kernels code those without; null: all */
    const uint32_t *skips;
};

/* What Lorenzo's kernels work on where frames may be pyramids. */
static inline csz_work csz_work_of_lorenzo(csz_work work) {
    const csz_packed_work &p = work.packed;
    work.tile_state = p.lorenzo.tile_state;
    work.group_sum = p.lorenzo.group_sum;
    work.counters = p.lorenzo.counters;
    work.pointwise = p.lorenzo.pointwise;
    work.skips = p.has_pyramid;
    return work;
}

/* Behind csz_previous_wait: whether fields are left for Lorenzo's kernels. */
CSZ_DEVICE bool csz_skips_all(const csz_work &work) {
    return work.skips && __ldcg(work.skips + work.nfields) == 0;
}
CSZ_DEVICE bool csz_skips_some(const csz_work &work) {
    return work.skips && __ldcg(work.skips + work.nfields) != work.nfields;
}
CSZ_DEVICE bool csz_skips(const csz_work &work, uint32_t field) {
    return work.skips && __ldcg(work.skips + field);
}

/* Quantizers of a frame with a pointwise bound: the frame's own; of one that may be a pyramid those of all
 * lattices, then those with the tuning `even`.  The first is always that of the whole bound. */
CSZ_FN uint32_t csz_pointwise_sets(const csz_packed_work *w) {
    return w->is_used ? 2 * (uint32_t)w->nlevels : 1;
}

/* Groups of a frame start at first / 64 + frame: never where another frame's are. */
CSZ_FN uint64_t csz_group_at(uint64_t first, uint32_t frame) { return first / CSZ_INDEX_GROUP + frame; }

/* csz_frame_box_at in 32 bits, which suffice for a launch's tiles: a division of 64 bits takes a hundred
 * instructions. */
CSZ_DEVICE csz_frame_box csz_frame_box_small(const csz_geometry *g, uint32_t frame) {
    csz_frame_box b;
    b.ntiles = 1;
#pragma unroll
    for (int i = 2; i >= 0; i--) {
        const uint32_t nframes = (uint32_t)g->nframes3[i], at = i ? frame % nframes : frame;
        const uint32_t full = (uint32_t)g->frame[i], tiles = min((uint32_t)g->grid[i] - at * full, full);
        frame /= nframes;
        b.first[i] = at * full;
        b.tiles[i] = tiles;
        b.ntiles *= tiles;
    }
    return b;
}

CSZ_DEVICE uint32_t csz_frame_ntiles(const csz_geometry *g, uint32_t frame) {
    return g->nframes == 1 ? (uint32_t)g->ntiles : csz_frame_box_small(g, frame).ntiles;
}

/* Partial results of a field's range. */
uint32_t csz_range_blocks(const csz_cuda_plan *plan);

/* Lays the workspace out from `base` (which may be null, to learn the size); returns its size. */
size_t csz_cuda_work_lay_out(csz_work *work, void *base, const csz_cuda_plan *plan);

/* Writes the places of a launch's fields to work.place.  csz_cuda_prepare writes that of a single field. */
void csz_cuda_place(csz_work work, const csz_cuda_compress_item *items, csz_type type, cudaStream_t stream);

/* Partial ranges, one a block; returns their number for each field. */
uint32_t csz_cuda_range(csz_work work, const void *d_data, const csz_cuda_plan *plan, cudaStream_t stream);
void csz_cuda_prepare(csz_work work, uint32_t nranges, const csz_cuda_compress_item *item,
                      const csz_cuda_plan *plan, cudaStream_t stream);
/* With a pointwise bound: exponents of frames, and quantizers. */
void csz_cuda_exponents(csz_work work, const void *d_data, const csz_cuda_plan *plan, cudaStream_t stream);
void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                        cudaStream_t stream);
void csz_cuda_books(csz_work work, const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                    bool is_again, cudaStream_t stream);
size_t csz_cuda_encode_shared_nbytes(csz_type type); /* of a block of the encoder */
void csz_cuda_encode(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                     cudaStream_t stream);
/* In place of it, with pointwise bounds, and of exact archives. */
void csz_cuda_encode_pointwise(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                               cudaStream_t stream);
void csz_cuda_encode_exact(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                           cudaStream_t stream);

/* Words of the longest record of a coarsest tile: runs of deltas as wide as the type's quanta make them, and
 * masks and exceptions of all its values. */
CSZ_FN uint32_t csz_slot_nwords(csz_type type) {
    return type == CSZ_F32 ? 4096 / 32 * (12 + 29 + 11) + 64 + 4 * 138 + 4096 / 2 * 3
                           : 4096 / 32 * (12 + 63 + 11) + 64 + 4 * 138 + 4096 / 2 * 5;
}

/* All that follows prepare and exponents, for archives whose frames may be pyramids (compress_packed.cu), and
 * the same for pointwise bounds. */
csz_status csz_cuda_packed_compress(csz_work work, const void *d_data, const csz_cuda_builtins *d_builtins,
                                    const csz_cuda_plan *plan, int nsms, cudaStream_t stream);
csz_status csz_cuda_packed_compress_pointwise(csz_work work, const void *d_data,
                                              const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                                              int nsms, cudaStream_t stream);

/* Their steps; false: a launch failed.  choose: costs of sampled tiles, and the frames' predictors that
 * follow (choose_predictor.cu, choose_pointwise.cu).  settle: what follows from those. */
bool csz_cuda_packed_choose(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                            cudaStream_t stream);
bool csz_cuda_packed_choose_pointwise(const csz_work &work, const void *d_data, const csz_cuda_plan *plan,
                                      int nsms, cudaStream_t stream);
bool csz_cuda_packed_settle(const csz_work &work, const csz_cuda_plan *plan, uint32_t is_again,
                            cudaStream_t stream);

/* 1 if every tile's rows start at multiples of 16 bytes. */
template <typename V> static uint32_t csz_rows_are_aligned(const csz_work &work, const csz_cuda_plan *plan) {
    return work.aligned && (plan->geometry.rank == 1 || (plan->geometry.n[2] * sizeof(V)) % 16 == 0);
}

template <typename V>
static csz_job<V> csz_job_make(const csz_work &work, const void *d_data, const csz_cuda_plan *plan) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t *l = g->log2_t;
    csz_job<V> job;
    job.data = (const V *)d_data;
    job.quantizer = (const typename csz_value<V>::quantizer *)work.quantizer;
    job.pointwise = (const typename csz_value<V>::pointwise *)work.pointwise;
    job.geometry = *g;
    job.workflow = (int)plan->workflow;
    job.to_last = ((((uint64_t)1 << l[0]) - 1) * g->n[1] + ((uint64_t)1 << l[1]) - 1) * g->n[2] +
                  ((uint64_t)1 << l[2]) - 1;
    job.slice_nbytes = (g->rank == 3 ? g->n[1] * g->n[2] : g->rank == 2 ? g->n[2] : 128) * sizeof(V);
    job.default_shape = g->rank == 3   ? l[0] == 3 && l[1] == 4 && l[2] == 5
                        : g->rank == 2 ? l[1] == 5 && l[2] == 7
                                       : l[2] == 12;
    job.aligned = csz_rows_are_aligned<V>(work, plan);
    job.has_fill = plan->has_fill != 0;
    job.log2_step = job.drops_sign = 0;
    return job;
}

/* Calls f<V, RANK> for the plan's type and rank. */
#define CSZ_DISPATCH(plan, f, ...)         \
    do {                                   \
        int rank_ = (plan)->geometry.rank; \
        if ((plan)->type == CSZ_F32) {     \
            if (rank_ == 3)                \
                f<float, 3>(__VA_ARGS__);  \
            else if (rank_ == 2)           \
                f<float, 2>(__VA_ARGS__);  \
            else                           \
                f<float, 1>(__VA_ARGS__);  \
        } else {                           \
            if (rank_ == 3)                \
                f<double, 3>(__VA_ARGS__); \
            else if (rank_ == 2)           \
                f<double, 2>(__VA_ARGS__); \
            else                           \
                f<double, 1>(__VA_ARGS__); \
        }                                  \
    } while (0)

#endif
