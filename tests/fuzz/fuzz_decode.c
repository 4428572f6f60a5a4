/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_decode.c: any bytes as an archive, through every call that reads a whole one. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = fuzz_archive(data, nbytes);
    csz_options o;
    csz_options_init(&o);
    o.threads = 1;
    o.backend = CSZ_BACKEND_CPU;
    o.memory_limit = FUZZ_MEMORY_LIMIT;
    csz_info info;
    csz_tile_counts counts;
    csz_status inspected = csz_inspect(&info, copy, nbytes);
    size_t capacity =
        !inspected && info.nbytes_field <= FUZZ_FIELD_MAX_NBYTES ? (size_t)info.nbytes_field : 64;
    uint8_t *field = malloc(capacity ? capacity : 1);
    FUZZ_CHECK(field);
    csz_status decoded = csz_decompress(fuzz_context(), field, capacity, copy, nbytes, &o);
    if (inspected) FUZZ_CHECK(decoded != CSZ_OK);
    if (!inspected && info.nbytes_field > FUZZ_FIELD_MAX_NBYTES) {
        FUZZ_CHECK(decoded == CSZ_ERROR_LIMIT || decoded == CSZ_ERROR_CAPACITY || decoded == CSZ_ERROR_ZSTD);
    } else if (csz_test(fuzz_context(), copy, nbytes, &o) == CSZ_OK) {
        FUZZ_CHECK(decoded == CSZ_OK || decoded == CSZ_ERROR_LIMIT);
    } else {
        FUZZ_CHECK(decoded != CSZ_OK);
    }
    if (inspected || info.ntiles < 1 << 16) csz_survey(fuzz_context(), &counts, copy, nbytes);
    free(field);
    free(copy);
    return 0;
}
