// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpu_reconstruct.cu: the sweep behind the paper's reconstruction kernel: codes of 16 bits to floats by
 * partial sums inside chunks, naive (an item a thread, scans in shared memory) against tuned (several items a
 * thread in registers, shuffles along x), over sizes of chunk and items a thread, in one, two and three dims.
 * The reconstruction of csz itself is part of its decoding kernel; this one stands alone to show what the
 * paper's table shows.  Every result is compared with the naive one's; one JSON object a line.
 */
#include <cub/cub.cuh>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t status_ = (call);                                                         \
        if (status_ != cudaSuccess) {                                                         \
            fprintf(stderr, "gpu_reconstruct: %s: %s\n", #call, cudaGetErrorString(status_)); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

/* ---- naive: an item a thread ---- */

/* Inclusive sum along one axis of the block's chunk, in log2 steps. */
template <int EXTENT> __device__ int scan_axis(int *shared, int value, int at, int index, int stride) {
    shared[index] = value;
    __syncthreads();
    for (int step = 1; step < EXTENT; step *= 2) {
        int more = at >= step ? shared[index - step * stride] : 0;
        __syncthreads();
        value += more;
        shared[index] = value;
        __syncthreads();
    }
    return value;
}

template <int CZ, int CY, int CX>
__global__ void naive_kernel(float *out, const int16_t *code, int ny, int nx, float step) {
    __shared__ int shared[CZ * CY * CX];
    const int x = threadIdx.x % CX, y = threadIdx.x / CX % CY, z = threadIdx.x / (CX * CY);
    const size_t i =
        ((size_t)(blockIdx.z * CZ + z) * ny + blockIdx.y * CY + y) * nx + (size_t)blockIdx.x * CX + x;
    int value = scan_axis<CX>(shared, code[i], x, threadIdx.x, 1);
    if (CY > 1) value = scan_axis<CY>(shared, value, y, threadIdx.x, CX);
    if (CZ > 1) value = scan_axis<CZ>(shared, value, z, threadIdx.x, CX * CY);
    out[i] = value * step;
}

/* ---- tuned ---- */

template <int CHUNK, int ITEMS> __global__ void tuned_1d_kernel(float *out, const int16_t *code, float step) {
    constexpr int THREADS = CHUNK / ITEMS;
    using load = cub::BlockLoad<int16_t, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using scan = cub::BlockScan<int, THREADS>;
    using store = cub::BlockStore<float, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename load::TempStorage load;
        typename scan::TempStorage scan;
        typename store::TempStorage store;
    } temp;
    const size_t begin = (size_t)blockIdx.x * CHUNK;
    int16_t codes[ITEMS];
    int sums[ITEMS];
    float values[ITEMS];
    load(temp.load).Load(code + begin, codes);
    for (int i = 0; i < ITEMS; i++) sums[i] = codes[i];
    __syncthreads();
    scan(temp.scan).InclusiveSum(sums, sums);
    for (int i = 0; i < ITEMS; i++) values[i] = sums[i] * step;
    __syncthreads();
    store(temp.store).Store(out + begin, values);
}

template <int EXTENT> __device__ int scan_x(int value) {
    for (int step = 1; step < EXTENT; step *= 2) {
        int more = __shfl_up_sync(0xFFFFFFFFu, value, step, EXTENT);
        if (int(threadIdx.x % EXTENT) >= step) value += more;
    }
    return value;
}

/* Sums along the items of a thread and of those before it in its column; groups lie side by side in
 * shared[group][column]. */
template <int ITEMS, int GROUPS>
__device__ void scan_items(int *v, int *shared, int group, int column, int ncolumns) {
    for (int i = 1; i < ITEMS; i++) v[i] += v[i - 1];
    if (GROUPS == 1) return;
    shared[group * ncolumns + column] = v[ITEMS - 1];
    __syncthreads();
    int before = 0;
    for (int g = 0; g < group; g++) before += shared[g * ncolumns + column];
    for (int i = 0; i < ITEMS; i++) v[i] += before;
}

/* Chunks of C x C, ITEMS rows a thread, `gridDim` chunks side by side in a block. */
template <int C, int ITEMS, int CHUNKS>
__global__ void tuned_2d_kernel(float *out, const int16_t *code, int nx, float step) {
    constexpr int GROUPS = C / ITEMS, COLUMNS = C * CHUNKS;
    __shared__ int shared[GROUPS * COLUMNS];
    const int column = threadIdx.x, group = threadIdx.y;
    const size_t begin =
        ((size_t)blockIdx.y * C + group * ITEMS) * nx + (size_t)blockIdx.x * COLUMNS + column;
    int v[ITEMS];
    for (int i = 0; i < ITEMS; i++) v[i] = code[begin + (size_t)i * nx];
    scan_items<ITEMS, GROUPS>(v, shared, group, column, COLUMNS);
    for (int i = 0; i < ITEMS; i++) out[begin + (size_t)i * nx] = scan_x<C>(v[i]) * step;
}

/* Chunks of 8^3, CHUNKS side by side along x; y in the items, x by shuffles, z after a turn through shared
 * memory. */
template <int ITEMS, int CHUNKS>
__global__ void tuned_3d_kernel(float *out, const int16_t *code, int ny, int nx, float step) {
    constexpr int C = 8, GROUPS = C / ITEMS, COLUMNS = C * CHUNKS;
    __shared__ int group_sum[GROUPS * C * COLUMNS], tile[C][C][COLUMNS];
    const int x = threadIdx.x, other = threadIdx.y % C, group = threadIdx.y / C;
    const size_t plane = (size_t)ny * nx, begin = (size_t)blockIdx.z * C * plane +
                                                  (size_t)blockIdx.y * C * nx + (size_t)blockIdx.x * COLUMNS +
                                                  x;
    int v[ITEMS];
    for (int i = 0; i < ITEMS; i++) v[i] = code[begin + other * plane + (size_t)(group * ITEMS + i) * nx];
    scan_items<ITEMS, GROUPS>(v, group_sum, group, other * COLUMNS + x, C * COLUMNS);
    for (int i = 0; i < ITEMS; i++) tile[other][group * ITEMS + i][x] = scan_x<C>(v[i]);
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) v[i] = tile[group * ITEMS + i][other][x];
    scan_items<ITEMS, GROUPS>(v, group_sum, group, other * COLUMNS + x, C * COLUMNS);
    for (int i = 0; i < ITEMS; i++)
        out[begin + (size_t)(group * ITEMS + i) * plane + (size_t)other * nx] = v[i] * step;
}

/* ---- the sweep ---- */

static const size_t n = (size_t)1 << 27;
static int16_t *d_code;
static float *d_out, *d_reference;
static double copy_gbps;
static char device[256];

template <class F> static double seconds_of(F launch) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    float best = 1e9f;
    for (int i = 0; i < 12; i++) {
        float ms;
        CHECK(cudaEventRecord(start));
        launch();
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (i > 1 && ms < best) best = ms;
    }
    return best * 1e-3;
}

__global__ void compare_kernel(unsigned *differ, const float *a, const float *b, size_t count) {
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        if (a[i] != b[i]) atomicAdd(differ, 1);
}

template <class F>
static void measure(int rank, const char *chunk, const char *how, int items, int is_reference, F launch) {
    unsigned *d_differ, differ = 0;
    double seconds = seconds_of(launch);
    CHECK(cudaMalloc(&d_differ, sizeof *d_differ));
    CHECK(cudaMemset(d_differ, 0, sizeof *d_differ));
    if (is_reference) CHECK(cudaMemcpy(d_reference, d_out, n * sizeof(float), cudaMemcpyDeviceToDevice));
    compare_kernel<<<1024, 256>>>(d_differ, d_out, d_reference, n);
    CHECK(cudaMemcpy(&differ, d_differ, sizeof differ, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_differ));
    printf("{\"device\": \"%s\", \"rank\": %d, \"chunk\": \"%s\", \"how\": \"%s\", \"items\": %d, \"gbps\": "
           "%.1f, \"copy\": %.1f, \"same\": %s}\n",
           device, rank, chunk, how, items, n * sizeof(float) / seconds / 1e9, copy_gbps,
           differ ? "false" : "true");
    if (differ) exit(1);
}

template <int CHUNK, int ITEMS> static void tuned_1d(const char *name) {
    measure(1, name, "tuned", ITEMS, 0,
            [] { tuned_1d_kernel<CHUNK, ITEMS><<<n / CHUNK, CHUNK / ITEMS>>>(d_out, d_code, 0.5f); });
}

template <int C, int ITEMS> static void tuned_2d(const char *name) {
    constexpr int GROUPS = C / ITEMS, CHUNKS = 256 / (C * GROUPS) > 0 ? 256 / (C * GROUPS) : 1;
    const int ny = 8192, nx = 16384;
    measure(2, name, "tuned", ITEMS, 0, [=] {
        tuned_2d_kernel<C, ITEMS, CHUNKS>
            <<<dim3(nx / (C * CHUNKS), ny / C), dim3(C * CHUNKS, GROUPS)>>>(d_out, d_code, nx, 0.5f);
    });
}

template <int ITEMS> static void tuned_3d() {
    constexpr int GROUPS = 8 / ITEMS, CHUNKS = 4;
    measure(3, "8x8x8", "tuned", ITEMS, 0, [] {
        tuned_3d_kernel<ITEMS, CHUNKS><<<dim3(512 / (8 * CHUNKS), 64, 64), dim3(8 * CHUNKS, 8 * GROUPS)>>>(
            d_out, d_code, 512, 512, 0.5f);
    });
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    snprintf(device, sizeof device, "%s", properties.name);
    CHECK(cudaMalloc(&d_code, n * sizeof *d_code));
    CHECK(cudaMalloc(&d_out, n * sizeof *d_out));
    CHECK(cudaMalloc(&d_reference, n * sizeof *d_reference));
    std::vector<int16_t> code(n);
    for (size_t i = 0; i < n; i++) code[i] = (int16_t)((i * 2654435761u >> 13) % 3) - 1;
    CHECK(cudaMemcpy(d_code, code.data(), n * sizeof(int16_t), cudaMemcpyHostToDevice));
    copy_gbps = n * sizeof(float) / seconds_of([] {
                    CHECK(cudaMemcpyAsync(d_out, d_reference, n * sizeof(float), cudaMemcpyDeviceToDevice));
                }) /
                1e9;

    measure(1, "256", "naive", 1, 1,
            [] { naive_kernel<1, 1, 256><<<n / 256, 256>>>(d_out, d_code, 1, (int)n, 0.5f); });
    tuned_1d<256, 1>("256"), tuned_1d<256, 2>("256"), tuned_1d<256, 4>("256"), tuned_1d<256, 8>("256");
    measure(1, "1024", "naive", 1, 1,
            [] { naive_kernel<1, 1, 1024><<<n / 1024, 1024>>>(d_out, d_code, 1, (int)n, 0.5f); });
    tuned_1d<1024, 1>("1024"), tuned_1d<1024, 4>("1024"), tuned_1d<1024, 8>("1024"),
        tuned_1d<1024, 16>("1024"), tuned_1d<1024, 32>("1024");
    measure(2, "16x16", "naive", 1, 1,
            [] { naive_kernel<1, 16, 16><<<dim3(1024, 512), 256>>>(d_out, d_code, 8192, 16384, 0.5f); });
    tuned_2d<16, 1>("16x16"), tuned_2d<16, 2>("16x16"), tuned_2d<16, 4>("16x16"), tuned_2d<16, 8>("16x16"),
        tuned_2d<16, 16>("16x16");
    measure(2, "32x32", "naive", 1, 1,
            [] { naive_kernel<1, 32, 32><<<dim3(512, 256), 1024>>>(d_out, d_code, 8192, 16384, 0.5f); });
    tuned_2d<32, 4>("32x32"), tuned_2d<32, 8>("32x32"), tuned_2d<32, 16>("32x32"), tuned_2d<32, 32>("32x32");
    measure(3, "8x8x8", "naive", 1, 1,
            [] { naive_kernel<8, 8, 8><<<dim3(64, 64, 64), 512>>>(d_out, d_code, 512, 512, 0.5f); });
    tuned_3d<2>(), tuned_3d<4>(), tuned_3d<8>();
    return 0;
}
