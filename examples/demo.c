/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * demo.c: what `make demo` runs, and how a program uses csz.h.  Simulates a seismic wave, compresses the
 * snapshot at several bounds, restores each archive and a preview of it, compares every value with the bound
 * exactly, and prints one line a bound and a picture of a slice: original, restored, preview.  Exits 1 if any
 * value lies outside its bound.
 *
 *     csz-demo [--small] [--save FILE]      a smaller grid; keep the snapshot as raw f32
 */
#include "csz.h"
#include "wave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 5, PREVIEW_LEVEL = 2 }; /* a preview has every 4th value along each dim */

typedef struct demo {
    csz_context *context;
    csz_field field;
    size_t nbytes;
    size_t archive_capacity;
    float *original;
    float *restored;
    float *preview;
    void *archive;
} demo;

typedef struct outcome {
    csz_info info;
    csz_metrics metrics;
    double seconds_compress, seconds_decompress; /* median of REPEATS */
    double lorenzo_ratio;                        /* with the default predictor */
    uint64_t preview_nbytes;                     /* that a preview reads of the archive */
    int holds;
} outcome;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds) {
    qsort(seconds, REPEATS, sizeof *seconds, compare_doubles);
    return seconds[REPEATS / 2];
}

static void show_progress(int step, int nsteps) {
    if (step % 10 == 0 || step == nsteps)
        fprintf(stderr, "\r  simulating: step %d of %d%s", step, nsteps, step == nsteps ? "\r\033[K" : "");
}

/* The preview, each value of it compared with the bound, and what it reads. */
static csz_status run_preview(outcome *r, const demo *d, size_t archive_nbytes) {
    csz_tile_counts counts;
    csz_field coarse;
    csz_status status = csz_level_field(&coarse, &r->info, PREVIEW_LEVEL);
    if (status == CSZ_OK)
        status = csz_decompress_level(d->context, d->preview, d->nbytes, d->archive, archive_nbytes,
                                      PREVIEW_LEVEL, NULL, NULL, NULL);
    if (status == CSZ_OK) status = csz_survey(d->context, &counts, sizeof counts, d->archive, archive_nbytes);
    if (status != CSZ_OK) return status;
    r->preview_nbytes = counts.nbytes_level[PREVIEW_LEVEL];
    const uint64_t *n = d->field.dims, *m = coarse.dims;
    for (uint64_t i = 0; i < m[0] * m[1] * m[2]; i++) {
        const uint64_t z = i / m[2] / m[1] << PREVIEW_LEVEL, y = i / m[2] % m[1] << PREVIEW_LEVEL,
                       x = i % m[2] << PREVIEW_LEVEL;
        const double original = d->original[(z * n[1] + y) * n[2] + x];
        r->holds = r->holds && fabs(d->preview[i] - original) <= r->info.bound_abs;
    }
    return CSZ_OK;
}

static csz_status run_bound(outcome *r, const demo *d, csz_bound_mode mode, double bound) {
    double compress[REPEATS], decompress[REPEATS];
    size_t archive_nbytes = 0;
    csz_options options;
    csz_status status;

    csz_options_init(&options);
    options.bound_mode = mode;
    options.bound = bound;
    options.predictor = CSZ_PREDICTOR_LORENZO;
    status = csz_compress(d->context, d->archive, d->archive_capacity, &archive_nbytes, d->original,
                          &d->field, &options);
    if (status != CSZ_OK) return status;
    r->lorenzo_ratio = (double)d->nbytes / (double)archive_nbytes;
    options.predictor = CSZ_PREDICTOR_AUTO;
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        status = csz_compress(d->context, d->archive, d->archive_capacity, &archive_nbytes, d->original,
                              &d->field, &options);
        double middle = now();
        if (status == CSZ_OK)
            status = csz_decompress(d->context, d->restored, d->nbytes, d->archive, archive_nbytes, NULL);
        if (status != CSZ_OK) return status;
        compress[i] = middle - start;
        decompress[i] = now() - middle;
    }
    r->seconds_compress = median(compress);
    r->seconds_decompress = median(decompress);

    status = csz_inspect(&r->info, sizeof r->info, d->archive, archive_nbytes);
    if (status == CSZ_OK)
        status = csz_compare(&r->metrics, sizeof r->metrics, d->original, d->restored, &d->field,
                             r->info.bound_abs, NULL);
    r->holds = r->metrics.violations == 0 && (mode != CSZ_BOUND_PSNR || r->metrics.psnr >= bound);
    return status == CSZ_OK ? run_preview(r, d, archive_nbytes) : status;
}

/* ---- Table -------------------------------------------------------------------------------------------- */

static void print_rule(const char *left, const char *cross, const char *right) {
    static const int widths[] = {15, 11, 9, 9, 9, 9, 13, 10, 12, 3};
    printf("  %s", left);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        if (i) printf("%s", cross);
        for (int k = 0; k < widths[i]; k++) printf("─");
    }
    printf("%s\n", right);
}

static void print_header(void) {
    print_rule("┌", "┬", "┐");
    static const char format[] = "  │ %-13s │ %9s │ %7s │ %7s │ %7s │ %7s │ %11s │ %8s │ %10s │   │\n";
    printf(format, "bound", "size", "ratio", "ratio", "preview", "PSNR", "error/bound", "compress",
           "decompress");
    printf(format, "", "KiB", "-p auto", "default", "KiB", "dB", "largest", "GB/s", "GB/s");
    print_rule("├", "┼", "┤");
}

static void print_row(const char *label, const outcome *r) {
    const double nbytes = (double)r->info.nbytes_field, archive = (double)r->info.nbytes_archive;
    char share[32];

    if (r->info.bound_abs > 0)
        snprintf(share, sizeof share, "%.2f %%", 100 * r->metrics.max_abs_error / r->info.bound_abs);
    else
        snprintf(share, sizeof share, "exact");
    printf("  │ %-13s │ %9.1f │ %7.1f │ %7.1f │ %7.1f │ %7.2f │ %11s │ %8.2f │ %10.2f │ %s │\n", label,
           archive / 1024, nbytes / archive, r->lorenzo_ratio, (double)r->preview_nbytes / 1024,
           r->metrics.psnr, share, 1e-9 * nbytes / r->seconds_compress, 1e-9 * nbytes / r->seconds_decompress,
           r->holds ? "✓" : "✗");
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

/* Pressure at a point of the vertical slice through the middle, as -1..1 with small amplitudes lifted. */
static double slice_value(const csz_field *field, const float *data, double scale, double z, double x) {
    size_t iz = (size_t)(z * (double)field->dims[0]), ix = (size_t)(x * (double)field->dims[2]);
    double v = data[(iz * field->dims[1] + field->dims[1] / 2) * field->dims[2] + ix] / scale;
    v = v > 1 ? 1 : v < -1 ? -1 : v;
    return v < 0 ? -pow(-v, 0.6) : pow(v, 0.6);
}

/* Blue through white to red, as a 24-bit colour. */
static void print_colour(int is_background, double v) {
    int fade = (int)(255 * (1 - fabs(v)) + 0.5);
    printf("\033[%d;2;%d;%d;%dm", is_background ? 48 : 38, v < 0 ? fade : 255, fade, v > 0 ? fade : 255);
}

static void print_picture_row(const csz_field *field, const float *data, double scale, int row, int nrows,
                              int ncolumns, int colour) {
    static const char ramp[] = " .:-=+*#%@"; /* crests; troughs stay blank, as two ramps blur each other */
    for (int column = 0; column < ncolumns; column++) {
        double x = (column + 0.5) / ncolumns;
        if (colour) { /* an upper half block: two rows of the slice in one line */
            print_colour(0, slice_value(field, data, scale, (row + 0.25) / nrows, x));
            print_colour(1, slice_value(field, data, scale, (row + 0.75) / nrows, x));
            printf("▀");
        } else {
            double v = slice_value(field, data, scale, (row + 0.5) / nrows, x);
            putchar(ramp[v > 0 ? (int)(9.49 * v + 0.5) : 0]);
        }
    }
    if (colour) printf("\033[0m");
}

static void print_pictures(const demo *d, const outcome *r, const char *label) {
    const char *term = getenv("TERM");
    const int colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
    const int ncolumns = 34, nrows = 12;
    double scale = 0;
    csz_field coarse = d->field;
    char restored[64], preview[64];

    for (size_t i = 0; i < d->nbytes / sizeof(float); i++) scale = fmax(scale, fabsf(d->original[i]));
    (void)csz_level_field(&coarse, &r->info, PREVIEW_LEVEL);
    snprintf(restored, sizeof restored, "%s, %.0f times smaller", label,
             (double)d->nbytes / (double)r->info.nbytes_archive);
    snprintf(preview, sizeof preview, "--level %d, from %.1f KiB", PREVIEW_LEVEL,
             (double)r->preview_nbytes / 1024);
    printf("\n  %-*s  %-*s  %s\n", ncolumns, "a vertical slice, original", ncolumns, restored, preview);
    for (int row = 0; row < nrows; row++) {
        printf("  ");
        print_picture_row(&d->field, d->original, 0.5 * scale, row, nrows, ncolumns, colour);
        printf("  ");
        print_picture_row(&d->field, d->restored, 0.5 * scale, row, nrows, ncolumns, colour);
        printf("  ");
        print_picture_row(&coarse, d->preview, 0.5 * scale, row, nrows, ncolumns, colour);
        printf("\n");
    }
}

/* ---- The whole ---------------------------------------------------------------------------------------- */

static int save(const char *path, const void *data, size_t nbytes) {
    FILE *file = fopen(path, "wb");
    int failed = !file || fwrite(data, 1, nbytes, file) != nbytes;
    if (file && fclose(file)) failed = 1;
    if (failed) fprintf(stderr, "csz-demo: cannot write %s\n", path);
    return failed ? -1 : 0;
}

static int run(const demo *d) {
    /* The loosest bound comes last, so that what it restored can be shown beside the original. */
    static const struct {
        const char *label;
        csz_bound_mode mode;
        double bound;
    } bounds[] = {{"absolute 1e-3", CSZ_BOUND_ABS, 1e-3}, {"PSNR 80 dB", CSZ_BOUND_PSNR, 80},
                  {"relative 1e-5", CSZ_BOUND_REL, 1e-5}, {"relative 1e-4", CSZ_BOUND_REL, 1e-4},
                  {"relative 1e-3", CSZ_BOUND_REL, 1e-3}, {"relative 1e-2", CSZ_BOUND_REL, 1e-2}};
    const size_t nbounds = sizeof bounds / sizeof *bounds;
    int all_hold = 1;
    outcome r;

    print_header();
    for (size_t i = 0; i < nbounds; i++) {
        csz_status status = run_bound(&r, d, bounds[i].mode, bounds[i].bound);
        if (status != CSZ_OK) {
            fprintf(stderr, "csz-demo: %s\n", csz_status_string(status));
            return 1;
        }
        print_row(bounds[i].label, &r);
        fflush(stdout);
        all_hold = all_hold && r.holds;
    }
    print_rule("└", "┴", "┘");
    printf("  %s  Speeds: all cores, in memory, median of %d.\n",
           all_hold ? "✓ every value of every archive and preview came back within its bound."
                    : "✗ A BOUND WAS VIOLATED: please report this.",
           REPEATS);
    print_pictures(d, &r, bounds[nbounds - 1].label);
    return all_hold ? 0 : 1;
}

int main(int argc, char **argv) {
    wave_setup setup = {160, 224, 224, 580, 1, NULL};
    const char *save_path = NULL;
    demo d = {.field = {.type = CSZ_F32, .ndim = 3}};
    csz_options options;
    int result = 1;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            setup = (wave_setup){64, 80, 80, 240, 1, NULL};
        } else if (strcmp(argv[i], "--save") == 0 && i + 1 < argc) {
            save_path = argv[++i];
        } else {
            fprintf(stderr, "usage: csz-demo [--small] [--save FILE]\n");
            return 2;
        }
    }
    const long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    setup.nthreads = ncores > 0 ? (int)ncores : 1;
    if (isatty(STDERR_FILENO)) setup.progress = show_progress;

    d.field.dims[0] = setup.nz;
    d.field.dims[1] = setup.ny;
    d.field.dims[2] = setup.nx;
    d.nbytes = setup.nz * setup.ny * setup.nx * sizeof(float);
    csz_options_init(&options);
    options.bound = 1;
    options.predictor = CSZ_PREDICTOR_AUTO;
    if (csz_context_create(&d.context) != CSZ_OK ||
        csz_compress_bound(&d.archive_capacity, &d.field, &options) != CSZ_OK)
        goto end;
    d.original = malloc(d.nbytes);
    d.restored = malloc(d.nbytes);
    d.preview = malloc(d.nbytes);
    d.archive = malloc(d.archive_capacity);
    if (!d.original || !d.restored || !d.preview || !d.archive) {
        fprintf(stderr, "csz-demo: %s\n", csz_status_string(CSZ_ERROR_MEMORY));
        goto end;
    }

    const double start = now();
    if (wave_simulate(d.original, &setup)) {
        fprintf(stderr, "csz-demo: the simulation lacks memory\n");
        goto end;
    }
    printf(
        "\n  cuSZ+ %s: an acoustic wave in layered rock, %zu x %zu x %zu f32, %.1f MB, simulated in %.1f s\n",
        csz_version_string(), setup.nz, setup.ny, setup.nx, 1e-6 * (double)d.nbytes, now() - start);
    if (save_path && save(save_path, d.original, d.nbytes)) goto end;
    result = run(&d);

end:
    free(d.original);
    free(d.restored);
    free(d.preview);
    free(d.archive);
    csz_context_destroy(d.context);
    return result;
}
