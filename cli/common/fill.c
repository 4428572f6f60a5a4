/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.c: the line about suspected fill values. */
#include "common/fill.h"

#include "terminal/message.h"

int cli_fill_check(const csz_fill_suspect *suspect, const cli_arguments *arguments, csz_type type,
                   const char *name) {
    char value[CLI_NUMBER_TEXT_NBYTES], other[CLI_NUMBER_TEXT_NBYTES], fill[CLI_NUMBER_TEXT_NBYTES];
    char second[96] = "", what[256];
    const csz_options *options = &arguments->options;
    const char *of = arguments->fill_of ? arguments->fill_of : "", *is = arguments->fill_of ? "=" : "";
    if (!suspect->found || arguments->fill_choice == CLI_FILL_NONE) return CLI_DONE;
    if (options->bound_mode == CSZ_BOUND_EXACT) return CLI_DONE; /* nothing can be lost */
    cli_number_text(value, suspect->value, type);
    cli_number_text(other, suspect->other, type);
    cli_number_text(fill, options->fill, type);
    if (suspect->found > 2)
        snprintf(second, sizeof second, ", %s in about %.3g%% and more such numbers in some", other,
                 100 * suspect->other_share);
    else if (suspect->found > 1)
        snprintf(second, sizeof second, " and %s in about %.3g%%", other, 100 * suspect->other_share);
    snprintf(what, sizeof what,
             "has %s in about %.3g%%%s of its values, far outside the others (%.4g to %.4g)", value,
             100 * suspect->share, second, suspect->low, suspect->high);
    const int is_second = options->has_fill && suspect->missing_share > 0;
    if (options->bound_mode == CSZ_BOUND_ABS || options->bound_mode == CSZ_BOUND_PWR) {
        if (is_second)
            cli_note("note: %s %s, besides its fill value %s; if it marks missing values, too, make all of "
                     "them one, to have them back exactly",
                     name, what, fill);
        else
            cli_note("note: %s %s; give --fill %s%s%s if it marks missing values, to have it back exactly, "
                     "or --fill %s%snone if it is data",
                     name, what, of, is, value, of, is);
        return CLI_DONE;
    }
    if (suspect->found == 1 && suspect->value == 0) { /* as often data as not */
        cli_note("note: %s %s, and the bound, as large as most of these differ, refers to it; give --fill "
                 "%s%s0 if it marks missing values, or --fill %s%snone if it is data",
                 name, what, of, is, of, is);
        return CLI_DONE;
    }
    if (is_second)
        return cli_fail_usage("%s %s, besides its fill value %s, and the bound would refer to it; make all "
                              "missing values one, or give -m abs",
                              name, what, fill);
    if (options->has_fill)
        return cli_fail_usage("%s %s, and the fill value %s nowhere: the bound would refer to %s; give "
                              "--fill %s%s%s if it marks missing values, or --fill %s%snone if it is data",
                              name, what, fill, value, of, is, value, of, is);
    if (suspect->found > 1)
        return cli_fail_usage("%s %s, and the bound would refer to them; if they mark missing values, make "
                              "them one and give that with --fill, or give --fill %s%snone if they are data",
                              name, what, of, is);
    return cli_fail_usage("%s %s, and the bound would refer to it; give --fill %s%s%s if it marks missing "
                          "values, or --fill %s%snone if it is data",
                          name, what, of, is, value, of, is);
}

int cli_fill_note_outlier(const csz_fill_outlier *outlier, const cli_arguments *arguments, csz_type type,
                          const char *name) {
    char value[CLI_NUMBER_TEXT_NBYTES], fill[CLI_NUMBER_TEXT_NBYTES], advice[256];
    const csz_options *options = &arguments->options;
    const char *of = arguments->fill_of ? arguments->fill_of : "", *is = arguments->fill_of ? "=" : "";
    const double span = outlier->high - outlier->low;
    if (!outlier->found || arguments->fill_choice == CLI_FILL_NONE) return 0;
    cli_number_text(value, outlier->value, type);
    if (options->has_fill)
        snprintf(advice, sizeof advice, "make that %s", cli_number_text(fill, options->fill, type));
    else
        snprintf(advice, sizeof advice, "give --fill %s%s%s", of, is, value);
    cli_note("note: the bound, -m %s -e %.9g, is %.4g, but most values of %s span %.4g and may come back as "
             "%s: the range counts %s and perhaps others, far outside; %s if that marks missing values, or "
             "give another -e",
             cli_mode_names[options->bound_mode], options->bound, outlier->bound_abs, name, span,
             outlier->bound_abs >= 0.5 * span ? "one" : "a few", value, advice);
    return 1;
}
