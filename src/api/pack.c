/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c: one zstd frame for each of ours, single-threaded, so that a level gives the same bytes with one version of zstd. */
#include "api/pack.h"

#include <string.h>

#if defined(CSZ_HAVE_ZSTD)
#include <zstd.h>

int csz_zstd_available(void) { return 1; }

uint64_t csz_pack_bound(uint64_t nbytes) { return ZSTD_compressBound((size_t)nbytes) + 8; }

csz_status csz_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *in, uint64_t nbytes,
                    int level) {
    size_t n = ZSTD_compress(out, (size_t)capacity, in, (size_t)nbytes, level);
    if (ZSTD_isError(n)) return CSZ_ERROR_ZSTD;
    uint64_t padded = (n + 7) / 8 * 8;
    memset(out + n, 0, (size_t)(padded - n));
    *out_nbytes = padded;
    return CSZ_OK;
}

csz_status csz_unpack(uint8_t *out, uint64_t out_nbytes, const uint8_t *in, uint64_t nbytes) {
    size_t stored = ZSTD_findFrameCompressedSize(in, (size_t)nbytes);
    if (ZSTD_isError(stored) || nbytes - stored >= 8) return CSZ_ERROR_CORRUPT;
    for (uint64_t i = stored; i < nbytes; i++) {
        if (in[i]) return CSZ_ERROR_CORRUPT;
    }
    size_t n = ZSTD_decompress(out, (size_t)out_nbytes, in, stored);
    if (ZSTD_isError(n) || n != out_nbytes) return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}
#else

int csz_zstd_available(void) { return 0; }

uint64_t csz_pack_bound(uint64_t nbytes) { return nbytes; }

csz_status csz_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *in, uint64_t nbytes,
                    int level) {
    (void)out, (void)capacity, (void)out_nbytes, (void)in, (void)nbytes, (void)level;
    return CSZ_ERROR_ZSTD;
}

csz_status csz_unpack(uint8_t *out, uint64_t out_nbytes, const uint8_t *in, uint64_t nbytes) {
    (void)out, (void)out_nbytes, (void)in, (void)nbytes;
    return CSZ_ERROR_ZSTD;
}
#endif
