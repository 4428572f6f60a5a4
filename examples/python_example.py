#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compresses a small simulation step by step, reads a part of one step back, and checks every value.

    python3 examples/python_example.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import csz


def waves(n=64):
    """A wave that starts in the middle of a box: one field for each step."""
    old = np.zeros((n, n, n), "float32")
    new = old.copy()
    new[n // 2, n // 2, n // 2] = 1
    while True:
        around = sum(np.roll(new, shift, axis) for axis in range(3) for shift in (-1, 1)) - 6 * new
        old, new = new, 2 * new - old + np.float32(0.2) * around
        yield new


def main(folder):
    bound, steps = 1e-4, 12
    total = stored = 0
    for step, field in zip(range(steps), waves()):
        archive = csz.compress(field, abs=bound)
        (folder / f"step{step:02}.csz").write_bytes(archive)
        total += field.nbytes
        stored += len(archive)
        if not csz.compare(field, csz.decompress(archive), bound=bound):
            sys.exit(f"step {step}: the bound does not hold")
    print(f"{steps} steps, {total / 1e6:.1f} MB in {stored / 1e6:.2f} MB: a factor of {total / stored:.0f}; every value within {bound}")

    mapped = np.memmap(folder / f"step{steps - 1:02}.csz", mode="r")
    plane = csz.decompress(mapped, region=np.s_[32])
    print(f"the middle plane of the last step alone: {plane.shape}, from {plane.min():.3f} to {plane.max():.3f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
