# SPDX-License-Identifier: BSD-3-Clause
"""What a type checker says of the package: a user's program passes mypy --strict, a wrong one does not, and
neither does the package lack types."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT, needs

RIGHT = """
from typing import Any

import numpy as np
import csz

field = np.zeros((4, 5), dtype="float32")
archive: bytes = csz.compress(field, abs=1e-3)
restored: np.ndarray[Any, Any] = csz.decompress(archive, region=np.s_[0:2])
out = np.empty((4, 5), "float32")
same: np.ndarray[Any, Any] = csz.decompress(archive, out)
shape: tuple[int, ...] = csz.info(archive).shape
one: csz.Analysis = csz.analyze(field, abs=1e-3)
several: list[csz.Analysis] = csz.analyze(field, rel=[1e-3, 1e-4])
usual: list[csz.Analysis] = csz.analyze(field)
said: bytes = csz.compress(field, rel=1e-3, fill="none")
holds: int = csz.compare(field, restored, bound=1e-3).violations
has_zstd: bool = csz.features()["zstd"]
"""
WRONG = {
    "archive: str = csz.compress(np.zeros(3), abs=1)": "assignment",
    "csz.compress(np.zeros(3), abs=1, workflow='best')": "call-overload",
    "csz.compress(np.zeros(3), 1)": "call-overload",
    "several: list[csz.Analysis] = csz.analyze(np.zeros(3), abs=1.0)": "assignment",
    "csz.features()['colour']": "typeddict-item",
    "csz.info(b'').colour": "attr-defined",
}


@needs("mypy")
class Typing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.cache.cleanup)

    def mypy(self, *arguments):
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", self.cache.name,
                   "--config-file", ROOT / "pyproject.toml", *map(str, arguments)]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True).stdout

    def test_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            right, wrong = Path(folder, "right.py"), Path(folder, "wrong.py")
            right.write_text(RIGHT)
            wrong.write_text("import numpy as np\nimport csz\n" + "\n".join(WRONG))
            told = self.mypy(right, wrong)
        self.assertNotIn("right.py", told)
        for number, code in enumerate(WRONG.values(), 3):
            self.assertRegex(told, rf"wrong.py:{number}: error: .*\[{code}\]")

    def test_the_package(self):
        told = self.mypy("--ignore-missing-imports", "--no-warn-unused-ignores", *(ROOT / "python" / "csz" / name for name in ("__init__.py", "hdf5.py", "numcodecs.py", "vtk.py", "zarr.py")))
        self.assertEqual([line for line in told.splitlines() if ": error:" in line], [])


if __name__ == "__main__":
    unittest.main()
