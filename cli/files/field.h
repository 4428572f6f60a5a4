/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field.h: a field in memory, from a raw file whose type and dims the caller knows or from a .npy file that
 * tells them itself.
 */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "csz.h"
#include "files/file.h"

/* What the caller knows of the field; a .npy file must agree with it. */
typedef struct cli_expected {
    csz_field field;
    int has_type, has_dims;
    const char *source; /* for messages: "the command line", "the archive" */
    int folds; /* of a dataset's dims beyond four the slowest become one: where values count, not dims */
} cli_expected;

typedef struct cli_field {
    cli_input input;
    csz_field field;
    uint64_t nelements;
    const void *data; /* aligned for its type, in this machine's byte order */
    size_t nbytes;
    void *copy; /* where the file's bytes could not serve as they are */
} cli_field;

/* A raw file whose type or dims nobody has told; returns CLI_USAGE. */
int cli_fail_undescribed(const char *name, int has_type, int has_dims);

/* Returns CLI_DONE, or an exit status after the message. */
int cli_field_read(cli_field *field, const char *path, const cli_expected *expected);
void cli_field_release(cli_field *field); /* zeroed ones are allowed */

#endif
