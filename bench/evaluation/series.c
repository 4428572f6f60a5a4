/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * series.c: would the books of one snapshot do for the next?  Snapshots of one wave are coded with their own
 * books and with those of the first and of the one before; the time that counting and building books takes of
 * compressing is what reuse could save.  Looks inside the library, as the tests do.
 */
#include "evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/tile.h"
#include "cpu/frame.h"

enum { NSNAPSHOTS = 4 };

/* Tables from the snapshot's whole first frame; every symbol gets a code, as the next snapshot may have what
 * this one lacks. */
static void make_tables(csz_code_tables *tables, csz_tile_work *w, const csz_tile_plan *plan,
                        const void *data, int complete) {
    static csz_histograms sample;
    static csz_tally tally;
    static csz_builtin_cache cache; /* warm, as a context's is */
    csz_book books[CSZ_NBOOKS];
    csz_frame_box frame = csz_frame_box_at(&plan->geometry, 0);
    uint32_t nsamples = csz_sample_count(frame.ntiles), stride = csz_sample_stride(frame.ntiles);
    memset(&sample, 0, sizeof sample);
    memset(&tally, 0, sizeof tally);
    for (uint32_t s = 0; s < nsamples; s++) {
        csz_tile_box box = csz_tile_box_at(&plan->geometry, &frame, csz_sample_tile(s, frame.ntiles));
        csz_tile_quantize(w, plan, data, &box);
        if (!w->is_fill) csz_tile_measure(w);
        csz_tile_count(w, plan, &tally);
    }
    csz_tally_add(&sample, &tally);
    csz_books_choose(books, &cache, &sample, frame.ntiles, complete && stride == 1 ? 2 : stride);
    csz_code_tables_make(tables, books);
}

static uint64_t coded_nbytes(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                             const void *data) {
    uint64_t words = 0;
    csz_frame_box frame = csz_frame_box_at(&plan->geometry, 0);
    for (uint32_t t = 0; t < frame.ntiles; t++) {
        csz_tile_box box = csz_tile_box_at(&plan->geometry, &frame, t);
        csz_tile_quantize(w, plan, data, &box);
        if (!w->is_fill) csz_tile_measure(w);
        words += csz_tile_encode(w, plan, tables, data, &box);
    }
    return 4 * words;
}

static csz_tile_plan plan_of(const csz_field *shape, double bound_abs) {
    csz_header h;
    memset(&h, 0, sizeof h);
    h.field = *shape;
    h.bound_abs = bound_abs;
    csz_geometry_of(&h.geometry, shape);
    return csz_tile_plan_of(&h);
}

/* Least CPU seconds of a few runs of one thread: compressing, and what of it reuse would save: counting the
 * sample and building books, but not quantizing, as the deltas are kept for coding. */
static int time_reuse(csz_context *context, csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                      const csz_field *shape, csz_options *o, void *archive, size_t capacity, size_t *nbytes,
                      double *whole, double *saved) {
    static csz_code_tables tables;
    csz_frame_box frame = csz_frame_box_at(&plan->geometry, 0);
    *whole = *saved = 1e9;
    o->threads = 1;
    for (int i = 0; i < 4; i++) {
        double start = evaluate_cpu_seconds();
        if (csz_compress(context, archive, capacity, nbytes, data, shape, o) != CSZ_OK) return -1;
        double compressed = evaluate_cpu_seconds();
        make_tables(&tables, w, plan, data, 0);
        double made = evaluate_cpu_seconds();
        for (uint32_t s = 0; s < csz_sample_count(frame.ntiles); s++) {
            csz_tile_box box = csz_tile_box_at(&plan->geometry, &frame, csz_sample_tile(s, frame.ntiles));
            csz_tile_quantize(w, plan, data, &box);
        }
        double quantized = evaluate_cpu_seconds() - made;
        if (compressed - start < *whole) *whole = compressed - start;
        if (made - compressed - quantized < *saved) *saved = made - compressed - quantized;
    }
    return 0;
}

static int series_at(FILE *out, float **values, const csz_field *shape, double bound) {
    csz_context *context = NULL;
    csz_options o;
    csz_info info;
    size_t capacity, nbytes = 0;
    csz_tile_work *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    static csz_code_tables own, complete, first, before;
    csz_options_init(&o);
    o.bound_mode = CSZ_BOUND_REL;
    o.bound = bound;
    o.backend = CSZ_BACKEND_CPU;
    int failed =
        !w || csz_context_create(&context) != CSZ_OK || csz_compress_bound(&capacity, shape, &o) != CSZ_OK;
    uint8_t *archive = failed ? NULL : malloc(capacity);
    failed |= !archive;
    for (int i = 0; !failed && i < NSNAPSHOTS; i++) {
        double whole, saved;
        failed = csz_compress(context, archive, capacity, &nbytes, values[i], shape, &o) != CSZ_OK ||
                 csz_inspect(&info, sizeof info, archive, nbytes) != CSZ_OK;
        if (failed) break;
        csz_tile_plan plan = plan_of(shape, info.bound_abs);
        csz_tile_work_init(w, plan.geometry.rank);
        failed = time_reuse(context, w, &plan, values[i], shape, &o, archive, capacity, &nbytes, &whole,
                            &saved) != 0;
        make_tables(&own, w, &plan, values[i], 0);
        make_tables(&complete, w, &plan, values[i], 1);
        if (i == 0) first = before = complete;
        fprintf(out,
                "{\"kind\": \"series\", \"snapshot\": %d, \"bound\": %g, \"nbytes\": %zu, \"payload\": %llu, "
                "\"payload_first\": %llu, \"payload_before\": %llu, \"saved_share\": %.4f}\n",
                i, bound, nbytes, (unsigned long long)coded_nbytes(w, &plan, &own, values[i]),
                (unsigned long long)coded_nbytes(w, &plan, &first, values[i]),
                (unsigned long long)coded_nbytes(w, &plan, &before, values[i]), saved / whole);
        before = complete;
    }
    free(archive);
    free(w);
    csz_context_destroy(context);
    return failed ? -1 : 0;
}

int evaluate_series(FILE *out, fields_scale scale, int nthreads) {
    static const char *const names[NSNAPSHOTS] = {"rtm/snapshot2800", "rtm/snapshot2810", "rtm/snapshot2820",
                                                  "rtm/snapshot2890"};
    static const double bounds[] = {1e-2, 1e-3, 1e-4};
    float *values[NSNAPSHOTS] = {NULL};
    csz_field shape = fields_shape(fields_find(names[0]), scale);
    int failed = 0;
    fprintf(stderr, "  snapshots of one wave\n");
    for (int i = 0; i < NSNAPSHOTS; i++) {
        values[i] = fields_generate(fields_find(names[i]), scale, nthreads);
        failed |= !values[i];
    }
    for (int b = 0; !failed && b < 3; b++) failed = series_at(out, values, &shape, bounds[b]) != 0;
    for (int i = 0; i < NSNAPSHOTS; i++) free(values[i]);
    return failed ? -1 : 0;
}
