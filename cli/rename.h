/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.h: the last steps of every output, for csz and for csz_mpi alike. */
#ifndef CLI_RENAME_H
#define CLI_RENAME_H

#include <sys/types.h>

/* Gives the file a new name and returns 0, or an errno: EEXIST where the name is taken and may not be replaced. */
int csz_file_rename(const char *from, const char *to, int may_replace);

/* Permissions of the regular file at path; 0 if there is none. */
int csz_file_mode(mode_t *mode, const char *path);

/* Gives a file that is to replace another the permissions of that one, where it is there and regular; returns 0, or an errno. */
int csz_file_keep_mode(const char *from, const char *to);

#endif
