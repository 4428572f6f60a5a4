/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coders.c: csz, zfp in accuracy mode, zstd at level 1 on the raw bytes, and memcpy.  Each takes a field in
 * memory to an archive in memory and back.  zfp knows no missing values and gets the copy of the field
 * without them.
 */
#include "coders.h"

#include <stdlib.h>
#include <string.h>

#ifdef CSZ_HAVE_ZSTD
#include <zstd.h>
#endif

#ifdef CSZ_HAVE_ZFP
#include <zfp.h>

/* zfp's view of a field over data: x is its fastest dimension. */
static zfp_field *make_zfp_field(const csz_field *shape, void *data) {
    const zfp_type type = shape->type == CSZ_F32 ? zfp_type_float : zfp_type_double;
    const uint64_t *d = shape->dims;
    switch (shape->ndim) {
    case 1: return zfp_field_1d(data, type, d[0]);
    case 2: return zfp_field_2d(data, type, d[1], d[0]);
    case 3: return zfp_field_3d(data, type, d[2], d[1], d[0]);
    default: return zfp_field_4d(data, type, d[3], d[2], d[1], d[0]);
    }
}

enum { ZFP_SIZE, ZFP_COMPRESS, ZFP_DECOMPRESS };

/* One call of zfp with its streams set up and torn down: the size of the result, 0 on failure. */
static size_t call_zfp(coder *c, int what) {
    zfp_field *field =
        make_zfp_field(&c->field->shape, what == ZFP_DECOMPRESS ? c->restored : c->field->plain);
    bitstream *bits = stream_open(c->archive, c->archive_capacity);
    zfp_stream *zfp = zfp_stream_open(bits);
    size_t nbytes;

    zfp_stream_set_accuracy(zfp, c->tolerance);
    /* zfp 1.0 has no parallel decompression on the CPU. */
    if (what == ZFP_COMPRESS && c->nthreads > 1 && zfp_stream_set_execution(zfp, zfp_exec_omp))
        zfp_stream_set_omp_threads(zfp, (unsigned)c->nthreads);
    zfp_stream_rewind(zfp);
    if (what == ZFP_SIZE)
        nbytes = zfp_stream_maximum_size(zfp, field);
    else if (what == ZFP_COMPRESS)
        nbytes = zfp_compress(zfp, field);
    else
        nbytes = zfp_decompress(zfp, field);
    zfp_stream_close(zfp);
    stream_close(bits);
    zfp_field_free(field);
    return nbytes;
}
#endif

int coder_available(coder_kind kind, int nthreads) {
    switch (kind) {
    case CODER_ZFP:
#ifdef CSZ_HAVE_ZFP
        if (nthreads > 1) {
            zfp_stream *zfp = zfp_stream_open(NULL);
            int can = zfp_stream_set_execution(zfp, zfp_exec_omp);
            zfp_stream_close(zfp);
            return can;
        }
        return 1;
#else
        return 0;
#endif
    case CODER_ZSTD:
#ifdef CSZ_HAVE_ZSTD
        return nthreads == 1;
#else
        return 0;
#endif
    case CODER_MEMCPY: return nthreads == 1;
    default: return 1;
    }
}

static int find_capacity(coder *c) {
    c->archive_capacity = c->field->nbytes;
    switch (c->kind) {
    case CODER_CSZ:
        c->status = csz_compress_bound(&c->archive_capacity, &c->field->shape, &c->options);
        return c->status == CSZ_OK ? 0 : -1;
#ifdef CSZ_HAVE_ZFP
    case CODER_ZFP: c->archive_capacity = call_zfp(c, ZFP_SIZE); return c->archive_capacity ? 0 : -1;
#endif
#ifdef CSZ_HAVE_ZSTD
    case CODER_ZSTD: c->archive_capacity = ZSTD_compressBound(c->field->nbytes); return 0;
#endif
    default: return 0;
    }
}

int coder_open(coder *c) {
    c->archive = c->restored = NULL;
    c->context = NULL;
    c->options.threads = c->nthreads;
    csz_decompress_options_init(&c->decoding);
    c->decoding.backend = c->options.backend;
    c->decoding.threads = c->nthreads;
    if (find_capacity(c)) return -1;
    c->archive = malloc(c->archive_capacity);
    c->restored = malloc(c->field->nbytes);
    if (!c->archive || !c->restored) return -1;
    if (c->kind == CODER_CSZ) c->status = csz_context_create(&c->context);
    return c->status == CSZ_OK ? 0 : -1;
}

void coder_close(coder *c) {
    free(c->archive);
    free(c->restored);
    csz_context_destroy(c->context);
}

int coder_compress(coder *c) {
    switch (c->kind) {
    case CODER_CSZ:
        c->status = csz_compress(c->context, c->archive, c->archive_capacity, &c->archive_nbytes,
                                 c->field->data, &c->field->shape, &c->options);
        return c->status == CSZ_OK ? 0 : -1;
#ifdef CSZ_HAVE_ZFP
    case CODER_ZFP: c->archive_nbytes = call_zfp(c, ZFP_COMPRESS); return c->archive_nbytes ? 0 : -1;
#endif
#ifdef CSZ_HAVE_ZSTD
    case CODER_ZSTD:
        c->archive_nbytes =
            ZSTD_compress(c->archive, c->archive_capacity, c->field->data, c->field->nbytes, 1);
        return ZSTD_isError(c->archive_nbytes) ? -1 : 0;
#endif
    case CODER_MEMCPY:
        memcpy(c->archive, c->field->data, c->field->nbytes);
        c->archive_nbytes = c->field->nbytes;
        return 0;
    default: return -1;
    }
}

int coder_decompress(coder *c) {
    switch (c->kind) {
    case CODER_CSZ:
        c->status = csz_decompress(c->context, c->restored, c->field->nbytes, c->archive, c->archive_nbytes,
                                   &c->decoding);
        return c->status == CSZ_OK ? 0 : -1;
#ifdef CSZ_HAVE_ZFP
    case CODER_ZFP: return call_zfp(c, ZFP_DECOMPRESS) ? 0 : -1;
#endif
#ifdef CSZ_HAVE_ZSTD
    case CODER_ZSTD:
        return ZSTD_isError(ZSTD_decompress(c->restored, c->field->nbytes, c->archive, c->archive_nbytes))
                   ? -1
                   : 0;
#endif
    case CODER_MEMCPY: memcpy(c->restored, c->archive, c->field->nbytes); return 0;
    default: return -1;
    }
}
