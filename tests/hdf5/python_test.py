# SPDX-License-Identifier: BSD-3-Clause
"""The HDF5 filter from Python: h5py, netCDF4 and xarray, each with the HDF5 of its own wheel, all in one
process.

Usage: python_test.py CSZ.  Settings come from `csz hdf5 cdvals`, as users get them.  Prints one line per
property.
"""
import json
import shutil
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import xarray

CSZ = sys.argv[1]
failures = 0


def check(name, holds, detail=""):
    global failures
    failures += not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f": {detail}"))


def settings(*options):
    found = json.loads(subprocess.check_output([CSZ, "hdf5", "cdvals", "--json", *options]))
    return found["filter"], tuple(found["cd_values"])


def refused(make):
    try:
        make()
    except (OSError, ValueError, RuntimeError) as error:
        return str(error)
    return ""


def worst(a, b):
    return float(np.abs(np.asarray(a, "f8") - np.asarray(b, "f8")).max())


print(f"h5py {h5py.__version__} with HDF5 {h5py.version.hdf5_version}; netCDF4 {netCDF4.__version__} with HDF5 "
      f"{netCDF4.__hdf5libversion__}; xarray {xarray.__version__}")
rng = np.random.default_rng(1)
z, y, x = np.meshgrid(np.arange(40), np.arange(70), np.arange(90), indexing="ij")
hills = (10 * np.sin(z / 9) * np.cos(y / 11) + 5 * np.sin(x / 13 + y / 17)).astype("f4")
wave = (np.cumsum(rng.normal(size=(40, 70, 90)), axis=2) + 300).astype("f4")

# ---- h5py ----
filter_id, words = settings("-e", "1e-3")
with h5py.File("a.h5", "w") as file:
    for dtype in ("<f4", "<f8", ">f4", ">f8"):
        file.create_dataset(dtype, data=wave.astype(dtype), chunks=(16, 32, 32), compression=filter_id,
                            compression_opts=words)
    file.create_dataset("auto", data=wave, chunks=True, compression=filter_id, compression_opts=words)
    grown = file.create_dataset("grown", shape=(0, 90), maxshape=(None, 90), chunks=(16, 64), dtype="f4",
                                compression=filter_id, compression_opts=words, fillvalue=np.nan)
    for row in range(40):
        grown.resize(row + 1, axis=0)
        grown[row] = wave[row, 0]
    for predictor in ("lorenzo", "pyramid", "auto"):
        chosen = settings("-e", "0.05", "-p", predictor)[1]
        file.create_dataset(f"by_{predictor}", data=hills, chunks=hills.shape, compression=filter_id, compression_opts=chosen)
    message = refused(lambda: file.create_dataset("int", data=np.arange(100), chunks=(50,), compression=filter_id,
                                                  compression_opts=words))
    check("h5py: integers are refused with the filter's own words", "csz filter" in message, message)
    file.create_dataset("none", data=wave, chunks=(16, 32, 32), compression=filter_id)
with h5py.File("a.h5") as file:
    for name in ("<f4", "<f8", ">f4", ">f8", "auto"):
        check(f"h5py: {name} keeps the bound", worst(file[name][:], wave) <= 1e-3, worst(file[name][:], wave))
        check(f"h5py: {name} is smaller", file[name].id.get_storage_size() < wave.nbytes * 0.7)
    sizes = {name: file[f"by_{name}"].id.get_storage_size() for name in ("lorenzo", "pyramid", "auto")}
    check("h5py: pyramids are smaller where a field is smooth", sizes["pyramid"] * 1.5 < sizes["lorenzo"], sizes)
    check("h5py: and auto takes them", sizes["auto"] == sizes["pyramid"], sizes)
    for name in sizes:
        check(f"h5py: predictor {name} keeps the bound", worst(file[f"by_{name}"][:], hills) <= 0.05)
    check("h5py: without settings every bit is kept", file["none"][:].tobytes() == wave.tobytes())
    check("h5py: a dataset that grows keeps the bound", worst(file["grown"][:], wave[:40, 0]) <= 1e-3)
    plist = file["auto"].id.get_create_plist()
    check("h5py: the filter is mandatory", plist.get_filter(0)[1] & 1 == 0, plist.get_filter(0))
    check("h5py: part of a dataset", worst(file["auto"][3:9, 10:60:7, ::3], wave[3:9, 10:60:7, ::3]) <= 1e-3)

# The command on datasets that it cannot compress, or not as they are.
if "hdf5 yes" in subprocess.check_output([CSZ, "--version"], text=True):
    with h5py.File("odd.h5", "w") as file:
        file["half"], file["complex"], file["text"] = wave[0].astype("f2"), wave[0].astype("c8"), "text"
        file["link"], file["deep"] = h5py.SoftLink("/nowhere"), wave[:36].reshape(2, 3, 2, 3, 70, 90)
    for name, words in (("half", "16-bit floats, and only"), ("complex", "compound or other type"), ("text", "holds text, and only"),
                        ("link", "link of odd.h5 is a link that leads nowhere")):  # fmt: skip
        told = subprocess.run([CSZ, "compress", f"odd.h5:{name}", "-e", "1"], capture_output=True, text=True)
        check(f"csz: a dataset {name} is refused", told.returncode == 1 and words in told.stderr, told.stderr)
    limits = wave[:36].min().astype("f8"), wave[:36].max().astype("f8")
    found = json.loads(subprocess.check_output([CSZ, "hdf5", "cdvals", "--json", "-m", "rel", "-e", "1e-3", "--of", "odd.h5:deep"]))
    check("csz: --of finds the range of six dims", found["bound_mode"] == "abs" and
          abs(found["bound"] - 1e-3 * (limits[1] - limits[0])) <= 1e-12, found)
    subprocess.run([CSZ, "compress", "odd.h5:deep", "-m", "exact", "-q", "-o", "deep.csz"], check=True)
    subprocess.run([CSZ, "decompress", "deep.csz", "-q", "-o", "deep.h5:deep"], check=True)
    lengths = json.loads(subprocess.check_output([CSZ, "info", "--json", "deep.csz"]))["attributes"]["_Dimensions"]
    check("csz: six dims are named by their lengths", lengths == ["2", "3", "2", "3", "70", "90"], lengths)
    with h5py.File("odd.h5") as file, h5py.File("deep.h5") as again:
        check("csz: six dims without names come back", file["deep"].shape == again["deep"].shape and (file["deep"][:] == again["deep"][:]).all())

    # Files of HDF5's newer form may have attributes of more than 64 KiB anywhere.
    for version in ("v108", "v110"):
        with h5py.File("large.h5", "w", libver=(version, version)) as file:
            file["T"] = wave[0]
            for item in (file, file["T"], file.create_group("g")):
                item.attrs["list"] = np.arange(20000.0)
        told = subprocess.run([CSZ, "hdf5", "repack", "large.h5", "small.h5", "-e", "1e-3", "-q", "-f"], capture_output=True, text=True)
        check(f"csz: repack of large attributes, {version}", told.returncode == 0, told.stderr)
        with h5py.File("small.h5") as file:
            check("csz: and they are there", all((item.attrs["list"] == np.arange(20000.0)).all() for item in (file, file["T"], file["g"])))

    # HDF5 2 writes some types in a form that 1.10 cannot read, which hides the other attributes too.
    def kept_or_refused(name, found, *words):
        told = subprocess.run([CSZ, *words], capture_output=True, text=True)
        holds = found() == "K" if told.returncode == 0 else told.returncode == 1 and "cannot be read by HDF5" in told.stderr
        check(f"csz: {name} keeps attributes, or refuses", holds, told.stderr)

    for where in ("T", "/"):
        with h5py.File("newer.h5", "w", libver="latest") as file:
            file["T"] = wave[0]
            file[where].attrs.update(units="K", flag=np.bool_(True))
        kept_or_refused(f"repack, of {where},", lambda: h5py.File("older.h5")[where].attrs.get("units"),
                        "hdf5", "repack", "newer.h5", "older.h5", "-e", "1e-3", "-q", "-f")  # fmt: skip
        if where == "T":
            kept_or_refused("compress", lambda: json.loads(subprocess.check_output([CSZ, "info", "--json", "newer.csz"]))["attributes"].get("units"),
                            "compress", "newer.h5:T", "-e", "1e-3", "-o", "newer.csz")  # fmt: skip

# A relative bound holds chunk by chunk: a quiet chunk beside a loud one keeps its own.
quiet = np.concatenate([rng.normal(size=(64, 64)), 1e6 * rng.normal(size=(64, 64))]).astype("f4")
filter_id, relative = settings("-m", "rel", "-e", "1e-3")
with h5py.File("rel.h5", "w") as file:
    file.create_dataset("q", data=quiet, chunks=(64, 64), compression=filter_id, compression_opts=relative)
    found = file["q"][:]
    check("h5py: a relative bound is each chunk's", worst(found[:64], quiet[:64]) <= 1e-3 * np.ptp(quiet[:64]))

# A fill value that neither the dataset nor the words name does not widen the bound.
sea = quiet.astype("f4").copy()
sea[:, ::5] = 1e20
with h5py.File("sea.h5", "w") as file:
    file.create_dataset("q", data=sea, chunks=(64, 64), compression=filter_id, compression_opts=relative)
with h5py.File("sea.h5") as file:
    found, known = file["q"][:], sea < 1e19
    check("h5py: a forgotten fill value comes back, and what is beside it too", (found[~known] == sea[~known]).all()
          and worst(found[known], sea[known]) <= 1e-3 * np.ptp(sea[known]))

# Two of them, and what is between, come back bit for bit.
sea[:, 1::7] = -9999
with h5py.File("sea.h5", "w") as file:
    file.create_dataset("q", data=sea, chunks=(64, 64), compression=filter_id, compression_opts=relative)
with h5py.File("sea.h5") as file:
    check("h5py: two forgotten fill values", (file["q"][:64] == sea[:64]).all())

# ---- damage ----
raw = bytearray(open("rel.h5", "rb").read())
for at in range(len(raw) - 9000, len(raw) - 8990):
    raw[at] ^= 0x55
open("bad.h5", "wb").write(raw)
with h5py.File("bad.h5") as file:
    message = refused(lambda: file["q"][:])
    check("h5py: a damaged chunk is refused", "csz filter: a chunk cannot be restored: the archive is damaged" in message, message)

# ---- netCDF4, in the same process with another HDF5 ----
with netCDF4.Dataset("a.h5") as data:
    check("netCDF4 reads what h5py wrote", worst(data["auto"][:], wave) <= 1e-3)
with netCDF4.Dataset("plain.nc", "w") as data:
    for name, n in zip("zyx", wave.shape):
        data.createDimension(name, n)
    variable = data.createVariable("t", "f4", ("z", "y", "x"), fill_value=1e20, chunksizes=(16, 32, 32))
    masked = np.ma.masked_array(wave, mask=wave > 305)
    variable[:] = masked
if shutil.which("ncgen"):
    filter_id, given = settings("-e", "1e-2", "--fill", "1e20")
    text = ",".join(map(str, (filter_id, *given)))
    open("s.cdl", "w").write(f"""netcdf s {{ dimensions: z = 40; y = 70; x = 90; variables: float t(z, y, x);
        t:_FillValue = 1e20f; t:_Storage = "chunked"; t:_ChunkSizes = 16, 32, 32; t:_Filter = "{text}"; }}""")
    with netCDF4.Dataset.fromcdl("s.cdl", ncfilename="s.nc", mode="a") as data:
        data["t"][:] = masked
    with netCDF4.Dataset("s.nc") as data:
        found = data["t"][:]
        check("netCDF4 writes through a schema of ncgen", worst(found.filled(0), masked.filled(0)) <= 1e-2)
        check("netCDF4: missing values are where they were", bool((found.mask == masked.mask).all()))
    check("netCDF4: the file is smaller", len(open("s.nc", "rb").read()) < wave.nbytes * 0.7)
    check("h5py reads what netCDF4 wrote", worst(h5py.File("s.nc")["t"][:], masked.filled(1e20)) <= 1e-2)
else:
    print("skipped: ncgen is not installed, so netCDF4 does not write")

# ---- xarray ----
filter_id, words = settings("-m", "rel", "-e", "1e-4", "--of", "plain.nc:t")
field = xarray.Dataset({"t": (("z", "y", "x"), np.where(masked.mask, np.nan, wave))})
field.to_netcdf("x.nc", engine="h5netcdf",
                encoding={"t": {"compression": filter_id, "compression_opts": words, "chunksizes": (16, 32, 32),
                                "dtype": "f4", "_FillValue": np.float32(1e20)}})
bound = json.loads(subprocess.check_output([CSZ, "hdf5", "decode", ",".join(map(str, words)), "--json"]))["bound"]
check("csz: --of gives the bound of the whole field", abs(bound / (1e-4 * float(np.ptp(masked.compressed()))) - 1) < 1e-6, bound)
for engine in ("h5netcdf", "netcdf4"):
    with xarray.open_dataset("x.nc", engine=engine) as data:
        found = data["t"].values
        valid = ~masked.mask
        check(f"xarray with {engine}: the bound of the whole field is kept", worst(found[valid], wave[valid]) <= bound,
              worst(found[valid], wave[valid]))
        check(f"xarray with {engine}: missing values", bool(np.isnan(found[~valid]).all()))
print(f"{failures} properties do not hold" if failures else "all properties hold")
sys.exit(failures > 0)
