/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_drift.c: a decoder that restores anything but what the encoder checked is found out, even where every
 * other checksum holds.  A decoder that drifts is played by an archive whose step is off by the last bit, and
 * by one that expects other values.
 */
#include "damage.h"

#include <stdlib.h>
#include <string.h>

#include "core/base.h"

static void assert_refused(const uint8_t *bytes, const victim *v, const char *what, int number) {
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    uint8_t *data = malloc(v->nbytes_field);
    assert_non_null(data);
    csz_status status = csz_decompress(the_context(), data, v->nbytes_field, bytes, v->archive.nbytes,
                                       DECODING(&o)),
               tested = csz_test(the_context(), bytes, v->archive.nbytes, DECODING(&o));
    if (status != CSZ_ERROR_CORRUPT || tested != CSZ_ERROR_CORRUPT)
        fail_msg("victim %d, %s: %d, %d", number, what, (int)status, (int)tested);
    free(data);
}

static void other_values_than_the_encoder_saw_are_refused(void **state) {
    (void)state;
    victim victims[NVICTIMS];
    int n = victims_make(victims), ndrifted = 0;
    for (int i = 0; i < n; i++) {
        const archive *a = &victims[i].archive;
        uint8_t *bytes = malloc(a->nbytes);
        assert_non_null(bytes);
        size_t header = csz_load_u16(a->bytes + 18);
        for (int bit = 0; bit < 32; bit++) { /* the stored checksum of the values */
            memcpy(bytes, a->bytes, a->nbytes);
            csz_store_u32(bytes + header + 20, csz_load_u32(bytes + header + 20) ^ 1u << bit);
            archive_reseal(bytes, a->nbytes);
            assert_refused(bytes, &victims[i], "its checksum of values changed", i);
        }
        csz_tile_counts c;
        ASSERT_OK(csz_survey(the_context(), &c, sizeof c, a->bytes, a->nbytes));
        const int has_step = c.mask8 + c.quad + c.pair + c.single + c.rle + c.rle_vle > 0;
        uint64_t bound = csz_load_u64(a->bytes + 32); /* 2^29: the least that moves the step of floats */
        for (int k = -1; has_step && k <= 1; k += 2) {
            memcpy(bytes, a->bytes, a->nbytes);
            csz_store_u64(bytes + 32,
                          bound + (uint64_t)(int64_t)k * (victims[i].field.type == CSZ_F32 ? 1u << 29 : 1));
            archive_reseal(bytes, a->nbytes);
            assert_refused(bytes, &victims[i], "its step moved by one bit", i);
            ndrifted++;
        }
        free(bytes);
    }
    assert_true(ndrifted >= 20);
    victims_free(victims, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_values_than_the_encoder_saw_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
