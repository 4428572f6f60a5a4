/* SPDX-License-Identifier: BSD-3-Clause */
/* many.c: several files.  Small ones are spread over processes of one thread each, so no file waits for
 * another; a large one gets all threads for itself.  A file that fails does not stop the others. */
#include "common/many.h"

#include "common/report.h"
#include "common/inputs.h"
#include "files/h5file.h"
#include "process/memory.h"
#include "process/pool.h"
#include "process/workers.h"
#include "terminal/message.h"

#include <stdlib.h>
#include <string.h>

/* From here on a field keeps several threads busy, and a GPU is worth its while. */
static const uint64_t large_nbytes = (uint64_t)32 << 20;
/* What a process takes for a field below that, with values, archive and scratch, in the worst case. */
static const uint64_t process_nbytes = (uint64_t)128 << 20;

typedef struct many {
    const cli_arguments *arguments;
    cli_command command;
    int (*run)(const cli_arguments *arguments);
    cli_inputs inputs;
    int nworkers, small_threads;
    uint64_t nfailed, nfailed_usage;
    cli_job_sums sums;
} many;

static cli_job_sums job_sums; /* of the file that this process works on */

void cli_many_add(uint64_t nbytes_in, uint64_t nbytes_out, int is_bare) {
    job_sums = (cli_job_sums){nbytes_in, nbytes_out, is_bare != 0};
}

/* Of outputs that have their names from their archives: who names one has chosen its format. */
static void note_bare(const many *m, uint64_t nbare) {
    if (!nbare || (m->arguments->output_path && !m->inputs.output_folder)) return;
    if (m->inputs.n == 1)
        cli_note("note: the name, dims and attributes that %s has of its field are left out; give -o "
                 "FILE.nc:NAME to have them",
                 m->inputs.items[0].path);
    else
        cli_note(
            "note: fields were restored without the names, dims and attributes that %llu of the archives "
            "have of them; restore each with -o FILE.nc:NAME to have them",
            (unsigned long long)nbare);
}

int cli_run_one(cli_arguments *arguments, cli_command command, int (*run)(const cli_arguments *arguments)) {
    char *owned;
    int status = cli_h5_complete_arguments(arguments, command, &owned);
    if (status == CLI_DONE) status = run(arguments);
    free(owned);
    return status;
}

static int is_large(const many *m, uint64_t i) {
    return m->inputs.items[i].nbytes >= large_nbytes || m->arguments->options.backend == CSZ_BACKEND_CUDA;
}

static int run_item(many *m, uint64_t i, int is_alone) {
    const cli_file_item *item = &m->inputs.items[i];
    cli_arguments arguments = *m->arguments;
    if (item->is_folder)
        return cli_fail("%s is a folder; give -r for the files in it, or give a file", item->path);
    arguments.paths[0] = item->path;
    arguments.paths[1] = item->archive;
    arguments.npaths = item->archive ? 2 : 1;
    if (item->output && (!arguments.output_path || m->inputs.output_folder))
        arguments.output_path = item->output;
    if (!is_alone) {
        arguments.options.threads = m->small_threads;
        arguments.memory_limit /= (uint64_t)m->nworkers;
    }
    const int status = cli_inputs_make_folders(&m->inputs, item);
    return status == CLI_DONE ? cli_run_one(&arguments, m->command, m->run) : status;
}

static int wants_all(void *user, uint64_t i) { return is_large(user, i); }
static uint64_t nbytes_of(void *user, uint64_t i) { return ((many *)user)->inputs.items[i].nbytes; }
static const char *name_of(void *user, uint64_t i) { return ((many *)user)->inputs.items[i].path; }

static int work(void *user, uint64_t i, cli_job_sums *sums) {
    job_sums = (cli_job_sums){0, 0, 0};
    const int status = run_item(user, i, is_large(user, i));
    *sums = job_sums;
    return status;
}

static void count(void *user, uint64_t i, int status, const cli_job_sums *sums) {
    many *m = user;
    (void)i;
    m->nfailed += status != CLI_DONE;
    m->nfailed_usage += status == CLI_USAGE;
    if (status != CLI_DONE) return;
    m->sums.nbytes_in += sums->nbytes_in;
    m->sums.nbytes_out += sums->nbytes_out;
    m->sums.nbare += sums->nbare;
}

/* As many processes as there are threads, small files, and memory for them. */
static void plan_workers(many *m) {
    uint64_t nsmall = 0;
    const uint64_t threads = (uint64_t)cli_threads_count(m->arguments->options.threads);
    const uint64_t by_memory = cli_memory_limit(m->arguments->memory_limit, process_nbytes) / process_nbytes;
    for (uint64_t i = 0; i < m->inputs.n; i++) nsmall += !is_large(m, i);
    uint64_t n = threads < by_memory ? threads : by_memory;
    if (n > nsmall) n = nsmall;
    m->nworkers = n ? (int)n : 1;
    m->small_threads = (int)(threads / (uint64_t)m->nworkers);
}

static void print_sum(const many *m) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES];
    const double nbytes_in = (double)m->sums.nbytes_in, nbytes_out = (double)m->sums.nbytes_out;
    const double field = m->command == CLI_COMPRESS ? nbytes_in : nbytes_out,
                 archive = m->command == CLI_COMPRESS ? nbytes_out : nbytes_in;
    if (m->arguments->json || m->arguments->quiet || m->inputs.n == m->nfailed || archive == 0) return;
    const uint64_t ndone = m->inputs.n - m->nfailed;
    printf("%llu file%s: %s -> %s, ratio %.2f\n", (unsigned long long)ndone, ndone == 1 ? "" : "s",
           cli_nbytes_text(in, nbytes_in), cli_nbytes_text(out, nbytes_out), field / archive);
}

static int run_all(many *m, const char *stage) {
    char verb[64];
    const int to_stdout = m->arguments->output_path && cli_path_is_stdio(m->arguments->output_path);
    snprintf(verb, sizeof verb, "%s %llu files,", stage, (unsigned long long)m->inputs.n);
    plan_workers(m);
    cli_pool pool = {.njobs = m->inputs.n,
                     .nworkers = m->nworkers,
                     .verb = verb,
                     .stage = stage,
                     .user = m,
                     .is_alone = wants_all,
                     .nbytes = nbytes_of,
                     .name = name_of,
                     .work = work,
                     .ended = count};
    for (uint64_t i = 0; i < m->inputs.n; i++) pool.nbytes_total += m->inputs.items[i].nbytes;
    if (!to_stdout) cli_pool_run(&pool);
    for (uint64_t i = 0; to_stdout && i < m->inputs.n; i++) { /* values go where a pool's texts would */
        cli_job_sums sums;
        const int status = work(m, i, &sums);
        count(m, i, status, &sums);
    }
    if (!to_stdout) print_sum(m);
    note_bare(m, m->sums.nbare);
    if (m->nfailed)
        cli_fail("%llu of %llu files failed; the lines above say why", (unsigned long long)m->nfailed,
                 (unsigned long long)m->inputs.n);
    if (!m->nfailed && !m->inputs.failed) return CLI_DONE;
    return m->nfailed && m->nfailed == m->nfailed_usage && !m->inputs.failed ? CLI_USAGE : CLI_FAILED;
}

int cli_run_many(cli_arguments *arguments, cli_command command, const char *stage,
                 int (*run)(const cli_arguments *arguments)) {
    many m = {.arguments = arguments, .command = command, .run = run};
    int status = cli_inputs_list(&m.inputs, arguments, command);
    if (status == CLI_DONE && m.inputs.n == 1 && !m.inputs.failed) {
        status = run_item(&m, 0, 1);
        note_bare(&m, job_sums.nbare);
    } else if (status == CLI_DONE && m.inputs.n) {
        arguments->is_one_of_many = 1;
        status = run_all(&m, stage);
    } else if (status == CLI_DONE && m.inputs.failed)
        status = CLI_FAILED;
    cli_inputs_release(&m.inputs);
    return status;
}
