# SPDX-License-Identifier: BSD-3-Clause
"""nczarr_test.py PLUGIN: the plugin as a codec of netCDF's NCZarr, in the netCDF of pip's netCDF4: what zarr
wrote, what netCDF writes, the JSON of settings both ways, and what is refused.  Run without HDF5_PLUGIN_PATH:
csz.hdf5, imported last, tells netCDF where the codec is.  Prints a line for each and exits 1 if one fails."""

import ctypes as c
import json
import locale
import os
import random
import subprocess
import sys
import warnings

import netCDF4
import numcodecs
import numpy as np
import zarr

from csz.numcodecs import Csz

with netCDF4.Dataset(f"file://{os.getcwd()}/deflated.zarr#mode=zarr,file", "w") as used:  # netCDF looks for codecs at the first use
    used.createDimension("x", 100)
    used.createVariable("t", "f4", ("x",), zlib=True)[:] = 1
import csz.hdf5

warnings.simplefilter("ignore")
numcodecs.register_codec(Csz)  # the package need not be installed here
failures = 0


def check(is_right, what):
    global failures
    failures += not is_right
    print("ok  " if is_right else "FAIL", what)


def url(name):
    return f"file://{os.getcwd()}/{name}#mode=zarr,file"


def loaded(part):
    return next(line.split()[-1] for line in open("/proc/self/maps") if part in os.path.basename(line.rstrip()))


class Codec(c.Structure):
    """NCZ_codec_t."""

    _fields_ = [
        ("version", c.c_int), ("sort", c.c_int), ("codec", c.c_char_p), ("hdf5_id", c.c_uint), ("initialize", c.c_void_p), ("finalize", c.c_void_p),
        ("to_hdf5", c.CFUNCTYPE(c.c_int, c.c_char_p, c.POINTER(c.c_size_t), c.POINTER(c.POINTER(c.c_uint)))),
        ("to_codec", c.CFUNCTYPE(c.c_int, c.c_size_t, c.POINTER(c.c_uint), c.POINTER(c.c_char_p))), ("modify", c.c_void_p),
    ]  # fmt: skip


plugin = c.CDLL(sys.argv[1])
plugin.NCZ_get_codec_info.restype = c.POINTER(Codec)
codec = plugin.NCZ_get_codec_info().contents
field = np.sin(np.arange(24 * 30 * 40) * 1e-3).reshape(24, 30, 40)


def words_of(text):
    """cd_values of a codec's JSON, or None where it is refused."""
    n, words = c.c_size_t(), c.POINTER(c.c_uint)()
    return tuple(words[: n.value]) if codec.to_hdf5(text.encode(), c.byref(n), c.byref(words)) == 0 else None


def json_of(words):
    text = c.c_char_p()
    status = codec.to_codec(len(words), (c.c_uint * len(words))(*words), c.byref(text))
    return json.loads(text.value) if status == 0 else None


def define(dataset, variable, words):
    library = c.CDLL(loaded("libnetcdf"))
    return library.nc_def_var_filter(dataset._grpid, variable._varid, csz.hdf5.FILTER_ID, c.c_size_t(len(words)), (c.c_uint * len(words))(*words))


def written_by_zarr():
    for shape, chunks in (((28800,), (5000,)), ((24, 1200), (7, 100)), ((24, 30, 40), (1, 16, 16)), ((4, 6, 30, 40), (4, 3, 16, 1)), ((2, 2, 6, 30, 40), (2, 2, 2, 16, 16))):
        for dtype in ("f4", "f8"):
            array = field.reshape(shape).astype(dtype)
            group = zarr.open_group("a.zarr", mode="w", zarr_format=2)
            group.create_array("t", shape=shape, chunks=chunks, dtype=dtype, compressors=Csz(abs=1e-3, fill=1e20), fill_value=1e20)[:] = array
            with netCDF4.Dataset(url("a.zarr")) as file:
                check(np.abs(file["t"][:] - array).max() <= 1e-3, f"zarr's {dtype} of {shape} in {chunks}")
    group = zarr.open_group("a.zarr", mode="w", zarr_format=2)
    group.create_array("t", shape=field.shape, chunks=(8, 16, 16), dtype="f8", compressors=Csz(rel=1e-4, zstd=3, predictor="pyramid"))[:] = field
    with netCDF4.Dataset(url("a.zarr")) as file:
        check(np.abs(file["t"][:] - field).max() <= 2e-4, "archives with zstd and pyramids")
    program = f"import csz.hdf5, netCDF4; netCDF4.Dataset({url('a.zarr')!r})['t'][:]"
    check(subprocess.run([sys.executable, "-c", program]).returncode == 0, "csz.hdf5 imported before netCDF4")


def written_by_netcdf():
    for dtype, settings in (("f4", {"abs": 1e-3}), ("f8", {"rel": 1e-4, "predictor": "auto"}), ("f4", {"psnr": 80, "fill": -9e9, "workflow": "huffman"})):
        array = field.astype(dtype)
        array[:2] = 1e20
        with netCDF4.Dataset(url("b.zarr"), "w") as file:
            for name, extent in zip("zyx", array.shape):
                file.createDimension(name, extent)
            variable = file.createVariable("t", dtype, ("z", "y", "x"), chunksizes=(7, 16, 16), fill_value=1e20)
            check(define(file, variable, csz.hdf5.Csz(**settings)["compression_opts"]) == 0, f"netCDF takes {settings}")
            variable[:] = array
        stored = json.load(open("b.zarr/t/.zarray"))["compressor"]
        check(stored == {"id": "csz", **settings}, f"and stores {stored}")
        bound = 2e-4 if "psnr" in settings else settings.get("abs", 2e-4)
        with netCDF4.Dataset(url("b.zarr")) as file:
            for values, who in ((zarr.open_array("b.zarr/t", mode="r")[:], "zarr"), (np.ma.filled(file["t"][:], 1e20), "netCDF")):
                right = np.abs(values - array)[2:].max() <= bound and (values[:2] == array[:2]).all()
                check(right, f"{who} reads it")


def settings_both_ways():
    for settings in ({"abs": 0.1}, {"rel": 1e-4, "workflow": "rle+vle"}, {"psnr": 60.5, "predictor": "pyramid"}, {"pwr": 1e-3}, {"pwr": 1e-3, "floor": 0.1}, {"abs": 0.1, "unsigned_zeros": True}, {"exact": True}, {"abs": 5e-324, "fill": None},
                     {"abs": 1.7e308, "fill": "NaN"}, {"abs": 1 / 3, "fill": "-Infinity"}, {"abs": 1e-3, "fill": -9.96921e36, "predictor": "auto"}):  # fmt: skip
        words = words_of(json.dumps({"id": "csz", **settings}))
        expected = csz.hdf5.Csz(**{name: "none" if value is None else float(value) if name == "fill" else value for name, value in settings.items()})
        check(words == expected["compression_opts"] and json_of(words) == {"id": "csz", **settings}, f"{settings}")
    try:
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        check(json_of(words_of('{"id":"csz","abs":0.25}')) == {"id": "csz", "abs": 0.25}, "in a language with decimal commas")
    except locale.Error:
        print("skipped: a language with decimal commas is not installed")


def refused():
    for text in ("", "{}", "null", '{"id":"csz"}', '{"id":"csz","abs":0}', '{"id":"csz","abs":-1}', '{"id":"csz","abs":1e999}', '{"id":"csz","abs":"NaN"}',
                 '{"id":"csz","abs":"1"}', '{"id":"csz","pwr":1}', '{"id":"csz","abs":1,"floor":1}', '{"id":"csz","exact":false}', '{"id":"csz","abs":1,"unsigned_zeros":1}', '{"id":"csz","pwr":0.1,"unsigned_zeros":true}', '{"id":"csz","exact":true,"abs":1}', '{"id":"csz","abs":0x1p3}', '{"id":"csz","abs":1,"rel":1}', '{"id":"zlib","abs":1}', '{"id":"csz","abs":1,"colour":2}',
                 '{"id":"csz","abs":1,"predictor":"best"}', '{"id":"csz","abs":1,"fill":"much"}', '{"id":"csz","abs":1', '{"id":"csz","abs":1}}', '{"id":"csz","abs":1,}',
                 '{"id":"csz","a\\u0062s":1}', '{"' + 99 * "k" + '":1}', '{"id":"csz","abs":' + 99 * "1" + "}"):  # fmt: skip
        check(words_of(text) is None, f"{text[:60]!r} is refused")
    whole, draw = '{"id": "csz", "abs": 0.001, "fill": 1e20, "workflow": "rle", "predictor": "auto", "zstd": 3}', random.Random(1)
    taken = 0
    for _ in range(20000):
        text = list(whole)
        for _ in range(draw.randint(1, 3)):
            text[draw.randrange(len(text))] = draw.choice('{}[]":,.0e-\\ n')
        words = words_of("".join(text[: draw.randint(1, len(text))]))
        taken += words is not None and json_of(words) is None
    check(taken == 0, "20,000 damaged texts: refused, or settings that can be written again")
    for words in ((), (0,), (512, 0, 0)):
        check(json_of(words) == {"id": "csz", "exact": True}, f"the words {words} keep every bit")
    for words in ((7, 1, 1), (0, 0, 0), (0, 0, 0x7FF00000), (1024, 0, 1), (1027, 0, 0x3FE00000)):
        check(json_of(words) is None, f"the words {words} are no codec")

    for dtype, endian in (("i4", "native"), ("f4", "big")):
        try:
            with netCDF4.Dataset(url("c.zarr"), "w") as file:
                file.createDimension("x", 100)
                variable = file.createVariable("t", dtype, ("x",), chunksizes=(50,), endian=endian)
                define(file, variable, csz.hdf5.Csz(abs=1e-3)["compression_opts"])
                variable[:] = np.arange(100)
            told = "nothing"
        except (RuntimeError, OSError) as error:
            told = str(error)
        check("ilter" in told, f"{endian} {dtype} is refused: {told}")
    zarr.open_group("d.zarr", mode="w", zarr_format=2).create_array("t", shape=(100, 100), chunks=(100, 100), dtype="f4", compressors=Csz(abs=1e-3))[:] = 1.5
    for name, spoil in (("cut short", lambda data: data[:-9]), ("another field", lambda data: csz.compress(np.ones(50, "f4"), abs=1e-3)), ("empty", lambda data: b"")):
        chunk = open("d.zarr/t/0.0", "rb").read()
        open("d.zarr/t/0.0", "wb").write(spoil(chunk))
        try:
            with netCDF4.Dataset(url("d.zarr")) as file:
                file["t"][:]
            told = "nothing"
        except (RuntimeError, OSError) as error:
            told = str(error)
        check(told != "nothing", f"a chunk that is {name} is refused: {told}")
        open("d.zarr/t/0.0", "wb").write(chunk)


written_by_zarr()
written_by_netcdf()
settings_both_ways()
refused()
sys.exit(failures > 0)
