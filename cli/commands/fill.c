/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.c: the line about a suspected fill value. */
#include "commands/fill.h"

#include "terminal/message.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_NBYTES = 32 };

/* The fewest digits that give the value's bits again, without the exponent's plus sign: 1e20, -999.9. */
static const char *shortest_text(char text[NUMBER_NBYTES], double value, csz_type type) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, NUMBER_NBYTES, "%.*g", digits, value);
        const double read = strtod(text, NULL);
        if (type == CSZ_F32 ? (float)read == (float)value : read == value) break;
    }
    char *plus = strchr(text, '+');
    if (plus) memmove(plus, plus + 1, strlen(plus));
    return text;
}

int cli_fill_check(const csz_fill_suspect *suspect, const cli_arguments *arguments, csz_type type,
                   const char *name) {
    char value[NUMBER_NBYTES], other[NUMBER_NBYTES] = "none", what[256];
    const csz_options *options = &arguments->options;
    if (!suspect->found || arguments->fill_choice == CLI_FILL_NONE) return CLI_DONE;
    shortest_text(value, suspect->value, type);
    if (options->has_fill) shortest_text(other, options->fill, type);
    snprintf(what, sizeof what, "has %s in about %.3g%% of its values, far outside the others (%.4g to %.4g)",
             value, 100 * suspect->share, suspect->low, suspect->high);
    if (options->bound_mode == CSZ_BOUND_ABS || arguments->fill_choice == CLI_FILL_GIVEN) {
        cli_note("note: %s %s; give --fill %s if it marks missing values, to have it back exactly, or --fill "
                 "none if it is data",
                 name, what, value);
        return CLI_DONE;
    }
    return cli_fail_usage(
        "%s %s, and the bound would refer to it; give --fill %s if it marks missing values, "
        "or --fill %s if it is data",
        name, what, value, other);
}
