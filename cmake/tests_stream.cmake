# SPDX-License-Identifier: BSD-3-Clause
#
# Fields larger than memory: stream_test with 600 MB within 256 MiB, soak_stream with 40 GB within 1 GiB.  Not
# in a sanitized build, which uses memory of its own: test_frames has its frames.
if(TARGET csz)
    add_executable(csz-generate tests/stream/generate.c)
    target_link_libraries(csz-generate PRIVATE m)
    if(NOT CSZ_SANITIZE)
        csz_register(stream_test unit 600 COMMAND "${tests_dir}/stream/stream_test.sh"
                     $<TARGET_FILE:csz> $<TARGET_FILE:csz-generate>)
    endif()
    csz_register(soak_stream soak 7200 COMMAND "${tests_dir}/stream/soak_stream.sh" $<TARGET_FILE:csz>
                 $<TARGET_FILE:csz-generate>)
endif()
