/* SPDX-License-Identifier: BSD-3-Clause */
/* backend.c: which backends there are, and which one a call takes. */
#include "api/context.h"
#include "cuda/host/backend.h"

int csz_backend_built(csz_backend backend) {
    if (backend == CSZ_BACKEND_CUDA) return csz_cuda_is_built();
    return backend == CSZ_BACKEND_AUTO || backend == CSZ_BACKEND_CPU;
}

int csz_backend_available(csz_backend backend) {
    return csz_backend_built(backend) && (backend != CSZ_BACKEND_CUDA || csz_cuda_usable());
}

csz_status csz_backend_choose(csz_context *context, csz_backend wanted, uint64_t nbytes, const void *data,
                              const void *archive) {
    /* Below this the copies to and from the card and the launches cost more than a core needs. */
    const uint64_t worth_it = (uint64_t)32 << 20;
    const int on_device = csz_cuda_is_device_pointer(data) || csz_cuda_is_device_pointer(archive);
    if (wanted == CSZ_BACKEND_AUTO) {
        wanted = CSZ_BACKEND_CPU;
        if (on_device || (nbytes >= worth_it && csz_cuda_usable())) wanted = CSZ_BACKEND_CUDA;
    }
    if (wanted == CSZ_BACKEND_CPU && on_device) return CSZ_ERROR_ARGUMENT;
    if (wanted == CSZ_BACKEND_CUDA && context->device) {
        csz_status status = csz_cuda_set_device(context->device - 1);
        if (status) return status;
    }
    context->used = wanted;
    return CSZ_OK;
}

int csz_backend_falls_back(csz_context *context, csz_backend wanted, csz_status status, const void *data,
                           const void *archive) {
    if (wanted != CSZ_BACKEND_AUTO) return 0;
    if (status != CSZ_ERROR_MEMORY && status != CSZ_ERROR_BACKEND) return 0;
    if (csz_cuda_is_device_pointer(data) || csz_cuda_is_device_pointer(archive)) return 0;
    context->used = CSZ_BACKEND_CPU;
    return 1;
}
