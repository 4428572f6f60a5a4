/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_job.cuh: what the encoder works on: a launch, and a block's shared memory.
 */
#ifndef CSZ_CUDA_ENCODE_JOB_CUH
#define CSZ_CUDA_ENCODE_JOB_CUH

#include "cuda/code/symbols.cuh"
#include "cuda/code/special.cuh"
#include "cuda/plan/work.cuh"

template <typename V> struct encode_job {
    csz_job<V> tile;
    csz_work work;
    uint32_t header_nwords;
    uint32_t shared_at;   /* see CSZ_SHARED_AT */
    uint32_t modes;       /* the workflow's, see modes_of */
    uint64_t first_frame; /* number of frame 0, where the field is part of a larger one */
};

enum : uint32_t { NOTHING_WAITS = ~0u, NO_FRAME = ~0u, NO_WAIT_TILES = 64 };
enum { RUN_MAX = 4 * 32 }; /* codes of a lane of runs */

/* What all threads know of a tile of class 0. */
struct tile_facts {
    uint32_t first, nfull, lengths_at; /* of its record, see record_begin */
    uint32_t special_words;            /* what masks and exceptions take; 0 where there are none */
    uint32_t raw_words;                /* of a raw record */
};

/*
 * How a record is staged. WHOLE: from the region's start. RAW: all words but the first. NOW: it reaches
 * into the exchange, so it is stored at once and cannot wait.
 */
enum { STAGED_WHOLE = 1, STAGED_RAW = 2, STAGED_NOW = 4 };

/* A record's way from the stage to the archive, set by the thread that placed it. */
struct alignas(16) record_way {
    uint64_t to;    /* address / 4 */
    uint32_t at;    /* word of the frame's payload */
    uint32_t words; /* of the record */
    uint32_t from;  /* word of the region */
    uint32_t flags; /* WAY_... */
    uint32_t slot;  /* of its tile's claim */
    uint32_t padding;
    unsigned long long *group_sum; /* where its checksum is added */
};

/*
 * SOME: there is a record to store. ROOM: it fits the output. RAW: it is raw. FIRST: it is its frame's
 * first, so the books are stored with it. WAITED: its look-back polled for long.
 */
enum { WAY_SOME = 1, WAY_ROOM = 2, WAY_RAW = 4, WAY_FIRST = 8, WAY_WAITED = 16 };

/*
 * The next tile is claimed while the previous record is placed, so that its lines can be prefetched. But
 * while the block spins for that place, it holds a tile that it does not work on, and later tiles wait
 * for that tile. So after a look-back of more than LONG_WAIT_TURNS polls, the next DELAYED_CLAIMS tiles
 * are claimed after a place is known.
 */
enum { LONG_WAIT_TURNS = 32, DELAYED_CLAIMS = 16 };

/* A frame, as its tiles are found in it without a division of integers. */
struct frame_grid {
    uint64_t origin;  /* of tile 0: element, counted from the first field's data */
    uint64_t step[3]; /* from a tile to the next along each dim, elements */
    uint32_t tiles[3];
    uint32_t end[3];            /* number of the last tile along each dim, and */
    uint32_t last[3], whole[3]; /* elements of that one and of all others */
    float inverse_y, inverse_x; /* of tiles[1], tiles[2] */
};

template <typename V> struct encode_shared {
    csz_predict_shared<V> predict;
    alignas(16) uint32_t books[CSZ_SHARED_BOOKS_WORDS];
    csz_special_shared special;
    csz_special_sizes special_sizes;
    tile_facts facts;
    /* of lanes, a word for each warp: bits in all; the longest | (2^16 - 1 - the shortest) << 16 */
    uint4 nbits, longest;
    uint32_t frame;         /* that the block has entered: of this tile, or still of the tile before */
    uint32_t leaving;       /* previous frame, while a record of it waits; NO_FRAME: none */
    uint32_t number;        /* of this tile among the block's */
    uint32_t claim_at;      /* byte offset of this tile's claim in claim[] */
    csz_claim claim[4];     /* ring: tile number & 3 */
    frame_grid grid;        /* of the last claim's frame */
    uint32_t staged_words;  /* of this tile's record */
    uint32_t staged_how;    /* STAGED_... */
    uint32_t waiting_words; /* of the record before this tile's, while it is not stored */
    uint32_t waiting_how;   /* STAGED_WHOLE if that record takes more than its half of the stage */
    uint32_t saved_words, saved_how; /* the same of one that was taken out of the stage, see record_save */
    uint32_t no_wait;                /* so many more records are stored without waiting in the stage */
    uint32_t delays_claim;           /* not 0: the next tile is claimed after a place is known */
    uint32_t delayed_claims;         /* delayed claims left; only one thread reads and writes it */
    uint32_t skips_some;             /* not 0: all claims are delayed, as fields are skipped */
    /* The block's part of its frame's sums; section_checksum apart, because several threads add to it. */
    unsigned long long part_checksum, section_checksum;
    unsigned long long finish_checksum; /* of a frame's header and index; 0 but while they are made */
    uint32_t part_done;
    /* the frame whose start is known, as records are placed in it */
    uint32_t frame_start_of;
    uint64_t frame_start, payload_start; /* address / 4 */
    uint64_t out_end;                    /* of its archive's room */
    uint32_t section_nwords;             /* of its books */
    uint32_t sizes_at;                   /* words of it before the sizes of tiles, */
    uint16_t *sizes;                     /* which are here */
    record_way way;                      /* of the record that is being stored */
    /*
     * Pointers of csz_work, copied here: a noinline function would reload them from the job for every
     * tile.
     */
    unsigned long long *tile_state, *group_sum;
    const uint32_t *ready;
    const uint32_t (*tables)[CSZ_NBOOKS][CSZ_SYMBOLS_MAX];
    csz_frame_sums *frame_sums;
    uint32_t seen_of; /* index of the tile whose look-back has begun */
    uint4 seen[32];   /* states of the 64 tiles before it, from the nearest on */
    uint32_t last;    /* whether the block is the last of its frame, or its frame of the field */
    uint32_t hash_sum[CSZ_TILE_THREADS]; /* of units over the block's tiles of the frame, before the units'
                                            weights */
    uint8_t run_values[CSZ_WIDE_N], run_lengths[RUN_MAX]; /* bits of code words of books RV, RL */
};

/* All but the modes. */
template <typename V>
static encode_job<V> encode_job_make(const csz_work &work, const void *d_data, const csz_cuda_plan *plan) {
    encode_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.first_frame = plan->first_frame;
    job.header_nwords = plan->header_nbytes / 4;
    job.shared_at = CSZ_SHARED_BASE;
    job.modes = 0;
    return job;
}

template <typename V> CSZ_DEVICE uint32_t *exchange_of(encode_shared<V> &sh) {
    return csz_exchange(sh.predict);
}

#endif
