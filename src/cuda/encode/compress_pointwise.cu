/* SPDX-License-Identifier: BSD-3-Clause */
/* compress_pointwise.cu: the fused encoder (encode_kernel.cuh) for pointwise bounds. */
#include "cuda/encode/encode_kernel.cuh"
#include "cuda/predict/lorenzo.cuh"

/* How rows begin is asked at run time: rounding takes most of the time here. */
template <typename V, int RANK>
static void encode_pointwise_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan,
                                    int nsms, cudaStream_t stream) {
    encode_launch_as<csz_lorenzo_predictor<V, RANK, true, CSZ_ROWS_ASKED, typename csz_value<V>::pointwise>>(
        work, d_data, plan, nsms, stream);
}

void csz_cuda_encode_pointwise(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                               cudaStream_t stream) {
    CSZ_DISPATCH(plan, encode_pointwise_launch, work, d_data, plan, nsms, stream);
}
