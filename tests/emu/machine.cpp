/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.cpp: blocks come and go, threads take turns. */
#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace emu {

thread *current;
bool books_unused, once_unused, overlaps;
int nsms = 2, shared_nbytes = 96 << 10;

static fiber scheduler;             /* the caller of launch: starts blocks and takes them away */
static std::unique_ptr<run> held;   /* back until the next launch, or beside it */
static std::vector<thread *> ready; /* all that may go on, the current one apart */
static std::vector<std::unique_ptr<thread>> owned; /* every thread ever made; stacks are used again */
static std::vector<thread *> unused;
static block *ended;              /* one whose last thread has just left */
static std::vector<uint8_t> left; /* what such a one left in shared memory */
static unsigned long spins;
enum { SPINS_MAX = 20000000 }; /* in a row, with nobody getting anywhere */

static uint64_t dice() {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 20;
}

/* Whose turn it is: drawn by lot. */
static fiber *next() {
    if (ready.empty()) {
        fprintf(stderr, "emu: the kernel does not go on (deadlock)\n");
        abort();
    }
    const size_t i = (size_t)(dice() % ready.size());
    current = ready[i];
    ready[i] = ready.back();
    ready.pop_back();
    return &current->self;
}

void wait_at(barrier *b) {
    thread *self = current;
    b->waiting.push_back(self);
    fiber_switch(&self->self, next());
}

void open_barrier(barrier *b) {
    ready.insert(ready.end(), b->waiting.begin(), b->waiting.end());
    b->waiting.clear();
    spins = 0;
}

void spin() {
    if (++spins > SPINS_MAX) {
        fprintf(stderr, "emu: the kernel does not go on (endless wait)\n");
        abort();
    }
    thread *self = current;
    ready.push_back(self);
    fiber *to = next();
    if (to != &self->self) fiber_switch(&self->self, to);
}

static void entry() {
    current->home->of->kernel();
    thread *self = current;
    spins = 0;
    unused.push_back(self);
    const bool last = --self->home->running == 0;
    if (last) ended = self->home;
    fiber_switch(&self->self, last ? &scheduler : next());
}

static thread *thread_get() {
    if (unused.empty()) {
        owned.emplace_back(new thread);
        fiber_give_stack(&owned.back()->self);
        return owned.back().get();
    }
    thread *t = unused.back();
    unused.pop_back();
    return t;
}

/* A block's shared memory: by lot zeros, noise, or noise behind what another block left. */
static void memory_begin(uint8_t *shared, size_t nbytes) {
    const unsigned what = (unsigned)(dice() % 3);
    memset(shared, 0, nbytes);
    if (what == 0) return;
    for (size_t i = 0; i + 4 <= nbytes; i += 4) {
        const uint32_t noise = (uint32_t)dice();
        memcpy(shared + i, &noise, 4);
    }
    if (what == 2 && !left.empty()) memcpy(shared, left.data(), left.size() < nbytes ? left.size() : nbytes);
}

static void start_block(run *r) {
    const unsigned nthreads = r->block_dim.x;
    const size_t shared_nbytes = r->shared_nbytes;
    block *b = new block;
    b->of = r;
    b->index = r->started++;
    r->live++;
    b->running = nthreads;
    for (unsigned w = 0; w < (nthreads + WARP - 1) / WARP; w++)
        b->warps[w].n = nthreads - WARP * w < WARP ? nthreads - WARP * w : WARP;
    if (posix_memalign(&b->shared, 16, shared_nbytes)) abort();
    memory_begin((uint8_t *)b->shared, shared_nbytes);
    for (unsigned t = 0; t < nthreads; t++) {
        thread *th = thread_get();
        th->home = b;
        th->index = t;
        fiber_prepare(&th->self, entry);
        ready.push_back(th);
    }
}

static void start_blocks(run *r) {
    while (r->live < r->together && r->started < r->grid_dim.x) start_block(r);
}

void launch(unsigned grid, unsigned nthreads, size_t shared_nbytes, unsigned together,
            const std::function<void()> &kernel) {
    run own = {{nthreads, 1, 1}, {grid, 1, 1}, shared_nbytes, together, kernel};
    spins = 0;
    while (!own.is_over() || (held && !held->is_over())) {
        start_blocks(&own);
        if (held) start_blocks(held.get());
        fiber_switch(&scheduler, next());
        ended->of->live--;
        const uint8_t *shared = (const uint8_t *)ended->shared;
        left.assign(shared, shared + ended->of->shared_nbytes);
        free(ended->shared);
        delete ended;
    }
    held.reset();
}

void hold(unsigned grid, unsigned nthreads, const std::function<void()> &kernel) {
    held.reset(new run{{nthreads, 1, 1}, {grid, 1, 1}, 0, 1, kernel});
}

bool held_is_over() { return !held || held->is_over(); }

} // namespace emu
