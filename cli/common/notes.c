/* SPDX-License-Identifier: BSD-3-Clause */
/* notes.c: see notes.h. */
#include "common/notes.h"

#include "common/report.h"
#include "terminal/message.h"
#include "terminal/values.h"

#include <string.h>

enum {
    WORTH_A_NOTE = 16384, /* bytes; of less, the archive's structure is a large part */
    SAMPLED_PAIRS = 4096  /* of a frame */
};

double cli_range_width(const csz_value_range *range, const csz_fill_watch *watch) {
    if (range->has_values) return range->max - range->min;
    return watch->nlow ? watch->high[0].value - watch->low[0].value : 0;
}

int cli_is_coarse(csz_bound_mode mode, double bound_abs, double floor, double width) {
    return width > 0 && (mode == CSZ_BOUND_PWR ? floor : bound_abs) >= 0.5 * width;
}

int cli_note_bound(csz_bound_mode mode, double bound, double bound_abs, double floor, const char *name,
                   double width, int is_sample) {
    const int is_pointwise = mode == CSZ_BOUND_PWR;
    if (!cli_is_coarse(mode, bound_abs, floor, width)) return 0;
    if (mode == CSZ_BOUND_ABS || is_pointwise)
        cli_note("note: the %s, %.9g, exceeds %swhat %s of %s span, about %.4g: %s may come back "
                 "as one; give a smaller %s",
                 is_pointwise ? "floor" : "bound", is_pointwise ? floor : bound,
                 (is_pointwise ? floor : bound_abs) >= width ? "" : "half of ",
                 is_sample ? "sampled values" : "the values", name, width, is_sample ? "most" : "all",
                 is_pointwise ? "--floor" : "-e, or -m rel for a share of the range");
    else
        cli_note("note: the bound, -m %s -e %.9g, is %.4g, and the values of %s span %.4g: all may come back "
                 "as one; give a %s -e",
                 cli_mode_names[mode], bound, bound_abs, name, width,
                 mode == CSZ_BOUND_PSNR ? "larger" : "smaller");
    return 1;
}

int cli_note_fineness(const csz_options *asked, const csz_info *info, const char *name) {
    const char *type = cli_type_names[info->field.type];
    if (asked->bound_mode != CSZ_BOUND_PWR || info->bound_mode == CSZ_BOUND_PWR) return 0;
    if (info->bound_mode == CSZ_BOUND_EXACT)
        cli_note("note: the bound, -m pwr -e %.9g, is too fine for logarithms of %s: %s is kept bit for bit",
                 asked->bound, type, name);
    else
        cli_note(
            "note: the bound, -m pwr -e %.9g, is too fine for logarithms of %s: every value of %s is kept "
            "within the floor, %.9g",
            asked->bound, type, name, info->bound);
    return 1;
}

void cli_note_implausible(const cli_source *source, const csz_info *info, const cli_arguments *arguments,
                          const csz_value_range *range, const csz_fill_watch *watch) {
    const int is_sample = !range->has_values && watch->n < info->nelements;
    const char *name = source->stream.name;
    char dims[CLI_DIMS_TEXT_NBYTES];
    csz_fill_outlier outlier;
    csz_fill_watch_outlier(&outlier, watch, range, info->field.type);
    if (source->ndim > CSZ_MAX_NDIM)
        cli_note("note: %s has %d dims, of which the archive keeps %s", name, source->ndim,
                 cli_dims_text(dims, &source->field));
    if (cli_path_has_suffix(name, source->field.type == CSZ_F32 ? ".f64" : ".f32"))
        cli_note("note: the values of %s were read as %s, unlike what its name says", name,
                 source->field.type == CSZ_F32 ? "f32" : "f64");
    (void)cli_note_fineness(&arguments->options, info, name);
    if (cli_source_is_archive(source))
        cli_note("note: %s is itself an archive, whose bytes were compressed as numbers; restore it with csz "
                 "decompress to have its field",
                 name);
    else if (!cli_note_bound(info->bound_mode, info->bound, info->bound_abs, info->floor, name,
                             cli_range_width(range, watch), is_sample) &&
             !cli_fill_note_outlier(&outlier, arguments, info->field.type, name) &&
             info->nbytes_field >= WORTH_A_NOTE &&
             info->nbytes_archive - info->metadata_nbytes >= info->nbytes_field)
        cli_note(info->bound_mode == CSZ_BOUND_EXACT && !info->has_zstd && csz_zstd_available()
                     ? "note: the archive is as large as %s: without loss its values cannot be predicted; "
                       "try -z zstd, which finds what repeats, or give a bound, such as -m rel -e 1e-3"
                 : info->bound_mode == CSZ_BOUND_EXACT
                     ? "note: the archive is as large as %s: without loss its values cannot be made smaller; "
                       "give a bound, such as -m rel -e 1e-3"
                     : "note: the archive is as large as %s: within this bound its values cannot be made "
                       "smaller; give a larger one",
                 name);
}

void cli_note_name(const char *path, csz_type type) {
    if (cli_path_has_suffix(path, type == CSZ_F32 ? ".f64" : ".f32"))
        cli_note("note: the values in %s are %s, unlike what its name says; csz does not convert them", path,
                 cli_type_names[type]);
    if (cli_path_has_suffix(path, ".csz"))
        cli_note("note: %s holds raw values and is no archive, unlike what its name says", path);
}

/* The bits of value i. */
static uint64_t bits_at(const void *values, csz_type type, uint64_t i) {
    uint64_t wide;
    uint32_t narrow;
    if (type == CSZ_F64) {
        memcpy(&wide, (const char *)values + i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)values + i * sizeof narrow, sizeof narrow);
    return (uint64_t)narrow << 32;
}

void cli_zeros_add(cli_zeros *zeros, const void *values, csz_type type, uint64_t n) {
    const uint64_t stride = n / SAMPLED_PAIRS + 1, minus_zero = (uint64_t)1 << 63;
    for (uint64_t i = 0; i + 1 < n; i += stride) {
        const uint64_t a = bits_at(values, type, i), b = bits_at(values, type, i + 1);
        zeros->npairs++;
        zeros->nzeros += (a | minus_zero) == minus_zero;
        zeros->nminus += a == minus_zero;
        zeros->nchanges += (a ^ b) == minus_zero && (a | b) == minus_zero;
    }
}

/* Masks of -0.0 took 3 to 6 bits for each change of sign on fields that were tried. */
int cli_zeros_matter(const cli_zeros *zeros, uint64_t nelements, uint64_t nbytes) {
    const double nchanges = (double)nelements * (double)zeros->nchanges / (double)(zeros->npairs + 1);
    return zeros->nminus && nchanges * 3 / 8 >= 0.25 * (double)nbytes;
}

int cli_note_zeros(const cli_zeros *zeros, const csz_info *info, const csz_options *asked, const char *name) {
    if (asked->unsigned_zeros || info->bound_mode == CSZ_BOUND_PWR || info->bound_mode == CSZ_BOUND_EXACT ||
        (info->has_fill && info->fill == 0) || info->nbytes_field < WORTH_A_NOTE ||
        !cli_zeros_matter(zeros, info->nelements, info->nbytes_archive - info->metadata_nbytes))
        return 0;
    cli_note("note: signs of zeros, of which %.0f%% are -0.0, take a large part of the archive of %s; if "
             "they do not matter, give --unsigned-zeros",
             100 * (double)zeros->nminus / (double)zeros->nzeros, name);
    return 1;
}

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
