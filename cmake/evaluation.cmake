# SPDX-License-Identifier: BSD-3-Clause
#
# The generator of fields (one set of objects for csz-fields, the bench and the evaluation).

file(GLOB fields_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/bench/fields/*.c")
list(REMOVE_ITEM fields_sources "${CMAKE_CURRENT_SOURCE_DIR}/bench/fields/main.c")
add_library(csz_fields OBJECT ${fields_sources} "${CMAKE_CURRENT_SOURCE_DIR}/examples/wave.c")
target_include_directories(csz_fields PUBLIC include bench/fields examples)
csz_byte_flags(csz_fields) # the same bits on every machine
target_link_libraries(csz_fields PRIVATE Threads::Threads)

csz_add_program(csz-fields bench/fields/main.c $<TARGET_OBJECTS:csz_fields>)
target_include_directories(csz-fields PRIVATE bench/fields)
