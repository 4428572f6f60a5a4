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
 * scratch memory and is used by one thread at a time; different contexts may run at once.
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
    CSZ_ERROR_ZSTD = 15        /* zstd is needed and this build lacks it, or zstd failed */
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
    CSZ_WORKFLOW_AUTO = 0,    /* the smallest coder, tile by tile */
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

/* Fill with csz_options_init, then change what differs. */
typedef struct csz_options {
    csz_bound_mode bound_mode;
    double bound;
    csz_workflow workflow;
    csz_backend backend;
    int threads;           /* 0: one per core.  Never changes the bytes */
    int zstd_level;        /* 0: none; 1..22: a final zstd pass over each frame */
    int has_fill;          /* values equal to fill are missing: left out of the range, restored exactly */
    double fill;           /* converted to the field's type */
    uint64_t memory_limit; /* decoding refuses to use more than this for field and scratch; 0: none */
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
} csz_info;

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
    uint64_t masks;      /* masks of missing or special values */
    uint64_t exceptions; /* values stored bit for bit, one by one */
    uint64_t nbytes_books;
    uint64_t nbytes_index;
    uint64_t nbytes_payload;
} csz_tile_counts;

/* Seconds the last call of a context spent, summed over threads; zero where a stage did not run. */
typedef struct csz_stages {
    double range;    /* minimum and maximum of the field */
    double sample;   /* histograms of sampled tiles */
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
    uint64_t worst_index; /* of max_abs_error, or of the first special value that differs */
    double min, max;      /* of a, finite and not missing */
    double max_abs_error;
    double rmse;
    double nrmse; /* rmse / (max - min) */
    double psnr;  /* 20 log10((max - min) / rmse); +inf when rmse is 0 */
} csz_metrics;

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
 * Compares b with a in one pass, in double.  bound: what |a - b| may be, exactly; a negative one means
 * none.  Values of a that are not finite, or equal to options->fill where has_fill, must agree bit for
 * bit.  options may be NULL.
 */
CSZ_API csz_status csz_compare(csz_metrics *metrics, const void *a, const void *b, const csz_field *field,
                               double bound, const csz_options *options);

/* ---- The paper's compressibility statistics: pure functions of a histogram ------------------------- */

typedef struct csz_statistics {
    double p1;         /* share of the most frequent code */
    double entropy;    /* H in bits */
    double r_lower;    /* R- = 1 - H(p1, 1 - p1) where p1 > 0.4, else 0 */
    double r_upper;    /* R+ = p1 + 0.086 */
    double bits_lower; /* H + R-: no Huffman code is shorter on average */
    double bits_upper; /* H + R+ */
    int rle_advised;   /* bits_lower <= 1.09 */
} csz_statistics;

CSZ_API csz_status csz_statistics_from_histogram(csz_statistics *statistics, const uint64_t *histogram,
                                                 size_t nbins);

#ifdef __cplusplus
}
#endif

#endif
