# SPDX-License-Identifier: BSD-3-Clause
#
# csz_find_cuda_archs(VARIABLE NVCC): the architectures that a build for this machine compiles, as
# CMAKE_CUDA_ARCHITECTURES wants them: those of the GPUs that nvidia-smi finds and nvcc knows, or "none", as on
# a cluster's login node.  Each takes minutes.

# For packages; the last also as PTX, for newer cards.
set(CSZ_ALL_CUDA_ARCHS "75-real;80-real;86-real;89-real;90")
set(CSZ_LEAST_CUDA_ARCH 75)
# Where no card says what it is: machine code of 8.0 runs on every 8.x, and the drivers of newer cards compile
# its PTX at first use.  One pass of nvcc's front end, a third of the time, serves both; 7.5 has to be named.
set(CSZ_UNKNOWN_CARD_ARCHS 80)
# For that machine code alone: ptxas compiles a slow path once and not for every kernel that calls it, in a
# third of the time.  Older ptxas lack it.
set(CSZ_UNKNOWN_CARD_FLAG -Xptxas=-Ofc=min)

function(csz_find_cuda_archs variable nvcc)
    set(capabilities)
    set(known)
    find_program(CSZ_NVIDIA_SMI nvidia-smi)
    mark_as_advanced(CSZ_NVIDIA_SMI)
    if(CSZ_NVIDIA_SMI)
        execute_process(COMMAND "${CSZ_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
                        OUTPUT_VARIABLE capabilities ERROR_QUIET TIMEOUT 30)
        execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    endif()
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
    string(REGEX MATCHALL "[0-9]+" known "${known}")
    set(archs)
    foreach(capability IN LISTS capabilities)
        string(REPLACE "." "" arch ${capability})
        if(arch GREATER_EQUAL CSZ_LEAST_CUDA_ARCH AND arch IN_LIST known)
            list(APPEND archs ${arch})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES archs)
    if(NOT archs)
        set(archs none)
    endif()
    set(${variable} "${archs}" PARENT_SCOPE)
endfunction()
