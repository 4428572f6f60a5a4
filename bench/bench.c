/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c: csz-bench, what `make bench` runs.  Compresses every field at three bounds with csz and its peers,
 * in one process, the coders taking turns so that a slow moment of the machine falls on all of them, and
 * reports ratios, speeds and how they compare.  csz's archives are verified first: restored within the bound,
 * exactly, and the same bytes for every thread count.  Exits 1 if that fails.
 */
#include "coders.h"
#include "paper_huffman.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REPEATS = 25, MIN_REPEATS = 5 };

typedef struct settings {
    const char *list_path, *data_folder, *out_path, *only;
    csz_backend backend;
    int stages, smoke, cpu_time, ncores;
} settings;

static const char usage[] =
    "usage: csz-bench [--fields LIST --data FOLDER] [--only NAME] [--backend auto|cpu|cuda]\n"
    "                 [--stages] [--cpu-time] [--out FILE]\n"
    "       csz-bench --smoke\n"
    "  --fields, --data   real fields: a list such as bench/fields.txt and the folder that holds the files\n"
    "  --only NAME        only fields whose name contains NAME\n"
    "  --stages           also where the time goes, stage by stage\n"
    "  --cpu-time         one thread alone, by CPU seconds: for a machine that is busy with other work\n"
    "  --out FILE         write the report to FILE as well\n"
    "  --smoke            small generated fields, one repeat: does it run\n";

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static int fail(const bench_field *field, double bound, const char *what) {
    fprintf(stderr, "csz-bench: %s at %g: %s\n", field->name, bound, what);
    return -1;
}

/* ---- One field at one bound --------------------------------------------------------------------------- */

typedef struct contest {
    coder coders[BENCH_NSLOTS];
    int present[BENCH_NSLOTS];
    double bound_abs;
} contest;

/* Opens a coder and runs it once each way, so that its memory is touched before anything is timed. */
static int enter(contest *c, bench_slot slot, coder_kind kind, int nthreads, const bench_field *field,
                 const csz_options *options) {
    coder *entrant = &c->coders[slot];
    if (!coder_available(kind, nthreads)) return 0;
    *entrant = (coder){
        .kind = kind, .nthreads = nthreads, .options = *options, .field = field, .tolerance = c->bound_abs};
    c->present[slot] = 1;
    if (coder_open(entrant) || coder_compress(entrant) || coder_decompress(entrant)) {
        if (entrant->status != CSZ_OK)
            fprintf(stderr, "csz-bench: csz says: %s\n", csz_status_string(entrant->status));
        return -1;
    }
    return 0;
}

/* Finds the absolute bound, and that every value csz restored is within it, exactly. */
static int verify_csz(contest *c, const bench_field *field, const csz_options *options) {
    const coder *one = &c->coders[SLOT_CSZ_1];
    csz_info info;
    csz_metrics metrics;
    if (csz_inspect(&info, sizeof info, one->archive, one->archive_nbytes) != CSZ_OK ||
        csz_compare(&metrics, sizeof metrics, field->data, one->restored, &field->shape, info.bound_abs,
                    options) != CSZ_OK)
        return fail(field, options->bound, "csz cannot read its archive");
    if (metrics.violations) return fail(field, options->bound, "csz BREAKS ITS BOUND");
    c->bound_abs = info.bound_abs;
    return 0;
}

static int same_archive(const contest *c, bench_slot slot) {
    const coder *one = &c->coders[SLOT_CSZ_1], *other = &c->coders[slot];
    return !c->present[slot] || (one->archive_nbytes == other->archive_nbytes &&
                                 memcmp(one->archive, other->archive, one->archive_nbytes) == 0);
}

static int enter_all(contest *c, const bench_field *field, const csz_options *options, int ncores) {
    if (enter(c, SLOT_CSZ_1, CODER_CSZ, 1, field, options)) return fail(field, options->bound, "csz fails");
    if (verify_csz(c, field, options)) return -1;
    if ((ncores > 1 && enter(c, SLOT_CSZ_2, CODER_CSZ, 2, field, options)) ||
        (ncores > 2 && enter(c, SLOT_CSZ_ALL, CODER_CSZ, ncores, field, options)))
        return fail(field, options->bound, "csz fails with several threads");
    if (!same_archive(c, SLOT_CSZ_2) || !same_archive(c, SLOT_CSZ_ALL))
        return fail(field, options->bound, "csz's bytes depend on the number of threads");
    if (c->bound_abs > 0 && (enter(c, SLOT_ZFP_1, CODER_ZFP, 1, field, options) ||
                             (ncores > 1 && enter(c, SLOT_ZFP_ALL, CODER_ZFP, ncores, field, options))))
        return fail(field, options->bound, "zfp fails");
    if (enter(c, SLOT_ZSTD, CODER_ZSTD, 1, field, options) ||
        enter(c, SLOT_MEMCPY, CODER_MEMCPY, 1, field, options))
        return fail(field, options->bound, "zstd or memcpy fails");
    return 0;
}

/* CPU seconds say nothing of several threads. */
static int is_timed(const contest *c, int slot, int cpu_time) {
    return c->present[slot] && (!cpu_time || c->coders[slot].nthreads == 1);
}

static int take_turns(bench_measurement *m, contest *c, int nrepeats, int cpu_time) {
    const clockid_t clock = cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    double compress[BENCH_NSLOTS][MAX_REPEATS], decompress[BENCH_NSLOTS][MAX_REPEATS];
    for (int repeat = 0; repeat < nrepeats; repeat++)
        for (int slot = 0; slot < BENCH_NSLOTS; slot++) {
            if (!is_timed(c, slot, cpu_time)) continue;
            double start = seconds(clock);
            int failed = coder_compress(&c->coders[slot]);
            double middle = seconds(clock);
            failed |= coder_decompress(&c->coders[slot]);
            double end = seconds(clock);
            if (failed) return fail(m->field, bench_bounds[m->bound_index], "a coder fails when repeated");
            compress[slot][repeat] = middle - start;
            decompress[slot][repeat] = end - middle;
        }
    for (int slot = 0; slot < BENCH_NSLOTS; slot++)
        if (is_timed(c, slot, cpu_time))
            m->slots[slot] =
                (bench_timing){1, median(compress[slot], nrepeats), median(decompress[slot], nrepeats),
                               c->coders[slot].archive_nbytes};
    return 0;
}

/* Repeats until csz alone has run for a tenth of a second, within limits: small fields need more for a steady
 * median. */
static int choose_repeats(contest *c, int smoke) {
    double start = seconds(CLOCK_MONOTONIC);
    if (smoke || coder_compress(&c->coders[SLOT_CSZ_1]) || coder_decompress(&c->coders[SLOT_CSZ_1])) return 1;
    double wanted = 0.1 / (seconds(CLOCK_MONOTONIC) - start);
    return wanted < MIN_REPEATS ? MIN_REPEATS : wanted > MAX_REPEATS ? MAX_REPEATS : (int)wanted;
}

static int profile(bench_measurement *m, coder *c) {
    csz_context_profile(c->context, 1);
    int failed = coder_compress(c);
    csz_context_stages(c->context, &m->compress, sizeof m->compress);
    failed |= coder_decompress(c);
    csz_context_stages(c->context, &m->decompress, sizeof m->decompress);
    csz_context_profile(c->context, 0);
    return failed ? fail(m->field, bench_bounds[m->bound_index], "csz fails when profiled") : 0;
}

static int measure(bench_measurement *m, const settings *s) {
    const bench_field *field = m->field;
    contest c = {.bound_abs = 0};
    csz_options options;
    csz_metrics metrics;

    csz_options_init(&options);
    options.bound_mode = CSZ_BOUND_REL;
    options.bound = bench_bounds[m->bound_index];
    options.backend = s->backend;
    options.has_fill = field->has_fill;
    options.fill = field->fill;

    int failed = enter_all(&c, field, &options, s->ncores);
    if (!failed && c.present[SLOT_ZFP_1])
        m->zfp_holds = csz_compare(&metrics, sizeof metrics, field->plain, c.coders[SLOT_ZFP_1].restored,
                                   &field->shape, c.bound_abs, NULL) == CSZ_OK &&
                       metrics.violations == 0;
    if (!failed && c.bound_abs > 0)
        m->paper_nbytes = paper_huffman_nbytes(field->plain, &field->shape, c.bound_abs);
    if (!failed) failed = take_turns(m, &c, choose_repeats(&c, s->smoke), s->cpu_time);
    if (!failed && s->stages) failed = profile(m, &c.coders[SLOT_CSZ_1]);
    if (s->ncores == 2)
        m->slots[SLOT_CSZ_ALL] = m->slots[SLOT_CSZ_2];
    else if (s->ncores == 1)
        m->slots[SLOT_CSZ_ALL] = m->slots[SLOT_CSZ_1];
    for (int slot = 0; slot < BENCH_NSLOTS; slot++)
        if (c.present[slot]) coder_close(&c.coders[slot]);
    return failed;
}

/* ---- The whole ---------------------------------------------------------------------------------------- */

static int parse_backend(csz_backend *backend, const char *name) {
    static const char *const names[] = {"auto", "cpu", "cuda"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *backend = (csz_backend)i;
            return 0;
        }
    return -1;
}

static int parse_arguments(settings *s, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--stages") == 0) {
            s->stages = 1;
            continue;
        }
        if (strcmp(argv[i], "--cpu-time") == 0) {
            s->cpu_time = 1;
            continue;
        }
        if (strcmp(argv[i], "--smoke") == 0) {
            s->smoke = s->stages = 1;
            continue;
        }
        if (!value) return -1;
        if (strcmp(argv[i], "--fields") == 0)
            s->list_path = value;
        else if (strcmp(argv[i], "--data") == 0)
            s->data_folder = value;
        else if (strcmp(argv[i], "--only") == 0)
            s->only = value;
        else if (strcmp(argv[i], "--out") == 0)
            s->out_path = value;
        else if (strcmp(argv[i], "--backend") != 0 || parse_backend(&s->backend, value))
            return -1;
        i++;
    }
    return 0;
}

static int run(const settings *s, const bench_field *fields, int nfields) {
    static bench_measurement measurements[BENCH_MAX_FIELDS * BENCH_NBOUNDS];
    static const char *const backend_names[] = {"auto", "cpu", "cuda"};
    int n = 0, nwanted = 0;

    for (int i = 0; i < nfields; i++) nwanted += !s->only || strstr(fields[i].name, s->only);
    if (nwanted == 0) {
        fprintf(stderr, "csz-bench: no field to measure\n");
        return 1;
    }
    report_heading(s->ncores, s->smoke ? 1 : MIN_REPEATS, s->cpu_time, backend_names[s->backend]);
    for (int b = 0; b < BENCH_NBOUNDS; b++) {
        for (int i = 0; i < nfields; i++) {
            if (s->only && !strstr(fields[i].name, s->only)) continue;
            measurements[n] = (bench_measurement){.field = &fields[i], .bound_index = b};
            if (measure(&measurements[n], s)) return 1;
            n++;
        }
        report_bound(measurements, n, b, s->ncores);
        fflush(stdout);
    }
    for (int b = 0; s->stages && b < BENCH_NBOUNDS; b++) report_stages(measurements, n, b);
    report_summary(measurements, n, s->ncores);
    return 0;
}

int main(int argc, char **argv) {
    static bench_field fields[BENCH_MAX_FIELDS];
    settings s = {.backend = CSZ_BACKEND_AUTO};
    int nfields = 0, result = 1;
    FILE *out = NULL;

    if (parse_arguments(&s, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!csz_backend_available(s.backend)) {
        fprintf(stderr, "csz-bench: %s\n", csz_status_string(CSZ_ERROR_BACKEND));
        return 1;
    }
    if (s.out_path) {
        out = fopen(s.out_path, "w");
        if (!out) {
            fprintf(stderr, "csz-bench: cannot write %s\n", s.out_path);
            return 1;
        }
        report_open(out);
    }
    const long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    s.ncores = ncores > 0 ? (int)ncores : 1;

    if ((!s.list_path || !s.data_folder ||
         bench_fields_read(fields, &nfields, s.list_path, s.data_folder) == 0) &&
        bench_fields_generate(fields, &nfields, s.smoke, s.ncores) == 0)
        result = run(&s, fields, nfields);
    bench_fields_free(fields, nfields);
    if (out && fclose(out)) {
        fprintf(stderr, "csz-bench: cannot write %s\n", s.out_path);
        result = 1;
    }
    return result;
}
