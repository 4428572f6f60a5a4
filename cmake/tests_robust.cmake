# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of robustness that need more than a file's name says: other arguments, other linking, a preloaded library.  tests.cmake has
# registered the others.

if(TARGET soak_exhaustive)
    csz_register(exhaustive_short unit 300 COMMAND soak_exhaustive --short)
endif()
