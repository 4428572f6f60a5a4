/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_damage.c: an archive that was changed is refused, and one that was forged (changed, with its checksums
 * made right) never makes the reader leave its buffers; the sanitizers of `make test` see to that.
 */
#include "damage.h"

#include <stdlib.h>
#include <string.h>

#include "core/base.h"

static victim victims[NVICTIMS];
static int nvictims;

static int make_all(void **state) {
    (void)state;
    nvictims = victims_make(victims);
    return 0;
}

static int free_all(void **state) {
    (void)state;
    victims_free(victims, nvictims);
    return 0;
}

/* Between them the victims have every kind of tile. */
static void victims_cover_every_coder(void **state) {
    (void)state;
    csz_tile_counts sum = {0}, c;
    for (int i = 0; i < nvictims; i++) {
        ASSERT_OK(
            csz_survey(the_context(), &c, sizeof c, victims[i].archive.bytes, victims[i].archive.nbytes));
        sum.fill += c.fill;
        sum.single += c.single;
        sum.rle += c.rle;
        sum.rle_vle += c.rle_vle;
        sum.raw += c.raw;
        sum.masks += c.masks;
        sum.exceptions += c.exceptions;
        sum.mask8 += c.mask8;
        sum.quad += c.quad;
        sum.pair += c.pair;
        sum.exact += c.exact;
        verdict d = archive_read_all(victims[i].archive.bytes, victims[i].archive.nbytes, &victims[i]);
        assert_true(!d.decompress && !d.test && !d.inspect && !d.survey && !d.region);
        assert_true(victims[i].archive.nbytes < 1500);
    }
    assert_true(sum.fill && sum.single && sum.rle && sum.rle_vle && sum.raw && sum.masks && sum.exceptions);
    assert_true(sum.mask8 && sum.quad && sum.pair && sum.exact);
}

static void every_flip_of_a_bit_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        uint8_t *bytes = malloc(a->nbytes), *data = malloc(victims[i].nbytes_field);
        assert_true(bytes && data);
        memcpy(bytes, a->bytes, a->nbytes);
        csz_options o = options_make(CSZ_BOUND_ABS, 0);
        /* under the sanitizers a bit of every byte, another one each time */
        for (size_t bit = 0; bit < 8 * a->nbytes; bit += 1 + 6 * EVERY_OTHER) {
            csz_info info;
            bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            csz_status status =
                csz_decompress(the_context(), data, victims[i].nbytes_field, bytes, a->nbytes, DECODING(&o));
            if (status == CSZ_OK || csz_test(the_context(), bytes, a->nbytes, DECODING(&o)) == CSZ_OK) {
                fail_msg("victim %d: bit %zu of %zu bytes was not missed", i, bit, a->nbytes);
            }
            assert_int_not_equal(status, CSZ_ERROR_ARGUMENT);
            assert_int_not_equal(status, CSZ_ERROR_MEMORY);
            csz_inspect(&info, sizeof info, bytes, a->nbytes);
            bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        free(bytes);
        free(data);
    }
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        for (size_t n = 0; n < a->nbytes; n++) {
            verdict d = archive_read_all(a->bytes, n, &victims[i]);
            assert_true(d.decompress && d.test && d.inspect && d.survey && d.region);
            assert_int_equal(d.test, n < 4 ? CSZ_ERROR_NOT_ARCHIVE : CSZ_ERROR_TRUNCATED);
        }
    }
}

static void trailing_bytes_are_refused(void **state) {
    (void)state;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        for (size_t more = 1; more < 20; more++) {
            uint8_t *longer = calloc(a->nbytes + more, 1);
            assert_non_null(longer);
            memcpy(longer, a->bytes, a->nbytes);
            memset(longer + a->nbytes, (int)(more * 37 % 5 * 51), more); /* zeros, and others */
            verdict d = archive_read_all(longer, a->nbytes + more, &victims[i]);
            assert_int_equal(d.decompress, CSZ_ERROR_TRAILING);
            assert_int_equal(d.test, CSZ_ERROR_TRAILING);
            assert_int_equal(d.inspect, CSZ_ERROR_TRAILING);
            free(longer);
        }
    }
}

static void newer_versions_and_unknown_features_are_named(void **state) {
    (void)state;
    csz_info info;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        uint8_t *bytes = malloc(a->nbytes);
        assert_non_null(bytes);
        memcpy(bytes, a->bytes, a->nbytes);
        bytes[4] = CSZ_FORMAT_VERSION + 1; /* whatever else a newer version changes, checksums included */
        assert_int_equal(archive_read_all(bytes, a->nbytes, &victims[i]).decompress, CSZ_ERROR_VERSION);
        assert_int_equal(csz_inspect(&info, sizeof info, bytes, a->nbytes), CSZ_ERROR_VERSION);
        bytes[4] = CSZ_FORMAT_VERSION;
        for (int bit = 3; bit < 16; bit++) {
            csz_store_u16(bytes + 8, csz_load_u16(a->bytes + 8) | 1u << bit);
            archive_reseal(bytes, a->nbytes);
            /* bit 3, a floor, is known, but these have none */
            assert_int_equal(archive_read_all(bytes, a->nbytes, &victims[i]).decompress,
                             bit == 3 ? CSZ_ERROR_CORRUPT : CSZ_ERROR_VERSION);
        }
        memcpy(bytes, a->bytes, a->nbytes);
        bytes[12] = 2; /* another predictor */
        archive_reseal(bytes, a->nbytes);
        assert_int_equal(csz_inspect(&info, sizeof info, bytes, a->nbytes), CSZ_ERROR_VERSION);
        /* features that may be ignored are */
        memcpy(bytes, a->bytes, a->nbytes);
        csz_store_u16(bytes + 10, 0xFFFF);
        archive_reseal(bytes, a->nbytes);
        verdict d = archive_read_all(bytes, a->nbytes, &victims[i]);
        assert_true(!d.decompress && !d.test && !d.inspect);
        free(bytes);
    }
}

/* Resealing an archive that was not changed changes nothing: the forgeries below differ in their damage
 * alone. */
static void resealing_is_faithful(void **state) {
    (void)state;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        uint8_t *bytes = malloc(a->nbytes);
        assert_non_null(bytes);
        memcpy(bytes, a->bytes, a->nbytes);
        archive_reseal(bytes, a->nbytes);
        assert_memory_equal(bytes, a->bytes, a->nbytes);
        free(bytes);
    }
}

/* One to eight bytes of header, books, index or payload changed and sealed.  Decoding may even succeed; it
 * must stay inside. */
static void forgeries_stay_inside_their_buffers(void **state) {
    (void)state;
    rng r = rng_make(401);
    uint32_t refused = 0, passed_checksums = 0;
    for (int k = 0; k < 6000; k++) {
        const victim *v = &victims[k % nvictims];
        size_t n = v->archive.nbytes;
        uint8_t *bytes = malloc(n);
        assert_non_null(bytes);
        memcpy(bytes, v->archive.bytes, n);
        size_t header = csz_load_u16(bytes + 18), from = rng_below(&r, 8) ? header : 0;
        for (uint32_t changes = 1 + rng_below(&r, 8); changes > 0; changes--) {
            size_t at = from + rng_below(&r, (uint32_t)(n - from - 8));
            switch (rng_below(&r, 4)) {
            case 0: bytes[at] ^= (uint8_t)(1u << rng_below(&r, 8)); break;
            case 1: bytes[at] = (uint8_t)rng_next(&r); break;
            case 2: bytes[at] = rng_below(&r, 2) ? 0xFF : 0; break;
            default: csz_store_u16(bytes + at / 4 * 4, rng_below(&r, 65536)); break;
            }
        }
        if (rng_below(&r, 3))
            csz_store_u64(bytes + header,
                          csz_load_u64(v->archive.bytes + header)); /* keep the frame's size */
        archive_reseal(bytes, n);
        verdict d = archive_read_all(bytes, n, v);
        refused += d.decompress != CSZ_OK;
        passed_checksums += d.survey == CSZ_OK;
        free(bytes);
    }
    assert_true(refused > 4000);
    assert_true(passed_checksums > 1000);
}

/* First words of records are where a hostile archive has most to say: every bit of them, sealed. */
static void forged_records_stay_inside_their_buffers(void **state) {
    (void)state;
    rng r = rng_make(402);
    for (int i = 0; i < NVICTIMS_PLAIN; i++) {
        const archive *a = &victims[i].archive;
        csz_tile_counts counts;
        ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a->bytes, a->nbytes));
        size_t payload = a->nbytes - 16 - (size_t)counts.nbytes_payload;
        uint8_t *bytes = malloc(a->nbytes);
        assert_non_null(bytes);
        for (int k = 0; k < 150; k++) {
            memcpy(bytes, a->bytes, a->nbytes);
            uint32_t first = csz_load_u32(bytes + payload);
            if (k < 32) {
                first ^= 1u << k;
            } else {
                first = (first & ~0xFu) | rng_below(&r, 16);
                first ^= (uint32_t)rng_next(&r) & (uint32_t)rng_next(&r) & (uint32_t)rng_next(&r);
            }
            csz_store_u32(bytes + payload, first);
            archive_reseal(bytes, a->nbytes);
            archive_read_all(bytes, a->nbytes, &victims[i]);
        }
        free(bytes);
    }
}

static void garbage_is_refused(void **state) {
    (void)state;
    rng r = rng_make(403);
    for (int k = 0; k < 3000; k++) {
        uint8_t bytes[400];
        size_t n = rng_below(&r, sizeof bytes + 1);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)rng_next(&r);
        if (k % 3 > 0 && n >= 4) memcpy(bytes, "CSZ+", 4);
        if (k % 3 > 1 && n >= 5) bytes[4] = 1;
        verdict d = archive_read_all(bytes, n, &victims[0]);
        assert_true(d.decompress && d.test && d.inspect && d.survey && d.region);
        if (k % 3 == 0) assert_int_equal(d.test, CSZ_ERROR_NOT_ARCHIVE);
    }
}

/* A true header with huge dims must not make anyone allocate or loop for them. */
static void headers_that_promise_too_much_are_refused(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    for (int log2_n = 20; log2_n <= 56; log2_n++) {
        const archive *a = &victims[4].archive; /* 1-D */
        uint8_t *bytes = malloc(a->nbytes), *data = malloc(victims[4].nbytes_field);
        assert_true(bytes && data);
        memcpy(bytes, a->bytes, a->nbytes);
        csz_store_u64(bytes + 40, (uint64_t)1 << log2_n);
        archive_reseal(bytes, a->nbytes);
        assert_int_not_equal(
            csz_decompress(the_context(), data, victims[4].nbytes_field, bytes, a->nbytes, NULL), CSZ_OK);
        assert_int_not_equal(csz_test(the_context(), bytes, a->nbytes, LIMITED(&o, 1 << 28)), CSZ_OK);
        csz_info info;
        ASSERT_OK(csz_inspect_header(&info, sizeof info, bytes, a->nbytes));
        assert_true(info.nelements == (uint64_t)1 << log2_n);
        free(bytes);
        free(data);
    }
}

static void a_header_alone_can_be_inspected(void **state) {
    (void)state;
    for (int i = 0; i < nvictims; i++) {
        const archive *a = &victims[i].archive;
        csz_info whole, start;
        size_t header = csz_load_u16(a->bytes + 18);
        ASSERT_OK(csz_inspect(&whole, sizeof whole, a->bytes, a->nbytes));
        for (size_t n = 0; n < header; n++) {
            csz_status expected = n < 4 ? CSZ_ERROR_NOT_ARCHIVE : CSZ_ERROR_TRUNCATED;
            assert_int_equal(csz_inspect_header(&start, sizeof start, a->bytes, n), expected);
        }
        ASSERT_OK(csz_inspect_header(&start, sizeof start, a->bytes, header));
        assert_true(start.nbytes_archive == 0);
        start.nbytes_archive = whole.nbytes_archive;
        assert_memory_equal(&start, &whole, sizeof whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims_cover_every_coder),
        cmocka_unit_test(every_flip_of_a_bit_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(newer_versions_and_unknown_features_are_named),
        cmocka_unit_test(resealing_is_faithful),
        cmocka_unit_test(forgeries_stay_inside_their_buffers),
        cmocka_unit_test(forged_records_stay_inside_their_buffers),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(headers_that_promise_too_much_are_refused),
        cmocka_unit_test(a_header_alone_can_be_inspected),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
