# SPDX-License-Identifier: BSD-3-Clause
#
# The flags that decide bytes, for both compilers, and nowhere else.  An archive is the same on every machine
# only if every multiplication, division and rounding is IEEE's own: no contraction into fused multiply-adds,
# no reassociation, no flushing of denormals.  They are target options, which CMake places behind
# CMAKE_C_FLAGS and CFLAGS, so a user's -Ofast cannot undo them; src/core refuses fast-math and its parts
# besides.

# -ffp-contract comes after it: clang's -fno-fast-math resets it.
set(CSZ_BYTE_FLAGS_C -fno-fast-math -ffp-contract=off)
# sqrt is an instruction, and errno of one below 0 is nobody's: the command then needs no libm.
list(APPEND CSZ_BYTE_FLAGS_C -fno-math-errno)
# On s390x gcc -std=c11 computes floats in double, because float_t once was double there; the machine itself
# needs no such thing, and this asks for what it does.  Nowhere else: on x87 the same flag would leave the
# precision to chance, and src/core refuses that machine.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^s390")
    list(APPEND CSZ_BYTE_FLAGS_C -fexcess-precision=fast)
endif()
set(CSZ_BYTE_FLAGS_CUDA -fmad=false -ftz=false -prec-div=true -prec-sqrt=true)

function(csz_byte_flags target)
    foreach(flag IN LISTS CSZ_BYTE_FLAGS_C)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${flag}>)
        if(CSZ_HAVE_CUDA) # the host half of a .cu file
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>)
        endif()
    endforeach()
    if(CSZ_HAVE_CUDA)
        foreach(flag IN LISTS CSZ_BYTE_FLAGS_CUDA)
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${flag}>)
        endforeach()
    endif()
endfunction()

# Linking with -ffast-math makes gcc add a start file that flushes denormals for the whole process.
function(csz_byte_link_flags target)
    target_link_options(${target} PRIVATE $<$<LINK_LANGUAGE:C>:-fno-fast-math>)
endfunction()
