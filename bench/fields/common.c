/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c: noise and threads of the generators. */
#include "fields_common.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

double fields_gaussian(uint64_t seed, uint64_t i) {
    double u = 0.5 * (fields_random(seed, 2 * i) + 1) + 0x1p-54, v = fields_random(seed, 2 * i + 1);
    return sqrt(-2 * portable_log(u)) * portable_cos(PORTABLE_PI * v);
}

static double lattice(uint64_t seed, int64_t z, int64_t y, int64_t x) {
    return fields_random(seed, (uint64_t)(z * 73856093) ^ (uint64_t)(y * 19349663) << 20 ^ (uint64_t)x << 40);
}

static double fade(double t) { return t * t * t * (t * (t * 6 - 15) + 10); }

double fields_noise(uint64_t seed, double z, double y, double x) {
    double iz = floor(z), iy = floor(y), ix = floor(x), wz = fade(z - iz), wy = fade(y - iy),
           wx = fade(x - ix), v[2];
    int64_t kz = (int64_t)iz, ky = (int64_t)iy, kx = (int64_t)ix;
    for (int k = 0; k < 2; k++) {
        double a = lattice(seed, kz + k, ky, kx), b = lattice(seed, kz + k, ky, kx + 1),
               c = lattice(seed, kz + k, ky + 1, kx), d = lattice(seed, kz + k, ky + 1, kx + 1);
        double low = a + (b - a) * wx, high = c + (d - c) * wx;
        v[k] = low + (high - low) * wy;
    }
    return v[0] + (v[1] - v[0]) * wz;
}

double fields_octaves(uint64_t seed, double z, double y, double x, int n, double gain) {
    double sum = 0, strength = 1;
    for (int i = 0; i < n; i++) {
        sum += strength * fields_noise(seed + (uint64_t)i, z, y, x);
        strength *= gain;
        z = 2 * z + 0.37; /* moved, so that the octaves' lattices do not share their points */
        y = 2 * y + 0.71;
        x = 2 * x + 0.13;
    }
    return sum;
}

typedef struct crew {
    void (*body)(void *, size_t);
    void *arg;
    size_t n;
    atomic_size_t next;
} crew;

static void *crew_main(void *p) {
    crew *c = p;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) c->body(c->arg, i);
    return NULL;
}

void fields_parallel(int nthreads, size_t n, void (*body)(void *, size_t), void *arg) {
    enum { MOST = 64 };
    pthread_t threads[MOST];
    crew c = {.body = body, .arg = arg, .n = n};
    int started = 0;
    atomic_init(&c.next, 0);
    while (started + 1 < nthreads && started < MOST &&
           pthread_create(&threads[started], NULL, crew_main, &c) == 0)
        started++;
    crew_main(&c);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
