/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h: reading input.  A regular file is mapped, anything else is read to its end: the bytes are then in
 * memory, page- or malloc-aligned. */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct cli_input {
    const char *name; /* for messages: the path, or "standard input" */
    const unsigned char *bytes;
    size_t nbytes;
    int is_mapped;
    void *owned;        /* the mapping or the allocation */
    int descriptor;     /* of what is mapped */
    struct stat status; /* tells whether an output is the same file */
} cli_input;

const char *cli_input_name(const char *path); /* for messages */
int cli_path_has_suffix(const char *path, const char *suffix);

/* The name of a restored field's preview or part: g.level2.f32, g.part.f32.  Frees path and returns another,
 * or path where it is whole; NULL: no memory. */
char *cli_path_of_part(char *path, int level, int is_region);
int cli_path_is_regular(const char *path); /* a file, not a pipe, which is read once */

/* 1 if the bytes, a file's first ones, begin as an archive does; of a path: 1 if it is a regular file that
 * does. */
int cli_bytes_are_archive(const unsigned char *bytes, size_t nbytes);
int cli_path_is_archive(const char *path);

/*
 * Returns CLI_DONE, or an exit status after the message.  A stream is read up to a surplus beyond
 * expected_nbytes (UINT64_MAX: unknown): the longest .npy header of version 1 and one byte, so that a caller
 * sees that there is too much without reading it all.
 */
enum { CLI_INPUT_SURPLUS_NBYTES = 10 + 65535 + 1 };
int cli_input_read(cli_input *input, const char *path, uint64_t expected_nbytes);
/* Fails where a mapped file has become shorter: of its last page the part behind its end then reads as zeros,
 * without a signal. */
int cli_input_check(const cli_input *input);
void cli_input_release(cli_input *input); /* zeroed ones are allowed */

/* 1 if the open file has fewer bytes than `before`. */
int cli_file_is_shorter(int descriptor, const struct stat *before);

#endif
