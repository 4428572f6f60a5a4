# SPDX-License-Identifier: BSD-3-Clause
#
# Registers the tests by the names of their files: tests/test_*.c become one cmocka program each, tests/soak_*.c
# and soak_*.sh the long ones (label soak), tests/gpu_*.c those that need a GPU (label gpu; built with the CUDA
# backend alone).  Other .c files of the folder are helpers that every test links.  Shell tests get the path of
# csz as their argument.  Exit status 77 means skipped.  Tests link the static library, whose hidden symbols
# they can reach, and find their files under CSZ_TESTS_DIR.

set(tests_dir "${CMAKE_CURRENT_SOURCE_DIR}/tests")
file(GLOB test_sources CONFIGURE_DEPENDS "${tests_dir}/test_*.c")
file(GLOB soak_sources CONFIGURE_DEPENDS "${tests_dir}/soak_*.c")
file(GLOB gpu_sources CONFIGURE_DEPENDS "${tests_dir}/gpu_*.c")
file(GLOB helper_sources CONFIGURE_DEPENDS "${tests_dir}/*.c")
list(REMOVE_ITEM helper_sources "" ${test_sources} ${soak_sources} ${gpu_sources})

if(CSZ_REQUIRE_TESTS AND NOT Cmocka_FOUND)
    message(FATAL_ERROR "the tests need cmocka (Debian package libcmocka-dev), which was not found")
endif()

function(csz_register name label timeout_s)
    add_test(NAME ${name} ${ARGN} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s} SKIP_RETURN_CODE 77)
endfunction()

function(csz_add_tests label timeout_s)
    foreach(source IN LISTS ARGN)
        get_filename_component(name "${source}" NAME_WE)
        csz_add_program(${name} "${source}" ${helper_sources})
        target_include_directories(${name} PRIVATE src tests)
        target_compile_definitions(${name} PRIVATE CSZ_TESTS_DIR="${tests_dir}")
        target_link_libraries(${name} PRIVATE Cmocka::Cmocka)
        if(TARGET Zstd::Zstd)
            target_compile_definitions(${name} PRIVATE CSZ_HAVE_ZSTD=1)
        endif()
        csz_register(${name} ${label} ${timeout_s} COMMAND ${name})
    endforeach()
endfunction()

if(Cmocka_FOUND)
    csz_add_tests(unit 300 ${test_sources})
    csz_add_tests(soak 7200 ${soak_sources})
    if(CSZ_HAVE_CUDA)
        csz_add_tests(gpu 600 ${gpu_sources})
    endif()
endif()

if(TARGET csz)
    if(EXISTS "${tests_dir}/cli_test.sh")
        csz_register(cli_test unit 300 COMMAND "${tests_dir}/cli_test.sh" $<TARGET_FILE:csz>)
        # A leak check takes seconds a process on some machines, and this script starts hundreds.
        set_tests_properties(cli_test PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    endif()
    file(GLOB soak_scripts CONFIGURE_DEPENDS "${tests_dir}/soak_*.sh")
    foreach(script IN LISTS soak_scripts)
        get_filename_component(name "${script}" NAME_WE)
        csz_register(${name} soak 7200 COMMAND "${script}" $<TARGET_FILE:csz>)
    endforeach()
endif()
if(TARGET csz-demo)
    csz_register(demo unit 300 COMMAND csz-demo --small)
endif()
if(TARGET csz-bench)
    csz_register(bench unit 300 COMMAND csz-bench --smoke)
endif()
