# SPDX-License-Identifier: BSD-3-Clause
"""Zarr formats 2 and 3, xarray and Dask over csz give what the same data give uncompressed, within the
bound."""

import json
import pickle
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

import csz
from support import largest_error, needs, smooth


@needs("numcodecs")
class Numcodecs(unittest.TestCase):
    def test_found_by_its_entry_point(self):
        import numcodecs

        codec = numcodecs.get_codec({"id": "csz", "abs": 1e-3})
        self.assertEqual(type(codec).__module__, "csz.numcodecs")

    def test_configuration_survives_json(self):
        import numcodecs
        from csz.numcodecs import Csz

        for codec in (
            Csz(abs=1e-3),
            Csz(rel=1e-3, fill=1e20, workflow="rle+vle", zstd=3, threads=2),
            Csz(psnr=60, fill=np.nan, dtype=">f8"),
            Csz(abs=1e-3, predictor="auto"),
        ):
            config = json.loads(json.dumps(codec.get_config(), allow_nan=False))
            self.assertEqual(numcodecs.get_codec(config), codec)
            self.assertEqual(numcodecs.get_codec(config).get_config(), config)
            self.assertEqual(pickle.loads(pickle.dumps(codec)), codec)
        self.assertEqual(Csz(abs=1e-3).get_config(), {"id": "csz", "abs": 1e-3})
        names = ({"abs": 1, "workflow": "x"}, {"abs": 1, "predictor": "x"}, {"abs": 1, "fill": "x"})
        for bad in ({}, {"abs": 0}, {"abs": 1, "rel": 1}, {"abs": 1, "zstd": 99}, *names):
            with self.assertRaises(csz.Error):
                Csz(**bad)

    def test_threads_are_checked_when_the_codec_is_made(self):
        from csz.numcodecs import Csz

        for wrong in (-3, 1.5, "2"):
            with self.assertRaisesRegex(csz.ArgumentError, "threads"):
                Csz(abs=1, threads=wrong)

    def test_shape_is_kept(self):
        from csz.numcodecs import Csz

        codec = Csz(abs=1e-3)
        for dtype in ("float32", "float64"):
            field = smooth((10, 20, 30), dtype)
            chunk = codec.encode(field)
            self.assertEqual(csz.info(chunk).shape, field.shape)
            back = codec.decode(chunk)
            self.assertEqual((back.shape, back.dtype), (field.shape, field.dtype))
            self.assertLessEqual(largest_error(field, back), 1e-3)

    def test_pointwise_bounds(self):
        from csz.numcodecs import Csz

        codec, field = Csz(pwr=1e-3, floor=1e-6), np.exp(30 * smooth((20, 30), "float64"))
        self.assertEqual(codec.get_config(), {"id": "csz", "pwr": 1e-3, "floor": 1e-6})
        error = np.abs(codec.decode(codec.encode(field)) - field)
        self.assertTrue(np.all(error <= np.maximum(1.000001e-3 * field, 1e-6)))
        exact = Csz(exact=True)
        self.assertEqual(exact.get_config(), {"id": "csz", "exact": True})
        self.assertEqual(exact.decode(exact.encode(field)).tobytes(), field.tobytes())
        for bad in ({"pwr": 1}, {"abs": 1, "floor": 1}, {"pwr": 0.1, "abs": 1}, {"exact": True, "abs": 1}, {"exact": True, "floor": 1}):
            with self.assertRaises(csz.Error):
                Csz(**bad)

    def test_unsigned_zeros(self):
        from csz.numcodecs import Csz

        codec, field = Csz(abs=1e-3, unsigned_zeros=True), np.full((20, 30), -0.0, "float32")
        self.assertEqual(codec.get_config(), {"id": "csz", "abs": 1e-3, "unsigned_zeros": True})
        self.assertFalse(np.signbit(codec.decode(codec.encode(field))).any())
        self.assertTrue(np.signbit(codec.decode(Csz(abs=1e-3).encode(field))).all())
        for bad in ({"pwr": 1e-3}, {"exact": True}):
            with self.assertRaises(csz.Error):
                Csz(**bad, unsigned_zeros=True)

    def test_by_itself_the_dims_are_the_archive_s(self):
        from csz.numcodecs import Csz

        codec, field = Csz(abs=1e-3), smooth((2, 3, 4))
        np.testing.assert_array_equal(codec.decode(codec.encode(np.asfortranarray(field))), codec.decode(codec.encode(field.T.copy())))
        self.assertEqual(codec.decode(codec.encode(smooth((2, 3, 4, 5, 6)))).shape, (6, 4, 5, 6))

    def test_into_any_buffer(self):
        from csz.numcodecs import Csz

        codec, field = Csz(abs=1e-3), smooth((10, 20))
        chunk = codec.encode(field)
        for out in (np.empty((10, 20), "float32"), np.empty(200, "float32"), bytearray(800), np.empty(800, "uint8")):
            self.assertIs(codec.decode(chunk, out), out)
            self.assertLessEqual(largest_error(field.ravel(), np.frombuffer(out, "float32")), 1e-3)
        turned = np.empty((20, 10), "float32", order="F")
        codec.decode(chunk, turned)
        self.assertLessEqual(largest_error(field, turned.T), 1e-3)
        for out in (bytearray(799), bytearray(4), b"x" * 800, np.empty((10, 40), "float32")[:, ::2]):
            with self.assertRaises(csz.Error):
                codec.decode(chunk, out)

    def test_not_into_objects(self):
        from csz.numcodecs import Csz

        codec = Csz(abs=1)
        with self.assertRaises(TypeError):
            codec.decode(codec.encode(np.zeros(10)), out=np.empty(10, dtype=object))

    def test_other_byte_order_must_be_named(self):
        from csz.numcodecs import Csz

        field = smooth((10, 20), ">f4")
        with self.assertRaisesRegex(csz.DtypeError, "dtype='>f4'"):
            Csz(abs=1e-3).encode(field)
        back = Csz(abs=1e-3, dtype=">f4").decode(Csz(abs=1e-3, dtype=">f4").encode(field))
        self.assertEqual(back.dtype, field.dtype)
        self.assertLessEqual(largest_error(field, back), 1e-3)

    def test_what_is_no_field_is_refused(self):
        from csz.numcodecs import Csz

        for wrong in (b"bytes", np.arange(5), np.zeros(5, "float16")):
            with self.assertRaisesRegex(csz.DtypeError, "float32 and float64"):
                Csz(abs=1e-3).encode(wrong)


@needs("zarr", "numcodecs")
class ZarrFormat2(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "field.zarr")
        self.field = smooth((50, 60, 35))

    def make(self, codec, chunks=(32, 32, 32), **options):
        import zarr

        made = zarr.create_array(
            self.path, shape=self.field.shape, chunks=chunks, dtype=options.pop("dtype", "float32"), compressors=codec, zarr_format=2, **options
        )
        made[:] = self.field
        return zarr.open_array(self.path, mode="r+")

    def test_reads_as_written(self):
        from csz.numcodecs import Csz

        for order in ("C", "F"):
            for dtype in ("<f4", ">f4", "<f8"):
                with self.subTest(order=order, dtype=dtype):
                    codec = Csz(abs=1e-3, dtype=dtype if dtype == ">f4" else None)
                    stored = self.make(codec, order=order, dtype=dtype, overwrite=True)
                    self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3 + 1e-7)
                    self.assertLessEqual(largest_error(self.field[3:40:7, 5], stored[3:40:7, 5]), 1e-3 + 1e-7)

    def test_every_rank(self):
        import zarr
        from csz.numcodecs import Csz

        for i, shape in enumerate(((), (50,), (6, 7), (2, 3, 4, 5), (2, 3, 4, 5, 6))):
            field = smooth(shape) if shape else np.float32(3.25)
            stored = zarr.create_array(self.path, name=str(i), shape=shape, chunks=shape, dtype="float32", compressors=Csz(abs=1e-3), zarr_format=2)
            stored[...] = field
            self.assertLessEqual(largest_error(field, zarr.open_array(self.path, path=str(i))[...]), 1e-3)

    def test_fill_values(self):
        import numcodecs
        from csz.numcodecs import Csz

        self.field[:20, 5:9] = 1e20
        with warnings.catch_warnings(record=True) as caught:  # it does not see the array's
            warnings.simplefilter("always")
            made = Csz(rel=1e-3)
            for chunk in (self.field, self.field[:40], self.field[:30]):
                made.encode(chunk)
        self.assertEqual([(w.category, w.filename) for w in caught], [(csz.FillWarning, __file__)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for codec in (Csz(rel=1e-3, fill="none"), Csz(rel=1e-3, fill=None), numcodecs.get_codec(Csz(rel=1e-3, fill="none").get_config())):
                self.assertEqual(csz.info(codec.encode(self.field)).fill, None)
        stored = self.make(Csz(rel=1e-3, fill=1e20), fill_value=1e20)[:]
        np.testing.assert_array_equal(stored == np.float32(1e20), self.field == np.float32(1e20))
        present = self.field != np.float32(1e20)
        self.assertLessEqual(largest_error(self.field[present], stored[present]), 1e-3 * float(np.ptp(self.field[present])))


@needs("zarr")
class ZarrFormat3(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "field.zarr")
        self.field = smooth((50, 60, 35))

    def make(self, chunks=(32, 32, 32), codec=None, **options):
        import zarr
        from csz.zarr import CszCodec

        options = {"dtype": "float32", "serializer": codec or CszCodec(abs=1e-3), "compressors": None, **options}
        made = zarr.create_array(self.path, shape=self.field.shape, chunks=chunks, **options)
        made[:] = self.field
        return zarr.open_array(self.path, mode="r+")

    def metadata(self):
        return json.loads((Path(self.path) / "zarr.json").read_text())

    def test_a_fill_value_that_was_forgotten(self):
        from csz.zarr import CszCodec

        self.field[:20, 5:9] = 1e20
        for fill, options in (("auto", {"fill_value": 1e20}), (1e20, {}), (None, {}), ("none", {})):
            with self.subTest(fill), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.make(codec=CszCodec(rel=1e-3, fill=fill), overwrite=True, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.make(codec=CszCodec(rel=1e-3), chunks=(16, 32, 32), overwrite=True)  # in several chunks
        self.assertEqual([(w.category, w.filename) for w in caught], [(csz.FillWarning, __file__)])

    def test_reads_as_written(self):
        stored = self.make()
        self.assertEqual(self.metadata()["codecs"], [{"name": "csz", "configuration": {"abs": 1e-3}}])
        self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3)
        self.assertLess(stored.nbytes_stored(), self.field.nbytes / 3)

    def test_pyramids_are_stored_and_read_in_part(self):
        from csz.zarr import CszCodec

        stored = self.make(codec=CszCodec(abs=1e-3, predictor="pyramid"))
        self.assertEqual(self.metadata()["codecs"], [{"name": "csz", "configuration": {"abs": 1e-3, "predictor": "pyramid"}}])
        self.assertGreater(csz.info((Path(self.path) / "c/0/0/0").read_bytes()).levels, 1)
        self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3)
        np.testing.assert_array_equal(stored[3:40:7, 5, 10:], stored[:][3:40:7, 5, 10:])

    def test_selections(self):
        stored, whole = self.make(), None
        whole = stored[:]
        for selection in (np.s_[3:40:7, 5, 10:], np.s_[49, 59, 34], np.s_[..., 3], np.s_[10:11, 31:33, :], np.s_[33:34], np.s_[:, :, ::34]):
            with self.subTest(selection):
                np.testing.assert_array_equal(stored[selection], whole[selection])
        np.testing.assert_array_equal(stored.oindex[[1, 45, 7], :, [3, 0]], whole[np.ix_([1, 45, 7], range(60), [3, 0])])
        np.testing.assert_array_equal(stored.vindex[[1, 45, 7], [5, 5, 59], [3, 0, 34]], whole[[1, 45, 7], [5, 5, 59], [3, 0, 34]])
        mask = whole > 1
        np.testing.assert_array_equal(stored.get_mask_selection(mask), whole[mask])

    def test_a_part_of_a_chunk_decodes_only_its_region(self):
        import csz._codec as codec

        stored, regions = self.make(), []
        real = codec._api.decompress

        def spy(archive, **options):
            regions.append(options.get("region"))
            return real(archive, **options)

        with mock.patch.object(codec._api, "decompress", spy):
            stored[5:9, 33:35, 7]
        self.assertEqual(regions, [[(5, 9), (1, 3), (7, 8)]])

    def test_writing_parts_and_resizing(self):
        stored = self.make()
        first = stored[:]
        stored[3:7, 40:50] = 9
        self.field[3:7, 40:50] = 9
        self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3)
        first[3:7, 40:50] = stored[3:7, 40:50]
        np.testing.assert_array_equal(stored[:], first)  # what was only read and written again has not moved
        stored.resize((60, 60, 35))
        self.assertTrue((stored[50:] == 0).all())

    def test_shards(self):
        stored = self.make(chunks=(16, 16, 16), shards=(32, 32, 32))
        self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3)
        self.assertLessEqual(largest_error(self.field[3:9, :, 20:30], stored[3:9, :, 20:30]), 1e-3)

    def test_with_other_codecs_around(self):
        import zarr

        stored = self.make(filters=[zarr.codecs.TransposeCodec(order=(2, 0, 1))], compressors=[zarr.codecs.ZstdCodec()])
        self.assertLessEqual(largest_error(self.field, stored[:]), 1e-3)

    def test_every_rank(self):
        import zarr
        from csz.zarr import CszCodec

        for i, shape in enumerate(((), (50,), (6, 7), (2, 3, 4, 5), (2, 3, 4, 5, 6))):
            field = smooth(shape) if shape else np.float32(3.25)
            stored = zarr.create_array(
                self.path, name=str(i), shape=shape, chunks=shape, dtype="float32", serializer=CszCodec(abs=1e-3), compressors=None
            )
            stored[...] = field
            self.assertLessEqual(largest_error(field, zarr.open_array(self.path, path=str(i))[...]), 1e-3)

    def test_fill_value_of_the_array(self):
        from csz.zarr import CszCodec

        self.field[:20, 5:9] = 1e20
        stored = self.make(codec=CszCodec(rel=1e-3), fill_value=1e20)
        self.assertEqual(csz.info((Path(self.path) / "c/0/0/0").read_bytes()).fill, float(np.float32(1e20)))
        values, present = stored[:], self.field != np.float32(1e20)
        np.testing.assert_array_equal(values == np.float32(1e20), ~present)
        self.assertLessEqual(largest_error(self.field[present], values[present]), 1e-3 * float(np.ptp(self.field[present])))

    def test_fill_as_it_is_stored(self):
        from csz.zarr import CszCodec

        for given, written in (("auto", {}), (None, {"fill": None}), (np.inf, {"fill": "Infinity"}), (9, {"fill": 9.0})):
            self.make(codec=CszCodec(abs=1e-3, fill=given), overwrite=True)
            self.assertEqual(self.metadata()["codecs"][0]["configuration"], {"abs": 1e-3, **written})

    def test_pointwise_bounds(self):
        import zarr
        from csz.zarr import CszCodec

        field = np.exp(30 * smooth((20, 30), "float64"))
        stored = zarr.create_array(self.path, shape=field.shape, chunks=(16, 16), dtype="float64", fill_value=5.0, serializer=CszCodec(pwr=1e-3),
                                   compressors=None, overwrite=True)  # fmt: skip
        stored[:] = field
        self.assertEqual(self.metadata()["codecs"][0]["configuration"], {"pwr": 1e-3})
        self.assertTrue(np.all(np.abs(stored[:] - field) <= 1.000001e-3 * field))
        stored = zarr.create_array(self.path, shape=field.shape, chunks=(16, 16), dtype="float64", fill_value=5.0, serializer=CszCodec(exact=True),
                                   compressors=None, overwrite=True)  # fmt: skip
        stored[:] = field
        self.assertEqual(self.metadata()["codecs"][0]["configuration"], {"exact": True})
        self.assertEqual(zarr.open_array(self.path, mode="r")[:].tobytes(), field.tobytes())

    def test_padding_does_not_count_for_relative_bounds(self):
        import zarr
        from csz.zarr import CszCodec

        field = (300 + smooth((50, 60, 35))).astype("float32")
        for given in ({"rel": 1e-3}, {"psnr": 70.0}):
            for value in (0, 5e5, np.nan):
                with self.subTest(**given, padding=value):
                    stored = zarr.create_array(
                        self.path, shape=field.shape, chunks=(32, 32, 32), dtype="float32", fill_value=value,
                        serializer=CszCodec(**given), compressors=None, overwrite=True,
                    )  # fmt: skip
                    stored[:] = field
                    corner = csz.info((Path(self.path) / "c/1/1/1").read_bytes())
                    expected = csz.absolute_bound(field[32:, 32:, 32:], **given)
                    self.assertEqual(corner.bound_abs, expected)
                    self.assertLessEqual(largest_error(field[32:, 32:, 32:], zarr.open_array(self.path)[32:, 32:, 32:]), expected)
        # nor where no value is missing
        stored = zarr.create_array(
            self.path, shape=field.shape, chunks=(32, 32, 32), dtype="float32", serializer=CszCodec(rel=1e-3, fill=None), compressors=None, overwrite=True
        )
        stored[:] = field
        corner = csz.info((Path(self.path) / "c/1/1/1").read_bytes())
        self.assertEqual(corner.bound_abs, csz.absolute_bound(field[32:, 32:, 32:], rel=1e-3))

    def test_chunks_of_one_value(self):
        from csz.zarr import CszCodec

        self.field[:] = 7.3
        self.assertEqual(largest_error(self.field, self.make(codec=CszCodec(rel=1e-3))[:]), 0)

    def test_relative_bounds_are_per_chunk_and_can_be_resolved(self):
        from csz.zarr import CszCodec

        self.field[:32] *= 100
        bound = csz.absolute_bound(self.field, rel=1e-3)
        self.assertEqual(bound, csz.info(csz.compress(self.field, rel=1e-3)).bound_abs)
        stored = self.make(codec=CszCodec(rel=1e-3), chunks=(10, 60, 35))[:]
        self.assertLess(largest_error(self.field[40:], stored[40:]), bound / 50)
        stored = self.make(codec=CszCodec(abs=bound), overwrite=True)
        self.assertLessEqual(largest_error(self.field, stored[:]), bound)
        self.assertAlmostEqual(csz.absolute_bound(stored, rel=1e-3), bound, delta=bound * 0.01)

    def test_wrong_types_and_settings_are_refused(self):
        from csz.zarr import CszCodec

        with self.assertRaisesRegex(csz.DtypeError, "not int32"):
            self.make(dtype="int32")
        with self.assertRaises(csz.BoundError):
            CszCodec()
        for wrong in (-3, 1.5, "2"):
            with self.assertRaisesRegex(csz.ArgumentError, "threads"):
                CszCodec(abs=1, threads=wrong)  # not at the first chunk
        with self.assertRaisesRegex(csz.ArgumentError, "configuration of the codec csz"):
            CszCodec.from_dict({"name": "csz", "configuration": {"abs": 1, "speed": 9}})

    def test_damaged_and_foreign_chunks(self):
        stored = self.make()
        chunk = Path(self.path) / "c/0/0/0"
        good = chunk.read_bytes()
        for bad in (good[:-3], good[:60] + bytes([good[60] ^ 4]) + good[61:], b"", b"other", csz.compress(smooth((3, 3, 3)), abs=1),
                    csz.compress(smooth((32, 32, 32), "float64"), abs=1)):  # fmt: skip
            chunk.write_bytes(bad)
            with self.assertRaises(csz.ArchiveError) as caught:
                stored[0, 0, 0]
            self.assertNotIn("scratch", str(caught.exception))
            with self.assertRaises(csz.ArchiveError):
                stored[:]

    def test_codec_pickles(self):
        from csz.zarr import CszCodec

        codec = CszCodec(rel=1e-3, threads=3)
        self.assertEqual(pickle.loads(pickle.dumps(codec)), codec)
        self.assertEqual(CszCodec.from_dict(json.loads(json.dumps(codec.to_dict()))), codec)

    @needs("xarray")
    def test_xarray(self):
        import warnings

        import xarray
        from csz.zarr import CszCodec

        data = xarray.Dataset({"t": (("z", "y", "x"), self.field)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoding = {"t": {"serializer": CszCodec(abs=1e-3), "compressors": None, "chunks": (32, 32, 32)}}
            data.to_zarr(self.path, encoding=encoding, zarr_format=3, consolidated=False)
            back = xarray.open_zarr(self.path, consolidated=False, chunks=None)
            self.assertLessEqual(largest_error(self.field, back["t"].values), 1e-3)
            self.assertLessEqual(largest_error(self.field[3:5, :, 7], back["t"][3:5, :, 7].values), 1e-3)


@needs("zarr", "dask")
class Dask(unittest.TestCase):
    """Sums over compressed chunks differ from those over the data by no more than the bound allows."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.field = smooth((64, 96, 48))

    def stores(self):
        import zarr
        from csz.numcodecs import Csz
        from csz.zarr import CszCodec

        three, two = str(self.folder / "3.zarr"), str(self.folder / "2.zarr")
        common = {"shape": self.field.shape, "chunks": (16, 32, 48), "dtype": "float32"}
        zarr.create_array(three, serializer=CszCodec(abs=1e-3), compressors=None, **common)[:] = self.field
        zarr.create_array(two, compressors=Csz(abs=1e-3), zarr_format=2, **common)[:] = self.field
        return three, two

    def agrees(self, path, **how):
        import dask.array

        lazy = dask.array.from_zarr(path)
        mean, column, whole = dask.compute(lazy.mean(dtype="float64"), lazy[:, 5, 7].max(), lazy, **how)
        self.assertLessEqual(abs(float(mean) - float(self.field.mean(dtype="float64"))), 1e-3)
        self.assertLessEqual(abs(float(column) - float(self.field[:, 5, 7].max())), 1e-3)
        self.assertLessEqual(largest_error(self.field, whole), 1e-3)

    def test_over_threads(self):
        for path in self.stores():
            self.agrees(path, scheduler="threads", num_workers=4)

    def test_writing_from_blocks_over_threads(self):
        import dask.array
        import zarr
        from csz.zarr import CszCodec

        lazy = dask.array.from_array(self.field, chunks=(16, 32, 48))
        bound = csz.absolute_bound(lazy, rel=1e-3)
        self.assertEqual(bound, csz.absolute_bound(self.field, rel=1e-3))
        path = str(self.folder / "w.zarr")
        target = zarr.create_array(
            path, shape=lazy.shape, chunks=lazy.chunksize, dtype="float32", serializer=CszCodec(abs=bound), compressors=None
        )
        dask.array.store(lazy, target, lock=False, scheduler="threads", num_workers=4)
        self.assertLessEqual(largest_error(self.field, zarr.open_array(path)[:]), bound)

    @needs("distributed")
    def test_over_a_cluster_of_processes(self):
        from distributed import Client, LocalCluster

        paths = self.stores()
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(self.folder), silence_logs=50
        ) as cluster, Client(cluster):
            for path in paths:
                self.agrees(path)


if __name__ == "__main__":
    unittest.main()
