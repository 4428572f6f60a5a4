/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_pointwise.cu: archives with pointwise bounds, by the kernels of decompress.cu with another scale
 * (lorenzo_restore.cuh).  No kernels for teams nor for single rounds.
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/decode/decode_kernel.cuh"
#include "cuda/decode/exact.cuh"

template <typename V>
static int pointwise_launch(const decode_call *call, int nsms, int chained, void *stream) {
    typedef log_scale<V> scale;
    int good = 1;
    if (!call->all_slow) {
        const int rank = call->geometry.rank;
        good = rank == 3   ? decode_launch<lorenzo_restore<V, 3, scale>, false>(call, chained, stream)
               : rank == 2 ? decode_launch<lorenzo_restore<V, 2, scale>, false>(call, chained, stream)
                           : decode_launch<lorenzo_restore<V, 1, scale>, false>(call, chained, stream);
    }
    if (!call->check_groups)
        good &= csz_launch_next(verify_kernel, nsms * 8, VERIFY_THREADS, 0, chained, stream, *call);
    typedef lorenzo_general<V, scale> general;
    return good & csz_launch_next(general_kernel<general>, nsms * general::blocks, GENERAL_THREADS, 0,
                                  chained, stream, *call);
}

extern "C" int csz_cuda_pointwise_launch(const decode_call *call, int nsms, int chained, void *stream) {
    /* no kernel may wait for one that was not launched */
    if (!csz_cuda_tables_launch(call, stream)) return 0;
    return call->is_f64 ? pointwise_launch<double>(call, nsms, chained, stream)
                        : pointwise_launch<float>(call, nsms, chained, stream);
}
