/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_region.c: boxes of any archive and of its previews: sixteen bytes that place the box, then the
 * archive.  Where the whole can be decoded too, the box is a part of it; a reader behind a callback restores
 * the same box.
 */
#include "fuzz.h"

static uint64_t index_of(const csz_field *f, const uint64_t *at) {
    uint64_t i = 0;
    for (int k = 0; k < f->ndim; k++) i = i * f->dims[k] + at[k];
    return i;
}

/* The box's values are those of the whole field. */
static void check_part(const uint8_t *part, const uint8_t *whole, const csz_field *f, const uint64_t *begin,
                       const uint64_t *end) {
    size_t size = f->type == CSZ_F32 ? 4 : 8, n = 0;
    uint64_t at[CSZ_MAX_NDIM];
    memcpy(at, begin, sizeof at);
    for (;;) {
        FUZZ_CHECK(memcmp(part + size * n++, whole + size * index_of(f, at), size) == 0);
        int k = f->ndim - 1;
        while (k >= 0 && ++at[k] == end[k]) at[k] = begin[k], k--;
        if (k < 0) break;
    }
}

/* The box once more, through a reader, which looks at what it needs alone. */
static void check_reader(const uint8_t *part, csz_status status, const uint8_t *archive, size_t nbytes,
                         size_t part_nbytes, const uint64_t *begin, const uint64_t *end,
                         const csz_decompress_options *o) {
    fuzz_bytes source = {archive, nbytes};
    csz_reader *reader;
    csz_status opened = csz_reader_open(&reader, fuzz_read_at, &source, nbytes);
    if (status == CSZ_OK) FUZZ_CHECK(opened == CSZ_OK);
    if (opened) return;
    uint8_t *again = malloc(part_nbytes);
    FUZZ_CHECK(again);
    fuzz_memory_watch();
    csz_status got = csz_reader_region(fuzz_context(), again, part_nbytes, reader, begin, end, o);
    fuzz_memory_check(FUZZ_MEMORY_LIMIT);
    if (status == CSZ_OK) FUZZ_CHECK(got == CSZ_OK && memcmp(part, again, part_nbytes) == 0);
    free(again);
    csz_reader_close(reader);
}

/* A box of the field's dims from its sixteen bytes; returns its elements. */
static uint64_t place_box(uint64_t *begin, uint64_t *end, const csz_field *f, const uint8_t *data) {
    uint64_t count = 1;
    for (int i = 0; i < f->ndim; i++) {
        uint64_t d = f->dims[i] ? f->dims[i] : 1, a = data[4 * i] | data[4 * i + 1] << 8,
                 b = data[4 * i + 2] | data[4 * i + 3] << 8;
        begin[i] = a % d;
        end[i] = begin[i] + 1 + b % (d - begin[i]);
        count *= end[i] - begin[i];
    }
    return count;
}

/* A preview, the box of it, and the same by a reader. */
static void check_level(const uint8_t *archive, size_t nbytes, const csz_info *info, const uint8_t *data,
                        const csz_decompress_options *o) {
    csz_field f;
    uint64_t begin[CSZ_MAX_NDIM] = {0}, end[CSZ_MAX_NDIM] = {0};
    const int level = data[15] & 3;
    if (level == 0 || info->nelements == 0 || csz_level_field(&f, info, level) != CSZ_OK) return;
    const size_t size = f.type == CSZ_F64 ? 8 : 4;
    uint64_t n = 1;
    for (int i = 0; i < f.ndim; i++) n *= f.dims[i];
    if (n > FUZZ_FIELD_MAX_NBYTES / size) return;
    const size_t part_nbytes = (size_t)place_box(begin, end, &f, data) * size, capacity = (size_t)n * size;
    uint8_t *whole = malloc(capacity), *part = malloc(part_nbytes), *again = malloc(part_nbytes);
    FUZZ_CHECK(whole && part && again);
    fuzz_memory_watch();
    csz_status all =
        csz_decompress_level(fuzz_context(), whole, capacity, archive, nbytes, level, NULL, NULL, o);
    csz_status some =
        csz_decompress_level(fuzz_context(), part, part_nbytes, archive, nbytes, level, begin, end, o);
    fuzz_memory_check(FUZZ_MEMORY_LIMIT);
    if (all == CSZ_OK) {
        FUZZ_CHECK(some == CSZ_OK);
        check_part(part, whole, &f, begin, end);
    }
    fuzz_bytes source = {archive, nbytes};
    csz_reader *reader;
    if (csz_reader_open(&reader, fuzz_read_at, &source, nbytes) == CSZ_OK) {
        fuzz_memory_watch();
        csz_status got = csz_reader_level(fuzz_context(), again, part_nbytes, reader, level, begin, end, o);
        fuzz_memory_check(FUZZ_MEMORY_LIMIT);
        if (some == CSZ_OK) FUZZ_CHECK(got == CSZ_OK && memcmp(part, again, part_nbytes) == 0);
        csz_reader_close(reader);
    } else {
        FUZZ_CHECK(some != CSZ_OK);
    }
    free(whole);
    free(part);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    if (nbytes < 16) return 0;
    uint8_t *copy = fuzz_archive(data + 16, nbytes - 16);
    csz_decompress_options o;
    csz_decompress_options_init(&o);
    o.threads = 1;
    o.backend = CSZ_BACKEND_CPU;
    o.memory_limit = FUZZ_MEMORY_LIMIT;
    csz_info info;
    uint64_t begin[CSZ_MAX_NDIM] = {0}, end[CSZ_MAX_NDIM] = {0};
    csz_status inspected = csz_inspect(&info, sizeof info, copy, nbytes - 16);
    const uint64_t count = inspected ? 1 : place_box(begin, end, &info.field, data);
    size_t size = !inspected && info.field.type == CSZ_F64 ? 8 : 4;
    size_t capacity = count <= FUZZ_FIELD_MAX_NBYTES / size ? (size_t)count * size : 8;
    uint8_t *part = malloc(capacity);
    FUZZ_CHECK(part);
    fuzz_memory_watch();
    csz_status status =
        csz_decompress_region(fuzz_context(), part, capacity, copy, nbytes - 16, begin, end, &o);
    fuzz_memory_check(FUZZ_MEMORY_LIMIT);
    if (inspected) FUZZ_CHECK(status != CSZ_OK);
    if (!inspected) check_level(copy, nbytes - 16, &info, data, &o);
    check_reader(part, status, copy, nbytes - 16, capacity, begin, end, &o);
    if (!inspected && info.nelements && info.nbytes_field <= FUZZ_FIELD_MAX_NBYTES) {
        uint8_t *whole = malloc((size_t)info.nbytes_field);
        FUZZ_CHECK(whole);
        fuzz_memory_watch();
        csz_status decoded =
            csz_decompress(fuzz_context(), whole, (size_t)info.nbytes_field, copy, nbytes - 16, &o);
        fuzz_memory_check(FUZZ_MEMORY_LIMIT);
        if (decoded == CSZ_OK) {
            FUZZ_CHECK(status == CSZ_OK);
            check_part(part, whole, &info.field, begin, end);
        }
        free(whole);
    }
    free(part);
    free(copy);
    return 0;
}
