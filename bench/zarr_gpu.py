#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads 1 GB of chunks of 4 MB from a Zarr array into CuPy memory: decoded on the device
(zarr.config.enable_gpu()) and on the host and then copied, by turns in one run, each the best of ROUNDS.
Needs zarr, CuPy and a GPU; prints a table."""

import tempfile
import time

import cupy
import numpy as np
import zarr

import csz
from csz.zarr import CszCodec

CHUNKS, SIDE, ROUNDS = 256, 1024, 4


def field() -> np.ndarray:
    random = np.random.default_rng(7)
    y, x = np.meshgrid(np.linspace(0, 9, SIDE, dtype="f4"), np.linspace(0, 9, SIDE, dtype="f4"), indexing="ij")
    noise = random.normal(scale=2e-3, size=(SIDE, SIDE)).astype("f4")
    return np.stack([np.sin(x + 0.05 * k) * np.cos(y) + np.roll(noise, 131 * k) for k in range(CHUNKS)])


def read_on_device(path: str) -> cupy.ndarray:
    with zarr.config.enable_gpu():
        return zarr.open_array(path, mode="r")[:]


def read_on_host(path: str) -> cupy.ndarray:
    return cupy.asarray(zarr.open_array(path, mode="r")[:])


values = field()
print(f"csz {csz.__version__}, zarr {zarr.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}\n")
print("| predictor | ratio | device GB/s | host and copy GB/s | device over host |\n|---|---:|---:|---:|---:|")
for predictor in ("lorenzo", "pyramid"):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/field.zarr"
        codec = CszCodec(abs=1e-3, predictor=predictor)
        array = zarr.create_array(path, shape=values.shape, chunks=(1, SIDE, SIDE), dtype="float32", serializer=codec, compressors=None)
        array[:] = values
        ratio = values.nbytes / array.nbytes_stored()
        best = {read_on_device: float("inf"), read_on_host: float("inf")}
        for _ in range(ROUNDS):
            for read in best:
                cupy.cuda.Device().synchronize()
                start = time.perf_counter()
                got = read(path)
                cupy.cuda.Device().synchronize()
                best[read] = min(best[read], time.perf_counter() - start)
                assert float(cupy.abs(got - cupy.asarray(values)).max()) <= 1e-3
                del got
        device, host = (values.nbytes / best[read] * 1e-9 for read in (read_on_device, read_on_host))
        print(f"| {predictor} | {ratio:.1f} | {device:.2f} | {host:.2f} | {device / host:.2f} |")
