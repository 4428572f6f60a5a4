# SPDX-License-Identifier: BSD-3-Clause
"""Fields that the tests share, and where the repository's other files are."""

import importlib.util
import os
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CSZ_COMMAND")  # the command csz, where the tests are run by ctest


def needs(*modules):
    """Skips a test where a module is missing, and says which."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def smooth(shape, dtype="float32", seed=1):
    """A field that a compressor likes: waves with a little noise."""
    random = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.linspace(0, 3 + i, n) for i, n in enumerate(shape)), indexing="ij", sparse=True)
    return (sum(np.sin(a) for a in axes) + 1e-4 * random.normal(size=shape)).astype(dtype)


def largest_error(a, b):
    """In double, whatever the types."""
    return float(np.max(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")), initial=0))
