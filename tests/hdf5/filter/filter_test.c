/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter_test.c: the HDF5 filter through HDF5 itself, and its callback alone.  Built against each HDF5 that
 * is there; the environment's HDF5_PLUGIN_PATH names the plugin's folder, the first argument the plugin.
 * Every dataset is written, read back and held against what went in, with the bound that the settings promise
 * for each chunk.
 */
#include "dataset.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s PLUGIN.so\n", argv[0]);
        return 2;
    }
    plugin_path = argv[1];
    snprintf(file_name, sizeof file_name, "%.200s.h5", argv[0]);
#ifdef H5_HAVE_PARALLEL
    MPI_Init(&argc, &argv);
#endif
    int nfailed = test_values() + test_settings() + test_chunks() + test_exact();
    remove(file_name);
#ifdef H5_HAVE_PARALLEL
    MPI_Finalize();
#endif
    return nfailed;
}
