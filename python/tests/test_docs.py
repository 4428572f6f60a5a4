# SPDX-License-Identifier: BSD-3-Clause
"""Every block of docs/python.md runs and prints what the page says; the notebook is the page; examples and
docstrings work."""

import contextlib
import doctest
import importlib.util
import io
import os
import runpy
import subprocess
import sys
import tempfile
import unittest

import csz
from support import ROOT

PAGE = ROOT / "docs" / "python.md"


def available(need):
    features = {"gpu": "cuda_available"}
    return csz.features()[features[need]] if need in features else importlib.util.find_spec(need) is not None


@unittest.skipUnless(PAGE.exists(), "the documentation is not here")
class Docs(unittest.TestCase):
    def test_every_block_prints_what_the_page_says(self):
        cell = runpy.run_path(str(ROOT / "tools" / "make_notebook"))["CELL"]
        page, names, ran = PAGE.read_text(), {}, 0
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                for found in cell.finditer(page):
                    if not all(available(need) for need in (found["needs"] or "").split()):
                        continue
                    line = page[: found.start()].count("\n") + 2
                    printed = io.StringIO()
                    with self.subTest(line=line), contextlib.redirect_stdout(printed):
                        exec(compile("\n" * line + found["code"], str(PAGE), "exec"), names)
                    with self.subTest(line=line):
                        self.assertEqual(printed.getvalue(), found["printed"] or "")
                    ran += 1
            finally:
                os.chdir(here)
        self.assertGreaterEqual(ran, 7)
        self.assertEqual(page.count("```python"), len(cell.findall(page)))

    def test_the_notebook_is_the_page(self):
        subprocess.run([sys.executable, ROOT / "tools" / "make_notebook", "--check"], check=True)

    def test_the_example(self):
        told = subprocess.run([sys.executable, ROOT / "examples" / "python_example.py"], check=True, capture_output=True, text=True).stdout
        self.assertIn("every value within 0.0001", told)

    def test_docstrings(self):
        self.assertEqual(doctest.testmod(csz).failed, 0)
        for name in csz.__all__:
            if not name.startswith("__"):
                self.assertTrue(getattr(csz, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
