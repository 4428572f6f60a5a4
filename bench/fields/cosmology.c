/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cosmology.c: stand-ins for HACC's particles and Nyx's grids.  White noise is shaped by a cold-dark-matter
 * spectrum; its gravity displaces a lattice of particles (Zel'dovich's approximation), whose streams cross
 * into sheets, filaments and knots.  HACC: positions and velocities of the particles, in order of the cell
 * where they end up. Nyx: their density in cells of the grid, a smoother baryon density with the log-normal
 * tail of collapsed gas, its temperature, and a velocity.
 */
#include "fields_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct complex_number {
    double re, im;
} complex_number;

/* A cube of n^3 complex numbers, n a power of two. */
typedef struct cube {
    complex_number *at;
    size_t n;
    const complex_number *roots; /* n / 2 of them */
    int axis, inverse;
} cube;

/* ---- Fourier transform ---- */

static void transform_line(complex_number *v, size_t n, const complex_number *roots, int inverse) {
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            complex_number swap = v[i];
            v[i] = v[j];
            v[j] = swap;
        }
    }
    for (size_t half = 1; half < n; half *= 2)
        for (size_t begin = 0; begin < n; begin += 2 * half)
            for (size_t k = 0; k < half; k++) {
                complex_number w = roots[k * (n / (2 * half))], *a = &v[begin + k], *b = a + half;
                if (inverse) w.im = -w.im;
                complex_number t = {b->re * w.re - b->im * w.im, b->re * w.im + b->im * w.re};
                *b = (complex_number){a->re - t.re, a->im - t.im};
                *a = (complex_number){a->re + t.re, a->im + t.im};
            }
}

/* All lines along one axis in one plane; lines across memory are taken eight at a time. */
static void transform_plane(void *arg, size_t plane) {
    const cube *c = arg;
    enum { WIDE = 8 };
    const size_t n = c->n, stride = c->axis == 0 ? n * n : n;
    if (c->axis == 2) {
        for (size_t y = 0; y < n; y++) transform_line(c->at + (plane * n + y) * n, n, c->roots, c->inverse);
        return;
    }
    complex_number *base = c->at + (c->axis == 0 ? plane * n : plane * n * n);
    complex_number *lines = malloc(WIDE * n * sizeof *lines);
    if (!lines) abort(); /* a few kilobytes */
    for (size_t x = 0; x < n; x += WIDE) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < WIDE; k++) lines[k * n + i] = base[i * stride + x + k];
        for (size_t k = 0; k < WIDE; k++) transform_line(lines + k * n, n, c->roots, c->inverse);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < WIDE; k++) base[i * stride + x + k] = lines[k * n + i];
    }
    free(lines);
}

static int transform(complex_number *at, size_t n, int inverse, int nthreads) {
    complex_number *roots = malloc(n / 2 * sizeof *roots);
    if (!roots) return -1;
    for (size_t k = 0; k < n / 2; k++) {
        double angle = -2 * PORTABLE_PI * (double)k / (double)n;
        roots[k] = (complex_number){portable_cos(angle), portable_sin(angle)};
    }
    for (int axis = 0; axis < 3; axis++) {
        cube c = {at, n, roots, axis, inverse};
        fields_parallel(nthreads, n, transform_plane, &c);
    }
    free(roots);
    return 0;
}

/* ---- gravity ---- */

static double frequency(size_t i, size_t n) { return i <= n / 2 ? (double)i : (double)i - (double)n; }

static void white_plane(void *arg, size_t z) {
    const cube *c = arg;
    for (size_t i = 0; i < c->n * c->n; i++)
        c->at[z * c->n * c->n + i] = (complex_number){fields_gaussian(501, z * c->n * c->n + i), 0};
}

typedef struct shaping {
    cube c;
    int first, second; /* what the real and the imaginary part become: 0, 1, 2 a displacement, 3 the
                          overdensity, -1 none */
} shaping;

/* Square root of the power at frequency k of a box some 60 Mpc wide: rises as k, bends at the horizon's
 * scale, falls as k^-3 with a cut-off. */
static double amplitude(double k, double n) {
    double q = k / 7.0, cut = k / (0.35 * n);
    return sqrt(k) / (1 + q * q) * portable_exp(-cut * cut);
}

/* Factor of one quantity at a frequency: the density's own, or i k / k^2 of it for a displacement. */
static complex_number factor_of(int what, const double f[3], double square, double strength) {
    if (what < 0) return (complex_number){0, 0};
    if (what == 3) return (complex_number){strength, 0};
    return (complex_number){0, strength * f[what] / square};
}

static void shape_plane(void *arg, size_t z) {
    const shaping *s = arg;
    const size_t n = s->c.n;
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++) {
            const double f[3] = {frequency(z, n), frequency(y, n), frequency(x, n)};
            double square = f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
            complex_number *v = &s->c.at[(z * n + y) * n + x], w = *v;
            if (square == 0 || z == n / 2 || y == n / 2 || x == n / 2) {
                *v = (complex_number){0, 0};
                continue;
            }
            double strength = amplitude(sqrt(square), (double)n);
            complex_number a = factor_of(s->first, f, square, strength),
                           b = factor_of(s->second, f, square, strength);
            complex_number g = {a.re - b.im, a.im + b.re}; /* a + i b: two real fields in one transform */
            *v = (complex_number){w.re * g.re - w.im * g.im, w.re * g.im + w.im * g.re};
        }
}

/* Two quantities (see shaping) of the box as the real and imaginary part, scaled so that the first has the
 * given root mean square.  NULL for lack of memory. */
static complex_number *make_gravity(size_t n, int first, int second, double rms, int nthreads) {
    complex_number *at = malloc(n * n * n * sizeof *at);
    shaping s = {{at, n, NULL, 0, 0}, first, second};
    if (!at) return NULL;
    fields_parallel(nthreads, n, white_plane, &s.c);
    if (transform(at, n, 0, nthreads)) {
        free(at);
        return NULL;
    }
    fields_parallel(nthreads, n, shape_plane, &s);
    if (transform(at, n, 1, nthreads)) {
        free(at);
        return NULL;
    }
    double sum = 0;
    for (size_t i = 0; i < n * n * n; i++) sum += at[i].re * at[i].re;
    double scale = rms / sqrt(sum / (double)(n * n * n));
    for (size_t i = 0; i < n * n * n; i++) at[i] = (complex_number){at[i].re * scale, at[i].im * scale};
    return at;
}

static size_t grid_for(size_t extent) {
    size_t n = 16;
    while (n < extent && n < 512) n *= 2;
    return n;
}

/* Trilinear, periodic; place in cells. */
static complex_number sample_at(const complex_number *at, size_t n, const double place[3]) {
    size_t low[3], high[3];
    double w[3];
    complex_number sum = {0, 0};
    for (int axis = 0; axis < 3; axis++) {
        double whole = floor(place[axis]);
        w[axis] = place[axis] - whole;
        low[axis] = (size_t)((int64_t)whole & (int64_t)(n - 1));
        high[axis] = (low[axis] + 1) & (n - 1);
    }
    for (int corner = 0; corner < 8; corner++) {
        size_t z = corner & 4 ? high[0] : low[0], y = corner & 2 ? high[1] : low[1],
               x = corner & 1 ? high[2] : low[2];
        double weight =
            (corner & 4 ? w[0] : 1 - w[0]) * (corner & 2 ? w[1] : 1 - w[1]) * (corner & 1 ? w[2] : 1 - w[2]);
        complex_number v = at[(z * n + y) * n + x];
        sum.re += weight * v.re;
        sum.im += weight * v.im;
    }
    return sum;
}

/* ---- particles ---- */

typedef struct particles {
    const complex_number *zy, *x; /* displacements in cells of the grid, as shares of the box */
    size_t n, lattice;
} particles;

static int make_particles(particles *p, size_t n, size_t lattice, double rms, int nthreads) {
    complex_number *zy = make_gravity(n, 0, 1, rms, nthreads), *x = make_gravity(n, 2, 3, rms, nthreads);
    *p = (particles){zy, x, n, lattice};
    if (zy && x) return 0;
    free(zy);
    free(x);
    return -1;
}

static void free_particles(particles *p) {
    free((void *)p->zy);
    free((void *)p->x);
}

/* Where lattice point i is displaced to, as shares of the box in 0 .. 1, and by how much. */
static void place_particle(const particles *p, uint64_t i, double place[3], double moved[3]) {
    const double edge = (double)p->lattice;
    const uint64_t row = i / p->lattice, plane = row / p->lattice;
    const double start[3] = {(double)plane + 0.5, (double)(row % p->lattice) + 0.5,
                             (double)(i % p->lattice) + 0.5};
    double cell[3];
    for (int axis = 0; axis < 3; axis++) cell[axis] = start[axis] / edge * (double)p->n;
    complex_number zy = sample_at(p->zy, p->n, cell), x = sample_at(p->x, p->n, cell);
    moved[0] = zy.re;
    moved[1] = zy.im;
    moved[2] = x.re;
    for (int axis = 0; axis < 3; axis++) {
        place[axis] = start[axis] / edge + moved[axis];
        place[axis] -= floor(place[axis]);
    }
}

static uint64_t cell_of(const double place[3], uint64_t cells) {
    uint64_t at = 0;
    for (int axis = 0; axis < 3; axis++) {
        uint64_t k = (uint64_t)(place[axis] * (double)cells);
        at = at * cells + (k < cells ? k : cells - 1);
    }
    return at;
}

/*
 * Particles are placed by threads, a batch at a time, and gathered one after another, so that their order and
 * every sum stay the same.
 */
enum { BATCH = 1 << 22, STRIDE = 1 << 12 };

typedef struct placed {
    double place[3], moved, noise;
} placed;

typedef struct batch {
    const particles *p;
    uint64_t first;
    size_t n;
    int axis;      /* whose displacement is kept */
    uint64_t seed; /* of the noise; 0: none */
    placed *at;    /* BATCH of them */
} batch;

static void place_stride(void *arg, size_t k) {
    const batch *b = arg;
    for (size_t i = k * STRIDE; i < b->n && i < (k + 1) * STRIDE; i++) {
        double moved[3];
        place_particle(b->p, b->first + i, b->at[i].place, moved);
        b->at[i].moved = moved[b->axis];
        b->at[i].noise = b->seed ? fields_gaussian(b->seed, b->first + i) : 0;
    }
}

static void place_batch(batch *b, uint64_t first, uint64_t end, int nthreads) {
    b->first = first;
    b->n = end - first < BATCH ? (size_t)(end - first) : BATCH;
    fields_parallel(nthreads, (b->n + STRIDE - 1) / STRIDE, place_stride, b);
}

/*
 * which: 0 to 2 positions x, y, z in Mpc of a 256 Mpc box, 3 to 5 velocities in km/s, with the motions inside
 * knots.  Particles stand in the order of the cell where they end up, eight or so a cell; the lattice's last
 * ones are left out where the count asked for is no cube.
 */
int fields_hacc(float *out, const uint64_t *dims, int which, int nthreads) {
    uint64_t wanted = dims[0], lattice = 1;
    while (lattice * lattice * lattice < wanted) lattice++;
    uint64_t cells = lattice / 2 + 1;
    particles p;
    const int axis = which % 3 == 0 ? 2 : which % 3 == 1 ? 1 : 0;
    batch b = {.p = &p, .axis = axis, .at = malloc(BATCH * sizeof *b.at)};
    uint64_t *begin = calloc((size_t)(cells * cells * cells + 1), sizeof *begin);
    if (!begin || !b.at ||
        make_particles(&p, lattice > 256 ? 256 : grid_for(lattice / 2), lattice, 0.018, nthreads)) {
        free(b.at);
        free(begin);
        return -1;
    }
    for (uint64_t first = 0; first < wanted; first += BATCH) {
        place_batch(&b, first, wanted, nthreads);
        for (size_t i = 0; i < b.n; i++) begin[cell_of(b.at[i].place, cells) + 1]++;
    }
    for (uint64_t c = 0; c < cells * cells * cells; c++) begin[c + 1] += begin[c];
    b.seed = which < 3 ? 0 : 503 + (uint64_t)which;
    for (uint64_t first = 0; first < wanted; first += BATCH) {
        place_batch(&b, first, wanted, nthreads);
        for (size_t i = 0; i < b.n; i++) {
            uint64_t cell = cell_of(b.at[i].place, cells), to = begin[cell]++;
            double knot = (double)(begin[cell + 1] - begin[cell]) + 1;
            out[to] = (float)(which < 3 ? 256 * b.at[i].place[axis]
                                        : 16000 * b.at[i].moved + 60 * sqrt(knot) * b.at[i].noise);
        }
    }
    free(b.at);
    free(begin);
    free_particles(&p);
    return 0;
}

/* ---- grids ---- */

/* Each particle's mass to the eight cells around it. */
static int deposit(float *density, size_t n, const particles *p, int nthreads) {
    const uint64_t count = (uint64_t)p->lattice * p->lattice * p->lattice;
    batch b = {.p = p, .at = malloc(BATCH * sizeof *b.at)};
    if (!b.at) return -1;
    memset(density, 0, n * n * n * sizeof *density);
    for (uint64_t first = 0; first < count; first += BATCH) {
        place_batch(&b, first, count, nthreads);
        for (size_t i = 0; i < b.n; i++) {
            size_t low[3], high[3];
            double w[3];
            for (int axis = 0; axis < 3; axis++) {
                double at = b.at[i].place[axis] * (double)n, whole = floor(at);
                w[axis] = at - whole;
                low[axis] = (size_t)whole % n;
                high[axis] = (low[axis] + 1) % n;
            }
            for (int corner = 0; corner < 8; corner++) {
                size_t z = corner & 4 ? high[0] : low[0], y = corner & 2 ? high[1] : low[1],
                       x = corner & 1 ? high[2] : low[2];
                density[(z * n + y) * n + x] +=
                    (float)((corner & 4 ? w[0] : 1 - w[0]) * (corner & 2 ? w[1] : 1 - w[1]) *
                            (corner & 1 ? w[2] : 1 - w[2]));
            }
        }
    }
    free(b.at);
    return 0;
}

/* A plane of a grid, from one array to another. */
typedef struct grid {
    float *out;
    const float *in;
    const particles *p;
    size_t n;
    int which, axis;
} grid;

/* Gas pressure: 1 2 1 along each axis, periodic. */
static void smooth_plane(void *arg, size_t z) {
    const grid *g = arg;
    const size_t n = g->n, stride = g->axis == 2 ? 1 : g->axis == 1 ? n : n * n;
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++) {
            size_t i = (z * n + y) * n + x, k = g->axis == 2 ? x : g->axis == 1 ? y : z;
            size_t back = k ? i - stride : i + (n - 1) * stride,
                   on = k + 1 < n ? i + stride : i - (n - 1) * stride;
            g->out[i] = 0.25f * g->in[back] + 0.5f * g->in[i] + 0.25f * g->in[on];
        }
}

enum { BARYONS, DARK_MATTER, TEMPERATURE, VELOCITY_X };

static void velocity_plane(void *arg, size_t z) {
    const grid *g = arg;
    for (uint64_t i = z * g->n * g->n; i < (z + 1) * g->n * g->n; i++) {
        double place[3], moved[3];
        place_particle(g->p, i, place, moved);
        g->out[i] = (float)(1.6e9 * moved[2]); /* cm/s */
    }
}

/* Collapsed gas is denser than its dark matter, and hot. */
static void gas_plane(void *arg, size_t z) {
    const grid *g = arg;
    for (size_t i = z * g->n * g->n; i < (z + 1) * g->n * g->n; i++) {
        double rho = portable_pow(g->in[i] + 0.02, 1.6);
        g->out[i] = (float)(g->which == BARYONS ? rho
                                                : 1.1e4 * portable_pow(rho + 0.01, 0.6) *
                                                      (rho > 3 ? 1 + 0.8 * (rho - 3) / (1 + 0.02 * rho) : 1));
    }
}

int fields_nyx(float *out, const uint64_t *dims, int which, int nthreads) {
    const size_t extent = (size_t)dims[0], n = grid_for(extent), count = extent * extent * extent;
    particles p;
    if (make_particles(&p, n, extent, 0.018, nthreads)) return -1;
    grid g = {.out = out, .p = &p, .n = extent, .which = which};
    if (which == VELOCITY_X) {
        fields_parallel(nthreads, extent, velocity_plane, &g);
        free_particles(&p);
        return 0;
    }
    const int bad = deposit(out, extent, &p, nthreads);
    free_particles(&p);
    if (bad || which == DARK_MATTER) return bad;
    float *other = malloc(count * sizeof *other);
    if (!other) return -1;
    for (int step = 0; step < 6; step++) { /* along x, y and z, twice */
        g.out = step % 2 ? out : other;
        g.in = step % 2 ? other : out;
        g.axis = 2 - step % 3;
        fields_parallel(nthreads, extent, smooth_plane, &g);
    }
    free(other);
    g.out = out;
    g.in = out;
    fields_parallel(nthreads, extent, gas_plane, &g);
    return 0;
}
