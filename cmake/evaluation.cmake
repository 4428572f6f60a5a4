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

# csz-evaluate, what `make evaluation` runs.  It looks inside the library, so it links the static one, whose
# hidden symbols it can reach.
file(GLOB evaluation_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/bench/evaluation/*.c")
csz_add_program(csz-evaluate ${evaluation_sources} bench/fields.c bench/paper_huffman.c $<TARGET_OBJECTS:csz_fields>)
target_include_directories(csz-evaluate PRIVATE src bench bench/evaluation bench/fields examples)
find_package(ZLIB QUIET) # gzip, the paper's reference; without it those columns stay empty
if(TARGET ZLIB::ZLIB)
    target_compile_definitions(csz-evaluate PRIVATE CSZ_HAVE_ZLIB=1)
    target_link_libraries(csz-evaluate PRIVATE ZLIB::ZLIB)
endif()
