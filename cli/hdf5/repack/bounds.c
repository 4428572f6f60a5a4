/* SPDX-License-Identifier: BSD-3-Clause */
/* bounds.c: each variable's bound, resolved over its whole dataset; sizes from some of its chunks, for a dry
 * run. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "csz_frames.h"

#include "process/allocate.h"
#include "common/notes.h"
#include "hdf5/h5path.h"
#include "terminal/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dry run compresses so many chunks of each variable, or fewer where these have so many bytes, but some. */
enum { MOST_SAMPLED = 256, LEAST_SAMPLED = 16, SAMPLED_NBYTES = 1 << 26 };

/* The options of the command, as they are of this variable. */
static cli_arguments arguments_of(const repacking *p, const cli_repack_variable *v) {
    cli_arguments arguments = *p->r->arguments;
    arguments.options = v->options;
    arguments.fill_choice = v->fill_choice;
    arguments.fill_of = v->path;
    return arguments;
}

void repack_note_coarse(const cli_repack_variable *v, double span, int is_sample) {
    const double floor = v->options.floor;
    if (!cli_is_coarse(v->options.bound_mode, v->bound_abs, floor, span)) return;
    cli_note("note: the %s of %s is %.4g, and its %svalues span %.4g: all may come back as one; give %s",
             floor > 0 ? "floor" : "bound", v->path, floor > 0 ? floor : v->bound_abs,
             is_sample ? "sampled " : "", span,
             floor > 0 ? "a smaller --floor" : "it a bound of its own with --var, or -m rel");
}

int repack_check_fill(const repacking *p, const cli_repack_variable *v, const csz_fill_watch *watch) {
    csz_fill_suspect suspect;
    const cli_arguments arguments = arguments_of(p, v);
    csz_fill_watch_result(&suspect, watch, v->type);
    return cli_fill_check(&suspect, &arguments, v->type, v->path);
}

/* The range of the values, and whether a fill value was forgotten; the bound that follows. */
static int resolve(repacking *p, cli_repack_variable *v, hid_t dataset) {
    hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    csz_value_range range = {0, 0, 0};
    csz_fill_watch watch = {.n = 0};
    csz_fill_outlier outlier;
    repack_piece at = {.nelements = 0};
    int status = CLI_DONE, recounts = 0;
    repack_chunks_of(chunk, v, dataset);
    repack_piece_shape(shape, chunk, v);
    void *values =
        cli_allocate("a piece of a variable", repack_piece_nelements(shape, v) * cli_type_nbytes(v->type));
    if (!values) return CLI_FAILED;
    do { /* once more where something is suspicious, to count it */
        uint64_t first = 0;
        at.nelements = 0;
        while (status == CLI_DONE && repack_next_piece(&at, shape, v)) {
            if (!repack_move_piece(values, &at, repack_memory_type(v), dataset, 0)) {
                status = repack_fail_read(p, v->path);
                break;
            }
            (void)csz_fill_watch_add(&watch, values, first, at.nelements, v->type, v->nelements, &v->options);
            if (!recounts) (void)csz_range_add(&range, values, at.nelements, v->type, &v->options);
            first += at.nelements;
            if (!recounts) repack_count_done(p, v, at.nelements);
        }
    } while (status == CLI_DONE && !recounts && (recounts = csz_fill_watch_recount(&watch, &range, v->type)));
    free(values);
    const cli_arguments arguments = arguments_of(p, v);
    if (status == CLI_DONE) status = repack_check_fill(p, v, &watch);
    csz_fill_watch_outlier(&outlier, &watch, &range, v->type);
    if (status == CLI_DONE) (void)cli_fill_note_outlier(&outlier, &arguments, v->type, v->path);
    if (status == CLI_DONE && csz_range_bound(&v->bound_abs, &range, &v->options) != CSZ_OK)
        status = cli_fail("%s of %s has no bound; give one with --var", v->path, p->r->input_path);
    /* the filter takes no bound of 0: values that are all equal keep any */
    v->has_no_range = status == CLI_DONE && v->bound_abs == 0;
    if (v->has_no_range) v->bound_abs = 1e-300;
    return status;
}

/* The bound that an archive has: not a pointwise one that is finer than logarithms of the type. */
static int settle(cli_repack_variable *v) {
    const csz_field one = {v->type, 1, {1}};
    csz_plan *plan = NULL;
    csz_info info;
    csz_status status = csz_plan_create(&plan, &one, &v->options, NULL);
    if (status == CSZ_OK) status = csz_plan_info(&info, sizeof info, plan);
    csz_plan_destroy(plan);
    if (status != CSZ_OK) return cli_fail_status(status, "compress", v->path);
    if (!cli_note_fineness(&v->options, &info, v->path)) return CLI_DONE;
    v->options.bound_mode = info.bound_mode;
    v->options.bound = info.bound;
    v->options.floor = 0;
    return CLI_DONE;
}

int repack_find_bound(repacking *p, cli_repack_variable *v) {
    cli_h5_owned dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    cli_h5_location at = {.path = v->path, .fill_of = v->path};
    cli_arguments arguments = {.options = v->options};
    int status = dataset >= 0 ? CLI_DONE : repack_fail_read(p, v->path);
    if (status == CLI_DONE) status = cli_arguments_check_fill(&arguments, v->type);
    if (status == CLI_DONE && v->fill_choice != CLI_FILL_GIVEN && v->fill_choice != CLI_FILL_NONE)
        status = cli_h5_take_fill(&v->options, v->type, dataset, &at);
    if (status == CLI_DONE) status = cli_h5_check_filters(dataset, v->type, &at);
    if (status == CLI_DONE && v->options.bound_mode == CSZ_BOUND_PWR) status = settle(v);
    v->bound_abs = v->options.bound;
    if (status == CLI_DONE && cli_is_ranged(v->options.bound_mode)) status = resolve(p, v, dataset);
    return status;
}

/* Chunks as the filter sees them: whole ones, also where they reach beyond the dataset's end. */
typedef struct whole_chunk {
    hsize_t extent[H5S_MAX_RANK];
    csz_field field;
    uint64_t nelements;
    uint64_t padding; /* bits of what HDF5 puts beyond the end */
    int cut_is_plain; /* chunks that reach beyond the end do not pass through the filter */
} whole_chunk;

static whole_chunk describe_chunk(const cli_repack_variable *v, hid_t dataset) {
    whole_chunk chunk = {.field = {.type = v->type}, .nelements = 1};
    csz_field *field = &chunk.field;
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
    unsigned options = 0;
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(dataset);
    if (cli_h5.H5Pfill_value_defined(dcpl, &defined) >= 0 && defined == H5D_FILL_VALUE_USER_DEFINED &&
        cli_h5.H5Pget_fill_time(dcpl, &when) >= 0 && when != H5D_FILL_TIME_NEVER &&
        cli_h5.H5Pget_fill_value(dcpl, repack_memory_type(v), &chunk.padding) < 0)
        chunk.padding = 0;
    chunk.cut_is_plain = cli_h5.H5Pget_layout(dcpl) == H5D_CHUNKED &&
                         cli_h5.H5Pget_chunk_opts(dcpl, &options) >= 0 &&
                         (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    repack_chunks_of(chunk.extent, v, dataset);
    for (int d = 0; d < v->rank; d++) { /* of more than four dims the slowest become one */
        chunk.nelements *= chunk.extent[d];
        if (chunk.extent[d] == 1) continue;
        if (field->ndim == CSZ_MAX_NDIM) {
            field->dims[0] *= field->dims[1];
            memmove(field->dims + 1, field->dims + 2, (CSZ_MAX_NDIM - 2) * sizeof field->dims[0]);
            field->ndim--;
        }
        field->dims[field->ndim++] = chunk.extent[d];
    }
    if (field->ndim == 0) field->dims[field->ndim++] = 1;
    return chunk;
}

/* Chunk number i of the dataset, cut where the dataset ends. */
static void chunk_at(repack_piece *at, const whole_chunk *chunk, const cli_repack_variable *v, uint64_t i) {
    at->nelements = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        const hsize_t extent = chunk->extent[d], n = (v->dims[d] - 1) / extent + 1;
        at->begin[d] = i % n * extent;
        at->n[d] = v->dims[d] - at->begin[d] < extent ? v->dims[d] - at->begin[d] : extent;
        at->nelements *= at->n[d];
        i /= n;
    }
}

/* Its values, with the padding that HDF5 adds. */
static int read_chunk(void *values, const repack_piece *at, const whole_chunk *chunk,
                      const cli_repack_variable *v, hid_t dataset) {
    const hsize_t first[H5S_MAX_RANK] = {0};
    cli_h5_owned space = cli_h5.H5Dget_space(dataset),
                 memory = cli_h5.H5Screate_simple(v->rank, chunk->extent, NULL);
    for (uint64_t i = 0; at->nelements < chunk->nelements && i < chunk->nelements; i++)
        memcpy((char *)values + i * cli_type_nbytes(v->type), &chunk->padding, cli_type_nbytes(v->type));
    return space >= 0 && memory >= 0 &&
           cli_h5.H5Sselect_hyperslab(space, H5S_SELECT_SET, at->begin, NULL, at->n, NULL) >= 0 &&
           cli_h5.H5Sselect_hyperslab(memory, H5S_SELECT_SET, first, NULL, at->n, NULL) >= 0 &&
           cli_h5.H5Dread(dataset, repack_memory_type(v), memory, space, H5P_DEFAULT, values) >= 0;
}

/* What the filter makes of one chunk, in bytes. */
static csz_status compress_chunk(size_t *nbytes, csz_context *context, const void *values,
                                 const csz_field *field, const csz_options *options) {
    size_t capacity = 0;
    csz_status status = csz_compress_bound(&capacity, field, options);
    CLI_FREED void *archive = status == CSZ_OK ? malloc(capacity) : NULL;
    if (status == CSZ_OK && !archive) status = CSZ_ERROR_MEMORY;
    if (status == CSZ_OK) status = csz_compress(context, archive, capacity, nbytes, values, field, options);
    return status;
}

int repack_predict(repacking *p, cli_repack_variable *v) {
    cli_h5_owned dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    csz_context *context = NULL;
    csz_options options = v->options;
    if (cli_is_ranged(options.bound_mode)) options.bound_mode = CSZ_BOUND_ABS;
    if (options.bound_mode == CSZ_BOUND_EXACT) options.has_fill = 0; /* as of the filter */
    options.bound = v->bound_abs;
    options.backend = CSZ_BACKEND_CPU;
    if (dataset < 0) return repack_fail_read(p, v->path);
    const whole_chunk chunk = describe_chunk(v, dataset);
    const uint64_t chunk_nbytes = chunk.nelements * cli_type_nbytes(v->type);
    uint64_t nchunks = 1;
    for (int d = 0; d < v->rank; d++) nchunks *= (v->dims[d] - 1) / chunk.extent[d] + 1;
    uint64_t n =
        chunk_nbytes < SAMPLED_NBYTES / LEAST_SAMPLED ? SAMPLED_NBYTES / chunk_nbytes : LEAST_SAMPLED;
    if (n > MOST_SAMPLED) n = MOST_SAMPLED;
    if (n > nchunks) n = nchunks;
    void *values = cli_allocate("a chunk", chunk_nbytes);
    int status = values ? cli_context_create(&context) : CLI_FAILED;
    double sum = 0, squares = 0;
    csz_fill_watch watch = {.n = 0};
    uint64_t nwatched = 0;
    for (uint64_t i = 0; status == CLI_DONE && i < n; i++) { /* evenly over the dataset */
        repack_piece at;
        size_t nbytes = (size_t)chunk_nbytes;
        csz_status compressed = CSZ_OK;
        chunk_at(&at, &chunk, v, (uint64_t)(((double)i + 0.5) * (double)nchunks / (double)n));
        if (!repack_move_piece(values, &at, repack_memory_type(v), dataset, 0)) {
            status = repack_fail_read(p, v->path);
            break;
        }
        (void)csz_fill_watch_add(&watch, values, nwatched, at.nelements, v->type, n * chunk.nelements,
                                 &v->options);
        nwatched += at.nelements;
        if (at.nelements < chunk.nelements && !read_chunk(values, &at, &chunk, v, dataset)) {
            status = repack_fail_read(p, v->path);
            break;
        }
        if (!chunk.cut_is_plain || at.nelements == chunk.nelements)
            compressed = compress_chunk(&nbytes, context, values, &chunk.field, &options);
        if (compressed != CSZ_OK) status = cli_fail_status(compressed, "compress", v->path);
        sum += (double)nbytes;
        squares += (double)nbytes * (double)nbytes;
    }
    if (status == CLI_DONE && !cli_is_ranged(v->options.bound_mode))
        status = repack_check_fill(p, v, &watch); /* else it was when the range was found */
    if (status == CLI_DONE)
        repack_note_coarse(v, cli_range_width(&(csz_value_range){.has_values = 0}, &watch), n < nchunks);
    if (status == CLI_DONE) {
        const double mean = sum / (double)n, variance = n > 1 ? (squares - sum * mean) / (double)(n - 1) : 0;
        v->nbytes_after = (uint64_t)(mean * (double)nchunks);
        v->prediction_error = n < nchunks && n > 1 && variance > 0
                                  ? sqrt(variance / (double)n * (1 - (double)n / (double)nchunks)) / mean
                                  : 0;
        repack_count_done(p, v, v->nelements);
    }
    free(values);
    csz_context_destroy(context);
    return status;
}

#endif
