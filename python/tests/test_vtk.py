# SPDX-License-Identifier: BSD-3-Clause
"""The VTK reader: what it shows is the field, placed where the archive says; levels, regions and extents
decode the same values; and the blocks of docs/visualization.md print and draw what the page shows."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import csz
from support import ROOT, needs, smooth

try:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import vtkDataArray, vtkFileOutputWindow, vtkOutputWindow

    from csz.vtk import CszReader
except ImportError:
    CszReader = None

PAGE, PICTURE = ROOT / "docs" / "visualization.md", ROOT / "docs" / "figures" / "visualization.png"
PROBE = """
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window = vtkRenderWindow()
window.SetOffScreenRendering(True)
window.AddRenderer(vtkRenderer())
window.Render()
assert window.SupportsOpenGL()
"""


@needs("vtkmodules")
class Reader(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "field.csz"
        self.log = self.folder / "errors.txt"
        window = vtkFileOutputWindow()
        window.SetFileName(str(self.log))
        window.SetFlush(True)
        before = vtkOutputWindow.GetInstance()
        vtkOutputWindow.SetInstance(window)
        self.addCleanup(vtkOutputWindow.SetInstance, before)

    def reader(self, array, level=0, region=None, **options):
        self.path.write_bytes(csz.compress(array, abs=1e-3, **options))
        reader = CszReader()
        reader.SetFileName(str(self.path))
        reader.SetLevel(level)
        if region:
            reader.SetRegion(*region)
        return reader

    def values(self, reader):
        reader.Update()
        image = reader.GetOutputDataObject(0)
        self.assertIsNotNone(image.GetPointData().GetScalars(), self.told())
        return vtk_to_numpy(image.GetPointData().GetScalars()).reshape(image.GetDimensions()[::-1]), image

    def told(self):
        return self.log.read_text() if self.log.exists() else ""

    def test_the_field_comes_as_it_is_decoded(self):
        for shape in ((9,), (9, 7), (5, 9, 7)):
            for dtype in ("float32", "float64"):
                with self.subTest(shape=shape, dtype=dtype):
                    reader = self.reader(smooth(shape, dtype))
                    values, image = self.values(reader)
                    self.assertEqual(values.dtype, dtype)
                    np.testing.assert_array_equal(values.reshape(shape), csz.decompress(self.path.read_bytes()))
                    self.assertEqual((image.GetOrigin(), image.GetSpacing()), ((0, 0, 0), (1, 1, 1)))
                    self.assertEqual(image.GetPointData().GetScalars().GetName(), "field")

    def test_it_lies_where_the_archive_says(self):
        attrs = {"spacing": [0.5, 2.0, 3.0], "origin": [10.0, 20.0, 30.0], "units": "K"}
        values, image = self.values(self.reader(smooth((4, 5, 6)), name="T", attrs=attrs))
        self.assertEqual(image.GetBounds(), (30, 45, 20, 28, 10, 11.5))
        array = image.GetPointData().GetScalars()
        self.assertEqual((array.GetName(), array.GetInformation().Get(vtkDataArray.UNITS_LABEL())), ("T", "K"))
        index = image.FindPoint(33.0, 22.0, 11.0)
        self.assertEqual(array.GetTuple1(index), values[2, 1, 1])
        values, image = self.values(self.reader(smooth((4, 5)), attrs={"spacing": 0.25}))
        self.assertEqual(image.GetSpacing(), (0.25, 0.25, 1.0))
        for attrs in ({"spacing": [0.0, 2.0, 3.0, 4.0], "origin": [9.0, 20.0, 30.0, 40.0]}, {"spacing": [2.0, 3.0, 4.0], "origin": [20.0, 30.0, 40.0]}):
            _, image = self.values(self.reader(smooth((2, 3, 4, 5)), attrs=attrs))  # with time, and without
            self.assertEqual((image.GetSpacing(), image.GetOrigin()), ((4, 3, 2), (40, 30, 20)))

    def test_attributes_that_are_no_places_are_left_alone(self):
        for attrs in ({"origin": "NOAA", "spacing": "regular"}, {"origin": ["a", "b"], "spacing": ["c", "d"]}, {"origin": [1.0, 2.0, 3.0], "spacing": [1.0, 0.0]}, {"origin": np.nan, "spacing": -1.0}):
            with self.subTest(attrs=attrs):
                _, image = self.values(self.reader(smooth((8, 9)), attrs=attrs))
                self.assertEqual((image.GetOrigin(), image.GetSpacing()), ((0, 0, 0), (1, 1, 1)))

    def test_levels_and_regions_are_parts_of_the_field(self):
        field = smooth((33, 40, 50))
        whole = csz.decompress(csz.compress(field, abs=1e-3, predictor="pyramid"))
        for level in (0, 1, 2):
            step = 1 << level
            values, image = self.values(self.reader(field, level, predictor="pyramid"))
            np.testing.assert_array_equal(values, csz.decompress(self.path.read_bytes(), level=level))
            self.assertLessEqual(np.abs(values - field[::step, ::step, ::step]).max(), 1e-3)
            self.assertEqual(image.GetSpacing(), (step, step, step))
            part, image = self.values(self.reader(field, level, (10, 21, 0, -1, 7, 7), predictor="pyramid"))
            x0, x1, y0, y1, z0, z1 = image.GetExtent()
            np.testing.assert_array_equal(part, values[z0 : z1 + 1, y0 : y1 + 1, x0 : x1 + 1])
            bounds = image.GetBounds()  # hold the region
            self.assertTrue(bounds[0] <= 10 and bounds[1] >= 21 and bounds[4] <= 7 <= bounds[5], bounds)
        np.testing.assert_array_equal(self.values(self.reader(field, 0, (10, 21, 0, -1, 7, 7), predictor="pyramid"))[0], whole[7:8, :, 10:22])

    def test_a_large_archive_opens_at_a_coarse_level(self):
        import csz.vtk

        before = csz.vtk.AUTO_POINTS
        self.addCleanup(setattr, csz.vtk, "AUTO_POINTS", before)
        for most, shape in ((64**3, (60, 64, 64)), (60 * 64 * 64 - 1, (30, 32, 32)), (30 * 32 * 32 - 1, (15, 16, 16))):
            csz.vtk.AUTO_POINTS = most
            values, _ = self.values(self.reader(smooth((60, 64, 64)), -1, predictor="pyramid"))
            self.assertEqual(values.shape, shape)
        self.assertEqual(self.values(self.reader(smooth((60, 64, 64)), -1))[0].shape, (60, 64, 64))  # has no previews

    def test_the_pipeline_gets_the_extent_it_asks_for(self):
        reader = self.reader(smooth((20, 30, 40)))
        whole = csz.decompress(self.path.read_bytes())
        reader.UpdateExtent([3, 9, 20, 29, 4, 4])
        image = reader.GetOutputDataObject(0)
        self.assertEqual(image.GetExtent(), (3, 9, 20, 29, 4, 4))
        values = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(1, 10, 7)
        np.testing.assert_array_equal(values, whole[4:5, 20:30, 3:10])

    def test_the_slowest_of_four_dims_is_time(self):
        reader = self.reader(smooth((3, 4, 5, 6)), -1)
        whole = csz.decompress(self.path.read_bytes())
        for step in range(3):
            reader.UpdateTimeStep(float(step))
            image = reader.GetOutputDataObject(0)
            np.testing.assert_array_equal(vtk_to_numpy(image.GetPointData().GetScalars()).reshape(4, 5, 6), whole[step])

    def test_missing_values_are_nan(self):
        field = smooth((8, 9))
        field[2:4] = 1e20
        reader = self.reader(field, fill=1e20)
        values, image = self.values(reader)
        self.assertTrue(np.isnan(values[0, 2:4]).all())
        self.assertLess(image.GetPointData().GetScalars().GetRange()[1], 10)
        reader.SetMissingAsNaN(False)
        self.assertTrue((self.values(reader)[0][0, 2:4] == np.float32(1e20)).all())

    def test_what_cannot_be_read_is_said_in_a_line(self):
        field, whole = smooth((8, 9)), csz.compress(smooth((8, 9)), abs=1e-3)
        cases = {
            "no file is named": lambda reader: reader.SetFileName(None),
            "No such file": lambda reader: reader.SetFileName(str(self.folder / "other.csz")),
            "cut short": lambda reader: self.path.write_bytes(whole[:-30]),
            "too short|cut short|not a": lambda reader: self.path.write_bytes(b""),
            "level 3: the archive has level 0 alone": lambda reader: reader.SetLevel(3),
            "the region 0 to 9 along x is empty or outside of 0 to 8": lambda reader: reader.SetRegion(0, 9, 0, -1, 0, -1),
        }
        for text, spoil in cases.items():
            with self.subTest(text):
                reader = self.reader(field)
                spoil(reader)
                self.log.write_text("")
                vtkOutputWindow.GetInstance().SetAppend(True)
                reader.Update()
                self.assertRegex(self.told(), rf"CszReader: .*({text})")
                self.assertEqual(reader.GetOutputDataObject(0).GetNumberOfPoints(), 0)


@needs("vtkmodules")
@unittest.skipUnless(PAGE.exists(), "the documentation is not here")
class Page(unittest.TestCase):
    def test_the_page_prints_and_draws_what_it_shows(self):
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
        renders = subprocess.run([sys.executable, "-c", PROBE], capture_output=True).returncode == 0
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", PAGE.read_text())
        self.assertEqual(len(blocks), 3)
        names, here = {}, os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for code, shown in blocks if renders else blocks[:2]:
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(code, names)
                    self.assertEqual(printed.getvalue(), shown)
                if renders:
                    self.compare(Path(folder, "visualization.png"))
            finally:
                os.chdir(here)
        if not renders:
            self.skipTest("no OpenGL for the picture: install libegl1 and libgl1-mesa-dri")

    def compare(self, drawn):
        """Pictures of other drivers differ in single pixels at edges and by a shade; another surface differs
        in thousands."""
        from vtkmodules.vtkIOImage import vtkPNGReader

        def pixels(path):
            reader = vtkPNGReader(file_name=str(path))
            reader.Update()
            return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).astype(int)

        difference = np.abs(pixels(drawn) - pixels(PICTURE)).max(axis=1)
        self.assertLess((difference > 24).mean(), 0.002)


if __name__ == "__main__":
    unittest.main()
