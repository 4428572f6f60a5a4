/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evaluate.c: csz-evaluate, the measurements behind docs/evaluation.md.  Every field (real ones of a list,
 * generated ones, published ones where they are at hand) at the paper's three bounds: sizes of the paper's
 * pipelines and of our workflows, the analysis from a sample and in full, quality, and times of both
 * workflows, all on the CPU (csz-gpu-fields
 * --workflows times a GPU).  One JSON object a line; tables.py makes tables of them.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "paper_huffman.h"

typedef struct settings {
    const char *list_path, *data_folder, *sdrbench, *only, *csz;
    fields_scale scale;
    int nthreads, quick, share;
    FILE *out;
} settings;

static const char usage[] = "usage: csz-evaluate --out FILE [--fields LIST --data FOLDER] [--sdrbench "
                            "FOLDER] [--scale tiny|small|paper]\n"
                            "                    [--only NAME] [--quick] [-j N]\n"
                            "       csz-evaluate --share --out FILE --fields LIST --data FOLDER [--csz "
                            "COMMAND] [--only NAME]\n";

static void put_number(FILE *out, const char *key, double value) {
    if (isfinite(value))
        fprintf(out, ", \"%s\": %.9g", key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

static void put_analysis(FILE *out, const csz_analysis *a, const csz_analysis *sampled) {
    const csz_statistics *s = &a->statistics;
    put_number(out, "p1", s->p1);
    put_number(out, "entropy", s->entropy);
    put_number(out, "bits_lower", s->bits_lower);
    put_number(out, "bits_upper", s->bits_upper);
    put_number(out, "huffman_bits", a->huffman_bits);
    put_number(out, "rle_bits", a->rle_bits);
    put_number(out, "rle_vle_bits", a->rle_vle_bits);
    put_number(out, "smoothness", a->codes.smoothness);
    put_number(out, "smoothness_quanta", a->quanta.smoothness);
    put_number(out, "outlier_share", a->outlier_share);
    put_number(out, "exception_share", a->exception_share);
    fprintf(out, ", \"rle_advised\": %s", s->rle_advised ? "true" : "false");
    fprintf(out, ", \"sizes\": [%llu, %llu, %llu, %llu]", (unsigned long long)a->workflow[0].nbytes,
            (unsigned long long)a->workflow[1].nbytes, (unsigned long long)a->workflow[2].nbytes,
            (unsigned long long)a->workflow[3].nbytes);
    fprintf(out, ", \"predicted\": [%llu, %llu, %llu, %llu]",
            (unsigned long long)sampled->workflow[0].nbytes_predicted,
            (unsigned long long)sampled->workflow[1].nbytes_predicted,
            (unsigned long long)sampled->workflow[2].nbytes_predicted,
            (unsigned long long)sampled->workflow[3].nbytes_predicted);
    fprintf(out, ", \"errors\": [%.6g, %.6g, %.6g, %.6g], \"best_undecided\": %s", sampled->workflow[0].error,
            sampled->workflow[1].error, sampled->workflow[2].error, sampled->workflow[3].error,
            sampled->best_is_undecided ? "true" : "false");
    fprintf(out, ", \"predictors\": {\"pyramids\": %llu, \"frames\": %llu, \"sizes\": [%llu, %llu, %llu]",
            (unsigned long long)a->npyramids, (unsigned long long)a->nframes,
            (unsigned long long)a->predictor[0].nbytes, (unsigned long long)a->predictor[1].nbytes,
            (unsigned long long)a->predictor[2].nbytes);
    fprintf(out, ", \"predicted\": [%llu, %llu, %llu], \"errors\": [%.6g, %.6g, %.6g]}",
            (unsigned long long)sampled->predictor[0].nbytes_predicted,
            (unsigned long long)sampled->predictor[1].nbytes_predicted,
            (unsigned long long)sampled->predictor[2].nbytes_predicted, sampled->predictor[0].error,
            sampled->predictor[1].error, sampled->predictor[2].error);
    fprintf(out, ", \"rle_advised_sampled\": %s, \"rle_undecided\": %s",
            sampled->statistics.rle_advised ? "true" : "false", sampled->rle_is_undecided ? "true" : "false");
    put_number(out, "p1_sampled", sampled->statistics.p1);
    put_number(out, "p1_error", sampled->p1_error);
    put_number(out, "entropy_sampled", sampled->statistics.entropy);
    put_number(out, "entropy_error", sampled->entropy_error);
    fprintf(out, ", \"reason\": \"%s\"", a->reason);
}

/* Best of a few runs each way with one workflow; the archive and the restored field stay in the buffers. */
static int time_workflow(FILE *out, const settings *s, csz_context *context, const bench_field *f,
                         csz_options *o, void *archive, size_t capacity, void *restored) {
    static const char *const names[] = {"auto", "huffman", "rle", "rle_vle"};
    size_t nbytes = 0;
    double compress = INFINITY, decompress = INFINITY;
    csz_stages stages;
    csz_decompress_options decoding;
    csz_decompress_options_init(&decoding);
    decoding.backend = o->backend;
    decoding.threads = o->threads;
    for (int i = 0; i < (s->quick ? 1 : 3); i++) {
        double start = evaluate_seconds();
        if (csz_compress(context, archive, capacity, &nbytes, f->data, &f->shape, o) != CSZ_OK) return -1;
        double middle = evaluate_seconds();
        if (csz_decompress(context, restored, f->nbytes, archive, nbytes, &decoding) != CSZ_OK) return -1;
        double end = evaluate_seconds();
        compress = fmin(compress, middle - start);
        decompress = fmin(decompress, end - middle);
    }
    fprintf(out, ", \"time_%s\": {\"compress\": %.6g, \"decompress\": %.6g, \"backend\": \"%s\"",
            names[o->workflow], compress, decompress,
            csz_context_backend(context) == CSZ_BACKEND_CUDA ? "cuda" : "cpu");
    csz_context_profile(context, 1);
    int failed = csz_compress(context, archive, capacity, &nbytes, f->data, &f->shape, o) != CSZ_OK;
    csz_context_stages(context, &stages, sizeof stages);
    fprintf(out,
            ", \"range\": %.6g, \"sample\": %.6g, \"books\": %.6g, \"quantize\": %.6g, \"encode\": %.6g, "
            "\"place\": %.6g",
            stages.range, stages.sample, stages.books, stages.quantize, stages.encode, stages.place);
    failed |= csz_decompress(context, restored, f->nbytes, archive, nbytes, &decoding) != CSZ_OK;
    csz_context_stages(context, &stages, sizeof stages);
    csz_context_profile(context, 0);
    fprintf(out, ", \"decode\": %.6g, \"restore\": %.6g}", stages.decode, stages.restore);
    return failed ? -1 : 0;
}

static int evaluate_field(const settings *s, csz_context *context, const char *dataset, const char *source,
                          const bench_field *f) {
    static const double bounds[] = {1e-2, 1e-3, 1e-4};
    enum { NBOUNDS = 3 };
    static csz_analysis exact[NBOUNDS], sampled[NBOUNDS];
    csz_options o;
    size_t capacity;
    csz_options_init(&o);
    o.bound_mode = CSZ_BOUND_REL;
    o.threads = s->nthreads;
    o.backend = CSZ_BACKEND_CPU;
    o.has_fill = f->has_fill;
    o.fill = f->fill;
    o.predictor = CSZ_PREDICTOR_AUTO; /* of the analyses and what they are timed against */
    if (csz_compress_bound(&capacity, &f->shape, &o) != CSZ_OK) return -1;
    void *archive = malloc(capacity), *restored = malloc(f->nbytes);
    int failed =
        !archive || !restored ||
        csz_analyze(context, sampled, sizeof *sampled, bounds, NBOUNDS, f->data, &f->shape, &o, 0) !=
            CSZ_OK ||
        csz_analyze(context, exact, sizeof *exact, bounds, NBOUNDS, f->data, &f->shape, &o, 1) != CSZ_OK;
    /* CPU seconds of one thread, all bounds together as the range is found once, against as many archives */
    double sampled_seconds = INFINITY, archived_seconds = INFINITY;
    o.threads = 1;
    for (int i = 0; !failed && i < 3; i++) {
        size_t nbytes;
        double start = evaluate_cpu_seconds();
        failed = csz_analyze(context, sampled, sizeof *sampled, bounds, NBOUNDS, f->data, &f->shape, &o, 0) !=
                 CSZ_OK;
        double middle = evaluate_cpu_seconds();
        for (int b = 0; !failed && b < NBOUNDS; b++) {
            o.bound = bounds[b];
            failed = csz_compress(context, archive, capacity, &nbytes, f->data, &f->shape, &o) != CSZ_OK;
        }
        sampled_seconds = fmin(sampled_seconds, middle - start);
        archived_seconds = fmin(archived_seconds, evaluate_cpu_seconds() - middle);
    }
    o.threads = s->nthreads;
    o.predictor = CSZ_PREDICTOR_LORENZO; /* of the paper's workflows */
    for (int b = 0; !failed && b < NBOUNDS; b++) {
        paper_sizes paper;
        csz_quality q;
        csz_metrics metrics;
        FILE *out = s->out;
        fprintf(out,
                "{\"kind\": \"field\", \"dataset\": \"%s\", \"source\": \"%s\", \"field\": \"%s\", \"type\": "
                "\"%s\", \"nbytes\": %zu, \"n\": %zu",
                dataset, source, f->name, f->shape.type == CSZ_F32 ? "f32" : "f64", f->nbytes, f->n);
        fprintf(out, ", \"dims\": \"");
        for (int d = 0; d < f->shape.ndim; d++)
            fprintf(out, "%s%llu", d ? "x" : "", (unsigned long long)f->shape.dims[d]);
        fprintf(out, "\"");
        put_number(out, "bound", bounds[b]);
        put_number(out, "bound_abs", exact[b].bound_abs);
        if (exact[b].bound_abs > 0 && paper_measure(&paper, f->plain, &f->shape, exact[b].bound_abs, 1) == 0)
            fprintf(out,
                    ", \"paper\": {\"qg\": %zu, \"qh\": %zu, \"qhg\": %zu, \"rle\": %zu, \"rle_vle\": %zu, "
                    "\"outliers\": %zu}",
                    paper.qg, paper.qh, paper.qhg, paper.rle, paper.rle_vle, paper.noutliers);
        put_analysis(out, &exact[b], &sampled[b]);
        put_number(out, "analyze_share", sampled_seconds / archived_seconds);
        o.bound = bounds[b];
        static const csz_workflow timed[] = {CSZ_WORKFLOW_HUFFMAN, CSZ_WORKFLOW_RLE_VLE, CSZ_WORKFLOW_AUTO};
        for (int w = 0; !failed && w < 3; w++) {
            o.workflow = timed[w];
            failed = time_workflow(out, s, context, f, &o, archive, capacity, restored) != 0;
        }
        o.workflow = CSZ_WORKFLOW_AUTO;
        if (!failed && csz_quality_measure(&q, sizeof q, &metrics, sizeof metrics, f->data, restored,
                                           &f->shape, exact[b].bound_abs, &o) == CSZ_OK) {
            put_number(out, "psnr", metrics.psnr);
            put_number(out, "ssim", q.ssim);
            put_number(out, "max_rel_error", q.max_rel_error);
            fprintf(out, ", \"violations\": %llu", (unsigned long long)metrics.violations);
        }
        fprintf(out, "}\n");
    }
    free(archive);
    free(restored);
    if (failed) fprintf(stderr, "csz-evaluate: %s/%s failed\n", dataset, f->name);
    return failed ? -1 : 0;
}

static int evaluate_real(const settings *s, csz_context *context, const char *folder) {
    static bench_field fields[BENCH_MAX_FIELDS];
    int n = 0, failed = s->list_path && s->data_folder &&
                        bench_fields_read(fields, &n, s->list_path, s->data_folder) != 0;
    for (int i = 0; !failed && i < n; i++) {
        char name[8 + sizeof fields[i].name];
        snprintf(name, sizeof name, "real/%.*s", (int)sizeof fields[i].name, fields[i].name);
        if (s->only && !strstr(name, s->only)) continue;
        fprintf(stderr, "  %s\n", fields[i].name);
        if (s->share)
            failed = evaluate_share(s->out, &fields[i], s->csz, folder) != 0;
        else
            failed = evaluate_field(s, context, "real", "real", &fields[i]) != 0;
    }
    bench_fields_free(fields, n);
    return failed;
}

/* Of a series only the first: the others are much the same. */
static int is_wanted(const settings *s, const fields_entry *e) {
    if (strcmp(e->family, "synthetic") == 0) return 0;
    if (strcmp(e->family, "rtm") == 0 && e->which != 2800) return 0;
    char name[64];
    snprintf(name, sizeof name, "%s/%s", e->family, e->name);
    return !s->only || strstr(name, s->only);
}

static int evaluate_catalogue(const settings *s, csz_context *context, const char *folder) {
    int failed = 0;
    for (int i = 0; !failed && i < fields_catalogue_n; i++) {
        const fields_entry *e = &fields_catalogue[i];
        float *values = NULL;
        if (!is_wanted(s, e) || (s->share && e->which && e->which != 2800)) continue;
        fprintf(stderr, "  %s/%s\n", e->family, e->name);
        int found = s->sdrbench ? fields_read_published(&values, e, s->sdrbench) : 0;
        if (found < 0) return 1;
        bench_field f = {.shape = fields_shape(e, found ? FIELDS_PAPER : s->scale)};
        if (!found) values = fields_generate(e, s->scale, s->nthreads);
        if (!values) return 1;
        snprintf(f.name, sizeof f.name, "%s", e->name);
        f.n = (size_t)fields_count(&f.shape);
        f.nbytes = f.n * sizeof *values;
        f.data = f.plain = values;
        if (s->share)
            failed = evaluate_share(s->out, &f, s->csz, folder) != 0;
        else
            failed = evaluate_field(s, context, e->family, found ? "published" : "generated", &f) != 0;
        free(values);
    }
    return failed;
}

/* Shares of the fields, whose files for the command lie in a folder that is gone afterwards. */
static int evaluate_shares(const settings *s) {
    char folder[] = "/tmp/csz-evaluate-XXXXXX", path[64];
    if (!mkdtemp(folder)) return 1;
    int failed = evaluate_real(s, NULL, folder) || evaluate_catalogue(s, NULL, folder);
    snprintf(path, sizeof path, "%s/field.raw", folder);
    remove(path);
    snprintf(path, sizeof path, "%s/field.csz", folder);
    remove(path);
    rmdir(folder);
    return failed;
}

static int parse(settings *s, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            s->quick = 1;
            continue;
        }
        if (strcmp(argv[i], "--share") == 0) {
            s->share = 1;
            continue;
        }
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value) return -1;
        if (strcmp(argv[i], "--fields") == 0) {
            s->list_path = value;
        } else if (strcmp(argv[i], "--data") == 0) {
            s->data_folder = value;
        } else if (strcmp(argv[i], "--sdrbench") == 0) {
            s->sdrbench = value;
        } else if (strcmp(argv[i], "--only") == 0) {
            s->only = value;
        } else if (strcmp(argv[i], "--csz") == 0) {
            s->csz = value;
        } else if (strcmp(argv[i], "-j") == 0) {
            s->nthreads = atoi(value);
        } else if (strcmp(argv[i], "--out") == 0) {
            s->out = fopen(value, "w");
            if (!s->out) fprintf(stderr, "csz-evaluate: cannot write %s\n", value);
        } else if (strcmp(argv[i], "--scale") == 0) {
            int k = 0;
            while (k < FIELDS_NSCALES && strcmp(value, fields_scale_names[k]) != 0) k++;
            if (k == FIELDS_NSCALES) return -1;
            s->scale = (fields_scale)k;
        } else {
            return -1;
        }
        i++;
    }
    return s->out && s->nthreads > 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    const long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    settings s = {.scale = FIELDS_SMALL, .nthreads = ncores > 0 ? (int)ncores : 1};
    csz_context *context;
    if (parse(&s, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (s.share) {
        int failed = evaluate_shares(&s);
        return fclose(s.out) != 0 || failed;
    }
    if (csz_context_create(&context) != CSZ_OK) return 1;
    fprintf(s.out, "{\"kind\": \"machine\", \"threads\": %d, \"scale\": \"%s\", \"cuda\": %s}\n", s.nthreads,
            fields_scale_names[s.scale], csz_backend_available(CSZ_BACKEND_CUDA) ? "true" : "false");
    int failed = evaluate_real(&s, context, NULL) || evaluate_catalogue(&s, context, NULL);
    if (!failed && !s.only)
        failed = evaluate_series(s.out, s.scale, s.nthreads) || evaluate_reconstruction(s.out, s.quick);
    csz_context_destroy(context);
    if (fclose(s.out) != 0) failed = 1;
    return failed;
}
