/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c: csz-isa-bench LIST FOLDER LIBRARY LIBRARY: the fields of the bench by two builds of libcsz.so
 * that take turns in one process, one thread, three bounds.  Prints a table of MB/s by CPU time, the best of
 * all runs, and what the second build reaches of the first: the median over pairs of runs, one right after
 * the other, which meet the same other work on the machine.
 */
#include "fields.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 40 };

typedef struct build {
    csz_context *context;
    const char *isa;
    csz_status (*create)(csz_context **);
    void (*destroy)(csz_context *);
    void (*options_init)(csz_options *, size_t);
    csz_status (*compress)(csz_context *, void *, size_t, size_t *, const void *, const csz_field *,
                           const csz_options *);
    csz_status (*decompress)(csz_context *, void *, size_t, const void *, size_t,
                             const csz_decompress_options *);
} build;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ISO C has no cast from an object's address to a function's; POSIX has it for dlsym. */
static void find(void *function, void *library, const char *name) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    if (address) return;
    fprintf(stderr, "csz-isa-bench: no %s in the library\n", name);
    exit(1);
}

static build build_open(const char *path) {
    build b;
    const char *(*isa)(void);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "csz-isa-bench: %s\n", dlerror());
        exit(1);
    }
    find((void *)&b.create, library, "csz_context_create");
    find((void *)&b.destroy, library, "csz_context_destroy");
    find((void *)&isa, library, "csz_cpu_isa");
    find((void *)&b.options_init, library, "csz_options_init_sized");
    find((void *)&b.compress, library, "csz_compress");
    find((void *)&b.decompress, library, "csz_decompress");
    b.context = NULL;
    b.isa = isa();
    return b;
}

/* One run both ways: seconds of compressing and decompressing. */
static void run_once(build *b, double seconds[2], const bench_field *field, double bound, void *archive,
                     size_t capacity, void *restored) {
    csz_options o;
    b->options_init(&o, sizeof o);
    o.bound_mode = CSZ_BOUND_REL;
    o.bound = bound;
    o.threads = 1;
    o.backend = CSZ_BACKEND_CPU;
    o.has_fill = field->has_fill;
    o.fill = field->fill;
    const csz_decompress_options d = {.size = sizeof d, .backend = CSZ_BACKEND_CPU, .threads = 1};
    size_t nbytes;
    const double begin = now();
    csz_status status = b->compress(b->context, archive, capacity, &nbytes, field->data, &field->shape, &o);
    const double middle = now();
    if (!status) status = b->decompress(b->context, restored, field->nbytes, archive, nbytes, &d);
    seconds[1] = now() - middle;
    seconds[0] = middle - begin;
    if (status) {
        fprintf(stderr, "csz-isa-bench: %s: %s\n", field->name, csz_status_string(status));
        exit(1);
    }
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(build builds[2], const bench_field *field, double bound) {
    double best[2][2] = {{1e9, 1e9}, {1e9, 1e9}}; /* of each build: compress, decompress */
    double reached[2][PAIRS];
    size_t capacity = field->nbytes + field->nbytes / 50 + 4096;
    void *archive = malloc(capacity), *restored = malloc(field->nbytes);
    if (!archive || !restored) {
        fprintf(stderr, "csz-isa-bench: out of memory\n");
        exit(1);
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        double seconds[2][2];
        /* some places in memory are faster than others: each build gets the other's once */
        for (int i = 0; pair % (PAIRS / 2) == 0 && i < 2; i++) builds[i].destroy(builds[i].context);
        for (int i = 0; pair % (PAIRS / 2) == 0 && i < 2; i++) {
            build *b = &builds[(pair / (PAIRS / 2) + i) % 2];
            if (b->create(&b->context) == CSZ_OK) continue;
            fprintf(stderr, "csz-isa-bench: no context\n");
            exit(1);
        }
        for (int i = 0; i < 2; i++) { /* the one that goes first changes */
            const int k = (pair + i) % 2;
            run_once(&builds[k], seconds[k], field, bound, archive, capacity, restored);
        }
        for (int way = 0; way < 2; way++) {
            reached[way][pair] = seconds[0][way] / seconds[1][way];
            for (int k = 0; k < 2; k++)
                best[k][way] = seconds[k][way] < best[k][way] ? seconds[k][way] : best[k][way];
        }
    }
    printf("| %s | %.0e |", field->name, bound);
    for (int way = 0; way < 2; way++) {
        qsort(reached[way], PAIRS, sizeof reached[way][0], by_size);
        printf(" %.0f | %.0f | %.2f |", 1e-6 * (double)field->nbytes / best[0][way],
               1e-6 * (double)field->nbytes / best[1][way], reached[way][PAIRS / 2]);
    }
    printf("\n");
    fflush(stdout);
    free(archive);
    free(restored);
}

int main(int argc, char **argv) {
    static bench_field fields[BENCH_MAX_FIELDS];
    int nfields = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: csz-isa-bench LIST FOLDER LIBRARY LIBRARY\n");
        return 2;
    }
    if (bench_fields_read(fields, &nfields, argv[1], argv[2]) ||
        bench_fields_generate(fields, &nfields, 0, 2))
        return 1;
    build builds[2] = {build_open(argv[3]), build_open(argv[4])};
    printf("| field | bound | comp. first (%s) | second (%s) | second/first | decomp. first | second | "
           "second/first |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
           builds[0].isa, builds[1].isa);
    const double bounds[] = {1e-2, 1e-3, 1e-4};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < nfields; i++) compare(builds, &fields[i], bounds[k]);
    bench_fields_free(fields, nfields);
    return 0;
}
