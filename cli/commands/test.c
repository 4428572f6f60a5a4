/* SPDX-License-Identifier: BSD-3-Clause */
/* test.c: csz test: structure, every checksum, and the restored values' checksum, frame by frame. */
#include "command.h"
#include "terminal/message.h"
#include "common/report.h"
#include "files/source.h"

static csz_status test_frame(void *user, csz_context *context, uint64_t i, const void *stored,
                             size_t stored_nbytes, const csz_decompress_options *options) {
    const cli_archive_source *source = user;
    return csz_decompress_frame(context, NULL, 0, stored, stored_nbytes, source->plan, i, NULL, NULL,
                                options);
}

int cli_run_test(const cli_arguments *arguments) {
    cli_archive_source archive;
    cli_run run = {0, CSZ_BACKEND_CPU};
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    status = cli_archive_source_open(&archive, arguments->paths[0], 0);
    if (status != CLI_DONE) return status;
    status = cli_archive_source_each(&archive, "testing", arguments, &run, &archive, test_frame);
    if (status == CLI_DONE && arguments->json) {
        cli_report report;
        cli_json json;
        cli_report_init(&report, "test");
        report.input_path = arguments->paths[0];
        report.backend = cli_backend_name(CSZ_BACKEND_CPU);
        report.info = &archive.info;
        report.field = &archive.info.field;
        report.nbytes_in = archive.info.nbytes_field;
        report.nbytes_out = archive.info.nbytes_archive;
        report.seconds = run.seconds;
        cli_report_json(&json, stdout, &report);
        cli_json_end(&json);
    } else if (status == CLI_DONE && !arguments->quiet) {
        char dims[CLI_DIMS_TEXT_NBYTES], bound[CLI_BOUND_TEXT_NBYTES];
        printf("%s: intact\n", archive.stream.name);
        if (arguments->verbose)
            printf("  %s of %s, frames %llu, bound %s; restored in %.3f s\n",
                   cli_dims_text(dims, &archive.info.field), cli_type_names[archive.info.field.type],
                   (unsigned long long)archive.info.nframes, cli_bound_text(bound, &archive.info),
                   run.seconds);
    }
    cli_archive_source_close(&archive);
    return status;
}
