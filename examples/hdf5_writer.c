/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_writer.c: a compressed dataset in an HDF5 file.  The program asks for the filter by its number and
 * settings; HDF5 loads the plugin from the folder that HDF5_PLUGIN_PATH names, here and in whatever program
 * reads the file later.
 *
 *     h5cc -shlib hdf5_writer.c $(pkg-config --cflags csz) -lm -o hdf5_writer
 *     HDF5_PLUGIN_PATH=$(pkg-config --variable=hdf5plugindir csz) ./hdf5_writer out.h5
 *
 * Debian's h5cc links HDF5 statically without -shlib, and a plugin cannot find HDF5's functions in such a
 * program.
 */
#include <csz_hdf5.h>
#include <hdf5.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NZ = 40, NY = 100, NX = 120 };

static hid_t create_dataset(hid_t file, double bound) {
    hsize_t dims[3] = {NZ, NY, NX}, chunk[3] = {16, 32, 32};
    unsigned cd_values[CSZ_HDF5_USER_VALUES];
    csz_hdf5_settings settings;
    csz_hdf5_settings_init(&settings);
    settings.bound = bound; /* absolute; a relative bound would hold chunk by chunk */
    size_t n = csz_hdf5_pack(cd_values, &settings);

    hid_t space = H5Screate_simple(3, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 3, chunk);
    H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_MANDATORY, n, cd_values);
    hid_t dataset = H5Dcreate2(file, "pressure", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    return dataset;
}

int main(int argc, char **argv) {
    const double bound = 1e-3;
    const size_t n = (size_t)NZ * NY * NX;
    float *data = malloc(n * sizeof *data), *restored = malloc(n * sizeof *restored);
    if (!data || !restored) return 1;
    for (size_t i = 0; i < n; i++)
        data[i] = sinf(0.05f * (float)(i % NX)) + cosf(0.03f * (float)(i / NX % NY)) +
                  0.1f * (float)(i / ((size_t)NX * NY));

    hid_t file = H5Fcreate(argc > 1 ? argv[1] : "out.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dataset = create_dataset(file, bound);
    if (dataset < 0) {
        fprintf(stderr,
                "the dataset cannot be created; does HDF5_PLUGIN_PATH name the folder of libh5csz.so?\n");
        return 1;
    }
    if (H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) return 1;
    H5Fflush(file, H5F_SCOPE_LOCAL);
    if (H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0) return 1;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)restored[i] - (double)data[i]);
        if (error > worst) worst = error;
    }
    printf("%zu bytes became %llu; largest error %.3g of %.3g allowed\n", n * sizeof *data,
           (unsigned long long)H5Dget_storage_size(dataset), worst, bound);
    H5Dclose(dataset);
    H5Fclose(file);
    free(data);
    free(restored);
    return worst <= bound ? 0 : 1;
}
