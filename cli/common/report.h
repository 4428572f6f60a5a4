/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h: what a subcommand tells of its work, as text or as one JSON object.  All subcommands have the
 * same keys; one that was not computed is null. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "csz.h"
#include "process/workers.h"
#include "terminal/json.h"
#include "terminal/values.h"

typedef struct cli_report {
    const char *command;
    const char *input_path, *output_path; /* NULL: none */
    const char *backend;                  /* NULL: not used */
    const csz_info *info;                 /* NULL: no archive was involved */
    const csz_field *field;               /* of what was read or written */
    uint64_t nbytes_in, nbytes_out;
    int has_output;             /* 0: nothing that has a size was made or read besides the input */
    double seconds;             /* NAN: not measured */
    const csz_metrics *metrics; /* NULL: nothing was compared */
    double compare_bound;       /* without an archive: the bound asked for, NAN for none */
    csz_bound_mode compare_mode;
    double compare_floor;
    uint64_t npyramids; /* frames that the pyramid predicts */
} cli_report;

void cli_report_init(cli_report *report, const char *command); /* nothing known */

/* Begins the object and writes the common keys; the caller may add its own and ends it. */
void cli_report_json(cli_json *json, FILE *stream, const cli_report *report);

/* "ratio 20.31, 1.576 bits a value", without a newline. */
void cli_report_size(FILE *stream, const csz_info *info);

/* Seconds in the library and in all, and what they mean for so many bytes. */
void cli_report_rates(FILE *stream, uint64_t nbytes, double seconds, double elapsed);

/* "lorenzo", or "pyramid in 3 of 5 frames, else lorenzo"; the same as keys. */
void cli_report_predictor(FILE *stream, const csz_info *info, uint64_t npyramids);
void cli_report_predictor_json(cli_json *json, const cli_report *report);

/* Lines of text about the comparison, each with the indent.  bound: absolute, or with CSZ_BOUND_PWR a share
 * of each value; below 0: none. */
void cli_report_metrics(FILE *stream, const csz_metrics *metrics, const csz_field *field, csz_bound_mode mode,
                        double bound, const char *indent);

/* For -v: "  512x512x512 of f32; frames 4, tiles 32768 of 16x16x16; ". */
void cli_report_frames(FILE *stream, const csz_info *info);
/* The same, and who works on them: "workers 1, threads of each 8". */
void cli_report_workers(FILE *stream, const cli_workers *workers, const csz_info *info);

/* "1e-3 rel = 0.0123 absolute" */
enum { CLI_BOUND_TEXT_NBYTES = 96 };
const char *cli_bound_text(char text[CLI_BOUND_TEXT_NBYTES], const csz_info *info);

/* Original bytes over archive bytes; 0 for an empty field. */
double cli_ratio(const csz_info *info);
double cli_bits_per_value(const csz_info *info); /* NAN for an empty field */

const char *cli_backend_name(csz_backend backend);

#endif
