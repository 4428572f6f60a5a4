/* SPDX-License-Identifier: BSD-3-Clause */
/* compress_packed_pointwise.cu: the kernels of packed_kernel.cuh for pointwise bounds. */
#include "cuda/encode/packed/packed_kernel.cuh"

csz_status csz_cuda_packed_compress_pointwise(csz_work work, const void *d_data,
                                              const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                                              int nsms, cudaStream_t stream) {
    return CSZ_PACKED_DISPATCH(plan, packed_compress_as, pointwise, work, d_data, d_builtins, plan, nsms,
                               stream)
               ? CSZ_OK
               : CSZ_ERROR_BACKEND;
}
