/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fiber.h: threads of control that take turns on one CPU thread, each with a stack of its own.  A switch
 * saves the registers that a call must keep and no signal mask, so it costs a few nanoseconds.
 */
#ifndef CSZ_TESTS_EMU_FIBER_H
#define CSZ_TESTS_EMU_FIBER_H

#include <cstddef>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace emu {

enum { STACK_NBYTES = 512 * 1024 };

struct fiber {
#if defined(__x86_64__) || defined(__aarch64__)
    void *sp = nullptr;
#else
    ucontext_t context;
#endif
    const void *stack = nullptr; /* its lowest byte; of the program's own stack unknown */
    size_t stack_nbytes = 0;
};

/* Allocates a stack with a page below it that must not be touched; kept until the program ends. */
void fiber_give_stack(fiber *f);

/* Makes the next switch to f call entry, which must end in a switch. */
void fiber_prepare(fiber *f, void (*entry)());

/* Continues `to` where it left off; returns when somebody switches back to `from`. */
void fiber_switch(fiber *from, fiber *to);

} // namespace emu

#endif
