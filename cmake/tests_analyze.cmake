# SPDX-License-Identifier: BSD-3-Clause
#
# The generated fields have the bits that are pinned: all at the tiny size; at the small size too where no sanitizer slows it down.
csz_register(fields_tiny unit 120 COMMAND csz-fields check "${CMAKE_CURRENT_SOURCE_DIR}/bench/fields/checksums.txt" --scale tiny)
