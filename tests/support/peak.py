#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peak.py MIB COMMAND...: runs the command, says on standard error its largest resident memory and how much
it read, and fails if the memory exceeds MIB MiB, or what it read exceeds PEAK_READ MiB where that is set."""
import os
import resource
import sys

limit = int(sys.argv[1])
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
with open("/proc/%d/io" % pid) as counts:
    read = int(next(line for line in counts if line.startswith("rchar:")).split()[1]) / 2**20
_, status, usage = os.wait4(pid, 0)
peak = usage.ru_maxrss / 1024
print("peak %.1f MiB of %d allowed, %.1f MiB read" % (peak, limit, read), file=sys.stderr)
code = os.waitstatus_to_exitcode(status)
most_read = float(os.environ.get("PEAK_READ", "inf"))
sys.exit(code if code else (3 if peak > limit or read > most_read else 0))
