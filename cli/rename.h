/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.h: the last step of every output, for csz and for csz_mpi alike. */
#ifndef CLI_RENAME_H
#define CLI_RENAME_H

/* Gives the file a new name and returns 0, or an errno: EEXIST where the name is taken and may not be replaced. */
int csz_file_rename(const char *from, const char *to, int may_replace);

#endif
