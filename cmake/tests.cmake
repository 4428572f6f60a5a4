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

# Tests of 20 s and more begin first, so that none is left to run alone at the end.
set(csz_long_tests python_test emulated_api emulated_quality emulated_compress emulated_decompress test_faults test_sizes
    test_analyze test_frames stream_test docs_test faults_test)

function(csz_register name label timeout_s)
    add_test(NAME ${name} ${ARGN} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s} SKIP_RETURN_CODE 77)
    if(name IN_LIST csz_long_tests)
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
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
# machine, under the sanitizers too: every CUDA thread is a fiber, and whose turn it is between barriers is drawn by lot.  emulated_api is tests/gpu_api.c on top of them: interface
# and backend are built once more for it, with tests/emu/emu_runtime.c in place of runtime.cu.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER AND cuda_sources)
    enable_language(CXX)
    function(csz_emulated_flags name)
        target_include_directories(${name} PRIVATE include src tests/emu)
        target_compile_definitions(${name} PRIVATE CSZ_EMU)
        target_compile_options(${name} PRIVATE -O1 -g -ffp-contract=off -fno-strict-aliasing -U_FORTIFY_SOURCE
                                               -Wno-unknown-pragmas)
        if(CSZ_SANITIZE)
            target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers}>
                                                   $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                                                   $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
        endif()
        set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    endfunction()
    set(kernel_wrappers) # a .cu file would be compiled as CUDA where nvcc is
    foreach(source IN LISTS cuda_sources)
        get_filename_component(name "${source}" NAME_WE)
        if(NOT name STREQUAL "runtime")
            set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/emulated/${name}.cpp")
            file(GENERATE OUTPUT "${wrapper}" CONTENT "#include \"cuda/${name}.cu\"\n")
            list(APPEND kernel_wrappers "${wrapper}")
        endif()
    endforeach()
    add_library(emulated_kernels OBJECT ${kernel_wrappers} tests/emu/machine.cpp tests/emu/fiber.cpp)
    csz_emulated_flags(emulated_kernels)
    function(csz_add_emulated name)
        add_executable(${name} ${ARGN} $<TARGET_OBJECTS:emulated_kernels>)
        csz_emulated_flags(${name})
        target_link_libraries(${name} PRIVATE csz_static Threads::Threads m)
    endfunction()
    csz_add_emulated(emulated_compress tests/emu/test_cuda_compress.cpp)
    csz_add_emulated(emulated_decompress tests/emu/test_cuda_decompress.cpp)
    csz_add_emulated(emulated_tree tests/emu/test_cuda_tree.cpp)
    csz_register(emulated_tree unit 600 COMMAND emulated_tree)
    set(api_rounds DAMAGE_ROUNDS=8 LOST_STEP=5)
    if(CSZ_SANITIZE) # a part of the cases, enough for every path: sanitizers make them five times as long
        set(api_rounds DAMAGE_ROUNDS=2 LOST_STEP=29)
        csz_register(emulated_compress unit 600 COMMAND emulated_compress few)
        csz_register(emulated_decompress unit 600 COMMAND emulated_decompress 0)
    else()
        csz_register(emulated_compress unit 600 COMMAND emulated_compress)
        csz_register(emulated_decompress unit 600 COMMAND emulated_decompress)
    endif()
    if(Cmocka_FOUND)
        file(GLOB api_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/api/*.c"
             "${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/*.c")
        csz_add_emulated(emulated_api tests/gpu_api.c ${device_source} ${helper_sources} tests/emu/emu_runtime.c
                         ${api_sources})
        csz_register(emulated_api unit 600 COMMAND emulated_api)
        target_include_directories(emulated_api PRIVATE tests)
        target_compile_definitions(emulated_api PRIVATE CSZ_HAVE_CUDA=1 ${api_rounds})
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
