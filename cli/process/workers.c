/* SPDX-License-Identifier: BSD-3-Clause */
/* workers.c: how many contexts, on which devices, with how many threads. */
#include "process/workers.h"

#include "process/allocate.h"
#include "csz_cuda.h"
#include "process/memory.h"
#include "terminal/message.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A frame keeps some eight threads busy; more of them wait for each other at its ends. */
enum { THREADS_EACH = 8 };
static const uint64_t most_held = (uint64_t)64 << 20;
static const uint64_t worth_a_gpu = (uint64_t)32 << 20; /* as for the library's own choice */

int cli_threads_count(int given) {
    cpu_set_t set;
    if (given) return given < 256 ? given : 256;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return CPU_COUNT(&set);
}

/* In MiB, as the option takes them, rounded so that what is needed never reads like what is allowed. */
static int fail_limit(const cli_demand *d, uint64_t least, uint64_t limit) {
    uint64_t needed = least;
    if (d->is_held) needed = least / 7 < most_held ? least + least / 7 + 1 : least + most_held;
    const uint64_t mib = (needed + 1048575) / 1048576,
                   tenths = limit / 1048576 * 10 + limit % 1048576 * 10 / 1048576;
    return cli_fail(
        "%s needs %llu MiB of memory, a frame at a time, and --memory-limit allows %.1f MiB; raise the limit",
        d->name, (unsigned long long)mib, (double)tenths / 10);
}

int cli_workers_create(cli_workers *w, const csz_decompress_options *options, const cli_demand *d) {
    memset(w, 0, sizeof *w);
    w->options = *options;
    w->options.memory_limit = 0;
    int nthreads = cli_threads_count(options->threads), ndevices = 0;
    if (options->backend == CSZ_BACKEND_CUDA ||
        (options->backend == CSZ_BACKEND_AUTO && d->field_nbytes >= worth_a_gpu))
        ndevices = csz_device_count();
    int wanted = ndevices ? ndevices : (nthreads + THREADS_EACH - 1) / THREADS_EACH;
    if ((uint64_t)wanted > d->njobs) wanted = d->njobs ? (int)d->njobs : 1;
    if (wanted > CLI_MOST_WORKERS - 1) wanted = CLI_MOST_WORKERS - 1;

    uint64_t each =
        CLI_CONTEXT_NBYTES + d->scratch_nbytes + d->library_nbytes + (ndevices ? d->device_nbytes : 0);
    uint64_t least =
        cli_flight_least_nbytes(each + d->thread_nbytes, d->in_nbytes, d->out_nbytes) + d->source_nbytes;
    uint64_t limit = cli_memory_limit(options->memory_limit, 2 * least), left = limit;
    if (d->is_held) w->hold_nbytes = (size_t)(limit / 8 < most_held ? limit / 8 : most_held);
    left -= w->hold_nbytes;
    left -= d->source_nbytes < left ? d->source_nbytes : left;
    for (;; nthreads /= 2) { /* fewer threads need less scratch */
        uint64_t threads_nbytes = (uint64_t)(nthreads + wanted - 1) / (uint64_t)wanted * d->thread_nbytes;
        if (cli_flight_plan(&w->flight, left, d->njobs, wanted, each + threads_nbytes, d->in_nbytes,
                            d->out_nbytes))
            break;
        if (nthreads == 1) return fail_limit(d, least, limit);
    }
    w->options.threads = nthreads / w->flight.nworkers > 0 ? nthreads / w->flight.nworkers : 1;
    w->scratch_nbytes = (size_t)d->scratch_nbytes;
    for (int i = 0; i < w->flight.nworkers; i++) {
        if (cli_context_create(&w->contexts[i]) != CLI_DONE) return CLI_FAILED;
        if (ndevices > 1) (void)csz_context_set_device(w->contexts[i], i % ndevices);
        if (d->scratch_nbytes && !(w->scratch[i] = cli_allocate("a frame", d->scratch_nbytes)))
            return CLI_FAILED;
    }
    return CLI_DONE;
}

void cli_workers_destroy(cli_workers *w) {
    for (int i = 0; i < CLI_MOST_WORKERS; i++) {
        csz_context_destroy(w->contexts[i]);
        free(w->scratch[i]);
    }
    memset(w, 0, sizeof *w);
}

double cli_workers_seconds(const cli_workers *w) {
    double sum = 0;
    for (int i = 0; i < w->flight.nworkers; i++) sum += w->seconds[i];
    return w->flight.nworkers ? sum / w->flight.nworkers : 0;
}
