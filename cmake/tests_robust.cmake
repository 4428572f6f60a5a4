# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of robustness that need more than a file's name says: other arguments, other linking, a preloaded
# library.  tests.cmake has registered the others.

if(TARGET soak_exhaustive AND NOT CSZ_SANITIZE)
    csz_register(exhaustive_short unit 300 COMMAND soak_exhaustive --short)
endif()

if(NOT CSZ_SANITIZE) # they compile what they need themselves
    csz_register(flags_test unit 60 COMMAND "${tests_dir}/determinism/flags_test.sh"
                 "${CMAKE_CURRENT_SOURCE_DIR}")
    csz_register(bound_test unit 300 COMMAND "${tests_dir}/determinism/bound_test.py"
                 "${CMAKE_CURRENT_SOURCE_DIR}")
endif()

if(TARGET csz AND csz_isas AND NOT CSZ_SANITIZE)
    set(isa_objects --set=baseline $<TARGET_OBJECTS:csz_core> $<TARGET_OBJECTS:csz_interface>)
    if(CMAKE_C_FLAGS MATCHES "-m") # the user's baseline
        set(isa_objects)
    endif()
    foreach(isa IN LISTS csz_isas)
        list(APPEND isa_objects --set=${isa} $<TARGET_OBJECTS:csz_tile_${isa}>)
    endforeach()
    set(isa_libraries $<TARGET_FILE:csz_shared>)
    if(TARGET h5csz)
        list(APPEND isa_libraries $<TARGET_FILE:h5csz>)
    endif()
    csz_register(isa_test unit 60 COMMAND "${tests_dir}/determinism/isa_test.sh"
                 $<TARGET_FILE:csz> ${isa_objects}
                 --libraries ${isa_libraries} COMMAND_EXPAND_LISTS)
endif()

if(TARGET test_faults) # its own allocator stands before the C library's
    foreach(name IN ITEMS malloc calloc realloc aligned_alloc free)
        target_link_options(test_faults PRIVATE -Wl,--wrap=${name})
    endforeach()
endif()

if(TARGET test_no_device) # counts how often the driver is looked for
    target_link_options(test_no_device PRIVATE -Wl,--wrap=dlopen)
    target_link_libraries(test_no_device PRIVATE ${CMAKE_DL_LIBS})
endif()

# Mixed calls from many threads once more, library and all under ThreadSanitizer.
if(Cmocka_FOUND AND NOT CSZ_SANITIZE)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
    check_c_source_compiles("int main(void) { return 0; }" CSZ_HAVE_TSAN)
    unset(CMAKE_REQUIRED_FLAGS)
    if(CSZ_HAVE_TSAN)
        add_executable(tsan_concurrency tests/api/test_concurrency.c ${helper_sources} ${core_sources} ${tile_sources}
                       ${interface_sources} src/api/no_cuda.c)
        target_include_directories(tsan_concurrency PRIVATE include src tests/support)
        target_compile_definitions(tsan_concurrency PRIVATE CSZ_TESTS_DIR="${tests_dir}" CSZ_SANITIZED)
        target_compile_options(tsan_concurrency PRIVATE -fsanitize=thread -Og)
        target_link_options(tsan_concurrency PRIVATE -fsanitize=thread)
        target_link_libraries(tsan_concurrency PRIVATE Cmocka::Cmocka Threads::Threads m)
        csz_use_zstd(tsan_concurrency)
        csz_byte_flags(tsan_concurrency)
        csz_register(tsan_concurrency unit 600 COMMAND tsan_concurrency)
        set_tests_properties(tsan_concurrency PROPERTIES ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1")
    else()
        message(STATUS "no ThreadSanitizer here: tsan_concurrency is left out")
    endif()
endif()

if(TARGET csz)
    add_library(fault_shim MODULE tests/command/fault_shim.c)
    set_target_properties(fault_shim PROPERTIES C_VISIBILITY_PRESET default)
    target_link_libraries(fault_shim PRIVATE ${CMAKE_DL_LIBS})
    csz_register(faults_test unit 1200 COMMAND "${tests_dir}/command/faults_test.sh"
                 $<TARGET_FILE:csz> $<TARGET_FILE:fault_shim>)
    # The command with bounds resolved too large.
    csz_add_program(csz-forged tests/command/forged_plan.c $<TARGET_OBJECTS:csz>)
    target_include_directories(csz-forged PRIVATE src)
    target_link_options(csz-forged PRIVATE -Wl,--wrap=csz_plan_create)
    csz_link_cli(csz-forged)
    csz_register(forged_test unit 300 COMMAND "${tests_dir}/command/forged_test.sh"
                 $<TARGET_FILE:csz> $<TARGET_FILE:csz-forged>
                 $<TARGET_FILE:csz-generate>)
    csz_register(kill_test unit 300 COMMAND "${tests_dir}/command/kill_test.sh" $<TARGET_FILE:csz> 20)
    csz_register(soak_kills soak 3600 COMMAND "${tests_dir}/command/kill_test.sh" $<TARGET_FILE:csz> 200)
endif()

if(CSZ_HAVE_CUDA)
    add_executable(gpu_exhaustive tests/gpu/gpu_exhaustive.cu)
    target_include_directories(gpu_exhaustive PRIVATE src tests/support)
    target_link_libraries(gpu_exhaustive PRIVATE csz_static Threads::Threads m)
    set_target_properties(gpu_exhaustive PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
    csz_byte_flags(gpu_exhaustive)
    csz_register(gpu_exhaustive_short gpu 300 COMMAND gpu_exhaustive --short)
    csz_register(soak_gpu_exhaustive soak 3600 COMMAND gpu_exhaustive)
endif()
