/* SPDX-License-Identifier: BSD-3-Clause */
/* repacking.h: what the parts of csz hdf5 repack share (hdf5/h5repack.h); repack.c says how it goes. */
#ifndef CLI_REPACKING_H
#define CLI_REPACKING_H

#include "csz_frames.h"
#include "files/output.h"
#include "hdf5/h5library.h"
#include "hdf5/h5repack.h"
#include "terminal/message.h"

enum { REPACK_LINK_NBYTES = 1 << 16 }; /* of what a soft or external link says */

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

/* A dataset that another one, or a group, names as its coordinates or bounds. */
typedef struct mention {
    char *group, *name;
    const char *kept_as;
} mention;

/* A further hard link of a dataset, by which rules and attributes may name it, too. */
typedef struct second_name {
    uint64_t variable; /* its index */
    char *path;
} second_name;

typedef struct repacking {
    cli_repack *r;
    hid_t from, to;
    known_object *objects;
    uint64_t nobjects, objects_capacity;
    known_type *types;
    uint64_t ntypes, types_capacity;
    mention *mentions;
    uint64_t nmentions, mentions_capacity;
    second_name *second_names;
    uint64_t nsecond_names, second_names_capacity;
    uint64_t nbytes_done;
    int has_large_attributes; /* which need objects in the form of HDF5 1.8, not HDF5's own choice */
    char *link_value;
} repacking;

/* ---- walk.c ---- */

int repack_fail_memory(void);
int repack_fail_write(const repacking *p, const char *path);
int repack_fail_read(const repacking *p, const char *path);
char *repack_join(const char *group, const char *name);
const char *repack_base_name(const char *path);
/* Room for one more; 0 after the message. */
static inline int repack_grow(void **list, uint64_t n, uint64_t *capacity, size_t size) {
    return cli_grow(list, n, capacity, size, "a list of objects") == CLI_DONE;
}
const char *repack_path_of(const repacking *p, hobj_ref_t address);
int repack_add_object(repacking *p, hobj_ref_t address, const char *path);

/* What to do with a link of a group.  value: of a soft or external link; NULL for a hard one, whose object is
 * open. */
typedef int (*repack_visitor)(repacking *p, hid_t group, const char *group_path, const char *name,
                              const char *value, size_t value_nbytes, hid_t object);
int repack_walk_links(repacking *p, hid_t group, const char *group_path, repack_visitor visit);
/* Whether the object is met for the first time; then it is remembered. */
int repack_is_new_object(int *status, repacking *p, hid_t object, const char *path);
void repack_forget_objects(repacking *p);

/* ---- choose.c ---- */

int repack_list_link(repacking *p, hid_t group, const char *group_path, const char *name, const char *value,
                     size_t value_nbytes, hid_t object);
int repack_add_mentions(repacking *p, hid_t object, const char *group);
/* Refuses what cannot be copied, and notes what is large. */
int repack_look_at_attributes(repacking *p, hid_t object, const char *path);
int repack_choose(repacking *p);
/* Whether a dataset's values are in other datasets or other files. */
int repack_has_values_elsewhere(hid_t dcpl);

/* ---- values.c ---- */

typedef struct repack_piece {
    hsize_t begin[H5S_MAX_RANK], n[H5S_MAX_RANK];
    uint64_t nelements;
} repack_piece;

/* Chunks of the dataset, or those that it gets where it has none. */
void repack_chunks_of(hsize_t *chunk, const cli_repack_variable *v, hid_t dataset);
/* Boxes of whole chunks: the fastest dims grow first, to 16 MiB. */
void repack_piece_shape(hsize_t *shape, const hsize_t *chunk, const cli_repack_variable *v);
/* The next piece; 0 at the end.  Before the first, nelements is 0. */
int repack_next_piece(repack_piece *at, const hsize_t *shape, const cli_repack_variable *v);
hid_t repack_memory_type(const cli_repack_variable *v);
int repack_move_piece(void *values, const repack_piece *at, hid_t type, hid_t dataset, int writes);
uint64_t repack_piece_nelements(const hsize_t *shape, const cli_repack_variable *v);
void repack_count_done(repacking *p, const cli_repack_variable *v, uint64_t nelements);

/* ---- bounds.c ---- */

int repack_find_bound(repacking *p, cli_repack_variable *v);
/* Notes or refuses what looks like a fill value among the values that were watched. */
int repack_check_fill(const repacking *p, const cli_repack_variable *v, const csz_fill_watch *watch);
/* Notes a bound or a floor that is half of the span of the values or more. */
void repack_note_coarse(const cli_repack_variable *v, double span, int is_sample);
/* The size, from chunks all over the variable that are compressed, and its relative standard error. */
int repack_predict(repacking *p, cli_repack_variable *v);

/* ---- copy.c ---- */

/* The output as a temporary, then renamed; where HDF5 itself crashes, one line says so. */
int repack_write_guarded(repacking *p, const cli_output *output);

/* ---- references.c ---- */

int repack_set_references(const repacking *p);

#endif
