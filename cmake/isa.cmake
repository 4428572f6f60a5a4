# SPDX-License-Identifier: BSD-3-Clause
#
# The loops over tiles (src/cpu/tile) for more instruction sets than the library is compiled for;
# src/cpu/isa.c chooses among them at run time.  Flags are the psABI's x86-64-v3 and -v4, spelled out:
# compilers before gcc 11 and clang 12 lack these names, and an -march of the user's stays in force.  A
# build whose flags already have a set needs no second copy of it.
set(dispatch_default ON)
if(CSZ_SANITIZE OR CSZ_FUZZ) # one source: what sanitizers see in it is the same for each set
    set(dispatch_default OFF)
endif()
option(CSZ_CPU_DISPATCH "Compile the loops over tiles for x86-64-v3 and x86-64-v4 too, and choose at run time"
       ${dispatch_default})

set(csz_isas) # beside the baseline
set(csz_isa_flags_x86_64_v3 -mavx2 -mfma -mbmi -mbmi2 -mf16c -mlzcnt -mmovbe -mpopcnt)
# -mtune: the first processors with AVX-512 lower their clock for vectors of 64 bytes, so compilers take 32
set(csz_isa_flags_x86_64_v4 ${csz_isa_flags_x86_64_v3} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
    -mtune=skylake-avx512)
if(CSZ_CPU_DISPATCH)
    include(CheckCSourceCompiles)
    foreach(isa IN ITEMS x86_64_v3 x86_64_v4)
        string(TOUPPER "${isa}" ISA)
        # CMake keeps what it has checked: each set of flags is asked anew
        string(MD5 flags "${CMAKE_C_FLAGS}")
        set(compiles CSZ_COMPILES_${ISA}_${flags})
        set(lacks CSZ_BASELINE_LACKS_${ISA}_${flags})
        string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${csz_isa_flags_${isa}}")
        check_c_source_compiles("
            #if !defined(__x86_64__)
            #error
            #endif
            int main(void) { return 0; }" ${compiles})
        unset(CMAKE_REQUIRED_FLAGS)
        set(own_macros "defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)") # as in isa.c
        if(isa STREQUAL x86_64_v4)
            set(own_macros "defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512CD__)")
        endif()
        check_c_source_compiles("
            #if ${own_macros}
            #error
            #endif
            int main(void) { return 0; }" ${lacks})
        if(${compiles} AND ${lacks})
            list(APPEND csz_isas ${isa})
        endif()
    endforeach()
endif()

set(csz_core_objects $<TARGET_OBJECTS:csz_core>)
foreach(isa IN LISTS csz_isas)
    string(TOUPPER "${isa}" ISA)
    csz_library_objects(csz_tile_${isa} ${tile_sources})
    target_compile_definitions(csz_tile_${isa} PRIVATE CSZ_ISA=${isa})
    target_compile_options(csz_tile_${isa} PRIVATE ${csz_isa_flags_${isa}})
    target_compile_definitions(csz_core PRIVATE CSZ_HAVE_${ISA}=1)
    list(APPEND csz_core_objects $<TARGET_OBJECTS:csz_tile_${isa}>)
endforeach()
