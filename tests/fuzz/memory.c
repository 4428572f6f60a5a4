/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: what the library holds, counted by the sanitizer's hooks, against the memory limit that a target
 * declares. */
#include "fuzz.h"

/* Of the sanitizer's run time; gcc brings no header for them. */
size_t __sanitizer_get_allocated_size(const volatile void *p);
int __sanitizer_install_malloc_and_free_hooks(void (*add)(const volatile void *, size_t),
                                              void (*take)(const volatile void *));

enum { SLACK_NBYTES = 1 << 15 }; /* of the allocator, and the context itself */

static size_t held, peak;
static int is_watching;

static void add(const volatile void *p, size_t nbytes) {
    (void)p;
    if (!is_watching) return;
    held += nbytes;
    peak = held > peak ? held : peak;
}

static void take(const volatile void *p) {
    if (is_watching && p) held -= __sanitizer_get_allocated_size(p);
}

void fuzz_memory_watch(void) {
    static int is_installed;
    if (!is_installed) is_installed = __sanitizer_install_malloc_and_free_hooks(add, take);
    FUZZ_CHECK(is_installed);
    peak = held;
    is_watching = 1;
}

void fuzz_memory_check(size_t limit_nbytes) {
    is_watching = 0;
    FUZZ_CHECK(peak <= limit_nbytes + SLACK_NBYTES);
}
