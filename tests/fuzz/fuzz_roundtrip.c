/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_roundtrip.c: any field and any options.  The first bytes choose type, dims, bound, workflow,
 * predictor, fill and zstd; the others are values, laid out in one of several ways to fill the field.  What
 * compresses restores within the bound, bit for bit where it must, in no more bytes than promised.
 */
#include "fuzz.h"

#include <math.h>

#include "core/base.h"
#include "exhaustive.h"

enum { FEW_ELEMENTS = 1500, MOST_ELEMENTS = 9000 }; /* less than a tile, and three */

static uint64_t bits_at(const void *data, csz_type type, uint64_t i) {
    return type == CSZ_F32 ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
}

static double choose_bound(uint64_t word, csz_bound_mode mode) {
    double bound = csz_f64_bits(word);
    if (word & 1) bound = ldexp(1 + (double)(word >> 8 & 255) / 256, (int)(word >> 16 & 127) - 64);
    if (mode == CSZ_BOUND_PSNR && word & 2) bound = (double)(word >> 8 & 1023) / 4;
    return bound;
}

/* Values straight from the input, cycled, scaled, stepped or summed up. */
static void fill_field(void *data, const csz_field *f, uint64_t n, fuzz_input in, uint32_t layout) {
    size_t size = f->type == CSZ_F32 ? 4 : 8;
    fuzz_input start = in;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (in.left < size) in = start;
        uint64_t bits = 0;
        double value = 0;
        switch (layout & 7) {
        case 0: bits = in.left ? fuzz_take(&in, size) : i; break;
        case 1: value = (double)(int8_t)fuzz_take(&in, 1) / 16; break;
        case 2: value = sum += (double)(int8_t)fuzz_take(&in, 1) / 64; break;
        case 3: value = (double)(int64_t)(i / (1 + (layout >> 3))); break;
        case 4: value = sum += (double)(int16_t)fuzz_take(&in, 2); break;
        case 5: bits = i % 16 == layout >> 4 ? fuzz_take(&in, size) : 0; break;
        case 6: value = (double)i * (double)(layout >> 3) / 8 + (double)(fuzz_take(&in, 1) & 1); break;
        default: value = i % 61 < (layout >> 3) ? 1e20 : (double)(uint8_t)fuzz_take(&in, 1); break;
        }
        int is_value = (layout & 7) != 0 && (layout & 7) != 5;
        if (f->type == CSZ_F32)
            ((uint32_t *)data)[i] = is_value ? csz_bits_f32((float)value) : (uint32_t)bits;
        else
            ((uint64_t *)data)[i] = is_value ? csz_bits_f64(value) : bits;
    }
}

static int violates(uint64_t was, uint64_t is, csz_type type, const csz_info *info) {
    if (info->bound_mode == CSZ_BOUND_PWR)
        return type == CSZ_F32
                   ? exhaustive_violates_share_f32((uint32_t)was, (uint32_t)is, info->bound, info->floor)
                   : exhaustive_violates_share_f64(was, is, info->bound, info->floor);
    return type == CSZ_F32 ? exhaustive_violates_f32((uint32_t)was, (uint32_t)is, info->bound_abs)
                           : exhaustive_violates_f64(was, is, info->bound_abs);
}

static void check_restored(const void *data, const void *back, const csz_field *f, uint64_t n,
                           const csz_info *info, const csz_options *o) {
    uint64_t fill = f->type == CSZ_F32 ? csz_bits_f32((float)o->fill) : csz_bits_f64(o->fill);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t was = bits_at(data, f->type, i), is = bits_at(back, f->type, i);
        if (o->has_fill) FUZZ_CHECK((was == fill) == (is == fill));
        FUZZ_CHECK(!violates(was, is, f->type, info));
    }
}

/* Level 1: every second value along each dim, within the bound; -0.0 may have lost its sign. */
static void check_preview(const void *data, void *back, size_t capacity, const uint8_t *archive,
                          size_t nbytes, const csz_info *info) {
    csz_field f;
    uint64_t n = 1, dims[3] = {1, 1, 1}, whole[3] = {1, 1, 1};
    FUZZ_CHECK(csz_level_field(&f, info, 1) == CSZ_OK);
    FUZZ_CHECK(csz_decompress_level(fuzz_context(), back, capacity, archive, nbytes, 1, NULL, NULL, NULL) ==
               CSZ_OK);
    if (info->field.ndim == 4) return; /* of which the two slowest are one, if none is 1 */
    for (int i = 0; i < f.ndim; i++) {
        dims[3 - f.ndim + i] = f.dims[i];
        whole[3 - f.ndim + i] = info->field.dims[i];
        n *= f.dims[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = 2 * (i % dims[2]), y = 2 * (i / dims[2] % dims[1]),
                       z = 2 * (i / dims[2] / dims[1]);
        uint64_t was = bits_at(data, f.type, (z * whole[1] + y) * whole[2] + x),
                 is = bits_at(back, f.type, i);
        if (was == (f.type == CSZ_F32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63) && is == 0) is = was;
        FUZZ_CHECK(!violates(was, is, f.type, info));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    fuzz_input in = {data, nbytes};
    csz_options o;
    csz_options_init(&o);
    uint32_t flags = (uint32_t)fuzz_take(&in, 4);
    csz_field field = {.type = (csz_type)(flags & 1), .ndim = 1 + (int)(flags >> 1 & 3)};
    const int is_exact = (flags >> 3 & 3) == 3 && flags >> 28 & 1;
    o.bound_mode = is_exact ? CSZ_BOUND_EXACT : (csz_bound_mode)(flags >> 3 & 3);
    o.workflow = (csz_workflow)(flags >> 5 & 3);
    o.predictor = (csz_predictor)((flags >> 25 & 3) % 3);
    o.has_fill = flags >> 7 & 1;
    o.zstd_level = flags >> 8 & 1 && csz_zstd_available() ? 1 + (int)(flags >> 9 & 1) : 0;
    o.threads = flags >> 10 & 1 ? 2 : 1;
    o.backend = CSZ_BACKEND_CPU;
    uint32_t layout = flags >> 16 & 0xFF;
    o.bound = choose_bound(fuzz_take(&in, 8), o.bound_mode);
    if (is_exact) {
        o.bound = 0;
        o.workflow = CSZ_WORKFLOW_AUTO;
        o.predictor = CSZ_PREDICTOR_AUTO;
    }
    if (o.bound_mode == CSZ_BOUND_PWR && flags >> 27 & 1) o.floor = 1e-3 * o.bound;
    if (!(o.floor > 0 && isfinite(o.floor))) o.floor = 0;
    o.fill = flags >> 24 & 1 ? 1e20 : csz_f64_bits(fuzz_take(&in, 8));
    uint64_t n = 1;
    const uint64_t most = (flags >> 11 & 3) == 3 ? MOST_ELEMENTS : FEW_ELEMENTS;
    for (int i = 0; i < field.ndim; i++) {
        uint64_t d = fuzz_take(&in, i == field.ndim - 1 ? 2 : 1);
        field.dims[i] = d > most / n ? most / n : d;
        if (field.dims[i]) n *= field.dims[i];
    }
    for (int i = 0; i < field.ndim; i++) n = field.dims[i] ? n : 0;
    size_t size = field.type == CSZ_F32 ? 4 : 8, raw = (size_t)n * size, capacity, stored_nbytes;
    void *values = malloc(raw + 8), *back = malloc(raw + 8);
    FUZZ_CHECK(values && back);
    fill_field(values, &field, n, in, layout);
    FUZZ_CHECK(csz_compress_bound(&capacity, &field, &o) == CSZ_OK);
    FUZZ_CHECK(capacity <= raw + raw / 100 + 1024);
    uint8_t *stored = malloc(capacity);
    FUZZ_CHECK(stored);
    csz_status status = csz_compress(fuzz_context(), stored, capacity, &stored_nbytes, values, &field, &o);
    const int is_share = o.bound_mode != CSZ_BOUND_PWR || o.bound < 1;
    FUZZ_CHECK(status ==
               (is_exact || (o.bound > 0 && isfinite(o.bound) && is_share) ? CSZ_OK : CSZ_ERROR_BOUND));
    if (status == CSZ_OK) {
        csz_info info;
        FUZZ_CHECK(stored_nbytes <= capacity &&
                   csz_inspect(&info, sizeof info, stored, stored_nbytes) == CSZ_OK);
        uint8_t *exact = fuzz_copy(stored, stored_nbytes);
        FUZZ_CHECK(csz_decompress(fuzz_context(), back, raw, exact, stored_nbytes, NULL) == CSZ_OK);
        if ((flags >> 13 & 7) == 7) /* a second decode; what it alone does takes few inputs to reach */
            FUZZ_CHECK(csz_test(fuzz_context(), exact, stored_nbytes, NULL) == CSZ_OK);
        check_restored(values, back, &field, n, &info, &o);
        if (info.nlevels > 1) check_preview(values, back, raw, exact, stored_nbytes, &info);
        free(exact);
    }
    free(values);
    free(back);
    free(stored);
    return 0;
}
