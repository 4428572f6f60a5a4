/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel_hdf5.c: several ranks write one dataset through the HDF5 filter, collectively, each its slab,
 * which does not end where a chunk does; the last of three or more ranks has nothing to write and takes part.
 * `parallel_hdf5 write|read FILE BOUND`: reading, every rank takes another part and holds it against the
 * bound.
 */
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csz_hdf5.h"

static const hsize_t dims[3] = {50, 96, 130}, chunk[3] = {16, 48, 64};

static float value_at(hsize_t z, hsize_t y, hsize_t x) {
    return sinf((float)z * 0.2f) + cosf((float)y * 0.05f) * sinf((float)x * 0.04f) +
           0.001f * (float)((x * 7 + y * 3 + z) % 11);
}

static int fail(const char *what) {
    fprintf(stderr, "parallel_hdf5: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

/* Rows z0 .. z1 - 1 of the file and of memory; none for an idle rank. */
static void select_slab(hid_t space, hid_t memory, hsize_t z0, hsize_t z1) {
    hsize_t start[3] = {z0, 0, 0}, count[3] = {z1 - z0, dims[1], dims[2]}, zero[3] = {0, 0, 0};
    if (z0 == z1) {
        H5Sselect_none(space);
        H5Sselect_none(memory);
        return;
    }
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, count, NULL);
}

int main(int argc, char **argv) {
    int rank, nranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (argc != 4) return fail("usage: parallel_hdf5 write|read FILE BOUND");
    const int is_write = strcmp(argv[1], "write") == 0;
    const double bound = strtod(argv[3], NULL);

    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER),
          create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE); /* filtered writes are collective or refused */
    hid_t file = is_write ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access)
                          : H5Fopen(argv[2], H5F_ACC_RDONLY, access);
    if (file < 0) return fail("cannot open the file");
    hid_t data, space = H5Screate_simple(3, dims, NULL);
    if (is_write) {
        unsigned words[CSZ_HDF5_USER_VALUES];
        csz_hdf5_settings settings;
        csz_hdf5_settings_init(&settings);
        settings.bound = bound;
        size_t nwords = csz_hdf5_pack(words, &settings);
        H5Pset_chunk(create, 3, chunk);
        if (H5Pset_filter(create, CSZ_HDF5_FILTER_ID, H5Z_FLAG_MANDATORY, nwords, words) < 0)
            return fail("the filter is missing");
        data = H5Dcreate2(file, "pressure", H5T_IEEE_F32LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    } else {
        data = H5Dopen2(file, "pressure", H5P_DEFAULT);
    }
    if (data < 0) return fail("cannot create or open the dataset");

    int nbusy = is_write && nranks > 2 ? nranks - 1 : nranks;
    hsize_t z0 = rank < nbusy ? dims[0] * (hsize_t)rank / (hsize_t)nbusy : 0;
    hsize_t z1 = rank < nbusy ? dims[0] * (hsize_t)(rank + 1) / (hsize_t)nbusy : 0;
    const hsize_t local[3] = {z1 > z0 ? z1 - z0 : 1, dims[1], dims[2]};
    hid_t memory = H5Screate_simple(3, local, NULL);
    float *values = malloc((size_t)(local[0] * local[1] * local[2]) * sizeof *values);
    select_slab(space, memory, z0, z1);
    for (hsize_t z = z0; z < z1; z++)
        for (hsize_t y = 0; y < dims[1]; y++)
            for (hsize_t x = 0; x < dims[2]; x++)
                values[((z - z0) * dims[1] + y) * dims[2] + x] = value_at(z, y, x);
    herr_t result = is_write ? H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, transfer, values)
                             : H5Dread(data, H5T_NATIVE_FLOAT, memory, space, transfer, values);
    int broken = 0;
    for (hsize_t z = z0; z < z1 && !is_write && result >= 0; z++)
        for (hsize_t y = 0; y < dims[1]; y++)
            for (hsize_t x = 0; x < dims[2]; x++)
                broken |= fabs((double)values[((z - z0) * dims[1] + y) * dims[2] + x] -
                               (double)value_at(z, y, x)) > bound;
    free(values);
    if (result < 0) return fail(is_write ? "the collective write failed" : "the collective read failed");
    if (broken) return fail("a value breaks the bound");
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(data);
    H5Pclose(create);
    H5Pclose(transfer);
    H5Pclose(access);
    if (H5Fclose(file) < 0) return fail("cannot close the file");
    if (rank == 0) printf("%d ranks: %s\n", nranks, is_write ? "written" : "read, within the bound");
    MPI_Finalize();
    return 0;
}
