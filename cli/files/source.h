/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h: a field's values, frame by frame, from a raw or .npy file, a dataset of an HDF5 file or a pipe,
 * in this machine's byte order; and an archive's frames.  Neither is ever in memory as a whole, but for
 * datasets for which there is plenty.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "csz_frames.h"
#include "files/field.h"
#include "files/stream.h"

typedef struct cli_source {
    cli_stream stream;
    csz_field field;
    uint64_t nbytes;                /* of the values */
    uint64_t data_offset;           /* where they begin in a file */
    int is_swapped;                 /* their byte order is not this machine's */
    int ndim;                       /* that are not 1, as the file has them; field has at most four */
    struct cli_h5_dataset *dataset; /* of an HDF5 file, read as it is needed; else NULL */
    cli_field held;                 /* such a dataset, whole; else without data */
} cli_source;

/* Each returns CLI_DONE, or an exit status after the message. */
/* memory_limit is the one given, 0 for none: then a dataset of at most a quarter of the free memory is held,
 * whose chunks are so read once. */
int cli_source_open(cli_source *source, const char *path, const cli_expected *expected,
                    uint64_t memory_limit);
void cli_source_close(cli_source *source); /* zeroed ones are allowed */

/* 1 if the frames' values follow each other in the field, so that a pipe serves as it is; else, and for two
 * passes, it is spooled. */
int cli_frames_are_sequential(const csz_layout *shape, const csz_plan *plan);
int cli_source_spool(cli_source *source);

/*
 * Replaces a source that cannot be mapped as it is by a temporary file of its values in this machine's byte
 * order: a dataset that is read in pieces, values of the other byte order or at an odd offset.  So several
 * passes decode it once.  Not of a pipe.
 */
int cli_source_copy(cli_source *source, const csz_plan *plan, const csz_layout *shape);

/* The whole field's range, and what it says of a fill value, in pieces: of a dataset frames, else smaller
 * ones. */
int cli_source_range(csz_value_range *range, csz_fill_watch *watch, cli_source *source,
                     const csz_options *options, const csz_plan *plan, const csz_layout *shape);

/* Adds a frame's values to what is known of a fill value. */
void cli_watch_frame(csz_fill_watch *watch, const void *values, csz_type type, const csz_frame *frame,
                     const csz_layout *shape, const csz_options *options);

/* 1 if what is read as a field is an archive. */
int cli_source_is_archive(const cli_source *source);

/* Values at an offset, in bytes, into those of a file; not of a pipe. */
int cli_source_read_at(const cli_source *source, uint64_t offset, void *values, size_t nbytes);

/* What reading takes besides the caller's buffers. */
uint64_t cli_source_nbytes(const cli_source *source);

/* A frame's values, dense; of a pipe the next ones. */
int cli_source_read(cli_source *source, void *values, const csz_frame *frame, const csz_layout *shape);

/* Refuses a pipe that brings more than the field. */
int cli_source_end(cli_source *source);

typedef struct cli_archive_source {
    cli_stream stream;
    csz_info info; /* of a pipe: nbytes_archive is known at the end */
    csz_layout shape;
    const csz_plan *plan;
    csz_plan *owned_plan; /* of a pipe */
    csz_reader *reader;   /* of a file */
    size_t stored_nbytes; /* the largest frame as stored; of a pipe: the largest that there may be */
    uint64_t *sizes;      /* of a pipe's frames so far */
    uint64_t nsizes, sizes_capacity;
    unsigned char *metadata; /* of info.metadata_nbytes; NULL: none.  Of a pipe: known at the end */
} cli_archive_source;

int cli_archive_source_open(cli_archive_source *source, const char *path, int must_seek);
void cli_archive_source_close(cli_archive_source *source); /* zeroed ones are allowed */

/* Frame i, or what of it is needed for the box; of a pipe frames come in order, whole. */
int cli_archive_source_read(cli_archive_source *source, uint64_t i, const csz_frame *box, void *stored,
                            size_t capacity, size_t *nbytes);

/* Holds a pipe's footer and end against the frames; sets info.nbytes_archive. */
int cli_archive_source_end(cli_archive_source *source);

/* Runs over all frames with bounded memory, work on each in any order and by several threads; then looks at
 * the end.  run receives the library's seconds and backend. */
struct cli_arguments;
struct cli_run;
int cli_archive_source_each(cli_archive_source *source, const char *verb,
                            const struct cli_arguments *arguments, struct cli_run *run, void *user,
                            csz_status (*work)(void *user, csz_context *context, uint64_t i,
                                               const void *stored, size_t stored_nbytes,
                                               const csz_decompress_options *options));

/* The library refused a frame. */
int cli_archive_source_fail(const cli_archive_source *source, csz_status status);

#endif
