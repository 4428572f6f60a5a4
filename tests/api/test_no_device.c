/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_no_device.c: where there is no GPU, or no CUDA in the build, the calls of csz_cuda.h say so and touch
 * nothing.  Where there is one tests/gpu/gpu_api.c takes over.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "csz_cuda.h"

static void without_a_device_every_call_says_so(void **state) {
    (void)state;
    csz_context *c = the_context();
    csz_field f = field_1d(CSZ_F32, 100);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    csz_cuda_result r;
    double data[64] = {0}, out[64] = {0};
    void *outs[] = {out};
    const void *ins[] = {data};
    size_t sizes[] = {sizeof out};
    memset(&r, 0xA5, sizeof r);
    assert_int_equal(csz_cuda_prepare(c), CSZ_ERROR_BACKEND);
    assert_int_equal(csz_cuda_memory_limit(c, 1), CSZ_ERROR_BACKEND);
    assert_int_equal(csz_cuda_compress_async(c, out, sizeof out, &r, data, &f, &o, NULL, 0, NULL),
                     CSZ_ERROR_BACKEND);
    assert_int_equal(csz_cuda_decompress_async(c, out, sizeof out, &r, data, 80, NULL, &f, NULL, 0, NULL),
                     CSZ_ERROR_BACKEND);
    const uint64_t begin[] = {0}, end[] = {10};
    assert_int_equal(csz_cuda_decompress_region_async(c, out, sizeof out, &r, data, 80, NULL, &f, begin, end,
                                                      NULL, 0, NULL),
                     CSZ_ERROR_BACKEND);
    assert_int_equal(csz_cuda_compress_batch(c, 1, outs, sizes, &r, ins, &f, &o, NULL, 0, NULL),
                     CSZ_ERROR_BACKEND);
    assert_int_equal(
        csz_cuda_decompress_batch(c, 1, outs, sizeof out, &r, ins, sizes, NULL, &f, NULL, 0, NULL),
        CSZ_ERROR_BACKEND);
    assert_int_equal(r.status, 0xA5A5A5A5u);
    assert_int_equal(csz_device_owns(data), 0);
    assert_int_equal(csz_device_owns(NULL), 0);
    assert_int_equal(csz_device_copy(out, data, sizeof out), CSZ_ERROR_BACKEND);
    assert_int_equal(csz_device_copy(out, NULL, 1), CSZ_ERROR_ARGUMENT);
    /* sizes need no device, only the build */
    size_t nbytes = 0;
    const csz_status known = csz_backend_built(CSZ_BACKEND_CUDA) ? CSZ_OK : CSZ_ERROR_BACKEND;
    assert_int_equal(csz_cuda_compress_workspace_query(&nbytes, 1, &f, &o), known);
    assert_int_equal(csz_cuda_decompress_workspace_query(&nbytes, 1, &f), known);
    o.backend = CSZ_BACKEND_CUDA;
    assert_int_equal(csz_compress(c, out, sizeof out, &nbytes, data, &f, &o), CSZ_ERROR_BACKEND);
}

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
static int nlookups;

void *__wrap_dlopen(const char *name, int flags) {
    if (name && strcmp(name, "libcuda.so.1") == 0 && (flags & RTLD_NOLOAD)) nlookups++;
    return __real_dlopen(name, flags);
}

/* Where a pointer lies is asked several times a call, and looking for a driver opens files. */
static void the_driver_is_looked_for_again_after_another_load_alone(void **state) {
    (void)state;
    int data = 0;
    assert_false(csz_device_owns(&data));
    nlookups = 0;
    for (int i = 0; i < 100; i++) assert_false(csz_device_owns(&data));
    assert_int_equal(nlookups, 0);
    void *other = dlopen("libresolv.so.2", RTLD_LAZY); /* of the C library, and no test uses it */
    assert_non_null(other);
    assert_false(csz_device_owns(&data));
    assert_int_equal(nlookups, csz_backend_built(CSZ_BACKEND_CUDA));
    dlclose(other);
}

int main(void) {
    if (csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: there is a GPU");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_device_every_call_says_so),
        cmocka_unit_test(the_driver_is_looked_for_again_after_another_load_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
