# SPDX-License-Identifier: BSD-3-Clause
"""Wrong input gives an exception of the right kind with a message that helps, and never a crash."""

import unittest

import numpy as np

import csz
from support import smooth

field = smooth((20, 30, 10))
archive = csz.compress(field, abs=1e-3)


class Errors(unittest.TestCase):
    def fails(self, kind, text, call, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            call(*arguments, **options)
        self.assertIsInstance(caught.exception, csz.Error)

    def test_bounds(self):
        self.fails(csz.BoundError, "exactly one", csz.compress, field)
        self.fails(csz.BoundError, "exactly one", csz.compress, field, abs=1, rel=1)
        for bad in (0, -1, np.nan, np.inf, "a lot", "1e-3", b"1", [1, 2], 10**400, True, np.True_):
            with self.subTest(bad):
                self.fails(csz.BoundError, "abs is a", csz.compress, field, abs=bad)
        self.fails(ValueError, "rel", csz.compress, field, rel=0)

    def test_types(self):
        for dtype in ("float16", "int32", "complex64", "bool", "longdouble", "U3", "O", "M8[s]"):
            with self.subTest(dtype):
                self.fails(csz.DtypeError, "float32 and float64", csz.compress, np.zeros(3, dtype), abs=1)
        records = np.zeros(3, [("height", "f4"), ("name", "S3")])
        for array, advice in (
            (np.zeros(3, "complex128"), r"complex128: compress both parts, array.real.copy\(\) and array.imag.copy\(\)$"),
            (np.zeros(3, "O"), r"object: make an array of numbers of these objects, with numpy.array\(array.tolist\(\), 'f8'\)$"),
            (records, r"by itself, such as array\['height'\]$"),
            (np.zeros(3, "U3"), "no floating-point numbers$"),
            (np.zeros(3, "S3"), "no floating-point numbers$"),
            (b"bytes", "no floating-point numbers$"),
            ("text", "no floating-point numbers$"),
            (np.zeros(3, "int32"), r"astype\('float32'\), or astype\('float64'\)"),
        ):
            with self.subTest(advice):
                self.fails(csz.DtypeError, advice, csz.compress, array, abs=1)
        self.fails(TypeError, "float32 and float64", csz.compress, "text", abs=1)
        self.fails(TypeError, "float32 and float64", csz.compress, None, abs=1)
        self.fails(csz.ArgumentError, "NumPy makes no array of this list", csz.compress, [[1.0], [1.0, 2.0]], abs=1)
        self.fails(csz.ArgumentError, "NumPy makes no array of this list", csz.value_range, [[1.0], [1.0, 2.0]])
        self.fails(csz.DtypeError, "of numbers, not of", csz.value_range, np.array(["a"]))

    def test_options(self):
        self.fails(csz.ArgumentError, "workflow is one of", csz.compress, field, abs=1, workflow="best")
        self.fails(csz.ArgumentError, "backend is one of", csz.compress, field, abs=1, backend="tpu")
        self.fails(csz.ArgumentError, "threads", csz.compress, field, abs=1, threads=-1)
        self.fails(csz.ArgumentError, "threads", csz.compress, field, abs=1, threads=2**40)
        self.fails(csz.ArgumentError, "threads", csz.compress, field, abs=1, threads=1.5)
        self.fails(csz.ArgumentError, "zstd", csz.compress, field, abs=1, zstd=23)
        self.fails(csz.BoundError, "abs=, rel=, psnr=, pwr=, ratio=, size= and exact=True", csz.compress, field, abs=1, rel=1)
        masked = np.ma.masked_less(field, 0)
        for bad in ("nothing", "1e20", b"1", True):
            for call, arguments in ((csz.compress, {"abs": 1}), (csz.analyze, {}), (csz.compare, {"b": field}), (csz.value_range, {}), (csz.absolute_bound, {"rel": 1e-3})):
                with self.subTest(bad, call=call):
                    self.fails(csz.ArgumentError, "fill is a number, not", call, masked, fill=bad, **arguments)
        for number in (1, np.float32(1), np.int64(1), np.array(1.0)):
            self.assertEqual(csz.info(csz.compress(field, abs=number, fill=number)).fill, 1)
        self.fails(csz.ArgumentError, "like", csz.compress, field, abs=1, like=3)
        self.fails(csz.ArgumentError, "bytes above 0, or None", csz.decompress, archive, memory_limit=0)
        self.fails(csz.ArgumentError, "bytes above 0, or None", csz.decompress, archive, memory_limit=-1)
        self.fails(csz.ArgumentError, "memory_limit is a whole number", csz.decompress, archive, memory_limit=1.5)
        for call in (csz.compress, csz.analyze):
            self.fails(csz.ArgumentError, "fill 1e[+]300 does not fit float32", call, field, abs=1, fill=1e300)
        self.fails(csz.ArgumentError, "does not fit", csz.compare, field, field, fill=3.5e38)
        self.assertEqual(csz.info(csz.compress(field, abs=1, fill=3.4028235e38)).fill, float(np.finfo("float32").max))

    @unittest.skipIf(csz.features()["cuda_available"], "this machine has a GPU")
    def test_cuda_where_there_is_none(self):
        class OnDevice:
            __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}

        missing = "the CUDA driver|CUDA finds no card" if csz.features()["cuda_built"] else "no CUDA backend"
        self.fails(csz.BackendError, missing, csz.compress, field, abs=1, backend="cuda")
        self.fails(csz.BackendError, "CUDA", csz.compress, OnDevice(), abs=1)
        self.fails(csz.BackendError, "CUDA", csz.decompress, OnDevice())
        self.fails(csz.BackendError, "CUDA", csz.decompress, archive, OnDevice())

    def test_archives(self):
        self.fails(csz.NotArchiveError, "not a cuSZ. archive", csz.decompress, b"something else entirely" * 9)
        self.fails(csz.ArchiveError, "", csz.decompress, b"")
        self.fails(csz.ArchiveError, "", csz.info, bytearray())
        self.fails(csz.ArchiveError, "", csz.decompress, np.empty(0, "uint8"))
        self.fails(csz.TruncatedError, "cut short", csz.decompress, archive[:-1])
        self.fails(csz.TrailingError, "follow", csz.decompress, archive + b"x")
        self.fails(csz.ArgumentError, "not a string", csz.decompress, "field.csz")
        self.fails(csz.ArgumentError, "contiguous buffer", csz.decompress, 7)
        self.fails(csz.ArgumentError, "contiguous buffer", csz.decompress, None)
        self.fails(csz.ArgumentError, "contiguous", csz.decompress, np.frombuffer(archive, "uint8")[::2])
        self.fails(csz.ArgumentError, "contiguous", csz.info, memoryview(archive)[::2])

    def test_statuses_carry_their_number(self):
        with self.assertRaises(csz.TruncatedError) as caught:
            csz.decompress(archive[:-1])
        self.assertEqual(caught.exception.status, 11)

    def test_damage_anywhere_is_reported(self):
        random = np.random.default_rng(5)
        whole = csz.decompress(archive)
        for at in random.integers(0, len(archive), 300):
            damaged = bytearray(archive)
            damaged[at] ^= 1 << int(random.integers(8))
            with self.subTest(at=at):
                self.fails(csz.Error, "", csz.decompress, damaged, memory_limit=1 << 28)
        for n in random.integers(0, len(archive), 100):
            self.fails(csz.Error, "", csz.decompress, archive[:n])
        np.testing.assert_array_equal(csz.decompress(archive), whole)

    def test_regions(self):
        for region in (
            np.s_[0:0], np.s_[5:3], np.s_[0:21], np.s_[20], np.s_[-21], np.s_[0:20:2], np.s_[0:1, 0:1, 0:1, 0:1], np.s_[..., ...],
            np.s_["a":"b"], [(1, 2, 3)], np.s_[1.5:3], (2**70,), np.s_[0 : 2**70],
        ):  # fmt: skip
            with self.subTest(region):
                self.fails(csz.RegionError, "region|axis", csz.decompress, archive, region=region)
        self.fails(IndexError, "outside an extent of 20", csz.decompress, archive, region=np.s_[0:21])
        self.fails(csz.RegionError, "whole numbers, not an array of bool$", csz.decompress, archive, region=field > 0)
        for region in (True, np.s_[0:2, None], np.s_[False:2], (np.True_,)):
            with self.subTest(region):
                self.fails(csz.RegionError, "made of slices", csz.decompress, archive, region=region)
        self.fails(csz.RegionError, r"not \[0, 0, .*\.\.\.$", csz.decompress, archive, region=[[0] * 10**5])

    def test_regions_of_an_empty_field(self):
        empty = csz.compress(np.empty((4, 0, 3), "float32"), abs=1)
        for region in (np.s_[:], np.s_[1:3], np.s_[2, :, 0:2], np.s_[..., 1], np.s_[:, 0:0]):
            with self.subTest(region):
                expected = np.empty((4, 0, 3), "float32")[region]
                part = csz.decompress(empty, region=region)
                self.assertEqual((part.shape, part.dtype), (expected.shape, expected.dtype))
        self.fails(csz.RegionError, "axis 1", csz.decompress, empty, region=np.s_[:, 0:1])
        self.fails(csz.RegionError, "axis 0", csz.decompress, empty, region=np.s_[2:2])
        self.fails(csz.ArchiveError, "", csz.decompress, empty[:-1], region=np.s_[:])

    def test_out(self):
        frozen = np.empty(field.shape, "float32")
        frozen.flags.writeable = False
        self.fails(csz.ArgumentError, "read-only", csz.decompress, archive, frozen)
        self.fails(csz.DtypeError, "float64", csz.decompress, archive, np.empty(field.shape, "float64"))
        self.fails(csz.DimsError, "does not fit", csz.decompress, archive, np.empty((10, 30, 20), "float32"))
        self.fails(csz.DimsError, "does not fit", csz.decompress, archive, np.empty((20, 30, 9), "float32"))
        self.fails(csz.DimsError, "does not fit", csz.decompress, archive, np.empty((), "float32"))
        self.fails(csz.ArgumentError, "NumPy array or a device array", csz.decompress, archive, bytearray(24000))
        self.fails(csz.ArgumentError, "leave out", csz.decompress, archive, np.empty(field.shape, "float32"), shape=(6000,))
        self.fails(csz.DimsError, "does not fit", csz.decompress, archive, shape=(20, 30))
        self.fails(csz.DimsError, "does not fit", csz.decompress, archive, shape=(-20, -30, 10))
        self.fails(csz.DimsError, "whole numbers", csz.decompress, archive, shape=(20.0, 30, 10))

    def test_memory_limit(self):
        self.fails(csz.LimitError, "24000 bytes", csz.decompress, archive, memory_limit=23999)
        self.fails(MemoryError, "decompressing 24000 bytes takes .* memory_limit of 24001 bytes, scratch included", csz.decompress, archive, memory_limit=24001)
        self.fails(csz.LimitError, "checking an archive takes more than the memory_limit of 10 bytes", csz.check, archive, memory_limit=10)
        csz.decompress(archive, memory_limit=1 << 28)
        csz.decompress(archive, memory_limit=1 << 70)
        csz.decompress(archive, region=np.s_[0:1], memory_limit=1 << 28)

    def test_a_huge_field_is_refused_before_memory_is_taken(self):
        huge = np.broadcast_to(np.float32(1), (2**20, 2**20, 2**10))
        self.assertRaises(MemoryError, csz.compress, huge, abs=1)

    def test_comparing(self):
        self.fails(csz.DimsError, "shapes differ", csz.compare, field, field[:3])
        self.fails(csz.DtypeError, "types differ", csz.compare, field, field.astype("float64"))
        self.fails(csz.BoundError, "bound", csz.compare, field, field, bound=-1)


if __name__ == "__main__":
    unittest.main()
