/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: what contexts and plans hold, and helpers the calls of the interface share. */
#ifndef CSZ_API_CONTEXT_H
#define CSZ_API_CONTEXT_H

#include "csz_frames.h"

#include "api/options.h"
#include "cpu/frame.h"

struct csz_context {
    csz_cpu_scratch cpu;
    struct csz_cuda_backend *cuda; /* made when first needed */
    csz_backend used;
    csz_bound_mode expected; /* of archives that calls of csz_cuda.h read */
    int device;              /* 1 + the number of the GPU; 0: the calling thread's own */
    uint8_t *stored;         /* a frame that a reader has read */
    uint64_t stored_capacity;
    csz_fill_suspect suspect; /* of the last field compressed or analysed */
    csz_fill_outlier outlier; /* of the same */
    csz_target target;        /* of the last field compressed to one */
};

struct csz_plan {
    csz_header header;
    csz_options options; /* checked; of compressing */
};

/* Of checked options; range NULL: the bound must not depend on it. */
csz_status csz_range_check(const csz_value_range *range, const csz_options *options);

/* The backend for data of this size that lies here or there; a device pointer needs CUDA. */
csz_status csz_backend_choose(csz_context *context, csz_backend wanted, uint64_t nbytes, const void *data,
                              const void *archive);

/* Whether a call that failed on the GPU, out of memory or because the device was lost, is repeated on the
 * CPU: only if the library chose the backend and nothing is in device memory. */
int csz_backend_falls_back(csz_context *context, csz_backend wanted, csz_status status, const void *data,
                           const void *archive);

/* What only the CPU does: to undo zstd.  CSZ_ERROR_BACKEND where CUDA is named. */
static inline csz_status csz_backend_restrict(csz_backend *wanted, int only_cpu) {
    if (!only_cpu) return CSZ_OK;
    if (*wanted == CSZ_BACKEND_CUDA) return CSZ_ERROR_BACKEND;
    *wanted = CSZ_BACKEND_CPU;
    return CSZ_OK;
}

/* A checked frame; zstd is undone into the context's scratch. */
csz_status csz_frame_open(csz_context *context, csz_frame_view *view, const uint8_t *stored,
                          uint64_t nbytes_left, const csz_header *header, uint64_t frame);

/* One frame as stored.  data has the layout of the plan's geometry, where the frame's number is `frame`; in
 * the archive it is `number`.  zstd packs it in scratch. */
csz_status csz_frame_compress(csz_context *context, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                              const void *data, const csz_header *header, const csz_tile_plan *plan,
                              uint64_t frame, uint64_t number, const csz_options *options);

/*
 * Holds a decoding call to its memory limit: values, buffers and, on the CPU, the scratch of its threads, or
 * of one if more do not fit.  *room: what is left.  Frees what the context keeps from earlier calls, which
 * would count.
 */
csz_status csz_limit_keep(csz_context *context, uint64_t *room, csz_decompress_options *options,
                          uint64_t values_nbytes, uint64_t buffers_nbytes, int on_cpu);

/* A finite bound above 0. */
csz_status csz_bound_check(const csz_options *options);

/*
 * Replaces a pointwise bound that the type's logarithms cannot hold: by Lorenzo instead of the pyramid, whose
 * logarithms are coarser; else by the floor as an absolute bound; else by exact.  The options were checked.
 */
void csz_bound_settle(csz_options *options, csz_type type);

/* csz_compress where the options name a bound, not a target. */
csz_status csz_compress_archive(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                const void *data, const csz_field *field, const csz_options *options);

/* The options of the archive that a search asks for: its bound, or exact where that is 0. */
csz_options csz_target_options(const csz_options *options, double bound);

/* Levels of resolution that previews can have; 1: none. */
int csz_header_nlevels(const csz_header *header);

/* A box of a level above 0 in effective dims, checked; NULL: the whole level.  *nelements: of the box. */
csz_status csz_level_box(uint64_t *lo, uint64_t *hi, uint64_t *nelements, const csz_header *header, int level,
                         const uint64_t *begin, const uint64_t *end);

/* What the header says, for csz_info. */
void csz_info_fill(csz_info *info, const csz_header *header, uint64_t archive_nbytes);

/* The same into a caller's structure. */
csz_status csz_info_output(csz_info *out, size_t out_nbytes, const csz_header *header,
                           uint64_t archive_nbytes);

/* 1 if the frame holds elements of the box lo <= index < hi of a level, effective dims. */
int csz_frame_touches(const csz_geometry *geometry, uint64_t frame, const uint64_t *lo, const uint64_t *hi,
                      int level);

/* A box of the original dims as boxes of the effective ones: one, but in four dims one for each slowest
 * index. */
typedef struct csz_region {
    uint64_t nparts;       /* boxes */
    uint64_t lo[3], hi[3]; /* the first */
    uint64_t stride;       /* how far along z the next one is */
    uint64_t nelements;    /* of all */
} csz_region;
csz_status csz_region_of(csz_region *region, const csz_field *field, const uint64_t *begin,
                         const uint64_t *end);

/* Restores the box lo .. hi, dense, into data. */
typedef csz_status (*csz_box_reader)(void *source, void *data, const uint64_t *lo, const uint64_t *hi);

/*
 * Restores all boxes of a region, one behind the other, into data.  Boxes that are close are read as one,
 * into a buffer of at most room bytes; singly, each would open its frame and decode shared tiles again.
 * is_packed: a frame is opened by undoing zstd for all of it.
 */
csz_status csz_region_read(void *data, csz_type type, const csz_region *region, int is_packed, uint64_t room,
                           csz_box_reader read, void *source);

/* The header of a field's archive, with the bound still to be resolved where it depends on the values. */
csz_status csz_header_plan(csz_header *header, const csz_field *field, const csz_options *options);

/* The bound of a planned header; range: of the field where the bound depends on it. */
void csz_header_resolve(csz_header *header, const csz_value_range *range);

/* Clears what a call reports: stages and progress over ntiles tiles. */
void csz_context_begin(csz_context *context, uint64_t ntiles);

/* Looks for fill values that options do not name; data is in host memory.  range: of the field, where the
 * bound depends on it; else NULL.  watch receives what was counted. */
void csz_context_watch(csz_context *context, csz_fill_watch *watch, const void *data, uint64_t nelements,
                       csz_type type, const csz_options *options, const csz_value_range *range);

#endif
