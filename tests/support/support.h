/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * support.h: what the tests share: random numbers that are the same everywhere, fields of many characters
 * made without libm, and the round trip that checks everything an archive promises.
 */
#ifndef CSZ_TESTS_SUPPORT_H
#define CSZ_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "csz_frames.h"

/*
 * Under the sanitizers, which take ten times as long, tests that try many like cases take every CASE_STEPth,
 * and where EVERY_OTHER is 1 every second.
 */
#if defined(CSZ_SANITIZED)
enum { CASE_STEP = 3, EVERY_OTHER = 1 };
#else
enum { CASE_STEP = 1, EVERY_OTHER = 0 };
#endif

/* ---- random numbers: xorshift64* ---- */

typedef struct rng {
    uint64_t state;
} rng;

rng rng_make(uint64_t seed);
uint64_t rng_next(rng *r);
uint32_t rng_below(rng *r, uint32_t n); /* 0 .. n - 1 */
double rng_unit(rng *r);                /* 0 <= x < 1 */

/* ---- fields ---- */

typedef enum character {
    SMOOTH,   /* sums of piecewise parabolic waves, of size about 1 */
    STEPS,    /* plateaus of a few levels */
    NOISE,    /* white, within +-1 */
    ROUGH,    /* smooth, with white noise of 1/64 on top */
    SPARSE,   /* zero but for one value in a hundred */
    ZEROS,    /* +0.0 */
    CONSTANT, /* one value that no quantum meets exactly */
    SPECIALS, /* smooth, sprinkled with NaN payloads, infinities, -0.0, denormals and the largest numbers */
    MISSING,  /* smooth, with whole areas of the fill value */
    RANDOM_BITS, /* any bit pattern */
    PAYLOADS,    /* nothing but NaN of random payloads and signs */
    EXTREMES,    /* the largest number and its negative by turns */
    MINUS_ZERO,  /* -0.0 */
    ALL_NAN,     /* one NaN */
    RAMP,        /* steep: neighbours are far apart, so that quanta need 32 or 64 bits */
    CHARACTERS
} character;

extern const char *const character_names[CHARACTERS];
extern const double fill_value; /* of MISSING: 1e20 */

/* A field that owns its values. */
typedef struct test_field {
    csz_field field;
    uint64_t n;
    size_t nbytes;
    void *data;
} test_field;

csz_field field_make(csz_type type, int ndim, const uint64_t *dims);
csz_field field_1d(csz_type type, uint64_t n);
csz_field field_2d(csz_type type, uint64_t ny, uint64_t nx);
csz_field field_3d(csz_type type, uint64_t nz, uint64_t ny, uint64_t nx);
csz_field field_4d(csz_type type, uint64_t nw, uint64_t nz, uint64_t ny, uint64_t nx);
test_field sample_make(csz_field field, character kind, uint64_t seed);
void sample_free(test_field *s);

/* Elements of s as doubles and as bits. */
double sample_at(const test_field *s, uint64_t i);
uint64_t bits_at(const void *data, csz_type type, uint64_t i);
void store_at(void *data, csz_type type, uint64_t i, double value);
void store_bits_at(void *data, csz_type type, uint64_t i, uint64_t bits);

/* A random field of ndim dims with at most about max_n elements; extents of 1, thin and odd ones are common.
 */
csz_field field_random(rng *r, csz_type type, int ndim, uint32_t max_n);

/* FNV-1a. */
uint64_t sum_bytes(const uint8_t *bytes, size_t n);

csz_options options_make(csz_bound_mode mode, double bound);
csz_options options_predicted(csz_bound_mode mode, double bound, csz_predictor predictor);

/* Options of decompressing with the backend and threads of options of compressing. */
#define LIMITED(options, limit)                                        \
    (&(csz_decompress_options){.size = sizeof(csz_decompress_options), \
                               .backend = (options)->backend,          \
                               .threads = (options)->threads,          \
                               .memory_limit = (limit)})
#define DECODING(options) LIMITED(options, 0)

/* ---- archives ---- */

typedef struct archive {
    uint8_t *bytes;
    size_t nbytes;
} archive;

/* One context for the whole program: so every test also shows that nothing of the last call stays behind. */
csz_context *the_context(void);

/* Compresses with the options as they are, in a buffer of exactly csz_compress_bound bytes. */
archive archive_make(const test_field *s, const csz_options *options);
size_t compressed_nbytes(const test_field *s, const csz_options *options);
void archive_free(archive *a);

/* 1 if |a - b| > bound in real numbers, a and b finite. */
int exceeds(double a, double b, double bound);

/*
 * Fails unless every finite value that is not missing is within bound of the original, compared exactly, and
 * every other value (-0.0 is one, unless zeros are unsigned) has its bits.
 */
void assert_bound_kept(const test_field *original, const void *restored, double bound,
                       const csz_options *options);

/*
 * Compresses with 1, 2, 3 and 7 threads, restores with 1 and 3, and asserts everything that holds for every
 * field: the same bytes, size within csz_compress_bound, csz_test and csz_inspect content, bound kept against
 * info.bound_abs. Returns the archive.
 */
archive assert_round_trip(const test_field *s, const csz_options *options);

/* The restored field, for further questions; freed by the caller. */
void *restore(const archive *a, size_t nbytes);

/* assert_true with a story: what failed, for which field. */
void describe_field(char *out, size_t capacity, const csz_field *field, const csz_options *options);

#define ASSERT_OK(call) assert_int_equal((call), CSZ_OK)

#endif
