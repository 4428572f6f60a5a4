# SPDX-License-Identifier: BSD-3-Clause
#
# The fuzz targets of tests/fuzz, each a program, with seeds from the golden archives.  In a sanitized build
# with tests each is a test that tries fixed inputs (tests/fuzz/fixed.c).  With CSZ_FUZZ, which needs clang,
# libFuzzer drives them and the library is instrumented for coverage: tools/fuzz configures such a build,
# which is never installed.
option(CSZ_FUZZ "Build the fuzz targets instead of the programs; needs clang" OFF)
mark_as_advanced(CSZ_FUZZ)
if(NOT CSZ_FUZZ AND NOT (BUILD_TESTING AND CSZ_SANITIZE MATCHES "address"))
    return()
endif()
if(CSZ_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "CSZ_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
    endif()
    install(CODE "message(FATAL_ERROR \"a build for fuzzing is not installed\")")
    foreach(part IN ITEMS csz_core csz_interface)
        target_compile_options(${part} PRIVATE -fsanitize=fuzzer-no-link)
    endforeach()
    # Following every comparison helps to meet a magic number; in loops over elements it takes four fifths of
    # the time.
    file(GLOB cpu_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/*.c"
         "${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/common/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/plan/*.c"
         "${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/pyramid/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/tile/*.c")
    set_property(SOURCE ${cpu_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
endif()
add_custom_target(fuzz_programs) # all of them and nothing else

set(fuzz_dir "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz")
set(fuzz_out "${CMAKE_CURRENT_BINARY_DIR}/fuzz")
file(GLOB golden_archives CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/golden/*.csz")

add_executable(fuzz_seeds "${fuzz_dir}/seeds.c")
target_include_directories(fuzz_seeds PRIVATE src)
if(CSZ_FUZZ)
    target_link_options(fuzz_seeds PRIVATE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(fuzz_seeds PRIVATE csz_static Threads::Threads m)
csz_byte_flags(fuzz_seeds)
add_custom_command(OUTPUT "${fuzz_out}/seeds.stamp"
                   COMMAND fuzz_seeds "${fuzz_out}/seeds" ${golden_archives}
                   COMMAND ${CMAKE_COMMAND} -E touch "${fuzz_out}/seeds.stamp"
                   DEPENDS fuzz_seeds ${golden_archives} COMMENT "Seeds for the fuzz targets" VERBATIM)
add_custom_target(fuzz_seed_files DEPENDS "${fuzz_out}/seeds.stamp")

# csz_add_fuzz NAME NRUNS SOURCE...: the program fuzz_NAME, and its test of NRUNS fixed inputs, a few seconds'
# worth.
function(csz_add_fuzz name nruns)
    set(program fuzz_${name})
    add_executable(${program} ${ARGN})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${fuzz_out}")
    target_include_directories(${program} PRIVATE src tests/support tests/fuzz)
    target_link_libraries(${program} PRIVATE csz_static Threads::Threads m)
    csz_byte_flags(${program})
    add_dependencies(${program} fuzz_seed_files)
    add_dependencies(fuzz_programs ${program})
    if(CSZ_FUZZ)
        target_compile_options(${program} PRIVATE -fsanitize=fuzzer)
        target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${program} PRIVATE "${fuzz_dir}/fixed.c")
        file(GLOB findings CONFIGURE_DEPENDS "${fuzz_dir}/findings/${name}-*")
        csz_register(${program} fuzz 600 COMMAND ${program} ${nruns} "${fuzz_out}/seeds/${name}" ${findings})
        # As libFuzzer's limits in tests/fuzz/run: whoever asks for more than 64 MiB at once has failed.
        set_tests_properties(${program} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:max_allocation_size_mb=64")
    endif()
endfunction()

csz_add_fuzz(header 200000 tests/fuzz/fuzz_header.c tests/support/reseal.c)
csz_add_fuzz(books 200000 tests/fuzz/fuzz_books.c)
foreach(pair IN ITEMS huffman:1 rle:2 rle_vle:3)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 workflow)
    list(GET pair 1 number)
    csz_add_fuzz(tile_${workflow} 100000 tests/fuzz/fuzz_tile.c)
    target_compile_definitions(fuzz_tile_${workflow} PRIVATE FUZZ_WORKFLOW=${number})
endforeach()
csz_add_fuzz(decode 20000 tests/fuzz/fuzz_decode.c tests/fuzz/memory.c tests/fuzz/archive.c tests/support/reseal.c)
csz_add_fuzz(region 20000 tests/fuzz/fuzz_region.c tests/fuzz/memory.c tests/fuzz/archive.c tests/support/reseal.c)
csz_add_fuzz(roundtrip 1000 tests/fuzz/fuzz_roundtrip.c)
if(CSZ_FUZZ)
    target_compile_options(fuzz_roundtrip PRIVATE -fno-sanitize-coverage=trace-cmp)
    target_compile_options(fuzz_region PRIVATE -fno-sanitize-coverage=trace-cmp)
endif()
csz_add_fuzz(npy 200000 tests/fuzz/fuzz_npy.c cli/files/npy.c cli/terminal/values.c)
target_include_directories(fuzz_npy PRIVATE cli)

# The HDF5 filter, where it and HDF5's headers are.
set(hdf5_dir "${CMAKE_CURRENT_SOURCE_DIR}/plugins/hdf5")
if(EXISTS "${hdf5_dir}/filter.c")
    find_package(Hdf5Serial QUIET)
    if(TARGET Hdf5Serial::Headers)
        csz_add_fuzz(hdf5 20000 tests/fuzz/fuzz_hdf5.c tests/fuzz/archive.c tests/support/reseal.c "${hdf5_dir}/exact.c" "${hdf5_dir}/filter.c"
                     "${hdf5_dir}/h5_library.c" plugins/unnamed_fill.c)
        target_include_directories(fuzz_hdf5 PRIVATE "${hdf5_dir}")
        target_link_libraries(fuzz_hdf5 PRIVATE Hdf5Serial::Headers ${CMAKE_DL_LIBS})
    else()
        message(STATUS "no HDF5 headers here: fuzz_hdf5 is left out")
    endif()
endif()
