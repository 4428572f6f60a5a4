/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: the JSON writer.  Bytes of a file's name that are not UTF-8 become U+FFFD, so the output always
 * parses. */
#include "terminal/json.h"

#include <math.h>
#include <string.h>

int cli_utf8_nbytes(const unsigned char *text, size_t nbytes) {
    unsigned lead = text[0], low = 0x80, high = 0xBF;
    int n;
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        n = 2;
    else if (lead >= 0xE0 && lead <= 0xEF)
        n = 3;
    else if (lead >= 0xF0 && lead <= 0xF4)
        n = 4;
    else
        return 0;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if ((size_t)n > nbytes || text[1] < low || text[1] > high) return 0;
    for (int i = 2; i < n; i++)
        if (text[i] < 0x80 || text[i] > 0xBF) return 0;
    return n;
}

static void write_text(cli_json *json, const char *value, size_t nbytes) {
    fputc('"', json->stream);
    for (const unsigned char *c = (const unsigned char *)value, *end = c + nbytes; c < end;) {
        int n = cli_utf8_nbytes(c, (size_t)(end - c));
        if (n == 0)
            fputs("\\ufffd", json->stream);
        else if (*c == '"' || *c == '\\')
            fprintf(json->stream, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(json->stream, "\\u%04x", *c);
        else
            fwrite(c, 1, (size_t)n, json->stream);
        c += n ? n : 1;
    }
    fputc('"', json->stream);
}

static void write_key(cli_json *json, const char *key) {
    if (json->needs_comma) fputs(", ", json->stream);
    write_text(json, key, strlen(key));
    fputs(": ", json->stream);
    json->needs_comma = 1;
}

void cli_json_begin(cli_json *json, FILE *stream) {
    json->stream = stream;
    json->needs_comma = 0;
    fputc('{', stream);
}

void cli_json_end(cli_json *json) { fputs("}\n", json->stream); }

static void begin(cli_json *json, const char *key, char bracket) {
    write_key(json, key);
    fputc(bracket, json->stream);
    json->needs_comma = 0;
}

static void end(cli_json *json, char bracket) {
    fputc(bracket, json->stream);
    json->needs_comma = 1;
}

void cli_json_begin_object(cli_json *json, const char *key) { begin(json, key, '{'); }
void cli_json_end_object(cli_json *json) { end(json, '}'); }
void cli_json_begin_array(cli_json *json, const char *key) { begin(json, key, '['); }
void cli_json_end_array(cli_json *json) { end(json, ']'); }

void cli_json_begin_element(cli_json *json) {
    fputs(json->needs_comma ? ", {" : "{", json->stream);
    json->needs_comma = 0;
}

void cli_json_null(cli_json *json, const char *key) {
    write_key(json, key);
    fputs("null", json->stream);
}

void cli_json_bool(cli_json *json, const char *key, int value) {
    write_key(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void cli_json_u64(cli_json *json, const char *key, uint64_t value) {
    write_key(json, key);
    fprintf(json->stream, "%llu", (unsigned long long)value);
}

void cli_json_known_u64(cli_json *json, const char *key, int is_known, uint64_t value) {
    is_known ? cli_json_u64(json, key, value) : cli_json_null(json, key);
}

void cli_json_double(cli_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        cli_json_null(json, key);
        return;
    }
    write_key(json, key);
    fprintf(json->stream, "%.17g", value);
}

void cli_json_number(cli_json *json, const char *key, const char *text) {
    write_key(json, key);
    fputs(text, json->stream);
}

void cli_json_add_number(cli_json *json, const char *text) {
    fprintf(json->stream, json->needs_comma ? ", %s" : "%s", text);
    json->needs_comma = 1;
}

void cli_json_u64_array(cli_json *json, const char *key, const uint64_t *values, int n) {
    write_key(json, key);
    fputc('[', json->stream);
    for (int i = 0; i < n; i++) fprintf(json->stream, i ? ", %llu" : "%llu", (unsigned long long)values[i]);
    fputc(']', json->stream);
}

void cli_json_double_array(cli_json *json, const char *key, const double *values, int n) {
    write_key(json, key);
    fputc('[', json->stream);
    for (int i = 0; i < n; i++) {
        if (i) fputs(", ", json->stream);
        if (isfinite(values[i]))
            fprintf(json->stream, "%.17g", values[i]);
        else
            fputs("null", json->stream);
    }
    fputc(']', json->stream);
}

void cli_json_text(cli_json *json, const char *key, const char *value, size_t nbytes) {
    write_key(json, key);
    write_text(json, value, nbytes);
}

void cli_json_string(cli_json *json, const char *key, const char *value) {
    if (value)
        cli_json_text(json, key, value, strlen(value));
    else
        cli_json_null(json, key);
}

void cli_json_strings(cli_json *json, const char *key, const char *values, size_t nbytes) {
    write_key(json, key);
    fputc('[', json->stream);
    for (const char *at = values, *end = values + nbytes; at < end; at += strlen(at) + 1) {
        if (at > values) fputs(", ", json->stream);
        write_text(json, at, strlen(at));
    }
    fputc(']', json->stream);
}
