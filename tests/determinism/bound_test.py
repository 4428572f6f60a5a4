#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bound_test.py SOURCE: absolute bounds of src/core/bound.h against arithmetic of 60 digits.

Resolves bounds of every size over ranges of every size, most of them PSNRs at which 10^(-x/20) or the
result underflows.  Relative: the result is the largest double not above bound * range.  PSNR: the largest
double not above (1 - 2^-40) * range * 10^(-bound/20), or the one before it.  gcc and clang must agree on
every bit at -O0 to -O3, with Debian's flags and under UBSan.  Prints one line per build and exits 1 if any
fails.
"""
import decimal
import os
import random
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction

REL, PSNR = 1, 2
DBL_MAX = sys.float_info.max
decimal.getcontext().prec = 60
decimal.getcontext().Emin, decimal.getcontext().Emax = -(10**9), 10**9


def bits_of(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def before(x):
    """The double before x > 0."""
    return double_of(bits_of(x) - 1)


def floor_double(exact):
    """The largest double not above a number from 0 up, at most DBL_MAX."""
    if exact >= DBL_MAX:
        return DBL_MAX
    nearest = float(exact)
    return before(nearest) if type(exact)(nearest) > exact else nearest


def range_floor(low, high):
    return floor_double(Fraction(high) - Fraction(low))


def cases():
    draw = random.Random(22)

    def any_range():
        kind = draw.randrange(8)
        if kind == 0:
            return 0.0, draw.choice((DBL_MAX, before(DBL_MAX), DBL_MAX / 2))
        if kind == 1:
            return -DBL_MAX * draw.random(), DBL_MAX * draw.random()
        if kind == 2:
            return 0.0, double_of(draw.getrandbits(draw.randrange(1, 53)))  # denormal
        if kind == 3:
            return 0.0, draw.choice((5e-324, 1e-323, 2.0**-1022, before(2.0**-1022)))
        if kind == 4:
            return 0.0, 1.0
        if kind == 5:
            low = draw.uniform(-1e3, 1e3)
            return low, low
        low, high = sorted(draw.choice((-1, 1)) * double_of(draw.randrange(0x7FF0000000000000)) for _ in range(2))
        return low, high

    psnrs = [double_of(1), 2.0**-1022, 1e-300, 1e-17, 2.0**-50, before(2.0**-50), 2.0**-49, 8.0, before(8.0)]
    psnrs += [6.020599913279624, 6470.0, 6500.0, 12642.0, 12643.0, before(16384.0), 16384.0, 1e5, 1e300, DBL_MAX]
    psnrs += [20.0 * k for k in range(1, 660)] + [6.020599913279624 * k for k in range(1, 2110, 7)]
    psnrs += [draw.uniform(0, 400) for _ in range(1500)]
    psnrs += [draw.uniform(6100, 13000) for _ in range(4000)]
    psnrs += [2.0 ** draw.uniform(-80, 14) for _ in range(1500)]
    psnrs += [double_of(draw.randrange(1, 0x7FF0000000000000)) for _ in range(400)]
    for psnr in psnrs:
        yield PSNR, psnr, *any_range()
        yield PSNR, psnr, 0.0, 1.0
    for _ in range(2000):
        yield REL, double_of(draw.randrange(1, 0x7FF0000000000000)), *any_range()
        yield REL, 10 ** draw.uniform(-12, 1), *any_range()


def expected(mode, bound, low, high):
    """The results that are right."""
    width = range_floor(low, high)
    if mode == REL:
        return {floor_double(Fraction(bound) * Fraction(width))}
    if width == 0 or bound > 20000:  # 2^1024 / 10^1000 is far below the least double
        return {0.0}
    exact = Decimal(width) * Decimal(10) ** (-Decimal(bound) / 20) * (1 - Decimal(2) ** -40)
    largest = floor_double(exact)
    return {largest, before(largest)} if largest > 0 else {0.0}


def builds():
    """(name, command without files); names of compilers that are missing come with None."""
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    for compiler in ("gcc", "clang"):
        path = shutil.which(compiler)
        if not path:
            yield compiler, None
            continue
        for level in ("-O0", "-O1", "-O2", "-O3"):
            yield f"{compiler} {level}", [path, *strict, level]
        yield f"{compiler} UBSan", [path, *strict, "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    if shutil.which("gcc") and shutil.which("dpkg-buildflags"):
        flags = []
        for name in ("CPPFLAGS", "CFLAGS", "LDFLAGS"):
            asked = subprocess.run(["dpkg-buildflags", "--get", name], capture_output=True, text=True, check=True)
            flags += shlex.split(asked.stdout)
        yield "gcc with Debian's flags", ["gcc", *strict, *flags]
    else:
        yield "gcc with Debian's flags", None


def main():
    source = sys.argv[1]
    given = list(cases())
    lines = "".join("%d %x %x %x\n" % (mode, *(bits_of(x) for x in values)) for mode, *values in given)
    right = [{f"{bits_of(x):016x}" for x in expected(*case)} for case in given]
    n_failed = n_run = 0
    first = None
    with tempfile.TemporaryDirectory(prefix="csz_bound_test.") as work:
        for name, command in builds():
            if not command:
                print(f"skip  {name}: not here")
                continue
            program = os.path.join(work, "resolve")
            files = ["-I", os.path.join(source, "src"), os.path.join(source, "tests/determinism/resolve_bound.c"), "-o", program]
            subprocess.run(command + files, check=True)
            ran = subprocess.run([program], input=lines, capture_output=True, text=True)
            results = ran.stdout.split()
            wrong = [i for i, allowed in enumerate(right) if i >= len(results) or results[i] not in allowed]
            first = first or results
            n_run += 1
            if ran.returncode or wrong or results != first:
                n_failed += 1
                print(f"FAIL  {name}: {len(wrong)} of {len(given)} bounds are wrong, exit status {ran.returncode}")
                print(ran.stderr[:300])
                for i in wrong[:5]:
                    got = double_of(int(results[i], 16)) if i < len(results) else None
                    print("     ", *given[i], "gives", got, "instead of", sorted(expected(*given[i])))
            else:
                print(f"ok    {name}: {len(given)} bounds")
    if not n_run:
        return 77
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
