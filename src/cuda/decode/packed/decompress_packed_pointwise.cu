/* SPDX-License-Identifier: BSD-3-Clause */
/* decompress_packed_pointwise.cu: the kernel of packed_kernel.cuh for pointwise bounds. */
#include "cuda/decode/packed/packed_kernel.cuh"

extern "C" int csz_cuda_packed_pointwise_launch(decode_call *call, int nsms, size_t shared_nbytes,
                                                void *stream) {
    return packed_kernel_launch<csz_pointwise_f32, csz_pointwise_f64>(call, nsms, shared_nbytes, stream);
}
