/* SPDX-License-Identifier: BSD-3-Clause */
/* field.h: a field in memory, from a raw file, whose type and dims the caller knows, or from a .npy file. */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "files/file.h"
#include "terminal/args.h"

typedef struct cli_field {
    cli_input input;
    csz_field field;
    uint64_t nelements;
    const void *data; /* aligned for its type, in this machine's byte order */
    size_t nbytes;
    void *copy; /* where the file's bytes could not serve as they are */
    int ndim;   /* of a dataset, that are not 1, as the file has them; field has at most four */
} cli_field;

/* What the caller knows, and the type that a raw file's name tells where the caller does not: velocity.f32,
 * velocity.f64. */
cli_expected cli_expected_of(const cli_expected *expected, const char *path);

/* A file that is no raw field of its size: 1 after the message if it is an archive. */
int cli_fails_as_archive(const char *name, const unsigned char *start, size_t nbytes);

/* A file whose type or dims nobody has told; returns CLI_USAGE.  Its first bytes tell what else it may be. */
int cli_fail_undescribed(const char *name, const unsigned char *start, size_t nbytes,
                         const cli_expected *expected);

/* Returns CLI_DONE, or an exit status after the message. */
int cli_field_read(cli_field *field, const char *path, const cli_expected *expected);
void cli_field_release(cli_field *field); /* zeroed ones are allowed */

#endif
