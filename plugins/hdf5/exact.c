/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.c: a header with a checksum, then the chunk's bytes as they are.  The magic number differs from that of an
 * archive, so neither can be taken for the other.  The method leaves room for coded forms.
 */
#include "exact.h"

#include "core/words.h"

enum {
    METHOD = 4,    /* one byte, then three of 0 */
    SIZE = 8,      /* u64: bytes restored */
    CHECKSUM = 16, /* u64: of the bytes before it and of those behind it */
    HEADER_NBYTES = 24
};
enum { METHOD_STORED = 0 };

static const uint8_t magic[4] = {'C', 'S', 'Z', '='};

/* The sum of an archive's header, over bytes 0 to 15 and the chunk, whose last word is filled up with zeros. */
static uint64_t checksum(const uint8_t *coded, size_t nbytes) {
    const uint8_t *data = coded + HEADER_NBYTES;
    size_t nwords = nbytes / 4;
    uint8_t rest[4] = {0};
    memcpy(rest, data + 4 * nwords, nbytes % 4);
    return csz_hash_words(coded, CHECKSUM / 4, 0) + csz_hash_words(data, nwords, CHECKSUM / 4) +
           csz_hash_words(rest, 1, CHECKSUM / 4 + nwords);
}

size_t csz_hdf5_exact_capacity(size_t nbytes) {
    return nbytes > 0 && nbytes <= SIZE_MAX - HEADER_NBYTES ? nbytes + HEADER_NBYTES : 0;
}

size_t csz_hdf5_exact_encode(void *out, const void *data, size_t nbytes) {
    uint8_t *coded = out;
    memset(coded, 0, HEADER_NBYTES);
    memcpy(coded, magic, sizeof magic);
    coded[METHOD] = METHOD_STORED;
    csz_store_u64(coded + SIZE, nbytes);
    memcpy(coded + HEADER_NBYTES, data, nbytes);
    csz_store_u64(coded + CHECKSUM, checksum(coded, nbytes));
    return HEADER_NBYTES + nbytes;
}

csz_status csz_hdf5_exact_inspect(size_t *nbytes, const void *coded, size_t coded_nbytes) {
    const uint8_t *header = coded;
    if (coded_nbytes <= HEADER_NBYTES || memcmp(header, magic, sizeof magic) != 0)
        return CSZ_ERROR_NOT_ARCHIVE;
    if (header[METHOD] != METHOD_STORED) return CSZ_ERROR_VERSION;
    *nbytes = coded_nbytes - HEADER_NBYTES;
    return csz_load_u64(header + SIZE) == *nbytes ? CSZ_OK : CSZ_ERROR_CORRUPT;
}

csz_status csz_hdf5_exact_decode(void *data, const void *coded, size_t coded_nbytes) {
    const uint8_t *header = coded;
    size_t nbytes = coded_nbytes - HEADER_NBYTES;
    if (csz_load_u64(header + CHECKSUM) != checksum(header, nbytes)) return CSZ_ERROR_CORRUPT;
    memcpy(data, header + HEADER_NBYTES, nbytes);
    return CSZ_OK;
}
