/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.c: reader and writer of .npy headers.  The header is a Python dict literal with the keys descr,
 * fortran_order and shape, in any order:
 *
 *     "\x93NUMPY" major minor  u16 (1.0) or u32 (2.0, 3.0) length  {'descr': '<f4', ..., 'shape': (3, 4), }
 *
 * A cursor walks over it and stops for good at the first byte that does not fit.
 */
#include "files/npy.h"

#include "terminal/message.h"
#include "terminal/values.h"

#include <stdio.h>
#include <string.h>

enum { MAGIC_NBYTES = 6, DESCR_NBYTES = 32 };
static const unsigned char magic[MAGIC_NBYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

typedef struct cursor {
    const unsigned char *next, *end;
    int failed;
} cursor;

typedef struct header {
    char descr[DESCR_NBYTES];
    int is_structured; /* descr is a list of fields, which is skipped */
    int has_descr, has_order, has_shape;
    int is_fortran_order;
    int ndim;
    uint64_t dims[CLI_NPY_MOST_NDIM];
} header;

int cli_npy_has_magic(const unsigned char *bytes, size_t nbytes) {
    return nbytes >= MAGIC_NBYTES && memcmp(bytes, magic, MAGIC_NBYTES) == 0;
}

static void skip_space(cursor *at) {
    while (at->next < at->end &&
           (*at->next == ' ' || *at->next == '\n' || *at->next == '\t' || *at->next == '\r'))
        at->next++;
}

/* Takes the character if it comes next, after blanks. */
static int take(cursor *at, char wanted) {
    skip_space(at);
    if (at->failed || at->next == at->end || *at->next != (unsigned char)wanted) return 0;
    at->next++;
    return 1;
}

static void expect(cursor *at, char wanted) {
    if (!take(at, wanted)) at->failed = 1;
}

/* A quoted string without escapes, shorter than capacity. */
static void expect_string(cursor *at, char *text, size_t capacity) {
    size_t n = 0;
    char quote = take(at, '\'') ? '\'' : '"';
    if (quote == '"') expect(at, '"');
    while (!at->failed && at->next < at->end && *at->next != (unsigned char)quote) {
        if (n + 1 == capacity || *at->next < 0x20 || *at->next > 0x7e || *at->next == '\\') {
            at->failed = 1;
            break;
        }
        text[n++] = (char)*at->next++;
    }
    text[n] = '\0';
    if (at->failed || at->next == at->end)
        at->failed = 1;
    else
        at->next++; /* the closing quote */
}

static int take_word(cursor *at, const char *word) {
    size_t n = strlen(word);
    skip_space(at);
    if (at->failed || (size_t)(at->end - at->next) < n || memcmp(at->next, word, n) != 0) return 0;
    at->next += n;
    return 1;
}

static uint64_t expect_extent(cursor *at) {
    uint64_t value = 0;
    skip_space(at);
    if (at->next == at->end || *at->next < '0' || *at->next > '9') at->failed = 1;
    while (!at->failed && at->next < at->end && *at->next >= '0' && *at->next <= '9') {
        uint64_t digit = (uint64_t)(*at->next++ - '0');
        if (value > (UINT64_MAX - digit) / 10) at->failed = 1;
        value = value * 10 + digit;
    }
    take(at, 'L'); /* Python 2 wrote long integers so */
    return value;
}

/* "()", "(5,)", "(3, 4)" */
static void expect_shape(cursor *at, header *found) {
    expect(at, '(');
    while (!at->failed && !take(at, ')')) {
        uint64_t extent = expect_extent(at);
        if (found->ndim == CLI_NPY_MOST_NDIM) {
            at->failed = 1;
            return;
        }
        found->dims[found->ndim++] = extent;
        if (!take(at, ',')) {
            expect(at, ')');
            return;
        }
    }
}

/* "[('a', '<f4'), ('b', '<f8', (3,))]": to the bracket that closes it; names in quotes may hold any. */
static void skip_list(cursor *at) {
    int depth = 0;
    char quote = 0;
    for (; !at->failed && at->next < at->end; at->next++) {
        const char c = (char)*at->next;
        if (quote) {
            if (c == '\\' && at->next + 1 < at->end)
                at->next++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '[') {
            depth++;
        } else if (c == ']' && --depth == 0) {
            at->next++;
            return;
        }
    }
    at->failed = 1;
}

static void expect_header(cursor *at, header *found) {
    char key[DESCR_NBYTES];
    expect(at, '{');
    while (!at->failed && !take(at, '}')) {
        expect_string(at, key, sizeof key);
        expect(at, ':');
        if (at->failed) return;
        if (strcmp(key, "descr") == 0 && !found->has_descr) {
            found->has_descr = 1;
            skip_space(at);
            found->is_structured = at->next < at->end && *at->next == '[';
            if (found->is_structured)
                skip_list(at);
            else
                expect_string(at, found->descr, sizeof found->descr);
        } else if (strcmp(key, "fortran_order") == 0 && !found->has_order) {
            found->has_order = 1;
            found->is_fortran_order = take_word(at, "True");
            if (!found->is_fortran_order && !take_word(at, "False")) at->failed = 1;
        } else if (strcmp(key, "shape") == 0 && !found->has_shape) {
            found->has_shape = 1;
            expect_shape(at, found);
        } else {
            at->failed = 1;
        }
        if (!take(at, ',')) {
            expect(at, '}');
            break;
        }
    }
    skip_space(at);
    if (at->next != at->end || !found->has_descr || !found->has_order || !found->has_shape) at->failed = 1;
}

/* Where elements lie does not depend on the order if at most one extent differs from 1. */
static int order_matters(const header *found) {
    int n_long = 0;
    for (int i = 0; i < found->ndim; i++) {
        if (found->dims[i] == 0) return 0;
        n_long += found->dims[i] != 1;
    }
    return found->is_fortran_order && n_long > 1;
}

/* Of more than four dims the slowest become one, as in Python; 0 if that needs more than 64 bits. */
static int fold_dims(csz_field *field, const header *found) {
    const int extra = found->ndim > CSZ_MAX_NDIM ? found->ndim - CSZ_MAX_NDIM : 0;
    field->ndim = found->ndim ? found->ndim - extra : 1;
    field->dims[0] = 1;
    for (int i = 0; i <= extra && i < found->ndim; i++) {
        if (found->dims[i] && field->dims[0] > UINT64_MAX / found->dims[i]) return 0;
        field->dims[0] *= found->dims[i];
    }
    for (int i = 1; i < field->ndim; i++) field->dims[i] = found->dims[extra + i];
    return 1;
}

static int fail_damaged(const char *name) {
    return cli_fail(
        "%s is no .npy file that can be read (its header does not hold); write it again with numpy.save",
        name);
}

static int take_type(cli_npy *npy, const header *found, const char *name) {
    static const struct {
        const char *descr;
        csz_type type;
        int is_big_endian;
    } known[] = {{"<f4", CSZ_F32, 0}, {"<f8", CSZ_F64, 0}, {"=f4", CSZ_F32, 0},
                 {"=f8", CSZ_F64, 0}, {">f4", CSZ_F32, 1}, {">f8", CSZ_F64, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(found->descr, known[i].descr) == 0) {
            npy->field.type = known[i].type;
            npy->is_big_endian = known[i].is_big_endian;
            return CLI_DONE;
        }
    }
    if (found->is_structured)
        return cli_fail("%s holds records, not numbers; save each of their fields by itself, with "
                        "numpy.save('NAME.npy', array['NAME'])",
                        name);
    switch (found->descr[strcspn(found->descr, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ?")]) {
    case 'c':
        return cli_fail("%s holds complex numbers, of type '%s'; save both parts, with numpy.save('re.npy', "
                        "array.real.copy()) and numpy.save('im.npy', array.imag.copy())",
                        name, found->descr);
    case 'O':
        return cli_fail("%s holds Python objects, not numbers; make an array of numbers of them, with "
                        "numpy.array(array.tolist(), 'f8')",
                        name);
    case 'b':
    case 'i':
    case 'u':
    case '?':
    case 'f':
        return cli_fail("%s holds values of type '%s', and only f4 and f8 can be compressed; convert it with "
                        "astype('<f4'), or astype('<f8') where 7 digits are too few",
                        name, found->descr);
    default:
        return cli_fail("%s holds values of type '%s', which are no floating-point numbers; only f4 and f8 "
                        "can be compressed",
                        name, found->descr);
    }
}

int cli_npy_parse(cli_npy *npy, const unsigned char *bytes, size_t nbytes, const char *name) {
    return cli_npy_parse_start(npy, bytes, nbytes, nbytes, name);
}

int cli_npy_parse_start(cli_npy *npy, const unsigned char *bytes, size_t nbytes, uint64_t total_nbytes,
                        const char *name) {
    header found;
    cursor at;
    uint64_t nelements;
    memset(npy, 0, sizeof *npy);
    memset(&found, 0, sizeof found);
    if (!cli_npy_has_magic(bytes, nbytes))
        return cli_fail(
            "%s is no .npy file (it does not start as one does); rename it and give -t and -d if it is raw",
            name);
    if (nbytes < 10) return fail_damaged(name);
    unsigned major = bytes[6];
    size_t start = major == 1 ? 10 : 12;
    if (major < 1 || major > 3)
        return cli_fail(
            "%s is a .npy file of version %u.%u, and versions 1.0 to 3.0 are known; save it again with NumPy",
            name, major, bytes[7]);
    if (nbytes < start) return fail_damaged(name);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > nbytes - start) return fail_damaged(name);
    at = (cursor){bytes + start, bytes + start + length, 0};
    expect_header(&at, &found);
    if (at.failed) return fail_damaged(name);

    int status = take_type(npy, &found, name);
    if (status != CLI_DONE) return status;
    npy->ndim = found.ndim;
    memcpy(npy->dims, found.dims, sizeof found.dims);
    npy->is_fortran_order = order_matters(&found);
    if (!fold_dims(&npy->field, &found) || !cli_field_count(&nelements, &npy->field))
        return cli_fail("the shape of %s overflows: more than 2^56 elements; write it again with numpy.save",
                        name);
    npy->header_nbytes = start + length;
    uint64_t expected_nbytes = nelements * cli_type_nbytes(npy->field.type);
    if (total_nbytes != UINT64_MAX && expected_nbytes != total_nbytes - npy->header_nbytes)
        return cli_fail(
            "%s should hold %llu bytes of data after its header and holds %llu; copy or save it again", name,
            (unsigned long long)expected_nbytes, (unsigned long long)(total_nbytes - npy->header_nbytes));
    npy->data_nbytes = (size_t)expected_nbytes;
    return CLI_DONE;
}

/* Blocks of the first and the last dim, so that both sides are read and written in runs.  size is known where
 * this is called: each copy is one move. */
static inline void reorder_values(unsigned char *to, const unsigned char *from, const uint64_t *dims,
                                  int ndim, size_t size) {
    enum { BLOCK = 32 };
    uint64_t index[CLI_NPY_MOST_NDIM] = {0}, to_stride[CLI_NPY_MOST_NDIM] = {0},
             from_stride[CLI_NPY_MOST_NDIM] = {0};
    const int last = ndim - 1;
    from_stride[0] = to_stride[last] = 1;
    for (int i = 1; i < ndim; i++) from_stride[i] = from_stride[i - 1] * dims[i - 1];
    for (int i = last; i > 0; i--) to_stride[i - 1] = to_stride[i] * dims[i];
    for (;;) {
        uint64_t to_base = 0, from_base = 0;
        for (int i = 1; i < last; i++) {
            to_base += index[i] * to_stride[i];
            from_base += index[i] * from_stride[i];
        }
        for (uint64_t a = 0; a < dims[0]; a += BLOCK)
            for (uint64_t b = 0; b < dims[last]; b += BLOCK)
                for (uint64_t i = a; i < dims[0] && i < a + BLOCK; i++)
                    for (uint64_t j = b; j < dims[last] && j < b + BLOCK; j++)
                        memcpy(to + (to_base + i * to_stride[0] + j) * size,
                               from + (from_base + i + j * from_stride[last]) * size, size);
        int i = 1;
        while (i < last && ++index[i] == dims[i]) index[i++] = 0;
        if (i >= last) return;
    }
}

void cli_npy_reorder(void *to, const void *from, const cli_npy *npy) {
    uint64_t dims[CLI_NPY_MOST_NDIM] = {0}; /* at least two, or order would not matter */
    int ndim = 0;
    for (int i = 0; i < npy->ndim; i++)
        if (npy->dims[i] != 1) dims[ndim++] = npy->dims[i];
    if (npy->field.type == CSZ_F32)
        reorder_values(to, from, dims, ndim, 4);
    else
        reorder_values(to, from, dims, ndim, 8);
}

int cli_npy_check(const cli_npy *npy, const cli_expected *expected, const char *name) {
    char wanted[CLI_DIMS_TEXT_NBYTES], found[CLI_DIMS_TEXT_NBYTES];
    const csz_field *a = &npy->field, *b = &expected->field;
    if (expected->has_type && a->type != b->type)
        return cli_fail("%s holds %s, and %s says %s; give the file that belongs here", name,
                        cli_type_names[a->type], expected->source, cli_type_names[b->type]);
    if (expected->has_dims && !cli_dims_agree(a, b))
        return cli_fail("%s has the dims %s, and %s says %s; give the file that belongs here", name,
                        cli_dims_text(found, a), expected->source, cli_dims_text(wanted, b));
    return CLI_DONE;
}

size_t cli_npy_write_header(unsigned char out[CLI_NPY_HEADER_MAX_NBYTES], const csz_field *field) {
    char shape[CLI_DIMS_TEXT_NBYTES + CSZ_MAX_NDIM], text[CLI_NPY_HEADER_MAX_NBYTES];
    size_t n = 0;
    for (int i = 0; i < field->ndim;
         i++) /* "5," or "3, 4": one dim keeps its comma, or it would be a number */
        n += (size_t)snprintf(shape + n, sizeof shape - n, i ? ", %llu" : "%llu",
                              (unsigned long long)field->dims[i]);
    if (field->ndim == 1) snprintf(shape + n, sizeof shape - n, ",");
    int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                          field->type == CSZ_F32 ? "<f4" : "<f8", shape);
    /* Padded with blanks so that the data starts at a multiple of 64, and ended by a newline. */
    size_t total = (10 + (size_t)length + 1 + 63) / 64 * 64;
    memcpy(out, magic, MAGIC_NBYTES);
    out[6] = 1;
    out[7] = 0;
    out[8] = (unsigned char)((total - 10) & 0xff);
    out[9] = (unsigned char)((total - 10) >> 8);
    memcpy(out + 10, text, (size_t)length);
    memset(out + 10 + length, ' ', total - 10 - (size_t)length);
    out[total - 1] = '\n';
    return total;
}
