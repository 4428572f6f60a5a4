# SPDX-License-Identifier: BSD-3-Clause
#
# The environment of the tests that need Python packages, which begins first, and python_test: it builds a
# wheel, installs it there and runs python/tests; and adios2_test, with PyPI's adios2, beside soak_bpls, which
# builds another for MPI and bpls.  Not in a sanitized build, whose library an ordinary Python cannot load.
if(TARGET csz AND NOT CSZ_SANITIZE)
    csz_register(python_environment unit 900 COMMAND "${tests_dir}/python/python_environment.sh")
    set_tests_properties(python_environment PROPERTIES COST 300)
    csz_register(python_test unit 900 COMMAND "${tests_dir}/python/python_test.sh" $<TARGET_FILE:csz>
                 $<TARGET_FILE:csz_shared>)
    csz_register(adios2_test unit 300 COMMAND "${tests_dir}/adios2/operator_test.sh"
                 "${CMAKE_CURRENT_BINARY_DIR}")
    csz_register(conda_test unit 120 COMMAND "${CMAKE_CURRENT_BINARY_DIR}/python/venv/bin/python"
                 "${tests_dir}/package/conda_test.py")
    set(plugins none)
    if(TARGET h5csz)
        set(plugins "${CMAKE_CURRENT_BINARY_DIR}/hdf5-plugins")
    endif()
    csz_register(soak_bpls soak 7200 COMMAND "${tests_dir}/adios2/soak_bpls.sh" "${CMAKE_CURRENT_BINARY_DIR}")
    csz_register(soak_peers soak 1800 COMMAND "${tests_dir}/peers/soak_peers.sh"
                 "${CMAKE_CURRENT_BINARY_DIR}" "${plugins}")
    foreach(name IN ITEMS python_test adios2_test conda_test hdf5_python report_test docs_test)
        if(TEST ${name})
            set_tests_properties(${name} PROPERTIES DEPENDS python_environment)
        endif()
    endforeach()
    if(TEST docs_test) # it uses the package that python_test installs, the operator that adios2_test builds
        set_tests_properties(docs_test PROPERTIES DEPENDS "python_test;adios2_test")
    endif()
endif()
