# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of every kind go in and come back within the bound, from any buffer, whole or in part."""

import array
import json
import mmap
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import csz
from support import COMMAND, largest_error, needs, smooth


class RoundTrip(unittest.TestCase):
    def holds(self, field, bound=1e-3, shape=None, **options):
        archive = csz.compress(field, abs=bound, **options)
        self.assertIsInstance(archive, bytes)
        back = csz.decompress(archive, shape=field.shape if shape is None else shape)
        self.assertEqual(back.shape, field.shape)
        self.assertEqual(back.dtype, field.dtype.newbyteorder("="))
        self.assertLessEqual(largest_error(field, back), bound)
        return back

    def test_every_type_and_rank(self):
        for dtype in ("float32", "float64"):
            for shape in ((1000,), (30, 41), (9, 20, 33), (3, 4, 10, 12), (2, 3, 4, 5, 6), (2, 1, 3, 2, 4, 3, 5)):
                with self.subTest(dtype=dtype, shape=shape):
                    self.holds(smooth(shape, dtype))

    def test_any_strides(self):
        field = smooth((40, 50, 60))
        for name, part in {
            "fortran": np.asfortranarray(field),
            "transposed": field.transpose(2, 0, 1),
            "every other": field[::2, ::3, ::5],
            "backwards": field[::-1, :, ::-1],
            "broadcast": np.broadcast_to(field[:1], (5, 50, 60)),
            "inner": field[3:30, 4:40, 5:50],
        }.items():
            with self.subTest(name):
                back = self.holds(part)
                np.testing.assert_array_equal(back, csz.decompress(csz.compress(part.copy(order="C"), abs=1e-3)))

    def test_memory_that_is_not_aligned(self):
        field = smooth((20, 30))
        for dtype in ("float32", "float64"):
            expected = csz.compress(field.astype(dtype), abs=1e-3)
            memory = np.frombuffer(b"x" + field.astype(dtype).tobytes(), dtype="uint8")[1:].view(dtype).reshape(20, 30)
            self.assertEqual(csz.compress(memory, abs=1e-3), expected)
            self.assertEqual(csz.info(memoryview(b"xyz" + expected)[3:]), csz.info(expected))
            out = np.empty(memory.nbytes + 1, "uint8")[1:].view(dtype).reshape(20, 30)
            csz.decompress(memoryview(b"xyz" + expected)[3:], out)
            self.assertLessEqual(largest_error(field, out), 1e-3)

    def test_any_byte_order(self):
        for dtype in ("<f4", ">f4", "<f8", ">f8"):
            with self.subTest(dtype):
                field = smooth((20, 30), dtype)
                self.holds(field)
                self.assertEqual(csz.compress(field, abs=1e-3), csz.compress(field.astype(dtype[1:]), abs=1e-3))

    def test_rank_0_is_one_element(self):
        archive = csz.compress(np.float32(2.5), abs=1e-3)
        self.assertEqual(csz.info(archive).shape, (1,))
        self.assertEqual(csz.decompress(archive, shape=()).shape, ())
        self.assertLessEqual(abs(float(csz.decompress(archive)[0]) - 2.5), 1e-3)

    def test_ranks_above_4_are_folded(self):
        field = smooth((2, 3, 4, 5, 6))
        archive = csz.compress(field, abs=1e-3)
        self.assertEqual(csz.info(archive).shape, (6, 4, 5, 6))
        self.assertEqual(csz.decompress(archive).shape, (6, 4, 5, 6))
        out = np.empty(field.shape, field.dtype)
        self.assertIs(csz.decompress(archive, out), out)
        self.assertLessEqual(largest_error(field, out), 1e-3)

    def test_empty(self):
        for shape in ((0,), (0, 3), (4, 0, 5), (2, 3, 0, 5, 6)):
            with self.subTest(shape):
                archive = csz.compress(np.empty(shape, "float32"), rel=1e-3)
                self.assertEqual(csz.info(archive).size, 0)
                self.assertEqual(csz.decompress(archive, shape=shape).shape, shape)

    def test_what_asarray_takes(self):
        np.testing.assert_allclose(csz.decompress(csz.compress([1.0, 2.5, 4.0], abs=1e-6)), [1.0, 2.5, 4.0], atol=1e-6)
        values = array.array("f", [1, 2, 3])
        np.testing.assert_allclose(csz.decompress(csz.compress(values, abs=1e-6)), [1, 2, 3], atol=1e-6)

    def test_masked_values_become_the_fill_value_or_nan(self):
        field = smooth((20, 30))
        mask = field > 1
        masked = np.ma.MaskedArray(field, mask)
        back = csz.decompress(csz.compress(masked, abs=1e-3, fill=1e20))
        np.testing.assert_array_equal(back == np.float32(1e20), mask)
        self.assertLessEqual(largest_error(field[~mask], back[~mask]), 1e-3)
        np.testing.assert_array_equal(np.isnan(csz.decompress(csz.compress(masked, abs=1e-3))), mask)

    def test_special_values_come_back_bit_for_bit(self):
        field = smooth((30, 40))
        field[3, 4:9] = [np.nan, np.inf, -np.inf, -0.0, np.nan]
        back = csz.decompress(csz.compress(field, abs=1e-3))
        np.testing.assert_array_equal(back[3, 4:9].view("uint32"), field[3, 4:9].view("uint32"))

    def test_exact_keeps_every_bit(self):
        for dtype, bits in (("f4", "u4"), ("f8", "u8")):
            array = np.random.default_rng(1).integers(0, 2**32, (30, 40)).astype(bits).view(dtype)
            archive = csz.compress(array, exact=True)
            np.testing.assert_array_equal(csz.decompress(archive).view(bits), array.view(bits))
            self.assertEqual(csz.info(archive).mode, "exact")
        with self.assertRaises(csz.BoundError):
            csz.compress(array, exact=True, abs=1e-3)
        with self.assertRaisesRegex(csz.ArgumentError, "leave out workflow"):
            csz.compress(array, exact=True, workflow="rle")
        with self.assertRaisesRegex(csz.ArgumentError, "cannot interpolate"):
            csz.compress(array, exact=True, predictor="pyramid")

    def test_read_only_arrays_and_buffers(self):
        field = smooth((20, 30))
        field.flags.writeable = False
        archive = csz.compress(field, abs=1e-3)
        frozen = np.frombuffer(archive, "uint8")
        frozen.flags.writeable = False
        self.assertLessEqual(largest_error(field, csz.decompress(frozen)), 1e-3)

    def test_every_kind_of_archive_buffer(self):
        field = smooth((20, 30))
        archive = csz.compress(field, abs=1e-3)
        with tempfile.TemporaryFile() as file:
            file.write(archive)
            file.flush()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            for buffer in (archive, bytearray(archive), memoryview(archive), np.frombuffer(archive, "uint8"), mapped):
                with self.subTest(type(buffer).__name__):
                    self.assertLessEqual(largest_error(field, csz.decompress(buffer)), 1e-3)
            del buffer
            mapped.close()  # nothing of csz holds on to it

    def test_host_arrays_through_dlpack(self):
        class OnlyDLPack:
            def __init__(self, held):
                self.held = held

            def __dlpack__(self, **options):
                return self.held.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.held.__dlpack_device__()

        class Tensor(OnlyDLPack):  # its dtype is not NumPy's, as PyTorch's is not
            dtype = "of another library"

            def __init__(self, held):
                super().__init__(held)
                self.shape = held.shape

        field = smooth((20, 30))
        self.assertEqual(csz.compress(OnlyDLPack(field), abs=1e-3), csz.compress(field, abs=1e-3))
        self.assertEqual(csz.compress(Tensor(field), abs=1e-3), csz.compress(field, abs=1e-3))

    @needs("torch")
    def test_torch_on_the_host(self):
        import torch

        field = torch.linspace(0, 1, 1000, requires_grad=True)
        archive = csz.compress(field, abs=1e-3)
        out = torch.empty(1000)
        csz.decompress(archive, out)
        self.assertLessEqual(float((field.detach() - out).abs().max()), 1e-3)
        self.assertIsInstance(csz.decompress(archive, like=out), torch.Tensor)


class Options(unittest.TestCase):
    def test_relative_bound(self):
        field = 100 * smooth((40, 50))
        archive = csz.compress(field, rel=1e-3)
        info = csz.info(archive)
        self.assertEqual((info.mode, info.bound), ("rel", 1e-3))
        self.assertAlmostEqual(info.bound_abs, 1e-3 * float(field.max() - field.min()), delta=1e-6)
        self.assertLessEqual(largest_error(field, csz.decompress(archive)), info.bound_abs)

    def test_restored_values_come_back_as_they_are_at_the_same_absolute_bound(self):
        for dtype in ("float32", "float64"):
            for bound in (1e-1, 1e-3, 1e-6, 1e-9):
                field = smooth((20, 30, 40), dtype)
                field[3, 3, 3:6] = np.nan, 1e30, -0.0
                archive = csz.compress(field, abs=bound)
                self.assertEqual(csz.compress(csz.decompress(archive), abs=bound), archive)

    def test_pointwise_bound(self):
        field = np.exp(20 * smooth((20, 30, 40), "float64")) * np.where(np.arange(40) % 7 == 0, -1, 1)
        field[3, 3, 3:6] = 0, np.nan, -0.0
        for dtype, predictor in (("float32", "lorenzo"), ("float64", "auto")):
            own = field.astype(dtype)
            archive = csz.compress(own, pwr=1e-3, predictor=predictor)
            info, restored = csz.info(archive), csz.decompress(archive)
            self.assertEqual((info.mode, info.bound, info.floor), ("pwr", 1e-3, None))
            self.assertTrue(np.isnan(info.bound_abs))
            self.assertTrue(0 < csz.compare(own, restored, pwr=1e-3).max_pwr_error <= 1e-3)
            self.assertFalse(csz.compare(own, restored, pwr=1e-4))
            there = np.isfinite(own)
            self.assertTrue(np.all(np.abs(restored[there] - own[there]) <= 1.000001e-3 * np.abs(own[there])))
            self.assertEqual(restored[3, 3, 3:6].tobytes(), own[3, 3, 3:6].tobytes())
            with_floor = csz.compress(own, pwr=1e-3, floor=1e-2, predictor=predictor)
            self.assertEqual(csz.info(with_floor).floor, 1e-2)
            self.assertTrue(csz.compare(own, csz.decompress(with_floor), pwr=1e-3, floor=1e-2))
            error = np.abs(csz.decompress(with_floor)[there] - own[there])
            self.assertTrue(np.all(error <= np.maximum(1.000001e-3 * np.abs(own[there]), 1e-2)))
            self.assertEqual(csz.analyze(own, pwr=1e-3, exact=True).bound, 1e-3)
        for wrong in ({"pwr": 1}, {"pwr": 1e-3, "rel": 1e-3}, {"abs": 1e-3, "floor": 1e-3}, {"pwr": 1e-3, "floor": 0}):
            with self.assertRaises(csz.BoundError):
                csz.compress(field, **wrong)
            with self.assertRaises(csz.BoundError):
                csz.compare(field, field, **{"bound" if key in ("abs", "rel") else key: value for key, value in wrong.items()})

    def test_unsigned_zeros(self):
        field = smooth((20, 30, 40), "float32")
        field[field < field.mean()] = 0
        signed = np.where((field == 0) & (np.random.default_rng(1).random(field.shape) < 0.5), np.float32(-0.0), field)
        for bound in ({"abs": 1e-3}, {"rel": 1e-3}, {"psnr": 60}, {"abs": 1e-2, "zstd": 3}):
            self.assertEqual(csz.compress(signed, **bound, unsigned_zeros=True), csz.compress(field, **bound))
            self.assertTrue((np.signbit(csz.decompress(csz.compress(signed, **bound)))[field == 0] == np.signbit(signed)[field == 0]).all())
        self.assertLess(len(csz.compress(signed, ratio=20, unsigned_zeros=True)), signed.nbytes / 20)
        kept, lost = (csz.analyze(signed, rel=1e-3, exact=True, unsigned_zeros=is_unsigned) for is_unsigned in (False, True))
        for name in ("lorenzo", "pyramid", "auto"):
            self.assertLess(lost.predictors_coded[name], 0.9 * kept.predictors_coded[name])
            self.assertLess(lost.predictors[name], 0.9 * kept.predictors[name])
        for wrong in ({"pwr": 1e-3, "unsigned_zeros": True}, {"exact": True, "unsigned_zeros": True}, {"abs": 1e-3, "unsigned_zeros": "yes"}):
            with self.assertRaises(csz.ArgumentError):
                csz.compress(field, **wrong)
        with self.assertRaises(csz.ArgumentError):
            csz.analyze(field, pwr=1e-3, unsigned_zeros=True)

    def test_psnr(self):
        field = smooth((40, 50))
        self.assertGreaterEqual(csz.compare(field, csz.decompress(csz.compress(field, psnr=60))).psnr, 60)

    def test_fill_is_left_out_of_the_range(self):
        field = smooth((40, 50))
        field[5:9] = 1e20
        archive = csz.compress(field, rel=1e-3, fill=1e20)
        self.assertLess(csz.info(archive).bound_abs, 0.01)
        self.assertEqual(csz.info(archive).fill, float(np.float32(1e20)))
        self.assertTrue((csz.decompress(archive)[5:9] == np.float32(1e20)).all())

    def test_every_workflow(self):
        field = smooth((40, 50))
        for workflow in ("auto", "huffman", "rle", "rle+vle"):
            archive = csz.compress(field, abs=1e-3, workflow=workflow)
            self.assertEqual(csz.info(archive).workflow, workflow)
            self.assertTrue(csz.compare(field, csz.decompress(archive), bound=1e-3))

    def test_threads_never_change_the_bytes(self):
        field = smooth((100, 80, 90))
        self.assertEqual(csz.compress(field, abs=1e-3, threads=1), csz.compress(field, abs=1e-3, threads=7))

    @unittest.skipUnless(csz.features()["zstd"], "this build has no zstd")
    def test_zstd(self):
        field = smooth((60, 50, 40))
        archive = csz.compress(field, abs=1e-3, zstd=3)
        self.assertTrue(csz.info(archive).zstd)
        self.assertTrue(csz.compare(field, csz.decompress(archive), bound=1e-3))

    @unittest.skipUnless(COMMAND, "the command is not known: set CSZ_COMMAND")
    def test_the_command_writes_the_same_bytes(self):
        for name, field in {
            "3-D": smooth((30, 40, 50)),
            "Fortran order": np.asfortranarray(smooth((30, 40, 50))),
            "Fortran order, 4-D, f8": np.asfortranarray(smooth((3, 17, 40, 35), "float64")),
            "Fortran order, big-endian": np.asfortranarray(smooth((30, 40, 50))).astype(">f4"),
            "5-D": smooth((2, 3, 7, 20, 30)),
            "7-D in Fortran order": np.asfortranarray(smooth((2, 1, 3, 2, 4, 3, 5))),
            "0-d": np.float64(2.5),
            "empty": np.empty((3, 0, 5), "float32", order="F"),
        }.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "field.npy"
                np.save(path, field)
                subprocess.run([COMMAND, "compress", path, "-e", "1e-3", "-m", "rel", "-o", f"{path}.csz"], check=True, capture_output=True)
                self.assertEqual(Path(f"{path}.csz").read_bytes(), csz.compress(field, rel=1e-3))

    @unittest.skipUnless(COMMAND, "the command is not known: set CSZ_COMMAND")
    def test_the_command_analyses_at_the_same_bounds(self):
        field = smooth((30, 40, 50))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "field.npy"
            np.save(path, field)
            told = subprocess.run([COMMAND, "analyze", path, "--json"], check=True, capture_output=True, text=True)
        bounds = json.loads(told.stdout)["bounds"]
        self.assertEqual([(b["bound"], b["bound_abs"]) for b in bounds], [(a.bound, a.bound_abs) for a in csz.analyze(field)])


class ImplausibleBound(unittest.TestCase):
    def test_a_warning_names_it(self):
        field = smooth((800, 1000))
        half = 0.6 * float(np.ptp(field))
        for bound, says in (({"rel": 2}, r"^rel=2 allows errors of 2 times the range"), ({"abs": 1e6}, r"^abs=1e\+06 exceeds what the values span"),
                            ({"abs": half}, "exceeds half of what the values span"), ({"pwr": 1e-3, "floor": 1e6}, r"^floor=1e\+06 exceeds what .* smaller floor$"),
                            ({"pwr": 1e-7}, "^pwr=1e-07 is too fine for logarithms of float32: every value is kept bit for bit$"),
                            ({"pwr": 1e-7, "floor": 0.01}, "^pwr=1e-07 is too fine .*: every value is kept within the floor, 0.01$"), ({"psnr": 1}, "^psnr=1 allows errors of 0.891 times .*larger PSNR")):
            with self.assertWarnsRegex(UserWarning, says) as caught:
                csz.compress(field, **bound)
            self.assertEqual(caught.filename, __file__)

    def test_an_archive_again(self):
        archive = csz.compress(smooth((100, 200)), abs=1e-3)
        with self.assertWarnsRegex(UserWarning, "holds the bytes of an archive") as caught:
            csz.compress(np.frombuffer(archive[: len(archive) // 4 * 4], "f4"), abs=1e-3)
        self.assertEqual(caught.filename, __file__)

    def test_others_pass(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            csz.compress(np.zeros((100, 200), "f4"), abs=1e-3)
            csz.compress(smooth((100, 200)), rel=0.1)
            csz.compress(smooth((100, 200)), pwr=1e-3, floor=0.1)
            csz.compress(smooth((100, 200), "float64"), pwr=1e-7)


class ForgottenFill(unittest.TestCase):
    def setUp(self):
        self.sea = smooth((60, 70))
        self.sea[20:30, 5:60] = 1e20

    def test_a_warning_names_it(self):
        for bound in ({"rel": 1e-3}, {"psnr": 60}, {"abs": 1e-3}):
            for field in (self.sea, np.asfortranarray(self.sea), self.sea.astype(">f4")):
                with self.assertWarnsRegex(csz.FillWarning, r"^1e20 stands in about 1[0-9.]+%.*: give fill=1e20 if") as caught:
                    csz.compress(field, **bound)
                self.assertEqual(caught.filename, __file__)
        with self.assertWarnsRegex(csz.FillWarning, r"fill=1.0000000200408773e20 if"):
            csz.compress(self.sea.astype("float64"), rel=1e-3, fill=1e20)  # another value in double
        with self.assertWarnsRegex(csz.FillWarning, r"fill=-999.9 if"):
            csz.compress(np.where(self.sea > 1e19, np.float32(-999.9), self.sea), rel=1e-3)
        flat = np.where(self.sea > 1e19, np.float32(54321), self.sea)  # suspected only where the bound flattens all others
        for call, bound in ((csz.compress, {"rel": 1e-3}), (csz.absolute_bound, {"rel": 1e-3}), (csz.absolute_bound, {"psnr": 60}), (csz.compress, {"ratio": 40})):
            with self.subTest(call.__name__, **bound), self.assertWarnsRegex(csz.FillWarning, r"^54321.0 stands .*fill=54321.0 if"):
                call(flat, **bound)
        with self.assertWarns(csz.FillWarning) as caught:
            csz.absolute_bound(self.sea, rel=1e-3)
        self.assertEqual(caught.filename, __file__)

    def test_rare_ones_and_two(self):
        field = smooth((180, 360))
        field[::30, ::36] = 1e20  # one in a thousand
        for call in (csz.compress, csz.absolute_bound):
            with self.subTest(call.__name__), self.assertWarnsRegex(csz.FillWarning, r"^1e20 stands in about 0.0926% of the values"):
                call(field, rel=1e-3)
        field[1::30, ::18] = -1e20
        with self.assertWarnsRegex(csz.FillWarning, r"^-1e20 stands in about 0.185% and 1e20 in about 0.0926% of .*: make them one"):
            csz.compress(field, rel=1e-3)

    def test_two_of_which_one_is_named(self):
        field = smooth((180, 360))
        field[::4], field[1::8] = 1e20, -9999
        for fill, other in ((1e20, "-9999.0"), (-9999, "1e20")):
            for call in (csz.compress, csz.absolute_bound):
                with self.subTest(call.__name__, fill=fill), self.assertWarnsRegex(csz.FillWarning, rf"^{other} stands .*, besides the fill value .*: make all missing values one$"):
                    call(field, rel=1e-3, fill=fill)
        field = smooth((1000, 1000))
        field[0], field[7, ::500] = 1e20, -9999
        with self.assertWarnsRegex(csz.FillWarning, r"counts -9999.0 .*: make that 1e20 if it marks missing values, or give another bound$"):
            csz.compress(field, rel=1e-2, fill=1e20)

    def test_one_too_rare_to_be_found(self):
        field = smooth((1000, 1000))
        field.flat[::10000] = -9999
        for call in (csz.compress, csz.absolute_bound):
            with self.subTest(call.__name__), self.assertWarnsRegex(csz.FillWarning, r"^the bound is 100, but most values span .*counts -9999.0 .*give fill=-9999.0 if") as caught:
                call(field, rel=1e-2)
            self.assertEqual(caught.filename, __file__)
        self.assertIn("the range counts -9999 and perhaps others", csz.analyze(field, rel=1e-2, predictor="lorenzo").reason)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for call in (csz.compress, csz.absolute_bound):
                call(field, rel=1e-6)
                call(field, rel=1e-2, fill=-9999)
                call(field, rel=1e-2, fill="none")

    def test_two_that_differ(self):
        field = np.tile(np.linspace(260, 300, 1000, dtype="f4"), (500, 1))
        field[0, :2] = 1e20, 2e20
        for call in (csz.compress, csz.absolute_bound):
            with self.subTest(call.__name__), self.assertWarnsRegex(csz.FillWarning, r"^the bound is 2e\+17, but most values span 40 .*counts 2e20 and perhaps others"):
                call(field, rel=1e-3)

    def test_a_ratio_that_takes_most_detail(self):
        field = np.random.default_rng(3).random((300, 400), "f4")
        for target in ({"ratio": 25}, {"size": 19200}):
            with self.subTest(**target), self.assertWarnsRegex(UserWarning, r"^such an archive takes a bound of 0.[0-9]+, [1-9][0-9]% of the range: most detail is lost; ask for less") as caught:
                csz.compress(field, **target)
            self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            csz.compress(field, ratio=4)
            csz.compress(np.zeros((300, 400)), ratio=5)

    def test_no_warning_where_it_is_said_or_not_there(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            csz.compress(self.sea, rel=1e-3, fill=1e20)
            csz.absolute_bound(self.sea, rel=1e-3, fill=1e20)
            csz.absolute_bound(self.sea, rel=1e-3, fill="none")
            archive = csz.compress(self.sea, rel=1e-3, fill="none")
            self.assertEqual(csz.analyze(self.sea, rel=1e-3, fill="none").bound_abs, csz.info(archive).bound_abs)
            self.assertEqual(csz.info(archive).fill, None)
            csz.compress(np.ma.masked_greater(self.sea, 1e19), rel=1e-3)
            csz.compress(np.where(self.sea > 1e19, np.float32(0), 280 + self.sea), rel=1e-3)
            csz.absolute_bound(np.where(self.sea > 1e19, np.float32(54321), self.sea), rel=1e-7)
            csz.compress(np.where(self.sea > 1e19, np.float32(np.nan), self.sea), rel=1e-3)

    def test_an_analysis_says_it(self):
        self.assertRegex(csz.analyze(self.sea, rel=1e-3).reason, "^the field has 1e20 in .*far outside")
        self.assertNotIn("far outside", csz.analyze(self.sea, rel=1e-3, fill=1e20).reason)


class Regions(unittest.TestCase):
    def setUp(self):
        self.field = smooth((40, 50, 60))
        self.archive = csz.compress(self.field, abs=1e-3)
        self.whole = csz.decompress(self.archive)

    def test_as_numpy_would(self):
        for region in (
            np.s_[3:9, 10:50, 0:60], np.s_[3:9], np.s_[..., 5:7], np.s_[3, :, 7], np.s_[-5:, -1], np.s_[39, 49, 59], np.s_[:], ...,
            np.s_[:-30, ..., 1:], 7, slice(2, 30), (),
        ):  # fmt: skip
            with self.subTest(region):
                part = csz.decompress(self.archive, region=region)
                np.testing.assert_array_equal(part, self.whole[region])
                self.assertEqual(part.shape, self.whole[region].shape)

    def test_pairs(self):
        part = csz.decompress(self.archive, region=[(3, 9), (10, 50), (0, 60)])
        np.testing.assert_array_equal(part, self.whole[3:9, 10:50])

    def test_into_out(self):
        out = np.empty((6, 40, 60), "float32")
        csz.decompress(self.archive, out, np.s_[3:9, 10:50])
        np.testing.assert_array_equal(out, self.whole[3:9, 10:50])


class Out(unittest.TestCase):
    def setUp(self):
        self.archive = csz.compress(smooth((20, 30, 10)), abs=1e-3)
        self.whole = csz.decompress(self.archive)

    def test_any_strides_and_byte_order(self):
        for name, out in {
            "contiguous": np.empty((20, 30, 10), "float32"),
            "flat": np.empty(6000, "float32"),
            "fortran": np.empty((20, 30, 10), "float32", order="F"),
            "backwards": np.empty((20, 30, 10), "float32")[::-1, ::-1],
            "part": np.empty((40, 30, 11), "float32")[::2, :, :-1],
            "swapped": np.empty((20, 30, 10), ">f4"),
            "more dims": np.empty((1, 20, 30, 1, 10), "float32"),
        }.items():
            with self.subTest(name):
                self.assertIs(csz.decompress(self.archive, out), out)
                np.testing.assert_array_equal(out.reshape(self.whole.shape), self.whole)

    def test_out_over_the_archive_itself(self):
        memory = np.zeros(24000, "uint8")
        memory[: len(self.archive)] = np.frombuffer(self.archive, "uint8")
        out = memory.view("float32").reshape(20, 30, 10)
        csz.decompress(memory[: len(self.archive)], out)
        np.testing.assert_array_equal(out, self.whole)


class Knowing(unittest.TestCase):
    def test_info(self):
        field = smooth((20, 30), "float64")
        archive = csz.compress(field, abs=1e-3)
        info = csz.info(archive)
        self.assertEqual((info.shape, info.dtype, info.mode, info.bound, info.fill), ((20, 30), np.dtype("float64"), "abs", 1e-3, None))
        self.assertEqual((info.nbytes, info.nbytes_archive), (4800, len(archive)))
        self.assertEqual(info.ratio, 4800 / len(archive))

    def test_compare(self):
        a = smooth((20, 30))
        b = a.copy()
        b[4, 5] += 0.5
        result = csz.compare(a, b, bound=0.1)
        self.assertEqual((result.violations, result.worst, bool(result)), (1, (4, 5), False))
        self.assertAlmostEqual(result.max_abs_error, 0.5, places=5)
        self.assertTrue(csz.compare(a, a, bound=0))
        self.assertEqual(csz.compare(a[:0], a[:0]).worst, None)

    def test_check(self):
        archive = bytearray(csz.compress(smooth((20, 30)), abs=1e-3))
        csz.check(archive)
        archive[len(archive) // 2] ^= 1
        with self.assertRaises(csz.ArchiveError):
            csz.check(archive)

    def test_analyze(self):
        field = smooth((60, 70, 80))
        one = csz.analyze(field, rel=1e-3)
        self.assertEqual((one.bound, one.size, one.nbytes, one.coded), (1e-3, field.size, field.nbytes, None))
        self.assertEqual(one.bound_abs, csz.info(csz.compress(field, rel=1e-3)).bound_abs)
        self.assertEqual(len(one.histogram), 1024)
        self.assertIn(one.best_forced, one.predicted)
        self.assertTrue(one.reason)
        several = csz.analyze(field[::-1], abs=[1e-2, 1e-3], exact=True)
        self.assertEqual([a.bound for a in several], [1e-2, 1e-3])
        for a in several:
            for workflow, nbytes in a.coded.items():
                self.assertEqual(nbytes, len(csz.compress(field[::-1], abs=a.bound, workflow=workflow)))
        self.assertEqual(csz.analyze(field, abs=[]), [])
        self.assertRaises(csz.BoundError, csz.analyze, field, abs=1, rel=1)
        self.assertEqual([a.bound for a in csz.analyze(field)], [1e-2, 1e-3, 1e-4])
        self.assertEqual(csz.analyze(field)[1].bound_abs, one.bound_abs)
        self.assertRaises(csz.BoundError, csz.analyze, field, abs=[1, 0])
        self.assertRaises(csz.DtypeError, csz.analyze, np.arange(5), abs=1)

    def test_absolute_bound_is_the_library_s(self):
        field = smooth((40, 50))
        field[3, 3] = np.nan
        field[4, 4] = 1e20
        for given in ({"rel": 1e-3}, {"psnr": 70.0}):
            expected = csz.info(csz.compress(field, fill=1e20, **given)).bound_abs
            self.assertEqual(csz.absolute_bound(field, fill=1e20, **given), expected)
        with self.assertRaises(csz.BoundError):
            csz.absolute_bound(np.full(5, np.nan), rel=1e-3)
        for wrong in ({}, {"rel": 1e-3, "psnr": 70.0}):
            with self.assertRaisesRegex(csz.BoundError, "^give exactly one of rel= and psnr=$"):
                csz.absolute_bound(field, **wrong)
        for dtype in ("float32", "float64"):
            for zeros in ([0.0], [-0.0], [0.0, -0.0]):  # to the library two values
                for fill in (0.0, -0.0):
                    field = np.array([5.0, *zeros, 10.0], dtype)
                    expected = csz.info(csz.compress(field, fill=fill, rel=1e-2)).bound_abs
                    self.assertEqual(csz.absolute_bound(field, fill=fill, rel=1e-2), expected)
        self.assertEqual(csz.value_range(np.array([0, 3, 9]), fill=0), (3, 9))

    def test_value_range_in_pieces(self):
        class Chunked:  # what Zarr and HDF5 look like
            shape, dtype, chunks = (1000, 7), np.dtype("float32"), (64, 7)
            reads = 0

            def __getitem__(self, rows):
                Chunked.reads += 1
                return np.arange(7000, dtype="float32").reshape(1000, 7)[rows]

        self.assertEqual(csz.value_range(Chunked()), (0, 6999))
        self.assertGreaterEqual(Chunked.reads, 1)
        self.assertIsNone(csz.value_range(np.full((3, 3), np.nan)))
        self.assertEqual(csz.value_range([1.0, 2.0]), (1, 2))


class Pyramid(unittest.TestCase):
    def test_previews_are_every_nth_value(self):
        field = smooth((40, 50, 60))
        archive = csz.compress(field, abs=1e-3, predictor="pyramid")
        self.assertGreater(csz.info(archive).levels, 2)
        for level in range(1, csz.info(archive).levels):
            step = 2**level
            with self.subTest(level=level):
                preview = csz.decompress(archive, level=level)
                self.assertEqual(preview.shape, field[::step, ::step, ::step].shape)
                self.assertLessEqual(largest_error(field[::step, ::step, ::step], preview), 1e-3)
                part = csz.decompress(archive, region=np.s_[1:2, :, 0], level=level)
                np.testing.assert_array_equal(part, preview[1:2, :, 0])
        levels = csz.info(archive).levels
        with self.assertRaisesRegex(csz.LevelError, f"level {levels} of an archive with previews 1 to {levels - 1}: "):
            csz.decompress(archive, level=levels)
        with self.assertRaisesRegex(csz.LevelError, "level 1 of an archive with no previews: "):
            csz.decompress(csz.compress(field, abs=1e-3), level=1)
        with self.assertRaisesRegex(csz.ArgumentError, "level is a whole number, not True"):
            csz.decompress(archive, level=True)

    def test_info_says_what_predicts_and_which_levels_there_are(self):
        field = smooth((40, 50, 60))
        known = {p: csz.info(csz.compress(field, abs=1e-3, predictor=p), survey=True) for p in ("lorenzo", "pyramid")}
        self.assertEqual([(i.predictor, i.pyramids, i.frames) for i in known.values()], [("lorenzo", 0, 1), ("pyramid", 1, 1)])
        levels = known["pyramid"]
        self.assertEqual(levels.level_shapes, tuple(field[:: 2**n, :: 2**n, :: 2**n].shape for n in range(levels.levels)))
        self.assertEqual(sorted(levels.level_nbytes, reverse=True), list(levels.level_nbytes))
        self.assertTrue(0 < levels.level_nbytes[-1] < levels.level_nbytes[0] < levels.nbytes_archive)
        self.assertEqual((known["lorenzo"].level_shapes, len(known["lorenzo"].level_nbytes)), (((40, 50, 60),), 1))
        quick = [csz.info(csz.compress(field, abs=1e-3, predictor=p)) for p in ("lorenzo", "pyramid")]
        self.assertEqual([(i.predictor, i.pyramids, i.level_nbytes) for i in quick], [("lorenzo", 0, None), (None, None, None)])
        self.assertEqual([i.level_shapes for i in quick], [i.level_shapes for i in known.values()])
        # Lorenzo takes the pyramid's place where that would be larger than the values
        noise = np.random.default_rng(1).normal(size=(20, 30, 40)).astype("float32")
        self.assertEqual(csz.info(csz.compress(noise, abs=1e-8, predictor="pyramid"), survey=True).predictor, "lorenzo")
        mixed = np.concatenate([np.repeat(smooth((1, 300, 350)), 330, axis=0), np.random.default_rng(1).integers(0, 9, (74, 300, 350)).astype("float32")])
        info = csz.info(csz.compress(mixed, abs=1e-3, predictor="auto"), survey=True)
        self.assertEqual((info.predictor, info.pyramids, info.frames), ("auto", 1, 2))
        with self.assertRaises(csz.ArchiveError):
            archive = bytearray(csz.compress(field, abs=1e-3))
            archive[len(archive) // 2] ^= 1
            csz.info(archive, survey=True)

    def test_auto_takes_the_smaller(self):
        field = smooth((40, 50, 60))
        sizes = {p: len(csz.compress(field, abs=1e-3, predictor=p)) for p in ("lorenzo", "pyramid", "auto")}
        self.assertLessEqual(sizes["auto"], 1.02 * min(sizes.values()))
        self.assertRaises(csz.ArgumentError, csz.compress, field, abs=1e-3, predictor="linear")


class Metadata(unittest.TestCase):
    attrs = {
        "units": "K", "é": "ü", "none": "", "range": np.array([0.5, 2], "f4"), "n": np.int16(-3), "x": 1.5, "i": 7, "flags": ["a", "", "bc"],
        "empty": np.array([], "u8"), "yes": True, "u": np.uint64(2**63),
    }  # fmt: skip

    def test_comes_back(self):
        field = smooth((40, 50))
        plain = csz.compress(field, abs=1e-3)
        archive = csz.compress(field, abs=1e-3, name="T", dims=("y", "x"), attrs=self.attrs)
        info = csz.info(archive)
        self.assertEqual((info.name, info.dims), ("T", ("y", "x")))
        self.assertEqual(list(info.attrs), list(self.attrs))
        for key, value in self.attrs.items():
            with self.subTest(key):
                np.testing.assert_array_equal(info.attrs[key], value)
                if isinstance(value, (np.ndarray, np.generic)):
                    self.assertEqual(info.attrs[key].dtype, value.dtype)
        np.testing.assert_array_equal(csz.decompress(archive), csz.decompress(plain))
        np.testing.assert_array_equal(csz.decompress(archive, region=np.s_[3:7, 4:9]), csz.decompress(plain)[3:7, 4:9])
        csz.check(archive)
        self.assertEqual((csz.info(plain).name, csz.info(plain).dims, csz.info(plain).attrs), (None, None, {}))
        self.assertEqual(csz.compress(field, abs=1e-3, attrs={}), plain)
        # what the command keeps for itself of netCDF's variables
        own = {"_Unlimited": ["t"], "_Dimensions": ["2 t", "3 z"], "units": "K"}
        self.assertEqual(csz.info(csz.compress(field, abs=1e-3, attrs=own)).attrs, {"units": "K"})

    def test_what_is_none_is_refused(self):
        for given in (
            {"attrs": {"": 1}}, {"dims": ("x",)}, {"dims": "yx"}, {"attrs": {"a": {}}}, {"attrs": {"a": "x" * 2**20}}, {"name": 3},
            {"attrs": {"x" * 2000: 1}}, {"attrs": {3: 1}}, {"attrs": {"a": np.zeros((2, 2))}}, {"attrs": {"a": ["x\0"]}},
            {"name": "\ud800"}, {"attrs": {"a": "\ud800"}}, {"attrs": {"\ud800": 1}},
            {"attrs": [("a", 1)]}, {"attrs": "units"},
        ):  # fmt: skip
            with self.subTest(given):
                self.assertRaises(csz.ArgumentError, csz.compress, np.zeros((3, 4)), abs=1, **given)
        for n in (2**20, 2**21):
            self.assertRaisesRegex(csz.ArgumentError, "more than 1 MiB", csz.compress, np.zeros(3), abs=1, attrs={"a": "x" * n})


class Targets(unittest.TestCase):
    def test_ratios_and_sizes_are_reached(self):
        field = smooth((40, 50, 60))
        for given in ({"ratio": 30}, {"size": field.nbytes // 12}, {"ratio": 20, "predictor": "auto"}):
            with self.subTest(given):
                archive = csz.compress(field, **given)
                wanted = given.get("size", field.nbytes / given.get("ratio", 1))
                self.assertLessEqual(len(archive), wanted)
                self.assertGreaterEqual(len(archive) * 1.031, wanted)
                info = csz.info(archive)
                self.assertEqual((info.mode, info.bound), ("abs", info.bound_abs))
                self.assertEqual(archive, csz.compress(field, abs=info.bound, predictor=given.get("predictor", "lorenzo")))
                self.assertLessEqual(largest_error(field, csz.decompress(archive)), info.bound_abs)

    def test_a_jump_past_the_target_is_said_unless_nothing_is_lost(self):
        coins = np.random.default_rng(1).choice(np.float32([-1, 1]), 9600)
        with self.assertWarnsRegex(UserWarning, r"^the archive reaches ratio \d{3}\.\d\d, more than asked for: the next tighter bound that was tried reaches \d\d\.") as caught:
            csz.compress(coins, ratio=100)
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(csz.info(csz.compress(np.repeat(coins, 50), ratio=4)).mode, "exact")

    def test_what_cannot_be_reached_is_said(self):
        with self.assertRaisesRegex(csz.TargetError, r"to \d+ bytes .*ratio \d+"):
            csz.compress(smooth((40, 50)), ratio=1e6)
        denormals = (smooth((40, 50)) * np.float32(1e-41)).astype("float32")
        for field, said in (
            (np.full((40, 50), np.nan), "all equal or missing"),
            (np.full((40, 50), 1e-38, "float32"), "all equal or missing"),
            (denormals, "no bound that the type resolves"),
            (smooth((40, 50)), "as large as its range, from "),
        ):
            with self.subTest(said), self.assertRaisesRegex(csz.TargetError, said):
                csz.compress(field, ratio=1e6)
        with self.assertRaisesRegex(csz.TargetError, r"to 10000 bytes \(name, dims and attrs take 20\d\d\d: the archive has \d+, ratio"):
            csz.compress(smooth((40, 50)), size=10000, attrs={"history": 20000 * "h"})
        with self.assertRaisesRegex(csz.TargetError, r"to 10 bytes \(an archive without values has \d+\)"):
            csz.compress(np.zeros((0, 7)), size=10)
        for given in ({"ratio": 0}, {"size": -1}, {"ratio": 2, "abs": 1}, {"ratio": 2, "size": 5}, {}, {"ratio": float("nan")}):
            with self.subTest(given):
                self.assertRaises(csz.BoundError, csz.compress, np.zeros(9), **given)


if __name__ == "__main__":
    unittest.main()
