/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.c: a header with a checksum, then the chunk's bytes as they are.  The magic number differs from that
 * of an archive, so neither can be taken for the other.  The method leaves room for coded forms.
 */
#include "exact.h"

#include <stdint.h>
#include <string.h>

enum {
    METHOD = 4,    /* one byte, then three of 0 */
    SIZE = 8,      /* u64: bytes restored */
    CHECKSUM = 16, /* u64: of the bytes before it and of those behind it */
    HEADER_NBYTES = 24
};
enum { METHOD_STORED = 0 };

static const uint8_t magic[4] = {'C', 'S', 'Z', '='};

static uint64_t load(const uint8_t *bytes, int nbytes) {
    uint64_t x = 0;
    for (int i = 0; i < nbytes; i++) x |= (uint64_t)bytes[i] << 8 * i;
    return x;
}

static void store_u64(uint8_t *bytes, uint64_t x) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(x >> 8 * i);
}

/* Every word times an odd weight of its place, the first of which is word number `first` (docs/format.md,
 * section 2). */
static uint64_t sum_words(const uint8_t *bytes, size_t nwords, size_t first) {
    uint64_t sum = 0;
    for (size_t i = 0; i < nwords; i++)
        sum += load(bytes + 4 * i, 4) * ((uint32_t)(first + i) * 0x3C6EF362u + 1u);
    return sum;
}

/* The sum of an archive's header, over bytes 0 to 15 and the chunk, whose last word is filled up with zeros.
 */
static uint64_t checksum(const uint8_t *coded, size_t nbytes) {
    const uint8_t *data = coded + HEADER_NBYTES;
    size_t nwords = nbytes / 4;
    uint8_t rest[4] = {0};
    memcpy(rest, data + 4 * nwords, nbytes % 4);
    return sum_words(coded, CHECKSUM / 4, 0) + sum_words(data, nwords, CHECKSUM / 4) +
           sum_words(rest, 1, CHECKSUM / 4 + nwords);
}

size_t csz_hdf5_exact_capacity(size_t nbytes) {
    return nbytes > 0 && nbytes <= SIZE_MAX - HEADER_NBYTES ? nbytes + HEADER_NBYTES : 0;
}

size_t csz_hdf5_exact_encode(void *out, const void *data, size_t nbytes) {
    uint8_t *coded = out;
    memset(coded, 0, HEADER_NBYTES);
    memcpy(coded, magic, sizeof magic);
    coded[METHOD] = METHOD_STORED;
    store_u64(coded + SIZE, nbytes);
    memcpy(coded + HEADER_NBYTES, data, nbytes);
    store_u64(coded + CHECKSUM, checksum(coded, nbytes));
    return HEADER_NBYTES + nbytes;
}

csz_status csz_hdf5_exact_inspect(size_t *nbytes, const void *coded, size_t coded_nbytes) {
    const uint8_t *header = coded;
    if (coded_nbytes <= HEADER_NBYTES || memcmp(header, magic, sizeof magic) != 0)
        return CSZ_ERROR_NOT_ARCHIVE;
    if (header[METHOD] != METHOD_STORED) return CSZ_ERROR_VERSION;
    *nbytes = coded_nbytes - HEADER_NBYTES;
    return load(header + SIZE, 8) == *nbytes ? CSZ_OK : CSZ_ERROR_CORRUPT;
}

csz_status csz_hdf5_exact_decode(void *data, const void *coded, size_t coded_nbytes) {
    const uint8_t *header = coded;
    size_t nbytes = coded_nbytes - HEADER_NBYTES;
    if (load(header + CHECKSUM, 8) != checksum(header, nbytes)) return CSZ_ERROR_CORRUPT;
    memcpy(data, header + HEADER_NBYTES, nbytes);
    return CSZ_OK;
}
