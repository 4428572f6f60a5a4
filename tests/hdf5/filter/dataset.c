/* SPDX-License-Identifier: BSD-3-Clause */
/* dataset.c: see dataset.h. */
#include "dataset.h"

#include <math.h>

const char *plugin_path;
char file_name[256];

hid_t create_file(void) {
    hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

hid_t properties_of(const setup *s) {
    unsigned words[CSZ_HDF5_USER_VALUES];
    csz_hdf5_settings settings;
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    csz_hdf5_settings_init(&settings);
    settings.bound_mode = s->mode;
    settings.bound = s->bound;
    size_t n = csz_hdf5_pack(words, &settings);
    assert_true(H5Pset_chunk(dcpl, s->rank, s->chunk) >= 0);
    assert_true(H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, s->flags, s->words ? s->n_words : n,
                              s->words ? s->words : words) >= 0);
    if (s->has_fill) assert_true(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &s->fill) >= 0);
    return dcpl;
}

hid_t create(hid_t file, const char *name, const setup *s) {
    hid_t dcpl = properties_of(s), space = H5Screate_simple(s->rank, s->dims, NULL), dataset;
    H5E_BEGIN_TRY { dataset = H5Dcreate2(file, name, s->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT); }
    H5E_END_TRY
    H5Sclose(space);
    H5Pclose(dcpl);
    return dataset;
}

size_t count(const setup *s) {
    size_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

double *wave(size_t n) {
    double *values = malloc(n * sizeof *values);
    unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (double)(float)(290 + 10 * sin((double)i * 0.011) + 1e-3 * (seed >> 16) / 65536.0);
    }
    return values;
}

static int is_special(double v, const setup *s) {
    return !isfinite(v) || (s->has_fill && v == s->fill) || (float)v == (float)(s->has_fill ? s->fill : NAN);
}

/* The largest that a chunk's error may be where the whole dataset's range is known: chunks have no larger
 * one. */
static double allowed(const double *values, const setup *s) {
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count(s); i++) {
        if (is_special(values[i], s)) continue;
        min = fmin(min, values[i]);
        max = fmax(max, values[i]);
    }
    if (s->mode == CSZ_BOUND_ABS) return s->bound;
    return s->mode == CSZ_BOUND_REL ? s->bound * (max - min) : (max - min) * pow(10, -s->bound / 20);
}

void assert_kept(hid_t dataset, const double *values, const setup *s) {
    size_t n = count(s);
    double *restored = malloc(n * sizeof *restored), bound = allowed(values, s);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            assert_true(isnan(restored[i]));
        else if (is_special(values[i], s))
            assert_true((float)restored[i] == (float)values[i]);
        else if (!(fabs(restored[i] - values[i]) <= bound))
            fail_msg("element %zu: %.17g came back as %.17g, bound %.17g", i, values[i], restored[i], bound);
    }
    free(restored);
}

hid_t reopen(hid_t *file, hid_t dataset) {
    H5Dclose(dataset);
    H5Fclose(*file);
    *file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    return H5Dopen2(*file, "d", H5P_DEFAULT);
}

hsize_t round_trip_as(const double *values, const setup *s, const setup *held) {
    hid_t file = create_file(), dataset = create(file, "d", s);
    assert_true(dataset >= 0);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    dataset = reopen(&file, dataset);
    assert_kept(dataset, values, held);
    hsize_t nbytes = H5Dget_storage_size(dataset);
    H5Dclose(dataset);
    H5Fclose(file);
    return nbytes;
}

hsize_t round_trip(const double *values, const setup *s) { return round_trip_as(values, s, s); }

size_t stored_words(unsigned words[32], unsigned *flags, hid_t dataset) {
    size_t n = 32;
    hid_t dcpl = H5Dget_create_plist(dataset);
    assert_true(H5Pget_filter_by_id2(dcpl, CSZ_HDF5_FILTER_ID, flags, &n, words, 0, NULL, NULL) >= 0);
    H5Pclose(dcpl);
    return n;
}

hid_t with_chunk(hid_t *file, const setup *s, const void *bytes, size_t nbytes) {
    hsize_t origin[MOST_RANK] = {0};
    *file = create_file();
    hid_t dataset = create(*file, "d", s);
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin, nbytes, bytes) >= 0);
    return reopen(file, dataset);
}
