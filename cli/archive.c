/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * archive.c: reading an archive, and the allocations that the subcommands share.
 */
#include "command.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

int cli_archive_read(cli_archive *archive, const char *path) {
    memset(archive, 0, sizeof *archive);
    int status = cli_input_read(&archive->input, path, UINT64_MAX);
    if (status != CLI_DONE) return status;
    if (archive->input.nbytes == 0) {
        status = cli_fail("%s is empty; give a file that csz compress has written", archive->input.name);
    } else {
        csz_status inspected = csz_inspect(&archive->info, archive->input.bytes, archive->input.nbytes);
        if (inspected != CSZ_OK)
            status =
                cli_fail_archive(inspected, archive->input.name, archive->input.bytes, archive->input.nbytes);
    }
    if (status != CLI_DONE) cli_archive_release(archive);
    return status;
}

void cli_archive_release(cli_archive *archive) { cli_input_release(&archive->input); }

int cli_context_create(csz_context **context) {
    csz_status status = csz_context_create(context);
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "set up", "the library");
}

void *cli_allocate(const char *purpose, uint64_t nbytes) {
    void *memory = nbytes <= SIZE_MAX ? malloc(nbytes ? (size_t)nbytes : 1) : NULL;
    if (!memory) cli_fail_memory(purpose, nbytes);
    return memory;
}
