/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_header.c: any bytes as a header and as an archive's skeleton; what is accepted is consistent and is
 * written again alike. */
#include "fuzz.h"

#include "format/archive.h"
#include "reseal.h"

static void check_header(const uint8_t *bytes, size_t nbytes) {
    csz_header h;
    csz_info info;
    csz_status status = csz_header_read(&h, bytes, nbytes);
    FUZZ_CHECK(csz_inspect_header(&info, sizeof info, bytes, nbytes) == status);
    if (status) return;
    FUZZ_CHECK(csz_field_check(&info.field) == CSZ_OK);
    FUZZ_CHECK(info.nelements <= (uint64_t)1 << 56 && info.bound_abs >= 0 &&
               (info.bound_mode == CSZ_BOUND_EXACT ? info.bound == 0 : info.bound > 0));
    FUZZ_CHECK(info.tile_dims[0] * info.tile_dims[1] * info.tile_dims[2] == CSZ_TILE_N);
    FUZZ_CHECK((info.nelements == 0) == (info.ntiles == 0) && (info.ntiles == 0) == (info.nframes == 0));
    FUZZ_CHECK(info.nframes <= info.ntiles && info.ntiles <= info.nelements);
    uint8_t again[CSZ_HEADER_MAX_NBYTES];
    csz_header other;
    csz_header_write(again, &h);
    FUZZ_CHECK(csz_header_read(&other, again, h.nbytes) == CSZ_OK);
    FUZZ_CHECK(memcmp(&other.field, &h.field, sizeof h.field) == 0 && other.bound_abs == h.bound_abs);
    FUZZ_CHECK(memcmp(&other.geometry, &h.geometry, sizeof h.geometry) == 0);
}

/* Metadata that is accepted is written again byte for byte. */
static void check_metadata(const uint8_t *section, size_t nbytes) {
    static csz_attribute attributes[CSZ_METADATA_MAX_N];
    size_t n = 0, place = 0, written;
    FUZZ_CHECK(csz_metadata_check(section, nbytes) == CSZ_OK);
    while (n < CSZ_METADATA_MAX_N && csz_metadata_next(&attributes[n], section, nbytes, &place)) n++;
    uint8_t *again = malloc(nbytes);
    FUZZ_CHECK(again && csz_metadata_write(again, nbytes, &written, attributes, n) == CSZ_OK);
    FUZZ_CHECK(written == nbytes && memcmp(again, section, nbytes) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = fuzz_copy(data, nbytes);
    csz_info info;
    check_header(copy, nbytes);
    csz_inspect(&info, sizeof info, copy, nbytes);
    archive_reseal(copy, nbytes);
    check_header(copy, nbytes);
    if (csz_inspect(&info, sizeof info, copy, nbytes) == CSZ_OK) {
        FUZZ_CHECK(info.nbytes_archive == nbytes);
        const size_t n = (size_t)info.metadata_nbytes;
        if (n) check_metadata(copy + nbytes - n, n);
    }
    free(copy);
    return 0;
}
