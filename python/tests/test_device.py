# SPDX-License-Identifier: BSD-3-Clause
"""What the package does around calls on a GPU, checked without one: a stand-in for the driver counts waits
and devices, and "device" arrays of a stand-in for CuPy lie in host memory, where the library's CPU backend
can work on them."""

import asyncio
import ctypes
import sys
import types
import unittest
from contextlib import nullcontext
from unittest import mock

import numpy as np

import csz
from csz import _cuda, _library
from support import largest_error, needs, smooth


class Driver:
    """Notes what is asked of it; every pointer belongs to device 0."""

    def __init__(self):
        self.log, self.depth = [], 0

    def cuPointerGetAttribute(self, place, *_):
        place._obj.value = 0
        return 0

    def cuCtxGetDevice(self, place):
        return 0

    def cuDeviceGet(self, *_):
        return 0

    def cuDevicePrimaryCtxRetain(self, *_):
        return 0

    def cuCtxPushCurrent_v2(self, _):
        self.depth += 1
        return 0

    def cuCtxPopCurrent_v2(self, _):
        self.depth -= 1
        return 0

    def cuStreamSynchronize(self, stream):
        self.log.append(("wait", stream))
        return 0

    def cuMemcpyDtoH_v2(self, to, source, nbytes):
        ctypes.memmove(to, source, nbytes)
        return 0

    cuMemcpyHtoD_v2 = cuMemcpyDtoH_v2


class Array:
    """As much of cupy.ndarray as is used."""

    device = nullcontext()
    stream = 77

    def __init__(self, held):
        self.held = held
        self.shape, self.dtype, self.size, self.ndim = held.shape, held.dtype, held.size, held.ndim

    @property
    def __cuda_array_interface__(self):
        strides = None if self.held.flags.c_contiguous else self.held.strides
        data = (self.held.ctypes.data if self.held.size else 0, not self.held.flags.writeable)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": strides, "version": 3, "stream": self.stream}

    def __getitem__(self, key):
        return Array(self.held[key])

    def copy(self):
        return Array(self.held.copy())


def fake_cupy():
    module = types.ModuleType("cupy")
    module.ndarray = Array
    module.empty = lambda shape, dtype: Array(np.empty(shape, dtype))
    module.asarray = lambda x: x
    module.ascontiguousarray = lambda x: Array(np.ascontiguousarray(x.held))
    module.cuda = types.SimpleNamespace(Device=lambda n: nullcontext())
    return module


class OnStandIns(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()
        self.cupy = fake_cupy()
        built = _library.lib.csz_backend_built
        for patch in (
            mock.patch.object(_cuda._state, "driver", self.driver),
            mock.patch.object(_cuda._state, "usable", True),
            mock.patch.object(_cuda._state, "primary", {}),
            mock.patch.dict(sys.modules, {"cupy": self.cupy}),
            mock.patch.object(_library.lib, "csz_backend_built", lambda backend: 1 if backend == _library.CUDA else built(backend)),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def tearDown(self):
        self.assertEqual(self.driver.depth, 0)


class Device(OnStandIns):
    def setUp(self):
        super().setUp()
        self.host = smooth((20, 30, 10))
        self.field = Array(self.host)
        self.archive = csz.compress(self.host, abs=1e-3, backend="cpu")

    def calls(self, call):
        """What call returns, with the order of waits and calls of the library, and the pointers that the
        latter got."""
        self.driver.log.clear()
        for name in ("csz_compress", "csz_decompress", "csz_decompress_region"):
            real = getattr(_library.lib, name)

            def spy(*arguments, real=real):
                self.driver.log.append(("call", [a for a in arguments if isinstance(a, int)]))
                self.assertEqual(self.driver.depth, 1)
                return real(*arguments)

            patch = mock.patch.object(_library.lib, name, spy)
            patch.start()
            self.addCleanup(patch.stop)
        return call()

    def test_streams_are_waited_for_before_the_call_and_nothing_is_copied(self):
        archive = self.calls(lambda: csz.compress(self.field, abs=1e-3))
        self.assertEqual(self.driver.log[0], ("wait", 77))
        self.assertEqual(self.driver.log[1][0], "call")
        self.assertIn(self.host.ctypes.data, self.driver.log[1][1])
        self.assertIsInstance(archive, Array)
        self.assertEqual(archive.held.tobytes(), self.archive)
        back = csz.decompress(archive)
        self.assertIsInstance(back, Array)
        self.assertLessEqual(largest_error(self.host, back.held), 1e-3)

    def test_the_default_stream_needs_no_wait(self):
        with mock.patch.object(Array, "stream", None):
            self.calls(lambda: csz.compress(self.field, abs=1e-3))
        self.assertEqual([entry[0] for entry in self.driver.log], ["call", "wait"])  # the latter for the copy of the archive

    def test_small_arrays_on_the_host_do_not_start_cuda(self):
        with mock.patch.object(Driver, "cuCtxPushCurrent_v2", side_effect=AssertionError("CUDA was started")):
            csz.decompress(csz.compress(self.host, abs=1e-3))

    def test_out_like_and_regions(self):
        whole = csz.decompress(self.archive, backend="cpu")
        device_archive = Array(np.frombuffer(self.archive, "uint8").copy())
        out = Array(np.empty_like(self.host))
        self.assertIs(csz.decompress(device_archive, out), out)
        np.testing.assert_array_equal(out.held, whole)
        self.assertIsInstance(csz.decompress(self.archive, like=self.cupy), Array)
        self.assertIsInstance(csz.decompress(self.archive, like=self.field), Array)
        np.testing.assert_array_equal(csz.decompress(device_archive, like=np), whole)
        np.testing.assert_array_equal(csz.decompress(device_archive, region=np.s_[3:5, ..., 2]).held, whole[3:5, ..., 2])
        self.assertEqual(csz.compress(self.field, abs=1e-3, like=np), self.archive)
        self.assertEqual(csz.info(device_archive), csz.info(self.archive))
        self.assertTrue(csz.compare(self.field, out, bound=1e-3))
        csz.check(device_archive)

    def test_strides(self):
        part = self.host[::2, ::-1]
        self.assertEqual(csz.compress(Array(part), abs=1e-3).held.tobytes(), csz.compress(part, abs=1e-3, backend="cpu"))

    def test_an_archive_that_is_not_aligned_is_copied(self):
        room = np.zeros(len(self.archive) + 16, "uint8")
        at = (-room.ctypes.data) % 8 + 3
        room[at : at + len(self.archive)] = np.frombuffer(self.archive, "uint8")
        part = Array(room[at : at + len(self.archive)])
        back = self.calls(lambda: csz.decompress(part))
        self.assertLessEqual(largest_error(self.host, back.held), 1e-3)
        (call,) = [entry for entry in self.driver.log if entry[0] == "call"]
        self.assertNotIn(room.ctypes.data + at, call[1])

    def test_empty_and_rank_0(self):
        self.assertRaises(csz.ArchiveError, csz.decompress, Array(np.empty(0, "uint8")))
        for shape in ((0,), (3, 0), ()):
            archive = csz.compress(Array(np.ones(shape, "float32")), abs=1e-3)
            self.assertEqual(csz.decompress(archive, shape=shape).shape, shape)

    @unittest.skipUnless(csz.features()["zstd"], "this build has no zstd")
    def test_zstd_goes_over_the_host(self):
        archive = csz.compress(self.field, abs=1e-3, zstd=1)
        self.assertIsInstance(archive, Array)
        back = csz.decompress(archive)
        self.assertIsInstance(back, Array)
        self.assertLessEqual(largest_error(self.host, back.held), 1e-3)
        with self.assertRaisesRegex(csz.BackendError, "zstd"):
            csz.decompress(archive, backend="cuda")

    def test_dlpack(self):
        struct = type("Tensor", (csz._arrays._DLTensor,), {})
        shape = (ctypes.c_int64 * 3)(*self.host.shape)
        tensor = struct(self.host.ctypes.data - 4, 2, 0, 3, 2, 32, 1, shape, None, 4)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        asked = []

        class OnlyDLPack:
            def __dlpack_device__(self):
                return (2, 0)

            def __dlpack__(self, stream=None):
                asked.append(stream)
                return new(ctypes.addressof(tensor), b"dltensor", None)

        self.assertEqual(csz.compress(OnlyDLPack(), abs=1e-3, like=np), self.archive)
        self.assertEqual(asked, [1])
        self.assertIsInstance(csz.compress(OnlyDLPack(), abs=1e-3), Array)
        with self.assertRaisesRegex(csz.ArgumentError, "DLPack"):
            csz.decompress(self.archive, OnlyDLPack())

    def test_errors(self):
        device_archive = Array(np.frombuffer(self.archive, "uint8").copy())
        frozen = np.empty_like(self.host)
        frozen.flags.writeable = False
        for kind, text, call in (
            (csz.ArgumentError, "backend='cpu'", lambda: csz.compress(self.field, abs=1, backend="cpu")),
            (csz.ArgumentError, "backend='cpu'", lambda: csz.decompress(device_archive, backend="cpu")),
            (csz.DtypeError, "float32 and float64", lambda: csz.compress(Array(np.zeros(3, "int32")), abs=1)),
            (csz.DtypeError, "uint8", lambda: csz.decompress(self.field)),
            (csz.ArgumentError, "read-only", lambda: csz.decompress(device_archive, Array(frozen))),
            (csz.ArgumentError, "C-contiguous", lambda: csz.decompress(device_archive, Array(np.empty_like(self.host, order="F")))),
            (csz.DtypeError, "float64", lambda: csz.decompress(device_archive, Array(np.empty((20, 30, 10))))),
            (csz.DimsError, "does not fit", lambda: csz.decompress(device_archive, Array(np.empty(3, "float32")))),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                call()
        memory = np.zeros(24000, "uint8")
        memory[: len(self.archive)] = np.frombuffer(self.archive, "uint8")
        with self.assertRaisesRegex(csz.ArgumentError, "overlaps"):
            csz.decompress(Array(memory[: len(self.archive)]), Array(memory.view("float32")))
        with mock.patch.object(Driver, "cuStreamSynchronize", lambda *_: 700), mock.patch.object(
            Driver, "cuGetErrorString", lambda *_: 0, create=True
        ), self.assertRaisesRegex(csz.BackendError, "error 700"):
            csz.compress(self.field, abs=1e-3)


class Batches:
    """Stands for the calls of csz_cuda.h that take several fields: does them on the CPU, and notes how
    many."""

    def __init__(self, status=0):
        self.status, self.log = status, []

    def done(self, results, i, status, nbytes):
        ctypes.memmove(results + 16 * i, bytes(_library.CudaResult(nbytes.value, status, 0)), 16)

    def csz_cuda_compress_batch(self, context, n, d_out, capacity, results, d_data, field, options, *workspace_and_stream):
        assert workspace_and_stream == (None, 0, None)
        self.log.append(("compress", n))
        for i in range(0 if self.status else n):
            assert d_out[i] % 8 == 0
            nbytes = ctypes.c_size_t()
            self.done(results, i, _library.lib.csz_compress(context, d_out[i], capacity[i], ctypes.byref(nbytes), d_data[i], field, options), nbytes)
        return self.status

    def decompress(self, name, context, n, d_data, capacity, results, d_archives, archive_nbytes, compressed, field, *workspace_and_stream):
        assert compressed is None and workspace_and_stream == (None, 0, None)
        self.log.append((name, n))
        for i in range(0 if self.status else n):
            info, options = _library.Info(), csz._arguments.decompress_options("auto", 1, None)
            status = _library.lib.csz_inspect(ctypes.byref(info), ctypes.sizeof(info), d_archives[i], archive_nbytes[i])
            if not status and (bytes(info.field) != bytes(field._obj) or info.has_zstd or info.has_pyramids > (name == "level")):
                status = csz.ArgumentError.status
            status = status or _library.lib.csz_decompress(context, d_data[i], capacity, d_archives[i], archive_nbytes[i], ctypes.byref(options))
            self.done(results, i, status, ctypes.c_size_t(capacity))
        return self.status

    def csz_cuda_decompress_batch(self, *arguments):
        return self.decompress("decompress", *arguments)

    def csz_cuda_decompress_level_batch(self, *arguments):
        level = arguments[9]
        assert level == 0
        return self.decompress("level", *arguments[:9], *arguments[10:])


@needs("zarr")
class ZarrBatches(OnStandIns):
    """Chunks that zarr hands to the codec together, on the device, go to the library together, and come back
    as they would one by one."""

    @classmethod
    def setUpClass(cls):
        import csz.zarr  # noqa: F401  now: the patch of sys.modules forgets what is imported under it

    def setUp(self):
        super().setUp()
        from zarr.core.buffer import gpu

        patch = mock.patch.object(gpu, "cp", self.cupy)
        patch.start()
        self.addCleanup(patch.stop)
        self.gpu = gpu
        self.fields = [smooth((80, 90), seed=i) for i in range(4)]
        self.use(Batches())

    def use(self, batches):
        self.batches = batches
        for name in ("csz_cuda_compress_batch", "csz_cuda_decompress_batch", "csz_cuda_decompress_level_batch"):
            patch = mock.patch.object(_library.lib, name, getattr(batches, name))
            patch.start()
            self.addCleanup(patch.stop)

    def spec(self, field, fill_value=0.0):
        from zarr.core.array_spec import ArrayConfig, ArraySpec
        from zarr.core.dtype import parse_dtype

        shape, dtype = field.shape, parse_dtype(field.dtype, zarr_format=3)
        return ArraySpec(shape, dtype, fill_value, ArrayConfig("C", False), self.gpu.buffer_prototype)

    def encode(self, codec, fields, **options):
        specs = [self.spec(self.fields[0] if field is None else field, **options) for field in fields]
        chunks = [None if field is None else self.gpu.NDBuffer(Array(field)) for field in fields]
        made = asyncio.run(codec.encode(zip(chunks, specs)))
        return [None if one is None else one.as_array_like().held.tobytes() for one in made], specs

    def buffers(self, archives):
        return [None if archive is None else self.gpu.Buffer(Array(np.frombuffer(archive, "uint8").copy())) for archive in archives]

    def decode(self, codec, archives, specs):
        return [None if one is None else one.as_ndarray_like().held for one in asyncio.run(codec.decode(zip(self.buffers(archives), specs)))]

    def decode_partial(self, codec, archives, specs, selections):
        class Getter:
            def __init__(self, data):
                self.data = data

            async def get(self, prototype):
                return self.data

        work = zip(map(Getter, self.buffers(archives)), selections, specs)
        return [None if one is None else one.as_ndarray_like().held for one in asyncio.run(codec.decode_partial(work))]

    def alone(self, field, **settings):
        return csz.compress(field, backend="cpu", **settings)

    def test_there_and_back_in_one_call_each(self):
        from csz.zarr import CszCodec

        for settings in ({"abs": 1e-3}, {"pwr": 1e-3, "floor": 1e-5}, {"exact": True}, {"abs": 1e-2, "predictor": "pyramid"}):
            with self.subTest(**settings):
                self.batches.log.clear()
                codec = CszCodec(**settings)
                archives, specs = self.encode(codec, self.fields)
                self.assertEqual(archives, [self.alone(field, **settings) for field in self.fields])
                for found, archive in zip(self.decode(codec, archives, specs), archives):
                    np.testing.assert_array_equal(found, csz.decompress(archive, backend="cpu"))
                self.assertEqual(self.batches.log, [("compress", 4), ("level" if "predictor" in settings else "decompress", 4)])

    def test_other_shapes_and_chunks_that_are_not_there_keep_their_places(self):
        from csz.zarr import CszCodec

        codec, other = CszCodec(abs=1e-3), smooth((5, 6))
        fields = [self.fields[0], None, other, self.fields[1], smooth((7,), "float64"), other + 1, None]
        archives, specs = self.encode(codec, fields)
        self.assertEqual(archives, [None if field is None else self.alone(field, abs=1e-3) for field in fields])
        self.assertEqual(self.batches.log, [("compress", 2), ("compress", 2)])
        self.batches.log.clear()
        for found, field in zip(self.decode(codec, archives, specs), fields):
            self.assertEqual(found is None, field is None)
            if field is not None:
                self.assertEqual(found.dtype, field.dtype)
                self.assertLessEqual(largest_error(found, field), 1e-3)
        self.assertEqual(self.batches.log, [("decompress", 2), ("decompress", 2)])

    def test_bounds_that_leave_out_padding_are_resolved_chunk_by_chunk(self):
        from csz.zarr import CszCodec

        masked = [np.where(field > 1, np.float32(9), field) for field in self.fields]
        archives, _ = self.encode(CszCodec(rel=1e-3), masked, fill_value=9.0)
        self.assertEqual(archives, [self.alone(field, rel=1e-3, fill=9.0) for field in masked])
        self.assertEqual(self.batches.log, [("compress", 4)])
        self.batches.log.clear()
        with mock.patch("csz._codec.bound_without", return_value={"abs": 1e-2}) as resolved:
            archives, _ = self.encode(CszCodec(rel=1e-3, fill=None), masked, fill_value=9.0)
        self.assertEqual((resolved.call_count, self.batches.log), (4, []))
        self.assertEqual(archives, [self.alone(field, abs=1e-2) for field in masked])

    def test_whole_chunks_together_and_parts_alone(self):
        from csz.zarr import CszCodec

        codec = CszCodec(abs=1e-3)
        archives, specs = self.encode(codec, self.fields)
        self.batches.log.clear()
        whole, part = np.s_[0:80:1, 0:90:1], np.s_[3:5:1, 0:90:1]
        found = self.decode_partial(codec, [*archives[:3], None, archives[3]], [*specs, specs[0]], [whole, part, whole, whole, whole])
        self.assertEqual(self.batches.log, [("decompress", 3)])
        self.assertIsNone(found.pop(3))
        for i, values in enumerate(found):
            np.testing.assert_array_equal(values, csz.decompress(archives[i], backend="cpu")[part if i == 1 else whole])

    def test_errors_are_those_of_one_chunk(self):
        from csz.zarr import CszCodec

        codec = CszCodec(abs=1e-3)
        archives, specs = self.encode(codec, self.fields)
        damaged = bytearray(archives[2])
        damaged[len(damaged) // 2] ^= 1
        for bad, kind in ((bytes(damaged), csz.CorruptError), (archives[2][:50], csz.TruncatedError), (self.alone(self.fields[0][1:], abs=1), csz.CorruptError)):
            with self.assertRaises(kind):
                self.decode(codec, [*archives[:2], bad, archives[3]], specs)
        mixed = [archives[0], self.alone(self.fields[1], abs=1e-3, predictor="pyramid"), archives[2]]
        self.assertGreater(csz.info(mixed[1]).levels, 1)
        for found, archive in zip(self.decode(codec, mixed, specs), mixed):  # what the codec did not write is read all the same
            np.testing.assert_array_equal(found, csz.decompress(archive, backend="cpu"))

    def test_what_cannot_be_done_together_is_done_alone(self):
        from csz.zarr import CszCodec

        codec = CszCodec(abs=1e-3)
        self.use(Batches(csz.OutOfMemoryError.status))
        archives, specs = self.encode(codec, self.fields)
        self.assertEqual(archives, [self.alone(field, abs=1e-3) for field in self.fields])
        for found, field in zip(self.decode(codec, archives, specs), self.fields):
            self.assertLessEqual(largest_error(found, field), 1e-3)
        self.assertEqual(self.batches.log, [("compress", 4), ("decompress", 4)])
        if csz.features()["zstd"]:
            self.encode(CszCodec(abs=1e-3, zstd=1), self.fields)
            self.assertEqual(len(self.batches.log), 2)


class WithoutAGpu(unittest.TestCase):
    @unittest.skipIf(csz.features()["cuda_available"], "there is one")
    def test_the_calls_take_what_they_are_given(self):
        """A library that has no GPU to use says so, after it has looked at the arguments."""
        from csz import _batch

        seen = []

        def call(function, device, streams, *arguments):
            seen.append((function.__name__, function(_library.context().handle, *arguments)))
            return csz.BackendError.status

        host = [np.ones((20, 30), "float32") for _ in range(2)]

        def made(like, shape, dtype):
            array = np.zeros(shape, dtype)
            return array, csz._arrays._view_numpy(array)

        archives = [csz.compress(field, abs=1e-3) for field in host]
        with mock.patch.object(_cuda, "call", call), mock.patch.object(_batch, "_make", made):
            self.assertEqual(_batch.compress(host, None, abs=1e-3), [None, None])
            for predictor in ("lorenzo", "auto"):
                self.assertEqual(_batch.decompress(archives, (20, 30), np.dtype("float32"), predictor), [None, None])
        names = ("csz_cuda_compress_batch", "csz_cuda_decompress_batch", "csz_cuda_decompress_level_batch")
        self.assertEqual(seen, [(name, csz.BackendError.status) for name in names])


if __name__ == "__main__":
    unittest.main()
