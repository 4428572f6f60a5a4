/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h: a writer of one JSON object on one line.  Keys and strings are escaped; a number that is not finite
 * is null, as JSON cannot say it. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *stream;
    int needs_comma;
} cli_json;

void cli_json_begin(cli_json *json, FILE *stream); /* { */
void cli_json_end(cli_json *json);                 /* } and a newline */

void cli_json_begin_object(cli_json *json, const char *key);
void cli_json_end_object(cli_json *json);

void cli_json_begin_array(cli_json *json, const char *key);
void cli_json_end_array(cli_json *json);
void cli_json_begin_element(cli_json *json); /* an object of an array; cli_json_end_object ends it */

void cli_json_null(cli_json *json, const char *key);
void cli_json_bool(cli_json *json, const char *key, int value);
void cli_json_u64(cli_json *json, const char *key, uint64_t value);
void cli_json_known_u64(cli_json *json, const char *key, int is_known, uint64_t value); /* else null */
void cli_json_double(cli_json *json, const char *key, double value);
void cli_json_number(cli_json *json, const char *key, const char *text);  /* a number as JSON writes it */
void cli_json_add_number(cli_json *json, const char *text);               /* to an array */
void cli_json_string(cli_json *json, const char *key, const char *value); /* NULL is null */
void cli_json_text(cli_json *json, const char *key, const char *value, size_t nbytes); /* without an end */
void cli_json_strings(cli_json *json, const char *key, const char *values,
                      size_t nbytes); /* each with its end */
void cli_json_u64_array(cli_json *json, const char *key, const uint64_t *values, int n);
void cli_json_double_array(cli_json *json, const char *key, const double *values, int n);

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none (RFC 3629: no surrogates, nothing
 * overlong). */
int cli_utf8_nbytes(const unsigned char *text, size_t nbytes);

#endif
