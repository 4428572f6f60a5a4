/* SPDX-License-Identifier: BSD-3-Clause */
/* choose_predictor.cu: the predictor of each frame, with absolute bounds: samples by choose_kernel.cuh. */
#include "cuda/encode/packed/choose_kernel.cuh"

bool csz_cuda_packed_choose(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                            cudaStream_t stream) {
    return CSZ_PACKED_DISPATCH(plan, choose_launch, quantizer, work, d_data, plan, nsms, stream);
}
