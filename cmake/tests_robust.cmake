# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of robustness that need more than a file's name says: other arguments, other linking, a preloaded library.  tests.cmake has
# registered the others.

if(TARGET soak_exhaustive)
    csz_register(exhaustive_short unit 300 COMMAND soak_exhaustive --short)
endif()

if(TARGET test_faults) # its own allocator stands before the C library's
    foreach(name IN ITEMS malloc calloc realloc aligned_alloc free)
        target_link_options(test_faults PRIVATE -Wl,--wrap=${name})
    endforeach()
endif()

if(TARGET csz)
    add_library(fault_shim MODULE tests/faults/shim.c)
    set_target_properties(fault_shim PROPERTIES C_VISIBILITY_PRESET default)
    target_link_libraries(fault_shim PRIVATE ${CMAKE_DL_LIBS})
    csz_register(faults_test unit 600 COMMAND "${tests_dir}/faults_test.sh" $<TARGET_FILE:csz> $<TARGET_FILE:fault_shim>)
    csz_register(kill_test unit 300 COMMAND "${tests_dir}/kill_test.sh" $<TARGET_FILE:csz> 20)
    csz_register(soak_kills soak 3600 COMMAND "${tests_dir}/kill_test.sh" $<TARGET_FILE:csz> 200)
endif()

if(CSZ_HAVE_CUDA)
    add_executable(gpu_exhaustive tests/gpu_exhaustive.cu)
    target_include_directories(gpu_exhaustive PRIVATE src tests)
    target_link_libraries(gpu_exhaustive PRIVATE csz_static Threads::Threads m)
    set_target_properties(gpu_exhaustive PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
    csz_byte_flags(gpu_exhaustive)
    csz_register(gpu_exhaustive_short gpu 300 COMMAND gpu_exhaustive --short)
    csz_register(soak_gpu_exhaustive soak 3600 COMMAND gpu_exhaustive)
endif()
