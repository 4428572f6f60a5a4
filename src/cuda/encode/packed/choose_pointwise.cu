/* SPDX-License-Identifier: BSD-3-Clause */
/* choose_pointwise.cu: the predictor of each frame, with pointwise bounds: samples by choose_kernel.cuh. */
#include "cuda/encode/packed/choose_kernel.cuh"

bool csz_cuda_packed_choose_pointwise(const csz_work &work, const void *d_data, const csz_cuda_plan *plan,
                                      int nsms, cudaStream_t stream) {
    return CSZ_PACKED_DISPATCH(plan, choose_launch, pointwise, work, d_data, plan, nsms, stream);
}
