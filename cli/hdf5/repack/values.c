/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c: values of a dataset, piece by piece, in boxes of whole chunks. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "terminal/progress.h"

#include <string.h>

enum {
    PIECE_NBYTES = 1 << 24,   /* that is read at a time, or one chunk where that is larger */
    CHUNK_NELEMENTS = 1 << 22 /* of a dataset without chunks */
};

void repack_chunks_of(hsize_t *chunk, const cli_repack_variable *v, hid_t dataset) {
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(dataset);
    if (dcpl < 0 || cli_h5.H5Pget_layout(dcpl) != H5D_CHUNKED ||
        cli_h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) < 1) {
        uint64_t n = v->nelements;
        for (int i = 0; i < v->rank; i++) chunk[i] = v->dims[i];
        for (int i = 0; i < v->rank && n > CHUNK_NELEMENTS;) {
            if (chunk[i] == 1) {
                i++;
                continue;
            }
            chunk[i] = (chunk[i] + 1) / 2;
            n = 1;
            for (int k = 0; k < v->rank; k++) n *= chunk[k];
        }
    }
}

void repack_piece_shape(hsize_t *shape, const hsize_t *chunk, const cli_repack_variable *v) {
    uint64_t nbytes = v->nelements ? v->nbytes / v->nelements : 1;
    for (int i = 0; i < v->rank; i++) {
        shape[i] = chunk[i] < v->dims[i] ? chunk[i] : v->dims[i];
        nbytes *= shape[i];
    }
    for (int i = v->rank - 1; i >= 0; i--) {
        const uint64_t most = nbytes ? PIECE_NBYTES / (nbytes / shape[i]) : 1;
        if (most < 2 * shape[i]) continue;
        const hsize_t larger = most < v->dims[i] ? most / shape[i] * shape[i] : v->dims[i];
        nbytes = nbytes / shape[i] * larger;
        shape[i] = larger;
        if (larger < v->dims[i]) break;
    }
}

int repack_next_piece(repack_piece *at, const hsize_t *shape, const cli_repack_variable *v) {
    int i = v->rank - 1;
    if (at->nelements == 0)
        memset(at->begin, 0, sizeof at->begin);
    else
        for (;; i--) {
            if (i < 0) return 0;
            at->begin[i] += shape[i];
            if (at->begin[i] < v->dims[i]) break;
            at->begin[i] = 0;
        }
    at->nelements = 1;
    for (int k = 0; k < v->rank; k++) {
        const uint64_t left = v->dims[k] - at->begin[k];
        at->n[k] = left < shape[k] ? left : shape[k];
        at->nelements *= at->n[k];
    }
    return 1;
}

hid_t repack_memory_type(const cli_repack_variable *v) {
    return v->type == CSZ_F32 ? *cli_h5.H5T_NATIVE_FLOAT_g : *cli_h5.H5T_NATIVE_DOUBLE_g;
}

int repack_move_piece(void *values, const repack_piece *at, hid_t type, hid_t dataset, int writes) {
    const hsize_t one = 1;
    hsize_t dims[H5S_MAX_RANK];
    cli_h5_owned space = cli_h5.H5Dget_space(dataset);
    const int rank = space >= 0 ? cli_h5.H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    /* of the same shape: HDF5 would map a line to a box element by element */
    cli_h5_owned memory =
        rank > 0 ? cli_h5.H5Screate_simple(rank, at->n, NULL) : cli_h5.H5Screate_simple(1, &one, NULL);
    int is_done = space >= 0 && memory >= 0 &&
                  (cli_h5.H5Sget_simple_extent_type(space) == H5S_SCALAR ||
                   cli_h5.H5Sselect_hyperslab(space, H5S_SELECT_SET, at->begin, NULL, at->n, NULL) >= 0);
    if (is_done && writes)
        is_done = cli_h5.H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values) >= 0;
    else if (is_done)
        is_done = cli_h5.H5Dread(dataset, type, memory, space, H5P_DEFAULT, values) >= 0;
    return is_done;
}

uint64_t repack_piece_nelements(const hsize_t *shape, const cli_repack_variable *v) {
    uint64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= shape[i];
    return n;
}

void repack_count_done(repacking *p, const cli_repack_variable *v, uint64_t nelements) {
    p->nbytes_done += nelements * cli_type_nbytes(v->type);
    cli_progress_set(p->nbytes_done);
}

#endif
