/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emu_runtime.c: the table of src/cuda/host/runtime.h where the kernels are emulated.  A stream is a number
 * and everything is done at once; what is "on the device" is known by a list of allocations, so that the
 * backend's decisions by place are put to the test.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda/host/runtime.h"

typedef struct block {
    struct block *next;
    csz_cuda_side side;
    size_t nbytes;
    unsigned char *p;
} block;

static block *blocks;
static size_t nstreams;

static int usable(void) { return 1; }
static int device_count(void) { return 1; }
static csz_status set_device(int device) { return device ? CSZ_ERROR_BACKEND : CSZ_OK; }
static int current_device(void) { return 0; }

static csz_cuda_side side(const void *p) {
    for (const block *b = blocks; b; b = b->next) {
        const unsigned char *q = p;
        if (q >= b->p && q < b->p + b->nbytes) return b->side;
    }
    return CSZ_SIDE_HOST;
}

static csz_status block_make(void **p, size_t nbytes, csz_cuda_side where) {
    block *b = malloc(sizeof *b);
    *p = aligned_alloc(256, (nbytes + 256) / 256 * 256);
    if (!b || !*p) abort();
    memset(*p, 0x5A, nbytes);
    b->next = blocks;
    b->side = where;
    b->nbytes = nbytes;
    b->p = *p;
    blocks = b;
    return CSZ_OK;
}

static void block_free(void *p) {
    for (block **at = &blocks; *at; at = &(*at)->next) {
        if ((*at)->p != p) continue;
        block *b = *at;
        *at = b->next;
        free(b->p);
        free(b);
        return;
    }
    abort(); /* never allocated, or freed twice */
}

static csz_status allocate(void **p, size_t nbytes) { return block_make(p, nbytes, CSZ_SIDE_DEVICE); }
static csz_status allocate_pinned(void **p, size_t nbytes) { return block_make(p, nbytes, CSZ_SIDE_PINNED); }

static csz_status memory_left(size_t *nbytes) {
    *nbytes = (size_t)1 << 30;
    return CSZ_OK;
}

static csz_status copy(void *to, const void *from, size_t nbytes, csz_cuda_stream stream) {
    (void)stream;
    if (nbytes) memcpy(to, from, nbytes);
    return CSZ_OK;
}

static csz_status stream_create(csz_cuda_stream *stream) {
    *stream = (csz_cuda_stream)++nstreams;
    return CSZ_OK;
}
static void stream_destroy(csz_cuda_stream stream) { (void)stream; }
static csz_status stream_wait(csz_cuda_stream stream) {
    (void)stream;
    return CSZ_OK;
}

static csz_status event_create(void **event) { return block_make(event, 1, CSZ_SIDE_HOST); }
static csz_status event_record(void *event, csz_cuda_stream stream) {
    (void)event, (void)stream;
    return CSZ_OK;
}
static csz_status event_wait(void *event) {
    (void)event;
    return CSZ_OK;
}
static csz_status launched(void) { return CSZ_OK; }

const csz_cuda_runtime csz_cuda_runtime_real = {
    usable,          device_count, set_device,   current_device, side,          allocate,       block_free,
    allocate_pinned, block_free,   memory_left,  copy,           stream_create, stream_destroy, stream_wait,
    event_create,    block_free,   event_record, event_wait,     launched};
