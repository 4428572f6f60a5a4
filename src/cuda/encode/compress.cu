/* SPDX-License-Identifier: BSD-3-Clause */
/* compress.cu: the fused encoder (encode_kernel.cuh) for absolute bounds. */
#include "cuda/encode/encode_kernel.cuh"
#include "cuda/predict/lorenzo.cuh"

/*
 * Rank 1 has a single row, which is unaligned only if the field's address is: not worth a kernel of its
 * own.
 */
template <typename V, int RANK>
static void encode_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                          cudaStream_t stream) {
    if constexpr (RANK == 1)
        encode_launch_as<csz_lorenzo_predictor<V, RANK, true, CSZ_ROWS_ASKED>>(work, d_data, plan, nsms,
                                                                               stream);
    else if (csz_rows_are_aligned<V>(work, plan))
        encode_launch_as<csz_lorenzo_predictor<V, RANK, true, CSZ_ROWS_ALIGNED>>(work, d_data, plan, nsms,
                                                                                 stream);
    else
        encode_launch_as<csz_lorenzo_predictor<V, RANK, true, CSZ_ROWS_ODD>>(work, d_data, plan, nsms,
                                                                             stream);
}

size_t csz_cuda_encode_shared_nbytes(csz_type type) {
    return type == CSZ_F32 ? sizeof(encode_shared<float>) : sizeof(encode_shared<double>);
}

void csz_cuda_encode(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                     cudaStream_t stream) {
    CSZ_DISPATCH(plan, encode_launch, work, d_data, plan, nsms, stream);
}
