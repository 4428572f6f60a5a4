/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.cuh: what the decoder's kernels share.  A job is a frame that the wanted box touches.  The tables
 * kernel checks the frame and fills in the job; the decode kernels claim its tiles by its counter and add up
 * its checksums.
 */
#ifndef CSZ_CUDA_DECODE_JOB_CUH
#define CSZ_CUDA_DECODE_JOB_CUH

#include "cuda/common/codes.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/memory.cuh"

#include "core/code.h"
#include "core/geometry.h"
#include "core/hash.h"
#include "core/pointwise.h"
#include "core/quantum.h"
#include "cuda/tables/decompress.h"
#include "cuda/predict/lattices.h"
#include "format/header.h"

/* What a test may ask of the emulated decoder, see machine.h. */
#if defined(CSZ_EMU)
#define all_books_are_unused() emu::books_unused
#define one_round_is_off() (emu::once_unused || emu::books_unused)
#else
#define all_books_are_unused() false
#define one_round_is_off() false
#endif

/*
 * Decode tables of a frame, 2-byte entries: symbol << 8 | length.  Books of deltas have symbol - 48 mod 256,
 * the delta itself where the symbol is a direct one.  The length is in the low five bits, so that an entry
 * can be a shift count.  The seven books of the narrow modes come first: a block keeps these, 44 KiB, in
 * shared memory.
 */
enum {
    TABLE_S = 0,
    TABLE_PV = 4096,
    TABLE_PE = 8192,
    TABLE_QV = 10240,
    TABLE_QE = 14336,
    TABLE_MV = 16384,
    TABLE_ME = 20480,
    TABLE_NARROW_N = 22528,
    TABLE_W = 22528,
    TABLE_RV = 26624,
    TABLE_RL = 30720,
    TABLE_N = 32768
};

CSZ_FN uint32_t table_of_book(int book) {
    switch (book) {
    case CSZ_BOOK_S: return TABLE_S;
    case CSZ_BOOK_PV: return TABLE_PV;
    case CSZ_BOOK_PE: return TABLE_PE;
    case CSZ_BOOK_QV: return TABLE_QV;
    case CSZ_BOOK_QE: return TABLE_QE;
    case CSZ_BOOK_MV: return TABLE_MV;
    case CSZ_BOOK_ME: return TABLE_ME;
    case CSZ_BOOK_W: return TABLE_W;
    case CSZ_BOOK_RV: return TABLE_RV;
    default: return TABLE_RL;
    }
}

/*
 * Shared memory of a block of the decode kernel, in chunks of 16 bytes: its frame's tables; a stage for the
 * record of each group (a warp with a tile); and from the end backwards each group's codes, firsts and tasks.
 * stage_choose decides for each frame how many groups there are and how long stages are.  Where there is
 * room, the tables of runs go between the other tables and the stages once a group needs them.
 */
enum {
    GROUP_THREADS = 32,
    GROUPS_MAX = 20, /* leaves a thread 96 registers */
    FIRSTS_CHUNKS = 16,
    PLACES = 2, /* tiles a group knows of: the current one, and the next */
    TASK_CHUNKS = 3,
    GROUP_CHUNKS = CODE_CHUNKS + FIRSTS_CHUNKS + TASK_CHUNKS * PLACES, /* without the stage */
    STAGE_CHUNKS_MIN = 17,
    RUNS_CHUNKS = (TABLE_N - TABLE_RV) / 8
};

/* Words of the longest record that fits a stage, whose first chunk may begin with up to three words before
 * the record. */
CSZ_FN uint32_t stage_words_of(uint32_t nchunks) { return 4 * nchunks - 4; }
CSZ_FN uint32_t stage_chunks_of(uint32_t nwords) { return (nwords + 7) / 4; }

/* Blocks of the tables kernel that share a job; each has a verdict of its own. */
enum {
    TABLE_PARTS_BOOKS = 8,
    TABLE_PART_INDEX = TABLE_PARTS_BOOKS,
    TABLE_PART_CLAIMS,
    TABLE_PART_PLAN,
    TABLE_PART_CHECKSUM,
    TABLE_PARTS
};

typedef struct alignas(16) decode_job {
    const uint32_t *frame;
    uint64_t words_left; /* from the frame's first word to the footer */
    int64_t shift;       /* from the first field's output to this one's, in elements */
    union {
        double step; /* 2 E, exact in the type; of packed frames the bound, as their lattices differ */
        const void *pointwise; /* with a pointwise bound: the frame's */
    };
    uint32_t *faults;
    uint32_t payload_word; /* in the frame */
    uint32_t whole;        /* the box holds all of it, so its restored values can be checked */
    uint32_t first[3];     /* the frame's first tile in the field's grid */
    uint32_t tiles[3];     /* its extents in tiles */
    uint32_t box_first[3]; /* the part the box touches, relative to first */
    uint32_t box_tiles[3];
    uint32_t ntiles;                             /* of the frame */
    uint32_t nbox;                               /* of the part */
    uint32_t tile_base;                          /* of its tiles in offsets[] */
    uint32_t group_base;                         /* of its groups of 64 tiles in group_sum[] */
    uint32_t first_block, nblocks;               /* those of the decode kernel that begin with it */
    uint32_t ngroups, stage_chunks, stage_words; /* of such a block */
    uint32_t dealt;   /* tiles that each of these blocks has for itself; of pyramids: claimed of all */
    uint32_t counter; /* claimed of the others; of pyramids: tiles restored */
    uint32_t value_sum;
    uint32_t team;        /* groups that take neighbouring tiles and store them together; 1: no teams */
    uint32_t first_stage; /* chunk at which a block's stages begin, after the tables that it keeps */
    uint32_t runs_at;     /* chunk of the tables of runs, before the stages; 0: no room for them */
    uint32_t kept;        /* bit m: records of mode m find their tables in shared memory, or need none */
    float row_inverse, plane_inverse; /* 1 / tiles[2] and 1 / tiles[1] */
    /* archives whose frames may be pyramids: whether this one is, and its tuning; others: 0 */
    uint32_t is_pyramid, tuning;
} decode_job;

static_assert(sizeof(decode_job) == 5 * 8 + 34 * 4 && sizeof(decode_job) % 16 == 0,
              "copied 16 bytes at a time, without gaps that nobody would set");

/* Counters of a call, zeroed by the tables kernel. */
typedef struct decode_counters {
    uint32_t n_slow; /* entries of slow[] */
    uint32_t n_done; /* blocks of the last kernel that have finished */
} decode_counters;

/* An archive of a call and where its field goes. */
typedef struct decode_item {
    const uint32_t *archive;
    uint64_t nbytes;             /* of it; at most this many where size is not null */
    const csz_cuda_result *size; /* its size, known on the device alone */
    int64_t shift;               /* from the first field's output to this one's, in elements */
    uint32_t *faults;
    csz_cuda_result *result; /* or null */
} decode_item;

/* A kernel's view of a call; everything points to device memory. */
typedef struct decode_call {
    csz_geometry geometry;
    csz_field field;               /* what the headers must say; ndim 0: the caller has read them */
    uint64_t first_frame;          /* number of frame 0, where the archive is part of a larger one */
    uint32_t nfields, nframes_box; /* frames of each field that the box touches */
    decode_item one;               /* of a single field */
    const decode_item *items;      /* of several */
    uint64_t begin[3], end[3];
    uint64_t pitch_y, pitch_z; /* elements between rows and planes of the output */
    uint64_t header_words;     /* this and the bound: where the caller has read the headers */
    double bound_abs;
    double bound, floor; /* as asked for, of a pointwise bound */
    uint32_t is_f64, is_exact, is_pointwise;
    uint32_t njobs;                       /* of all fields */
    uint32_t job_first[3], job_frames[3]; /* the box of frames that are jobs */
    uint32_t max_tiles, max_groups;       /* of a frame: strides of offsets[] and group_sum[] */
    uint32_t all_slow;                    /* the tile shape has no fast path, or the archive is exact */
    uint32_t default_shape;               /* of the tiles */
    uint32_t check_groups; /* the decode kernels add up the groups' checksums; otherwise verify_kernel does */
    uint32_t full_first[3], full_n[3]; /* tiles that the output holds whole, in the field's grid */
    uint32_t aligned;                  /* rows of the output start at multiples of 16 bytes */
    uint32_t shares_sectors;  /* rows start within sectors, of which neighbouring tiles write parts */
    uint32_t max_ngroups;     /* of a block of the decode kernel */
    uint32_t shared_chunks;   /* of a block's shared memory, for its groups and stages */
    uint32_t decode_blocks;   /* of the decode kernel */
    uint32_t tables_give_way; /* unused tables make room for stages */
    uint64_t nbox;            /* tiles of all jobs */
    const uint8_t *builtin;
    void *out; /* of the first field */
    decode_counters *counters;
    decode_job *jobs;
    uint32_t *verdict; /* TABLE_PARTS a job: faults that the tables kernel has found, or VERDICT_OTHER */
    uint16_t *tables;  /* TABLE_N a job */
    uint32_t *offsets; /* max_tiles + 1 a job: where each record begins, in payload words */
    uint4 *claims; /* max_tiles a job, in the order of decoding: the record's first word, its end, 0, tile */
    /* of the field's type: one a job, or, where it may be a pyramid, nlevels, its lattices' */
    csz_pointwise_f64 *pointwise;
    unsigned long long *group_sum; /* max_groups a job */
    uint2 *slow;                   /* (job, tile of the part) left to the general kernel */
    uint32_t one_round; /* the call is a single round of tiles (one_round.cuh), max_ngroups of a block */
    uint32_t one_round_stage_chunks, one_round_runs_chunks; /* of a stage, and of tables before the stages */
    /* archives whose frames may be pyramids (decompress_packed.cu); begin and end are then in the wanted
     * lattice: */
    uint32_t
        is_packed; /* they are such; of whole resolution the frames of Lorenzo have a call of their own */
    int level, last_level; /* the wanted lattice, and the finest that any frame is decoded to for it */
    csz_frames frames;     /* those of job_first and job_frames */
    void *lattices;        /* restored ones of all jobs */
    uint64_t lattices_n;   /* values of each field's */
    int nlevels;
    /* A job's claims: those of lattice l end with level_end[l], the coarsest first. */
    uint32_t level_end[CSZ_LEVELS_MAX];
    uint32_t has_tables; /* a block has tables in its shared memory */
} decode_call;

/* What one kernel of a call writes and a later one reads goes past the L1 (__ldcg, csz_copy_start);
 * launch.cuh tells why. */

/* Instead of a verdict that is not known yet; and beside faults, where the frame is left to the other
 * predictor's kernels. */
enum : uint32_t { VERDICT_NONE = 0xFFFFFFFFu, VERDICT_OTHER = 1u << 16 };

/* The verdict of the tables kernel on a job; 0: its tiles can be decoded. */
CSZ_DEVICE uint32_t job_verdict(const decode_call *call, uint32_t job_number) {
    uint32_t verdict = 0;
#pragma unroll
    for (uint32_t i = 0; i < TABLE_PARTS; i++)
        verdict |= __ldcg(call->verdict + job_number * TABLE_PARTS + i);
    return verdict;
}

CSZ_DEVICE decode_job job_read(const decode_job *job) {
    union {
        uint4 chunk[sizeof(decode_job) / 16];
        decode_job job;
    } u;
#pragma unroll
    for (uint32_t i = 0; i < sizeof(decode_job) / 16; i++) u.chunk[i] = __ldcg((const uint4 *)job + i);
    return u.job;
}
CSZ_DEVICE uint32_t job_is_sound(const decode_call *call, uint32_t job_number) {
    return job_verdict(call, job_number) == 0;
}

CSZ_DEVICE decode_item call_item(const decode_call *call, uint32_t field) {
    return call->items ? call->items[field] : call->one;
}

/* ---- what follows from geometry alone ---- */

/* A job's frame: number, first tile and extents in tiles. */
struct job_frame {
    uint64_t number, first[3];
    uint32_t tiles[3], ntiles;
};

/* job_number: among the jobs of its field. */
CSZ_DEVICE job_frame job_frame_of(const decode_call *call, uint32_t job_number) {
    const csz_geometry *g = &call->geometry;
    const uint32_t row = job_number / call->job_frames[2], plane = row / call->job_frames[1];
    const uint64_t at[3] = {call->job_first[0] + plane,
                            call->job_first[1] + row - plane * call->job_frames[1],
                            call->job_first[2] + job_number - row * call->job_frames[2]};
    job_frame f;
    f.number = (at[0] * g->nframes3[1] + at[1]) * g->nframes3[2] + at[2];
    f.ntiles = 1;
    for (int i = 0; i < 3; i++) {
        f.first[i] = at[i] * g->frame[i];
        const uint64_t left = g->grid[i] - f.first[i];
        f.tiles[i] = (uint32_t)(left < g->frame[i] ? left : g->frame[i]);
        f.ntiles *= f.tiles[i];
    }
    return f;
}

/* The part of a frame that the box touches, in tiles from its first. */
struct job_box {
    uint32_t first[3], tiles[3], ntiles;
};

CSZ_DEVICE job_box job_box_of(const decode_call *call, const job_frame *frame) {
    job_box b;
    b.ntiles = 1;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint32_t t = call->geometry.log2_t[i];
        const uint64_t begin = call->begin[i] >> t, end = csz_tiles_along(call->end[i], t),
                       lo = begin > frame->first[i] ? begin - frame->first[i] : 0,
                       hi = end < frame->first[i] + frame->tiles[i] ? end - frame->first[i] : frame->tiles[i];
        b.first[i] = (uint32_t)lo;
        b.tiles[i] = (uint32_t)(hi - lo);
        b.ntiles *= b.tiles[i];
    }
    return b;
}

/* The blocks of the decode kernel that begin with a job, and the tiles of it that the box touches. */
struct job_blocks {
    uint32_t first, n, nbox;
};

/* The first block whose first tile is not before the given one of all jobs' tiles. */
CSZ_DEVICE uint32_t block_of_tile(const decode_call *call, uint64_t tile) {
    const uint64_t a = tile * call->decode_blocks + call->nbox - 1;
    return a >> 31 ? (uint32_t)(a / call->nbox) : (uint32_t)a / (uint32_t)call->nbox;
}

/*
 * Spreads blocks over the jobs by tiles: block b begins with the job of tile b * nbox / decode_blocks of all.
 */
CSZ_DEVICE job_blocks job_blocks_in(const decode_call *call, uint32_t field, const job_frame *frame,
                                    const job_box *own) {
    if (call->njobs == 1) return {0, call->decode_blocks, (uint32_t)call->nbox};
    uint64_t all[3], before[3];
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint32_t t = call->geometry.log2_t[i];
        const uint64_t begin = call->begin[i] >> t;
        all[i] = csz_tiles_along(call->end[i], t) - begin;
        before[i] = frame->first[i] > begin ? frame->first[i] - begin : 0;
    }
    const uint64_t tiles_before = field * (all[0] * all[1] * all[2]) + before[0] * all[1] * all[2] +
                                  own->tiles[0] * (before[1] * all[2] + own->tiles[1] * before[2]);
    job_blocks b;
    b.first = block_of_tile(call, tiles_before);
    b.n = block_of_tile(call, tiles_before + own->ntiles) - b.first;
    b.nbox = own->ntiles;
    return b;
}

CSZ_DEVICE job_blocks job_blocks_of(const decode_call *call, uint32_t job_number) {
    const uint32_t field = job_number / call->nframes_box;
    const job_frame frame = job_frame_of(call, job_number - field * call->nframes_box);
    const job_box own = job_box_of(call, &frame);
    return job_blocks_in(call, field, &frame, &own);
}

/* A tile's place: number in its frame, and the tile's coordinates in the field's grid. */
typedef struct tile_place {
    uint32_t tile, at[3];
    int64_t shift; /* the job's */
} tile_place;

/* In place of a tile: there are no more, or none in this turn. */
enum { NO_TILE = 0xFFFFFFFFu, NO_TILE_NOW = 0xFFFFFFFEu };

CSZ_DEVICE tile_place tile_place_of(const decode_job *job, uint32_t i) {
    tile_place p;
    p.shift = job->shift;
    if (i >= job->nbox) {
        p.tile = NO_TILE;
        p.at[0] = p.at[1] = p.at[2] = 0;
        return p;
    }
    uint32_t x = i % job->box_tiles[2], rest = i / job->box_tiles[2];
    uint32_t y = rest % job->box_tiles[1], z = rest / job->box_tiles[1];
    x += job->box_first[2];
    y += job->box_first[1];
    z += job->box_first[0];
    p.tile = (z * job->tiles[1] + y) * job->tiles[2] + x;
    p.at[0] = job->first[0] + z;
    p.at[1] = job->first[1] + y;
    p.at[2] = job->first[2] + x;
    return p;
}

/* The place of a tile by its number in the frame; a frame has at most 2^20 tiles. */
CSZ_DEVICE tile_place tile_place_by_number(const decode_job *job, uint32_t tile) {
    const uint32_t row = csz_quotient(tile, job->row_inverse), plane = csz_quotient(row, job->plane_inverse);
    tile_place p;
    p.shift = job->shift;
    p.tile = tile;
    p.at[2] = job->first[2] + tile - row * job->tiles[2];
    p.at[1] = job->first[1] + row - plane * job->tiles[1];
    p.at[0] = job->first[0] + plane;
    return p;
}

CSZ_DEVICE void fault(const decode_job *job, uint32_t bits) { atomicOr(job->faults, bits); }

/* Archives whose frames may be pyramids.  Of tables/packed_tables.cu, and of
 * decode/packed/decompress_packed.cu: all launches. */
extern "C" int csz_cuda_packed_tables_launch(const decode_call *call, void *stream);
extern "C" int csz_cuda_packed_launch(decode_call *call, int nsms, size_t shared_nbytes, void *stream);
/* Of decode/decompress_packed_pointwise.cu: the kernel that decodes, with pointwise bounds. */
extern "C" int csz_cuda_packed_pointwise_launch(decode_call *call, int nsms, size_t shared_nbytes,
                                                void *stream);

/*
 * All launches for exact archives (decompress_exact.cu) and for pointwise bounds (decompress_pointwise.cu).
 */
extern "C" int csz_cuda_exact_launch(const decode_call *call, int nsms, int chained, void *stream);
extern "C" int csz_cuda_pointwise_launch(const decode_call *call, int nsms, int chained, void *stream);

/* Of tables.cu. */
extern "C" int csz_cuda_tables_launch(const decode_call *call, void *stream);
extern "C" void csz_cuda_empty_launch(const decode_call *call, void *stream);
/* n: at most ITEMS_AT_ONCE, which fit a kernel's parameters. */
enum { ITEMS_AT_ONCE = 64 };
extern "C" void csz_cuda_items_launch(decode_item *to, const decode_item *items, uint32_t n, void *stream);

#endif
