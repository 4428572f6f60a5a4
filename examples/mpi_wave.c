/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_wave.c: in-situ compression.  The acoustic wave of wave.c, its box cut among ranks along depth and one horizontal direction; ranks
 * exchange four layers of halo a step, and every so many steps all write one archive of the whole pressure field, without it ever being in
 * one place.  Cells are computed from the step before alone, so snapshots have the same bytes for every number of ranks.
 *
 *     mpirun -n 4 csz-mpi-wave [--dims 160x160x160] [--steps 200] [--every 50] [--bound 1e-3] [--backend auto|cpu|cuda] [--out snapshot]
 *
 * Snapshots of at least 32 MiB are compressed on the GPU where there is one, the ranks of a node taking its GPUs in turn; --backend says otherwise.
 */
#include "csz_mpi.h"
#include "wave_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct domain {
    size_t n[3];              /* cells of the whole field */
    size_t begin[3], size[3]; /* this rank's part; x is not cut */
    size_t row, plane;        /* strides with halo */
    float *pressure[2], *factor, *damping[3];
    float *dense;            /* without halo, for the archive */
    float *messages;         /* halos of y, which are not contiguous */
    int before[2], after[2]; /* neighbours along z and y, MPI_PROC_NULL at the ends */
    MPI_Comm comm;
} domain;

static size_t at(const domain *d, size_t z, size_t y, size_t x) {
    return (z + HALO) * d->plane + (y + HALO) * d->row + x + HALO;
}

static int make_domain(domain *d, const csz_mpi_box *box) {
    for (int i = 0; i < 3; i++) {
        d->begin[i] = (size_t)box->begin[i];
        d->size[i] = (size_t)(box->end[i] - box->begin[i]);
    }
    d->row = d->size[2] + 2 * HALO;
    d->plane = d->row * (d->size[1] + 2 * HALO);
    size_t padded = d->plane * (d->size[0] + 2 * HALO), cells = d->size[0] * d->size[1] * d->size[2];
    d->pressure[0] = calloc(padded, sizeof(float));
    d->pressure[1] = calloc(padded, sizeof(float));
    d->factor = malloc(cells * sizeof(float));
    d->dense = malloc(cells * sizeof(float));
    d->messages = malloc(4 * HALO * d->row * (d->size[0] + 2 * HALO) * sizeof(float));
    for (int i = 0; i < 3; i++) d->damping[i] = malloc(d->size[i] * sizeof(float));
    if (!d->pressure[0] || !d->pressure[1] || !d->factor || !d->dense || !d->messages || !d->damping[0] ||
        !d->damping[1] || !d->damping[2])
        return 0;
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < d->size[i]; k++) d->damping[i][k] = damping_at(d->begin[i] + k, d->n[i]);
    for (size_t z = 0; z < d->size[0]; z++)
        for (size_t y = 0; y < d->size[1]; y++)
            for (size_t x = 0; x < d->size[2]; x++)
                d->factor[(z * d->size[1] + y) * d->size[2] + x] =
                    factor_at(d->begin[0] + z, d->begin[1] + y, x, d->n[0], d->n[1], d->n[2]);
    return 1;
}

/* Layers next to a face go to the neighbour behind it; the stencil has no corners, so both directions can go at once. */
static void exchange_halos(const domain *d, float *p) {
    const size_t nz = d->size[0], ny = d->size[1], layer = HALO * d->plane, strip = HALO * d->row;
    MPI_Sendrecv(p + HALO * d->plane, (int)layer, MPI_FLOAT, d->before[0], 0, p + (nz + HALO) * d->plane,
                 (int)layer, MPI_FLOAT, d->after[0], 0, d->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(p + nz * d->plane, (int)layer, MPI_FLOAT, d->after[0], 1, p, (int)layer, MPI_FLOAT,
                 d->before[0], 1, d->comm, MPI_STATUS_IGNORE);
    const size_t half = strip * (nz + 2 * HALO);
    float *low = d->messages, *high = low + half, *from_low = high + half, *from_high = from_low + half;
    for (size_t z = 0; z < nz + 2 * HALO; z++) {
        memcpy(low + z * strip, p + z * d->plane + HALO * d->row, strip * sizeof(float));
        memcpy(high + z * strip, p + z * d->plane + ny * d->row, strip * sizeof(float));
    }
    MPI_Sendrecv(low, (int)half, MPI_FLOAT, d->before[1], 2, from_high, (int)half, MPI_FLOAT, d->after[1], 2,
                 d->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(high, (int)half, MPI_FLOAT, d->after[1], 3, from_low, (int)half, MPI_FLOAT, d->before[1], 3,
                 d->comm, MPI_STATUS_IGNORE);
    for (size_t z = 0; z < nz + 2 * HALO; z++) {
        if (d->before[1] != MPI_PROC_NULL)
            memcpy(p + z * d->plane, from_low + z * strip, strip * sizeof(float));
        if (d->after[1] != MPI_PROC_NULL)
            memcpy(p + z * d->plane + (ny + HALO) * d->row, from_high + z * strip, strip * sizeof(float));
    }
}

static void advance(const domain *d, int step) {
    const float dt = courant_max * spacing / velocity_max;
    const size_t source[3] = {SPONGE / 2 + d->n[0] / 16, d->n[1] / 2, d->n[2] * 2 / 5};
    float *next = d->pressure[step & 1];
    const float *now = d->pressure[~step & 1];
    for (size_t z = 0; z < d->size[0]; z++)
        for (size_t y = 0; y < d->size[1]; y++)
            advance_row(next + at(d, z, y, 0), now + at(d, z, y, 0),
                        d->factor + (z * d->size[1] + y) * d->size[2], d->damping[2],
                        d->damping[0][z] * d->damping[1][y], d->size[2], (ptrdiff_t)d->row,
                        (ptrdiff_t)d->plane);
    int is_mine = 1;
    for (int i = 0; i < 3; i++) is_mine &= source[i] >= d->begin[i] && source[i] < d->begin[i] + d->size[i];
    if (is_mine)
        next[at(d, source[0] - d->begin[0], source[1] - d->begin[1], source[2])] +=
            40 * ricker((float)step * dt);
    exchange_halos(d, next);
}

static csz_status dump(const domain *d, int step, csz_context *context, const csz_mpi_box *box,
                       const csz_options *options, const char *name) {
    char path[1000];
    int rank;
    csz_mpi_report report;
    const csz_field field = {CSZ_F32, 3, {d->n[0], d->n[1], d->n[2]}};
    const float *p = d->pressure[step & 1];
    MPI_Comm_rank(d->comm, &rank);
    for (size_t z = 0; z < d->size[0]; z++)
        for (size_t y = 0; y < d->size[1]; y++)
            memcpy(d->dense + (z * d->size[1] + y) * d->size[2], p + at(d, z, y, 0),
                   d->size[2] * sizeof(float));
    snprintf(path, sizeof path, "%s_%04d.csz", name, step + 1);
    csz_status status = csz_mpi_compress(context, d->comm, path, d->dense, box, &field, options, &report);
    if (rank == 0 && status)
        fprintf(stderr, "mpi_wave: cannot write %s: %s\n", path, csz_status_string(status));
    else if (rank == 0)
        printf("step %4d  %s  ratio %6.1f  exchange %.3f s, code %.3f s on the %s, write %.3f s\n", step + 1,
               path, 4.0 * (double)(d->n[0] * d->n[1] * d->n[2]) / (double)report.nbytes_archive,
               report.exchange, report.code, csz_context_backend(context) == CSZ_BACKEND_CUDA ? "GPU" : "CPU",
               report.write);
    return status;
}

typedef struct run {
    size_t n[3];
    int nsteps, every;
    const char *name;
    csz_options options;
} run;

/* A whole number above 0 and nothing behind it. */
static int parse_count(int *value, const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < 1 || n > 1000000000) return 0;
    *value = (int)n;
    return 1;
}

static int parse_option(run *r, const char *option, const char *value) {
    char rest, *end;
    if (strcmp(option, "--dims") == 0)
        return sscanf(value, "%zux%zux%zu%c", &r->n[0], &r->n[1], &r->n[2], &rest) == 3;
    if (strcmp(option, "--steps") == 0) return parse_count(&r->nsteps, value);
    if (strcmp(option, "--every") == 0) return parse_count(&r->every, value);
    if (strcmp(option, "--out") == 0) return *(r->name = value) != '\0';
    if (strcmp(option, "--bound") == 0) {
        r->options.bound = strtod(value, &end);
        return end != value && *end == '\0' && r->options.bound > 0;
    }
    if (strcmp(option, "--backend") != 0) return 0;
    r->options.backend = strcmp(value, "cuda") == 0  ? CSZ_BACKEND_CUDA
                         : strcmp(value, "cpu") == 0 ? CSZ_BACKEND_CPU
                                                     : CSZ_BACKEND_AUTO;
    return r->options.backend != CSZ_BACKEND_AUTO || strcmp(value, "auto") == 0;
}

int main(int argc, char **argv) {
    run r = {{160, 160, 160}, 200, 50, "snapshot", {0}};
    int nranks, rank, cut[2] = {0, 0}, understood = 1;
    csz_context *context = NULL;
    csz_mpi_box box;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    csz_options_init(&r.options);
    r.options.bound_mode = CSZ_BOUND_REL; /* of the whole field, whoever holds its extremes */
    r.options.bound = 1e-3;
    for (int i = 1; i < argc && understood; i += 2) {
        understood = i + 1 < argc && parse_option(&r, argv[i], argv[i + 1]);
        if (!understood && rank == 0)
            fprintf(
                stderr,
                "mpi_wave: %s: not understood, or not its value; usage: csz-mpi-wave [--dims 160x160x160] "
                "[--steps 200] [--every 50] [--bound 1e-3] [--backend auto|cpu|cuda] [--out snapshot]\n",
                argv[i]);
    }
    if (!understood) { /* all ranks are given the same */
        MPI_Finalize();
        return 2;
    }
    domain d = {.n = {r.n[0], r.n[1], r.n[2]}};
    MPI_Dims_create(nranks, 2, cut);
    const int grid[3] = {cut[0], cut[1], 1}, periods[2] = {0, 0};
    const csz_field field = {CSZ_F32, 3, {d.n[0], d.n[1], d.n[2]}};
    MPI_Cart_create(MPI_COMM_WORLD, 2, cut, periods, 0, &d.comm);
    for (int i = 0; i < 2; i++) MPI_Cart_shift(d.comm, i, 1, &d.before[i], &d.after[i]);
    int is_fine = d.n[0] / (size_t)cut[0] >= HALO && d.n[1] / (size_t)cut[1] >= HALO &&
                  csz_mpi_box_of(&box, d.comm, &field, grid) == CSZ_OK &&
                  csz_context_create(&context) == CSZ_OK && make_domain(&d, &box);
    if (!is_fine) {
        fprintf(stderr, "mpi_wave: rank %d: not enough memory, or too small a part for its halo\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    double begin = MPI_Wtime();
    csz_status status = CSZ_OK;
    for (int step = 0; step < r.nsteps && !status; step++) {
        advance(&d, step);
        if ((step + 1) % r.every == 0) status = dump(&d, step, context, &box, &r.options, r.name);
    }
    if (rank == 0 && !status) printf("%d ranks, %d steps in %.1f s\n", nranks, r.nsteps, MPI_Wtime() - begin);
    csz_context_destroy(context);
    for (int i = 0; i < 3; i++) free(d.damping[i]);
    free(d.pressure[0]);
    free(d.pressure[1]);
    free(d.factor);
    free(d.dense);
    free(d.messages);
    MPI_Finalize();
    return status != CSZ_OK;
}
