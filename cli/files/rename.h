/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.h: the last steps of every output, for csz and for csz_mpi alike. */
#ifndef CLI_RENAME_H
#define CLI_RENAME_H

#include <sys/types.h>

/* Gives the file a new name and returns 0, or an errno: EEXIST where the name is taken and may not be
 * replaced. */
int csz_file_rename(const char *from, const char *to, int may_replace);

/* Permissions of the regular file at path; 0 if there is none. */
int csz_file_mode(mode_t *mode, const char *path);

/* Gives a file that is to replace another the permissions of that one, where it is there and regular; returns
 * 0, or an errno. */
int csz_file_keep_mode(const char *from, const char *to);

/* Brings a file to the disk; returns 0, or an errno.  Some file systems and devices know no fsync and say so;
 * that is no failure. */
int csz_file_sync(int descriptor);

/* The folder that holds path, "." where none is named.  NULL if memory ran out; freed by the caller. */
char *csz_folder_of(const char *path);

/* The same of the folder that holds path: its entry must reach the disk too, else a crash could bring the old
 * file back. */
int csz_folder_sync(const char *path);

/* csz_file_rename, of which the folder knows on the disk too. */
int csz_file_commit(const char *from, const char *to, int may_replace);

#endif
