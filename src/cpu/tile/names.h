/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h: the first include of every file of cpu/tile. These files are compiled once for each instruction
 * set (cmake/isa.cmake), and here the functions they share get its name at their end. So no object holds
 * code for one set under a name that another set's object or the rest of the library defines, and the
 * linker cannot put it in the place of theirs: everything else in these files is static. The rest of the
 * library calls the plain names, which cpu/isa.c passes on to the set chosen for this machine.
 */
#ifndef CSZ_CPU_TILE_NAMES_H
#define CSZ_CPU_TILE_NAMES_H

#if defined(CSZ_CPU_TILE_H)
#error "cpu/tile/names.h comes first"
#endif

#if !defined(CSZ_ISA)
#define CSZ_ISA baseline
#endif
#define CSZ_ISA_JOIN(name, isa) name##_##isa
#define CSZ_ISA_NAME(name, isa) CSZ_ISA_JOIN(name, isa)

#define csz_isa_loops CSZ_ISA_NAME(csz_isa_loops, CSZ_ISA)

#define csz_tile_quantize CSZ_ISA_NAME(csz_tile_quantize, CSZ_ISA)
#define csz_tile_values CSZ_ISA_NAME(csz_tile_values, CSZ_ISA)
#define csz_tile_hash CSZ_ISA_NAME(csz_tile_hash, CSZ_ISA)
#define csz_tile_measure CSZ_ISA_NAME(csz_tile_measure, CSZ_ISA)
#define csz_tile_symbols_make CSZ_ISA_NAME(csz_tile_symbols_make, CSZ_ISA)
#define csz_tile_tail_make CSZ_ISA_NAME(csz_tile_tail_make, CSZ_ISA)
#define csz_tile_specials_alike CSZ_ISA_NAME(csz_tile_specials_alike, CSZ_ISA)
#define csz_tile_encode CSZ_ISA_NAME(csz_tile_encode, CSZ_ISA)
#define csz_tile_exact_encode CSZ_ISA_NAME(csz_tile_exact_encode, CSZ_ISA)

#define csz_tile_exact_decode CSZ_ISA_NAME(csz_tile_exact_decode, CSZ_ISA)
#define csz_tile_exact_restore CSZ_ISA_NAME(csz_tile_exact_restore, CSZ_ISA)
#define csz_tile_decode CSZ_ISA_NAME(csz_tile_decode, CSZ_ISA)
#define csz_lanes_decode CSZ_ISA_NAME(csz_lanes_decode, CSZ_ISA)
#define csz_tile_tail_read CSZ_ISA_NAME(csz_tile_tail_read, CSZ_ISA)
#define csz_tile_restore CSZ_ISA_NAME(csz_tile_restore, CSZ_ISA)
#define csz_tile_specials_apply CSZ_ISA_NAME(csz_tile_specials_apply, CSZ_ISA)

#define csz_pyramid_quantize CSZ_ISA_NAME(csz_pyramid_quantize, CSZ_ISA)
#define csz_pyramid_restore CSZ_ISA_NAME(csz_pyramid_restore, CSZ_ISA)
#define csz_sample_copy CSZ_ISA_NAME(csz_sample_copy, CSZ_ISA)
#define csz_sample_cost CSZ_ISA_NAME(csz_sample_cost, CSZ_ISA)
#define csz_pyramid_hash CSZ_ISA_NAME(csz_pyramid_hash, CSZ_ISA)

#endif
