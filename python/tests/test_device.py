# SPDX-License-Identifier: BSD-3-Clause
"""What the package does around calls on a GPU, checked without one: a stand-in for the driver counts waits and devices, and "device"
arrays of a stand-in for CuPy lie in host memory, where the library's CPU backend can work on them."""

import ctypes
import sys
import types
import unittest
from contextlib import nullcontext
from unittest import mock

import numpy as np

import csz
from csz import _cuda, _library
from support import largest_error, smooth


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
        self.shape, self.dtype, self.size = held.shape, held.dtype, held.size

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


class Device(unittest.TestCase):
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
        self.host = smooth((20, 30, 10))
        self.field = Array(self.host)
        self.archive = csz.compress(self.host, abs=1e-3, backend="cpu")

    def tearDown(self):
        self.assertEqual(self.driver.depth, 0)

    def calls(self, call):
        """What call returns, with the order of waits and calls of the library, and the pointers that the latter got."""
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


if __name__ == "__main__":
    unittest.main()
