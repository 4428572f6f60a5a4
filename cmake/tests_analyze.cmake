# SPDX-License-Identifier: BSD-3-Clause
#
# The generated fields have the bits that are pinned, at the tiny size
# (`csz-fields check bench/fields/checksums.txt` does the small one), and the evaluation runs from fields to
# tables, on tiny fields and without the clock's patience.  Both are left to the plain build: they are
# programs of the bench.
if(NOT CSZ_SANITIZE)
    csz_register(fields unit 120 COMMAND csz-fields check "${CMAKE_CURRENT_SOURCE_DIR}/bench/fields/checksums.txt" --scale tiny)
    csz_register(evaluation unit 300 COMMAND "${tests_dir}/tools/evaluation_test.sh"
                 $<TARGET_FILE:csz-evaluate> $<TARGET_FILE:csz-fields>)
endif()

# It compares times, of which other work at the same moment would take its share.
if(TARGET test_analyze AND NOT CSZ_SANITIZE)
    csz_register(soak_share soak 600 COMMAND test_analyze share)
endif()

# What the command loads before it starts is the C library, where cmake/command_start.cmake found that it can
# be; beside CUDA also what the CUDA runtime needs where the C library is older than 2.34.
set(start_libraries "libc[.]\\|ld-")
if(CSZ_HAVE_CUDA)
    string(APPEND start_libraries "\\|libdl[.]\\|librt[.]\\|libpthread[.]")
endif()
if(TARGET csz AND NOT CSZ_SANITIZE AND (NOT CSZ_HAVE_CUDA OR CSZ_STATIC_CXX_RUNTIME) AND CSZ_LINKS_AS_NEEDED AND (CSZ_LINKS_ZSTD_ARCHIVE OR NOT TARGET Zstd::Zstd) AND CMAKE_READELF)
    csz_register(command_start unit 30 COMMAND sh -c "! \"$1\" -d \"$2\" | grep NEEDED | grep -v \"$3\"" sh "${CMAKE_READELF}" $<TARGET_FILE:csz> "${start_libraries}")
endif()

# tests/gpu/gpu_quality.c on the emulated kernels, built as emulated_api is.
if(TARGET emulated_api)
    csz_add_emulated(emulated_quality tests/gpu/gpu_quality.c ${device_source} $<TARGET_OBJECTS:test_helpers>
                     $<TARGET_OBJECTS:emulated_backend>)
    csz_register(emulated_quality ${emulated_label} 600 COMMAND emulated_quality)
    foreach(property IN ITEMS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_LIBRARIES)
        get_target_property(value emulated_api ${property})
        set_target_properties(emulated_quality PROPERTIES ${property} "${value}")
    endforeach()
endif()
