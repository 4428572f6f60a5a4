#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peak.py MIB COMMAND...: runs the command, says its largest resident memory on standard error, and fails if that exceeds MIB MiB."""
import os
import resource
import sys

limit = int(sys.argv[1])
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
peak = usage.ru_maxrss / 1024
print("peak %.1f MiB of %d allowed" % (peak, limit), file=sys.stderr)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code else (3 if peak > limit else 0))
