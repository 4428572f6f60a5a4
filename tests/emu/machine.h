/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h: a GPU of fibers.  Every CUDA thread is one; whoever must wait at a barrier hands over to another
 * that need not, drawn by lot among the threads of all blocks that are there at once.  So a missing barrier,
 * a race between blocks or a wait that depends on luck shows as a wrong result.  Before a block starts,
 * dynamic shared memory holds zeros, noise or what a block before it left there, by lot.  It is allocated to
 * the byte, so that AddressSanitizer sees what goes beyond it.
 */
#ifndef CSZ_TESTS_EMU_MACHINE_H
#define CSZ_TESTS_EMU_MACHINE_H

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "fiber.h"

namespace emu {

struct thread;
struct block;

struct barrier {
    unsigned n = 0, arrived = 0;
    uint32_t generation = 0;
    uint64_t gathered = 0, result = 0; /* of what those who meet bring along */
    std::vector<thread *> waiting;
};

struct copy {
    void *to;
    const void *from;
    size_t nbytes;
};

struct thread {
    fiber self;
    block *home = nullptr;
    unsigned index = 0;
    std::vector<copy> copies; /* started; they arrive when the thread waits for them, not before */
};

enum { WARP = 32, BLOCK_WARPS = 32 };

struct index3 {
    unsigned x, y, z;
};

/* A kernel's blocks: what they run, how many are there, and how many have been. */
struct run {
    index3 block_dim, grid_dim;
    size_t shared_nbytes;
    unsigned together;
    std::function<void()> kernel;
    unsigned started = 0, live = 0;
    bool is_over() const { return started == grid_dim.x && live == 0; }
};

struct block {
    run *of = nullptr;
    unsigned index = 0, running = 0;
    barrier all;
    barrier warps[BLOCK_WARPS];
    barrier teams[BLOCK_WARPS];           /* of some warps, who say how many threads they are */
    uint64_t slots[BLOCK_WARPS][2][WARP]; /* what the lanes of a warp show each other, in turns */
    void *shared = nullptr;
};

extern thread *current;

/* What a test may ask for.  Of the decoder: */
extern bool books_unused, /* to take all books for unused, whose tables give way (tables/plan.cuh) */
    once_unused,          /* to have no kernel for calls of one round */
    overlaps; /* that its kernels begin before the tables kernel does, in a workspace of bytes 0xFF */
extern int nsms, shared_nbytes; /* of the device it thinks it has */

/* Runs the kernel in `grid` blocks, up to `together` of them at once, beside the one that is held back. */
void launch(unsigned grid, unsigned nthreads, size_t shared_nbytes, unsigned together,
            const std::function<void()> &kernel);

/* Holds a kernel without dynamic shared memory back until the next is launched: then its blocks come one by
 * one, beside that one's. */
void hold(unsigned grid, unsigned nthreads, const std::function<void()> &kernel);

/* Whether the kernel that was held back is over. */
bool held_is_over();

/* Waits until the barrier, of which this thread is not the last, has its number. */
void wait_at(barrier *b);

/* Lets all who wait at the barrier go on, sooner or later. */
void open_barrier(barrier *b);

/* For a thread that polls memory: lets others run. */
void spin();

/* n threads meet; all get the fold of the values they bring, in any order. */
template <class F> static inline uint64_t meet(barrier *b, unsigned n, uint64_t value, F fold) {
    b->gathered = b->arrived ? fold(b->gathered, value) : value;
    if (++b->arrived == n) {
        b->result = b->gathered;
        b->arrived = 0;
        b->generation++;
        open_barrier(b);
    } else {
        wait_at(b);
    }
    return b->result; /* nobody can have opened it again before this thread came back to it */
}

static inline void meet(barrier *b, unsigned n) {
    meet(b, n, 0, [](uint64_t, uint64_t) { return (uint64_t)0; });
}

static inline unsigned lane() { return current->index % WARP; }
static inline barrier *warp_barrier() { return &current->home->warps[current->index / WARP]; }

/* A fold over the lanes of a warp; every lane takes part. */
template <class F> static inline uint64_t warp_fold(uint64_t value, F fold) {
    barrier *b = warp_barrier();
    return meet(b, b->n, value, fold);
}

/*
 * Every lane of a warp shows a word and looks at one.  Two rows of words in turns: who writes a row again has
 * met the others since, who had looked by then.
 */
template <class T> static inline T warp_exchange(T value, unsigned from) {
    barrier *b = warp_barrier();
    uint64_t *row = current->home->slots[current->index / WARP][b->generation & 1];
    memcpy(&row[lane()], &value, sizeof value);
    meet(b, b->n);
    T result;
    memcpy(&result, &row[from % WARP], sizeof result);
    return result;
}

} // namespace emu

#endif
