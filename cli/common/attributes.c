/* SPDX-License-Identifier: BSD-3-Clause */
/* attributes.c: metadata as text and as JSON.  Control characters of text are shown as question marks. */
#include "common/attributes.h"

#include "terminal/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *float_text(char text[CLI_NUMBER_TEXT_NBYTES], double value, csz_type type, int is_json) {
    if (!is_json) return cli_number_text(text, value, type);
    if (!isfinite(value)) return "null";
    snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%.17g", value);
    return text;
}

static size_t number_nbytes(csz_attribute_type type) {
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return sizes[type - CSZ_ATTRIBUTE_I8];
}

/* Number i of an attribute's as text that gives it again; in JSON all digits of a float's value, or null. */
static const char *number_at(char text[CLI_NUMBER_TEXT_NBYTES], const csz_attribute *a, uint64_t i,
                             int is_json) {
    const size_t size = number_nbytes(a->type);
    const unsigned char *bytes = (const unsigned char *)a->values + i * size;
    uint64_t bits = 0;
    for (size_t k = size; k > 0; k--) bits = bits << 8 | bytes[k - 1];
    if (a->type == CSZ_ATTRIBUTE_F32) {
        const uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return float_text(text, value, CSZ_F32, is_json);
    }
    if (a->type == CSZ_ATTRIBUTE_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return float_text(text, value, CSZ_F64, is_json);
    }
    const int is_signed = (a->type - CSZ_ATTRIBUTE_I8) % 2 == 0;
    const uint64_t sign = (uint64_t)1 << (8 * size - 1);
    const int64_t number = (int64_t)((bits ^ sign) - sign);
    if (is_signed)
        snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%lld", (long long)number);
    else
        snprintf(text, CLI_NUMBER_TEXT_NBYTES, "%llu", (unsigned long long)bits);
    return text;
}

static void print_text(const char *text, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        putchar((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
}

static void print_values(const csz_attribute *a) {
    enum { MOST = 16 };
    const char *text = a->values;
    if (a->type == CSZ_ATTRIBUTE_TEXT) {
        print_text(text, (size_t)a->nbytes);
    } else if (a->type == CSZ_ATTRIBUTE_STRINGS) {
        for (uint64_t at = 0; at < a->nbytes; at += strlen(text + at) + 1) {
            if (at) fputs(", ", stdout);
            print_text(text + at, strlen(text + at));
        }
    } else {
        const uint64_t n = a->nbytes / number_nbytes(a->type);
        for (uint64_t i = 0; i < n && i < MOST; i++) {
            char number[CLI_NUMBER_TEXT_NBYTES];
            printf("%s%s", i ? ", " : "", number_at(number, a, i, 0));
        }
        if (n > MOST) printf(", ... (%llu)", (unsigned long long)n);
    }
    putchar('\n');
}

void cli_attributes_print(const unsigned char *metadata, size_t nbytes) {
    csz_attribute a;
    int n = 0;
    for (size_t place = 0; metadata && csz_metadata_next(&a, metadata, nbytes, &place);) {
        if (a.role == CSZ_ROLE_ATTRIBUTE) {
            if (n++ == 0) puts("attributes");
            fputs("  ", stdout);
            print_text(a.name, strlen(a.name));
            for (size_t i = strlen(a.name); i < 23; i++) putchar(' ');
            fputs("  ", stdout);
        } else {
            fputs(a.role == CSZ_ROLE_NAME ? "name             " : "names of dims    ", stdout);
        }
        print_values(&a);
    }
}

static void write_numbers(cli_json *json, const csz_attribute *a) {
    const uint64_t n = a->nbytes / number_nbytes(a->type);
    char text[CLI_NUMBER_TEXT_NBYTES];
    if (n == 1) {
        cli_json_number(json, a->name, number_at(text, a, 0, 1));
        return;
    }
    cli_json_begin_array(json, a->name);
    for (uint64_t i = 0; i < n; i++) cli_json_add_number(json, number_at(text, a, i, 1));
    cli_json_end_array(json);
}

void cli_attributes_json(cli_json *json, const unsigned char *metadata, size_t nbytes) {
    csz_attribute a;
    static const char *const keys[] = {NULL, "name", "dim_names"};
    for (int role = CSZ_ROLE_NAME; role <= CSZ_ROLE_DIMS; role++) {
        int found = 0;
        for (size_t place = 0; metadata && !found && csz_metadata_next(&a, metadata, nbytes, &place);) {
            found = (int)a.role == role;
            if (found && role == CSZ_ROLE_NAME) cli_json_text(json, keys[role], a.values, (size_t)a.nbytes);
            if (found && role == CSZ_ROLE_DIMS)
                cli_json_strings(json, keys[role], a.values, (size_t)a.nbytes);
        }
        if (!found) cli_json_null(json, keys[role]);
    }
    cli_json_begin_object(json, "attributes");
    for (size_t place = 0; metadata && csz_metadata_next(&a, metadata, nbytes, &place);) {
        if (a.role != CSZ_ROLE_ATTRIBUTE) continue;
        if (a.type == CSZ_ATTRIBUTE_TEXT)
            cli_json_text(json, a.name, a.values, (size_t)a.nbytes);
        else if (a.type == CSZ_ATTRIBUTE_STRINGS)
            cli_json_strings(json, a.name, a.values, (size_t)a.nbytes);
        else
            write_numbers(json, &a);
    }
    cli_json_end_object(json);
}
