/* SPDX-License-Identifier: BSD-3-Clause */
/* api_verdicts.c: damaged archives get the CPU's verdict. */
#include "api.h"

#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An archive of victim v, damaged or not: CPU and device agree on whether it is one of its field, and on the
 * values. */
static void check_verdict(const victim *v, const uint8_t *bytes, size_t bytes_n, const char *what,
                          int number) {
    csz_options cpu = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    csz_info info;
    csz_status status = csz_inspect_header(&info, sizeof info, bytes, bytes_n);
    if (!status && info.metadata_nbytes) return; /* which calls on a stream are not given, and do not miss */
    const size_t nbytes = v->nbytes_field;
    void *d_archive = device_make(bytes, bytes_n), *d_values = device_make(NULL, nbytes);
    csz_cuda_result *result = results_make(1);
    uint8_t *values = malloc(nbytes), *restored = malloc(nbytes);
    /* one that claims other dims is refused here for that */
    const int other = !status && (info.has_zstd || memcmp(&info.field, &v->field, sizeof info.field));
    /* one that claims to have pyramids, or another kind of bound, is for another call */
    const int expected = v->archive.bytes[7], claimed = bytes_n > 7 ? bytes[7] : expected;
    const int unknown = (bytes_n > 12 && bytes[12] == CSZ_PREDICTOR_PYRAMID) ||
                        (expected == CSZ_BOUND_EXACT) != (claimed == CSZ_BOUND_EXACT) ||
                        (expected == CSZ_BOUND_PWR) != (claimed == CSZ_BOUND_PWR);
    ASSERT_OK(csz_cuda_expect_bound(the_context(), (csz_bound_mode)expected));
    const int is_ours = !status && !other;
    if (is_ours) status = csz_decompress(the_context(), values, nbytes, bytes, bytes_n, DECODING(&cpu));
    ASSERT_OK(csz_cuda_decompress_async(the_context(), d_values, nbytes, result, d_archive, bytes_n, NULL,
                                        &v->field, NULL, 0, the_stream()));
    wait_for_stream();
    const uint32_t told = result->status;
    if (told != CSZ_OK && told != CSZ_ERROR_NOT_ARCHIVE && told != CSZ_ERROR_VERSION &&
        told != CSZ_ERROR_TRUNCATED && told != CSZ_ERROR_CORRUPT && (is_ours || told != CSZ_ERROR_ARGUMENT) &&
        !(unknown && told == CSZ_ERROR_ARGUMENT))
        fail_msg("%s %d: the device says %u", what, number, told);
    if (other || unknown) {
        assert_int_not_equal(told, CSZ_OK);
    } else if ((status != CSZ_OK) != (told != CSZ_OK)) {
        fail_msg("%s %d: the CPU says %d, the device %u (faults %x)", what, number, status, told,
                 result->faults);
    } else if (!status) {
        device_read(restored, d_values, nbytes);
        assert_memory_equal(restored, values, nbytes);
    }
    free(values);
    free(restored);
    results_free(result);
    device_free(d_archive);
    device_free(d_values);
}

/* Bits of a header that tells of a fill value, all checksums right; the values, being raw, depend on none of
 * them. */
static void headers_get_the_cpus_verdict(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_1d((csz_type)type, 20), RANDOM_BITS, 1);
        csz_options o = options_make(CSZ_BOUND_ABS, 0.1);
        o.has_fill = 1;
        o.fill = fill_value;
        victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
        const uint32_t nbits = 8u * (v.archive.bytes[18] | (uint32_t)v.archive.bytes[19] << 8);
        uint8_t *bytes = malloc(v.archive.nbytes);
        for (uint32_t bit = 0; bit < nbits; bit += HEADER_STEP) {
            memcpy(bytes, v.archive.bytes, v.archive.nbytes);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            archive_reseal(bytes, v.archive.nbytes);
            check_verdict(&v, bytes, v.archive.nbytes, "bit", (int)bit);
        }
        /* a bound that is none */
        static const uint64_t bounds[] = {0x7FF0000000000000u, 0x7FF8000000000000u, 0x8000000000000000u,
                                          0xBFF0000000000000u, 0};
        for (int i = 0; i < 10; i++) {
            memcpy(bytes, v.archive.bytes, v.archive.nbytes);
            memcpy(bytes + (i < 5 ? 24 : 32), &bounds[i % 5], 8);
            archive_reseal(bytes, v.archive.nbytes);
            check_verdict(&v, bytes, v.archive.nbytes, "bound", i);
        }
        free(bytes);
        victims_free(&v, 1);
        sample_free(&s);
    }
}

/* An archive of no values has nothing between header and footer. */
static void words_in_an_archive_of_no_values_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 0), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 0.1);
    victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
    const size_t nbytes = v.archive.nbytes;
    uint8_t *bytes = calloc(nbytes + 8, 1);
    memcpy(bytes, v.archive.bytes, nbytes);
    check_verdict(&v, bytes, nbytes, "as it is", 0);
    check_verdict(&v, bytes, nbytes + 2, "2 bytes more", 0);
    memmove(bytes + nbytes, bytes + nbytes - 8, 8);
    memset(bytes + nbytes - 8, 0, 8);
    check_verdict(&v, bytes, nbytes + 8, "8 bytes more", 0);
    free(bytes);
    victims_free(&v, 1);
    sample_free(&s);
}

static void damaged_archives_get_the_cpus_verdict(void **state) {
    (void)state;
    victim victims[NVICTIMS + 2];
    int n = victims_make(victims);
    /* archives with zstd make room for some with pointwise bounds */
    victims_free(victims + NVICTIMS_PLAIN, n - NVICTIMS_PLAIN);
    n = NVICTIMS_PLAIN;
    for (int type = 0; type < 2; type++) {
        csz_options o = options_make(CSZ_BOUND_PWR, 0.01);
        if (type) o.floor = 1e-3;
        test_field s = sample_make(field_2d((csz_type)type, 13, 17), type ? SMOOTH : SPECIALS, 1);
        const victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
        victims[n++] = v;
        sample_free(&s);
    }
    rng r = rng_make(5);
    for (int v = 0; v < n; v++) {
        const archive *a = &victims[v].archive;
        uint8_t *bytes = malloc(a->nbytes);
        char what[40];
        snprintf(what, sizeof what, "victim %d round", v);
        for (int round = 0; round < damage_rounds; round++) {
            memcpy(bytes, a->bytes, a->nbytes);
            for (uint32_t c = 1 + rng_below(&r, 3); c > 0; c--)
                bytes[rng_below(&r, (uint32_t)a->nbytes)] ^= (uint8_t)(1u << rng_below(&r, 8));
            if (round & 3) archive_reseal(bytes, a->nbytes);
            check_verdict(&victims[v], bytes, a->nbytes, what, round);
        }
        /* the device lives on */
        check_verdict(&victims[v], a->bytes, a->nbytes, what, -1);
        free(bytes);
    }
    victims_free(victims, n);
}

int test_verdicts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_archives_get_the_cpus_verdict),
        cmocka_unit_test(headers_get_the_cpus_verdict),
        cmocka_unit_test(words_in_an_archive_of_no_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
