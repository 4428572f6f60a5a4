/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h: the optional final pass over a frame with zstd; the only place that knows the library. */
#ifndef CSZ_API_PACK_H
#define CSZ_API_PACK_H

#include "csz.h"

/* A capacity that packing nbytes never exceeds. */
uint64_t csz_pack_bound(uint64_t nbytes);

/*
 * Packs what follows a frame's header; *out_nbytes is a multiple of 8, padded with zeros.  capacity is
 * csz_pack_bound or more: with less, zstd may choose other blocks, and the bytes would depend on the buffer.
 */
csz_status csz_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *in, uint64_t nbytes,
                    int level);

/* Packs frame number `number`, `built`, into out.  stored: scratch of `room` bytes, csz_pack_bound of the
 * frame or more, so that the bytes do not depend on the capacity. */
csz_status csz_frame_pack(uint8_t *out, uint64_t capacity, uint64_t *out_nbytes, const uint8_t *built,
                          uint64_t number, uint8_t *stored, uint64_t room, int level);

/* The most that nbytes can unpack to: a zstd block has three bytes of header, at least one more, and at most
 * 128 KiB of content. */
static inline uint64_t csz_unpack_bound(uint64_t nbytes) { return (nbytes / 4 + 1) << 17; }

/* Memory that zstd takes while it packs at most nbytes, or unpacks; both allocate it themselves and give it
 * back. */
uint64_t csz_pack_memory(uint64_t nbytes, int level);
uint64_t csz_unpack_memory(void);

/* Unpacks exactly out_nbytes; anything else is an error. */
csz_status csz_unpack(uint8_t *out, uint64_t out_nbytes, const uint8_t *in, uint64_t nbytes);

#endif
