/* SPDX-License-Identifier: BSD-3-Clause */
/* fiber.cpp: switching of stacks, in assembly for the machines we test on, by ucontext elsewhere. */
#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/* EMU_ASAN: the kernels are under AddressSanitizer; this file is not. */
#if defined(EMU_ASAN)
#include <sanitizer/asan_interface.h>

/*
 * ASan is not told of each switch, which would take a fifth of the time: it finds what goes beyond a variable
 * by its marks around it, on any stack.  Only copies of stacks for uses after return would need to know.
 * Undefined behaviour in a kernel is an illegal instruction; ASan says in which line, and cmocka may not
 * catch it before.
 */
extern "C" const char *__asan_default_options(void);
extern "C" const char *__asan_default_options(void) {
    return "detect_stack_use_after_return=0:handle_sigill=2";
}
#endif

/* emu_switch(&save, load): pushes what a callee must keep, stores the stack pointer, takes the other one and
 * pops. */
#if defined(__aarch64__)
enum { FRAME_WORDS = 20, FRAME_ENTRY = 0, FRAME_RETURN = 11 }; /* x19, x30 */
asm(".text\n.align 4\n.type emu_switch, %function\nemu_switch:\n"
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x2, sp\nstr x2, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nret\n.size emu_switch, .-emu_switch\n"
    /* A fiber begins here, so that its entry has no return address and who walks the stack stops there. */
    ".type emu_start, %function\nemu_start:\nmov x30, xzr\nbr x19\n.size emu_start, .-emu_start\n");
extern "C" void emu_start(void) __attribute__((visibility("hidden")));
extern "C" void emu_switch(void **save, void *load) __attribute__((visibility("hidden")));
#elif defined(__x86_64__)
enum {
    FRAME_WORDS = 8,
    FRAME_ENTRY = 6
}; /* six registers, the return address, and a word that aligns the entry's stack */
asm(".text\n.p2align 4\n.type emu_switch, @function\nemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emu_switch, .-emu_switch\n");
extern "C" void emu_switch(void **save, void *load) __attribute__((visibility("hidden")));
#endif

namespace emu {

void fiber_give_stack(fiber *f) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = (char *)mmap(nullptr, STACK_NBYTES + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE)) {
        fprintf(stderr, "emu: no memory for a stack\n");
        abort();
    }
    /* Tops at different places in their pages, so that stacks do not share the same few lines of the cache.
     */
    static size_t nstacks;
    f->stack = p + page;
    f->stack_nbytes = STACK_NBYTES - page / 64 * (nstacks++ % 64);
}

void fiber_prepare(fiber *f, void (*entry)()) {
#if defined(EMU_ASAN)
    /* An entry never returns, so what surrounds the variables of the last one on this stack is still marked.
     */
    const size_t most = 4096;
    __asan_unpoison_memory_region((const char *)f->stack + f->stack_nbytes - most, most);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    void **frame = (void **)((char *)f->stack + f->stack_nbytes) - FRAME_WORDS;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[FRAME_ENTRY] = (void *)entry;
#if defined(__aarch64__)
    frame[FRAME_RETURN] = (void *)emu_start;
#endif
    f->sp = frame;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = (void *)f->stack;
    f->context.uc_stack.ss_size = f->stack_nbytes;
    f->context.uc_link = nullptr;
    makecontext(&f->context, entry, 0);
#endif
}

void fiber_switch(fiber *from, fiber *to) {
#if defined(__x86_64__) || defined(__aarch64__)
    emu_switch(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
}

} // namespace emu
