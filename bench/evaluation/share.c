/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c: the time of an analysis from its sample over that of compressing, like with like: the same field
 * and bounds, a context that has worked before (warm), the first call of a context (cold), and the command
 * from start to end (csz analyze against csz compress of a file), by one thread and by two.  One bound at a
 * time, and three at once against an archive for each; relative and absolute.  Both take turns, and the
 * medians of REPEATS are shown, in elapsed and in CPU time.
 */
#define _GNU_SOURCE /* wait4 */
#include "evaluate.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { REPEATS = 15, NBOUNDS = 3, PATH_NBYTES = 4096 };

/* What is timed: the bounds of one analysis, each of which is compressed with. */
typedef struct subject {
    csz_context *context; /* NULL: a new one each time */
    const bench_field *field;
    csz_options options;
    double bounds[NBOUNDS];
    size_t nbounds;
    void *archive;
    size_t capacity;
} subject;

typedef struct times {
    double wall[REPEATS], cpu[REPEATS];
} times;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds) {
    qsort(seconds, REPEATS, sizeof *seconds, compare_doubles);
    return seconds[REPEATS / 2];
}

static csz_status analyze_once(const subject *s, csz_context *context) {
    static csz_analysis a[NBOUNDS];
    return csz_analyze(context, a, sizeof *a, s->bounds, s->nbounds, s->field->data, &s->field->shape,
                       &s->options, 0);
}

static csz_status compress_once(const subject *s, csz_context *context) {
    csz_options o = s->options;
    csz_status status = CSZ_OK;
    for (size_t i = 0; !status && i < s->nbounds; i++) {
        size_t nbytes;
        o.bound = s->bounds[i];
        status =
            csz_compress(context, s->archive, s->capacity, &nbytes, s->field->data, &s->field->shape, &o);
    }
    return status;
}

/* Seconds of one call; of a new context's first one where there is none. */
static int time_call(times *t, int repeat, const subject *s,
                     csz_status (*call)(const subject *, csz_context *)) {
    csz_context *context = s->context;
    double start = evaluate_seconds(), cpu_start = evaluate_cpu_seconds();
    if (!context && csz_context_create(&context) != CSZ_OK) return -1;
    csz_status status = call(s, context);
    t->wall[repeat] = evaluate_seconds() - start;
    t->cpu[repeat] = evaluate_cpu_seconds() - cpu_start;
    if (!s->context) csz_context_destroy(context);
    return status == CSZ_OK ? 0 : -1;
}

/* Adds the seconds of a command, whose output nobody reads, and its own CPU seconds. */
static int time_command(times *t, int repeat, const char *const *arguments) {
    extern char **environ;
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int status = 1;
    struct rusage used;
    if (posix_spawn_file_actions_init(&quiet) != 0) return -1;
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    double start = evaluate_seconds();
    int failed = posix_spawn(&child, arguments[0], &quiet, NULL, (char *const *)arguments, environ) != 0 ||
                 wait4(child, &status, 0, &used) != child || status != 0;
    t->wall[repeat] += evaluate_seconds() - start;
    posix_spawn_file_actions_destroy(&quiet);
    if (failed) return -1;
    t->cpu[repeat] += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return 0;
}

static void put_share(FILE *out, const subject *s, double bound, const char *kind, times *analyze,
                      times *compress) {
    fprintf(out,
            "{\"kind\": \"share\", \"field\": \"%s\", \"nbytes\": %zu, \"mode\": \"%s\", \"bound\": %g, "
            "\"nbounds\": %zu, \"threads\": %d, \"what\": \"%s\", \"analyze\": %.6g, \"compress\": %.6g, "
            "\"analyze_cpu\": %.6g, \"compress_cpu\": %.6g}\n",
            s->field->name, s->field->nbytes, s->options.bound_mode == CSZ_BOUND_REL ? "rel" : "abs", bound,
            s->nbounds, s->options.threads, kind, median(analyze->wall), median(compress->wall),
            median(analyze->cpu), median(compress->cpu));
}

static int share_of_calls(FILE *out, subject *s, double bound) {
    times analyze, compress;
    int failed = 0;
    if (csz_compress_bound(&s->capacity, &s->field->shape, &s->options) != CSZ_OK ||
        !(s->archive = malloc(s->capacity)))
        return -1;
    memset(s->archive, 1, s->capacity); /* the caller's pages */
    for (int i = 0; !failed && i < REPEATS; i++)
        failed = time_call(&analyze, i, s, analyze_once) || time_call(&compress, i, s, compress_once);
    free(s->archive);
    if (!failed) put_share(out, s, bound, s->context ? "warm" : "cold", &analyze, &compress);
    return failed ? -1 : 0;
}

static int share_of_commands(FILE *out, const char *csz, const subject *s, double bound, const char *folder) {
    char input[PATH_NBYTES], output[PATH_NBYTES], dims[96] = "", e[NBOUNDS][32], j[16], fill[32];
    const bench_field *f = s->field;
    int at = 0, n = 10;
    snprintf(input, sizeof input, "%s/field.raw", folder);
    snprintf(output, sizeof output, "%s/field.csz", folder);
    snprintf(j, sizeof j, "-j%d", s->options.threads);
    snprintf(fill, sizeof fill, "%.9g", f->fill);
    for (int d = 0; d < f->shape.ndim; d++)
        at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%llu", d ? "x" : "",
                       (unsigned long long)f->shape.dims[d]);
    const char *analyze_line[24] = {csz,
                                    "analyze",
                                    input,
                                    "-t",
                                    f->shape.type == CSZ_F32 ? "f32" : "f64",
                                    "-d",
                                    dims,
                                    "-m",
                                    s->options.bound_mode == CSZ_BOUND_REL ? "rel" : "abs",
                                    j};
    if (f->has_fill) {
        analyze_line[n++] = "--fill";
        analyze_line[n++] = fill;
    }
    const char *compress_line[24];
    memcpy(compress_line, analyze_line, sizeof compress_line);
    compress_line[1] = "compress";
    const char *const more[] = {"-p", "auto", "-f", "-o", output, "-e"};
    memcpy(compress_line + n, more, sizeof more);
    for (size_t i = 0; i < s->nbounds; i++) {
        snprintf(e[i], sizeof e[i], "%.17g", s->bounds[i]);
        analyze_line[n + 2 * (int)i] = "-e";
        analyze_line[n + 2 * (int)i + 1] = e[i];
    }
    times analyze = {.wall = {0}}, compress = {.wall = {0}};
    for (int i = 0; i < REPEATS; i++) {
        if (time_command(&analyze, i, analyze_line) != 0) return -1;
        for (size_t k = 0; k < s->nbounds; k++) {
            compress_line[n + 6] = e[k];
            if (time_command(&compress, i, compress_line) != 0) return -1;
        }
    }
    put_share(out, s, bound, "command", &analyze, &compress);
    return 0;
}

static int write_file(const char *folder, const bench_field *f) {
    char path[PATH_NBYTES];
    snprintf(path, sizeof path, "%s/field.raw", folder);
    FILE *file = fopen(path, "wb");
    int failed = !file || fwrite(f->data, 1, f->nbytes, file) != f->nbytes;
    if (file && fclose(file) != 0) failed = 1;
    return failed ? -1 : 0;
}

int evaluate_share(FILE *out, const bench_field *f, const char *csz, const char *folder) {
    static const double bounds[NBOUNDS] = {1e-2, 1e-3, 1e-4};
    csz_context *context;
    csz_analysis a[NBOUNDS];
    int failed = csz_context_create(&context) != CSZ_OK || (csz && write_file(folder, f) != 0);
    for (int k = 0; !failed && k < 4; k++) { /* one thread and two, relative and the same in absolute terms */
        subject s = {.field = f};
        csz_options_init(&s.options);
        s.options.backend = CSZ_BACKEND_CPU;
        s.options.threads = 1 + k % 2;
        s.options.has_fill = f->has_fill;
        s.options.fill = f->fill;
        s.options.bound_mode = CSZ_BOUND_REL;
        s.options.bound = bounds[0];
        s.options.predictor = CSZ_PREDICTOR_AUTO;
        double wanted[NBOUNDS];
        memcpy(wanted, bounds, sizeof wanted);
        if (k / 2) {
            failed = csz_analyze(context, a, sizeof *a, bounds, NBOUNDS, f->data, &f->shape, &s.options, 0) !=
                     CSZ_OK;
            for (int b = 0; b < NBOUNDS; b++) wanted[b] = a[b].bound_abs;
            s.options.bound_mode = CSZ_BOUND_ABS;
        }
        for (int b = 0; !failed && b <= NBOUNDS; b++) { /* each alone, then all */
            s.nbounds = b < NBOUNDS ? 1 : NBOUNDS;
            memcpy(s.bounds, wanted + (b < NBOUNDS ? b : 0), s.nbounds * sizeof *wanted);
            s.options.bound = s.bounds[0];
            const double shown = bounds[b < NBOUNDS ? b : 0];
            s.context = context;
            failed = share_of_calls(out, &s, shown);
            s.context = NULL;
            failed = failed || share_of_calls(out, &s, shown) ||
                     (csz && share_of_commands(out, csz, &s, shown, folder));
        }
    }
    csz_context_destroy(context);
    if (failed) fprintf(stderr, "csz-evaluate: the times of %s could not be measured\n", f->name);
    return failed ? -1 : 0;
}
