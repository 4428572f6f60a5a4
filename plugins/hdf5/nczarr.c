/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nczarr.c: what netCDF's NCZarr asks a filter for besides HDF5's own functions.  It turns cd_values into the
 * JSON of a Zarr array's metadata and back.  The JSON is that of the numcodecs codec
 * (python/csz/numcodecs.py) and a chunk is one archive in both, so that netCDF and zarr read what the other
 * wrote.  NCZarr calls the filter without HDF5: the words that set_local would add come from
 * modify_parameters, which asks netCDF's own functions, found in the library that calls.  Failures are
 * statuses of netCDF.
 */
#include "csz.h"
#include "csz_hdf5.h"
#include "filter.h"

#include <dlfcn.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of netcdf.h and netcdf_filter_build.h, which need not be here to build. */
enum { NO_ERROR = 0, ERROR_MEMORY = -61, ERROR_FILTER = -132 };
enum { TYPE_FLOAT = 5, TYPE_DOUBLE = 6, STORAGE_CHUNKED = 0, ENDIAN_BIG = 2, MOST_DIMS = 1024 };
enum { CLASS_VERSION = 1, CLASS_HDF5 = 1 };

typedef struct codec_class {
    int version, sort;
    const char *codec;
    unsigned hdf5_id;
    void (*initialize)(void);
    void (*finalize)(void);
    int (*codec_to_hdf5)(const char *json, size_t *n, unsigned **words);
    int (*hdf5_to_codec)(size_t n, const unsigned *words, char **json);
    int (*modify_parameters)(int file, int variable, size_t *n_visible, unsigned **visible, size_t *n_working,
                             unsigned **working);
} codec_class;

static const char *const bounds[] = {"abs", "rel", "psnr", "pwr"};
static const char *const workflows[] = {"auto", "huffman", "rle", "rle+vle"};
static const char *const predictors[] = {"lorenzo", "pyramid", "auto"};

/* ---- From JSON --------------------------------------------------------------------------------------- */

/* A member of the codec's object: its key, and its value as text without quotes. */
typedef struct member {
    char key[32], value[64];
    int is_text;
} member;

static const char *skip_spaces(const char *at) { return at + strspn(at, " \t\r\n"); }

/* A text without escapes, of which the codec has none.  Behind it, or NULL. */
static const char *read_text(char *out, size_t capacity, const char *at) {
    size_t n = strcspn(++at, "\"\\");
    if (at[n] != '"' || n >= capacity) return NULL;
    memcpy(out, at, n);
    out[n] = 0;
    return at + n + 1;
}

/* The next member of an object, from behind "{" or ",".  Behind it, or NULL. */
static const char *read_member(member *m, const char *at) {
    at = skip_spaces(at);
    at = *at == '"' ? read_text(m->key, sizeof m->key, at) : NULL;
    if (!at || *(at = skip_spaces(at)) != ':') return NULL;
    at = skip_spaces(at + 1);
    m->is_text = *at == '"';
    if (m->is_text) return read_text(m->value, sizeof m->value, at);
    size_t n = strcspn(at, ",} \t\r\n");
    if (n == 0 || n >= sizeof m->value) return NULL;
    memcpy(m->value, at, n);
    m->value[n] = 0;
    return at + n;
}

static int find_name(int *index, const char *text, const char *const *names, int n) {
    for (*index = 0; *index < n; ++*index)
        if (strcmp(text, names[*index]) == 0) return 1;
    return 0;
}

static int take_number(double *number, const member *m) {
    static const struct {
        const char *name;
        double value;
    } named[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    char *end = NULL;
    if (m->is_text) {
        for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
            if (strcmp(m->value, named[i].name) == 0) {
                *number = named[i].value;
                return 1;
            }
        }
        return 0;
    }
    *number = strtod(m->value, &end);
    return end != m->value && *end == 0 && m->value[strspn(m->value, "+-.0123456789eE")] == 0;
}

/* 1 if the member is one of the codec's and fits.  zstd is not in cd_values: archives tell whether they have
 * it. */
static int take_member(csz_hdf5_settings *settings, int *n_bounds, const member *m) {
    int index;
    double number;
    if (strcmp(m->key, "id") == 0) return m->is_text && strcmp(m->value, "csz") == 0;
    if (strcmp(m->key, "zstd") == 0) return !m->is_text;
    if (strcmp(m->key, "exact") == 0) {
        settings->is_exact = 1;
        ++*n_bounds;
        return !m->is_text && strcmp(m->value, "true") == 0;
    }
    if (strcmp(m->key, "unsigned_zeros") == 0) {
        settings->unsigned_zeros = 1;
        return !m->is_text && strcmp(m->value, "true") == 0;
    }
    if (strcmp(m->key, "floor") == 0)
        return take_number(&settings->floor, m) && settings->floor > 0 && isfinite(settings->floor);
    if (find_name(&index, m->key, bounds, 4)) {
        settings->bound_mode = (csz_bound_mode)index;
        ++*n_bounds;
        return take_number(&settings->bound, m) && settings->bound > 0 && isfinite(settings->bound) &&
               (settings->bound_mode != CSZ_BOUND_PWR || settings->bound < 1);
    }
    if (strcmp(m->key, "workflow") == 0) {
        int is_known = m->is_text && find_name(&index, m->value, workflows, 4);
        settings->workflow = (csz_workflow)(is_known ? index : 0);
        return is_known;
    }
    if (strcmp(m->key, "predictor") == 0) {
        int is_known = m->is_text && find_name(&index, m->value, predictors, 3);
        settings->predictor = (csz_predictor)(is_known ? index : 0);
        return is_known;
    }
    if (strcmp(m->key, "fill") != 0) return 0;
    if (strcmp(m->value, m->is_text ? "none" : "null") == 0) {
        settings->fill = CSZ_HDF5_FILL_NONE;
        return 1;
    }
    settings->fill = CSZ_HDF5_FILL_GIVEN;
    if (!take_number(&number, m)) return 0;
    settings->fill_value = number;
    return 1;
}

static int parse(csz_hdf5_settings *settings, const char *json) {
    int n_bounds = 0;
    member m;
    csz_hdf5_settings_init(settings);
    const char *at = skip_spaces(json);
    if (*at != '{') return 0;
    do {
        at = read_member(&m, at + 1);
        if (!at || !take_member(settings, &n_bounds, &m)) return 0;
        at = skip_spaces(at);
    } while (*at == ',');
    if (settings->is_exact && (settings->workflow || settings->predictor || settings->floor > 0)) return 0;
    if (settings->floor > 0 && settings->bound_mode != CSZ_BOUND_PWR) return 0;
    if (settings->unsigned_zeros && (settings->is_exact || settings->bound_mode == CSZ_BOUND_PWR)) return 0;
    return *at == '}' && *skip_spaces(at + 1) == 0 && n_bounds == 1;
}

/* Numbers in JSON have a point, whatever the program's language.  0 if that cannot be had. */
static locale_t begin_plain_numbers(locale_t *plain) {
    *plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return *plain ? uselocale(*plain) : (locale_t)0;
}

static void end_plain_numbers(locale_t before, locale_t plain) {
    uselocale(before);
    freelocale(plain);
}

static int codec_to_hdf5(const char *json, size_t *n, unsigned **words) {
    csz_hdf5_settings settings;
    locale_t plain, before = begin_plain_numbers(&plain);
    if (!before) return ERROR_MEMORY;
    int is_right = parse(&settings, json);
    end_plain_numbers(before, plain);
    if (!is_right) return ERROR_FILTER;
    *words = malloc(CSZ_HDF5_USER_VALUES * sizeof **words);
    if (!*words) return ERROR_MEMORY;
    *n = csz_hdf5_pack(*words, &settings);
    if (settings.is_exact) *n = 1; /* no word would do; one can be shown */
    return NO_ERROR;
}

/* ---- To JSON ----------------------------------------------------------------------------------------- */

/* The shortest text that reads as the same number; JSON has none for what is not finite, and Zarr writes it
 * so. */
static void number_text(char text[32], double number) {
    if (!isfinite(number)) {
        snprintf(text, 32, isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number) return;
    }
}

static void print(char json[256], const csz_hdf5_settings *settings) {
    char number[32];
    if (settings->is_exact) {
        snprintf(json, 256, "{\"id\": \"csz\", \"exact\": true}");
        return;
    }
    number_text(number, settings->bound);
    int n = snprintf(json, 256, "{\"id\": \"csz\", \"%s\": %s", bounds[settings->bound_mode], number);
    number_text(number, settings->floor);
    if (settings->floor > 0) n += snprintf(json + n, 256 - (size_t)n, ", \"floor\": %s", number);
    if (settings->unsigned_zeros) n += snprintf(json + n, 256 - (size_t)n, ", \"unsigned_zeros\": true");
    if (settings->workflow != CSZ_WORKFLOW_AUTO)
        n += snprintf(json + n, 256 - (size_t)n, ", \"workflow\": \"%s\"", workflows[settings->workflow]);
    if (settings->predictor != CSZ_PREDICTOR_LORENZO)
        n += snprintf(json + n, 256 - (size_t)n, ", \"predictor\": \"%s\"", predictors[settings->predictor]);
    number_text(number, settings->fill_value);
    if (settings->fill != CSZ_HDF5_FILL_DATASET)
        n += snprintf(json + n, 256 - (size_t)n, ", \"fill\": %s",
                      settings->fill == CSZ_HDF5_FILL_NONE ? "null" : number);
    snprintf(json + n, 256 - (size_t)n, "}");
}

static int hdf5_to_codec(size_t n, const unsigned *words, char **json) {
    csz_hdf5_settings settings;
    if (csz_hdf5_unpack(&settings, words, n)) return ERROR_FILTER;
    locale_t plain, before = begin_plain_numbers(&plain);
    *json = malloc(256);
    if (before && *json) print(*json, &settings);
    if (before) end_plain_numbers(before, plain);
    return before && *json ? NO_ERROR : ERROR_MEMORY;
}

/* ---- A variable's chunks ----------------------------------------------------------------------------- */

/* Of more than four dims the slowest are one, as the numcodecs codec stores them. */
static int take_dims(csz_field *field, const size_t *dims, int n) {
    int n_folded = n > CSZ_MAX_NDIM ? n - CSZ_MAX_NDIM : 0;
    size_t capacity;
    field->ndim = n - n_folded;
    for (int i = 0; i < field->ndim; i++) field->dims[i] = dims[n_folded + i];
    for (int i = 0; i < n_folded; i++)
        if (__builtin_mul_overflow(field->dims[0], (uint64_t)dims[i], &field->dims[0])) return 0;
    return csz_compress_bound(&capacity, field, NULL) == CSZ_OK;
}

/* memcpy: C knows no cast from an object's pointer to a function's. */
static int take_function(void *function, const char *name, void *library) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Type, dims and fill value of a variable, by the functions of the netCDF that a handle is of. */
static int take_chunk(csz_hdf5_chunk *chunk, void *netcdf, int file, int variable) {
    int (*inq_type)(int, int, int *), (*inq_ndims)(int, int, int *), (*inq_endian)(int, int, int *);
    int (*inq_chunking)(int, int, int *, size_t *), (*inq_fill)(int, int, int *, void *);
    int type = 0, ndims = 0, endian = 0, storage = 0, is_unfilled = 0;
    size_t dims[MOST_DIMS];
    union {
        float f32;
        double f64;
    } fill = {0};
    if (!take_function(&inq_type, "nc_inq_vartype", netcdf) ||
        !take_function(&inq_ndims, "nc_inq_varndims", netcdf) ||
        !take_function(&inq_endian, "nc_inq_var_endian", netcdf) ||
        !take_function(&inq_chunking, "nc_inq_var_chunking", netcdf) ||
        !take_function(&inq_fill, "nc_inq_var_fill", netcdf))
        return 0;
    if (inq_type(file, variable, &type) || (type != TYPE_FLOAT && type != TYPE_DOUBLE)) return 0;
    if (inq_ndims(file, variable, &ndims) || ndims < 1 || ndims > MOST_DIMS) return 0;
    if (inq_endian(file, variable, &endian) || endian == ENDIAN_BIG) return 0; /* the JSON could not say so */
    if (inq_chunking(file, variable, &storage, dims) || storage != STORAGE_CHUNKED) return 0;
    if (inq_fill(file, variable, &is_unfilled, &fill)) return 0;
    chunk->field.type = type == TYPE_FLOAT ? CSZ_F32 : CSZ_F64;
    chunk->padding = is_unfilled ? 0 : type == TYPE_FLOAT ? (double)fill.f32 : fill.f64;
    return take_dims(&chunk->field, dims, ndims);
}

static int modify_parameters(int file, int variable, size_t *n_visible, unsigned **visible, size_t *n_working,
                             unsigned **working) {
    csz_hdf5_settings settings;
    csz_hdf5_chunk chunk = {.is_big_endian = 0};
    Dl_info caller;
    if (csz_hdf5_unpack(&settings, *visible, *n_visible)) return ERROR_FILTER;
    if (!dladdr(__builtin_return_address(0), &caller) || !caller.dli_fname) return ERROR_FILTER;
    void *netcdf = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!netcdf) netcdf = dlopen(NULL, RTLD_LAZY); /* the program itself is not found by its name */
    int is_right = netcdf && take_chunk(&chunk, netcdf, file, variable);
    if (netcdf) dlclose(netcdf);
    if (!is_right) return ERROR_FILTER;
    *working = malloc(CSZ_HDF5_MOST_VALUES * sizeof **working);
    if (!*working) return ERROR_MEMORY;
    const size_t n = csz_hdf5_pack(*working, &settings);
    if (csz_hdf5_is_complete(*visible, *n_visible)) { /* copied from an HDF5 file */
        memcpy(*visible, *working, n * sizeof **visible);
        *n_visible = n;
    }
    *n_working = csz_hdf5_pack_chunk(*working, &chunk);
    return NO_ERROR;
}

const void *csz_nczarr_codec(void) {
    static const codec_class codec = {CLASS_VERSION, CLASS_HDF5,    "csz",         CSZ_HDF5_FILTER_ID, NULL,
                                      NULL,          codec_to_hdf5, hdf5_to_codec, modify_parameters};
    return &codec;
}
