# SPDX-License-Identifier: BSD-3-Clause
#
# csz_find_cuda_archs(VARIABLE NVCC): the architectures that a build for this machine compiles, as
# CMAKE_CUDA_ARCHITECTURES wants them: those of the GPUs that nvidia-smi finds and nvcc knows.  Where there
# are none, as on a cluster's login node, machine code for Hopper alone, and PTX that the driver of every
# other card compiles at first use.  Each architecture takes minutes.

# For packages; the last also as PTX, for newer cards.
set(CSZ_ALL_CUDA_ARCHS "75-real;80-real;86-real;89-real;90")
set(CSZ_LEAST_CUDA_ARCH 75)
set(CSZ_UNKNOWN_CARD_ARCHS "75-virtual;90-real")

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
        set(archs "${CSZ_UNKNOWN_CARD_ARCHS}")
    endif()
    set(${variable} "${archs}" PARENT_SCOPE)
endfunction()
