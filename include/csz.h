/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz.h: the public interface of cuSZ+, an error-bounded lossy compressor for scientific fields.
 *
 * A field (an n-D array of f32 or f64) and a bound on the error go in; an archive comes out.  The archive
 * describes itself: decompressing needs no other knowledge.  Every finite value comes back within the
 * bound; NaN (payload and all), infinities and -0.0 come back bit for bit.  The same field and options
 * give the same bytes on every machine, for every thread count and on every backend.
 *
 * Every call returns a csz_status; the library never prints, exits or keeps global state.  A context owns
 * scratch memory and the threads that its calls have asked for, which sleep between calls, and is used by
 * one thread at a time; different contexts may run at once.  A call takes at most 32 KiB of its thread's
 * stack, in a build with optimization and without what a CUDA driver takes.
 */
#ifndef CSZ_H
#define CSZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CSZ_API __attribute__((visibility("default")))
#else
#define CSZ_API
#endif

#define CSZ_VERSION_MAJOR 0
#define CSZ_VERSION_MINOR 1
#define CSZ_VERSION_PATCH 0
#define CSZ_FORMAT_VERSION 1
#define CSZ_MAX_NDIM 4

/* The numbers are part of the interface and never change meaning. */
typedef enum csz_status {
    CSZ_OK = 0,
    CSZ_ERROR_ARGUMENT = 1,    /* a null pointer, or an option outside its range */
    CSZ_ERROR_TYPE = 2,        /* a type other than f32 and f64 */
    CSZ_ERROR_DIMS = 3,        /* rank outside 1..4, or a product of dims beyond 2^56 */
    CSZ_ERROR_BOUND = 4,       /* a bound that is 0, negative, NaN or infinite */
    CSZ_ERROR_CAPACITY = 5,    /* the output buffer is too small */
    CSZ_ERROR_MEMORY = 6,      /* an allocation failed */
    CSZ_ERROR_LIMIT = 7,       /* the result would exceed the memory limit given */
    CSZ_ERROR_REGION = 8,      /* a region that is empty, reversed or outside the field */
    CSZ_ERROR_NOT_ARCHIVE = 9, /* the bytes do not start as an archive does */
    CSZ_ERROR_VERSION = 10,    /* an archive of a newer version, or with a feature unknown here */
    CSZ_ERROR_TRUNCATED = 11,  /* the archive ends too early */
    CSZ_ERROR_CORRUPT = 12,    /* a checksum or a structure of the archive does not hold */
    CSZ_ERROR_TRAILING = 13,   /* bytes follow the archive's end */
    CSZ_ERROR_BACKEND = 14,    /* the backend asked for is not available */
    CSZ_ERROR_ZSTD = 15,       /* zstd is needed and this build lacks it, or zstd failed */
    CSZ_ERROR_IO = 16,         /* a callback that reads has failed; in csz_mpi.h also a file */
    CSZ_ERROR_INTERNAL = 17,   /* compressing found itself at fault and gives no archive */
    CSZ_ERROR_LEVEL = 18       /* the archive has no such level of resolution */
} csz_status;

typedef enum csz_type { CSZ_F32 = 0, CSZ_F64 = 1 } csz_type;

typedef enum csz_bound_mode {
    CSZ_BOUND_ABS = 0, /* |restored - original| <= bound */
    CSZ_BOUND_REL = 1, /* <= bound * (max - min), over finite values that are not missing */
    CSZ_BOUND_PSNR =
        2 /* the PSNR in dB, 20 log10((max - min) / rmse), is at least bound: a guarantee from the
                           largest error, usually exceeded by 4.8 dB */
} csz_bound_mode;

typedef enum csz_workflow {
    CSZ_WORKFLOW_AUTO = 0,    /* coders tile by tile, or one for all tiles of a frame where that is smaller */
    CSZ_WORKFLOW_HUFFMAN = 1, /* the paper's VLE */
    CSZ_WORKFLOW_RLE = 2,     /* the paper's RLE */
    CSZ_WORKFLOW_RLE_VLE = 3  /* the paper's RLE+VLE */
} csz_workflow;

typedef enum csz_backend { CSZ_BACKEND_AUTO = 0, CSZ_BACKEND_CPU = 1, CSZ_BACKEND_CUDA = 2 } csz_backend;

/* Shape of a field.  dims[0] is the slowest dimension, as in NumPy and HDF5; data is contiguous. */
typedef struct csz_field {
    csz_type type;
    int ndim; /* 1..4; of four dimensions above 1 the two slowest are predicted as one */
    uint64_t dims[CSZ_MAX_NDIM];
} csz_field;

/*
 * How values are predicted: by their neighbours (Lorenzo), or by interpolation on a pyramid of lattices, which makes smooth fields
 * smaller and gives previews.  AUTO: frame by frame, by what is smaller.  Fields of one dim are always predicted by
 * Lorenzo.  The pyramid is of the CPU backend alone.
 */
typedef enum csz_predictor {
    CSZ_PREDICTOR_LORENZO = 0,
    CSZ_PREDICTOR_PYRAMID = 1,
    CSZ_PREDICTOR_AUTO = 2
} csz_predictor;
#define CSZ_PREDICTOR_DEFAULT CSZ_PREDICTOR_LORENZO

/* Fill with csz_options_init, then change what differs. */
typedef struct csz_options {
    csz_bound_mode bound_mode;
    double bound;
    csz_workflow workflow;
    csz_backend backend;
    int threads;           /* 0: one per core.  Never changes the bytes */
    int zstd_level;        /* 0: none; 1..22: a final zstd pass over each frame */
    int has_fill;          /* values with fill's bits are missing: not in the range, restored exactly */
    double fill;           /* converted to the field's type */
    uint64_t memory_limit; /* decoding refuses to use more than this for field and scratch; 0: none */
    csz_predictor predictor;
} csz_options;

/* What an archive says of itself. */
typedef struct csz_info {
    csz_field field;
    csz_bound_mode bound_mode;
    double bound;     /* as the user gave it */
    double bound_abs; /* as resolved; 0 means exact */
    csz_workflow workflow;
    int has_fill;
    double fill;
    int has_zstd;
    int format_version;
    uint64_t nelements;
    uint64_t nbytes_field;
    uint64_t nbytes_archive;
    uint64_t nframes;
    uint64_t ntiles;
    uint64_t tile_dims[3]; /* slowest first, 1 where the effective rank is lower */
    int predictor;         /* CSZ_PREDICTOR_LORENZO; else CSZ_PREDICTOR_AUTO: each frame has its own */
    int nlevels;           /* of resolution that previews can have, the field's own included; 1 of a Lorenzo archive */
} csz_info;

enum { CSZ_NLEVELS_MAX = 32 };

/* How tiles were coded: filled by csz_survey, by reading every tile's first word. */
typedef struct csz_tile_counts {
    uint64_t empty;    /* no record: every value is quantum 0 */
    uint64_t constant; /* one quantum */
    uint64_t fill;     /* one bit pattern */
    uint64_t mask8;    /* M: eight codes a symbol */
    uint64_t quad;     /* Q: four codes a symbol */
    uint64_t pair;     /* P: two codes a symbol */
    uint64_t single;   /* S: one code a symbol */
    uint64_t rle;
    uint64_t rle_vle;
    uint64_t raw;
    uint64_t sparse;     /* a few nonzero codes and where they are */
    uint64_t masks;      /* masks of missing or special values */
    uint64_t exceptions; /* values stored bit for bit, one by one */
    uint64_t nbytes_books;
    uint64_t nbytes_index;
    uint64_t nbytes_payload;
    uint64_t npyramids;              /* frames that the pyramid predicts */
    uint64_t nbytes_level[CSZ_NLEVELS_MAX]; /* that a preview of this level reads of the payload */
} csz_tile_counts;

/* Seconds the last call of a context spent, summed over threads; zero where a stage did not run. */
typedef struct csz_stages {
    double range;    /* minimum and maximum of the field */
    double sample;   /* histograms of sampled tiles, which are quantized for them: all of a small frame's */
    double books;    /* code lengths, codebooks, decode tables */
    double quantize; /* load, quantize, check, Lorenzo difference (compress) */
    double encode;   /* modes, symbols, bits (compress) */
    double place;    /* copies into the archive and checksums */
    double decode;   /* bits to deltas (decompress) */
    double restore;  /* partial sums, scale, exceptions, store (decompress) */
    double total;    /* wall clock */
} csz_stages;

/* Differences of two fields; see csz_compare. */
typedef struct csz_metrics {
    uint64_t n;           /* elements compared */
    uint64_t n_special;   /* of these not finite in a or missing: compared bit for bit, left out below */
    uint64_t violations;  /* |a - b| > bound, or special values that differ in bits */
    uint64_t worst_index; /* of max_abs_error; of the first special value that differs, where one does and no
                             error is above the bound */
    double min, max;      /* of a, finite and not missing */
    double max_abs_error;
    double rmse;
    double nrmse; /* rmse / (max - min) */
    double psnr;  /* 20 log10((max - min) / rmse); +inf when rmse is 0 */
} csz_metrics;

/* A value that looks like one for missing data and is not the fill value of the options; see csz_context_fill_suspect. */
typedef struct csz_fill_suspect {
    int found;        /* 0: there is none, and the rest is 0 */
    double value;     /* as the field has it */
    double share;     /* of the elements looked at */
    double low, high; /* smallest and largest of the others looked at */
} csz_fill_suspect;

typedef struct csz_context csz_context;

CSZ_API csz_status csz_context_create(csz_context **context);
CSZ_API void csz_context_destroy(csz_context *context); /* NULL is allowed */

/* One short English phrase without a full stop; never NULL. */
CSZ_API const char *csz_status_string(csz_status status);

/* "0.1.0" */
CSZ_API const char *csz_version_string(void);

/* Absolute bound 0 (to be set), auto workflow, auto backend, one thread per core, no zstd, no fill, no limit. */
CSZ_API void csz_options_init(csz_options *options);

/*
 * csz_backend_built: 1 if this build has the backend.  csz_backend_available: 1 if this machine can use it too; CUDA needs a driver
 * and a card of compute capability 7.5 or above.  AUTO takes CUDA where it is available and the data is already on the device, or
 * at least 32 MiB, and the CPU after all where the card lacks the memory or fails; archives with zstd are read on the CPU.
 */
CSZ_API int csz_backend_built(csz_backend backend);
CSZ_API int csz_backend_available(csz_backend backend);

/* 1 if this build can write and read archives with a final zstd pass. */
CSZ_API int csz_zstd_available(void);

/* The largest archive that the field can give, whatever its values: at most raw + 1% + 1 KiB. */
CSZ_API csz_status csz_compress_bound(size_t *nbytes, const csz_field *field, const csz_options *options);

/*
 * Compresses data (contiguous, the field's type and dims) into out.  *out_nbytes receives the archive's
 * size.  With a capacity of csz_compress_bound the call never fails for lack of room; with less it may
 * return CSZ_ERROR_CAPACITY, and what out holds then is undefined.  The two buffers must not overlap.  With the CUDA backend each
 * may lie in host or in device memory; the call works on the default stream and returns when it is done.
 */
CSZ_API csz_status csz_compress(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                const void *data, const csz_field *field, const csz_options *options);

/*
 * Reads header and footer, checks them, decodes nothing.  csz_inspect_header needs only the archive's
 * first bytes (CSZ_HEADER_MAX_NBYTES always suffice; fewer where the archive is shorter) and leaves
 * nbytes_archive 0.
 */
#define CSZ_HEADER_MAX_NBYTES 256
CSZ_API csz_status csz_inspect(csz_info *info, const void *archive, size_t archive_nbytes);
CSZ_API csz_status csz_inspect_header(csz_info *info, const void *start, size_t start_nbytes);

/*
 * Restores the whole field into data, whose capacity must be at least info.nbytes_field.  Options give
 * threads, backend and memory limit; NULL means the defaults.  On failure data holds nothing of meaning.  Device memory as for csz_compress.
 */
CSZ_API csz_status csz_decompress(csz_context *context, void *data, size_t data_capacity, const void *archive,
                                  size_t archive_nbytes, const csz_options *options);

/*
 * Restores the box begin[i] <= index[i] < end[i] in the original dims, contiguous in data, decoding only
 * the tiles it touches.  begin and end have info.field.ndim entries.
 */
CSZ_API csz_status csz_decompress_region(csz_context *context, void *data, size_t data_capacity,
                                         const void *archive, size_t archive_nbytes, const uint64_t *begin,
                                         const uint64_t *end, const csz_options *options);

/*
 * Previews.  Level 1 of an archive that was compressed with the pyramid is every second value along each dim, level 2 every fourth,
 * and so on: values within the bound, from a fraction of the bytes; -0.0 may come back as 0.  Levels below info.nlevels exist; others, and those of
 * Lorenzo archives, are CSZ_ERROR_LEVEL.  csz_level_field: type and dims of a level, ceil(n / 2^level) each; of four dims
 * above 1 the two slowest are one, as in the archive, so that a level has three.  csz_decompress_level: the box begin <= index < end of a
 * level, in its own dims (NULL, NULL: all of it), on the CPU.  Frames of such an archive that were better predicted by Lorenzo are
 * restored whole for it.
 */
CSZ_API csz_status csz_level_field(csz_field *field, const csz_info *info, int level);
CSZ_API csz_status csz_decompress_level(csz_context *context, void *data, size_t data_capacity,
                                        const void *archive, size_t archive_nbytes, int level,
                                        const uint64_t *begin, const uint64_t *end,
                                        const csz_options *options);

/* Checks everything: structure, every checksum, and the restored values' checksum, by decoding frame by frame on the CPU. */
CSZ_API csz_status csz_test(csz_context *context, const void *archive, size_t archive_nbytes,
                            const csz_options *options);

/* Counts tiles by coder.  Checks the frames' checksums; does not decode. */
CSZ_API csz_status csz_survey(csz_context *context, csz_tile_counts *counts, const void *archive,
                              size_t archive_nbytes);

/* The backend that the context's last call used: CSZ_BACKEND_CPU or CSZ_BACKEND_CUDA; AUTO before the first. */
CSZ_API csz_backend csz_context_backend(const csz_context *context);

/* Share of the running call's work that is done, 0 to 1.  The one call that another thread may make at the same time. */
CSZ_API double csz_context_progress(const csz_context *context);

/* Seconds per stage of the context's last call that had csz_context_profile on. */
CSZ_API void csz_context_profile(csz_context *context, int on);
CSZ_API void csz_context_stages(const csz_context *context, csz_stages *stages);

/*
 * Whether the field of the context's last csz_compress or csz_analyze seems to have a fill value that options did not name.  A relative
 * bound or a PSNR then refers to a range that the fill value makes, and may have lost everything else; under an absolute bound every value
 * keeps it, but missing ones are no longer marked by the same bits.  Found is a value that recurs (in about 1 of 1,000 elements or more), has the
 * largest magnitude and lies far outside all others, by a sample of 1,024 to 3,500 elements: the same for every backend and number of threads.
 * Fields in device memory are not looked at.  Nothing is refused for it.
 */
CSZ_API void csz_context_fill_suspect(const csz_context *context, csz_fill_suspect *suspect);

/*
 * Compares b with a in one pass, in double.  bound: what |a - b| may be, exactly; a negative one means
 * none, and NaN is refused.  Values of a that are not finite, or equal to options->fill where has_fill,
 * must agree bit for bit.  a and b may have any alignment.  options may be NULL.
 */
CSZ_API csz_status csz_compare(csz_metrics *metrics, const void *a, const void *b, const csz_field *field,
                               double bound, const csz_options *options);

/* ---- Frames: fields larger than memory, several devices, several processes --------------------------- */

/*
 * An archive is a header, frames, and a footer.  A frame is a box of the field that depends on dims and type alone; frames are coded
 * one by one, in any order, by any context of any process, and joined in order they are what csz_compress writes, byte for byte.
 *
 * Boxes are given in the field's effective dims, slowest first: dims of 1 dropped, of four others the two slowest as one, 1 where fewer
 * remain.  The field is row-major in them too: element (z, y, x) is number (z * n[1] + y) * n[2] + x.  The values of a frame are dense: its
 * box and nothing else, row-major.  In most fields a frame is a slab of whole planes, and so a contiguous part of the field.
 */
typedef struct csz_plan csz_plan; /* what all frames have in common; read by any number of threads at once */
typedef struct csz_reader csz_reader; /* an archive behind a callback; the same */

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
    csz_info info;                  /* nbytes_archive is 0 */
    size_t
        zstd_nbytes; /* what a context takes for a frame with zstd, besides its threads' scratch: the frame before it, and zstd's own */
} csz_layout;

/* Smallest and largest finite value that is not missing, of as much of a field as was added.  Zeroed, it is empty. */
typedef struct csz_value_range {
    int has_values;
    double min, max;
} csz_value_range;

/* Adds n values to the range; options give fill and threads.  On the CPU; of values in device memory on the device, which must be the calling thread's. */
CSZ_API csz_status csz_range_add(csz_value_range *range, const void *values, uint64_t n, csz_type type,
                                 const csz_options *options);
CSZ_API void csz_range_join(csz_value_range *range, const csz_value_range *other);

/* The sample by which a fill value is suspected, of as much of a field as was added.  Zeroed, it is empty. */
enum { CSZ_WATCH_NDISTINCT = 16 };
typedef struct csz_fill_watch {
    uint64_t n;        /* elements looked at */
    uint64_t nextreme; /* of these with the value `extreme`, the finite one of the largest magnitude */
    uint64_t nothers;  /* finite ones, not missing, of other values */
    double extreme;
    double low, high; /* of the others */
    int ndistinct;    /* of the others, up to CSZ_WATCH_NDISTINCT */
    double distinct[CSZ_WATCH_NDISTINCT];
} csz_fill_watch;

/*
 * csz_context_fill_suspect for a field in pieces: adds the n values in host memory that are elements first, first + 1, ... of the row-major field of
 * nelements.  Pieces may come in any order.  options, which may be NULL, give the fill value.
 */
CSZ_API csz_status csz_fill_watch_add(csz_fill_watch *watch, const void *values, uint64_t first, uint64_t n,
                                      csz_type type, uint64_t nelements, const csz_options *options);
CSZ_API void csz_fill_watch_result(csz_fill_suspect *suspect, const csz_fill_watch *watch, csz_type type);

/*
 * csz_plan_create: for compressing; range is the whole field's (finite, min <= max; else
 * CSZ_ERROR_ARGUMENT), and NULL where the bound is absolute.  csz_plan_open: for decompressing, from the
 * archive's first bytes (CSZ_HEADER_MAX_NBYTES always suffice; fewer where the archive is shorter).
 */
CSZ_API csz_status csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                                   const csz_value_range *range);
CSZ_API csz_status csz_plan_open(csz_plan **plan, const void *start, size_t start_nbytes);
CSZ_API void csz_plan_destroy(csz_plan *plan); /* NULL is allowed */
CSZ_API csz_status csz_plan_shape(csz_layout *shape, const csz_plan *plan);
CSZ_API csz_status csz_plan_frame(csz_frame *frame, const csz_plan *plan, uint64_t i);

/* The archive's first and last bytes; frames_nbytes are the frames' sizes, in order.  shape says how many bytes they are. */
CSZ_API csz_status csz_plan_header(void *out, size_t capacity, const csz_plan *plan);
CSZ_API csz_status csz_plan_footer(void *out, size_t capacity, const uint64_t *frames_nbytes,
                                   const csz_plan *plan);

/* One frame from its values, which may lie on the device; out is host memory.  Threads, backend and zstd level are the plan's. */
CSZ_API csz_status csz_compress_frame(csz_context *context, void *out, size_t capacity, size_t *out_nbytes,
                                      const void *values, const csz_plan *plan, uint64_t i);

/* The size of a frame as stored, from its first CSZ_FRAME_START_NBYTES bytes; never above the frame's capacity. */
#define CSZ_FRAME_START_NBYTES 32
CSZ_API csz_status csz_frame_nbytes(uint64_t *nbytes, const void *start, const csz_plan *plan, uint64_t i);

/*
 * Restores the part of a frame that lies in box (begin and end count; NULL: the whole frame), dense, into values; which may lie
 * on the device.  Everything is checked that is restored, for a whole frame also the checksum of the values.  values NULL: the whole
 * frame is decoded and checked, on the CPU, and nothing stored.  options as for csz_decompress; memory_limit bounds values and scratch, and
 * the frame before zstd, but not `stored`, which is the caller's.
 */
CSZ_API csz_status csz_decompress_frame(csz_context *context, void *values, size_t capacity,
                                        const void *stored, size_t stored_nbytes, const csz_plan *plan,
                                        uint64_t i, const csz_frame *box, const csz_options *options);

/* Adds a frame's tiles to the counts, as csz_survey does for all. */
CSZ_API csz_status csz_survey_frame(csz_context *context, csz_tile_counts *counts, const void *stored,
                                    size_t stored_nbytes, const csz_plan *plan, uint64_t i);

/* Reads exactly nbytes at offset into buffer; anything but 0 is a failure, and the call that needed them returns CSZ_ERROR_IO. */
typedef int (*csz_read_at)(void *user, uint64_t offset, void *buffer, size_t nbytes);

/* Reads header and footer of an archive of archive_nbytes, and no frame of an archive that is whole. */
CSZ_API csz_status csz_reader_open(csz_reader **reader, csz_read_at read_at, void *user,
                                   uint64_t archive_nbytes);
CSZ_API void csz_reader_close(csz_reader *reader); /* NULL is allowed */
CSZ_API const csz_plan *csz_reader_plan(const csz_reader *reader);
CSZ_API csz_status csz_reader_info(csz_info *info, const csz_reader *reader); /* nbytes_archive too */

/* Where a frame lies in the archive. */
CSZ_API csz_status csz_reader_frame(uint64_t *offset, uint64_t *nbytes, const csz_reader *reader, uint64_t i);

/*
 * Reads a frame into stored, for csz_decompress_frame with the same box: all of it, or for a part its index and the groups of tiles that
 * the box touches, each at its place; what lies between them is left as it was.
 */
CSZ_API csz_status csz_reader_fetch(void *stored, size_t capacity, size_t *stored_nbytes,
                                    const csz_reader *reader, uint64_t i, const csz_frame *box);

/* csz_decompress_region for a reader, on the CPU: reads only the groups of tiles that the box touches. */
CSZ_API csz_status csz_reader_region(csz_context *context, void *data, size_t data_capacity,
                                     const csz_reader *reader, const uint64_t *begin, const uint64_t *end,
                                     const csz_options *options);

/* csz_decompress_level for a reader: reads only what the level and the box need. */
CSZ_API csz_status csz_reader_level(csz_context *context, void *data, size_t data_capacity,
                                    const csz_reader *reader, int level, const uint64_t *begin,
                                    const uint64_t *end, const csz_options *options);

/* GPUs that can be used; those of a machine are numbered from 0. */
CSZ_API int csz_device_count(void);

/* The GPU on which the context works from its next call on, which makes it the calling thread's; by default that thread's own.  Before the first use. */
CSZ_API csz_status csz_context_set_device(csz_context *context, int device);

/* 1 if p lies in the memory of a GPU (managed memory counts).  For programs that take both kinds of memory and do not build with CUDA. */
CSZ_API int csz_device_owns(const void *p);

/* Copies between host and device memory, either way, and returns when it is done.  CSZ_ERROR_BACKEND without CUDA or a GPU. */
CSZ_API csz_status csz_device_copy(void *to, const void *from, size_t nbytes);

/* ---- Quality: what lossy coding did to a field ------------------------------------------------------ */

enum {
    CSZ_QUALITY_NLAGS = 10,
    CSZ_QUALITY_NBINS = 128,        /* of the error's histogram */
    CSZ_QUALITY_NVALUE_BINS = 4096, /* of the values', for their entropy */
    CSZ_SSIM_WINDOW = 8
};
#define CSZ_SSIM_K1 0.01
#define CSZ_SSIM_K2 0.03

/*
 * Of the elements that are not special (metrics.n - metrics.n_special of them).  Defined for every field: two equal ones have errors 0, correlation
 * and SSIM 1; where a is constant its range is 0, so errors relative to it are infinite unless they are 0.
 */
typedef struct csz_quality {
    csz_metrics metrics;  /* as csz_compare gives them */
    double max_rel_error; /* max_abs_error / (max - min) */
    double max_pwr_error; /* largest |a - b| / |a|; infinite where a is 0 and b is not */
    uint64_t max_abs_index, max_pwr_index;
    double mean_error; /* of b - a */
    double pearson;    /* correlation of a and b; where one of them is constant 1 if they are equal, else 0 */
    /*
     * Mean over windows of 8 elements a dim (of the effective dims, smaller at the upper faces) that do not overlap, every window weighing the same and in it every element:
     * (2 ma mb + C1)(2 vab + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2)) with the window's means, variances and covariance of a - min and b - min, C1 = (0.01 L)^2,
     * C2 = (0.03 L)^2, L = max - min; 1 where that is 0 / 0.
     */
    double ssim;
    uint64_t nwindows; /* with at least two elements that are not special */
    double autocorrelation
        [CSZ_QUALITY_NLAGS]; /* of the error at distances 1 to 10 in order of index; 0 where it is constant */
    uint64_t error_histogram
        [CSZ_QUALITY_NBINS];     /* of b - a, equal bins from -histogram_limit to histogram_limit */
    double histogram_limit;      /* max_abs_error */
    double entropy_error;        /* bits, of that histogram */
    double entropy_a, entropy_b; /* bits, of 4096 equal bins from min to max; b's are cut there */
} csz_quality;

/*
 * Compares b with a in two passes, in double, on options->threads threads; same results for every number
 * of them.  a, b, bound and options as for csz_compare.  Where both lie in device memory the GPU makes the
 * two passes, on the default stream: extremes, indices, counts and entropies are the CPU's, and what is
 * summed agrees with it to 12 digits (csz_quality's correlations, SSIM, autocorrelation, mean and RMSE).
 * Where one does, or their addresses are not multiples of the type's size, they are copied to the host
 * first.
 */
CSZ_API csz_status csz_quality_measure(csz_quality *quality, const void *a, const void *b,
                                       const csz_field *field, double bound, const csz_options *options);

#ifdef __cplusplus
}
#endif

#endif
