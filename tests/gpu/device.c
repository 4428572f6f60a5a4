/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: see device.h.  Built with the CUDA backend alone. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/bound.h"
#include "cuda/host/state.h"

void *device_make(const void *data, size_t nbytes) {
    void *p = NULL;
    ASSERT_OK(csz_cuda_runtime_real.allocate(&p, nbytes ? nbytes : 1));
    uint8_t *fill = malloc(nbytes + 1);
    assert_non_null(fill);
    memset(fill, 0xA5, nbytes + 1);
    device_write(p, data ? data : fill, nbytes);
    free(fill);
    return p;
}

void device_free(void *d_p) { csz_cuda_runtime_real.release(d_p); }

void device_read(void *to, const void *d_from, size_t nbytes) {
    ASSERT_OK(csz_cuda_runtime_real.copy(to, d_from, nbytes, NULL));
    ASSERT_OK(csz_cuda_runtime_real.stream_wait(NULL));
}

void device_write(void *d_to, const void *from, size_t nbytes) { device_read(d_to, from, nbytes); }

csz_cuda_result *results_make(size_t n) {
    void *p = NULL;
    ASSERT_OK(csz_cuda_runtime_real.allocate_pinned(&p, n * sizeof(csz_cuda_result)));
    memset(p, 0xA5, n * sizeof(csz_cuda_result));
    return p;
}

void results_free(csz_cuda_result *results) { csz_cuda_runtime_real.release_pinned(results); }

/* ---- a runtime that fails ---- */

static csz_cuda_runtime failing;
static failure failure_kind;
static int failure_at, failure_calls, failure_seen;
static long allocated;

static csz_status next_call(failure kind) {
    if (failure_kind != kind || failure_at == 0) return CSZ_OK;
    failure_calls++;
    const int fails = kind == FAIL_DEVICE ? failure_calls >= failure_at : failure_calls == failure_at;
    if (!fails) return CSZ_OK;
    failure_seen = 1;
    return kind == FAIL_DEVICE ? CSZ_ERROR_BACKEND : CSZ_ERROR_MEMORY;
}

#define ALLOCATION(call, out)                             \
    csz_status status = next_call(FAIL_ALLOCATION);       \
    if (!status) status = csz_cuda_runtime_real.call out; \
    allocated += !status;                                 \
    return status

static csz_status fail_allocate(void **p, size_t nbytes) { ALLOCATION(allocate, (p, nbytes)); }
static csz_status fail_allocate_pinned(void **p, size_t nbytes) { ALLOCATION(allocate_pinned, (p, nbytes)); }
static csz_status fail_stream_create(csz_cuda_stream *s) { ALLOCATION(stream_create, (s)); }
static csz_status fail_event_create(void **e) { ALLOCATION(event_create, (e)); }

static void count_release(void *p) {
    allocated--;
    csz_cuda_runtime_real.release(p);
}
static void count_release_pinned(void *p) {
    allocated--;
    csz_cuda_runtime_real.release_pinned(p);
}
static void count_stream_destroy(csz_cuda_stream s) {
    allocated--;
    csz_cuda_runtime_real.stream_destroy(s);
}
static void count_event_destroy(void *e) {
    allocated--;
    csz_cuda_runtime_real.event_destroy(e);
}

#define WORK(call, arguments)                   \
    csz_status status = next_call(FAIL_DEVICE); \
    return status ? status : csz_cuda_runtime_real.call arguments

static csz_status fail_copy(void *to, const void *from, size_t nbytes, csz_cuda_stream s) {
    WORK(copy, (to, from, nbytes, s));
}
static csz_status fail_stream_wait(csz_cuda_stream s) { WORK(stream_wait, (s)); }
static csz_status fail_event_record(void *e, csz_cuda_stream s) { WORK(event_record, (e, s)); }
static csz_status fail_event_wait(void *e) { WORK(event_wait, (e)); }
static csz_status fail_launched(void) { WORK(launched, ()); }

void runtime_fail(failure what, int at) {
    failing = csz_cuda_runtime_real;
    failing.allocate = fail_allocate;
    failing.allocate_pinned = fail_allocate_pinned;
    failing.stream_create = fail_stream_create;
    failing.event_create = fail_event_create;
    failing.release = count_release;
    failing.release_pinned = count_release_pinned;
    failing.stream_destroy = count_stream_destroy;
    failing.event_destroy = count_event_destroy;
    failing.copy = fail_copy;
    failing.stream_wait = fail_stream_wait;
    failing.event_record = fail_event_record;
    failing.event_wait = fail_event_wait;
    failing.launched = fail_launched;
    failure_kind = what;
    failure_at = at;
    failure_calls = failure_seen = 0;
    allocated = 0;
    csz_cuda_runtime_replace(&failing);
}

int runtime_failed(void) { return failure_seen; }
long runtime_allocated(void) { return allocated; }
void runtime_restore(void) { csz_cuda_runtime_replace(NULL); }

/* ---- small frames ---- */

static csz_header grid_header(const test_field *s, const csz_options *o, const uint64_t *frame) {
    csz_header h;
    ASSERT_OK(csz_header_plan(&h, &s->field, o));
    for (int i = 0; i < 3; i++) {
        h.geometry.frame[i] = frame[i];
        h.geometry.nframes3[i] = (h.geometry.grid[i] + frame[i] - 1) / frame[i];
    }
    h.has_grid = 1;
    csz_geometry_finish(&h.geometry, 1);
    return h;
}

static size_t grid_bound(const csz_header *h) {
    return CSZ_HEADER_MAX_NBYTES + csz_field_nbytes(&h->geometry, h->field.type) +
           h->geometry.nframes * (csz_frame_bound((uint32_t)h->geometry.ntiles, 0, h->field.type, 0) + 16) +
           64;
}

archive archive_of_grid(const test_field *s, const csz_options *o, const uint64_t *frame) {
    csz_header h = grid_header(s, o, frame);
    if (o->bound_mode != CSZ_BOUND_ABS) {
        double min = 0, max = 0;
        csz_team team = {0}; /* of one: none to stop */
        int any = csz_cpu_range(&team, s->data, s->n, s->field.type, h.has_fill, h.fill_bits, 1, &min, &max);
        h.bound_abs = csz_bound_resolve((int)o->bound_mode, o->bound, any, min, max);
    }
    archive a = {malloc(grid_bound(&h)), 0};
    assert_non_null(a.bytes);
    csz_cpu_scratch scratch;
    memset(&scratch, 0, sizeof scratch);
    csz_header_write(a.bytes, &h);
    csz_tile_plan plan = csz_tile_plan_of(&h);
    uint64_t at = h.nbytes, nbytes;
    uint8_t *footer = malloc(csz_footer_nbytes(h.geometry.nframes));
    assert_non_null(footer);
    for (uint64_t f = 0; f < h.geometry.nframes; f++, at += nbytes) {
        ASSERT_OK(csz_cpu_frame_compress(&scratch, a.bytes + at, grid_bound(&h) - at, &nbytes, s->data, &plan,
                                         f, 1));
        csz_store_u64(footer + 8 * f, nbytes);
    }
    csz_footer_finish(footer, h.geometry.nframes);
    memcpy(a.bytes + at, footer, csz_footer_nbytes(h.geometry.nframes));
    a.nbytes = (size_t)(at + csz_footer_nbytes(h.geometry.nframes));
    free(footer);
    csz_cpu_scratch_free(&scratch);
    return a;
}

csz_status frames_compress(csz_context *context, archive *a, const test_field *s, const csz_options *o,
                           const uint64_t *frame) {
    csz_header h = grid_header(s, o, frame);
    const size_t capacity = grid_bound(&h);
    a->bytes = malloc(capacity);
    a->nbytes = 0;
    assert_non_null(a->bytes);
    csz_status status = csz_cuda_prepare(context);
    if (!status) status = csz_frames_compress(context->cuda, a->bytes, capacity, &a->nbytes, s->data, &h);
    if (status) archive_free(a);
    return status;
}
