# SPDX-License-Identifier: BSD-3-Clause
#
# Registers the tests of the Python package: tests/python_test.sh builds a wheel, installs it and runs python/tests.  Not in a
# sanitized build, whose library an ordinary Python cannot load.
if(TARGET csz AND NOT CSZ_SANITIZE)
    csz_register(python_test unit 900 COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tests/python_test.sh" $<TARGET_FILE:csz>
                 $<TARGET_FILE:csz_shared>)
endif()
