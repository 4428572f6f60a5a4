# SPDX-License-Identifier: BSD-3-Clause
#
# What the command loads before it starts: the C library alone where that can be.  Each further library takes
# some 50 us, and `csz analyze` of a few MB no more than a few times that.

include(CheckCSourceCompiles)

# libm is not called, but named on the link line for machines on which the compiler calls it.
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,--as-needed)
check_c_source_compiles("int main(void) { return 0; }" CSZ_LINKS_AS_NEEDED)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(CSZ_LINKS_AS_NEEDED)
    target_link_options(csz PRIVATE "$<HOST_LINK:LINKER:--as-needed>")
endif()

# The archive that belongs to the library found, should it be one that the command can link.  It stands before
# the library, which is then not needed.
if(TARGET Zstd::Zstd AND CSZ_ZSTD_IN_COMMAND AND CSZ_LINKS_AS_NEEDED)
    get_filename_component(zstd_folder "${ZSTD_LIBRARY}" DIRECTORY)
    find_library(ZSTD_ARCHIVE libzstd.a PATHS "${zstd_folder}" NO_DEFAULT_PATH)
    mark_as_advanced(ZSTD_ARCHIVE)
    if(ZSTD_ARCHIVE)
        set(CMAKE_REQUIRED_INCLUDES "${ZSTD_INCLUDE_DIR}")
        set(CMAKE_REQUIRED_LIBRARIES "${ZSTD_ARCHIVE}" Threads::Threads)
        check_c_source_compiles("#include <zstd.h>
            int main(void) { return ZSTD_versionNumber() != ZSTD_VERSION_NUMBER || ZSTD_isError(ZSTD_compressCCtx(0, 0, 0, 0, 0, 1)); }"
                                CSZ_LINKS_ZSTD_ARCHIVE)
        unset(CMAKE_REQUIRED_INCLUDES)
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(CSZ_LINKS_ZSTD_ARCHIVE)
            target_link_libraries(csz PRIVATE "${ZSTD_ARCHIVE}")
        endif()
    endif()
endif()
