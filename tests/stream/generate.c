/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generate.c: fields of any size that nobody has to store.  `generate NZ NY NX` writes one of f32 to standard
 * output, plane by plane; `generate --check BOUND NZ NY NX` reads one and exits 1 unless every value is
 * within the bound of the one generated.  Hills that move from plane to plane, with a little noise, so that
 * it compresses as data does and not as zeros do.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_base(float *base, size_t ny, size_t nx) {
    uint32_t noise = 1;
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++) {
            noise = noise * 1664525u + 1013904223u;
            base[y * nx + x] =
                sinf((float)y * 0.01f) * cosf((float)x * 0.013f) + (float)(noise >> 16) * 1e-7f;
        }
}

/* Plane z: the base, moved up and down and stretched. */
static void make_plane(float *plane, const float *base, size_t n, uint64_t z) {
    const float scale = 1 + 0.5f * sinf((float)z * 0.05f), shift = 3 * cosf((float)z * 0.02f);
    for (size_t i = 0; i < n; i++) plane[i] = base[i] * scale + shift;
}

static int transfer(int descriptor, void *bytes, size_t nbytes, int is_write) {
    for (char *next = bytes; nbytes;) {
        ssize_t n = is_write ? write(descriptor, next, nbytes) : read(descriptor, next, nbytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        next += n;
        nbytes -= (size_t)n;
    }
    return 1;
}

int main(int argc, char **argv) {
    int is_check = argc > 2 && strcmp(argv[1], "--check") == 0;
    char **dims = argv + (is_check ? 3 : 1);
    if (argc != (is_check ? 6 : 4)) {
        fprintf(stderr, "usage: generate [--check BOUND] NZ NY NX\n");
        return 2;
    }
    const double bound = is_check ? strtod(argv[2], NULL) : 0;
    const uint64_t nz = strtoull(dims[0], NULL, 10);
    const size_t ny = strtoull(dims[1], NULL, 10), nx = strtoull(dims[2], NULL, 10), n = ny * nx;
    float *base = malloc(n * sizeof *base), *plane = malloc(n * sizeof *plane),
          *found = malloc(n * sizeof *found);
    if (!base || !plane || !found) return 2;
    make_base(base, ny, nx);
    for (uint64_t z = 0; z < nz; z++) {
        make_plane(plane, base, n, z);
        if (!is_check) {
            if (!transfer(STDOUT_FILENO, plane, n * sizeof *plane, 1)) return 1;
            continue;
        }
        if (!transfer(STDIN_FILENO, found, n * sizeof *found, 0)) {
            fprintf(stderr, "generate: the field ends in plane %llu\n", (unsigned long long)z);
            return 1;
        }
        for (size_t i = 0; i < n; i++) {
            if (fabs((double)found[i] - (double)plane[i]) <= bound) continue;
            fprintf(stderr, "generate: plane %llu, element %zu: %g instead of %g\n", (unsigned long long)z, i,
                    (double)found[i], (double)plane[i]);
            return 1;
        }
    }
    char surplus;
    if (is_check && transfer(STDIN_FILENO, &surplus, 1, 0)) {
        fprintf(stderr, "generate: the field is longer than it should be\n");
        return 1;
    }
    free(base);
    free(plane);
    free(found);
    return 0;
}
