/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c: contexts, devices, memory limits, status messages. */
#include "api/context.h"

#include <stdlib.h>

#include "csz_cuda.h"
#include "cuda/host/backend.h"

csz_status csz_context_create(csz_context **context) {
    if (!context) return CSZ_ERROR_ARGUMENT;
    *context = calloc(1, sizeof **context);
    return *context ? CSZ_OK : CSZ_ERROR_MEMORY;
}

void csz_context_destroy(csz_context *context) {
    if (!context) return;
    csz_cpu_scratch_free(&context->cpu);
    if (context->cuda && context->device) (void)csz_cuda_set_device(context->device - 1);
    csz_cuda_backend_free(context->cuda);
    free(context->stored);
    free(context);
}

void csz_context_profile(csz_context *context, int on) {
    if (context) context->cpu.profile = on != 0;
}

csz_status csz_context_stages(const csz_context *context, csz_stages *stages, size_t stages_nbytes) {
    if (!context || !csz_is_output(stages, stages_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_output(stages, stages_nbytes, &context->cpu.stages, sizeof context->cpu.stages);
    return CSZ_OK;
}

double csz_context_progress(const csz_context *context) {
    if (!context) return 0;
    unsigned long long total = atomic_load(&context->cpu.tiles_total),
                       done = atomic_load(&context->cpu.tiles_done);
    return total == 0 ? 0 : done >= total ? 1 : (double)done / (double)total;
}

void csz_context_begin(csz_context *context, uint64_t ntiles) {
    memset(&context->cpu.stages, 0, sizeof context->cpu.stages);
    atomic_store(&context->cpu.tiles_done, 0);
    atomic_store(&context->cpu.tiles_total, ntiles);
}

int csz_device_count(void) { return csz_cuda_device_count(); }

int csz_device_owns(const void *p) { return p && csz_cuda_is_device_pointer(p); }

csz_status csz_device_copy(void *to, const void *from, size_t nbytes) {
    if (nbytes && (!to || !from)) return CSZ_ERROR_ARGUMENT;
    return nbytes ? csz_cuda_copy(to, from, nbytes) : CSZ_OK;
}

csz_status csz_context_set_device(csz_context *context, int device) {
    if (!context || device < 0) return CSZ_ERROR_ARGUMENT;
    if (device >= csz_cuda_device_count()) return CSZ_ERROR_BACKEND;
    if (context->cuda && context->device != device + 1)
        return CSZ_ERROR_ARGUMENT; /* its buffers lie elsewhere */
    context->device = device + 1;
    return CSZ_OK;
}

csz_status csz_cuda_expect_bound(csz_context *context, csz_bound_mode mode) {
    if (!context || (unsigned)mode > CSZ_BOUND_EXACT) return CSZ_ERROR_ARGUMENT;
    context->expected = mode;
    return CSZ_OK;
}

csz_backend csz_context_backend(const csz_context *context) {
    return context ? context->used : CSZ_BACKEND_AUTO;
}

csz_status csz_limit_keep(csz_context *context, uint64_t *room, csz_decompress_options *o,
                          uint64_t values_nbytes, uint64_t buffers_nbytes, int on_cpu) {
    *room = UINT64_MAX;
    if (!o->memory_limit) return CSZ_OK;
    if (buffers_nbytes > o->memory_limit || values_nbytes > o->memory_limit - buffers_nbytes)
        return CSZ_ERROR_LIMIT;
    *room = o->memory_limit - buffers_nbytes - values_nbytes;
    if (!on_cpu) return CSZ_OK;                                     /* no scratch on the host */
    if (csz_cpu_scratch_nbytes(o->threads) > *room) o->threads = 1; /* fewer threads need less scratch */
    const uint64_t scratch = csz_cpu_scratch_nbytes(o->threads);
    if (scratch > *room) return CSZ_ERROR_LIMIT;
    *room -= scratch;
    /* what earlier calls have left is not in these sums */
    csz_cpu_scratch_release(&context->cpu, o->threads);
    csz_room_free((void **)&context->stored, &context->stored_capacity);
    return CSZ_OK;
}

const char *csz_version_string(void) { return "0.1.0"; }

const char *csz_status_string(csz_status status) {
    switch (status) {
    case CSZ_OK: return "done";
    case CSZ_ERROR_ARGUMENT: return "an argument is missing or outside its range";
    case CSZ_ERROR_TYPE: return "the type is neither f32 nor f64";
    case CSZ_ERROR_DIMS: return "the dims are not 1 to 4 numbers whose product is at most 2^56";
    case CSZ_ERROR_BOUND:
        return "the bound is not a finite number above 0, or a pointwise one is not below 1";
    case CSZ_ERROR_CAPACITY: return "the output buffer is too small";
    case CSZ_ERROR_MEMORY: return "out of memory";
    case CSZ_ERROR_LIMIT: return "the memory limit would be exceeded";
    case CSZ_ERROR_REGION: return "the region is empty, reversed or outside the field";
    case CSZ_ERROR_NOT_ARCHIVE: return "not a cuSZ+ archive";
    case CSZ_ERROR_VERSION: return "the archive needs a newer version of cuSZ+";
    case CSZ_ERROR_TRUNCATED: return "the archive is cut short";
    case CSZ_ERROR_CORRUPT: return "the archive is damaged";
    case CSZ_ERROR_TRAILING: return "bytes follow the end of the archive";
    case CSZ_ERROR_BACKEND: return "the backend is not available in this build or on this machine";
    case CSZ_ERROR_ZSTD: return "zstd is not available in this build, or it failed";
    case CSZ_ERROR_LEVEL: return "the archive has no such level";
    case CSZ_ERROR_TARGET: return "no bound gives an archive as small as was asked for";
    case CSZ_ERROR_IO: return "reading or writing failed";
    case CSZ_ERROR_INTERNAL: return "compressing failed by a fault of cuSZ+ itself; please report it";
    }
    return "unknown status";
}
