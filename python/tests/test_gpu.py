# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of CuPy and PyTorch on a GPU: no copy, no way over the host, the right order with other streams, the
CPU's bytes.

Skipped where there is no GPU, CuPy or PyTorch.  test_device.py checks the same paths against a stand-in.
"""

import threading
import unittest
from unittest import mock

import numpy as np

import csz
from csz import _cuda
from support import largest_error, needs, smooth

gpu = unittest.skipUnless(csz.features()["cuda_available"], "CUDA is not usable here")


def pointers(call):
    """What call returns, and the integers that went to the library."""
    seen = []
    real = _cuda.call

    def spy(function, device, streams, *arguments):
        seen.extend(a for a in arguments if isinstance(a, int))
        return real(function, device, streams, *arguments)

    with mock.patch.object(_cuda, "call", spy):
        return call(), seen


@gpu
@needs("cupy")
class CuPy(unittest.TestCase):
    def setUp(self):
        import cupy

        self.cupy = cupy
        self.host = smooth((70, 80, 90))
        self.field = cupy.asarray(self.host)
        self.archive = csz.compress(self.host, abs=1e-3, backend="cpu")

    def test_stays_on_the_device_without_a_copy(self):
        for dtype in ("float32", "float64"):
            field = self.field.astype(dtype)
            archive, seen = pointers(lambda: csz.compress(field, abs=1e-3))
            self.assertIn(field.data.ptr, seen)
            self.assertIsInstance(archive, self.cupy.ndarray)
            self.assertEqual(archive.dtype, np.uint8)
            self.assertEqual(archive.get().tobytes(), csz.compress(field.get(), abs=1e-3, backend="cpu"))
            back, seen = pointers(lambda: csz.decompress(archive))
            self.assertIsInstance(back, self.cupy.ndarray)
            self.assertEqual((back.shape, back.dtype), (field.shape, field.dtype))
            self.assertIn(back.data.ptr, seen)
            self.assertIn(archive.data.ptr, seen)
            self.assertLessEqual(largest_error(field.get(), back.get()), 1e-3)

    def test_every_bound_and_rank(self):
        for shape in ((1000,), (50, 60), (4, 5, 20, 30), (2, 3, 4, 5, 6)):
            host = smooth(shape)
            for bound in ({"rel": 1e-3}, {"psnr": 60.0}, {"abs": 1e-2, "fill": float(host.flat[3])}, {"abs": 1e-3, "workflow": "rle+vle"}):
                with self.subTest(shape=shape, **bound):
                    archive = csz.compress(self.cupy.asarray(host), **bound)
                    self.assertEqual(archive.get().tobytes(), csz.compress(host, backend="cpu", **bound))
                    np.testing.assert_array_equal(csz.decompress(archive, shape=shape).get(), csz.decompress(archive.get(), shape=shape, backend="cpu"))

    def test_any_strides(self):
        for part in (self.field[::2, :, ::3], self.field.T, self.field[::-1], self.cupy.asfortranarray(self.field)):
            archive = csz.compress(part, abs=1e-3)
            self.assertEqual(archive.get().tobytes(), csz.compress(part.get(), abs=1e-3, backend="cpu"))

    def test_slices_that_start_anywhere(self):
        flat = self.field.ravel()
        for first in (1, 2, 3):
            archive = csz.compress(flat[first:], abs=1e-3)
            self.assertEqual(archive.get().tobytes(), csz.compress(self.host.ravel()[first:], abs=1e-3, backend="cpu"))
            room = self.cupy.zeros(archive.size + 8, "uint8")
            room[first : first + archive.size] = archive
            out = self.cupy.zeros_like(flat)
            csz.decompress(room[first : first + archive.size], out[first:])
            self.assertLessEqual(largest_error(self.host.ravel()[first:], out[first:].get()), 1e-3)

    def test_between_host_and_device(self):
        back = csz.decompress(self.archive, like=self.cupy)
        self.assertIsInstance(back, self.cupy.ndarray)
        self.assertIsInstance(csz.decompress(self.archive, like=self.field), self.cupy.ndarray)
        on_device = self.cupy.asarray(np.frombuffer(self.archive, "uint8"))
        self.assertIsInstance(csz.decompress(on_device, like=np), np.ndarray)
        np.testing.assert_array_equal(csz.decompress(on_device, like=np), back.get())
        self.assertEqual(csz.compress(self.field, abs=1e-3, like=np), self.archive)
        self.assertEqual(csz.compress(self.host, abs=1e-3, like=self.cupy).get().tobytes(), self.archive)
        self.assertEqual(csz.compress(self.host, abs=1e-3, backend="cuda"), self.archive)
        np.testing.assert_array_equal(csz.decompress(self.archive, backend="cuda"), back.get())

    def test_out_and_regions(self):
        on_device = csz.compress(self.field, abs=1e-3)
        whole = csz.decompress(on_device)
        for source in (on_device, self.archive):
            out = self.cupy.empty_like(self.field)
            result, seen = pointers(lambda: csz.decompress(source, out))
            self.assertIs(result, out)
            self.assertIn(out.data.ptr, seen)
            self.assertTrue(bool((out == whole).all()))
            self.assertTrue(bool((csz.decompress(source, region=np.s_[3:9, 60:, 7], like=self.cupy) == whole[3:9, 60:, 7]).all()))
        out = np.empty(self.host.shape, "float32")
        csz.decompress(on_device, out)
        np.testing.assert_array_equal(out, whole.get())

    def test_info_check_and_compare(self):
        on_device = csz.compress(self.field, abs=1e-3)
        self.assertEqual(csz.info(on_device), csz.info(self.archive))
        csz.check(on_device)
        self.assertTrue(csz.compare(self.field, csz.decompress(on_device), bound=1e-3))

    def test_compares_and_analyzes_there_as_on_the_host(self):
        back = csz.decompress(self.archive)
        there = csz.compare(self.field, self.cupy.asarray(back), bound=1e-3)
        here = csz.compare(self.host, back, bound=1e-3)
        for name in ("size", "violations", "worst", "min", "max", "max_abs_error"):
            self.assertEqual(getattr(there, name), getattr(here, name), name)
        self.assertAlmostEqual(there.psnr, here.psnr, 9)
        self.assertEqual(csz.compare(self.field, back).max_abs_error, here.max_abs_error)  # one on each side
        for bound in ({"abs": 1e-3}, {"rel": 1e-3}):
            (one, seen), other = pointers(lambda: csz.analyze(self.field, **bound)), csz.analyze(self.host, **bound)
            self.assertIn(self.field.data.ptr, seen)
            self.assertEqual((one.bound_abs, one.min, one.statistics), (other.bound_abs, other.min, other.statistics))
            self.assertEqual((one.predicted, one.errors, one.reason), (other.predicted, other.errors, other.reason))

    def test_waits_for_the_stream_of_the_array(self):
        wait = self.cupy.RawKernel(
            r'extern "C" __global__ void wait(float *x, long long n, long long cycles) {'
            r"  long long start = clock64(); while (clock64() - start < cycles) {}"
            r"  for (long long i = threadIdx.x; i < n; i += blockDim.x) x[i] = (float)(i % 1000); }",
            "wait",
        )
        n = 100_000
        expected = (np.arange(n) % 1000).astype("float32")
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            field = self.cupy.zeros(n, "float32")
            stream.synchronize()
            wait((1,), (256,), (field, np.int64(n), np.int64(200_000_000)))  # a tenth of a second
            archive = csz.compress(field, abs=1e-3)
        self.assertLessEqual(largest_error(expected, csz.decompress(archive.get())), 1e-3)
        with stream:
            archive = self.cupy.asarray(np.frombuffer(csz.compress(expected, abs=1e-3), "uint8"))
            out = self.cupy.empty(n, "float32")
            stream.synchronize()
            wait((1,), (256,), (out, np.int64(n), np.int64(200_000_000)))
            csz.decompress(archive, out)  # must come after what the stream writes to out
            self.assertLessEqual(largest_error(expected, out.get()), 1e-3)

    def test_through_the_protocols_alone(self):
        held = self.field

        class Interface:
            @property
            def __cuda_array_interface__(self):
                return held.__cuda_array_interface__

        class DLPack:
            def __dlpack__(self, stream=None):
                return held.__dlpack__(stream=stream)

            def __dlpack_device__(self):
                return held.__dlpack_device__()

        for wrapped in (Interface(), DLPack()):
            archive, seen = pointers(lambda: csz.compress(wrapped, abs=1e-3))
            self.assertIn(held.data.ptr, seen)
            self.assertEqual(archive.get().tobytes(), self.archive)

    @unittest.skipUnless(csz.features()["zstd"], "this build has no zstd")
    def test_zstd(self):
        archive = csz.compress(self.field, abs=1e-3, zstd=1)
        self.assertIsInstance(archive, self.cupy.ndarray)
        csz.free_scratch()  # a context that has not used CUDA yet
        back = csz.decompress(archive)
        self.assertIsInstance(back, self.cupy.ndarray)
        self.assertLessEqual(largest_error(self.host, back.get()), 1e-3)

    def test_empty_and_rank_0(self):
        for shape in ((0,), (3, 0, 4), ()):
            archive = csz.compress(self.cupy.ones(shape, "float32"), abs=1e-3)
            self.assertIsInstance(archive, self.cupy.ndarray)
            self.assertEqual(csz.decompress(archive, shape=shape).shape, shape)

    def test_errors(self):
        on_device = csz.compress(self.field, abs=1e-3)
        with self.assertRaisesRegex(csz.ArgumentError, "backend='cpu'"):
            csz.compress(self.field, abs=1e-3, backend="cpu")
        with self.assertRaisesRegex(csz.ArgumentError, "backend='cpu'"):
            csz.decompress(on_device, backend="cpu")
        with self.assertRaises(csz.DtypeError):
            csz.compress(self.field.astype("float16"), abs=1e-3)
        with self.assertRaises(csz.DtypeError):
            csz.decompress(self.field)
        with self.assertRaises(csz.DtypeError):
            csz.decompress(on_device, self.cupy.empty(self.field.shape, "float64"))
        with self.assertRaises(csz.DimsError):
            csz.decompress(on_device, self.cupy.empty(7, "float32"))
        with self.assertRaisesRegex(csz.ArgumentError, "contiguous"):
            csz.decompress(on_device, self.cupy.empty(self.field.shape, "float32", order="F"))
        with self.assertRaises(csz.LimitError):
            csz.decompress(on_device, memory_limit=1000)
        memory = self.cupy.zeros(self.host.size, "float32")
        memory.view("uint8")[: on_device.size] = on_device
        with self.assertRaisesRegex(csz.ArgumentError, "overlaps"):
            csz.decompress(memory.view("uint8")[: on_device.size], memory)
        for bad in (on_device[:-1], on_device[:100], on_device[:0], self.cupy.zeros(500, "uint8")):
            with self.assertRaises(csz.ArchiveError):
                csz.decompress(bad)
        random = np.random.default_rng(3)
        for at in random.integers(0, on_device.size, 40):
            bad = on_device.copy()
            bad[int(at)] ^= 1 << int(random.integers(8))
            with self.subTest(at=at), self.assertRaises(csz.Error):
                csz.decompress(bad, memory_limit=1 << 28)
        self.assertTrue(csz.compare(self.host, csz.decompress(on_device), bound=1e-3))

    def test_threads_with_their_own_streams(self):
        wrong = []

        def work(i):
            with self.cupy.cuda.Stream(non_blocking=True):
                for _ in range(5):
                    field = self.field * (i + 1)
                    back = csz.decompress(csz.compress(field, abs=1e-3))
                    if not bool((self.cupy.abs(field.astype("f8") - back) <= 1e-3).all()):
                        wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


@gpu
@needs("cupy", "zarr")
class Zarr(unittest.TestCase):
    """zarr.config.enable_gpu(): chunks are encoded and decoded on the device, to the bytes of the host's
    codec."""

    def test_chunks_stay_on_the_device(self):
        import cupy
        import zarr
        from csz import _arrays, _batch
        from csz.zarr import CszCodec

        host = smooth((64, 96, 130))
        host[3, 4, 5], host[40:, 90:, 100:] = np.nan, 0
        for settings in ({"abs": 1e-3}, {"abs": 1e-3, "predictor": "auto"}, {"rel": 1e-3}, {"psnr": 60.0, "fill": None}):
            with self.subTest(**settings):
                stores = [zarr.storage.MemoryStore() for _ in range(3)]
                layout = {"shape": host.shape, "chunks": (32, 48, 64), "dtype": "float32", "compressors": None}
                on_host = zarr.create_array(stores[0], serializer=CszCodec(**settings), **layout)
                on_host[:] = host
                with zarr.config.enable_gpu(), mock.patch.object(_arrays, "host_copy", side_effect=AssertionError("a field came to the host")):
                    array = zarr.create_array(stores[1], serializer=CszCodec(**settings), **layout)
                    array[:] = cupy.asarray(host)
                    back, part = array[:], array[10:20, 5:50, 7]
                    together = []
                    with zarr.config.set({"codec_pipeline.batch_size": 12}), mock.patch.object(
                        _batch, "_sizes", lambda *a, real=_batch._sizes: together.append(real(*a)) or together[-1]
                    ):
                        batched = zarr.create_array(stores[2], serializer=CszCodec(**settings), **layout)
                        batched[:] = cupy.asarray(host)
                        np.testing.assert_array_equal(batched[:].get(), back.get())
                    counts = [len(sizes) - sizes.count(None) for sizes in together]
                    # written: all, unless a relative bound leaves out what pads them; read: those that no
                    # edge cuts off
                    self.assertEqual(counts, [8] if "abs" not in settings else [12, 8])
                self.assertIsInstance(back, cupy.ndarray)
                np.testing.assert_array_equal(back.get(), on_host[:])
                np.testing.assert_array_equal(cupy.asnumpy(part), on_host[10:20, 5:50, 7])
                chunks = [key for key in stores[0]._store_dict if "/" in key]
                self.assertEqual(len(chunks), 12)
                for key in chunks:
                    for store in stores[1:]:
                        self.assertEqual(bytes(stores[0]._store_dict[key].to_bytes()), bytes(store._store_dict[key].to_bytes()), key)


@gpu
@needs("torch")
class Torch(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch
        self.host = smooth((70, 80, 90))
        self.field = torch.from_numpy(self.host).cuda()

    def test_stays_on_the_device_without_a_copy(self):
        for dtype in (self.torch.float32, self.torch.float64):
            field = self.field.to(dtype)
            archive, seen = pointers(lambda: csz.compress(field, abs=1e-3))
            self.assertIn(field.data_ptr(), seen)
            self.assertIsInstance(archive, self.torch.Tensor)
            self.assertEqual((archive.device, archive.dtype), (field.device, self.torch.uint8))
            self.assertEqual(archive.cpu().numpy().tobytes(), csz.compress(field.cpu(), abs=1e-3, backend="cpu"))
            back, seen = pointers(lambda: csz.decompress(archive))
            self.assertIn(back.data_ptr(), seen)
            self.assertEqual((back.device, back.dtype, back.shape), (field.device, dtype, field.shape))
            self.assertLessEqual(float((field.double() - back.double()).abs().max()), 1e-3)

    def test_strides_and_grad(self):
        part = self.field[::2].transpose(0, 2).requires_grad_()
        archive = csz.compress(part, abs=1e-3)
        self.assertEqual(archive.cpu().numpy().tobytes(), csz.compress(part.detach().cpu().numpy(), abs=1e-3, backend="cpu"))

    def test_out_and_like(self):
        archive = csz.compress(self.field, abs=1e-3)
        out = self.torch.empty_like(self.field)
        self.assertIs(csz.decompress(archive, out), out)
        self.assertLessEqual(float((self.field.double() - out.double()).abs().max()), 1e-3)
        host = archive.cpu().numpy().tobytes()
        self.assertTrue(csz.decompress(host, like=self.torch).is_cuda)
        self.assertTrue(csz.decompress(host, like=self.field).is_cuda)
        self.assertTrue(bool((csz.decompress(host, like=self.field) == out).all()))

    def test_waits_for_the_current_stream(self):
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            field = self.torch.zeros(100_000, device="cuda")
            stream.synchronize()
            self.torch.cuda._sleep(200_000_000)
            field.fill_(7)
            archive = csz.compress(field, abs=1e-3)
        self.assertLessEqual(abs(float(csz.decompress(archive)[0]) - 7), 1e-3)

    def test_types_that_are_not_taken(self):
        for dtype in (self.torch.bfloat16, self.torch.float16, self.torch.int32):
            with self.assertRaises(csz.DtypeError):
                csz.compress(self.field.to(dtype), abs=1e-3)


if __name__ == "__main__":
    unittest.main()
