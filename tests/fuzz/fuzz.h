/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h: what the fuzz targets share.  A target is one LLVMFuzzerTestOneInput; it aborts where a promise is
 * broken, the sanitizers see the rest. The library under test is the one users get, checksums and all: a
 * target reseals what it was given before it is read.
 */
#ifndef CSZ_TESTS_FUZZ_H
#define CSZ_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csz_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

#define FUZZ_CHECK(CONDITION)                                                             \
    do {                                                                                  \
        if (!(CONDITION)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #CONDITION); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/* Fields up to this size are decoded; of larger ones a target checks that the memory limit holds. */
enum { FUZZ_FIELD_MAX_NBYTES = 1 << 20, FUZZ_MEMORY_LIMIT = 4 << 20 };

static inline __attribute__((unused)) csz_context *fuzz_context(void) {
    static csz_context *context;
    if (!context) FUZZ_CHECK(csz_context_create(&context) == CSZ_OK);
    return context;
}

/* A copy of exactly these bytes, so that the sanitizer sees the first one read beyond. */
static inline __attribute__((unused)) uint8_t *fuzz_copy(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = malloc(nbytes ? nbytes : 1);
    FUZZ_CHECK(copy);
    if (nbytes) memcpy(copy, data, nbytes);
    return copy;
}

/*
 * Between the two the library holds at most limit_nbytes, what its context keeps from earlier calls included;
 * what it allocates there it frees there, or keeps.
 */
void fuzz_memory_watch(void);
void fuzz_memory_check(size_t limit_nbytes);

/* Bytes in memory, for csz_reader_open. */
typedef struct fuzz_bytes {
    const uint8_t *bytes;
    size_t nbytes;
} fuzz_bytes;

static inline __attribute__((unused)) int fuzz_read_at(void *user, uint64_t offset, void *buffer,
                                                       size_t nbytes) {
    const fuzz_bytes *b = user;
    FUZZ_CHECK(offset <= b->nbytes && nbytes <= b->nbytes - offset); /* nothing outside is asked for */
    memcpy(buffer, b->bytes + offset, nbytes);
    return 0;
}

/* A resealed copy: where one frame lies between header and footer, it is told the size it has. */
uint8_t *fuzz_archive(const uint8_t *data, size_t nbytes);

/* Bytes taken from the front, 0 when none are left. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline __attribute__((unused)) uint64_t fuzz_take(fuzz_input *in, size_t nbytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes && in->left; i++, in->left--) value |= (uint64_t)*in->at++ << (8 * i);
    return value;
}

#endif
