# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the HDF5 plugin and of HDF5 files in the command: tests/hdf5/filter against Debian's serial
# HDF5 and, where it is there, the one for OpenMPI; tests/hdf5/*_test.sh with the tools and the Python
# packages that people use.  And of what is installed, packaged and documented: tests/package, tests/docs.
set(plugin_environment "HDF5_PLUGIN_PATH=${CMAKE_CURRENT_BINARY_DIR}/hdf5-plugins;ASAN_OPTIONS=detect_leaks=0")

file(GLOB filter_test_sources CONFIGURE_DEPENDS "${tests_dir}/hdf5/filter/*.c")
function(csz_add_hdf5_test name)
    csz_add_program(${name} ${filter_test_sources})
    target_include_directories(${name} PRIVATE plugins/hdf5)
    target_link_libraries(${name} PRIVATE Cmocka::Cmocka ${CMAKE_DL_LIBS} ${ARGN})
    add_dependencies(${name} h5csz)
    csz_register(${name} unit 300 COMMAND ${name} $<TARGET_FILE:h5csz>)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${plugin_environment}")
endfunction()

if(TARGET h5csz AND Cmocka_FOUND)
    csz_add_hdf5_test(hdf5_filter Hdf5Serial::Hdf5)
    # A program that holds copies of the library's variables, as every one does on x86-64 and those at fixed
    # addresses elsewhere.
    if(NOT CSZ_SANITIZE)
        csz_add_hdf5_test(hdf5_filter_copied Hdf5Serial::Hdf5)
        target_compile_options(hdf5_filter_copied PRIVATE -fno-pie)
        target_link_options(hdf5_filter_copied PRIVATE -no-pie)
    endif()
    find_package(PkgConfig QUIET)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(Hdf5Openmpi QUIET IMPORTED_TARGET hdf5-openmpi)
        if(Hdf5Openmpi_FOUND)
            csz_add_hdf5_test(hdf5_filter_openmpi PkgConfig::Hdf5Openmpi)
            # The headers of the serial one must not come first.
            target_include_directories(hdf5_filter_openmpi BEFORE PRIVATE ${Hdf5Openmpi_INCLUDE_DIRS})
        endif()
    endif()
endif()

if(TARGET csz)
    set(plugin_folder none)
    if(TARGET h5csz)
        set(plugin_folder "${CMAKE_CURRENT_BINARY_DIR}/hdf5-plugins")
    endif()
    foreach(name IN ITEMS hdf5_tools hdf5_repack hdf5_python)
        string(REPLACE "hdf5_" "" script ${name})
        if(EXISTS "${tests_dir}/hdf5/${script}_test.sh")
            csz_register(${name} unit 600 COMMAND "${tests_dir}/hdf5/${script}_test.sh"
                         $<TARGET_FILE:csz> "${plugin_folder}"
                         "${CSZ_SANITIZE}")
            set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
        endif()
    endforeach()

    # What the documentation shows.
    if(NOT CSZ_SANITIZE) # which ordinary programs cannot link, nor load
        csz_register(docs_test unit 300 COMMAND "${tests_dir}/docs/docs_test.py"
                     "${CMAKE_CURRENT_BINARY_DIR}" "${plugin_folder}")
    endif()
endif()

if(NOT CSZ_SANITIZE)
    csz_register(spack_test unit 120 COMMAND "${tests_dir}/package/spack_test.py")
    csz_register(report_test unit 300 COMMAND "${tests_dir}/tools/report_test.sh"
                 "${CMAKE_CURRENT_BINARY_DIR}")
    csz_register(build_test unit 300 COMMAND "${tests_dir}/package/build_test.sh"
                 "${CMAKE_CURRENT_SOURCE_DIR}")
endif()
csz_register(install_test unit 600 COMMAND "${tests_dir}/package/install_test.sh"
             "${CMAKE_CURRENT_BINARY_DIR}"
             "${CMAKE_CURRENT_SOURCE_DIR}" "${CSZ_SANITIZE}")
