/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test.c: csz test.  Integrity alone: structure, every checksum, and the restored values' checksum.
 */
#include "command.h"
#include "message.h"
#include "progress.h"
#include "report.h"

int cli_run_test(const cli_arguments *arguments) {
    cli_archive archive;
    csz_context *context = NULL;
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    status = cli_archive_read(&archive, arguments->paths[0]);
    if (status != CLI_DONE) return status;
    status = cli_context_create(&context);
    if (status == CLI_DONE) {
        cli_progress_start("testing", archive.info.nbytes_field);
        cli_progress_follow(context);
        double begin = cli_seconds_now();
        csz_status tested = csz_test(context, archive.input.bytes, archive.input.nbytes, &arguments->options);
        double seconds = cli_seconds_now() - begin;
        cli_progress_stop();
        if (tested != CSZ_OK) {
            status = cli_fail_archive(tested, archive.input.name, archive.input.bytes, archive.input.nbytes);
        } else if (arguments->json) {
            cli_report report;
            cli_json json;
            cli_report_init(&report, "test");
            report.input_path = arguments->paths[0];
            report.backend = cli_backend_name(csz_context_backend(context));
            report.info = &archive.info;
            report.field = &archive.info.field;
            report.nbytes_in = archive.info.nbytes_field;
            report.nbytes_out = archive.info.nbytes_archive;
            report.seconds = seconds;
            cli_report_json(&json, stdout, &report);
            cli_json_end(&json);
        } else {
            printf("%s: intact\n", archive.input.name);
        }
    }
    csz_context_destroy(context);
    cli_archive_release(&archive);
    return status;
}
