# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI library and the wave example once more on the emulated GPU, for mpi_test: boxes in device memory, a
# solver there.
if(TARGET csz_mpi AND TARGET emulated_api)
    find_package(MPI COMPONENTS C)
    set(wave_wrapper "${CMAKE_CURRENT_BINARY_DIR}/emulated/mpi_wave_gpu.cpp") # as of the kernels
    file(GENERATE OUTPUT "${wave_wrapper}" CONTENT "#include \"emu_wave.h\"\n#include \"mpi_wave_gpu.cu\"\n")
    csz_add_emulated(emulated_mpi mpi/tests/test_mpi.c $<TARGET_OBJECTS:emulated_backend>)
    csz_add_emulated(emulated_wave examples/mpi_wave.c "${wave_wrapper}" $<TARGET_OBJECTS:emulated_backend>)
    foreach(name IN ITEMS emulated_mpi emulated_wave)
        target_include_directories(${name} PRIVATE mpi cli examples)
        target_compile_definitions(${name} PRIVATE CSZ_HAVE_CUDA=1 WAVE_HAVE_GPU=1)
        target_link_libraries(${name} PRIVATE csz_mpi MPI::MPI_C)
        csz_use_zstd(${name})
    endforeach()
endif()
