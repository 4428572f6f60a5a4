/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c: csz info: what an archive says of itself and how its tiles were coded.  Nothing is decoded. */
#include "command.h"
#include "common/attributes.h"
#include "terminal/message.h"
#include "common/report.h"
#include "files/source.h"

#include <pthread.h>

static const struct {
    const char *key, *text;
    size_t offset;
} tile_rows[] = {
    {"empty", "empty, no record", offsetof(csz_tile_counts, empty)},
    {"constant", "one quantum", offsetof(csz_tile_counts, constant)},
    {"fill", "one bit pattern", offsetof(csz_tile_counts, fill)},
    {"mask8", "M, eight codes a symbol", offsetof(csz_tile_counts, mask8)},
    {"quad", "Q, four codes a symbol", offsetof(csz_tile_counts, quad)},
    {"pair", "P, two codes a symbol", offsetof(csz_tile_counts, pair)},
    {"single", "S, one code a symbol", offsetof(csz_tile_counts, single)},
    {"rle", "run-length", offsetof(csz_tile_counts, rle)},
    {"rle_vle", "run-length + Huffman", offsetof(csz_tile_counts, rle_vle)},
    {"sparse", "few nonzero codes", offsetof(csz_tile_counts, sparse)},
    {"exact", "exact, bits of deltas", offsetof(csz_tile_counts, exact)},
    {"raw", "raw", offsetof(csz_tile_counts, raw)},
};
static const struct {
    const char *key, *text;
    size_t offset;
} other_rows[] = {
    {"masks", "masks of special values", offsetof(csz_tile_counts, masks)},
    {"exceptions", "values stored exactly", offsetof(csz_tile_counts, exceptions)},
    {"nbytes_books", "bytes of codebooks", offsetof(csz_tile_counts, nbytes_books)},
    {"nbytes_index", "bytes of index", offsetof(csz_tile_counts, nbytes_index)},
    {"nbytes_payload", "bytes of payload", offsetof(csz_tile_counts, nbytes_payload)},
};
enum {
    N_TILE_ROWS = sizeof tile_rows / sizeof tile_rows[0],
    N_OTHER_ROWS = sizeof other_rows / sizeof other_rows[0]
};

static uint64_t count_at(const csz_tile_counts *counts, size_t offset) {
    return *(const uint64_t *)((const char *)counts + offset);
}

static void print_json(const cli_archive_source *archive, const csz_tile_counts *counts, const char *path) {
    const csz_info *info = &archive->info;
    cli_report report;
    cli_json json;
    cli_report_init(&report, "info");
    report.input_path = path;
    report.info = info;
    report.field = &info->field;
    report.nbytes_in = info->nbytes_field;
    report.nbytes_out = info->nbytes_archive;
    report.npyramids = counts->npyramids;
    cli_report_json(&json, stdout, &report);
    cli_json_u64(&json, "format_version", (uint64_t)info->format_version);
    cli_json_u64(&json, "nelements", info->nelements);
    cli_json_u64(&json, "nbytes_field", info->nbytes_field);
    cli_json_u64(&json, "nbytes_archive", info->nbytes_archive);
    cli_json_u64(&json, "nframes", info->nframes);
    cli_json_u64(&json, "ntiles", info->ntiles);
    cli_json_u64_array(&json, "tile_dims", info->tile_dims, 3);
    cli_report_predictor_json(&json, &report);
    cli_json_u64(&json, "nlevels", (uint64_t)info->nlevels);
    if (info->nlevels > 1) cli_json_u64_array(&json, "nbytes_level", counts->nbytes_level, info->nlevels);
    cli_json_begin_object(&json, "tiles");
    for (int i = 0; i < N_TILE_ROWS; i++)
        cli_json_u64(&json, tile_rows[i].key, count_at(counts, tile_rows[i].offset));
    cli_json_end_object(&json);
    for (int i = 0; i < N_OTHER_ROWS; i++)
        cli_json_u64(&json, other_rows[i].key, count_at(counts, other_rows[i].offset));
    cli_json_u64(&json, "nbytes_metadata", info->metadata_nbytes);
    cli_attributes_json(&json, archive->metadata, (size_t)info->metadata_nbytes);
    cli_json_end(&json);
}

static void print_text(const cli_archive_source *archive, const csz_tile_counts *counts) {
    const csz_info *info = &archive->info;
    char dims[CLI_DIMS_TEXT_NBYTES], bound[CLI_BOUND_TEXT_NBYTES], size[CLI_NBYTES_TEXT_NBYTES];
    printf("archive          %s, format version %d\n", archive->stream.name, info->format_version);
    printf("field            %s of %s, %llu elements, %s\n", cli_dims_text(dims, &info->field),
           cli_name_of(info->field.type, cli_type_names), (unsigned long long)info->nelements,
           cli_nbytes_text(size, (double)info->nbytes_field));
    printf("bound            %s\n", cli_bound_text(bound, info));
    if (info->has_fill) printf("missing values   %.9g\n", info->fill);
    fputs("predictor        ", stdout);
    cli_report_predictor(stdout, info, counts->npyramids);
    printf("\nworkflow         %s%s\n", cli_name_of(info->workflow, cli_workflow_names),
           info->has_zstd ? ", then zstd" : "");
    printf("size             %llu bytes, ", (unsigned long long)info->nbytes_archive);
    cli_report_size(stdout, info);
    printf("\nframes           %llu\ntiles            %llu of %llux%llux%llu",
           (unsigned long long)info->nframes, (unsigned long long)info->ntiles,
           (unsigned long long)info->tile_dims[0], (unsigned long long)info->tile_dims[1],
           (unsigned long long)info->tile_dims[2]);
    uint64_t ntiles = 0;
    for (int i = 0; i < N_TILE_ROWS; i++) ntiles += count_at(counts, tile_rows[i].offset);
    if (ntiles > info->ntiles) printf("; with those of coarser lattices %llu:", (unsigned long long)ntiles);
    putchar('\n');
    for (int i = 0; i < N_TILE_ROWS; i++) {
        uint64_t count = count_at(counts, tile_rows[i].offset);
        if (count)
            printf("  %-24s %12llu  %5.1f%%\n", tile_rows[i].text, (unsigned long long)count,
                   100.0 * (double)count / (double)ntiles);
    }
    for (int i = 0; i < N_OTHER_ROWS; i++)
        printf("  %-24s %12llu\n", other_rows[i].text,
               (unsigned long long)count_at(counts, other_rows[i].offset));
    if (info->nlevels > 1 && !counts->npyramids)
        puts("previews         from the whole payload, as Lorenzo predicted every frame");
    for (int level = 1; level < info->nlevels && counts->npyramids; level++) {
        csz_field field;
        if (csz_level_field(&field, info, level) == CSZ_OK)
            printf("  bytes of level %-2d        %12llu  %s\n", level,
                   (unsigned long long)counts->nbytes_level[level], cli_dims_text(dims, &field));
    }
    cli_attributes_print(archive->metadata, (size_t)info->metadata_nbytes);
}

typedef struct survey {
    const cli_archive_source *source;
    pthread_mutex_t mutex;
    csz_tile_counts counts;
} survey;

static csz_status survey_frame(void *user, csz_context *context, uint64_t i, const void *stored,
                               size_t stored_nbytes, const csz_decompress_options *options) {
    survey *s = user;
    csz_tile_counts counts = {.empty = 0};
    (void)options;
    csz_status status =
        csz_survey_frame(context, &counts, sizeof counts, stored, stored_nbytes, s->source->plan, i);
    if (status != CSZ_OK) return status;
    pthread_mutex_lock(&s->mutex);
    uint64_t *sum = (uint64_t *)&s->counts;
    for (size_t k = 0; k < sizeof counts / sizeof *sum; k++) sum[k] += ((const uint64_t *)&counts)[k];
    pthread_mutex_unlock(&s->mutex);
    return CSZ_OK;
}

int cli_run_info(const cli_arguments *arguments) {
    cli_archive_source archive;
    survey s = {.source = &archive, .mutex = PTHREAD_MUTEX_INITIALIZER};
    cli_run run;
    int status = cli_archive_source_open(&archive, arguments->paths[0], 0);
    if (status != CLI_DONE) return status;
    status = cli_archive_source_each(&archive, "looking at", arguments, &run, &s, survey_frame);
    if (status == CLI_DONE && arguments->json)
        print_json(&archive, &s.counts, arguments->paths[0]);
    else if (status == CLI_DONE) {
        print_text(&archive, &s.counts);
        if (arguments->is_one_of_many) putchar('\n');
    }
    cli_archive_source_close(&archive);
    return status;
}
