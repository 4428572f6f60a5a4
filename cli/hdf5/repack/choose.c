/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.c: the first walk: all datasets of a file, and which of them are compressed. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "csz_hdf5.h"
#include "terminal/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEAST_NBYTES = 1024 }; /* of a dataset that is worth an archive's structure */

/* The text of an attribute, of fixed or of any size; NULL if it is none. */
static char *read_text(hid_t dataset, const char *name) {
    char *text = NULL;
    if (cli_h5.H5Aexists(dataset, name) <= 0) return NULL;
    cli_h5_owned attribute = cli_h5.H5Aopen(dataset, name, H5P_DEFAULT);
    cli_h5_owned type = attribute >= 0 ? cli_h5.H5Aget_type(attribute) : -1,
                 space = cli_h5.H5Aget_space(attribute);
    if (type >= 0 && space >= 0 && cli_h5.H5Tget_class(type) == H5T_STRING &&
        cli_h5.H5Sget_simple_extent_npoints(space) == 1) {
        if (cli_h5.H5Tis_variable_str(type) > 0) {
            char *found = NULL;
            if (cli_h5.H5Aread(attribute, type, &found) >= 0 && found) text = strdup(found);
            cli_h5.H5free_memory(found);
        } else {
            text = calloc(1, cli_h5.H5Tget_size(type) + 1);
            if (text && cli_h5.H5Aread(attribute, type, text) < 0) {
                free(text);
                text = NULL;
            }
        }
    }
    return text;
}

/* Words of an attribute such as coordinates = "lat lon" or cell_measures = "area: areacella". */
static int add_words(repacking *p, hid_t object, const char *group, const char *attribute,
                     const char *kept_as) {
    CLI_FREED char *text = read_text(object, attribute);
    char *rest = text;
    int status = CLI_DONE;
    for (char *word; status == CLI_DONE && text && (word = strtok_r(rest, " \t\n", &rest));) {
        if (word[strlen(word) - 1] == ':') continue; /* what the next word is */
        if (!repack_grow((void **)&p->mentions, p->nmentions, &p->mentions_capacity, sizeof *p->mentions))
            return CLI_FAILED;
        mention m = {strdup(group), strdup(word), kept_as};
        if (!m.group || !m.name) status = repack_fail_memory();
        p->mentions[p->nmentions++] = m;
    }
    return status;
}

/* What a dataset or a group names as its coordinates, in the attributes of CF and UGRID.  xarray names those
 * of no variable in an attribute of the file. */
int repack_add_mentions(repacking *p, hid_t object, const char *group) {
    static const struct {
        const char *attribute, *kept_as;
    } known[] = {{"bounds", "bounds of coordinates"}, {"climatology", "bounds of coordinates"},
                 {"coordinates", "coordinates"},      {"formula_terms", "terms of coordinates"},
                 {"grid_mapping", "coordinates"},     {"node_coordinates", "coordinates"},
                 {"edge_coordinates", "coordinates"}, {"face_coordinates", "coordinates"},
                 {"cell_measures", "cell measures"}};
    int status = CLI_DONE;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && status == CLI_DONE; i++)
        status = add_words(p, object, group, known[i].attribute, known[i].kept_as);
    return status;
}

/* Whether the attribute is one of these texts; spaces around it and case do not count. */
static int is_one_of(hid_t dataset, const char *attribute, const char *const *texts, size_t n) {
    CLI_FREED char *found = read_text(dataset, attribute);
    int is_found = 0;
    const char *text = found ? found + strspn(found, " \t") : "";
    size_t nchars = strlen(text);
    while (nchars && strchr(" \t\n", text[nchars - 1])) nchars--;
    for (size_t i = 0; i < n; i++)
        is_found |= nchars == strlen(texts[i]) && strncasecmp(text, texts[i], nchars) == 0;
    return is_found;
}

/* Whether a dataset says that it is a coordinate, as CF asks: latitudes and longitudes over two dims, say,
 * need no variable that names them.  Units of time are those since a date. */
static int is_coordinate(hid_t dataset) {
    static const char *const names[] = {"latitude",
                                        "longitude",
                                        "grid_latitude",
                                        "grid_longitude",
                                        "projection_x_coordinate",
                                        "projection_y_coordinate",
                                        "projection_x_angular_coordinate",
                                        "projection_y_angular_coordinate",
                                        "time"};
    static const char *const units[] = {"degrees_north", "degree_north", "degrees_n",    "degree_n",
                                        "degreesn",      "degreen",      "degrees_east", "degree_east",
                                        "degrees_e",     "degree_e",     "degreese",     "degreee"};
    static const char *const axes[] = {"X", "Y", "Z", "T"};
    CLI_FREED char *unit = read_text(dataset, "units");
    const int is_time = unit && strstr(unit, " since ");
    return is_time || is_one_of(dataset, "standard_name", names, sizeof names / sizeof names[0]) ||
           is_one_of(dataset, "units", units, sizeof units / sizeof units[0]) ||
           is_one_of(dataset, "axis", axes, sizeof axes / sizeof axes[0]);
}

/* netCDF looks for a name in the group of who names it, then in the groups above. */
static const char *find_mention_of(const repacking *p, const char *path) {
    const size_t folder = (size_t)(repack_base_name(path) - path); /* with the slash */
    for (uint64_t i = 0; i < p->nmentions; i++) {
        const mention *m = &p->mentions[i];
        if (strcmp(repack_base_name(m->name), repack_base_name(path)) != 0) continue;
        const size_t group = strlen(m->group);
        if (folder <= 1 || (strncmp(path, m->group, folder - 1) == 0 &&
                            (group == folder - 1 || (group > folder - 1 && m->group[folder - 1] == '/'))))
            return m->kept_as;
    }
    return NULL;
}

/* A path of the variable: its own, then those of its further links; NULL after the last. */
static const char *path_number(const repacking *p, uint64_t variable, uint64_t n) {
    if (n == 0) return p->r->variables[variable].path;
    for (uint64_t i = 0; i < p->nsecond_names; i++)
        if (p->second_names[i].variable == variable && --n == 0) return p->second_names[i].path;
    return NULL;
}

static const char *find_mention(const repacking *p, uint64_t variable) {
    const char *path, *found = NULL;
    for (uint64_t n = 0; !found && (path = path_number(p, variable, n)); n++)
        found = find_mention_of(p, path);
    return found;
}

/* The last one that names this path: of its fill value, or another. */
static cli_repack_rule *find_rule_of(cli_repack *r, const char *path, int is_of_fill) {
    cli_repack_rule *found = NULL;
    for (int i = 0; i < r->nrules; i++) {
        const char *name = r->rules[i].name;
        if ((r->rules[i].kind == CLI_RULE_FILL) != is_of_fill) continue;
        const int fits = *name == '/'        ? strcmp(name, path) == 0
                         : strchr(name, '/') ? strcmp(name, path + 1) == 0
                                             : strcmp(name, repack_base_name(path)) == 0;
        if (!fits) continue;
        r->rules[i].is_used = 1;
        found = &r->rules[i];
    }
    return found;
}

static int are_alike(const cli_repack_rule *a, const cli_repack_rule *b) {
    return a->kind == b->kind && a->mode == b->mode && a->bound == b->bound &&
           a->fill_choice == b->fill_choice && (a->fill == b->fill || (isnan(a->fill) && isnan(b->fill)));
}

/* The rule of a variable, by whichever of its paths; those of two paths must agree. */
static int find_rule(const cli_repack_rule **found, const repacking *p, uint64_t variable, int is_of_fill) {
    const char *path, *found_by = NULL;
    *found = NULL;
    for (uint64_t n = 0; (path = path_number(p, variable, n)); n++) {
        const cli_repack_rule *rule = find_rule_of(p->r, path, is_of_fill);
        if (*found && rule && !are_alike(*found, rule))
            return cli_fail_usage("%s and %s are one dataset of %s, and --var, --skip or --fill differ for "
                                  "them; name one of them",
                                  found_by, path, p->r->input_path);
        if (!rule) continue;
        *found = rule;
        found_by = path;
    }
    return CLI_DONE;
}

int repack_has_values_elsewhere(hid_t dcpl) {
    const H5D_layout_t layout = dcpl >= 0 ? cli_h5.H5Pget_layout(dcpl) : H5D_LAYOUT_ERROR;
    return (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) ||
           cli_h5.H5Pget_external_count(dcpl) > 0;
}

static int has_filter(hid_t dcpl, H5Z_filter_t wanted) {
    const int n = dcpl >= 0 ? cli_h5.H5Pget_nfilters(dcpl) : 0;
    for (int i = 0; i < n; i++) {
        unsigned flags = 0, config = 0;
        size_t nwords = 0;
        if (cli_h5.H5Pget_filter2(dcpl, (unsigned)i, &flags, &nwords, NULL, 0, NULL, &config) == wanted)
            return 1;
    }
    return 0;
}

/* Whether the dataset's values were compressed within a bound, by our filter. */
static int has_bound(hid_t dcpl) {
    const int n = dcpl >= 0 ? cli_h5.H5Pget_nfilters(dcpl) : 0;
    for (int i = 0; i < n; i++) {
        unsigned flags = 0, config = 0, words[CSZ_HDF5_MOST_VALUES] = {0};
        size_t nwords = CSZ_HDF5_MOST_VALUES;
        csz_hdf5_settings settings;
        if (cli_h5.H5Pget_filter2(dcpl, (unsigned)i, &flags, &nwords, words, 0, NULL, &config) ==
                CSZ_HDF5_FILTER_ID &&
            nwords <= CSZ_HDF5_MOST_VALUES && !csz_hdf5_unpack(&settings, words, nwords) &&
            !settings.is_exact)
            return 1;
    }
    return 0;
}

/* Of HDF5's index of chunks, a B-tree of version 1, the first node: 64 chunks with their places. */
static uint64_t index_nbytes(int rank) { return 24 + 64 * 8 + 65 * (16 + 8 * (uint64_t)rank); }

/* Why a dataset stays as it is, or NULL; the rest of the variable is filled in. */
static const char *describe(cli_repack_variable *v, hid_t dataset) {
    cli_h5_owned type = cli_h5.H5Dget_type(dataset), space = cli_h5.H5Dget_space(dataset);
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(dataset);
    hsize_t dims[H5S_MAX_RANK];
    const H5T_class_t class = type >= 0 ? cli_h5.H5Tget_class(type) : H5T_NO_CLASS;
    const int is_known = type >= 0 && cli_h5_take_type(&v->type, type);
    const int is_simple = space >= 0 && cli_h5.H5Sget_simple_extent_type(space) == H5S_SIMPLE;
    const int is_elsewhere = repack_has_values_elsewhere(dcpl);
    v->rank = is_simple ? cli_h5.H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    v->nelements = is_simple ? 1 : 0;
    for (int i = 0; i < v->rank; i++) {
        v->dims[i] = dims[i];
        v->nelements *= dims[i];
    }
    v->nbytes = v->nelements * (type >= 0 ? cli_h5.H5Tget_size(type) : 0);
    v->nbytes_before = v->nbytes_after = cli_h5.H5Dget_storage_size(dataset);
    v->has_fletcher32 = has_filter(dcpl, H5Z_FILTER_FLETCHER32);
    v->has_bound = has_bound(dcpl);
    v->index_nbytes = dcpl >= 0 && cli_h5.H5Pget_layout(dcpl) == H5D_CHUNKED ? 0 : index_nbytes(v->rank);
    if (!is_known)
        return class == H5T_INTEGER  ? "integers"
               : class == H5T_STRING ? "text"
               : class == H5T_FLOAT  ? "floats of another size"
                                     : "another type";
    if (!is_simple || v->rank < 1) return "no array";
    if (is_elsewhere) return "values in other files";
    if (cli_h5_is_bare_dim(dataset)) return "a dim without values";
    if (cli_h5_is_scale(dataset) || is_coordinate(dataset)) return "coordinates";
    return NULL;
}

/* From 64 KiB on; name and type take some of it. */
enum { LARGE_NBYTES = 64000 };
int repack_look_at_attributes(repacking *p, hid_t object, const char *path) {
    const int status = cli_h5_check_attributes(object, path, "or copy it again from its source");
    if (status != CLI_DONE) return status;
    for (hsize_t i = 0; !p->has_large_attributes; i++) {
        cli_h5_owned attribute =
            cli_h5.H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) break;
        cli_h5_owned type = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute);
        const hssize_t n = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : 0;
        const size_t size = type >= 0 ? cli_h5.H5Tget_size(type) : 0;
        p->has_large_attributes = size && n > 0 && (uint64_t)n >= (LARGE_NBYTES + size - 1) / size;
    }
    return CLI_DONE;
}

/* A link of an object that was met before; datasets remember it. */
static int add_second_name(repacking *p, hid_t object, const char *path) {
    hobj_ref_t address;
    const char *first = cli_h5.H5Iget_type(object) == H5I_DATASET &&
                                cli_h5.H5Rcreate(&address, object, ".", H5R_OBJECT, -1) >= 0
                            ? repack_path_of(p, address)
                            : NULL;
    for (uint64_t i = 0; first && i < p->r->nvariables; i++) {
        if (strcmp(p->r->variables[i].path, first) != 0) continue;
        if (!repack_grow((void **)&p->second_names, p->nsecond_names, &p->second_names_capacity,
                         sizeof *p->second_names))
            return CLI_FAILED;
        char *copy = strdup(path);
        if (!copy) return repack_fail_memory();
        p->second_names[p->nsecond_names++] = (second_name){i, copy};
        break;
    }
    return CLI_DONE;
}

int repack_list_link(repacking *p, hid_t group, const char *group_path, const char *name, const char *value,
                     size_t value_nbytes, hid_t object) {
    cli_repack *r = p->r;
    int status = CLI_DONE;
    (void)group, (void)value_nbytes;
    if (value) return CLI_DONE;
    char *path = repack_join(group_path, name);
    if (!path) return repack_fail_memory();
    const H5I_type_t kind = cli_h5.H5Iget_type(object);
    status = repack_look_at_attributes(p, object, path);
    const int is_new = status == CLI_DONE && repack_is_new_object(&status, p, object, path);
    if (!is_new || (kind != H5I_GROUP && kind != H5I_DATASET)) {
        if (!is_new && status == CLI_DONE) status = add_second_name(p, object, path);
        free(path);
        return status;
    }
    if (kind == H5I_GROUP) {
        status = repack_add_mentions(p, object, path);
        if (status == CLI_DONE) status = repack_walk_links(p, object, path, repack_list_link);
        free(path);
        return status;
    }
    if (!repack_grow((void **)&r->variables, r->nvariables, &r->capacity, sizeof *r->variables)) {
        free(path);
        return CLI_FAILED;
    }
    cli_repack_variable *v = &r->variables[r->nvariables++];
    *v = (cli_repack_variable){
        .path = path, .options = r->arguments->options, .fill_choice = r->arguments->fill_choice};
    v->kept_as = describe(v, object);
    return repack_add_mentions(p, object, group_path);
}

static void apply_fill_rule(cli_repack_variable *v, const cli_repack_rule *rule) {
    if (!rule) return;
    v->fill_choice = rule->fill_choice;
    v->options.has_fill = rule->fill_choice == CLI_FILL_GIVEN;
    v->options.fill = rule->fill;
}

int repack_choose(repacking *p) {
    cli_repack *r = p->r;
    for (uint64_t i = 0; i < r->nvariables; i++) {
        cli_repack_variable *v = &r->variables[i];
        const cli_repack_rule *rule, *fill_rule;
        int status = find_rule(&rule, p, i, 0);
        if (status == CLI_DONE) status = find_rule(&fill_rule, p, i, 1);
        if (status != CLI_DONE) return status;
        const int is_bounded = rule && rule->kind == CLI_RULE_BOUND;
        apply_fill_rule(v, fill_rule);
        if (is_bounded && v->kept_as && strcmp(v->kept_as, "coordinates") != 0)
            return cli_fail_usage("--var names %s of %s, which is %s and cannot be compressed; leave it out",
                                  v->path, r->input_path, v->kept_as);
        if (is_bounded) { /* also coordinates, if someone wants it */
            v->kept_as = NULL;
            v->options.bound_mode = rule->mode;
            v->options.bound = rule->bound;
        } else if (!v->kept_as) {
            v->kept_as = rule                       ? "skipped"
                         : !r->arguments->has_bound ? "not named"
                         : v->nbytes < LEAST_NBYTES ? "small"
                                                    : find_mention(p, i);
        }
        if (v->options.bound_mode != CSZ_BOUND_PWR) v->options.floor = 0;
        if (v->options.bound_mode == CSZ_BOUND_PWR || v->options.bound_mode == CSZ_BOUND_EXACT)
            v->options.unsigned_zeros = 0;
        if (!v->kept_as && v->nelements == 0) v->kept_as = "empty";
        if (!v->kept_as && v->nbytes_before == 0) v->kept_as = "never written";
    }
    for (int i = 0; i < r->nrules; i++)
        if (!r->rules[i].is_used)
            return cli_fail_usage("%s has no variable %s; give one that ncdump -h or h5ls -r shows",
                                  r->input_path, r->rules[i].name);
    return CLI_DONE;
}

#endif
