/* SPDX-License-Identifier: BSD-3-Clause */
/* compress.c: a whole field in memory to an archive, within a bound or of a size. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "cuda/host/backend.h"

static csz_status find_range(csz_value_range *range, csz_context *context, const void *data, uint64_t n,
                             csz_type type, const csz_options *o) {
    *range = (csz_value_range){0, 0, 0};
    csz_status status = CSZ_OK;
    if (context->device && csz_cuda_is_device_pointer(data))
        status = csz_cuda_set_device(context->device - 1);
    return status ? status : csz_range_add(range, data, n, type, o);
}

/* Where the archives of a search are made. */
typedef struct room {
    void *out;
    size_t capacity;
    void *own; /* in place of a smaller buffer: what fits it must not decide which bounds are tried */
} room;

/* Of a buffer in device memory, that itself. */
static csz_status room_make(room *r, const csz_field *field, const csz_options *options) {
    const csz_options exact = csz_target_options(options, 0);
    size_t most = 0, most_exact = 0;
    csz_status status = csz_compress_bound(&most, field, options);
    if (!status) status = csz_compress_bound(&most_exact, field, &exact);
    if (most < most_exact) most = most_exact;
    if (status || r->capacity >= most || csz_cuda_is_device_pointer(r->out)) return status;
    r->own = malloc(most);
    if (!r->own) return CSZ_ERROR_MEMORY;
    r->out = r->own;
    r->capacity = most;
    return CSZ_OK;
}

/* The archive of the bound that reaches the options' ratio or size. */
static csz_status compress_target(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                  const void *data, const csz_field *field, const csz_options *options) {
    csz_options o = *options;
    csz_value_range range;
    csz_geometry g;
    csz_target *t = &context->target;
    csz_predictor predictor = o.predictor;
    const double wanted = o.bound;
    const int is_size = o.bound_mode == CSZ_BOUND_SIZE;
    csz_status status = csz_bound_check(&o);
    if (!status) status = csz_field_check(field);
    if (!status) status = csz_geometry_for(&g, field, &predictor);
    if (status) return status;
    if (g.nelements && !data) return CSZ_ERROR_ARGUMENT;
    const double field_nbytes = (double)csz_field_nbytes(&g, field->type);
    const double most = is_size ? wanted : field_nbytes / wanted;
    const uint64_t nbytes_wanted = most < 0x1p62 ? (uint64_t)most : (uint64_t)1 << 62;
    o.bound_mode = CSZ_BOUND_ABS;
    o.bound = 1;
    room r = {out, out_capacity, NULL};
    status = room_make(&r, field, &o);
    if (!status) status = find_range(&range, context, data, g.nelements, field->type, &o);
    if (!status) status = csz_target_begin(t, sizeof *t, nbytes_wanted, &range, field);
    if (!status && g.nelements) status = csz_target_guess(t, context, data, field, &o);
    double last = -1;
    for (double bound; !status && csz_target_next(&bound, t);) {
        const csz_options as = csz_target_options(&o, bound);
        last = bound;
        status = csz_compress_archive(context, r.out, r.capacity, out_nbytes, data, field, &as);
        const int is_full = status == CSZ_ERROR_CAPACITY && r.capacity >= nbytes_wanted;
        if (is_full) status = CSZ_OK; /* larger than the target, by how much is not known */
        if (!status) csz_target_tell(t, is_full ? 2 * (uint64_t)r.capacity : *out_nbytes);
    }
    if (!status && !t->is_reached && (g.nelements || is_size))
        status = CSZ_ERROR_TARGET; /* nothing has any ratio */
    if (!status && last != t->bound) {
        o = csz_target_options(&o, t->bound);
        status = csz_compress_archive(context, r.out, r.capacity, out_nbytes, data, field, &o);
    }
    if (!status && r.own) {
        if (*out_nbytes > out_capacity)
            status = CSZ_ERROR_CAPACITY;
        else
            memcpy(out, r.own, *out_nbytes);
    }
    free(r.own);
    return status;
}

csz_status csz_compress(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                        const void *data, const csz_field *field, const csz_options *options) {
    if (!context || !out || !out_nbytes || !field || !options) return CSZ_ERROR_ARGUMENT;
    csz_options o;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (!status && csz_is_target(o.bound_mode))
        return compress_target(context, out, out_capacity, out_nbytes, data, field, &o);
    return status ? status
                  : csz_compress_archive(context, out, out_capacity, out_nbytes, data, field, options);
}
