/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz.h: the public interface of cuSZ+, an error-bounded lossy compressor for scientific fields.
 *
 * A field is an n-D array of f32 or f64.  csz_compress turns it into an archive that keeps a bound on the
 * error; csz_decompress turns the archive back into values.  The archive describes itself: decompressing
 * needs no other knowledge.  Every finite value comes back within the bound.  NaN with its payload,
 * infinities and -0.0, unless unsigned_zeros is set, come back bit for bit.  The same field and options give
 * the same bytes on every machine, for every number of threads and on every backend.
 *
 * In short:
 *
 *     csz_context *context;
 *     csz_options options;
 *     csz_field field = {CSZ_F32, 3, {nz, ny, nx}};
 *     csz_context_create(&context);
 *     csz_options_init(&options);
 *     options.bound = 1e-3;
 *     csz_compress_bound(&capacity, &field, &options);
 *     csz_compress(context, archive, capacity, &nbytes, data, &field, &options);
 *     csz_decompress(context, data, data_nbytes, archive, nbytes, NULL);
 *
 * Errors.  Calls return a csz_status.  The library never prints, exits or aborts, and has no global state.
 * After a failure a context can be used again, and what the outputs hold is undefined.
 *
 * Threads.  A context is used by one thread at a time; different contexts may be used at once.  Calls
 * without a context may be made by any thread.  A call needs at most 32 KiB of its thread's stack in an
 * optimized build, without what a CUDA driver needs.
 *
 * Memory.  Buffers belong to the caller, and the library keeps no pointer to them after a call.  Sizes are
 * in bytes where a name ends in nbytes or capacity.
 *
 * Structures that later versions extend.  Options begin with their size, which csz_options_init sets.  A
 * structure that the library fills is passed with its size: csz_inspect(&info, sizeof info, ...).  New
 * members come last, so a program and a library of different versions work together.  Members that the
 * program lacks keep their defaults, or are not filled.  Members that the library lacks must be 0 in
 * options, or the call returns CSZ_ERROR_ARGUMENT; in structures that it fills they are set to 0.  A size
 * that no version has is CSZ_ERROR_ARGUMENT.  Other structures never change.
 *
 * Calls for fields in pieces are in csz_frames.h, for data and archives on a GPU in csz_cuda.h, for analyses
 * of a field and of its errors in csz_analyze.h.
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

/* ---- Statuses -------------------------------------------------------------------------------------- */

/* The numbers are part of the interface and never change meaning. */
typedef enum csz_status {
    CSZ_OK = 0,
    CSZ_ERROR_ARGUMENT = 1,    /* a null pointer, or an option or a structure's size outside its range */
    CSZ_ERROR_TYPE = 2,        /* a type other than f32 and f64 */
    CSZ_ERROR_DIMS = 3,        /* rank outside 1..4, or a product of dims beyond 2^56 */
    CSZ_ERROR_BOUND = 4,       /* a bound that is 0, negative, NaN or infinite; a pointwise one from 1 up */
    CSZ_ERROR_CAPACITY = 5,    /* the output buffer is too small */
    CSZ_ERROR_MEMORY = 6,      /* an allocation failed */
    CSZ_ERROR_LIMIT = 7,       /* the call would exceed the memory limit given */
    CSZ_ERROR_REGION = 8,      /* a region that is empty, reversed or outside the field */
    CSZ_ERROR_NOT_ARCHIVE = 9, /* the bytes do not start as an archive does */
    CSZ_ERROR_VERSION = 10,    /* an archive of a newer version, or with an unknown feature */
    CSZ_ERROR_TRUNCATED = 11,  /* the archive ends too early */
    CSZ_ERROR_CORRUPT = 12,    /* a checksum or a structure of the archive does not hold */
    CSZ_ERROR_TRAILING = 13,   /* bytes follow the archive's end */
    CSZ_ERROR_BACKEND = 14,    /* the backend asked for is not available, or cannot do this */
    CSZ_ERROR_ZSTD = 15,       /* zstd is needed and this build lacks it, or zstd failed */
    CSZ_ERROR_IO = 16,         /* a callback that reads has failed; in csz_mpi.h also a file */
    CSZ_ERROR_INTERNAL = 17,   /* compressing found an error of its own and gives no archive */
    CSZ_ERROR_LEVEL = 18,      /* the archive has no such level of resolution */
    CSZ_ERROR_TARGET = 19      /* no bound gives an archive as small as was asked for */
} csz_status;

/* One short English phrase without a full stop; never NULL. */
CSZ_API const char *csz_status_string(csz_status status);

/* "0.1.0" */
CSZ_API const char *csz_version_string(void);

/* ---- Contexts -------------------------------------------------------------------------------------- */

/* Owns scratch memory and threads, which sleep between calls. */
typedef struct csz_context csz_context;

CSZ_API csz_status csz_context_create(csz_context **context);
CSZ_API void csz_context_destroy(csz_context *context); /* NULL is allowed */

/* ---- Fields and options ---------------------------------------------------------------------------- */

typedef enum csz_type { CSZ_F32 = 0, CSZ_F64 = 1 } csz_type;

/* Shape of a field.  dims[0] is the slowest dimension, as in NumPy and HDF5; values are contiguous. */
typedef struct csz_field {
    csz_type type;
    int ndim; /* 1..4; of four dimensions above 1 the two slowest are predicted as one */
    uint64_t dims[CSZ_MAX_NDIM];
} csz_field;

/*
 * What `bound` bounds.  max and min are of the finite values that are not missing.  The last two are targets,
 * for csz_compress alone: it finds an absolute bound whose archive reaches the target, or makes an exact
 * archive where that reaches it; see csz_target in csz_frames.h.  Which bounds are tried may depend on the
 * room in a buffer in device memory, where that is less than csz_compress_bound.
 */
typedef enum csz_bound_mode {
    CSZ_BOUND_ABS = 0,    /* |restored - original| <= bound */
    CSZ_BOUND_REL = 1,    /* |restored - original| <= bound * (max - min) */
    CSZ_BOUND_PSNR = 2,   /* 20 log10((max - min) / rmse) >= bound, in dB, guaranteed by the largest error */
    CSZ_BOUND_PWR = 3,    /* |restored - original| <= bound * |original|, or <= floor; bound is below 1.
                             Below 1.4e-6 in f32 and 1.1e-11 in f64 the archive is exact, or with a floor has
                             the floor as its absolute bound */
    CSZ_BOUND_EXACT = 4,  /* every value bit for bit; bound is 0 */
    CSZ_BOUND_RATIO = 64, /* bytes of the field over bytes of the archive >= bound */
    CSZ_BOUND_SIZE = 65   /* bytes of the archive <= bound */
} csz_bound_mode;

typedef enum csz_workflow {
    CSZ_WORKFLOW_AUTO = 0,    /* a Huffman mode for each tile, by its share of nonzeros */
    CSZ_WORKFLOW_HUFFMAN = 1, /* the paper's VLE */
    CSZ_WORKFLOW_RLE = 2,     /* the paper's RLE */
    CSZ_WORKFLOW_RLE_VLE = 3  /* the paper's RLE+VLE */
} csz_workflow;

/*
 * How values are predicted.  Lorenzo predicts from neighbours.  The pyramid interpolates on a pyramid of
 * lattices; it makes smooth fields smaller, and gives previews.  AUTO takes for each frame the one that a
 * sample of its tiles says is smaller.
 *
 * Whatever is asked for, Lorenzo predicts fields of one dimension, dims of 1 not counted, exact archives, f32
 * with pointwise bounds below 5.3e-6, and frames whose pyramid would be larger than their values.
 * csz_info.has_pyramids and, frame by frame, csz_frame_predictor tell what was used.
 */
typedef enum csz_predictor {
    CSZ_PREDICTOR_LORENZO = 0,
    CSZ_PREDICTOR_PYRAMID = 1,
    CSZ_PREDICTOR_AUTO = 2
} csz_predictor;
#define CSZ_PREDICTOR_DEFAULT CSZ_PREDICTOR_LORENZO

/*
 * Where a call works.  AUTO takes CUDA where it is available and the data is on the device or has at least
 * 32 MiB.  It falls back to the CPU where the card fails or lacks the memory.  Archives with zstd are decoded
 * on the CPU.
 */
typedef enum csz_backend { CSZ_BACKEND_AUTO = 0, CSZ_BACKEND_CPU = 1, CSZ_BACKEND_CUDA = 2 } csz_backend;

/* Options of compressing.  Fill with csz_options_init, then change what differs. */
typedef struct csz_options {
    size_t size; /* set by csz_options_init */
    csz_bound_mode bound_mode;
    csz_workflow workflow;
    double bound;
    csz_predictor predictor;
    csz_backend backend;
    int threads;          /* 0: one per core.  Never changes the bytes */
    int zstd_level;       /* 0: none; 1..22: a final zstd pass over each frame */
    int has_fill;         /* 1: values with fill's bits are missing: not in the range, restored exactly */
    double fill;          /* converted to the field's type */
    const void *metadata; /* a section of csz_metadata_write that the archive carries; NULL: none */
    size_t metadata_nbytes;
    double floor;           /* with CSZ_BOUND_PWR: the absolute error that any value may have; 0: none */
    int64_t unsigned_zeros; /* 1: -0.0 counts as 0, and may lose its sign.  Not with CSZ_BOUND_PWR and
                               CSZ_BOUND_EXACT.  Where fill is 0 or -0.0, -0.0 keeps its bits */
} csz_options;

/* Options of decompressing.  NULL in a call means the defaults. */
typedef struct csz_decompress_options {
    size_t size; /* set by csz_decompress_options_init */
    csz_backend backend;
    int threads;           /* 0: one per core */
    uint64_t memory_limit; /* for values and scratch: CSZ_ERROR_LIMIT rather than more; 0: none */
} csz_decompress_options;

/*
 * Set the size and the defaults: an absolute bound of 0, which must be set; auto workflow, the default
 * predictor, auto backend, one thread per core, no zstd, no fill value, no memory limit.  Other languages
 * call the functions with the size of the structure they declare.
 */
#define csz_options_init(options) csz_options_init_sized((options), sizeof(csz_options))
#define csz_decompress_options_init(options) \
    csz_decompress_options_init_sized((options), sizeof(csz_decompress_options))
CSZ_API void csz_options_init_sized(csz_options *options, size_t size);
CSZ_API void csz_decompress_options_init_sized(csz_decompress_options *options, size_t size);

/*
 * Copy options that may be of another version, for libraries that build on this one; `to` has `size` bytes.
 * from NULL: the defaults.  CSZ_ERROR_ARGUMENT where from sets a member that `to` lacks.
 */
CSZ_API csz_status csz_options_copy(csz_options *to, size_t size, const csz_options *from);
CSZ_API csz_status csz_decompress_options_copy(csz_decompress_options *to, size_t size,
                                               const csz_decompress_options *from);

/*
 * csz_backend_built: 1 if this build has the backend.  csz_backend_available: 1 if this machine can use it
 * too; CUDA needs a driver and a card not older than those that the build was compiled for, 7.5 at least.
 */
CSZ_API int csz_backend_built(csz_backend backend);
CSZ_API int csz_backend_available(csz_backend backend);

/*
 * The instruction set that the CPU backend uses in this process: "x86-64", "x86-64-v3" (AVX2), "x86-64-v4"
 * (AVX-512), "aarch64" or "portable".  It is the best that build and machine have, unless the environment
 * variable CSZ_CPU_ISA named another of these at the first call.  Archives do not depend on it.
 */
CSZ_API const char *csz_cpu_isa(void);

/* 1 if this build can write and read archives with a final zstd pass. */
CSZ_API int csz_zstd_available(void);

/* ---- Compressing ----------------------------------------------------------------------------------- */

/*
 * The largest archive that the field can give, whatever its values: at most the field + 1% + 1 KiB.
 * options may be NULL: the defaults.  It does not depend on the bound, which may be set later.
 */
CSZ_API csz_status csz_compress_bound(size_t *nbytes, const csz_field *field, const csz_options *options);

/*
 * Compresses data into out; *out_nbytes receives the archive's size.  With a capacity of csz_compress_bound
 * there is always room; with less the call may return CSZ_ERROR_CAPACITY.  The buffers must not overlap.
 * With the CUDA backend each may lie in host or in device memory; the call works on the default stream and
 * returns when it is done.
 */
CSZ_API csz_status csz_compress(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                const void *data, const csz_field *field, const csz_options *options);

/* A value that looks like one for missing data and is not the fill value of the options. */
typedef struct csz_fill_suspect {
    int found;        /* how many values are suspected; 0: the rest is 0 */
    double value;     /* the most frequent, as the field has it */
    double share;     /* of the elements looked at */
    double low, high; /* smallest and largest of the values that are not suspected */
    double other;     /* the next frequent that is suspected, where found is above 1 */
    double other_share;
    double missing_share; /* of the elements that have the fill value of the options */
} csz_fill_suspect;

/*
 * Whether the field of the context's last csz_compress or csz_analyze seems to have a fill value that the
 * options did not name.  Such a value widens the range that a relative bound or a PSNR refers to, so all
 * other detail may be lost.  Under an absolute bound the values keep the bound, but missing ones may change
 * their bits.
 *
 * Up to eight values are suspected, which recur far outside all others; csz(1) has the rules, under --fill.
 * The result is the same for every backend and number of threads.  Fields in device memory are not looked
 * at.
 */
CSZ_API void csz_context_fill_suspect(const csz_context *context, csz_fill_suspect *suspect);

/* An end of the range, so far outside that the bound, which refers to it, flattens most other values. */
typedef struct csz_fill_outlier {
    int found;        /* 0: the rest is 0 */
    double value;     /* as the field has it; others may lie as far outside */
    double low, high; /* most other values; at most twice the bound apart, or ten times it where people
                         use this number for "missing" */
    double bound_abs;
} csz_fill_outlier;

/*
 * The same field's outlier where csz_context_fill_suspect finds nothing: a fill value too rare to be
 * suspected, one of many numbers that differ, or an error in the data.  Only with a relative bound or a PSNR.
 */
CSZ_API void csz_context_fill_outlier(const csz_context *context, csz_fill_outlier *outlier);

/* ---- Decompressing --------------------------------------------------------------------------------- */

/* What an archive says of itself. */
typedef struct csz_info {
    csz_field field;
    csz_bound_mode bound_mode; /* bound_mode, bound, workflow and fill are those of the options */
    csz_workflow workflow;
    double bound;
    double bound_abs; /* the absolute bound that holds, with CSZ_BOUND_PWR of log2 |value|; 0 means exact */
    double fill;
    int has_fill;
    int has_zstd;
    int has_pyramids; /* 1: frames may be predicted by the pyramid */
    int nlevels;      /* of resolution that previews can have, the field's own included; 1: no previews */
    int format_version;
    uint64_t nelements;
    uint64_t nbytes_field;
    uint64_t nbytes_archive;
    uint64_t nframes;
    uint64_t ntiles;
    uint64_t tile_dims[3];    /* slowest first, 1 where the effective rank is lower */
    uint64_t metadata_nbytes; /* the archive's last so many bytes are its metadata, see csz_attribute */
    double floor;             /* of the options */
} csz_info;

/*
 * Reads header and footer, checks them, decodes nothing.  info_nbytes is sizeof(csz_info).
 * csz_inspect_header needs only the archive's first bytes (CSZ_HEADER_MAX_NBYTES always suffice; fewer
 * where the archive is shorter) and leaves nbytes_archive 0.
 */
#define CSZ_HEADER_MAX_NBYTES 256
CSZ_API csz_status csz_inspect(csz_info *info, size_t info_nbytes, const void *archive,
                               size_t archive_nbytes);
CSZ_API csz_status csz_inspect_header(csz_info *info, size_t info_nbytes, const void *start,
                                      size_t start_nbytes);

/* Restores the field into data; its capacity is at least info.nbytes_field.  Memory as for csz_compress. */
CSZ_API csz_status csz_decompress(csz_context *context, void *data, size_t data_capacity, const void *archive,
                                  size_t archive_nbytes, const csz_decompress_options *options);

/*
 * Restores the box begin[i] <= index[i] < end[i] of the original dims, contiguous in data, and decodes only
 * the tiles it touches.  begin and end have info.field.ndim entries.
 */
CSZ_API csz_status csz_decompress_region(csz_context *context, void *data, size_t data_capacity,
                                         const void *archive, size_t archive_nbytes, const uint64_t *begin,
                                         const uint64_t *end, const csz_decompress_options *options);

/*
 * Previews of an archive that was compressed with the pyramid.  Level 1 is every second value along each
 * dimension, level 2 every fourth, and so on.  Values keep the bound and need a fraction of the bytes; -0.0
 * may come back as 0.  Levels below info.nlevels exist; others, and those of Lorenzo archives, are
 * CSZ_ERROR_LEVEL.  Frames that Lorenzo predicts are restored whole for a preview.
 *
 * csz_level_field gives type and dims of a level, ceil(n / 2^level) each.  Of four dims above 1 the two
 * slowest are one, so that a level above 0 has three.  csz_decompress_level restores the box
 * begin <= index < end of a level, in the level's dims.  NULL, NULL: all of the level.
 */
CSZ_API csz_status csz_level_field(csz_field *field, const csz_info *info, int level);
CSZ_API csz_status csz_decompress_level(csz_context *context, void *data, size_t data_capacity,
                                        const void *archive, size_t archive_nbytes, int level,
                                        const uint64_t *begin, const uint64_t *end,
                                        const csz_decompress_options *options);

/*
 * Checks the structure, every checksum, and the checksum of the restored values, by decoding frame by frame
 * on the CPU.  Stores nothing.
 */
CSZ_API csz_status csz_test(csz_context *context, const void *archive, size_t archive_nbytes,
                            const csz_decompress_options *options);

enum { CSZ_NLEVELS_MAX = 32 };

/* How tiles were coded.  Counts are of tiles where nothing else is said, those of pyramids' coarser lattices
 * among them, which csz_info's ntiles leaves out. */
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
    uint64_t sparse;     /* a few nonzero codes and their places */
    uint64_t masks;      /* masks of missing or special values, in all tiles */
    uint64_t exceptions; /* values stored bit for bit, one by one */
    uint64_t nbytes_books;
    uint64_t nbytes_index;
    uint64_t nbytes_payload;
    uint64_t npyramids;                     /* frames that the pyramid predicts */
    uint64_t nbytes_level[CSZ_NLEVELS_MAX]; /* of the payload, that hold this level and coarser ones; read in
                                               groups of 64 tiles */
    uint64_t exact;                         /* of exact archives: bits of neighbours' differences */
} csz_tile_counts;

/* Counts tiles by coder.  Checks the frames' checksums; does not decode. */
CSZ_API csz_status csz_survey(csz_context *context, csz_tile_counts *counts, size_t counts_nbytes,
                              const void *archive, size_t archive_nbytes);

/* ---- Metadata ---------------------------------------------------------------------------------------- */

/*
 * An archive may say what its field is: a name, names of the dims, and attributes, such as "units".  They
 * stand in one section of bytes, made by csz_metadata_write and given to csz_compress by the options.  It is
 * the archive's last info.metadata_nbytes bytes.  No value depends on it, and readers may leave it alone.
 *
 * Numbers are little-endian and may have any alignment.  Text is UTF-8 by convention and not checked.
 */
typedef enum csz_attribute_type {
    CSZ_ATTRIBUTE_TEXT = 0,    /* one text, without an end */
    CSZ_ATTRIBUTE_STRINGS = 1, /* any number of texts, each with a 0 at its end */
    CSZ_ATTRIBUTE_I8 = 2,
    CSZ_ATTRIBUTE_U8 = 3,
    CSZ_ATTRIBUTE_I16 = 4,
    CSZ_ATTRIBUTE_U16 = 5,
    CSZ_ATTRIBUTE_I32 = 6,
    CSZ_ATTRIBUTE_U32 = 7,
    CSZ_ATTRIBUTE_I64 = 8,
    CSZ_ATTRIBUTE_U64 = 9,
    CSZ_ATTRIBUTE_F32 = 10,
    CSZ_ATTRIBUTE_F64 = 11
} csz_attribute_type;

typedef enum csz_attribute_role {
    CSZ_ROLE_ATTRIBUTE = 0,
    CSZ_ROLE_NAME = 1, /* the field's name: a text */
    CSZ_ROLE_DIMS = 2  /* the dims' names, slowest first: as many strings as the field has dims */
} csz_attribute_role;

typedef struct csz_attribute {
    csz_attribute_role role;
    csz_attribute_type type;
    const char *name;   /* 1 to CSZ_METADATA_MAX_NAME bytes and a 0; "" unless the role is ATTRIBUTE */
    const void *values; /* may be NULL where there are none */
    uint64_t nbytes;    /* of the values */
} csz_attribute;

enum { CSZ_METADATA_MAX_NBYTES = 1 << 20, CSZ_METADATA_MAX_NAME = 1024, CSZ_METADATA_MAX_N = 1024 };

/*
 * A section of n attributes.  section NULL: *nbytes receives its size.  CSZ_ERROR_ARGUMENT where an attribute
 * is not as above, or two have the same role and name; CSZ_ERROR_LIMIT where the section would be too large.
 */
CSZ_API csz_status csz_metadata_write(void *section, size_t capacity, size_t *nbytes,
                                      const csz_attribute *attributes, size_t n);

/* CSZ_ERROR_CORRUPT unless the section is whole.  For sections that do not come from a call of csz.h. */
CSZ_API csz_status csz_metadata_check(const void *section, size_t nbytes);

/*
 * The attributes of a section in order: *place is 0 before the first call.  0: there are no more.  name and
 * values point into the section.
 */
CSZ_API int csz_metadata_next(csz_attribute *attribute, const void *section, size_t nbytes, size_t *place);

/* ---- Comparing ------------------------------------------------------------------------------------- */

/* Differences of two fields.  A value of a is special if it is not finite or is missing. */
typedef struct csz_metrics {
    uint64_t n;                  /* elements compared */
    uint64_t n_special;          /* special ones: compared bit for bit, left out of the errors below */
    uint64_t violations;         /* errors above the bound, and special values that differ in bits */
    uint64_t special_violations; /* the latter alone */
    uint64_t special_index;      /* of the first special value that differs; 0 if none does */
    uint64_t max_abs_index;      /* of max_abs_error, the first where several are */
    double max_abs_error;
    double min, max; /* of a */
    double rmse;
    double nrmse;         /* rmse / (max - min) */
    double psnr;          /* 20 log10((max - min) / rmse); +inf when rmse is 0 */
    double max_pwr_error; /* largest |a - b| / |a| of errors above the floor; infinite where a is 0 */
    uint64_t max_pwr_index;
} csz_metrics;

/*
 * Compares b with a in one pass, in double.  bound is the largest |a - b| allowed, exactly; a negative one
 * means none, and NaN is refused.  Special values must agree bit for bit; the options name the fill value and
 * may be NULL.  Where their bound_mode is CSZ_BOUND_PWR, |a - b| may be bound * |a| or their floor, and -0.0
 * must agree bit for bit.  a and b may have any alignment.  Where one lies in device memory the call is that
 * of csz_quality_measure (csz_analyze.h).
 */
CSZ_API csz_status csz_compare(csz_metrics *metrics, size_t metrics_nbytes, const void *a, const void *b,
                               const csz_field *field, double bound, const csz_options *options);

/*
 * Adds the comparison of another part of a field to metrics; zeroed, they are empty.  Both have
 * metrics_nbytes.  Indices in part are those of the whole field.
 */
CSZ_API csz_status csz_metrics_join(csz_metrics *metrics, size_t metrics_nbytes, const csz_metrics *part);

/* ---- What a context did ---------------------------------------------------------------------------- */

/* CSZ_BACKEND_CPU or CSZ_BACKEND_CUDA: the backend of the context's last call.  AUTO before the first. */
CSZ_API csz_backend csz_context_backend(const csz_context *context);

/* Share of the running call's work that is done, 0 to 1.  The one call that another thread may make. */
CSZ_API double csz_context_progress(const csz_context *context);

/* Seconds that a call spent, summed over threads; zero where a stage did not run. */
typedef struct csz_stages {
    double range;    /* minimum and maximum of the field */
    double sample;   /* histograms of sampled tiles */
    double books;    /* code lengths, codebooks, decode tables */
    double quantize; /* load, quantize, check, predict (compress) */
    double encode;   /* modes, symbols, bits (compress) */
    double place;    /* copies into the archive and checksums */
    double decode;   /* bits to codes (decompress) */
    double restore;  /* prediction, scale, exceptions, store (decompress) */
    double total;    /* wall clock */
} csz_stages;

/* Stages of the context's last call that had csz_context_profile on. */
CSZ_API void csz_context_profile(csz_context *context, int on);
CSZ_API csz_status csz_context_stages(const csz_context *context, csz_stages *stages, size_t stages_nbytes);

#ifdef __cplusplus
}
#endif

#endif
