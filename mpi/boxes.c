/* SPDX-License-Identifier: BSD-3-Clause */
/* boxes.c: who has which part of which frame. */
#include "boxes.h"

#include <string.h>

csz_status csz_mpi_parts_of(csz_mpi_parts *p, const csz_mpi_box *box, const csz_field *field) {
    uint64_t lo[4] = {0, 0, 0, 0}, hi[4] = {1, 1, 1, 1}, dims[4] = {1, 1, 1, 1};
    int kept = 0;
    memset(p, 0, sizeof *p);
    p->nelements = 1;
    for (int i = 0; i < field->ndim; i++) {
        if (box->begin[i] > box->end[i] || box->end[i] > field->dims[i]) return CSZ_ERROR_REGION;
        p->nelements *= box->end[i] - box->begin[i];
        kept += field->dims[i] != 1;
    }
    if (p->nelements == 0) return CSZ_OK;
    for (int i = 0, at = 4 - kept; i < field->ndim; i++) {
        if (field->dims[i] == 1) continue;
        lo[at] = box->begin[i];
        hi[at] = box->end[i];
        dims[at++] = field->dims[i];
    }
    p->nparts = hi[0] - lo[0];
    p->stride = dims[1];
    for (int k = 0; k < 3; k++) {
        p->lo[k] = lo[k + 1] + (k == 0 ? lo[0] * dims[1] : 0);
        p->hi[k] = hi[k + 1] + (k == 0 ? lo[0] * dims[1] : 0);
    }
    return CSZ_OK;
}

int csz_mpi_overlap(const csz_mpi_box *a, const csz_mpi_box *b, int ndim) {
    for (int i = 0; i < ndim; i++) {
        uint64_t lo = a->begin[i] > b->begin[i] ? a->begin[i] : b->begin[i];
        uint64_t hi = a->end[i] < b->end[i] ? a->end[i] : b->end[i];
        if (lo >= hi) return 0;
    }
    return 1;
}

/* The common box of part i and the frame; 0 if there is none. */
static int common_box(uint64_t *lo, uint64_t *hi, const csz_mpi_parts *p, uint64_t i,
                      const csz_frame *frame) {
    for (int k = 0; k < 3; k++) {
        uint64_t shift = k == 0 ? i * p->stride : 0;
        lo[k] = p->lo[k] + shift > frame->begin[k] ? p->lo[k] + shift : frame->begin[k];
        hi[k] = p->hi[k] + shift < frame->end[k] ? p->hi[k] + shift : frame->end[k];
        if (lo[k] >= hi[k]) return 0;
    }
    return 1;
}

/* The parts that may touch the frame: those before and behind them are left out, for fields of many. */
static void part_span(uint64_t *first, uint64_t *end, const csz_mpi_parts *p, const csz_frame *frame) {
    *first = 0;
    *end = p->nparts;
    if (p->nparts < 2) return;
    if (frame->begin[0] >= p->hi[0]) *first = (frame->begin[0] - p->hi[0]) / p->stride;
    if (frame->end[0] <= p->lo[0]) *end = 0;
    if (*end) {
        uint64_t last = (frame->end[0] - p->lo[0] + p->stride - 1) / p->stride + 1;
        if (last < *end) *end = last;
    }
}

uint64_t csz_mpi_common(const csz_mpi_parts *p, const csz_frame *frame) {
    uint64_t n = 0, lo[3], hi[3], first, end;
    part_span(&first, &end, p, frame);
    for (uint64_t i = first; i < end; i++) {
        if (common_box(lo, hi, p, i, frame)) n += (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
    }
    return n;
}

/* An array of dims n that begins at origin, in elements of the field. */
typedef struct layout {
    uint64_t origin[3], n[3];
} layout;

static uint64_t element_at(const layout *l, uint64_t z, uint64_t y, uint64_t x) {
    return ((z - l->origin[0]) * l->n[1] + (y - l->origin[1])) * l->n[2] + (x - l->origin[2]);
}

csz_status csz_mpi_runs(const csz_mpi_parts *p, const csz_frame *frame, csz_mpi_array in,
                        const csz_layout *shape, size_t size, csz_mpi_run run, void *user) {
    uint64_t lo[3], hi[3], first, end;
    size_t at = 0;
    csz_status status = CSZ_OK;
    part_span(&first, &end, p, frame);
    for (uint64_t i = first; i < end && !status; i++) {
        if (!common_box(lo, hi, p, i, frame)) continue;
        layout l;
        for (int k = 0; k < 3; k++) {
            const uint64_t begin = p->lo[k] + (k == 0 ? i * p->stride : 0);
            l.origin[k] = in == CSZ_MPI_IN_BOX ? begin : in == CSZ_MPI_IN_FIELD ? 0 : frame->begin[k];
            l.n[k] = in == CSZ_MPI_IN_BOX     ? p->hi[k] - p->lo[k]
                     : in == CSZ_MPI_IN_FIELD ? shape->n[k]
                                              : frame->end[k] - frame->begin[k];
        }
        const uint64_t before = in == CSZ_MPI_IN_BOX ? i * (p->nelements / p->nparts) : 0;
        /* rows that follow each other are one run, and so are planes */
        const int rows = hi[2] - lo[2] == l.n[2], planes = rows && hi[1] - lo[1] == l.n[1];
        const uint64_t nz = planes ? hi[0] - lo[0] : 1, ny = rows ? hi[1] - lo[1] : 1;
        const size_t nbytes = (size_t)(nz * ny * (hi[2] - lo[2])) * size;
        for (uint64_t z = lo[0]; z < hi[0] && !status; z += nz)
            for (uint64_t y = lo[1]; y < hi[1] && !status; y += ny, at += nbytes)
                status = run(user, (before + element_at(&l, z, y, lo[2])) * size, at, nbytes);
    }
    return status;
}

int csz_mpi_common_box(csz_frame *box, const csz_mpi_parts *p, uint64_t i, const csz_frame *frame,
                       size_t size) {
    *box = *frame;
    if (!common_box(box->begin, box->end, p, i, frame)) return 0;
    box->nelements = 1;
    for (int k = 0; k < 3; k++) box->nelements *= box->end[k] - box->begin[k];
    box->values_nbytes = (size_t)box->nelements * size;
    return 1;
}

typedef struct unpacking {
    unsigned char *to;
    const unsigned char *from;
} unpacking;

static csz_status unpack_run(void *user, uint64_t offset, size_t at, size_t nbytes) {
    const unpacking *u = user;
    memcpy(u->to + offset, u->from + at, nbytes);
    return CSZ_OK;
}

void csz_mpi_unpack(void *frame_values, const void *message, const csz_mpi_parts *p, const csz_frame *frame,
                    const csz_layout *shape, size_t size) {
    unpacking u = {frame_values, message};
    (void)csz_mpi_runs(p, frame, CSZ_MPI_IN_FRAME, shape, size, unpack_run, &u);
}

const void *csz_mpi_inside(const void *values, const csz_mpi_parts *p, const csz_frame *frame, size_t size) {
    if (p->nparts != 1) return NULL;
    int is_cut =
        0; /* a dim of which the frame has less than the rank; then slower ones must be of extent 1 */
    for (int k = 2; k >= 0; k--) {
        if (frame->begin[k] < p->lo[k] || frame->end[k] > p->hi[k]) return NULL;
        if (is_cut && frame->end[k] - frame->begin[k] != 1) return NULL;
        is_cut |= frame->end[k] - frame->begin[k] != p->hi[k] - p->lo[k];
    }
    layout l = {{p->lo[0], p->lo[1], p->lo[2]}, {0, p->hi[1] - p->lo[1], p->hi[2] - p->lo[2]}};
    return (const unsigned char *)values +
           (size_t)element_at(&l, frame->begin[0], frame->begin[1], frame->begin[2]) * size;
}

csz_status csz_mpi_box_of(csz_mpi_box *box, MPI_Comm comm, const csz_field *field, const int *grid) {
    int rank, nranks, cut[CSZ_MAX_NDIM] = {1, 1, 1, 1}, product = 1;
    if (!box || !field || field->ndim < 1 || field->ndim > CSZ_MAX_NDIM) return CSZ_ERROR_ARGUMENT;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    int slowest = 0;
    for (int i = field->ndim - 1; i >= 0; i--)
        if (field->dims[i] >= (uint64_t)nranks) slowest = i;
    cut[slowest] = nranks;
    for (int i = 0; i < field->ndim; i++) {
        if (grid) cut[i] = grid[i];
        if (cut[i] < 1 || cut[i] > nranks) return CSZ_ERROR_ARGUMENT;
        product *= cut[i];
    }
    if (product != nranks) return CSZ_ERROR_ARGUMENT;
    memset(box, 0, sizeof *box);
    for (int i = field->ndim - 1, left = rank; i >= 0; i--) {
        uint64_t at = (uint64_t)(left % cut[i]), n = (uint64_t)cut[i], each = field->dims[i] / n,
                 more = field->dims[i] % n;
        left /= cut[i];
        box->begin[i] = at * each + (at < more ? at : more);
        box->end[i] = box->begin[i] + each + (at < more);
    }
    return CSZ_OK;
}
