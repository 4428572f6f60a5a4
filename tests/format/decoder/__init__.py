# SPDX-License-Identifier: BSD-3-Clause
"""The decoder of decode_format.py, section by section of docs/format.md."""
