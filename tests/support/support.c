/* SPDX-License-Identifier: BSD-3-Clause */
/* support.c: random numbers, fields and the round trip of support.h. */
#include "support.h"

#include "exhaustive.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base.h"

/* ---- random numbers ---- */

rng rng_make(uint64_t seed) {
    rng r = {(seed + 1) * 0x9E3779B97F4A7C15ull};
    if (r.state == 0) r.state = 1;
    for (int i = 0; i < 4; i++) rng_next(&r);
    return r;
}

uint64_t rng_next(rng *r) {
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545F4914F6CDD1Dull;
}

uint32_t rng_below(rng *r, uint32_t n) { return (uint32_t)((rng_next(r) >> 32) * n >> 32); }

double rng_unit(rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

/* ---- fields ---- */

const char *const character_names[CHARACTERS] = {
    "smooth",  "steps",       "noise",    "rough",    "sparse",     "zeros",   "constant", "specials",
    "missing", "random_bits", "payloads", "extremes", "minus_zero", "all_nan", "ramp"};
const double fill_value = 1e20;

csz_field field_make(csz_type type, int ndim, const uint64_t *dims) {
    csz_field f = {.type = type, .ndim = ndim};
    for (int i = 0; i < ndim; i++) f.dims[i] = dims[i];
    return f;
}

csz_field field_1d(csz_type type, uint64_t n) { return field_make(type, 1, (uint64_t[]){n}); }
csz_field field_2d(csz_type type, uint64_t ny, uint64_t nx) {
    return field_make(type, 2, (uint64_t[]){ny, nx});
}
csz_field field_3d(csz_type type, uint64_t nz, uint64_t ny, uint64_t nx) {
    return field_make(type, 3, (uint64_t[]){nz, ny, nx});
}
csz_field field_4d(csz_type type, uint64_t nw, uint64_t nz, uint64_t ny, uint64_t nx) {
    return field_make(type, 4, (uint64_t[]){nw, nz, ny, nx});
}

csz_field field_random(rng *r, csz_type type, int ndim, uint32_t max_n) {
    csz_field f = {.type = type, .ndim = ndim};
    uint32_t left = max_n;
    int first = (int)rng_below(r, (uint32_t)ndim); /* who draws first may get most */
    for (int k = 0; k < ndim; k++) {
        int i = (first + k) % ndim;
        uint32_t most = left;
        if (k < ndim - 1 && rng_below(r, 2)) most = most < 40 ? most : 40;
        uint32_t n = rng_below(r, 5) == 0 ? 1 + rng_below(r, 3) : 1 + rng_below(r, most);
        if (n > left) n = left;
        f.dims[i] = n;
        left /= n;
        if (left == 0) left = 1;
    }
    return f;
}

uint64_t bits_at(const void *data, csz_type type, uint64_t i) {
    return type == CSZ_F32 ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
}

void store_bits_at(void *data, csz_type type, uint64_t i, uint64_t bits) {
    if (type == CSZ_F32) {
        ((uint32_t *)data)[i] = (uint32_t)bits;
    } else {
        ((uint64_t *)data)[i] = bits;
    }
}

void store_at(void *data, csz_type type, uint64_t i, double value) {
    store_bits_at(data, type, i, type == CSZ_F32 ? csz_bits_f32((float)value) : csz_bits_f64(value));
}

double sample_at(const test_field *s, uint64_t i) {
    uint64_t bits = bits_at(s->data, s->field.type, i);
    return s->field.type == CSZ_F32 ? (double)csz_f32_bits((uint32_t)bits) : csz_f64_bits(bits);
}

/* A wave of period 1 and height 1 made of parabolas. */
static double wave(double t) {
    double f = t - (double)(int64_t)t;
    if (f < 0) f += 1;
    return f < 0.5 ? 16 * f * (0.5 - f) : -16 * (f - 0.5) * (1 - f);
}

static double smooth_at(const uint64_t *at, int ndim, double phase) {
    double sum = 0, product = 1;
    for (int i = 0; i < ndim; i++) {
        sum += wave((double)at[i] * (0.0131 + 0.0017 * i) + phase);
        product *= wave((double)at[i] * (0.0271 - 0.0031 * i) + phase * 0.5);
    }
    return sum / ndim + 0.5 * product;
}

/* Bits that a lossy coder must keep as they are. */
static uint64_t special_bits(rng *r, csz_type type) {
    int wide = type == CSZ_F64;
    uint64_t sign = rng_below(r, 2) ? (wide ? 1ull << 63 : 1ull << 31) : 0;
    uint64_t exponent = wide ? 0x7FFull << 52 : 0xFFull << 23,
             mantissa = wide ? (1ull << 52) - 1 : (1u << 23) - 1;
    switch (rng_below(r, 6)) {
    case 0: return sign | exponent | ((rng_next(r) & mantissa) | 1); /* NaN */
    case 1: return sign | exponent;                                  /* infinity */
    case 2: return wide ? 1ull << 63 : 1ull << 31;                   /* -0.0 */
    case 3: return sign | (rng_next(r) & mantissa);                  /* denormal */
    case 4: return sign | (exponent - 1);                            /* the largest */
    default: return sign | (mantissa + 1);                           /* the smallest normal */
    }
}

static uint64_t nan_bits(rng *r, csz_type type) {
    uint64_t bits = rng_next(r);
    return type == CSZ_F32 ? ((bits & 0xFFFFFFFFu) | 0x7F800001u) : (bits | 0x7FF0000000000001ull);
}

static void store_value(test_field *s, uint64_t i, const uint64_t *at, character kind, rng *r, double phase) {
    const csz_type type = s->field.type;
    const int ndim = s->field.ndim;
    switch (kind) {
    case SMOOTH: store_at(s->data, type, i, smooth_at(at, ndim, phase)); break;
    case STEPS: {
        double level = 0;
        for (int k = 0; k < ndim; k++) level += (double)((at[k] / (7 + 6 * (uint64_t)k)) % 3);
        store_at(s->data, type, i, level * 0.75 - 1);
        break;
    }
    case NOISE: store_at(s->data, type, i, 2 * rng_unit(r) - 1); break;
    case ROUGH: store_at(s->data, type, i, smooth_at(at, ndim, phase) + (rng_unit(r) - 0.5) / 32); break;
    case SPARSE: store_at(s->data, type, i, rng_below(r, 100) == 0 ? 2 * rng_unit(r) - 1 : 0.0); break;
    case ZEROS: store_at(s->data, type, i, 0.0); break;
    case CONSTANT: store_at(s->data, type, i, 0.7310585786300049); break;
    case SPECIALS:
        store_at(s->data, type, i, smooth_at(at, ndim, phase));
        if (rng_below(r, 12) == 0) store_bits_at(s->data, type, i, special_bits(r, type));
        break;
    case MISSING: {
        double v = smooth_at(at, ndim, phase);
        store_at(s->data, type, i, v > 0.4 || rng_below(r, 500) == 0 ? fill_value : v);
        break;
    }
    case RANDOM_BITS: store_bits_at(s->data, type, i, rng_next(r)); break;
    case PAYLOADS: store_bits_at(s->data, type, i, nan_bits(r, type)); break;
    case EXTREMES:
        store_at(s->data, type, i, (i & 1 ? -1.0 : 1.0) * (type == CSZ_F32 ? (double)FLT_MAX : DBL_MAX));
        break;
    case MINUS_ZERO: store_at(s->data, type, i, -0.0); break;
    case ALL_NAN:
        store_bits_at(s->data, type, i, type == CSZ_F32 ? 0x7FC00000u : 0x7FF8000000000000ull);
        break;
    case RAMP: store_at(s->data, type, i, (rng_unit(r) - 0.5) * 1000.0 + (double)at[ndim - 1]); break;
    default: fail_msg("no such character"); break;
    }
}

test_field sample_make(csz_field field, character kind, uint64_t seed) {
    test_field s = {.field = field, .n = 1};
    for (int i = 0; i < field.ndim; i++) s.n *= field.dims[i];
    s.nbytes = (size_t)s.n * (field.type == CSZ_F32 ? 4 : 8);
    s.data = malloc(s.nbytes ? s.nbytes : 1);
    assert_non_null(s.data);
    rng r = rng_make(seed * 1000 + (uint64_t)kind);
    double phase = rng_unit(&r);
    uint64_t at[CSZ_MAX_NDIM] = {0};
    for (uint64_t i = 0; i < s.n; i++) {
        store_value(&s, i, at, kind, &r, phase);
        for (int k = field.ndim - 1; k >= 0 && ++at[k] == field.dims[k]; k--) at[k] = 0;
    }
    return s;
}

void sample_free(test_field *s) {
    free(s->data);
    s->data = NULL;
}

uint64_t sum_bytes(const uint8_t *bytes, size_t n) {
    uint64_t h = 0xCBF29CE484222325ull;
    for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 0x100000001B3ull;
    return h;
}

csz_options options_make(csz_bound_mode mode, double bound) {
    csz_options o;
    csz_options_init(&o);
    o.bound_mode = mode;
    o.bound = bound;
    o.threads = 1;
    return o;
}

csz_options options_predicted(csz_bound_mode mode, double bound, csz_predictor predictor) {
    csz_options o = options_make(mode, bound);
    o.predictor = predictor;
    return o;
}

/* ---- archives ---- */

static csz_context *shared_context;

static void destroy_shared_context(void) { csz_context_destroy(shared_context); }

csz_context *the_context(void) {
    if (!shared_context) {
        ASSERT_OK(csz_context_create(&shared_context));
        atexit(destroy_shared_context);
    }
    return shared_context;
}

archive archive_make(const test_field *s, const csz_options *options) {
    archive a = {NULL, 0};
    size_t capacity;
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, options));
    a.bytes = malloc(capacity);
    assert_non_null(a.bytes);
    ASSERT_OK(csz_compress(the_context(), a.bytes, capacity, &a.nbytes, s->data, &s->field, options));
    assert_true(a.nbytes <= capacity);
    return a;
}

size_t compressed_nbytes(const test_field *s, const csz_options *options) {
    archive a = archive_make(s, options);
    archive_free(&a);
    return a.nbytes;
}

void archive_free(archive *a) {
    free(a->bytes);
    a->bytes = NULL;
}

void *restore(const archive *a, size_t nbytes) {
    void *data = malloc(nbytes ? nbytes : 1);
    assert_non_null(data);
    memset(data, 0xA5, nbytes ? nbytes : 1);
    ASSERT_OK(csz_decompress(the_context(), data, nbytes, a->bytes, a->nbytes, NULL));
    return data;
}

/*
 * a - b = s + e exactly (Knuth's two-sum), and rounding is monotonic, so only s == bound leaves e to ask.
 */
int exceeds(double a, double b, double bound) {
    double s = a - b, t = s - a, e = (a - (s - t)) - (b + t);
    if (s < 0) {
        s = -s;
        e = -e;
    }
    return !(s <= bound) || (s == bound && e > 0);
}

void describe_field(char *out, size_t capacity, const csz_field *f, const csz_options *o) {
    int n = snprintf(out, capacity, "%s", f->type == CSZ_F32 ? "f32" : "f64");
    for (int i = 0; i < f->ndim; i++) {
        n += snprintf(out + n, capacity - (size_t)n, "%c%llu", i ? 'x' : ' ', (unsigned long long)f->dims[i]);
    }
    if (o) {
        snprintf(out + n, capacity - (size_t)n, " mode %d bound %g workflow %d zstd %d fill %d/%g",
                 (int)o->bound_mode, o->bound, (int)o->workflow, o->zstd_level, o->has_fill, o->fill);
    }
}

void assert_bound_kept(const test_field *original, const void *restored, double bound,
                       const csz_options *options) {
    const csz_type type = original->field.type;
    const uint64_t minus_zero = type == CSZ_F32 ? 0x80000000u : 1ull << 63;
    uint64_t fill = 0;
    if (options->has_fill)
        fill = type == CSZ_F32 ? csz_bits_f32((float)options->fill) : csz_bits_f64(options->fill);
    test_field other = *original;
    other.data = (void *)(uintptr_t)restored;
    for (uint64_t i = 0; i < original->n; i++) {
        uint64_t bits = bits_at(original->data, type, i), got = bits_at(restored, type, i);
        double a = sample_at(original, i), b = sample_at(&other, i);
        int exact = !isfinite(a) || (bits == minus_zero && !options->unsigned_zeros) ||
                    (options->has_fill && bits == fill);
        const int keeps = options->bound_mode == CSZ_BOUND_PWR
                              ? !exhaustive_violates_share(a, b, bound, options->floor)
                              : !exceeds(a, b, bound);
        if (exact ? bits == got : isfinite(b) && keeps) continue;
        char story[200];
        describe_field(story, sizeof story, &original->field, options);
        fail_msg("element %llu: %.17g (%llx) came back as %.17g (%llx), bound %.17g; %s",
                 (unsigned long long)i, a, (unsigned long long)bits, b, (unsigned long long)got, bound,
                 story);
    }
}

static void assert_info(const csz_info *info, const test_field *s, const csz_options *o, const archive *a) {
    assert_int_equal(info->field.type, s->field.type);
    assert_int_equal(info->field.ndim, s->field.ndim);
    for (int i = 0; i < s->field.ndim; i++) assert_true(info->field.dims[i] == s->field.dims[i]);
    /* finer than logarithms of the type: exact, or within the floor */
    const int is_settled = o->bound_mode == CSZ_BOUND_PWR && o->bound < (s->field.type ? 1.1e-11 : 1.4e-6) &&
                           info->bound_mode == (o->floor > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT);
    if (!is_settled) assert_int_equal(info->bound_mode, o->bound_mode);
    assert_true(info->bound == (is_settled ? o->floor : o->bound));
    assert_true(info->floor == (is_settled ? 0 : o->floor));
    if (info->bound_mode == CSZ_BOUND_ABS) assert_true(info->bound_abs == info->bound);
    assert_int_equal(info->workflow, o->workflow);
    assert_int_equal(info->has_fill, o->has_fill);
    assert_int_equal(info->has_zstd, o->zstd_level > 0);
    assert_int_equal(info->format_version, CSZ_FORMAT_VERSION);
    assert_true(info->nelements == s->n);
    assert_true(info->nbytes_field == s->nbytes);
    assert_true(info->nbytes_archive == a->nbytes);
    assert_true(info->tile_dims[0] * info->tile_dims[1] * info->tile_dims[2] == 4096);
}

archive assert_round_trip(const test_field *s, const csz_options *options) {
    static const int threads[] = {2, 3, 7};
    csz_options o = *options;
    o.threads = 1;
    archive a = archive_make(s, &o);
    for (size_t i = CASE_STEP / 2; i < sizeof threads / sizeof threads[0]; i += CASE_STEP) {
        o.threads = threads[i];
        archive b = archive_make(s, &o);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_memory_equal(a.bytes, b.bytes, a.nbytes);
        archive_free(&b);
    }
    ASSERT_OK(csz_test(the_context(), a.bytes, a.nbytes, NULL));
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
    assert_info(&info, s, options, &a);

    uint8_t *restored = malloc(s->nbytes + 1), *again = malloc(s->nbytes + 1);
    assert_true(restored && again);
    memset(restored, 0xA5, s->nbytes + 1);
    memset(again, 0x5A, s->nbytes + 1);
    o.threads = 1;
    ASSERT_OK(csz_decompress(the_context(), restored, s->nbytes, a.bytes, a.nbytes, DECODING(&o)));
    o.threads = 3;
    ASSERT_OK(csz_decompress(the_context(), again, s->nbytes, a.bytes, a.nbytes, DECODING(&o)));
    assert_int_equal(restored[s->nbytes], 0xA5);
    assert_memory_equal(restored, again, s->nbytes);
    assert_bound_kept(s, restored, o.bound_mode == CSZ_BOUND_PWR ? o.bound : info.bound_abs, options);
    free(restored);
    free(again);
    return a;
}
