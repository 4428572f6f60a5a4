/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h: how much memory a process may use, for csz and for csz-mpi alike. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "csz_frames.h"

/* Bytes that are free on this machine, or to its container where that is allowed less. */
uint64_t cli_memory_free(void);

/* Bytes that this process may use: --memory-limit where it was given, else half of what is free, and at least
 * least_nbytes. */
uint64_t cli_memory_limit(uint64_t given_nbytes, uint64_t least_nbytes);

/* What a worker takes besides frames: the library's scratch and stack for each thread, and what a context
 * holds; both rounded up. */
#define CLI_THREAD_NBYTES ((uint64_t)3 << 19)
#define CLI_CONTEXT_NBYTES ((uint64_t)6 << 20)

/* Of archives whose frames may be pyramids a thread takes more. */
static inline uint64_t cli_thread_nbytes(const csz_layout *shape) {
    return CLI_THREAD_NBYTES + (shape->lattices_nbytes ? (uint64_t)1 << 20 : 0);
}

/* What a context takes for a frame, besides its threads. */
static inline uint64_t cli_frame_nbytes(const csz_layout *shape) {
    return (uint64_t)shape->zstd_nbytes + shape->lattices_nbytes;
}

/* Compressing, a context holds more of small frames, which are counted whole: their symbols, from one pass to
 * the next. */
static inline uint64_t cli_symbols_nbytes(const csz_layout *shape) {
    return shape->values_nbytes < (uint64_t)16 << 20 ? (uint64_t)3 << 20 : 0;
}

#endif
