# SPDX-License-Identifier: BSD-3-Clause
#
# Fields larger than memory: stream_test with 2 GB within 256 MiB (a sanitized build with less, and no judgement of peaks, as it uses
# memory of its own), soak_stream with 40 GB within 1 GiB.
if(TARGET csz)
    add_executable(csz-generate tests/stream/generate.c)
    target_link_libraries(csz-generate PRIVATE m)
    set(stream_planes 212)
    if(CSZ_SANITIZE)
        set(stream_planes 24)
    endif()
    csz_register(stream_test unit 600 COMMAND "${tests_dir}/stream_test.sh" $<TARGET_FILE:csz> $<TARGET_FILE:csz-generate>
                 ${stream_planes})
    if(CSZ_SANITIZE)
        set_tests_properties(stream_test PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;CSZ_TEST_NO_PEAK=1")
    endif()
    csz_register(soak_stream soak 7200 COMMAND "${tests_dir}/stream/soak_stream.sh" $<TARGET_FILE:csz>
                 $<TARGET_FILE:csz-generate>)
endif()
