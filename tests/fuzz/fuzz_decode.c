/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_decode.c: any bytes as an archive, through every call that reads a whole one, and frame by frame as
 * the command does. */
#include "fuzz.h"

enum { MOST_FRAMES = 4 };

/* A survey has no limit, so it works in a context of its own. */
static csz_context *survey_context(void) {
    static csz_context *context;
    if (!context) FUZZ_CHECK(csz_context_create(&context) == CSZ_OK);
    return context;
}

/* Frames of what a reader opens, one by one; all are fine where the whole is. */
static void check_frames(const uint8_t *archive, size_t nbytes, int is_whole,
                         const csz_decompress_options *o) {
    fuzz_bytes source = {archive, nbytes};
    csz_reader *reader;
    csz_layout shape;
    csz_status status = csz_reader_open(&reader, fuzz_read_at, &source, nbytes);
    if (is_whole) FUZZ_CHECK(status == CSZ_OK);
    if (status) return;
    FUZZ_CHECK(csz_plan_layout(&shape, sizeof shape, csz_reader_plan(reader)) == CSZ_OK);
    for (uint64_t i = 0; i < shape.nframes && i < MOST_FRAMES; i++) {
        uint64_t offset, size, told;
        csz_predictor predictor;
        size_t n;
        FUZZ_CHECK(csz_reader_frame(&offset, &size, reader, i) == CSZ_OK && size <= nbytes);
        uint8_t *stored = malloc((size_t)size);
        FUZZ_CHECK(stored);
        status = csz_reader_fetch(stored, (size_t)size, &n, reader, i, NULL, NULL);
        if (!status) status = csz_frame_nbytes(&told, stored, csz_reader_plan(reader), i);
        if (!status) status = csz_frame_predictor(&predictor, stored, csz_reader_plan(reader), i);
        fuzz_memory_watch();
        if (!status)
            status = csz_decompress_frame(fuzz_context(), NULL, 0, stored, n, csz_reader_plan(reader), i,
                                          NULL, NULL, o);
        fuzz_memory_check(FUZZ_MEMORY_LIMIT);
        if (is_whole) FUZZ_CHECK(status == CSZ_OK);
        free(stored);
    }
    csz_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = fuzz_archive(data, nbytes);
    csz_decompress_options o;
    csz_decompress_options_init(&o);
    o.threads = 1;
    o.backend = CSZ_BACKEND_CPU;
    o.memory_limit = FUZZ_MEMORY_LIMIT;
    csz_info info;
    csz_tile_counts counts;
    csz_status inspected = csz_inspect(&info, sizeof info, copy, nbytes);
    size_t capacity =
        !inspected && info.nbytes_field <= FUZZ_FIELD_MAX_NBYTES ? (size_t)info.nbytes_field : 64;
    uint8_t *field = malloc(capacity ? capacity : 1);
    FUZZ_CHECK(field);
    fuzz_memory_watch();
    csz_status decoded = csz_decompress(fuzz_context(), field, capacity, copy, nbytes, &o), tested = decoded;
    if (inspected || info.nbytes_field <= FUZZ_FIELD_MAX_NBYTES)
        tested = csz_test(fuzz_context(), copy, nbytes, &o);
    fuzz_memory_check(FUZZ_MEMORY_LIMIT);
    if (inspected) FUZZ_CHECK(decoded != CSZ_OK);
    if (!inspected && info.nbytes_field > FUZZ_FIELD_MAX_NBYTES) {
        FUZZ_CHECK(decoded == CSZ_ERROR_LIMIT || decoded == CSZ_ERROR_CAPACITY || decoded == CSZ_ERROR_ZSTD);
    } else if (tested == CSZ_OK) {
        FUZZ_CHECK(decoded == CSZ_OK || decoded == CSZ_ERROR_LIMIT);
        check_frames(copy, nbytes, 1, &o);
    } else {
        FUZZ_CHECK(decoded != CSZ_OK);
        check_frames(copy, nbytes, 0, &o);
    }
    if (inspected || info.ntiles < 1 << 16)
        csz_survey(survey_context(), &counts, sizeof counts, copy, nbytes);
    free(field);
    free(copy);
    return 0;
}
