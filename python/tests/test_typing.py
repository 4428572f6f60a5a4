# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers say of the package: a user's program passes mypy --strict and pyright's strict mode, a wrong
one does not, and the package itself passes mypy --strict.  pyright is run as basedpyright, whose wheels bring the
Node.js that it needs; the package pyright fetches that when it is first run."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import csz
from support import ROOT, needs

RIGHT = """
from typing import Any

import numpy as np
import csz
import csz.hdf5

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
encoding: dict[str, Any] = csz.hdf5.encoding(rel=1e-4)
"""
WRONG = {  # what mypy and pyright call it
    "archive: str = csz.compress(np.zeros(3), abs=1)": ("assignment", "reportAssignmentType"),
    "csz.compress(np.zeros(3), abs=1, workflow='best')": ("call-overload", "reportCallIssue"),
    "csz.compress(np.zeros(3), 1)": ("call-overload", "reportCallIssue"),
    "several: list[csz.Analysis] = csz.analyze(np.zeros(3), abs=1.0)": ("assignment", "reportAssignmentType"),
    "csz.features()['colour']": ("typeddict-item", "reportGeneralTypeIssues"),
    "csz.info(b'').colour": ("attr-defined", "reportAttributeAccessIssue"),
}


def write_programs(folder):
    right, wrong = Path(folder, "right.py"), Path(folder, "wrong.py")
    right.write_text(RIGHT)
    wrong.write_text("import numpy as np\nimport csz\n" + "\n".join(WRONG))
    return right, wrong


@needs("basedpyright")
class Pyright(unittest.TestCase):
    def test_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = write_programs(folder)
            config = Path(folder, "pyrightconfig.json")
            # where the tests find the package, installed or not
            settings = {"typeCheckingMode": "strict", "extraPaths": [str(Path(csz.__file__).parents[1])], "include": [path.name for path in programs]}
            config.write_text(json.dumps(settings))
            command = [sys.executable, "-m", "basedpyright", "--project", config, "--pythonpath", sys.executable, "--outputjson"]
            told = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["generalDiagnostics"]
        found = {(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one.get("rule")) for one in told}
        self.assertEqual([one for one in found if one[0] == "right.py"], [])
        for number, (_, rule) in enumerate(WRONG.values(), 3):
            self.assertIn(("wrong.py", number, rule), found)


@needs("mypy")
class Mypy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.cache.cleanup)

    def mypy(self, *files):  # other options for some would make it read NumPy again
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", self.cache.name,
                   "--config-file", ROOT / "pyproject.toml", *map(str, files)]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True).stdout

    def test_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            told = self.mypy(*write_programs(folder))
        self.assertNotIn("right.py", told)
        for number, (code, _) in enumerate(WRONG.values(), 3):
            self.assertRegex(told, rf"wrong.py:{number}: error: .*\[{code}\]")

    def test_the_package(self):
        told = self.mypy(*(ROOT / "python" / "csz" / name for name in ("__init__.py", "hdf5.py", "numcodecs.py", "vtk.py", "zarr.py")))
        self.assertEqual([line for line in told.splitlines() if ": error:" in line], [])


if __name__ == "__main__":
    unittest.main()
