/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5repack.c: walks a file twice.  The first walk lists all datasets and decides which are compressed:
 * floats that are neither coordinates nor bounds of them; relative bounds are resolved over each whole
 * dataset.  The second makes the new file, group by group in the file's own order.  Groups and committed
 * types are created, and so are the datasets that are compressed, with the same type, extents, chunks, fill
 * value and attributes; their values are written piece by piece, read again and compared.  Other datasets are
 * copied by HDF5, one at a time.  References, which HDF5 leaves empty in a copy, are set last, when
 * everything that they can lead to is there: with them dimension scales are attached again.
 */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/h5repack.h"

#include "command.h"
#include "commands/fill.h"
#include "csz_analyze.h"
#include "csz_hdf5.h"
#include "files/output.h"
#include "hdf5/h5library.h"
#include "hdf5/h5path.h"
#include "process/signals.h"
#include "terminal/message.h"
#include "terminal/progress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINK_NBYTES = 1 << 16,     /* of what a soft or external link says */
    LEAST_NBYTES = 1024,       /* of a dataset that is worth an archive's structure */
    PIECE_NBYTES = 1 << 24,    /* that is read at a time, or one chunk where that is larger */
    CHUNK_NELEMENTS = 1 << 22, /* of a dataset without chunks */
    ANALYZED_NBYTES = 1 << 28  /* at most, of a dry run */
};

/* An object of the old file and where it is in both. */
typedef struct known_object {
    hobj_ref_t address;
    char *path;
} known_object;

/* A type that has a name in the old file, and its copy, open in the new one. */
typedef struct known_type {
    hobj_ref_t address;
    hid_t copy;
} known_type;

/* A dataset that another one names as its coordinates or bounds. */
typedef struct mention {
    char *group, *name;
    const char *kept_as;
} mention;

typedef struct repacking {
    cli_repack *r;
    hid_t from, to;
    known_object *objects;
    uint64_t nobjects, objects_capacity;
    known_type *types;
    uint64_t ntypes, types_capacity;
    mention *mentions;
    uint64_t nmentions, mentions_capacity;
    uint64_t nbytes_done;
    char *link_value;
} repacking;

/* ---- small things ---- */

static int fail_memory(void) { return cli_fail_memory("a list of objects", 4096); }

static int fail_write(const repacking *p, const char *path) {
    return cli_fail("%s of %s cannot be written by HDF5; check that the disk of %s has space", path,
                    p->r->input_path, p->r->output_path);
}

static int fail_read(const repacking *p, const char *path) {
    return cli_fail(
        "%s of %s cannot be read: it is damaged, or a filter that it needs is not found; check the "
        "file, and HDF5_PLUGIN_PATH",
        path, p->r->input_path);
}

static char *join(const char *group, const char *name) {
    const size_t nbytes = strlen(group) + strlen(name) + 2;
    char *path = malloc(nbytes);
    if (path) snprintf(path, nbytes, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
    return path;
}

static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* Room for one more; 0 if memory ran out. */
static int grow(void **list, uint64_t n, uint64_t *capacity, size_t size) {
    if (n < *capacity) return 1;
    const uint64_t larger = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*list, (size_t)larger * size);
    if (!grown) return 0;
    *list = grown;
    *capacity = larger;
    return 1;
}

static const char *path_of(const repacking *p, hobj_ref_t address) {
    for (uint64_t i = 0; i < p->nobjects; i++)
        if (p->objects[i].address == address) return p->objects[i].path;
    return NULL;
}

static int add_object(repacking *p, hobj_ref_t address, const char *path) {
    if (!grow((void **)&p->objects, p->nobjects, &p->objects_capacity, sizeof *p->objects))
        return fail_memory();
    char *copy = strdup(path);
    if (!copy) return fail_memory();
    p->objects[p->nobjects++] = (known_object){address, copy};
    return CLI_DONE;
}

/* The text of an attribute, of fixed or of any size; NULL if it is none. */
static char *read_text(hid_t dataset, const char *name) {
    char *text = NULL;
    if (cli_h5.H5Aexists(dataset, name) <= 0) return NULL;
    hid_t attribute = cli_h5.H5Aopen(dataset, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? cli_h5.H5Aget_type(attribute) : -1, space = cli_h5.H5Aget_space(attribute);
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
    cli_h5_release(space);
    cli_h5_release(type);
    cli_h5_release(attribute);
    return text;
}

/* ---- walking ---- */

/*
 * What to do with a link of a group: value is that of a soft or external link, NULL for a hard one, whose
 * object is open.
 */
typedef int (*link_visitor)(repacking *p, hid_t group, const char *group_path, const char *name,
                            const char *value, size_t value_nbytes, hid_t object);

static H5_index_t order_of_links(hid_t group) {
    unsigned flags = 0;
    hid_t gcpl = cli_h5.H5Gget_create_plist(group);
    if (gcpl >= 0) (void)cli_h5.H5Pget_link_creation_order(gcpl, &flags);
    cli_h5_release(gcpl);
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

static int walk_links(repacking *p, hid_t group, const char *group_path, link_visitor visit) {
    H5G_info_t info;
    const H5_index_t order = order_of_links(group);
    int status = cli_h5.H5Gget_info(group, &info) >= 0 ? CLI_DONE : fail_read(p, group_path);
    for (hsize_t i = 0; i < info.nlinks && status == CLI_DONE; i++) {
        const ssize_t n = cli_h5.H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
        char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
        if (!name || cli_h5.H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, name, (size_t)n + 1,
                                               H5P_DEFAULT) < 0) {
            free(name);
            return fail_read(p, group_path);
        }
        memset(p->link_value, 0, LINK_NBYTES);
        if (cli_h5.H5Lget_val(group, name, p->link_value, LINK_NBYTES - 1, H5P_DEFAULT) >= 0) {
            status = visit(p, group, group_path, name, p->link_value, LINK_NBYTES, -1);
        } else {
            hid_t object = cli_h5.H5Oopen(group, name, H5P_DEFAULT);
            char *path = join(group_path, name);
            status = !path        ? fail_memory()
                     : object < 0 ? fail_read(p, path)
                                  : visit(p, group, group_path, name, NULL, 0, object);
            free(path);
            cli_h5_release(object);
        }
        free(name);
    }
    return status;
}

/* Whether the object is met for the first time; then it is remembered. */
static int is_new_object(int *status, repacking *p, hid_t object, const char *path) {
    hobj_ref_t address;
    if (cli_h5.H5Rcreate(&address, object, ".", H5R_OBJECT, -1) < 0) {
        *status = fail_read(p, path);
        return 0;
    }
    if (path_of(p, address)) return 0;
    *status = add_object(p, address, path);
    return *status == CLI_DONE;
}

static void forget_objects(repacking *p) {
    for (uint64_t i = 0; i < p->nobjects; i++) free(p->objects[i].path);
    p->nobjects = 0;
}

/* ---- which datasets are compressed ---- */

/* Words of an attribute such as coordinates = "lat lon". */
static int add_mentions(repacking *p, hid_t dataset, const char *group, const char *attribute,
                        const char *kept_as) {
    char *text = read_text(dataset, attribute), *rest = text;
    int status = CLI_DONE;
    for (char *word; status == CLI_DONE && text && (word = strtok_r(rest, " \t\n", &rest));) {
        if (!grow((void **)&p->mentions, p->nmentions, &p->mentions_capacity, sizeof *p->mentions)) {
            status = fail_memory();
            break;
        }
        mention m = {strdup(group), strdup(word), kept_as};
        if (!m.group || !m.name) status = fail_memory();
        p->mentions[p->nmentions++] = m;
    }
    free(text);
    return status;
}

/* netCDF looks for a name in the group of who names it, then in the groups above. */
static const char *find_mention(const repacking *p, const char *path) {
    const size_t folder = (size_t)(base_name(path) - path); /* with the slash */
    for (uint64_t i = 0; i < p->nmentions; i++) {
        const mention *m = &p->mentions[i];
        if (strcmp(base_name(m->name), base_name(path)) != 0) continue;
        const size_t group = strlen(m->group);
        if (folder <= 1 || (strncmp(path, m->group, folder - 1) == 0 &&
                            (group == folder - 1 || (group > folder - 1 && m->group[folder - 1] == '/'))))
            return m->kept_as;
    }
    return NULL;
}

static cli_repack_rule *find_rule(cli_repack *r, const char *path) {
    cli_repack_rule *found = NULL;
    for (int i = 0; i < r->nrules; i++) {
        const char *name = r->rules[i].name;
        const int fits = *name == '/'        ? strcmp(name, path) == 0
                         : strchr(name, '/') ? strcmp(name, path + 1) == 0
                                             : strcmp(name, base_name(path)) == 0;
        if (!fits) continue;
        r->rules[i].is_used = 1;
        found = &r->rules[i];
    }
    return found;
}

/* Whether a dataset's values are in other datasets or other files. */
static int has_values_elsewhere(hid_t dcpl) {
    const H5D_layout_t layout = dcpl >= 0 ? cli_h5.H5Pget_layout(dcpl) : H5D_LAYOUT_ERROR;
    return (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) ||
           cli_h5.H5Pget_external_count(dcpl) > 0;
}

/* Why a dataset stays as it is, or NULL; the rest of the variable is filled in. */
static const char *describe(cli_repack_variable *v, hid_t dataset) {
    hid_t type = cli_h5.H5Dget_type(dataset), space = cli_h5.H5Dget_space(dataset);
    hid_t dcpl = cli_h5.H5Dget_create_plist(dataset);
    hsize_t dims[H5S_MAX_RANK];
    const H5T_class_t class = type >= 0 ? cli_h5.H5Tget_class(type) : H5T_NO_CLASS;
    const int is_known = type >= 0 && cli_h5_take_type(&v->type, type);
    const int is_simple = space >= 0 && cli_h5.H5Sget_simple_extent_type(space) == H5S_SIMPLE;
    const int is_elsewhere = has_values_elsewhere(dcpl);
    v->rank = is_simple ? cli_h5.H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    v->nelements = is_simple ? 1 : 0;
    for (int i = 0; i < v->rank; i++) {
        v->dims[i] = dims[i];
        v->nelements *= dims[i];
    }
    v->nbytes = v->nelements * (type >= 0 ? cli_h5.H5Tget_size(type) : 0);
    v->nbytes_before = v->nbytes_after = cli_h5.H5Dget_storage_size(dataset);
    cli_h5_release(dcpl);
    cli_h5_release(space);
    cli_h5_release(type);
    if (!is_known)
        return class == H5T_INTEGER  ? "integers"
               : class == H5T_STRING ? "text"
               : class == H5T_FLOAT  ? "floats of another size"
                                     : "another type";
    if (!is_simple || v->rank < 1) return "no array";
    if (is_elsewhere) return "values in other files";
    if (cli_h5_is_scale(dataset)) return "coordinates";
    return NULL;
}

static int list_link(repacking *p, hid_t group, const char *group_path, const char *name, const char *value,
                     size_t value_nbytes, hid_t object) {
    cli_repack *r = p->r;
    int status = CLI_DONE;
    (void)group, (void)value_nbytes;
    if (value) return CLI_DONE;
    char *path = join(group_path, name);
    if (!path) return fail_memory();
    const H5I_type_t kind = cli_h5.H5Iget_type(object);
    if (!is_new_object(&status, p, object, path) || (kind != H5I_GROUP && kind != H5I_DATASET)) {
        free(path);
        return status;
    }
    if (kind == H5I_GROUP) {
        status = walk_links(p, object, path, list_link);
        free(path);
        return status;
    }
    if (!grow((void **)&r->variables, r->nvariables, &r->capacity, sizeof *r->variables)) {
        free(path);
        return fail_memory();
    }
    cli_repack_variable *v = &r->variables[r->nvariables++];
    *v = (cli_repack_variable){.path = path, .options = r->arguments->options};
    v->kept_as = describe(v, object);
    status = add_mentions(p, object, group_path, "bounds", "bounds of coordinates");
    if (status == CLI_DONE)
        status = add_mentions(p, object, group_path, "climatology", "bounds of coordinates");
    if (status == CLI_DONE) status = add_mentions(p, object, group_path, "coordinates", "coordinates");
    return status;
}

static int choose(repacking *p) {
    cli_repack *r = p->r;
    for (uint64_t i = 0; i < r->nvariables; i++) {
        cli_repack_variable *v = &r->variables[i];
        const cli_repack_rule *rule = find_rule(r, v->path);
        if (rule && !rule->is_skipped && v->kept_as && strcmp(v->kept_as, "coordinates") != 0)
            return cli_fail_usage("--var names %s of %s, which is %s and cannot be compressed; leave it out",
                                  v->path, r->input_path, v->kept_as);
        if (rule && !rule->is_skipped) { /* also coordinates, if someone wants it */
            v->kept_as = NULL;
            v->options.bound_mode = rule->mode;
            v->options.bound = rule->bound;
        } else if (!v->kept_as) {
            v->kept_as = rule                       ? "skipped"
                         : !r->arguments->has_bound ? "not named"
                         : v->nbytes < LEAST_NBYTES ? "small"
                                                    : find_mention(p, v->path);
        }
        if (!v->kept_as && v->nelements == 0) v->kept_as = "empty";
    }
    for (int i = 0; i < r->nrules; i++)
        if (!r->rules[i].is_used)
            return cli_fail_usage("%s has no variable %s; give one that ncdump -h or h5ls -r shows",
                                  r->input_path, r->rules[i].name);
    return CLI_DONE;
}

/* ---- values, piece by piece ---- */

typedef struct piece {
    hsize_t begin[H5S_MAX_RANK], n[H5S_MAX_RANK];
    uint64_t nelements;
} piece;

/* Chunks of the dataset, or those that it gets where it has none. */
static void chunks_of(hsize_t *chunk, const cli_repack_variable *v, hid_t dataset) {
    hid_t dcpl = cli_h5.H5Dget_create_plist(dataset);
    if (dcpl < 0 || cli_h5.H5Pget_layout(dcpl) != H5D_CHUNKED ||
        cli_h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) < 1) {
        uint64_t n = v->nelements;
        for (int i = 0; i < v->rank; i++) chunk[i] = v->dims[i];
        for (int i = 0; i < v->rank && n > CHUNK_NELEMENTS;) {
            if (chunk[i] == 1) {
                i++;
                continue;
            }
            chunk[i] = (chunk[i] + 1) / 2;
            n = 1;
            for (int k = 0; k < v->rank; k++) n *= chunk[k];
        }
    }
    cli_h5_release(dcpl);
}

/* Boxes of whole chunks: the fastest dims grow first, to PIECE_NBYTES. */
static void piece_shape(hsize_t *shape, const hsize_t *chunk, const cli_repack_variable *v) {
    uint64_t nbytes = v->nelements ? v->nbytes / v->nelements : 1;
    for (int i = 0; i < v->rank; i++) {
        shape[i] = chunk[i] < v->dims[i] ? chunk[i] : v->dims[i];
        nbytes *= shape[i];
    }
    for (int i = v->rank - 1; i >= 0; i--) {
        const uint64_t most = nbytes ? PIECE_NBYTES / (nbytes / shape[i]) : 1;
        if (most < 2 * shape[i]) continue;
        const hsize_t larger = most < v->dims[i] ? most / shape[i] * shape[i] : v->dims[i];
        nbytes = nbytes / shape[i] * larger;
        shape[i] = larger;
        if (larger < v->dims[i]) break;
    }
}

/* The next piece; 0 at the end.  Before the first, nelements is 0. */
static int next_piece(piece *at, const hsize_t *shape, const cli_repack_variable *v) {
    int i = v->rank - 1;
    if (at->nelements == 0)
        memset(at->begin, 0, sizeof at->begin);
    else
        for (;; i--) {
            if (i < 0) return 0;
            at->begin[i] += shape[i];
            if (at->begin[i] < v->dims[i]) break;
            at->begin[i] = 0;
        }
    at->nelements = 1;
    for (int k = 0; k < v->rank; k++) {
        const uint64_t left = v->dims[k] - at->begin[k];
        at->n[k] = left < shape[k] ? left : shape[k];
        at->nelements *= at->n[k];
    }
    return 1;
}

static hid_t memory_type(const cli_repack_variable *v) {
    return v->type == CSZ_F32 ? *cli_h5.H5T_NATIVE_FLOAT_g : *cli_h5.H5T_NATIVE_DOUBLE_g;
}

static int move_piece(void *values, const piece *at, hid_t type, hid_t dataset, int writes) {
    const hsize_t n = at->nelements;
    hid_t space = cli_h5.H5Dget_space(dataset), memory = cli_h5.H5Screate_simple(1, &n, NULL);
    int is_done = space >= 0 && memory >= 0 &&
                  (cli_h5.H5Sget_simple_extent_type(space) == H5S_SCALAR ||
                   cli_h5.H5Sselect_hyperslab(space, H5S_SELECT_SET, at->begin, NULL, at->n, NULL) >= 0);
    if (is_done && writes)
        is_done = cli_h5.H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values) >= 0;
    else if (is_done)
        is_done = cli_h5.H5Dread(dataset, type, memory, space, H5P_DEFAULT, values) >= 0;
    cli_h5_release(memory);
    cli_h5_release(space);
    return is_done;
}

static uint64_t piece_nelements(const hsize_t *shape, const cli_repack_variable *v) {
    uint64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= shape[i];
    return n;
}

static void count_done(repacking *p, const cli_repack_variable *v, uint64_t nelements) {
    p->nbytes_done += nelements * cli_type_nbytes(v->type);
    cli_progress_set(p->nbytes_done);
}

/* ---- bounds ---- */

/* The range of the values, and whether a fill value was forgotten; the bound that follows. */
static int resolve(repacking *p, cli_repack_variable *v, hid_t dataset) {
    hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    csz_value_range range = {0, 0, 0};
    csz_fill_watch watch = {.n = 0};
    csz_fill_suspect suspect;
    piece at = {.nelements = 0};
    int status = CLI_DONE, recounts = 0;
    chunks_of(chunk, v, dataset);
    piece_shape(shape, chunk, v);
    void *values =
        cli_allocate("a piece of a variable", piece_nelements(shape, v) * cli_type_nbytes(v->type));
    if (!values) return CLI_FAILED;
    do { /* once more where something is suspicious, to count it */
        uint64_t first = 0;
        at.nelements = 0;
        while (status == CLI_DONE && next_piece(&at, shape, v)) {
            if (!move_piece(values, &at, memory_type(v), dataset, 0)) {
                status = fail_read(p, v->path);
                break;
            }
            (void)csz_fill_watch_add(&watch, values, first, at.nelements, v->type, v->nelements, &v->options);
            if (!recounts) (void)csz_range_add(&range, values, at.nelements, v->type, &v->options);
            first += at.nelements;
            if (!recounts) count_done(p, v, at.nelements);
        }
    } while (status == CLI_DONE && !recounts && (recounts = csz_fill_watch_recount(&watch, &range, v->type)));
    free(values);
    cli_arguments arguments = *p->r->arguments;
    arguments.options = v->options;
    csz_fill_watch_result(&suspect, &watch, v->type);
    if (status == CLI_DONE) status = cli_fill_check(&suspect, &arguments, v->type, v->path);
    if (status == CLI_DONE && csz_range_bound(&v->bound_abs, &range, &v->options) != CSZ_OK)
        status = cli_fail("%s of %s has no bound; give one with --var", v->path, p->r->input_path);
    /* the filter takes no bound of 0: values that are all equal keep any */
    if (status == CLI_DONE && v->bound_abs == 0) v->bound_abs = 1e-300;
    return status;
}

static int find_bound(repacking *p, cli_repack_variable *v) {
    hid_t dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    cli_h5_location at = {.path = v->path};
    const cli_arguments *arguments = p->r->arguments;
    int status = dataset >= 0 ? CLI_DONE : fail_read(p, v->path);
    if (status == CLI_DONE && arguments->fill_choice != CLI_FILL_GIVEN &&
        arguments->fill_choice != CLI_FILL_NONE)
        status = cli_h5_take_fill(&v->options, v->type, dataset, &at);
    if (status == CLI_DONE) status = cli_h5_check_filters(dataset, v->type, &at);
    v->bound_abs = v->options.bound;
    if (status == CLI_DONE && cli_is_ranged(v->options.bound_mode)) status = resolve(p, v, dataset);
    cli_h5_release(dataset);
    return status;
}

/* ---- a dry run ---- */

/* The size by the analysis of the variable, or of its first planes where it is large. */
static int predict(repacking *p, cli_repack_variable *v) {
    if (v->options.bound_mode == CSZ_BOUND_EXACT)
        return cli_fail_usage(
            "--dry-run predicts sizes under a bound; %s is to be exact, give --dry-run without it", v->path);
    hid_t dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    const size_t size = cli_type_nbytes(v->type);
    piece at = {.nelements = v->nelements};
    csz_context *context = NULL;
    csz_analysis *a = calloc(1, sizeof *a);
    csz_field field = {v->type, 0, {0}};
    for (int i = 0; i < v->rank; i++) at.n[i] = v->dims[i];
    const uint64_t plane = v->nelements / v->dims[0], most = ANALYZED_NBYTES / size;
    if (v->nelements > most) {
        at.n[0] = most / plane > 0 ? most / plane : 1;
        at.nelements = at.n[0] * plane;
    }
    for (int i = 0; i < v->rank; i++) { /* of more than four dims the slowest become one */
        if (field.ndim == CSZ_MAX_NDIM) {
            field.dims[0] *= field.dims[1];
            memmove(field.dims + 1, field.dims + 2, (CSZ_MAX_NDIM - 2) * sizeof field.dims[0]);
            field.ndim--;
        }
        field.dims[field.ndim++] = at.n[i];
    }
    void *values = a ? cli_allocate("a variable", at.nelements * size) : NULL;
    int status = values ? cli_context_create(&context) : CLI_FAILED;
    if (status == CLI_DONE && (dataset < 0 || !move_piece(values, &at, memory_type(v), dataset, 0)))
        status = fail_read(p, v->path);
    csz_options options = v->options;
    if (options.bound_mode != CSZ_BOUND_PWR) options.bound_mode = CSZ_BOUND_ABS;
    if (status == CLI_DONE) {
        const csz_status analyzed =
            csz_analyze(context, a, sizeof *a, &v->bound_abs, 1, values, &field, &options, 0);
        if (analyzed != CSZ_OK) status = cli_fail_status(analyzed, "analyze", v->path);
    }
    if (status == CLI_DONE) {
        const csz_workflow_size *of = &a->predictor[options.predictor];
        if (options.workflow != CSZ_WORKFLOW_AUTO || !of->nbytes_predicted)
            of = &a->workflow[options.workflow];
        v->nbytes_after =
            (uint64_t)((double)of->nbytes_predicted * ((double)v->nelements / (double)at.nelements));
        count_done(p, v, v->nelements);
    }
    free(values);
    free(a);
    csz_context_destroy(context);
    cli_h5_release(dataset);
    return status;
}

/* ---- the new file ---- */

static cli_repack_variable *find_variable(const repacking *p, const char *path) {
    for (uint64_t i = 0; i < p->r->nvariables; i++)
        if (strcmp(p->r->variables[i].path, path) == 0) return &p->r->variables[i];
    return NULL;
}

static H5_index_t order_of_attributes(hid_t object) {
    unsigned flags = 0;
    const H5I_type_t kind = cli_h5.H5Iget_type(object);
    hid_t plist = kind == H5I_GROUP      ? cli_h5.H5Gget_create_plist(object)
                  : kind == H5I_DATATYPE ? cli_h5.H5Tget_create_plist(object)
                                         : cli_h5.H5Dget_create_plist(object);
    if (plist >= 0) (void)cli_h5.H5Pget_attr_creation_order(plist, &flags);
    cli_h5_release(plist);
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

/*
 * The type in the new file.  A type with a name is made once, before its name, as datasets and attributes may
 * come first; other types belong to no file.
 */
static hid_t copy_type(repacking *p, hid_t type) {
    hobj_ref_t address;
    hid_t copy = cli_h5.H5Tcopy(type);
    if (copy < 0 || cli_h5.H5Tcommitted(type) <= 0) return copy;
    hid_t tcpl = cli_h5.H5Tget_create_plist(type);
    int is_done = tcpl >= 0 && cli_h5.H5Rcreate(&address, type, ".", H5R_OBJECT, -1) >= 0;
    for (uint64_t i = 0; is_done && i < p->ntypes; i++) {
        if (p->types[i].address != address) continue;
        cli_h5_release(tcpl);
        cli_h5_release(copy);
        return cli_h5.H5Iinc_ref(p->types[i].copy) > 0 ? p->types[i].copy : -1;
    }
    is_done = is_done && cli_h5.H5Pset_obj_track_times(tcpl, 0) >= 0 &&
              cli_h5.H5Tcommit_anon(p->to, copy, tcpl, H5P_DEFAULT) >= 0 &&
              grow((void **)&p->types, p->ntypes, &p->types_capacity, sizeof *p->types) &&
              cli_h5.H5Iinc_ref(copy) > 0;
    cli_h5_release(tcpl);
    if (is_done) {
        p->types[p->ntypes++] = (known_type){address, copy};
        return copy;
    }
    cli_h5_release(copy);
    return -1;
}

/*
 * How the group orders its links and attributes, into the properties of a new group or file.  Its other
 * properties are not taken: among those that HDF5 gives of a group with many links is where they lie in the
 * old file.
 */
static void take_group_order(hid_t properties, hid_t group) {
    hid_t gcpl = cli_h5.H5Gget_create_plist(group);
    unsigned links = 0, attributes = 0;
    (void)cli_h5.H5Pset_obj_track_times(properties, 0); /* the same file gives the same bytes */
    if (cli_h5.H5Pget_link_creation_order(gcpl, &links) >= 0)
        (void)cli_h5.H5Pset_link_creation_order(properties, links);
    if (cli_h5.H5Pget_attr_creation_order(gcpl, &attributes) >= 0)
        (void)cli_h5.H5Pset_attr_creation_order(properties, attributes);
    cli_h5_release(gcpl);
}

/* What HDF5 has allocated for n values of any length. */
static void free_texts(char *values, size_t n, hid_t type) {
    const size_t size = cli_h5.H5Tget_size(type);
    const int are_texts = cli_h5.H5Tis_variable_str(type) > 0,
              are_lists = cli_h5.H5Tget_class(type) == H5T_VLEN;
    for (size_t i = 0; i < n && (are_texts || are_lists); i++)
        cli_h5.H5free_memory(are_texts ? *(char **)(values + i * size) : ((hvl_t *)(values + i * size))->p);
}

/* The attribute as it is; references are left empty. */
static int copy_attribute(repacking *p, hid_t attribute, hid_t to) {
    const ssize_t n = cli_h5.H5Aget_name(attribute, 0, NULL);
    char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    hid_t found = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute);
    hid_t type = found >= 0 ? copy_type(p, found) : -1, copy = -1;
    const hssize_t npoints = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done =
        name && type >= 0 && npoints >= 0 && cli_h5.H5Aget_name(attribute, (size_t)n + 1, name) >= 0;
    if (is_done) copy = cli_h5.H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    is_done = is_done && copy >= 0;
    const int is_null = space >= 0 && cli_h5.H5Sget_simple_extent_type(space) == H5S_NULL;
    if (is_done && npoints > 0 && !is_null && cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0) {
        char *values = calloc((size_t)npoints, cli_h5.H5Tget_size(type));
        is_done = values && cli_h5.H5Aread(attribute, type, values) >= 0 &&
                  cli_h5.H5Awrite(copy, type, values) >= 0;
        if (is_done) free_texts(values, (size_t)npoints, type);
        free(values);
    }
    cli_h5_release(copy);
    cli_h5_release(type);
    cli_h5_release(space);
    cli_h5_release(found);
    free(name);
    return is_done;
}

static int copy_attributes(repacking *p, hid_t from, hid_t to) {
    const H5_index_t order = order_of_attributes(from);
    for (hsize_t i = 0;; i++) {
        hid_t attribute = cli_h5.H5Aopen_by_idx(from, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) return 1;
        const int is_done = copy_attribute(p, attribute, to);
        cli_h5_release(attribute);
        if (!is_done) return 0;
    }
}

/* The new dataset's properties: the old one's, in chunks, through the filter. */
static hid_t filtered(const cli_repack_variable *v, hid_t from) {
    unsigned words[CSZ_HDF5_USER_VALUES];
    hsize_t chunk[H5S_MAX_RANK];
    csz_hdf5_settings settings;
    csz_hdf5_settings_init(&settings);
    settings.bound = v->bound_abs;
    settings.is_exact = v->options.bound_mode == CSZ_BOUND_EXACT;
    if (v->options.bound_mode == CSZ_BOUND_PWR) settings.bound_mode = CSZ_BOUND_PWR;
    settings.workflow = v->options.workflow;
    settings.predictor = v->options.predictor;
    settings.fill = v->options.has_fill ? CSZ_HDF5_FILL_GIVEN : CSZ_HDF5_FILL_NONE;
    settings.fill_value = v->options.has_fill ? v->options.fill : 0;
    const size_t n = csz_hdf5_pack(words, &settings);
    hid_t old = cli_h5.H5Dget_create_plist(from), dcpl = old >= 0 ? cli_h5.H5Pcopy(old) : -1;
    cli_h5_release(old);
    chunks_of(chunk, v, from);
    if (dcpl >= 0 &&
        (cli_h5.H5Premove_filter(dcpl, H5Z_FILTER_ALL) < 0 || cli_h5.H5Pset_chunk(dcpl, v->rank, chunk) < 0 ||
         cli_h5.H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR) < 0 ||
         cli_h5.H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_MANDATORY, n, words) < 0)) {
        cli_h5_release(dcpl);
        return -1;
    }
    return dcpl;
}

/* Copies the values, or with check reads both and holds them against each other. */
static int copy_values(repacking *p, cli_repack_variable *v, hid_t from, hid_t to, int check) {
    hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    piece at = {.nelements = 0};
    int status = CLI_DONE;
    chunks_of(chunk, v, from);
    piece_shape(shape, chunk, v);
    const uint64_t nbytes = piece_nelements(shape, v) * cli_type_nbytes(v->type);
    char *values = cli_allocate("a piece of a variable", 2 * nbytes),
         *again = values ? values + nbytes : NULL;
    if (!values) return CLI_FAILED;
    while (status == CLI_DONE && next_piece(&at, shape, v)) {
        if (!move_piece(values, &at, memory_type(v), from, 0)) {
            status = fail_read(p, v->path);
        } else if (!check) {
            if (!move_piece(values, &at, memory_type(v), to, 1)) status = fail_write(p, v->path);
        } else if (!move_piece(again, &at, memory_type(v), to, 0)) {
            status =
                cli_fail("%s cannot be read again from the new file; report this with the file", v->path);
        } else {
            csz_metrics part;
            const csz_field line = {v->type, 1, {at.nelements}};
            if (csz_compare(&part, sizeof part, values, again, &line, v->bound_abs, &v->options) == CSZ_OK)
                csz_metrics_join(&v->metrics, sizeof v->metrics, &part);
        }
        count_done(p, v, at.nelements);
    }
    free(values);
    if (status == CLI_DONE && v->metrics.violations)
        status = cli_fail(
            "%llu values of %s would break the bound, so nothing is written; report this with the file",
            (unsigned long long)v->metrics.violations, v->path);
    return status;
}

static int compress_dataset(repacking *p, cli_repack_variable *v, hid_t from, hid_t to_group,
                            const char *name) {
    hid_t found = cli_h5.H5Dget_type(from), type = found >= 0 ? copy_type(p, found) : -1;
    hid_t space = cli_h5.H5Dget_space(from), dcpl = filtered(v, from), to = -1;
    int status = CLI_DONE;
    if (type >= 0 && space >= 0 && dcpl >= 0)
        to = cli_h5.H5Dcreate2(to_group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (to < 0 || !copy_attributes(p, from, to)) status = fail_write(p, v->path);
    if (status == CLI_DONE) status = copy_values(p, v, from, to, 0);
    /* what is in HDF5's cache is compressed and written now */
    if (to >= 0 && cli_h5.H5Idec_ref(to) < 0 && status == CLI_DONE) status = fail_write(p, v->path);
    to = status == CLI_DONE ? cli_h5.H5Oopen(to_group, name, H5P_DEFAULT) : -1;
    if (status == CLI_DONE) status = to >= 0 ? copy_values(p, v, from, to, 1) : fail_write(p, v->path);
    if (status == CLI_DONE) v->nbytes_after = cli_h5.H5Dget_storage_size(to);
    cli_h5_release(to);
    cli_h5_release(dcpl);
    cli_h5_release(space);
    cli_h5_release(type);
    cli_h5_release(found);
    return status;
}

/* Whether values may be of any length. */
static int has_any_length(hid_t type) {
    return cli_h5.H5Tis_variable_str(type) > 0 || cli_h5.H5Tdetect_class(type, H5T_VLEN) > 0 ||
           (cli_h5.H5Tget_class(type) != H5T_STRING && cli_h5.H5Tdetect_class(type, H5T_STRING) > 0);
}

/*
 * Whether H5Ocopy may copy the dataset.  HDF5 1.10 copies a fill value of any length as a place in the old
 * file, so that the copy cannot be read; and a type with a name becomes another type, without one, or, if
 * types are merged, HDF5 searches the whole new file for it and crashes.
 */
static int can_copy_whole(hid_t dataset) {
    hid_t type = cli_h5.H5Dget_type(dataset);
    int can = type >= 0 && cli_h5.H5Tcommitted(type) <= 0 && !has_any_length(type);
    cli_h5_release(type);
    for (hsize_t i = 0; can; i++) {
        hid_t attribute =
            cli_h5.H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) break;
        type = cli_h5.H5Aget_type(attribute);
        can = type >= 0 && cli_h5.H5Tcommitted(type) <= 0;
        cli_h5_release(type);
        cli_h5_release(attribute);
    }
    return can;
}

/* A dataset that it may not, read and written; references in it are left empty. */
static int copy_by_values(repacking *p, const cli_repack_variable *v, hid_t from, hid_t to_group,
                          const char *name) {
    hid_t found = cli_h5.H5Dget_type(from), type = found >= 0 ? copy_type(p, found) : -1;
    hid_t space = cli_h5.H5Dget_space(from), dcpl = cli_h5.H5Dget_create_plist(from), to = -1;
    const hssize_t n = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    if (type >= 0 && n >= 0 && dcpl >= 0)
        to = cli_h5.H5Dcreate2(to_group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int is_done = to >= 0 && copy_attributes(p, from, to);
    if (is_done && n > 0 && cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0 && !has_values_elsewhere(dcpl) &&
        cli_h5.H5Dget_storage_size(from) > 0) {
        hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
        piece at = {.nelements = 0};
        chunks_of(chunk, v, from);
        piece_shape(shape, chunk, v);
        char *values = calloc((size_t)piece_nelements(shape, v), cli_h5.H5Tget_size(type));
        is_done = values != NULL;
        while (is_done && next_piece(&at, shape, v)) {
            is_done = move_piece(values, &at, type, from, 0) && move_piece(values, &at, type, to, 1);
            if (is_done) free_texts(values, (size_t)at.nelements, type);
        }
        free(values);
    }
    if (to >= 0 && cli_h5.H5Idec_ref(to) < 0) is_done = 0;
    cli_h5_release(dcpl);
    cli_h5_release(space);
    cli_h5_release(type);
    cli_h5_release(found);
    return is_done;
}

/* A type with a name. */
static int copy_named_type(repacking *p, hid_t from, hid_t to_group, const char *name) {
    hid_t to = copy_type(p, from);
    const int is_done = to >= 0 && cli_h5.H5Olink(to, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
                        copy_attributes(p, from, to);
    cli_h5_release(to);
    return is_done;
}

static int copy_link(repacking *p, hid_t to_group, const char *name, const char *value, size_t value_nbytes) {
    const char *file = NULL, *target = NULL;
    unsigned flags;
    if (cli_h5.H5Lunpack_elink_val(value, value_nbytes, &flags, &file, &target) >= 0)
        return cli_h5.H5Lcreate_external(file, target, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0
                   ? CLI_DONE
                   : fail_write(p, name);
    return cli_h5.H5Lcreate_soft(value, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0 ? CLI_DONE
                                                                                       : fail_write(p, name);
}

static int copy_one(repacking *p, hid_t group, const char *group_path, const char *name, const char *value,
                    size_t value_nbytes, hid_t object) {
    hid_t to_group = cli_h5.H5Oopen(p->to, group_path, H5P_DEFAULT);
    char *path = join(group_path, name);
    hobj_ref_t address;
    int status = to_group >= 0 && path ? CLI_DONE : fail_write(p, group_path);
    const char *known = NULL;
    if (status == CLI_DONE && value) {
        status = copy_link(p, to_group, name, value, value_nbytes);
    } else if (status == CLI_DONE && cli_h5.H5Rcreate(&address, object, ".", H5R_OBJECT, -1) >= 0 &&
               (known = path_of(p, address))) { /* a second name */
        if (cli_h5.H5Lcreate_hard(p->to, known, to_group, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
            status = fail_write(p, path);
    } else if (status == CLI_DONE) {
        const H5I_type_t kind = cli_h5.H5Iget_type(object);
        cli_repack_variable *v = kind == H5I_DATASET ? find_variable(p, path) : NULL;
        status = add_object(p, address, path);
        if (status == CLI_DONE && kind == H5I_DATASET && !v) status = fail_read(p, path);
        if (status == CLI_DONE && kind == H5I_GROUP) {
            hid_t gcpl = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_GROUP_CREATE_ID_g);
            take_group_order(gcpl, object);
            hid_t made = gcpl >= 0 ? cli_h5.H5Gcreate2(to_group, name, H5P_DEFAULT, gcpl, H5P_DEFAULT) : -1;
            if (made < 0 || !copy_attributes(p, object, made)) status = fail_write(p, path);
            cli_h5_release(made);
            cli_h5_release(gcpl);
            if (status == CLI_DONE) status = walk_links(p, object, path, copy_one);
        } else if (status == CLI_DONE && kind == H5I_DATASET && !v->kept_as) {
            status = compress_dataset(p, v, object, to_group, name);
        } else if (status == CLI_DONE) {
            const int is_done = kind == H5I_DATATYPE     ? copy_named_type(p, object, to_group, name)
                                : can_copy_whole(object) ? cli_h5.H5Ocopy(group, name, to_group, name,
                                                                          H5P_DEFAULT, H5P_DEFAULT) >= 0
                                                         : copy_by_values(p, v, object, to_group, name);
            if (!is_done) status = fail_write(p, path);
        }
    }
    free(path);
    cli_h5_release(to_group);
    return status;
}

/* ---- references ---- */

/* An object of the old file, as a reference in the new one; what leads nowhere stays empty. */
static hobj_ref_t translate(const repacking *p, hobj_ref_t old) {
    hobj_ref_t made = 0;
    const char *path = old ? path_of(p, old) : NULL;
    if (!path || cli_h5.H5Rcreate(&made, p->to, path, H5R_OBJECT, -1) < 0) return 0;
    return made;
}

/*
 * Types of references that are known: an object's, lists of them, and those of dimension scales, with a
 * number.
 */
typedef enum reference_kind { NO_REFERENCE, REFERENCES, LISTS, BELONGINGS, OTHER_REFERENCES } reference_kind;

static reference_kind kind_of(hid_t type) {
    if (cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0) return NO_REFERENCE;
    if (cli_h5.H5Tequal(type, *cli_h5.H5T_STD_REF_OBJ_g) > 0) return REFERENCES;
    const H5T_class_t class = cli_h5.H5Tget_class(type);
    if (class == H5T_VLEN) {
        hid_t base = cli_h5.H5Tget_super(type);
        const int fits = base >= 0 && cli_h5.H5Tequal(base, *cli_h5.H5T_STD_REF_OBJ_g) > 0;
        cli_h5_release(base);
        return fits ? LISTS : OTHER_REFERENCES;
    }
    return class == H5T_COMPOUND && cli_h5.H5Tget_nmembers(type) == 2 ? BELONGINGS : OTHER_REFERENCES;
}

/*
 * Values of references in memory, n of them, of `size` bytes each where they are compound with the
 * reference first.
 */
static void translate_all(const repacking *p, reference_kind kind, void *values, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        if (kind == LISTS) {
            hvl_t *list = (hvl_t *)values + i;
            for (size_t k = 0; k < list->len; k++)
                ((hobj_ref_t *)list->p)[k] = translate(p, ((hobj_ref_t *)list->p)[k]);
        } else {
            char *at = (char *)values + i * (kind == REFERENCES ? sizeof(hobj_ref_t) : size);
            hobj_ref_t reference;
            memcpy(&reference, at, sizeof reference);
            reference = translate(p, reference);
            memcpy(at, &reference, sizeof reference);
        }
    }
}

static int set_attribute(const repacking *p, hid_t attribute, hid_t to) {
    const ssize_t n = cli_h5.H5Aget_name(attribute, 0, NULL);
    char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    hid_t type = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute), copy = -1;
    const reference_kind kind = type >= 0 ? kind_of(type) : OTHER_REFERENCES;
    const hssize_t npoints = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done = kind != OTHER_REFERENCES && name && cli_h5.H5Aget_name(attribute, (size_t)n + 1, name) >= 0;
    if (kind == BELONGINGS && is_done) is_done = strcmp(name, "REFERENCE_LIST") == 0;
    if (is_done && kind != NO_REFERENCE && npoints > 0) {
        const size_t size = cli_h5.H5Tget_size(type);
        void *values = calloc((size_t)npoints, size > sizeof(hvl_t) ? size : sizeof(hvl_t));
        is_done = values && cli_h5.H5Aread(attribute, type, values) >= 0;
        if (is_done) copy = cli_h5.H5Aopen(to, name, H5P_DEFAULT);
        if (is_done) translate_all(p, kind, values, (size_t)npoints, size);
        is_done = is_done && copy >= 0 && cli_h5.H5Awrite(copy, type, values) >= 0;
        for (hssize_t i = 0; values && kind == LISTS && i < npoints; i++)
            cli_h5.H5free_memory(((hvl_t *)values)[i].p);
        free(values);
    }
    cli_h5_release(copy);
    cli_h5_release(space);
    cli_h5_release(type);
    free(name);
    return is_done;
}

/* Values of a dataset that are references. */
static int set_values(const repacking *p, hid_t from, hid_t to) {
    hid_t type = cli_h5.H5Dget_type(from), space = cli_h5.H5Dget_space(from);
    const reference_kind kind = type >= 0 ? kind_of(type) : OTHER_REFERENCES;
    const hssize_t n = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done = kind == NO_REFERENCE || kind == REFERENCES;
    if (is_done && kind == REFERENCES && n > 0) {
        hobj_ref_t *values = calloc((size_t)n, sizeof *values);
        is_done = values && cli_h5.H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
        if (is_done) translate_all(p, kind, values, (size_t)n, 0);
        is_done = is_done && cli_h5.H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
        free(values);
    }
    cli_h5_release(space);
    cli_h5_release(type);
    return is_done;
}

static int set_references(const repacking *p) {
    for (uint64_t i = 0; i < p->nobjects; i++) {
        const char *path = p->objects[i].path;
        hid_t from = cli_h5.H5Oopen(p->from, path, H5P_DEFAULT),
              to = cli_h5.H5Oopen(p->to, path, H5P_DEFAULT);
        int is_done = from >= 0 && to >= 0;
        for (hsize_t k = 0; is_done; k++) {
            hid_t attribute =
                cli_h5.H5Aopen_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, k, H5P_DEFAULT, H5P_DEFAULT);
            if (attribute < 0) break;
            is_done = set_attribute(p, attribute, to);
            cli_h5_release(attribute);
        }
        if (is_done && cli_h5.H5Iget_type(from) == H5I_DATASET) is_done = set_values(p, from, to);
        cli_h5_release(to);
        cli_h5_release(from);
        if (!is_done)
            return cli_fail(
                "%s of %s has references to regions, or of another kind than dimension scales have, which "
                "are not carried over; use h5repack with the settings of csz hdf5 cdvals",
                path, p->r->input_path);
    }
    return CLI_DONE;
}

static int copy_file(repacking *p) {
    hid_t root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT),
          new_root = cli_h5.H5Oopen(p->to, "/", H5P_DEFAULT);
    hobj_ref_t address;
    int status = root >= 0 && new_root >= 0 && cli_h5.H5Rcreate(&address, root, ".", H5R_OBJECT, -1) >= 0
                     ? add_object(p, address, "/")
                     : fail_read(p, "/");
    if (status == CLI_DONE) status = walk_links(p, root, "/", copy_one);
    if (status == CLI_DONE && !copy_attributes(p, root, new_root)) status = fail_write(p, "/");
    if (status == CLI_DONE) status = set_references(p);
    cli_h5_release(new_root);
    cli_h5_release(root);
    return status;
}

static int write_temporary(const char *temporary, void *self) {
    repacking *p = self;
    hid_t fcpl = cli_h5.H5Fget_create_plist(p->from), root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT);
    (void)cli_h5.H5Pset_userblock(fcpl, 0);
    take_group_order(fcpl, root);
    cli_h5_release(root);
    p->to = fcpl >= 0 ? cli_h5.H5Fcreate(temporary, CLI_H5_CREATE_TRUNCATED, fcpl, H5P_DEFAULT) : -1;
    cli_h5_release(fcpl);
    int status = p->to >= 0 ? copy_file(p) : fail_write(p, "/");
    for (uint64_t i = 0; i < p->ntypes; i++) cli_h5_release(p->types[i].copy);
    if (p->to >= 0 && cli_h5.H5Fclose(p->to) < 0 && status == CLI_DONE) status = fail_write(p, "/");
    struct stat written;
    if (status == CLI_DONE && stat(temporary, &written) == 0) p->r->nbytes_out = (uint64_t)written.st_size;
    return status;
}

/*
 * HDF5 1.10 crashes when it cleans up after a failed write, at once in H5Ocopy or as late as at the exit of
 * the process.
 */
static int write_guarded(repacking *p, const cli_output *output) {
    static char line[PATH_MAX + 128];
    snprintf(
        line, sizeof line,
        "csz: HDF5 crashed while it wrote %s; check that the disk has space, and report this if it has\n",
        output->path);
    cli_signals_set_crash_line(line);
    const int status = cli_output_write_by(output, write_temporary, p);
    cli_signals_set_crash_line(status == CLI_DONE ? NULL : "");
    return status;
}

/* ---- all of it ---- */

static int run(repacking *p) {
    cli_repack *r = p->r;
    const cli_arguments *arguments = r->arguments;
    uint64_t total = 0;
    hid_t root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT);
    hobj_ref_t address; /* links may lead up to the root */
    int status = root >= 0 && cli_h5.H5Rcreate(&address, root, ".", H5R_OBJECT, -1) >= 0
                     ? add_object(p, address, "/")
                     : fail_read(p, "/");
    if (status == CLI_DONE) status = walk_links(p, root, "/", list_link);
    cli_h5_release(root);
    forget_objects(p);
    if (status == CLI_DONE) status = choose(p);
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        if (v->kept_as) continue;
        total += (uint64_t)cli_is_ranged(v->options.bound_mode) * v->nbytes;
        total += (arguments->dry_run ? 1 : 2) * v->nbytes;
    }
    cli_progress_start(arguments->dry_run ? "analyzing" : "repacking", total);
    for (uint64_t i = 0; i < r->nvariables && status == CLI_DONE; i++)
        if (!r->variables[i].kept_as) status = find_bound(p, &r->variables[i]);
    for (uint64_t i = 0; i < r->nvariables && status == CLI_DONE && arguments->dry_run; i++)
        if (!r->variables[i].kept_as) status = predict(p, &r->variables[i]);
    if (status == CLI_DONE && !arguments->dry_run) {
        const cli_output output = {r->output_path, arguments->force};
        status = write_guarded(p, &output);
    }
    cli_progress_stop();
    return status;
}

int cli_h5_repack(cli_repack *r) {
    cli_h5_location at = {.path = r->input_path, .file = strdup(r->input_path)};
    repacking p = {.r = r, .from = -1, .to = -1, .link_value = malloc(LINK_NBYTES)};
    struct stat input;
    int status = at.file && p.link_value ? CLI_DONE : fail_memory();
    if (status == CLI_DONE && stat(at.file, &input) != 0) status = cli_fail_errno("open", at.file, errno);
    if (status == CLI_DONE) r->nbytes_in = (uint64_t)input.st_size;
    if (status == CLI_DONE) status = cli_h5_load(r->input_path);
    if (status == CLI_DONE) status = cli_h5_open_file(&p.from, &at);
    if (status == CLI_DONE && !r->arguments->dry_run) {
        const cli_output output = {r->output_path, r->arguments->force};
        status = cli_output_check_file(&output);
        if (status == CLI_DONE) status = cli_output_check_distinct(&output, &input);
    }
    if (status == CLI_DONE) status = run(&p);
    cli_h5_release(p.from);
    forget_objects(&p);
    free(p.objects);
    free(p.types);
    for (uint64_t i = 0; i < p.nmentions; i++) {
        free(p.mentions[i].group);
        free(p.mentions[i].name);
    }
    free(p.mentions);
    free(p.link_value);
    free(at.file);
    return status;
}

#endif
