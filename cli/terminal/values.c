/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c: text to values.  Only whole texts are accepted: "1e-3x", " 5" and "" are refused, and so are
 * numbers that would wrap. */
#include "terminal/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_type_names[] = {"f32", "f64", NULL};
const char *const cli_mode_names[] = {"abs", "rel", "psnr", "pwr", "exact", NULL};
const char *const cli_predictor_names[] = {"lorenzo", "pyramid", "auto", NULL};
const char *const cli_workflow_names[] = {"auto", "huffman", "rle", "rle+vle", NULL};
const char *const cli_backend_names[] = {"auto", "cpu", "cuda", NULL};

static const uint64_t most_nelements = (uint64_t)1 << 56;

int cli_parse_name(int *value, const char *text, const char *const *names) {
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            return 1;
        }
    }
    return 0;
}

const char *cli_name_of(unsigned value, const char *const *names) {
    for (unsigned i = 0; names[i]; i++)
        if (i == value) return names[i];
    return "unknown";
}

int cli_parse_digits(uint64_t *value, const char **text) {
    const char *c = *text;
    uint64_t sum = 0;
    int is_too_large = 0;
    if (!isdigit((unsigned char)*c)) return 0;
    for (; isdigit((unsigned char)*c); c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        is_too_large |= sum > (UINT64_MAX - digit) / 10;
        sum = sum * 10 + digit;
    }
    *value = sum;
    *text = c;
    return is_too_large ? -1 : 1;
}

int cli_parse_u64(uint64_t *value, const char *text) {
    return cli_parse_digits(value, &text) == 1 && *text == '\0';
}

int cli_parse_zstd(int *level, const char *text) {
    enum { DEFAULT_LEVEL = 3, MOST_LEVEL = 22 };
    uint64_t given = DEFAULT_LEVEL;
    const char *number = strncmp(text, "zstd:", 5) == 0 ? text + 5 : text;
    if (strcmp(text, "zstd") != 0 && (!cli_parse_u64(&given, number) || given < 1 || given > MOST_LEVEL))
        return 0;
    *level = (int)given;
    return 1;
}

int cli_parse_double(double *value, const char *text) {
    char *end;
    if (*text == '\0' || isspace((unsigned char)*text)) return 0;
    errno = 0;
    *value = strtod(text, &end);
    if (errno == ERANGE && isinf(*value)) return 0; /* "inf" is a value, 1e400 is none */
    return end != text && *end == '\0';
}

int cli_parse_type(csz_type *type, const char *text) {
    static const struct {
        const char *name;
        csz_type type;
    } names[] = {{"f32", CSZ_F32},    {"f64", CSZ_F64},    {"float32", CSZ_F32}, {"float64", CSZ_F64},
                 {"f4", CSZ_F32},     {"f8", CSZ_F64},     {"<f4", CSZ_F32},     {"<f8", CSZ_F64},
                 {"single", CSZ_F32}, {"double", CSZ_F64}, {"float", CSZ_F32}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) != 0) continue;
        *type = names[i].type;
        return 1;
    }
    return 0;
}

int cli_parse_dims(csz_field *field, int *ngiven, const char *text) {
    const char separator = strchr(text, ',') ? ',' : 'x';
    int is_too_large = 0;
    field->ndim = *ngiven = 0;
    for (;;) {
        uint64_t n, *dims = field->dims;
        const int parsed = cli_parse_digits(&n, &text);
        if (parsed == 0) return 0;
        is_too_large |= parsed < 0;
        ++*ngiven;
        if (field->ndim == CSZ_MAX_NDIM) {
            is_too_large |= dims[1] && dims[0] > UINT64_MAX / dims[1];
            dims[0] *= dims[1];
            memmove(dims + 1, dims + 2, (CSZ_MAX_NDIM - 2) * sizeof *dims);
            field->ndim--;
        }
        dims[field->ndim++] = n;
        if (*text == '\0') return is_too_large ? -1 : 1;
        if (*text != separator && !(separator == 'x' && *text == 'X')) return 0;
        text++;
    }
}

int cli_parse_region(cli_region *region, const char *text) {
    memset(region, 0, sizeof *region);
    while (region->nranges < CSZ_MAX_NDIM) {
        int i = region->nranges++;
        if (*text != ':') {
            region->has_begin[i] = 1;
            if (cli_parse_digits(&region->begin[i], &text) != 1) return 0;
        }
        if (*text++ != ':') return 0;
        if (*text != ',' && *text != '\0') {
            region->has_end[i] = 1;
            if (cli_parse_digits(&region->end[i], &text) != 1) return 0;
        }
        if (*text == '\0') return 1;
        if (*text++ != ',') return 0;
    }
    return 0;
}

int cli_parse_size(uint64_t *nbytes, const char *text) {
    static const char units[] = "KMGTP";
    char *end;
    if (*text < '0' || *text > '9') return 0; /* no sign, no inf */
    double size = strtod(text, &end);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        const int is_decimal = toupper((unsigned char)end[1]) == 'B';
        for (const char *c = units; c <= unit; c++) size *= is_decimal ? 1000 : 1024;
        end++;
        if (*end == 'i' && toupper((unsigned char)end[1]) == 'B') end++;
    }
    if (toupper((unsigned char)*end) == 'B') end++;
    if (*end || !(size < 0x1p62)) return 0;
    *nbytes = (uint64_t)size;
    return 1;
}

int cli_field_count(uint64_t *nelements, const csz_field *field) {
    uint64_t product = 1;
    for (int i = 0; i < field->ndim; i++) {
        if (field->dims[i] == 0) { /* whatever the others are */
            *nelements = 0;
            return 1;
        }
    }
    for (int i = 0; i < field->ndim; i++) {
        if (field->dims[i] > most_nelements / product) return 0;
        product *= field->dims[i];
    }
    *nelements = product;
    return 1;
}

/* Dims other than 1, of four the two slowest as one; returns how many. */
static int effective_dims(uint64_t dims[CSZ_MAX_NDIM], const csz_field *field) {
    int n = 0;
    for (int i = 0; i < field->ndim; i++)
        if (field->dims[i] != 1) dims[n++] = field->dims[i];
    if (n < CSZ_MAX_NDIM) return n;
    dims[1] *= dims[0]; /* at most 2^56, as was counted */
    memmove(dims, dims + 1, (size_t)--n * sizeof dims[0]);
    return n;
}

int cli_dims_agree(const csz_field *a, const csz_field *b) {
    uint64_t dims_a[CSZ_MAX_NDIM], dims_b[CSZ_MAX_NDIM];
    const int n = effective_dims(dims_a, a);
    return effective_dims(dims_b, b) == n && memcmp(dims_a, dims_b, (size_t)n * sizeof dims_a[0]) == 0;
}

void cli_swap_values(void *values, size_t nbytes, size_t size) {
    unsigned char *bytes = values;
    for (size_t i = 0; i < nbytes; i += size)
        for (size_t b = 0; b < size / 2; b++) {
            unsigned char kept = bytes[i + b];
            bytes[i + b] = bytes[i + size - 1 - b];
            bytes[i + size - 1 - b] = kept;
        }
}

size_t cli_type_nbytes(csz_type type) { return type == CSZ_F32 ? 4 : 8; }

const char *cli_dims_text(char text[CLI_DIMS_TEXT_NBYTES], const csz_field *field) {
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < field->ndim; i++)
        n += (size_t)snprintf(text + n, CLI_DIMS_TEXT_NBYTES - n, i ? "x%llu" : "%llu",
                              (unsigned long long)field->dims[i]);
    return text;
}

const char *cli_nbytes_text(char text[CLI_NBYTES_TEXT_NBYTES], double nbytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    while (nbytes >= 999.95 && unit + 1 < sizeof units / sizeof units[0]) { /* what would print as 1000.0 */
        nbytes /= 1000;
        unit++;
    }
    snprintf(text, CLI_NBYTES_TEXT_NBYTES, unit ? "%.1f %s" : "%.0f %s", nbytes, units[unit]);
    return text;
}

int cli_path_is_stdio(const char *path) { return strcmp(path, "-") == 0; }

const char *cli_number_text(char text[CLI_NUMBER_TEXT_NBYTES], double value, csz_type type) {
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%.*g", digits, value);
        const double read = strtod(text, NULL);
        if (type == CSZ_F32 ? (float)read == (float)value : read == value) break;
    }
    if (fabs(value) < 1e7) {
        const int nwhole = snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%.0f", floor(fabs(value)));
        if (nwhole > digits) digits = nwhole;
    }
    snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%.*g", digits, value);
    char *exponent = strstr(text, "e+");
    if (exponent) {
        const char *from = exponent + 2 + strspn(exponent + 2, "0");
        memmove(exponent + 1, from, strlen(from) + 1);
    }
    return text;
}
