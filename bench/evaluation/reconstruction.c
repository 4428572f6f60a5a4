/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reconstruction.c: the paper's comparison of reconstruction kernels, on one core: codes become values chunk
 * by chunk, either neighbour by neighbour as in cuSZ (each value needs the ones before it) or by partial sums
 * along x, y, z, over several sizes of chunk.  bench/gpu_reconstruct.cu sweeps chunks and items a thread on a
 * GPU.
 */
#include "evaluate.h"

#include <stdlib.h>
#include <string.h>

typedef struct shape3 {
    size_t n[3], chunk[3]; /* slowest first */
} shape3;

/* d[i] = code + inclusion and exclusion of the restored neighbours inside the chunk. */
static void by_neighbours(int32_t *d, const int16_t *code, const shape3 *s) {
    const size_t row = s->n[2], plane = s->n[1] * s->n[2];
    for (size_t z = 0; z < s->n[0]; z++)
        for (size_t y = 0; y < s->n[1]; y++)
            for (size_t x = 0; x < s->n[2]; x++) {
                const size_t i = z * plane + y * row + x;
                const int hz = z % s->chunk[0] != 0, hy = y % s->chunk[1] != 0, hx = x % s->chunk[2] != 0;
                int32_t p = 0;
                if (hx) p += d[i - 1];
                if (hy) p += d[i - row];
                if (hz) p += d[i - plane];
                if (hx && hy) p -= d[i - 1 - row];
                if (hx && hz) p -= d[i - 1 - plane];
                if (hy && hz) p -= d[i - row - plane];
                if (hx && hy && hz) p += d[i - 1 - row - plane];
                d[i] = code[i] + p;
            }
}

static void by_sums(int32_t *d, const int16_t *code, const shape3 *s) {
    const size_t row = s->n[2], plane = s->n[1] * s->n[2];
    for (size_t z = 0; z < s->n[0]; z++)
        for (size_t y = 0; y < s->n[1]; y++) {
            int32_t *restrict line = d + z * plane + y * row;
            const int16_t *restrict c = code + z * plane + y * row;
            for (size_t begin = 0; begin < row; begin += s->chunk[2]) {
                size_t end = begin + s->chunk[2] < row ? begin + s->chunk[2] : row;
                int32_t sum = 0;
                for (size_t x = begin; x < end; x++) line[x] = sum += c[x];
            }
            if (y % s->chunk[1])
                for (size_t x = 0; x < row; x++) line[x] += (line - row)[x];
        }
    for (size_t z = 0; z < s->n[0]; z++) {
        if (z % s->chunk[0] == 0) continue;
        int32_t *restrict at = d + z * plane;
        const int32_t *restrict back = at - plane;
        for (size_t i = 0; i < plane; i++) at[i] += back[i];
    }
}

static double best_of(void (*how)(int32_t *, const int16_t *, const shape3 *), int32_t *d,
                      const int16_t *code, const shape3 *s, int repeats) {
    double best = 1e9;
    for (int i = 0; i < repeats; i++) {
        double start = evaluate_seconds();
        how(d, code, s);
        double took = evaluate_seconds() - start;
        best = took < best ? took : best;
    }
    return best;
}

int evaluate_reconstruction(FILE *out, int quick) {
    static const shape3 shapes[] = {
        {{1, 1, 1 << 21}, {1, 1, 256}}, {{1, 1, 1 << 21}, {1, 1, 1024}}, {{1, 1, 1 << 21}, {1, 1, 4096}},
        {{1, 1024, 2048}, {1, 16, 16}}, {{1, 1024, 2048}, {1, 32, 32}},  {{1, 1024, 2048}, {1, 32, 128}},
        {{128, 128, 128}, {8, 8, 8}},   {{128, 128, 128}, {8, 16, 32}},  {{128, 128, 128}, {16, 16, 32}},
    };
    const size_t n = 1 << 21;
    int16_t *code = malloc(n * sizeof *code);
    int32_t *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    int failed = !code || !a || !b;
    fprintf(stderr, "  reconstruction\n");
    for (size_t i = 0; !failed && i < n; i++) code[i] = (int16_t)((i * 2654435761u >> 13) % 3) - 1;
    for (size_t k = 0; !failed && k < sizeof shapes / sizeof shapes[0]; k++) {
        const shape3 *s = &shapes[k];
        double naive = best_of(by_neighbours, a, code, s, quick ? 1 : 5),
               tuned = best_of(by_sums, b, code, s, quick ? 1 : 5);
        failed = memcmp(a, b, n * sizeof *a) != 0;
        fprintf(out,
                "{\"kind\": \"reconstruction\", \"rank\": %d, \"chunk\": \"%zux%zux%zu\", \"naive\": %.6g, "
                "\"tuned\": %.6g, \"nbytes\": %zu}\n",
                s->n[0] > 1   ? 3
                : s->n[1] > 1 ? 2
                              : 1,
                s->chunk[0], s->chunk[1], s->chunk[2], naive, tuned, n * sizeof(float));
    }
    free(code);
    free(a);
    free(b);
    if (failed) fprintf(stderr, "csz-evaluate: the two reconstructions differ, or memory lacks\n");
    return failed ? -1 : 0;
}
