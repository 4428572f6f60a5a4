# SPDX-License-Identifier: BSD-3-Clause
"""Checks that numcodecs, zarr and hdf5plugin bring for codecs, as they come in their wheels, on those of
csz.  Run by pytest.

Two things they ask for are not given.  numcodecs' checks encode bytes without a type: bytes do not say
whether they are floats, or what a filter made of floats, so the codec refuses them (test_bytes_are_refused).
And they take what is decoded for flat, while the codec returns the dims of the archive, which of a chunk in
Fortran order are reversed; Zarr makes it flat first.  For the check of round trips bytes get their type here,
and results are made flat.
"""

import json

import numcodecs
import numpy as np
import pytest
import zarr

import csz.hdf5
from csz.numcodecs import Csz
from csz.zarr import CszCodec

# ---- numcodecs -----------------------------------------------------------------------------------------------------------

common = pytest.importorskip("numcodecs.tests.common")
common.Csz = Csz  # check_repr evaluates there
numcodecs.register_codec(Csz)  # the package need not be installed here
zarr.registry.register_codec("csz", CszCodec)
EXACT = 5e-324  # a bound below every step between two floats
ARRAYS = [
    np.arange(1000, dtype="f4"),
    np.arange(1000, dtype="f8"),
    np.random.default_rng(1).normal(loc=1000, scale=1, size=(100, 10)),
    np.random.default_rng(2).normal(loc=1000, scale=1, size=(10, 10, 10)).astype("f4"),
    np.random.default_rng(3).normal(size=(2, 5, 10, 10)).reshape((100, 10), order="F"),
    np.asfortranarray(np.random.default_rng(4).normal(size=(30, 40))),
]
CODECS = [Csz(abs=EXACT), Csz(abs=1e-4), Csz(rel=1e-7, workflow="huffman"), Csz(abs=1e-4, predictor="pyramid", fill=None), Csz(abs=1e-4, zstd=3)]


class Typed(Csz):
    """Takes bytes for floats of one type, and decodes to flat arrays."""

    def __init__(self, dtype, **settings):
        super().__init__(**settings)
        self.of_bytes = dtype

    def encode(self, buf):
        return super().encode(buf if isinstance(buf, np.ndarray) else np.frombuffer(buf, self.of_bytes))

    def decode(self, buf, out=None):
        decoded = super().decode(buf, out)
        return decoded.reshape(-1) if out is None else decoded


@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_numcodecs_round_trips(array):
    common.check_encode_decode(array, Typed(array.dtype, abs=EXACT))
    common.check_encode_decode(array, Typed(array.dtype, abs=1e-4), precision=3)
    common.check_encode_decode_array(array, Csz(abs=EXACT))


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_numcodecs_config(codec):
    common.check_config(codec)
    common.check_repr(repr(codec))


def test_numcodecs_fixtures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # written, then read
        common.check_backwards_compatibility("csz", ARRAYS[:4], CODECS, precision=[None, 3, 2, 3, 3])


def test_numcodecs_objects_are_refused():
    common.check_err_encode_object_buffer(Csz(abs=1))
    with pytest.raises(TypeError):  # check_err_decode_object_buffer, of floats
        Csz(abs=1).decode(Csz(abs=1).encode(np.arange(10.0)), out=np.empty(10, dtype=object))


def test_bytes_are_refused():
    for bytes_like in (b"12345678", bytearray(8), np.zeros(8, "u1")):
        with pytest.raises(TypeError):
            Csz(abs=1).encode(bytes_like)


# ---- zarr ----------------------------------------------------------------------------------------------------------------

hypothesis = pytest.importorskip("hypothesis")
st, npst = hypothesis.strategies, pytest.importorskip("hypothesis.extra.numpy")
strategies = pytest.importorskip("zarr.testing.strategies")
FLOATS = strategies.np_array_and_chunks(arrays=npst.arrays(dtype=st.sampled_from(["float32", "float64"]), shape=npst.array_shapes(max_dims=5, max_side=6)))


def stored(nparray, chunks, zarr_format):
    kind = {"serializer": CszCodec(abs=1e-3), "compressors": None} if zarr_format == 3 else {"compressors": Csz(abs=1e-3, fill=None)}
    array = zarr.create_array(store={}, shape=nparray.shape, chunks=chunks, dtype=nparray.dtype, zarr_format=zarr_format, **kind)
    array[...] = nparray
    return zarr.open_array(array.store, mode="r")


def assert_within(restored, nparray):
    restored, nparray = np.asarray(restored), np.asarray(nparray)
    assert restored.shape == nparray.shape
    finite = np.isfinite(nparray)
    assert (np.abs(restored[finite].astype("f8") - nparray[finite]) <= 1e-3).all()
    np.testing.assert_array_equal(restored[~finite], nparray[~finite])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@hypothesis.settings(max_examples=300, deadline=None, derandomize=True)
@hypothesis.given(data=st.data())
def test_zarr_indexing(zarr_format, data):
    nparray, chunks = data.draw(FLOATS)
    array = stored(nparray, chunks, zarr_format)
    assert_within(array[...], nparray)
    if nparray.size:
        indexer = data.draw(strategies.basic_indices(shape=nparray.shape))
        assert_within(array[indexer], nparray[indexer])
        indexer, numpy_indexer = data.draw(strategies.orthogonal_indices(shape=nparray.shape))
        assert_within(array.oindex[indexer], nparray[numpy_indexer])
        mask = data.draw(npst.arrays(dtype=bool, shape=nparray.shape))
        assert_within(array.get_mask_selection(mask), nparray[mask])


@pytest.mark.filterwarnings("ignore")
@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(data=st.data())
def test_zarr_shards(data):
    nparray, chunks = data.draw(FLOATS)
    hypothesis.assume(nparray.size and min(chunks) > 0)
    shards = data.draw(strategies.shard_shapes(shape=nparray.shape, chunk_shape=chunks))
    array = zarr.create_array(store={}, shape=nparray.shape, chunks=chunks, shards=shards, dtype=nparray.dtype, serializer=CszCodec(abs=1e-3), compressors=None)
    array[...] = nparray
    assert_within(array[...], nparray)
    assert json.loads(json.dumps(array.metadata.to_dict()["codecs"][0]["configuration"]["codecs"][0])) == {"name": "csz", "configuration": {"abs": 1e-3}}


# ---- hdf5plugin ----------------------------------------------------------------------------------------------------------

hdf5plugin_test = pytest.importorskip("hdf5plugin.test")
hdf5plugin_test.compression_name_to_class["csz"] = csz.hdf5.Csz
hdf5plugin_test.hdf5plugin.FILTERS["csz"] = csz.hdf5.FILTER_ID


class TestHdf5plugin(hdf5plugin_test.BaseTestHDF5PluginRW):
    def test_csz(self):
        for dtype in (np.float32, np.float64, np.dtype(">f4"), np.dtype(">f8")):
            for options in ({"abs": 1e-6}, {"rel": 1e-6}, {"psnr": 100}, {"abs": 1e-6, "predictor": "pyramid"}, {"abs": 1e-6, "fill": 1e20}):
                with self.subTest(dtype=dtype, options=options):
                    number, *_ = self._test("csz", dtype, lossless=False, options=options)
                    self.assertEqual(number, csz.hdf5.FILTER_ID)
