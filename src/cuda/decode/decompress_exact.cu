/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_exact.cu: exact archives.  The tables kernel checks them as any others; all tiles then go to the
 * general kernel, which has a form for exact ones (exact.cuh).
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/decode/exact.cuh"

template <typename V> static int exact_launch(const decode_call *call, int nsms, int chained, void *stream) {
    typedef exact_general<V> general;
    return csz_launch_next(general_kernel<general>, nsms * general::blocks, GENERAL_THREADS, 0, chained,
                           stream, *call);
}

extern "C" int csz_cuda_exact_launch(const decode_call *call, int nsms, int chained, void *stream) {
    /* no kernel may wait for one that was not launched */
    if (!csz_cuda_tables_launch(call, stream)) return 0;
    int good = 1;
    if (!call->check_groups)
        good = csz_launch_next(verify_kernel, nsms * 8, VERIFY_THREADS, 0, chained, stream, *call);
    return good & (call->is_f64 ? exact_launch<double>(call, nsms, chained, stream)
                                : exact_launch<float>(call, nsms, chained, stream));
}
