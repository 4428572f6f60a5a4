/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_frames.h: fields in pieces, for fields larger than memory, several devices and several processes.  The
 * rules of csz.h hold here too.
 *
 * An archive is a header, frames, a footer, and metadata where it has any.  A frame is a box of the field
 * that depends on dims and type alone.  Frames are coded one by one, in any order, by any context of any
 * process; joined in order they are what csz_compress writes, byte for byte.
 *
 * Boxes are given in the field's effective dims, slowest first: dims of 1 are dropped, of four others the
 * two slowest are one, and missing ones are 1.  The field is row-major in them too: element (z, y, x) is
 * number (z * n[1] + y) * n[2] + x.  The values of a frame are dense: its box and nothing else, row-major.
 * In most fields a frame is a slab of whole planes, and so a contiguous part of the field.
 */
#ifndef CSZ_FRAMES_H
#define CSZ_FRAMES_H

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Ranges ---------------------------------------------------------------------------------------- */

/* Smallest and largest finite value that is not missing, of what was added.  Zeroed, it is empty. */
typedef struct csz_value_range {
    int has_values;
    double min, max;
} csz_value_range;

/*
 * Adds n values to the range; options give fill and threads and may be NULL.  Values in device memory must
 * be those of the calling thread's device, which does the work.
 */
CSZ_API csz_status csz_range_add(csz_value_range *range, const void *values, uint64_t n, csz_type type,
                                 const csz_options *options);
CSZ_API void csz_range_join(csz_value_range *range, const csz_value_range *other);

/* The absolute bound that the options ask for in a field of this range; 0: exact.  Not for pointwise ones. */
CSZ_API csz_status csz_range_bound(double *bound_abs, const csz_value_range *range,
                                   const csz_options *options);

/* ---- Frames ---------------------------------------------------------------------------------------- */

typedef struct csz_plan csz_plan; /* what all frames have in common; any thread may read it */

typedef struct csz_frame {
    uint64_t begin[3], end[3]; /* half-open */
    uint64_t nelements;
    size_t values_nbytes;
    size_t capacity; /* no frame of this box is larger as stored, whatever its values */
} csz_frame;

typedef struct csz_layout {
    uint64_t n[3]; /* effective dims */
    uint64_t nframes;
    size_t header_nbytes, footer_nbytes;
    size_t values_nbytes, capacity; /* of the largest frame */
    size_t zstd_nbytes;             /* that a context needs for a frame with zstd, besides its scratch */
    size_t lattices_nbytes; /* the same for one that may be a pyramid, and 1 MiB for each thread; else 0 */
    size_t metadata_nbytes; /* of the section that stands behind the footer */
} csz_layout;

/*
 * csz_plan_create: for compressing.  range is that of the whole field, finite and min <= max; NULL where
 * the bound is absolute.  csz_plan_open: for decompressing, from the archive's first bytes, as
 * csz_inspect_header takes them.
 */
CSZ_API csz_status csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                                   const csz_value_range *range);
CSZ_API csz_status csz_plan_open(csz_plan **plan, const void *start, size_t start_nbytes);
CSZ_API void csz_plan_destroy(csz_plan *plan); /* NULL is allowed */
CSZ_API csz_status csz_plan_layout(csz_layout *layout, size_t layout_nbytes, const csz_plan *plan);
CSZ_API csz_status csz_plan_info(csz_info *info, size_t info_nbytes,
                                 const csz_plan *plan); /* nbytes_archive is 0 */
CSZ_API csz_status csz_plan_frame(csz_frame *frame, const csz_plan *plan, uint64_t i);

/*
 * The archive's first and last bytes; the layout says how many.  frames_nbytes are the frames' sizes, in
 * order.
 */
CSZ_API csz_status csz_plan_header(void *out, size_t capacity, const csz_plan *plan);
CSZ_API csz_status csz_plan_footer(void *out, size_t capacity, const uint64_t *frames_nbytes,
                                   const csz_plan *plan);

/*
 * One frame from its values, which may lie on the device; out is host memory.  Threads, backend and zstd
 * level are the plan's.
 */
CSZ_API csz_status csz_compress_frame(csz_context *context, void *out, size_t capacity, size_t *out_nbytes,
                                      const void *values, const csz_plan *plan, uint64_t i);

/*
 * The size of a frame as stored, from its first CSZ_FRAME_START_NBYTES bytes; never above the frame's
 * capacity.
 */
#define CSZ_FRAME_START_NBYTES 32
CSZ_API csz_status csz_frame_nbytes(uint64_t *nbytes, const void *start, const csz_plan *plan, uint64_t i);

/* Which predictor a frame has, from the same bytes: CSZ_PREDICTOR_LORENZO or CSZ_PREDICTOR_PYRAMID. */
CSZ_API csz_status csz_frame_predictor(csz_predictor *predictor, const void *start, const csz_plan *plan,
                                       uint64_t i);

/*
 * Restores the part of a frame that lies in the box begin <= index < end of effective dims, dense, into
 * values, which may lie on the device.  NULL, NULL: the whole frame.  All that is restored is checked, for
 * a whole frame also the checksum of the values.  values NULL: the whole frame is decoded and checked on
 * the CPU, and nothing is stored.  The memory limit bounds values, scratch and the frame before zstd, but
 * not `stored`, which is the caller's.
 */
CSZ_API csz_status csz_decompress_frame(csz_context *context, void *values, size_t capacity,
                                        const void *stored, size_t stored_nbytes, const csz_plan *plan,
                                        uint64_t i, const uint64_t *begin, const uint64_t *end,
                                        const csz_decompress_options *options);

/* Adds a frame's tiles to the counts, as csz_survey does for all.  Zeroed counts are empty. */
CSZ_API csz_status csz_survey_frame(csz_context *context, csz_tile_counts *counts, size_t counts_nbytes,
                                    const void *stored, size_t stored_nbytes, const csz_plan *plan,
                                    uint64_t i);

/* ---- Readers --------------------------------------------------------------------------------------- */

typedef struct csz_reader csz_reader; /* an archive behind a callback; any thread may use it */

/*
 * Reads exactly nbytes at offset into buffer.  Anything but 0 is a failure, and the call that needed the
 * bytes returns CSZ_ERROR_IO.
 */
typedef int (*csz_read_at)(void *user, uint64_t offset, void *buffer, size_t nbytes);

/* Reads header and footer of an archive of archive_nbytes; frames only where the footer is damaged. */
CSZ_API csz_status csz_reader_open(csz_reader **reader, csz_read_at read_at, void *user,
                                   uint64_t archive_nbytes);
CSZ_API void csz_reader_close(csz_reader *reader); /* NULL is allowed */
CSZ_API const csz_plan *csz_reader_plan(const csz_reader *reader);
CSZ_API csz_status csz_reader_info(csz_info *info, size_t info_nbytes, const csz_reader *reader);

/* The archive's metadata, of the size that csz_reader_info tells; reading it was part of csz_reader_open. */
CSZ_API csz_status csz_reader_metadata(void *section, size_t capacity, const csz_reader *reader);

/* Where a frame lies in the archive. */
CSZ_API csz_status csz_reader_frame(uint64_t *offset, uint64_t *nbytes, const csz_reader *reader, uint64_t i);

/*
 * Reads a frame into stored, for csz_decompress_frame with the same box.  NULL, NULL: all of it.  For a
 * part, its index and the groups of tiles that the box touches are read, each to its place; the bytes
 * between them stay as they were.
 */
CSZ_API csz_status csz_reader_fetch(void *stored, size_t capacity, size_t *stored_nbytes,
                                    const csz_reader *reader, uint64_t i, const uint64_t *begin,
                                    const uint64_t *end);

/*
 * csz_decompress_region and csz_decompress_level for a reader, on the CPU: they read only the groups of
 * tiles that the box needs.
 */
CSZ_API csz_status csz_reader_region(csz_context *context, void *data, size_t data_capacity,
                                     const csz_reader *reader, const uint64_t *begin, const uint64_t *end,
                                     const csz_decompress_options *options);
CSZ_API csz_status csz_reader_level(csz_context *context, void *data, size_t data_capacity,
                                    const csz_reader *reader, int level, const uint64_t *begin,
                                    const uint64_t *end, const csz_decompress_options *options);

/* ---- The search for a size ------------------------------------------------------------------------- */

/*
 * The search for an absolute bound whose archive has at most nbytes_wanted bytes, and at most 3% fewer: the
 * tightest of those that are tried.  Where sizes jump there may be more than 3%.  An exact archive that is as
 * small is tighter than any, and has bound 0.  It is made where the target is an eighth of the field or more,
 * before bounds below 2^-14 of the range, and where no other archive comes within the 3%; then, last, the one
 * of the tightest bound is made, too.  csz_compress does it for a field in memory with CSZ_BOUND_RATIO and
 * CSZ_BOUND_SIZE; csz_context_target tells what its last such call found, also where that returned
 * CSZ_ERROR_TARGET.
 *
 * For fields in pieces: csz_target_begin, then for each bound of csz_target_next an archive with
 * CSZ_BOUND_ABS, or where it is 0 with CSZ_BOUND_EXACT, workflow auto and predictor Lorenzo, whose size
 * csz_target_tell takes, until csz_target_next returns 0.  Then `bound` is the answer if is_reached.  Six
 * archives are the average, 24 the most.  The result depends on the sizes alone, so it is the same on every
 * machine.
 *
 * csz_target_guess, before the first bound, lets the analysis of a large field in memory choose that, as
 * csz_compress does.  Without it the search takes more archives, and the bound may differ.
 * With predictor pyramid or auto the bound may differ between a large field in host memory and the same one
 * in device memory, as the analysis there knows no pyramids.
 */
typedef struct csz_target {
    uint64_t nbytes_wanted;
    double bound;    /* that reaches the target, 0: exact; where none does, that of the smallest archive */
    uint64_t nbytes; /* of its archive */
    int ntrials;     /* archives made */
    int is_reached;  /* nbytes <= nbytes_wanted */
    int is_close;    /* reached, with at most 3% fewer; else sizes jump there, or an exact one is as small */
    int is_done;
    double min, max; /* of the field; 0 where it has no values */
    int has_low, has_high, nstays, stays_high, nprobes, exact, is_flat, is_last, ntried; /* of the search */
    int64_t low, high, least, most, next, after_exact, least_step;
    uint64_t nelements, nbytes_low, nbytes_high;
    double slope;
    int64_t tried[24]; /* bounds in order, without that of the exact archive */
    uint64_t nbytes_tried[24];
} csz_target;

CSZ_API csz_status csz_target_begin(csz_target *target, size_t target_nbytes, uint64_t nbytes_wanted,
                                    const csz_value_range *range, const csz_field *field);
CSZ_API csz_status csz_target_guess(csz_target *target, csz_context *context, const void *data,
                                    const csz_field *field, const csz_options *options);
CSZ_API int csz_target_next(double *bound, const csz_target *target);
CSZ_API void csz_target_tell(csz_target *target, uint64_t nbytes);
CSZ_API csz_status csz_context_target(const csz_context *context, csz_target *target, size_t target_nbytes);

/* ---- Fill values that nobody named ----------------------------------------------------------------- */

/*
 * What csz_context_fill_suspect is found from, of what was added.  Zeroed, it is empty.  Programs may read n
 * and, where nlow is not 0, the range low[0].value .. high[0].value of what was looked at.  They may set
 * is_exact and is_part before anything is added, bound_mode and bound before csz_fill_watch_result.  The rest
 * is the library's.
 */
enum { CSZ_WATCH_NENDS = 9, CSZ_WATCH_NDISTINCT = 26, CSZ_WATCH_NFEW = 256 };
typedef struct csz_fill_count {
    double value;
    uint64_t n;
} csz_fill_count;
typedef struct csz_fill_watch {
    uint64_t n;                                                 /* elements looked at */
    uint64_t nmissing;                                          /* of these with the options' fill value */
    csz_fill_count low[CSZ_WATCH_NENDS], high[CSZ_WATCH_NENDS]; /* outermost finite values, not missing */
    double distinct[CSZ_WATCH_NDISTINCT];                       /* some of all values */
    double few[CSZ_WATCH_NFEW]; /* values from all over the field, in no order */
    int nlow, nhigh, ndistinct, nfew;
    int is_exact;              /* all elements are looked at, else a sample */
    int is_part;               /* of a field: a value need not recur, nor others be many */
    csz_bound_mode bound_mode; /* of the options */
    double bound;
} csz_fill_watch;

/*
 * csz_context_fill_suspect for a field in pieces: adds the n values in host memory that are elements first,
 * first + 1, ... of the row-major field of nelements.  Pieces may come in any order.  options give the fill
 * value and the bound, and may be NULL.
 *
 * csz_fill_watch_recount is for relative bounds and PSNR, once the whole field was added and its range is
 * known.  1: something is suspicious.  The watch is empty again; add all pieces once more, and every element
 * is counted.  0: that is not needed.
 *
 * csz_fill_watch_outlier is csz_context_fill_outlier, for a field of this range.
 */
CSZ_API csz_status csz_fill_watch_add(csz_fill_watch *watch, const void *values, uint64_t first, uint64_t n,
                                      csz_type type, uint64_t nelements, const csz_options *options);
CSZ_API int csz_fill_watch_recount(csz_fill_watch *watch, const csz_value_range *range, csz_type type);
CSZ_API void csz_fill_watch_result(csz_fill_suspect *suspect, const csz_fill_watch *watch, csz_type type);
CSZ_API void csz_fill_watch_outlier(csz_fill_outlier *outlier, const csz_fill_watch *watch,
                                    const csz_value_range *range, csz_type type);

#ifdef __cplusplus
}
#endif

#endif
