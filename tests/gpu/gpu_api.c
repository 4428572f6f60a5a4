/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_api.c: csz_cuda.h against the CPU backend: archives and values from device pointers, one by one and in
 * batches, byte for byte; workspaces, capacities and damaged archives told by status; fields sent through the
 * device frame by frame; and what happens when memory or the device itself gives out. Skipped, with a word,
 * where no GPU is usable; the emulator runs it too.  A first argument is a pattern of tests to run, a second
 * the damage done to each archive.
 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>

int damage_rounds = DAMAGE_ROUNDS;

csz_cuda_stream the_stream(void) {
    static csz_cuda_stream stream;
    if (!stream) ASSERT_OK(csz_cuda_runtime_real.stream_create(&stream));
    return stream;
}

void wait_for_stream(void) { ASSERT_OK(csz_cuda_runtime_real.stream_wait(the_stream())); }

csz_options on_cpu(csz_options o) {
    o.backend = CSZ_BACKEND_CPU;
    return o;
}

archive cpu_archive(const test_field *s, const csz_options *options) {
    csz_options o = on_cpu(*options);
    return archive_make(s, &o);
}

void *cpu_values(const archive *a, size_t nbytes) {
    csz_options o = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    void *data = malloc(nbytes + 1);
    assert_non_null(data);
    ASSERT_OK(csz_decompress(the_context(), data, nbytes, a->bytes, a->nbytes, DECODING(&o)));
    return data;
}

int main(int argc, char **argv) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (argc > 2) damage_rounds = atoi(argv[2]);
    return test_streams() + test_batches() + test_arguments() + test_faults() + test_verdicts();
}
