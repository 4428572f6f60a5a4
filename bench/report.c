/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.c: prints measurements as Markdown tables, padded so that they read well in a terminal too, and the
 * means and ratios that the goals are stated in.  Speeds are MB of the field (10^6 bytes) a second; means are
 * geometric.
 */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const double bench_bounds[BENCH_NBOUNDS] = {1e-2, 1e-3, 1e-4};
static const char *const bound_names[BENCH_NBOUNDS] = {"1e-2", "1e-3", "1e-4"};

static FILE *report_file; /* a program's own report, not the library's state */

void report_open(FILE *file) { report_file = file; }

void report(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    if (report_file) {
        va_start(arguments, format);
        vfprintf(report_file, format, arguments);
        va_end(arguments);
    }
}

/* ---- Heading ------------------------------------------------------------------------------------------ */

/* The first line that a command prints, or "unknown". */
static void read_command(char *text, size_t capacity, const char *command) {
    FILE *pipe = popen(command, "r");
    snprintf(text, capacity, "unknown");
    if (!pipe) return;
    if (fgets(text, (int)capacity, pipe)) text[strcspn(text, "\n")] = '\0';
    pclose(pipe);
    if (!*text) snprintf(text, capacity, "unknown");
}

void report_heading(int ncores, int nrepeats_min, int cpu_time, const char *backend) {
    char commit[128], cpu[128], date[32];
    time_t t = time(NULL);
    read_command(commit, sizeof commit, "git describe --always --dirty 2>/dev/null");
    read_command(cpu, sizeof cpu, "LC_ALL=C lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1");
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&t));
    report("# csz-bench\n\n");
    report("%s, commit %s, csz %s, backend %s, %s (%s), %d core%s, %s.\n", date, commit, csz_version_string(),
           backend, cpu, csz_cpu_isa(), ncores, ncores == 1 ? "" : "s",
#ifdef __clang__
           __VERSION__
#else
           "gcc " __VERSION__
#endif
    );
    report("Bounds relative to the value range. Speeds in MB of the field a second, in memory, coders taking "
           "turns, "
           "median of at least %d. zfp: accuracy mode at the same absolute bound; zstd: level 1 on the raw "
           "bytes. "
           "L+H: size by Lorenzo + Huffman with the paper's chunks, metadata included. csz is verified "
           "against its "
           "bound, exactly, before it is timed.%s\n",
           nrepeats_min,
           cpu_time ? " One thread: CPU time; several: wall clock, so that these two must not be compared."
                    : "");
}

/* ---- One bound ---------------------------------------------------------------------------------------- */

static double ratio_of(const bench_measurement *m, size_t nbytes) {
    return nbytes ? (double)m->field->nbytes / (double)nbytes : NAN;
}

static double slot_ratio(const bench_measurement *m, bench_slot slot) {
    return m->slots[slot].present ? ratio_of(m, m->slots[slot].nbytes) : NAN;
}

static double slot_speed(const bench_measurement *m, bench_slot slot, int decompress) {
    const bench_timing *t = &m->slots[slot];
    double seconds = decompress ? t->decompress : t->compress;
    return t->present && seconds > 0 ? 1e-6 * (double)m->field->nbytes / seconds : NAN;
}

static int is_below_paper(const bench_measurement *m) {
    return m->paper_nbytes && m->slots[SLOT_CSZ_1].nbytes > m->paper_nbytes;
}

/* A cell of a table: the number, or a dash where it was not measured. */
static void report_cell(int width, int decimals, double value) {
    if (isnan(value))
        report(" %*s |", width, "-");
    else
        report(" %*.*f |", width, decimals, value);
}

static void format_dims(char *text, size_t capacity, const csz_field *shape) {
    size_t at = 0;
    for (int i = 0; i < shape->ndim && at < capacity; i++)
        at += (size_t)snprintf(text + at, capacity - at, i ? "x%llu" : "%llu",
                               (unsigned long long)shape->dims[i]);
}

void report_bound(const bench_measurement *measurements, int n, int bound_index, int ncores) {
    int has_missing = 0, has_below = 0, has_broken = 0;
    report("\n## Relative %s\n\n", bound_names[bound_index]);
    report("| %-23s | %-11s | type | ratio csz | %6s | %6s | %6s | comp. csz 1 | csz %2d | zfp 1 | zfp %2d | "
           "zstd 1 | "
           "decomp. csz 1 | csz %2d | zfp 1 | zstd 1 | memcpy |\n",
           "field", "dims", "L+H", "zfp", "zstd", ncores, ncores, ncores);
    report("|-------------------------|-------------|------|----------:|-------:|-------:|-------:|----------"
           "--:|-------:"
           "|------:|-------:|-------:|--------------:|-------:|------:|-------:|-------:|\n");
    for (int i = 0; i < n; i++) {
        const bench_measurement *m = &measurements[i];
        char dims[48], name[80];
        if (m->bound_index != bound_index) continue;
        format_dims(dims, sizeof dims, &m->field->shape);
        snprintf(name, sizeof name, "%s%s%s%s", m->field->name, m->field->n_missing ? " *" : "",
                 is_below_paper(m) ? " !" : "", m->slots[SLOT_ZFP_1].present && !m->zfp_holds ? " ~" : "");
        has_missing |= m->field->n_missing != 0;
        has_below |= is_below_paper(m);
        has_broken |= m->slots[SLOT_ZFP_1].present && !m->zfp_holds;
        report("| %-23s | %-11s | %-4s |", name, dims, m->field->shape.type == CSZ_F32 ? "f32" : "f64");
        report_cell(9, 2, slot_ratio(m, SLOT_CSZ_1));
        report_cell(6, 2, ratio_of(m, m->paper_nbytes));
        report_cell(6, 2, slot_ratio(m, SLOT_ZFP_1));
        report_cell(6, 2, slot_ratio(m, SLOT_ZSTD));
        report_cell(11, 0, slot_speed(m, SLOT_CSZ_1, 0));
        report_cell(6, 0, slot_speed(m, SLOT_CSZ_ALL, 0));
        report_cell(5, 0, slot_speed(m, SLOT_ZFP_1, 0));
        report_cell(6, 0, slot_speed(m, SLOT_ZFP_ALL, 0));
        report_cell(6, 0, slot_speed(m, SLOT_ZSTD, 0));
        report_cell(13, 0, slot_speed(m, SLOT_CSZ_1, 1));
        report_cell(6, 0, slot_speed(m, SLOT_CSZ_ALL, 1));
        report_cell(5, 0, slot_speed(m, SLOT_ZFP_1, 1));
        report_cell(6, 0, slot_speed(m, SLOT_ZSTD, 1));
        report_cell(6, 0, slot_speed(m, SLOT_MEMCPY, 0));
        report("\n");
    }
    if (has_missing || has_below || has_broken) report("\n");
    if (has_missing) report("`*` missing values; zfp and L+H, which know none, get 0 in their place.\n");
    if (has_below) report("`!` csz's ratio is below that of L+H.\n");
    if (has_broken) report("`~` zfp exceeds the bound.\n");
}

/* ---- Stages ------------------------------------------------------------------------------------------- */

void report_stages(const bench_measurement *measurements, int n, int bound_index) {
    report("\n## Where the time goes, relative %s, one thread, nanoseconds a value\n\n",
           bound_names[bound_index]);
    report("| %-23s | range | sample | books | quantize | encode | place | compress | books | decode | "
           "restore | place | "
           "decompress |\n",
           "field");
    report("|-------------------------|------:|-------:|------:|---------:|-------:|------:|---------:|------"
           ":|-------:|"
           "--------:|------:|-----------:|\n");
    for (int i = 0; i < n; i++) {
        const bench_measurement *m = &measurements[i];
        const csz_stages *c = &m->compress, *d = &m->decompress;
        const double scale = 1e9 / (double)m->field->n;
        if (m->bound_index != bound_index) continue;
        report("| %-23s |", m->field->name);
        report_cell(5, 3, scale * c->range);
        report_cell(6, 3, scale * c->sample);
        report_cell(5, 3, scale * c->books);
        report_cell(8, 3, scale * c->quantize);
        report_cell(6, 3, scale * c->encode);
        report_cell(5, 3, scale * c->place);
        report_cell(8, 3, scale * c->total);
        report_cell(5, 3, scale * d->books);
        report_cell(6, 3, scale * d->decode);
        report_cell(7, 3, scale * d->restore);
        report_cell(5, 3, scale * d->place);
        report_cell(10, 3, scale * d->total);
        report("\n");
    }
}

/* ---- Means -------------------------------------------------------------------------------------------- */

typedef enum group { GROUP_DATA_F32, GROUP_DATA_ALL, GROUP_GENERATED, NGROUPS } group;
static const char *const group_names[NGROUPS] = {"real, f32", "real, all", "generated"};

static int is_in_group(const bench_measurement *m, group g) {
    if (g == GROUP_GENERATED || m->field->is_generated) return g == GROUP_GENERATED && m->field->is_generated;
    return g == GROUP_DATA_ALL || m->field->shape.type == CSZ_F32;
}

/* What a mean is taken of. */
typedef enum quantity {
    RATIO_CSZ,
    RATIO_ZFP,
    RATIO_PAPER,
    COMPRESS_CSZ,
    COMPRESS_ZFP,
    DECOMPRESS_CSZ,
    DECOMPRESS_ZFP,
    COMPRESS_CSZ_2,
    DECOMPRESS_CSZ_2
} quantity;

static double value_of(const bench_measurement *m, quantity q) {
    switch (q) {
    case RATIO_CSZ: return slot_ratio(m, SLOT_CSZ_1);
    case RATIO_ZFP: return slot_ratio(m, SLOT_ZFP_1);
    case RATIO_PAPER: return ratio_of(m, m->paper_nbytes);
    case COMPRESS_CSZ: return slot_speed(m, SLOT_CSZ_1, 0);
    case COMPRESS_ZFP: return slot_speed(m, SLOT_ZFP_1, 0);
    case DECOMPRESS_CSZ: return slot_speed(m, SLOT_CSZ_1, 1);
    case DECOMPRESS_ZFP: return slot_speed(m, SLOT_ZFP_1, 1);
    case COMPRESS_CSZ_2: return slot_speed(m, SLOT_CSZ_2, 0);
    default: return slot_speed(m, SLOT_CSZ_2, 1);
    }
}

/* Geometric mean over the group at a bound; NaN when nothing was measured. */
static double mean_of(const bench_measurement *measurements, int n, group g, int bound_index, quantity q) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (measurements[i].bound_index == bound_index && is_in_group(&measurements[i], g)) {
            sum += log(value_of(&measurements[i], q));
            count++;
        }
    return count ? exp(sum / count) : NAN;
}

static int count_group(const bench_measurement *measurements, int n, group g) {
    int count = 0;
    for (int i = 0; i < n; i++) count += measurements[i].bound_index == 0 && is_in_group(&measurements[i], g);
    return count;
}

static void report_goal(const char *text, double value, double goal) {
    if (isnan(value))
        report("| %-66s | %8s | %5.1f | %-7s |\n", text, "-", goal, "-");
    else
        report("| %-66s | %8.2f | %5.1f | %-7s |\n", text, value, goal, value >= goal ? "reached" : "MISSED");
}

static void report_goals(const bench_measurement *measurements, int n) {
    static const double ratio_goals[BENCH_NBOUNDS] = {50, 21, 10.5};
    char text[128];
    double csz, zfp;

    report("\n## Goals\n\n| %-66s | %8s | %5s | %-7s |\n", "goal", "measured", "goal", "");
    report("|--------------------------------------------------------------------|---------:|------:|--------"
           "-|\n");
    for (int b = 0; b < BENCH_NBOUNDS; b++) {
        snprintf(text, sizeof text, "mean ratio over all real fields at %s", bound_names[b]);
        report_goal(text, mean_of(measurements, n, GROUP_DATA_ALL, b, RATIO_CSZ), ratio_goals[b]);
    }
    csz = mean_of(measurements, n, GROUP_DATA_F32, 1, COMPRESS_CSZ);
    zfp = mean_of(measurements, n, GROUP_DATA_F32, 1, COMPRESS_ZFP);
    report_goal("compress, csz / zfp, real f32 fields at 1e-3, one thread", csz / zfp, 3);
    report_goal("compress, two threads / one, real f32 fields at 1e-3",
                mean_of(measurements, n, GROUP_DATA_F32, 1, COMPRESS_CSZ_2) / csz, 1.8);
    csz = mean_of(measurements, n, GROUP_DATA_F32, 1, DECOMPRESS_CSZ);
    zfp = mean_of(measurements, n, GROUP_DATA_F32, 1, DECOMPRESS_ZFP);
    report_goal("decompress, csz / zfp, real f32 fields at 1e-3, one thread", csz / zfp, 3);
    report_goal("decompress, two threads / one, real f32 fields at 1e-3",
                mean_of(measurements, n, GROUP_DATA_F32, 1, DECOMPRESS_CSZ_2) / csz, 1.8);

    int below = 0;
    report("\nFields whose ratio is below Lorenzo + Huffman with the paper's chunks:");
    for (int i = 0; i < n; i++)
        if (is_below_paper(&measurements[i])) {
            report("%s %s at %s (%.2f, %.2f)", below++ ? "," : "", measurements[i].field->name,
                   bound_names[measurements[i].bound_index], value_of(&measurements[i], RATIO_CSZ),
                   value_of(&measurements[i], RATIO_PAPER));
        }
    report("%s.\n", below ? "" : " none");
}

void report_summary(const bench_measurement *measurements, int n, int ncores) {
    report("\n## Geometric means, one thread\n\n");
    report("| fields    |  n | bound | ratio csz |   L+H |   zfp | csz/zfp | comp. csz |   zfp | csz/zfp | "
           "decomp. csz | "
           "  zfp | csz/zfp | 2 threads/1 comp. | decomp. |\n");
    report("|-----------|---:|-------|----------:|------:|------:|--------:|----------:|------:|--------:|---"
           "---------:|-"
           "-----:|--------:|------------------:|--------:|\n");
    for (group g = 0; g < NGROUPS; g++) {
        const int count = count_group(measurements, n, g);
        for (int b = 0; count && b < BENCH_NBOUNDS; b++) {
            double mean[DECOMPRESS_CSZ_2 + 1];
            for (quantity q = 0; q <= DECOMPRESS_CSZ_2; q++) mean[q] = mean_of(measurements, n, g, b, q);
            report("| %-9s | %2d | %-5s |", group_names[g], count, bound_names[b]);
            report_cell(9, 2, mean[RATIO_CSZ]);
            report_cell(5, 2, mean[RATIO_PAPER]);
            report_cell(5, 2, mean[RATIO_ZFP]);
            report_cell(7, 2, mean[RATIO_CSZ] / mean[RATIO_ZFP]);
            report_cell(9, 0, mean[COMPRESS_CSZ]);
            report_cell(5, 0, mean[COMPRESS_ZFP]);
            report_cell(7, 2, mean[COMPRESS_CSZ] / mean[COMPRESS_ZFP]);
            report_cell(11, 0, mean[DECOMPRESS_CSZ]);
            report_cell(5, 0, mean[DECOMPRESS_ZFP]);
            report_cell(7, 2, mean[DECOMPRESS_CSZ] / mean[DECOMPRESS_ZFP]);
            report_cell(17, 2, mean[COMPRESS_CSZ_2] / mean[COMPRESS_CSZ]);
            report_cell(7, 2, mean[DECOMPRESS_CSZ_2] / mean[DECOMPRESS_CSZ]);
            report("\n");
        }
    }
    if (ncores == 1) report("\nTwo threads were not measured: there is one core.\n");
    if (count_group(measurements, n, GROUP_DATA_ALL)) report_goals(measurements, n);
}
