/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.c: one zstd frame for each frame, single-threaded, so that a level and a version of zstd always give
 * the same bytes.  zstd works in memory allocated here: its size is known beforehand, and a lack of it is
 * reported as such.
 */
#include "api/pack.h"

#include "format/archive.h"

#include <stdlib.h>
#include <string.h>

#if defined(CSZ_HAVE_ZSTD)
#define ZSTD_STATIC_LINKING_ONLY /* for contexts in memory of the caller's */
#include <zstd.h>

int csz_zstd_available(void) { return 1; }

uint64_t csz_pack_bound(uint64_t nbytes) { return ZSTD_compressBound((size_t)nbytes) + 8; }

static size_t pack_memory(uint64_t nbytes, int level) {
    return ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, nbytes, 0));
}

uint64_t csz_pack_memory(uint64_t nbytes, int level) {
    uint64_t most = pack_memory(nbytes, level);
    /* zstd has other settings for inputs of at most so many bytes, which may take more */
    for (uint64_t tier = 1 << 18; tier >= 1 << 14; tier /= 2) {
        uint64_t n = tier < nbytes ? pack_memory(tier, level) : 0;
        most = n > most ? n : most;
    }
    return most;
}

uint64_t csz_unpack_memory(void) { return ZSTD_estimateDCtxSize(); }

csz_status csz_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *in, uint64_t nbytes,
                    int level) {
    size_t memory = pack_memory(nbytes, level), n;
    void *workspace = malloc(memory);
    if (!workspace) return CSZ_ERROR_MEMORY;
    n = ZSTD_compressCCtx(ZSTD_initStaticCCtx(workspace, memory), out, (size_t)capacity, in, (size_t)nbytes,
                          level);
    free(workspace);
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
    const size_t memory = ZSTD_estimateDCtxSize();
    void *workspace = malloc(memory);
    if (!workspace) return CSZ_ERROR_MEMORY;
    size_t n =
        ZSTD_decompressDCtx(ZSTD_initStaticDCtx(workspace, memory), out, (size_t)out_nbytes, in, stored);
    free(workspace);
    if (ZSTD_isError(n) || n != out_nbytes) return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}
#else

int csz_zstd_available(void) { return 0; }

uint64_t csz_pack_bound(uint64_t nbytes) { return nbytes; }

uint64_t csz_pack_memory(uint64_t nbytes, int level) {
    (void)nbytes, (void)level;
    return 0;
}

uint64_t csz_unpack_memory(void) { return 0; }

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

csz_status csz_frame_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *built,
                          uint64_t number, uint8_t *stored, uint64_t room, int level) {
    const uint64_t head = CSZ_FRAME_HEADER_NBYTES, raw = csz_load_u64(built);
    uint64_t packed;
    csz_status status = csz_pack(stored, room, &packed, built + head, raw - head, level);
    if (status) return status;
    const uint64_t nbytes = *out_nbytes = head + packed;
    if (nbytes > capacity) return CSZ_ERROR_CAPACITY;
    memcpy(out + head, stored, (size_t)packed);
    csz_frame_header_write(out, nbytes, raw, csz_load_u32(built + 16), csz_load_u32(built + 20), nbytes,
                           nbytes, nbytes, number);
    return CSZ_OK;
}
