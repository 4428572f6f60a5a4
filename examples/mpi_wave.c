/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_wave.c: in-situ compression.  The acoustic wave of wave.c, its box cut among ranks along depth and one
 * horizontal direction; ranks exchange four layers of halo a step, and every so many steps all write one
 * archive of the whole pressure field, without it ever being in one place.  Cells are computed from the step
 * before alone, so snapshots have the same bytes for every number of ranks, on CPUs and on GPUs.
 *
 *     mpirun -n 4 csz-mpi-wave [--dims 160x160x160] [--steps 200] [--every 50] [--bound 1e-3] [--backend
 * auto|cpu|cuda] [--out snapshot]
 *
 * auto: where a node has GPUs its ranks take them in turn, the solver runs there and snapshots are compressed
 * from device memory; elsewhere on the CPU.  cuda is refused where there is no GPU.
 */
#include "csz_cuda.h"
#include "csz_mpi.h"
#include "mpi_wave_part.h"
#include "wave_kernel.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct domain {
    size_t n[3]; /* cells of the whole field */
    size_t begin[3];
    part_shape part;
    float *pressure[2], *factor, *damping[3]; /* of the CPU's solver; factor and damping go to the GPU */
    float *dense;                             /* without halo, for the archive */
    float *out[NFACES], *in[NFACES];
    int is_on_gpu;
    part_gpu gpu;
    int neighbour[NFACES], has_face[NFACES]; /* MPI_PROC_NULL at the ends */
    MPI_Comm comm;
} domain;

/* What a rank cannot go on from ends all. */
static void stop(const char *why) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "mpi_wave: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void check_gpu(const char *error) {
    if (error) stop(error);
}

static float *make_floats(size_t n) {
    float *p = calloc(n, sizeof *p);
    if (!p) stop("not enough memory; use more ranks");
    return p;
}

static void make_medium(domain *d) {
    const size_t *size = d->part.size;
    d->factor = make_floats(size[0] * size[1] * size[2]);
    for (int i = 0; i < 3; i++) {
        d->damping[i] = make_floats(size[i]);
        for (size_t k = 0; k < size[i]; k++) d->damping[i][k] = damping_at(d->begin[i] + k, d->n[i]);
    }
    for (size_t z = 0; z < size[0]; z++)
        for (size_t y = 0; y < size[1]; y++)
            for (size_t x = 0; x < size[2]; x++)
                d->factor[(z * size[1] + y) * size[2] + x] =
                    factor_at(d->begin[0] + z, d->begin[1] + y, x, d->n[0], d->n[1], d->n[2]);
}

static void make_domain(domain *d, const csz_mpi_box *box) {
    size_t size[3];
    for (int i = 0; i < 3; i++) {
        d->begin[i] = (size_t)box->begin[i];
        size[i] = (size_t)(box->end[i] - box->begin[i]);
    }
    d->part = part_shape_of(size);
    make_medium(d);
    if (d->is_on_gpu) {
        MPI_Comm node;
        int rank;
        MPI_Comm_split_type(d->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Comm_rank(node, &rank);
        MPI_Comm_free(&node);
        check_gpu(part_gpu_create(&d->gpu, rank % csz_device_count(), size, d->factor, d->damping));
        memcpy(d->out, d->gpu.out, sizeof d->out);
        memcpy(d->in, d->gpu.in, sizeof d->in);
        return;
    }
    for (int i = 0; i < 2; i++) d->pressure[i] = make_floats(d->part.plane * (size[0] + 2 * HALO));
    d->dense = make_floats(size[0] * size[1] * size[2]);
    for (int f = 0; f < NFACES; f++) {
        const part_box face = part_face(&d->part, f, 0);
        d->out[f] = make_floats(part_box_count(&face));
        d->in[f] = make_floats(part_box_count(&face));
    }
}

static void free_domain(domain *d) {
    if (d->is_on_gpu) {
        part_gpu_destroy(&d->gpu);
    } else {
        for (int f = 0; f < NFACES; f++) {
            free(d->out[f]);
            free(d->in[f]);
        }
    }
    for (int i = 0; i < 3; i++) free(d->damping[i]);
    free(d->pressure[0]);
    free(d->pressure[1]);
    free(d->factor);
    free(d->dense);
}

/* A box of the padded cells to a dense array, or back. */
static void copy_box(const domain *d, float *dense, float *padded, part_box b, int is_back) {
    for (size_t z = 0; z < b.n[0]; z++)
        for (size_t y = 0; y < b.n[1]; y++, dense += b.n[2]) {
            float *cells = padded + b.first + z * d->part.plane + y * d->part.row;
            memcpy(is_back ? cells : dense, is_back ? dense : cells, b.n[2] * sizeof(float));
        }
}

static void advance_on_cpu(const domain *d, int step, size_t source, float pulse) {
    const size_t *size = d->part.size;
    float *next = d->pressure[step & 1];
    const float *now = d->pressure[~step & 1];
    for (size_t z = 0; z < size[0]; z++)
        for (size_t y = 0; y < size[1]; y++) {
            const size_t at = part_cell(&d->part, z, y, 0);
            advance_row(next + at, now + at, d->factor + (z * size[1] + y) * size[2], d->damping[2],
                        d->damping[0][z] * d->damping[1][y], size[2], (ptrdiff_t)d->part.row,
                        (ptrdiff_t)d->part.plane);
        }
    if (source != SIZE_MAX) next[source] += pulse;
    for (int f = 0; f < NFACES; f++)
        if (d->has_face[f]) copy_box(d, d->out[f], next, part_face(&d->part, f, 0), 0);
}

/* Layers next to a face go to the neighbour behind it; the stencil has no corners, so all directions can go
 * at once. */
static void exchange_faces(const domain *d) {
    for (int f = 0; f < NFACES; f++) {
        const int opposite = f ^ 1;
        const part_box face = part_face(&d->part, f, 0);
        const int n = (int)part_box_count(&face);
        MPI_Sendrecv(d->out[f], n, MPI_FLOAT, d->neighbour[f], f, d->in[opposite], n, MPI_FLOAT,
                     d->neighbour[opposite], f, d->comm, MPI_STATUS_IGNORE);
    }
}

static void advance(domain *d, int step) {
    const float dt = courant_max * spacing / velocity_max;
    const size_t fired[3] = {SPONGE / 2 + d->n[0] / 16, d->n[1] / 2, d->n[2] * 2 / 5};
    const float pulse = 40 * ricker((float)step * dt);
    size_t source = SIZE_MAX;
    int is_mine = 1;
    for (int i = 0; i < 3; i++)
        is_mine &= fired[i] >= d->begin[i] && fired[i] < d->begin[i] + d->part.size[i];
    if (is_mine) source = part_cell(&d->part, fired[0] - d->begin[0], fired[1] - d->begin[1], fired[2]);
    if (d->is_on_gpu) check_gpu(part_gpu_advance(&d->gpu, step, source, pulse, d->has_face));
    if (!d->is_on_gpu) advance_on_cpu(d, step, source, pulse);
    exchange_faces(d);
    if (d->is_on_gpu) check_gpu(part_gpu_take_faces(&d->gpu, step, d->has_face));
    for (int f = 0; f < NFACES && !d->is_on_gpu; f++)
        if (d->has_face[f]) copy_box(d, d->in[f], d->pressure[step & 1], part_face(&d->part, f, 1), 1);
}

/* The cells without halo, where the solver has them. */
static const float *gather_cells(domain *d, int step) {
    if (d->is_on_gpu) {
        check_gpu(part_gpu_dense(&d->gpu, step));
        return d->gpu.d_dense;
    }
    copy_box(d, d->dense, d->pressure[step & 1], part_inside(&d->part), 0);
    return d->dense;
}

static csz_status dump(domain *d, int step, csz_context *context, const csz_mpi_box *box,
                       const csz_options *options, const char *name) {
    char path[1000];
    int rank, used, most;
    csz_mpi_report report;
    const csz_field field = {CSZ_F32, 3, {d->n[0], d->n[1], d->n[2]}};
    MPI_Comm_rank(d->comm, &rank);
    snprintf(path, sizeof path, "%s_%04d.csz", name, step + 1);
    csz_status status = csz_mpi_compress(context, d->comm, path, gather_cells(d, step), box, &field, options,
                                         0, &report, sizeof report);
    used = (int)csz_context_backend(context); /* of a rank that codes no frame: none */
    MPI_Allreduce(&used, &most, 1, MPI_INT, MPI_MAX, d->comm);
    if (rank == 0 && status)
        fprintf(stderr, "mpi_wave: cannot write %s: %s\n", path, csz_status_string(status));
    else if (rank == 0)
        printf("step %4d  %s  ratio %6.1f  exchange %.3f s, code %.3f s on the %s, write %.3f s\n", step + 1,
               path, 4.0 * (double)(d->n[0] * d->n[1] * d->n[2]) / (double)report.nbytes_archive,
               report.exchange, report.code, most == CSZ_BACKEND_CUDA ? "GPU" : "CPU", report.write);
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
    if (strcmp(option, "--backend") != 0 && strcmp(option, "-b") != 0) return 0;
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
    d.is_on_gpu = r.options.backend != CSZ_BACKEND_CPU && csz_backend_available(CSZ_BACKEND_CUDA);
    if (r.options.backend == CSZ_BACKEND_CUDA && !d.is_on_gpu)
        stop("there is no GPU that can be used; give --backend cpu or auto");
    MPI_Dims_create(nranks, 2, cut);
    const int grid[3] = {cut[0], cut[1], 1}, periods[2] = {0, 0};
    const csz_field field = {CSZ_F32, 3, {d.n[0], d.n[1], d.n[2]}};
    MPI_Cart_create(MPI_COMM_WORLD, 2, cut, periods, 0, &d.comm);
    for (int i = 0; i < 2; i++) MPI_Cart_shift(d.comm, i, 1, &d.neighbour[2 * i], &d.neighbour[2 * i + 1]);
    for (int f = 0; f < NFACES; f++) d.has_face[f] = d.neighbour[f] != MPI_PROC_NULL;
    if (d.n[0] / (size_t)cut[0] < HALO || d.n[1] / (size_t)cut[1] < HALO || d.n[2] == 0)
        stop("too small a part for its halo; use fewer ranks, or larger dims");
    if (csz_mpi_box_of(&box, d.comm, &field, grid) != CSZ_OK || csz_context_create(&context) != CSZ_OK)
        stop("not enough memory");
    make_domain(&d, &box);
    double begin = MPI_Wtime(), solving = 0;
    csz_status status = CSZ_OK;
    for (int step = 0; step < r.nsteps && !status; step++) {
        const double at = MPI_Wtime();
        advance(&d, step);
        solving += MPI_Wtime() - at;
        if ((step + 1) % r.every == 0) status = dump(&d, step, context, &box, &r.options, r.name);
    }
    if (rank == 0 && !status)
        printf("%d ranks, %d steps in %.2f s, %.2f s of them on the %s for the wave\n", nranks, r.nsteps,
               MPI_Wtime() - begin, solving, d.is_on_gpu ? "GPU" : "CPU");
    csz_context_destroy(context);
    free_domain(&d);
    MPI_Comm_free(&d.comm);
    MPI_Finalize();
    return status != CSZ_OK;
}
