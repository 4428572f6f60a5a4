/* SPDX-License-Identifier: BSD-3-Clause */
/* isa.h: the instruction sets that the loops over tiles (cpu/tile) are compiled for, and which one this
 * process uses.  All give the same bytes.  The lowest is that of the whole library. */
#ifndef CSZ_CPU_ISA_H
#define CSZ_CPU_ISA_H

#include "cpu/pyramid/predict_pyramid.h"

typedef struct csz_tile_loops {
    void (*quantize)(csz_tile_work *w, const csz_tile_plan *plan, const void *data, const csz_tile_box *box);
    void (*measure)(csz_tile_work *w);
    void (*symbols_make)(csz_tile_work *w, int mode);
    void (*tail_make)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);
    uint32_t (*encode)(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                       const void *data, const csz_tile_box *box);
    int (*decode)(csz_tile_work *w, const csz_tile_plan *plan, const csz_decode_tables *tables,
                  const csz_tile_box *box, const uint8_t *record, uint32_t nwords);
    int (*restore)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                   const csz_rows *rows);
    void (*pyramid_quantize)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                             const csz_tile_box *box, int wanted);
    int (*pyramid_restore)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                           const csz_tile_box *box, const csz_rows *rows);
    void (*pyramid_hash)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                         const csz_tile_box *box);
    void (*sample_copy)(void *out, const csz_tile_plan *plan, const void *at, uint64_t step,
                        const uint64_t *extent, double bound);
    uint64_t (*sample_cost)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);
} csz_tile_loops;

typedef struct csz_isa {
    const char *name; /* as csz_cpu_isa says it */
    const csz_tile_loops *loops;
    int x86_level; /* of the psABI that it needs, 1 to 4; 0 on other machines */
} csz_isa;

/* What a processor says of itself, by the names of the cpuid instruction. */
typedef struct csz_x86_cpuid {
    uint32_t leaf1_ecx, leaf7_ebx, extended1_ecx;
    uint32_t xcr0; /* registers that the system saves; 0 without OSXSAVE */
} csz_x86_cpuid;

/* The psABI's level of such a processor: 1 (x86-64), 3 or 4; no code is compiled for 2. */
int csz_x86_level(const csz_x86_cpuid *cpuid);

/* Sets of this build that this machine has, from the lowest; NULL past the last. */
const csz_isa *csz_isa_at(int i);

/* The set that the environment names, if the machine has it, else the highest. */
const csz_isa *csz_isa_choose(const char *wanted);

/* The set in use: chosen by the environment at the first call. */
const csz_isa *csz_isa_in_use(void);

/* Another one, for tests; no call of the library may be running. */
void csz_isa_use(const csz_isa *isa);

#endif
