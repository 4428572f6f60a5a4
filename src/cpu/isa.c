/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * isa.c: chooses among the instruction sets that cpu/tile is compiled for, and passes its functions on.
 * CSZ_HAVE_X86_64_V3 and _V4: the build has sets above that of the whole library.  The choice is one atomic
 * pointer without a lock: threads that find it unset at once all store the same one.
 */
#include "cpu/isa.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cpu/plan/sample.h"
#include "cpu/common/symbols.h"
#include "cpu/common/tail.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- what the machine has ---- */

enum { /* bits of csz_x86_cpuid */
       LEAF1_V3 =
           1 << 0 | 1 << 9 | 1 << 12 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 22 | 1 << 23 | 1 << 27 | 1 << 28 |
           1 << 29, /* SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C */
       LEAF7_V3 = 1 << 3 | 1 << 5 | 1 << 8,         /* BMI1, AVX2, BMI2 */
       EXTENDED1_V3 = 1 << 0 | 1 << 5,              /* LAHF, LZCNT */
       XCR0_V3 = 1 << 1 | 1 << 2,                   /* SSE and AVX registers */
       XCR0_V4 = XCR0_V3 | 1 << 5 | 1 << 6 | 1 << 7 /* mask registers, upper halves, registers 16 to 31 */
};
/* AVX512F, DQ, CD, BW, VL */
static const uint32_t leaf7_v4 = LEAF7_V3 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;

static int has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

int csz_x86_level(const csz_x86_cpuid *c) {
    if (!has_all(c->leaf1_ecx, LEAF1_V3) || !has_all(c->leaf7_ebx, LEAF7_V3) ||
        !has_all(c->extended1_ecx, EXTENDED1_V3) || !has_all(c->xcr0, XCR0_V3))
        return 1;
    return has_all(c->leaf7_ebx, leaf7_v4) && has_all(c->xcr0, XCR0_V4) ? 4 : 3;
}

#if defined(__x86_64__)
static int level_here(void) {
    csz_x86_cpuid c = {0, 0, 0, 0};
    uint32_t a, b, d, unused;
    if (!__get_cpuid(1, &a, &b, &c.leaf1_ecx, &d)) return 1;
    if (!__get_cpuid_count(7, 0, &a, &c.leaf7_ebx, &unused, &d)) c.leaf7_ebx = 0;
    if (!__get_cpuid(0x80000001u, &a, &b, &c.extended1_ecx, &d)) c.extended1_ecx = 0;
    if (c.leaf1_ecx >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(c.xcr0), "=d"(d) : "c"(0));
    return csz_x86_level(&c);
}
#else
static int level_here(void) { return 0; }
#endif

/* ---- what this build has ---- */

extern const csz_tile_loops csz_isa_loops_baseline, csz_isa_loops_x86_64_v3, csz_isa_loops_x86_64_v4;

static const csz_isa sets[] = {
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512CD__)
    {"x86-64-v4", &csz_isa_loops_baseline, 0},
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
    {"x86-64-v3", &csz_isa_loops_baseline, 0},
#elif defined(__x86_64__)
    {"x86-64", &csz_isa_loops_baseline, 0},
#elif defined(__aarch64__)
    {"aarch64", &csz_isa_loops_baseline, 0},
#else
    {"portable", &csz_isa_loops_baseline, 0},
#endif
#if defined(CSZ_HAVE_X86_64_V3)
    {"x86-64-v3", &csz_isa_loops_x86_64_v3, 3},
#endif
#if defined(CSZ_HAVE_X86_64_V4)
    {"x86-64-v4", &csz_isa_loops_x86_64_v4, 4},
#endif
};
enum { N_SETS = sizeof sets / sizeof sets[0] };

const csz_isa *csz_isa_at(int i) {
    return i >= 0 && i < N_SETS && sets[i].x86_level <= level_here() ? &sets[i] : NULL;
}

const csz_isa *csz_isa_choose(const char *wanted) {
    const int level = level_here(); /* asked for once: cpuid takes microseconds in a virtual machine */
    const csz_isa *best = &sets[0];
    for (int i = 0; i < N_SETS && sets[i].x86_level <= level; i++) {
        best = &sets[i];
        if (wanted && strcmp(wanted, best->name) == 0) break;
    }
    return best;
}

static _Atomic(const csz_isa *) in_use;

const csz_isa *csz_isa_in_use(void) {
    const csz_isa *isa = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (isa) return isa; /* it points to constants, so nothing has to be seen before it */
    isa = csz_isa_choose(getenv("CSZ_CPU_ISA"));
    atomic_store_explicit(&in_use, isa, memory_order_relaxed);
    return isa;
}

void csz_isa_use(const csz_isa *isa) { atomic_store(&in_use, isa); }

const char *csz_cpu_isa(void) { return csz_isa_in_use()->name; }

/* ---- the functions ---- */

void csz_tile_quantize(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                       const csz_tile_box *box) {
    csz_isa_in_use()->loops->quantize(w, plan, data, box);
}

void csz_tile_measure(csz_tile_work *w) { csz_isa_in_use()->loops->measure(w); }

void csz_tile_symbols_make(csz_tile_work *w, int mode) { csz_isa_in_use()->loops->symbols_make(w, mode); }

void csz_tile_tail_make(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    csz_isa_in_use()->loops->tail_make(w, plan, box);
}

uint32_t csz_tile_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                         const void *data, const csz_tile_box *box) {
    return csz_isa_in_use()->loops->encode(w, plan, tables, data, box);
}

int csz_tile_decode(csz_tile_work *w, const csz_tile_plan *plan, const csz_decode_tables *tables,
                    const csz_tile_box *box, const uint8_t *record, uint32_t nwords) {
    return csz_isa_in_use()->loops->decode(w, plan, tables, box, record, nwords);
}

int csz_tile_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                     const csz_rows *rows) {
    return csz_isa_in_use()->loops->restore(w, plan, box, rows);
}

void csz_pyramid_quantize(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                          const csz_tile_box *box, int wanted) {
    csz_isa_in_use()->loops->pyramid_quantize(w, p, level, box, wanted);
}

int csz_pyramid_restore(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                        const csz_tile_box *box, const csz_rows *rows) {
    return csz_isa_in_use()->loops->pyramid_restore(w, p, level, box, rows);
}

void csz_pyramid_hash(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                      const csz_tile_box *box) {
    csz_isa_in_use()->loops->pyramid_hash(w, p, level, box);
}

void csz_sample_copy(void *out, const csz_tile_plan *plan, const void *at, uint64_t step,
                     const uint64_t *extent, double bound) {
    csz_isa_in_use()->loops->sample_copy(out, plan, at, step, extent, bound);
}

uint64_t csz_sample_cost(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    return csz_isa_in_use()->loops->sample_cost(w, plan, box);
}
