/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.cu: the table of runtime.h, from the CUDA runtime. */
#include "cuda/host/runtime.h"

#include <atomic>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>

static csz_status status_of(cudaError_t e) {
    if (e == cudaSuccess) return CSZ_OK;
    (void)cudaGetLastError(); /* a failed allocation must not be found by the next call */
    return e == cudaErrorMemoryAllocation ? CSZ_ERROR_MEMORY : CSZ_ERROR_BACKEND;
}

static int usable(void) {
    const int archs[] = {__CUDA_ARCH_LIST__}; /* that nvcc compiles for, ascending */
    int n = 0, device = 0, major = 0, minor = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0 || cudaGetDevice(&device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
           100 * major + 10 * minor >= archs[0];
}

static int device_count(void) {
    int n = 0;
    return usable() && cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static csz_status set_device(int device) { return status_of(cudaSetDevice(device)); }

static int current_device(void) {
    int device = -1;
    return status_of(cudaGetDevice(&device)) ? -1 : device;
}

/* How many libraries the process has loaded until now; those that were unloaded again count too. */
static int count_loads(struct dl_phdr_info *info, size_t, void *nloads) {
    *(unsigned long long *)nloads = info->dlpi_adds;
    return 1;
}

/*
 * A process that has not loaded the driver has no device memory; asking the runtime would load it, which
 * takes longer than compressing a small field.  dlopen searches the file system for a library that is not
 * loaded, so it is asked again only after another library was loaded.
 */
static int driver_is_loaded(void) {
    static std::atomic<unsigned long long> nloads_without{0};
    unsigned long long nloads = 0;
    (void)dl_iterate_phdr(count_loads, &nloads);
    if (nloads == nloads_without.load()) return 0;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver) {
        dlclose(driver);
    } else {
        nloads_without.store(nloads);
    }
    return driver != NULL;
}

static csz_cuda_side side(const void *p) {
    cudaPointerAttributes a;
    if (!p || !driver_is_loaded() || cudaPointerGetAttributes(&a, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return CSZ_SIDE_HOST;
    }
    if (a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged) return CSZ_SIDE_DEVICE;
    return a.type == cudaMemoryTypeHost ? CSZ_SIDE_PINNED : CSZ_SIDE_HOST;
}

static csz_status allocate(void **p, size_t nbytes) { return status_of(cudaMalloc(p, nbytes)); }
static void release(void *p) { (void)status_of(cudaFree(p)); }
static csz_status allocate_pinned(void **p, size_t nbytes) {
    return status_of(cudaHostAlloc(p, nbytes, cudaHostAllocDefault));
}
static void release_pinned(void *p) { (void)status_of(cudaFreeHost(p)); }

static csz_status memory_left(size_t *nbytes) {
    size_t total;
    return status_of(cudaMemGetInfo(nbytes, &total));
}

static csz_status copy(void *to, const void *from, size_t nbytes, csz_cuda_stream stream) {
    return nbytes ? status_of(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDefault, stream)) : CSZ_OK;
}

static csz_status stream_create(csz_cuda_stream *stream) {
    return status_of(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}
static void stream_destroy(csz_cuda_stream stream) { (void)status_of(cudaStreamDestroy(stream)); }
static csz_status stream_wait(csz_cuda_stream stream) { return status_of(cudaStreamSynchronize(stream)); }

static csz_status event_create(void **event) {
    return status_of(cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}
static void event_destroy(void *event) { (void)status_of(cudaEventDestroy((cudaEvent_t)event)); }
static csz_status event_record(void *event, csz_cuda_stream stream) {
    return status_of(cudaEventRecord((cudaEvent_t)event, stream));
}
static csz_status event_wait(void *event) { return status_of(cudaEventSynchronize((cudaEvent_t)event)); }
static csz_status launched(void) { return status_of(cudaGetLastError()); }

extern "C" const csz_cuda_runtime csz_cuda_runtime_real = {
    usable,          device_count,   set_device,   current_device, side,          allocate,       release,
    allocate_pinned, release_pinned, memory_left,  copy,           stream_create, stream_destroy, stream_wait,
    event_create,    event_destroy,  event_record, event_wait,     launched};
