/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c: the time of an analysis from its sample over that of compressing, like with like: the same field and bound, a context that has worked before (warm), the first
 * call of a context (cold), and the command from start to end (csz analyze against csz compress of a file), by one thread and by two.  One bound at a time, relative and absolute; the
 * least of REPEATS, in elapsed and in CPU time.
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

enum { REPEATS = 9, PATH_NBYTES = 4096 };

/* What is timed, one of each kind after the other. */
typedef struct pair {
    csz_context *context;
    const bench_field *field;
    const csz_options *options;
    void *archive;
    size_t capacity;
} pair;

/* The least of a few. */
typedef struct least {
    double wall, cpu;
} least;

static void keep(least *so_far, double wall, double cpu) {
    so_far->wall = fmin(so_far->wall, wall);
    so_far->cpu = fmin(so_far->cpu, cpu);
}

static csz_status analyze_once(const pair *p, csz_context *context) {
    static csz_analysis a;
    return csz_analyze(context, &a, &p->options->bound, 1, p->field->data, &p->field->shape, p->options, 0);
}

static csz_status compress_once(const pair *p, csz_context *context) {
    size_t nbytes;
    return csz_compress(context, p->archive, p->capacity, &nbytes, p->field->data, &p->field->shape,
                        p->options);
}

/* Seconds of one call; of a new context's first one where the pair has none. */
static int time_call(least *so_far, const pair *p, csz_status (*call)(const pair *, csz_context *)) {
    csz_context *context = p->context;
    double start = evaluate_seconds(), cpu_start = evaluate_cpu_seconds();
    if (!context && csz_context_create(&context) != CSZ_OK) return -1;
    csz_status status = call(p, context);
    keep(so_far, evaluate_seconds() - start, evaluate_cpu_seconds() - cpu_start);
    if (!p->context) csz_context_destroy(context);
    return status == CSZ_OK ? 0 : -1;
}

/* Seconds of a command, whose output nobody reads; its own CPU seconds in *cpu. */
static double time_command(char *const *arguments, double *cpu) {
    extern char **environ;
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int status = 1;
    struct rusage used;
    if (posix_spawn_file_actions_init(&quiet) != 0) return NAN;
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    double start = evaluate_seconds();
    int failed = posix_spawn(&child, arguments[0], &quiet, NULL, arguments, environ) != 0 ||
                 wait4(child, &status, 0, &used) != child || status != 0;
    double seconds = evaluate_seconds() - start;
    posix_spawn_file_actions_destroy(&quiet);
    if (failed) return NAN;
    *cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return seconds;
}

static void put_share(FILE *out, const bench_field *f, const csz_options *o, double bound, const char *kind,
                      const least *analyze, const least *compress) {
    fprintf(out,
            "{\"kind\": \"share\", \"field\": \"%s\", \"nbytes\": %zu, \"mode\": \"%s\", \"bound\": %g, "
            "\"threads\": %d, "
            "\"what\": \"%s\", \"analyze\": %.6g, \"compress\": %.6g, \"analyze_cpu\": %.6g, "
            "\"compress_cpu\": %.6g}\n",
            f->name, f->nbytes, o->bound_mode == CSZ_BOUND_REL ? "rel" : "abs", bound, o->threads, kind,
            analyze->wall, compress->wall, analyze->cpu, compress->cpu);
}

static int share_of_calls(FILE *out, const bench_field *f, const csz_options *o, double bound,
                          csz_context *context) {
    pair p = {context, f, o, NULL, 0};
    least analyze = {INFINITY, INFINITY}, compress = analyze;
    int failed = 0;
    if (csz_compress_bound(&p.capacity, &f->shape, o) != CSZ_OK || !(p.archive = malloc(p.capacity)))
        return -1;
    memset(p.archive, 1, p.capacity); /* the caller's pages */
    for (int i = 0; !failed && i < REPEATS; i++)
        failed = time_call(&analyze, &p, analyze_once) || time_call(&compress, &p, compress_once);
    free(p.archive);
    if (!failed) put_share(out, f, o, bound, context ? "warm" : "cold", &analyze, &compress);
    return failed ? -1 : 0;
}

static int share_of_commands(FILE *out, const char *csz, const bench_field *f, const csz_options *o,
                             double bound, const char *folder) {
    char input[PATH_NBYTES], output[PATH_NBYTES], dims[96] = "", e[32], j[16], fill[32];
    int at = 0;
    snprintf(input, sizeof input, "%s/field.raw", folder);
    snprintf(output, sizeof output, "%s/field.csz", folder);
    snprintf(e, sizeof e, "%.17g", o->bound);
    snprintf(j, sizeof j, "-j%d", o->threads);
    snprintf(fill, sizeof fill, "%.9g", f->fill);
    for (int d = 0; d < f->shape.ndim; d++)
        at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%llu", d ? "x" : "",
                       (unsigned long long)f->shape.dims[d]);
    const char *analyze_line[20] = {csz,
                                    "analyze",
                                    input,
                                    "-t",
                                    f->shape.type == CSZ_F32 ? "f32" : "f64",
                                    "-d",
                                    dims,
                                    "-m",
                                    o->bound_mode == CSZ_BOUND_REL ? "rel" : "abs",
                                    "-e",
                                    e,
                                    j};
    int n = 12;
    if (f->has_fill) {
        analyze_line[n++] = "--fill";
        analyze_line[n++] = fill;
    }
    const char *compress_line[20];
    memcpy(compress_line, analyze_line, sizeof compress_line);
    compress_line[1] = "compress";
    compress_line[n++] = "-f";
    compress_line[n++] = "-o";
    compress_line[n] = output;
    least analyze = {INFINITY, INFINITY}, compress = analyze;
    for (int i = 0; i < REPEATS; i++) {
        double cpu = 0, wall = time_command((char *const *)analyze_line, &cpu);
        if (!isfinite(wall)) return -1;
        keep(&analyze, wall, cpu);
        wall = time_command((char *const *)compress_line, &cpu);
        if (!isfinite(wall)) return -1;
        keep(&compress, wall, cpu);
    }
    put_share(out, f, o, bound, "command", &analyze, &compress);
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
    static const double bounds[] = {1e-2, 1e-3, 1e-4};
    csz_context *context;
    int failed = csz_context_create(&context) != CSZ_OK || (csz && write_file(folder, f) != 0);
    for (int k = 0; !failed && k < 12; k++) {
        csz_options o;
        csz_analysis a;
        csz_options_init(&o);
        o.backend = CSZ_BACKEND_CPU;
        o.threads = 1 + k % 2;
        o.has_fill = f->has_fill;
        o.fill = f->fill;
        o.bound_mode = CSZ_BOUND_REL;
        o.bound = bounds[k / 4];
        if (k / 2 % 2) { /* the same bound in absolute terms */
            failed = csz_analyze(context, &a, &o.bound, 1, f->data, &f->shape, &o, 0) != CSZ_OK;
            o.bound_mode = CSZ_BOUND_ABS;
            o.bound = a.bound_abs;
        }
        failed = failed || share_of_calls(out, f, &o, bounds[k / 4], context) ||
                 share_of_calls(out, f, &o, bounds[k / 4], NULL) ||
                 (csz && share_of_commands(out, csz, f, &o, bounds[k / 4], folder));
    }
    csz_context_destroy(context);
    if (failed) fprintf(stderr, "csz-evaluate: the times of %s could not be measured\n", f->name);
    return failed ? -1 : 0;
}
