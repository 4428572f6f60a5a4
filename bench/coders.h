/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coders.h: csz and its peers behind one pair of calls, so that the bench times them alike.  A coder owns its
 * archive and the values it restored; it is made for one field and one bound.
 */
#ifndef CSZ_BENCH_CODERS_H
#define CSZ_BENCH_CODERS_H

#include "fields.h"

typedef enum coder_kind { CODER_CSZ, CODER_ZFP, CODER_ZSTD, CODER_MEMCPY } coder_kind;

typedef struct coder {
    coder_kind kind;
    int nthreads;
    csz_options options; /* csz */
    csz_decompress_options decoding;
    csz_context *context;     /* csz */
    csz_status status;        /* csz: of the last call */
    double tolerance;         /* zfp, accuracy mode: the absolute bound */
    const bench_field *field; /* what is compressed */
    void *archive;
    size_t archive_capacity, archive_nbytes;
    void *restored;
} coder;

/* 1 if this build has the peer and it can use so many threads for compressing. */
int coder_available(coder_kind kind, int nthreads);

/* Sets the buffers up; kind, nthreads, options, tolerance and field are set by the caller.  0, or -1. */
int coder_open(coder *c);
void coder_close(coder *c);

/* 0, or -1 when the coder fails. */
int coder_compress(coder *c);
int coder_decompress(coder *c);

#endif
