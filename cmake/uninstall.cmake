# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DMANIFEST=FILE -P cmake/uninstall.cmake: removes the files that the manifest of an installation lists
# (install_manifest.txt of the build folder, of which `make install` keeps a copy with DESTDIR before each
# name), and the folders below its prefix that are then empty.  Empty folders of /usr and /usr/local stay: they belong to the system.
cmake_minimum_required(VERSION 3.18)
if(NOT EXISTS "${MANIFEST}")
    message(FATAL_ERROR "${MANIFEST} is not there: make install has installed nothing from this folder; "
                        "after cmake --install give -DMANIFEST=BUILD/install_manifest.txt")
endif()
file(STRINGS "${MANIFEST}" files)
set(prefix)
foreach(file IN LISTS files)
    if(file MATCHES "^(/.*)/include/csz\\.h$")
        set(prefix "$ENV{DESTDIR}${CMAKE_MATCH_1}")
    endif()
endforeach()
if(prefix MATCHES "^/usr(/local)?$")
    set(prefix)
endif()

set(kept)
foreach(file IN LISTS files)
    set(path "$ENV{DESTDIR}${file}")
    message(STATUS "Removing: ${path}")
    file(REMOVE "${path}")
    if(EXISTS "${path}" OR IS_SYMLINK "${path}")
        list(APPEND kept "${path}")
    endif()
    set(failed 0)
    get_filename_component(folder "${path}" DIRECTORY)
    while(prefix AND NOT failed AND NOT folder STREQUAL prefix)
        execute_process(COMMAND rmdir "${folder}" RESULT_VARIABLE failed ERROR_QUIET) # where it is empty
        get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
endforeach()
if(kept)
    message(FATAL_ERROR "these could not be removed; try again with the rights of who installed them: ${kept}")
endif()
file(REMOVE "${MANIFEST}")
