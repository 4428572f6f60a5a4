/* SPDX-License-Identifier: BSD-3-Clause */
/* soak_flips.c: a million random changes of 1 to 16 bytes, in archives of every kind, are all refused. */
#include "damage.h"

#include <stdlib.h>
#include <string.h>

static void a_million_changes_are_refused(void **state) {
    (void)state;
    victim victims[NVICTIMS];
    int n = victims_make(victims);
    rng r = rng_make(501);
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    for (uint32_t k = 0; k < 1000000; k++) {
        const victim *v = &victims[k % (uint32_t)n];
        const size_t nbytes = v->archive.nbytes;
        uint8_t bytes[2048], data[80000];
        assert_true(nbytes <= sizeof bytes && v->nbytes_field <= sizeof data);
        memcpy(bytes, v->archive.bytes, nbytes);
        size_t at = rng_below(&r, (uint32_t)nbytes);
        for (uint32_t changes = 1 + rng_below(&r, 16); changes > 0; changes--) {
            /* neighbours half of the time, as damage comes in bursts */
            at = rng_below(&r, 2) ? (at + 1) % nbytes : rng_below(&r, (uint32_t)nbytes);
            bytes[at] = (uint8_t)rng_next(&r);
        }
        if (memcmp(bytes, v->archive.bytes, nbytes) == 0) continue;
        if (csz_decompress(the_context(), data, v->nbytes_field, bytes, nbytes, DECODING(&o)) == CSZ_OK) {
            fail_msg("change %u of victim %u was not seen", k, k % (uint32_t)n);
        }
    }
    victims_free(victims, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_changes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
