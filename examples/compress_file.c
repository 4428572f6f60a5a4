/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress_file.c: the library in the smallest whole program.  Makes a field, compresses it within an
 * absolute bound, writes the archive to a file, reads it back, restores it and checks every value.
 *
 *     cc compress_file.c $(pkg-config --cflags --libs csz) -lm -o compress_file && ./compress_file field.csz
 */
#include <csz.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NY = 300, NX = 400 };

static int check(csz_status status, const char *what) {
    if (status != CSZ_OK) fprintf(stderr, "%s: %s\n", what, csz_status_string(status));
    return status == CSZ_OK;
}

static int compress_to_file(const char *path, const float *data, const csz_field *field,
                            const csz_options *options) {
    csz_context *context = NULL;
    size_t capacity = 0, nbytes = 0;
    int ok = check(csz_context_create(&context), "context") &&
             check(csz_compress_bound(&capacity, field, options), "capacity");
    void *archive = ok ? malloc(capacity) : NULL;
    ok = ok && archive &&
         check(csz_compress(context, archive, capacity, &nbytes, data, field, options), "compress");
    FILE *file = ok ? fopen(path, "wb") : NULL;
    ok = ok && file && fwrite(archive, 1, nbytes, file) == nbytes;
    ok = file && fclose(file) == 0 && ok;
    if (ok) printf("%zu bytes became %zu\n", sizeof *data * NY * NX, nbytes);
    free(archive);
    csz_context_destroy(context);
    return ok;
}

/* The archive describes itself: nothing of how it was made is needed here. */
static float *restore_from_file(const char *path, csz_info *info) {
    csz_context *context = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    size_t nbytes = (size_t)ftell(file);
    rewind(file);
    void *archive = malloc(nbytes);
    int ok = archive && fread(archive, 1, nbytes, file) == nbytes;
    fclose(file);
    ok = ok && check(csz_inspect(info, sizeof *info, archive, nbytes), "inspect") &&
         check(csz_context_create(&context), "context");
    float *data = ok ? malloc((size_t)info->nbytes_field) : NULL;
    ok = data && check(csz_decompress(context, data, (size_t)info->nbytes_field, archive, nbytes, NULL),
                       "decompress");
    csz_context_destroy(context);
    free(archive);
    if (ok) return data;
    free(data);
    return NULL;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "field.csz";
    csz_field field = {CSZ_F32, 2, {NY, NX}};
    csz_options options;
    csz_info info;
    csz_metrics metrics;
    float *data = malloc(sizeof *data * NY * NX);
    if (!data) return 1;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) data[y * NX + x] = sinf(0.05f * (float)x) * cosf(0.03f * (float)y);
    csz_options_init(&options);
    options.bound = 1e-4;

    float *restored = NULL;
    int ok = compress_to_file(path, data, &field, &options) &&
             (restored = restore_from_file(path, &info)) != NULL &&
             check(csz_compare(&metrics, sizeof metrics, data, restored, &field, options.bound, NULL),
                   "compare") &&
             metrics.violations == 0;
    if (ok) printf("largest error %.3g of %.3g allowed\n", metrics.max_abs_error, options.bound);
    free(restored);
    free(data);
    return ok ? 0 : 1;
}
