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
set(device_source "${tests_dir}/device.c") # of the gpu tests alone
list(REMOVE_ITEM helper_sources "" ${test_sources} ${soak_sources} ${gpu_sources} ${device_source})

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
        foreach(source IN LISTS gpu_sources)
            get_filename_component(name "${source}" NAME_WE)
            target_sources(${name} PRIVATE ${device_source})
            target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
        endforeach()
    endif()
endif()

# The kernels of src/cuda, compiled as C++ against an emulator of the CUDA features they use, so that they run on every
# machine: every CUDA thread is a fiber, resumed in random order between barriers.  emulated_api is tests/gpu_api.c on top of them: interface and backend are built
# once more for it, with tests/emu/emu_runtime.c in place of runtime.cu.
include(CheckLanguage)
check_language(CXX)
# Not in a sanitized build: AddressSanitizer follows every switch of stacks, which makes these tests ten times as long.
if(CMAKE_CXX_COMPILER AND cuda_sources AND NOT CSZ_SANITIZE)
    enable_language(CXX)
    set(compress_wrappers) # a .cu file would be compiled as CUDA where nvcc is
    foreach(source IN LISTS cuda_sources)
        get_filename_component(name "${source}" NAME_WE)
        if(NOT name MATCHES "^(runtime|decompress|tables)$")
            set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/emulated/${name}.cpp")
            file(GENERATE OUTPUT "${wrapper}" CONTENT "#include \"cuda/${name}.cu\"\n")
            list(APPEND compress_wrappers "${wrapper}")
        endif()
    endforeach()
    function(csz_add_emulated name)
        add_executable(${name} ${ARGN} tests/emu/machine.cpp tests/emu/fiber.cpp)
        target_include_directories(${name} PRIVATE include src tests/emu)
        target_compile_definitions(${name} PRIVATE CSZ_EMU)
        target_compile_options(${name} PRIVATE -O1 -g -ffp-contract=off -fno-strict-aliasing -U_FORTIFY_SOURCE
                                               -Wno-unknown-pragmas)
        set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
        target_link_libraries(${name} PRIVATE csz_static Threads::Threads m)
        csz_register(${name} unit 600 COMMAND ${name})
    endfunction()
    csz_add_emulated(emulated_compress tests/emu/test_cuda_compress.cpp ${compress_wrappers})
    csz_add_emulated(emulated_decompress tests/emu/test_cuda_decompress.cpp)
    if(Cmocka_FOUND)
        set(decompress_wrapper "${CMAKE_CURRENT_BINARY_DIR}/emulated/decoder.cpp")
        file(GENERATE OUTPUT "${decompress_wrapper}"
             CONTENT "#include \"cuda/tables.cu\"\n#include \"cuda/decompress.cu\"\n")
        file(GLOB api_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/api/*.c"
             "${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/*.c")
        csz_add_emulated(emulated_api tests/gpu_api.c ${device_source} ${helper_sources} tests/emu/emu_runtime.c
                         ${api_sources} ${compress_wrappers} "${decompress_wrapper}")
        target_include_directories(emulated_api PRIVATE tests)
        target_compile_definitions(emulated_api PRIVATE CSZ_HAVE_CUDA=1 DAMAGE_ROUNDS=8 LOST_STEP=5)
        target_link_libraries(emulated_api PRIVATE Cmocka::Cmocka)
        if(TARGET Zstd::Zstd)
            target_compile_definitions(emulated_api PRIVATE CSZ_HAVE_ZSTD=1)
            target_link_libraries(emulated_api PRIVATE Zstd::Zstd)
        endif()
    endif()
endif()

if(TARGET csz)
    foreach(name IN ITEMS cli_test format_test)
        if(EXISTS "${tests_dir}/${name}.sh")
            csz_register(${name} unit 300 COMMAND "${tests_dir}/${name}.sh" $<TARGET_FILE:csz>)
            # A leak check takes seconds a process on some machines, and these scripts start hundreds.
            set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
        endif()
    endforeach()
    file(GLOB soak_scripts CONFIGURE_DEPENDS "${tests_dir}/soak_*.sh")
    foreach(script IN LISTS soak_scripts)
        get_filename_component(name "${script}" NAME_WE)
        csz_register(${name} soak 7200 COMMAND "${script}" $<TARGET_FILE:csz>)
    endforeach()
endif()
if(TARGET csz-insitu)
    csz_register(insitu gpu 300 COMMAND csz-insitu)
endif()
if(TARGET csz-demo)
    csz_register(demo unit 300 COMMAND csz-demo --small)
endif()
if(TARGET csz-bench)
    csz_register(bench unit 300 COMMAND csz-bench --smoke)
endif()
include(cmake/tests_hdf5.cmake)
include(cmake/tests_analyze.cmake)
