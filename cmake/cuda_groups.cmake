# SPDX-License-Identifier: BSD-3-Clause
#
# csz_cuda_groups(VARIABLE SUFFIX SOURCE...): files GROUP.SUFFIX in the build folder that include the .cu files,
# those together that share templates: they compile in two thirds of the time.  For tests alone: the driver
# loads a file's kernels together.
function(csz_cuda_groups variable suffix)
    set(groups)
    foreach(source IN LISTS ARGN)
        get_filename_component(name "${source}" NAME_WE)
        string(REGEX REPLACE ".*/src/cuda/([a-z]+)/.*" "\\1" group "${source}")
        if(name STREQUAL "histogram") # predicts as the encoder does
            set(group encode)
        endif()
        list(APPEND groups ${group})
        string(APPEND includes_${group} "#include \"${source}\"\n")
    endforeach()
    list(REMOVE_DUPLICATES groups)
    set(files)
    foreach(group IN LISTS groups)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/kernels/${group}.${suffix}")
        file(GENERATE OUTPUT "${file}" CONTENT "${includes_${group}}")
        list(APPEND files "${file}")
    endforeach()
    set(${variable} "${files}" PARENT_SCOPE)
endfunction()
