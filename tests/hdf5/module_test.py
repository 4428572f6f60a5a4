# SPDX-License-Identifier: BSD-3-Clause
"""csz.hdf5 as a wheel brings it, without HDF5_PLUGIN_PATH: with h5py, netCDF4, h5netcdf, xarray and
hdf5plugin, whichever is imported first.  Usage: module_test.py CSZ.  Prints one line per property.
"""
import json
import os
import shutil
import subprocess
import sys

CSZ = sys.argv[1]
assert "HDF5_PLUGIN_PATH" not in os.environ
failures = 0


def check(name, holds, detail=""):
    global failures
    failures += not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f": {detail}"))


def runs(name, program):
    """A Python of its own, in which nothing has been imported yet, runs the program."""
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", program], capture_output=True, text=True)
    check(name, done.returncode == 0, done.stderr[-600:])


FIELD = """
import numpy as np
t = np.sin(np.arange(40 * 50 * 60) * 1e-3).reshape(40, 50, 60).astype("f4")
def near(a): assert float(np.abs(np.asarray(a, "f8") - t).max()) <= 1e-3
"""
WRITE = """
with h5py.File("m.h5", "w") as file:
    d = file.create_dataset("t", data=t, chunks=(16, 32, 32), **csz.hdf5.Csz(abs=1e-3))
    assert d.id.get_storage_size() * 4 < t.nbytes
near(h5py.File("m.h5")["t"][:])
"""
runs("csz.hdf5 first, then h5py", "import csz.hdf5, h5py\n" + FIELD + WRITE)
runs("h5py takes it as compression=", "import csz.hdf5, h5py\n" + FIELD + WRITE.replace("**csz.hdf5.Csz(abs=1e-3)", "compression=csz.hdf5.Csz(abs=1e-3)"))
runs("exact=True keeps every bit, of floats in less room", """
import csz.hdf5, h5py
""" + FIELD + """
with h5py.File("e.h5", "w") as file:
    d = file.create_dataset("t", data=t, chunks=(40, 50, 60), compression=csz.hdf5.Csz(exact=True))
    file.create_dataset("i", data=t.view("i4"), chunks=(40, 50, 60), compression=csz.hdf5.Csz(exact=True))
    assert d.id.get_storage_size() * 10 < t.nbytes * 9
for name in "ti":
    assert h5py.File("e.h5")[name][:].tobytes() == t.tobytes()
""")
runs("codec() says why there is none", """
import csz.hdf5, h5py
with h5py.File("e.h5", "a") as file:
    file.create_dataset("plain", data=[1.0])
    csz.hdf5.codec(file["t"])
    for what, kind, words in (
        (file["i"], csz.DtypeError, ("filter 411 on int32", "float32")),
        (file["plain"], csz.ArgumentError, ("does not have the filter 411",)),
        (file, csz.ArgumentError, ("takes a dataset of h5py", "File")),
        (None, csz.ArgumentError, ("takes a dataset of h5py", "NoneType")),
    ):
        try:
            csz.hdf5.codec(what)
        except kind as error:
            assert all(word in str(error) for word in words), error
        else:
            raise SystemExit(f"a codec for {what}")
""")
runs("a file that is not there is that, and is created where it may be", """
import csz.hdf5, h5py
try:
    h5py.File("nothing.h5")
except FileNotFoundError:
    h5py.File("appended.h5", "a").close()
else:
    raise SystemExit("no FileNotFoundError")
""")
runs("h5py first, and in use", "import h5py\nh5py.File('x.h5', 'w')['a'] = 1.0\nimport csz.hdf5\n" + FIELD + WRITE)
runs("h5py after it has failed to find the filter", "import h5py" + FIELD + """
try:
    h5py.File("m.h5")["t"][:]
except OSError:
    pass
else:
    raise SystemExit("the filter was found without csz.hdf5")
import csz.hdf5
near(h5py.File("m.h5")["t"][:])
""")
NETCDF = FIELD + """
for name in "zstd", "bzip2", "blosc_lz":
    with netCDF4.Dataset(f"{name}.nc", "w") as file:
        file.createDimension("a", t.size)
        file.createVariable("t", "f4", ("a",), compression=name)[:] = t.ravel()
    with netCDF4.Dataset(f"{name}.nc") as file:
        assert (file["t"][:] == t.ravel()).all()
near(netCDF4.Dataset("m.h5")["t"][:])
"""
runs("netCDF4 imported later reads, has its own filters, and so has a child process", "import csz.hdf5, netCDF4" + NETCDF + """
import subprocess, sys
subprocess.check_call([sys.executable, "-c", "import netCDF4; netCDF4.Dataset('zstd.nc')['t'][:]"])
""")
runs("netCDF4 imported and used before reads, and has its own filters",
     "import netCDF4\nnetCDF4.Dataset('x.nc', 'w').createDimension('a', 3)\nimport csz.hdf5" + NETCDF)
runs("folders that its HDF5 was given stay", """
import ctypes, netCDF4
library = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5-" in line))
assert library.H5PLappend(b"/more") == 0
import csz.hdf5
text = ctypes.create_string_buffer(99)
assert library.H5PLget(2, text, 99) > 0 and text.value == b"/more", text.value
""")
DEFAULTS = """
import os, subprocess, sys
own = [str(csz.hdf5.plugin_path())]
found = [os.fsdecode(h5py.h5pl.get(i)) for i in range(h5py.h5pl.size())]
alone = "import h5py; print(*(os.fsdecode(h5py.h5pl.get(i)) for i in range(h5py.h5pl.size())), sep=os.pathsep)"
expected = subprocess.check_output([sys.executable, "-c", "import os; " + alone], text=True).rstrip().split(os.pathsep)
assert expected[0] and found == own + expected, (found, expected)
"""
runs("h5py keeps its default folders, imported before", "import h5py, csz.hdf5" + DEFAULTS + "assert 'HDF5_PLUGIN_PATH' not in os.environ")
runs("h5py keeps its default folders, imported after", "import csz.hdf5, h5py" + DEFAULTS + "assert 'HDF5_PLUGIN_PATH' not in os.environ")
runs("and after the module was loaded anew", "import csz.hdf5, importlib\nimportlib.reload(csz.hdf5)\nimport h5py" + DEFAULTS)
runs("a path that the user set stays, behind csz's", "import os\nos.environ['HDF5_PLUGIN_PATH'] = '/given'\nimport csz.hdf5, h5py, netCDF4" + DEFAULTS + FIELD + """
near(netCDF4.Dataset("m.h5")["t"][:])
assert expected == ["/given"] and os.environ["HDF5_PLUGIN_PATH"] == "/given"
""")
runs("a library whose file is gone is left alone", """
import ctypes, os, shutil
shutil.copy("csz/libcsz.so", "libhdf5-gone.so")
ctypes.CDLL(os.path.abspath("libhdf5-gone.so"))
os.remove("libhdf5-gone.so")
import csz.hdf5
""")
shutil.copytree("csz", "a:b/csz")
runs("a folder with a colon in its name", "import sys\nsys.path.insert(0, 'a:b')\nimport csz.hdf5, h5py, netCDF4" + FIELD + WRITE + "near(netCDF4.Dataset('m.h5')['t'][:])")
runs("h5py and netCDF4 in one process", "import h5py, netCDF4, csz.hdf5" + FIELD + WRITE + "near(netCDF4.Dataset('m.h5')['t'][:])")
runs("beside hdf5plugin, imported before", "import hdf5plugin, h5py, csz.hdf5" + FIELD + WRITE + """
h5py.File("z.h5", "w").create_dataset("t", data=t, **hdf5plugin.Zstd())
assert (h5py.File("z.h5")["t"][:] == t).all()
""")
runs("beside hdf5plugin, imported after", "import csz.hdf5, hdf5plugin, h5py" + FIELD + WRITE + """
h5py.File("z.h5", "w").create_dataset("t", data=t, **hdf5plugin.Blosc2())
assert (h5py.File("z.h5")["t"][:] == t).all()
""")
XARRAY = """
import csz.hdf5, xarray
data = xarray.Dataset({"t": (("z", "y", "x"), t), "z": np.arange(40.0)}, attrs={"title": "waves"})
"""
runs("xarray with h5netcdf", FIELD + XARRAY + """
data.to_netcdf("x.nc", engine="h5netcdf", encoding={"t": csz.hdf5.encoding(rel=1e-4)})
for engine in "h5netcdf", "netcdf4":
    with xarray.open_dataset("x.nc", engine=engine) as found:
        near(found.t)
        assert (found.z == data.z).all() and found.title == "waves"
""")
runs("xarray reads a file, changes it and writes it again", FIELD + XARRAY + """
with xarray.open_dataset("x.nc", engine="h5netcdf") as found:
    changed = found.load()
changed["t"] = changed["t"] + 1
changed.to_netcdf("again.nc", engine="h5netcdf", encoding={"t": csz.hdf5.encoding(abs=1e-3)})
with xarray.open_dataset("again.nc", engine="h5netcdf") as found:
    assert float(np.abs(found.t.values.astype("f8") - changed.t.values).max()) <= 1e-3
with xarray.open_dataset("x.nc", engine="h5netcdf") as found:
    found.load().drop_encoding().to_netcdf("plain.nc", engine="h5netcdf")
""")
sys.path.insert(0, "")
import csz.hdf5  # noqa: E402

for options, settings in (
    (["-e", "1e-3"], dict(abs=1e-3)),
    (["-m", "rel", "-e", "1e-3"], dict(rel=1e-3)),
    (["-m", "psnr", "-e", "80", "--fill", "1e20"], dict(psnr=80, fill=1e20)),
    (["-e", "2.5", "--fill", "none"], dict(abs=2.5, fill="none")),
    (["-e", "2.5", "-w", "rle"], dict(abs=2.5, workflow="rle")),
    (["-m", "exact"], dict(exact=True)),
    (["-m", "rel", "-e", "1e-3", "--unsigned-zeros"], dict(rel=1e-3, unsigned_zeros=True)),
    (["-m", "pwr", "-e", "1e-3", "--floor", "0.5"], dict(pwr=1e-3, floor=0.5)),
    (["-m", "pwr", "-e", "1e-3", "--floor", "0.5", "--fill", "1e20"], dict(pwr=1e-3, floor=0.5, fill=1e20)),
):
    words = json.loads(subprocess.check_output([CSZ, "hdf5", "cdvals", "--json", *options]))["cd_values"]
    check(f"settings of {settings} are the command's", tuple(words) == csz.hdf5.Csz(**settings)["compression_opts"], words)
for wrong in (dict(), dict(abs=1, rel=1), dict(abs=-1), dict(abs=1, workflow="zip"), dict(abs=1, fill="some"), dict(abs="1e-3"), dict(abs=1, fill="1e20"), dict(abs=1, floor=1), dict(exact=True, floor=1), dict(exact=True, fill=3), dict(pwr=0.1, unsigned_zeros=True)):
    try:
        csz.hdf5.Csz(**wrong)
    except csz.Error as error:
        check(f"{wrong} is refused in one line", "\n" not in str(error), error)
    else:
        check(f"{wrong} is refused", False)

# attributes of an archive that netCDF cannot have, and a fill value of another type
import netCDF4  # noqa: E402
import numpy  # noqa: E402

odd = {" ": 1, "a\x01b": 2, "x ": 3, "a/b": 4, "\u00e9" * 128: 5, "a\udcff": 6, "_FillValue": 3, "@ok": "yes"}
field = numpy.arange(120, dtype="f4").reshape(10, 12)
with open("odd.csz", "wb") as file:
    file.write(csz.compress(field, abs=1e-3, name="T", dims=("y", "x"), attrs=odd))
said = subprocess.run([CSZ, "decompress", "odd.csz", "-o", "odd.nc:T"], capture_output=True, text=True)
check("attributes that netCDF cannot name are left out and told", "note: 6 attributes of T left out" in said.stderr, said.stderr)
with netCDF4.Dataset("odd.nc") as found:
    variable = found["T"]
    check("others are there", set(variable.ncattrs()) == {"_FillValue", "@ok"}, variable.ncattrs())
    check("a fill value has the variable's type", variable._FillValue.dtype == "f4" and variable._FillValue == 3)
for at, name in enumerate(("\n", " y", "y ", "y" * 256, "y\udcff", "\u00e9" * 128, "")):
    with open("odd.csz", "wb") as file:
        file.write(csz.compress(field, abs=1e-3, name="T", dims=(name, "x")))
    said = subprocess.run([CSZ, "decompress", "odd.csz", "-o", f"dims{at}.nc:T"], capture_output=True, text=True, errors="replace")
    check(f"a dim that netCDF cannot name, {name[:2]!r}, is told", "note: the dims of T have no names, as" in said.stderr, said.stderr)
    with netCDF4.Dataset(f"dims{at}.nc") as found:
        check("and the file is read", found["T"].shape == (10, 12) and found["T"].dimensions == ("phony_dim_0", "phony_dim_1"), found["T"].dimensions)
with open("odd.csz", "wb") as file:
    file.write(csz.compress(field, abs=1e-3, name="T", dims=("y" * 255, "x")))
subprocess.run([CSZ, "decompress", "odd.csz", "-q", "-o", "dims.nc:T"], check=True)
with netCDF4.Dataset("dims.nc") as found:
    check("a dim of 255 bytes is there", found["T"].dimensions == ("y" * 255, "x"), found["T"].dimensions)
print(f"{failures} properties do not hold" if failures else "all properties hold")
sys.exit(failures > 0)
