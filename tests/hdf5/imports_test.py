# SPDX-License-Identifier: BSD-3-Clause
"""csz.hdf5 beside the packages that bring an HDF5 of their own, imported in every order: afterwards each runs on
its own library, with its own folders and filters.  Every order has a process of its own, which may not hang.
Run without HDF5_PLUGIN_PATH, with a package as a wheel has it.  Prints one line per property."""

import importlib.util
import itertools
import os
import subprocess
import sys

assert "HDF5_PLUGIN_PATH" not in os.environ
HANGS_AFTER_S = 60  # a run takes about a second; a busy machine gets more
HAVE_TABLES = importlib.util.find_spec("tables") is not None
HAVE_KERCHUNK = importlib.util.find_spec("kerchunk") is not None
failures = 0


def runs(name, program, *arguments):
    global failures
    command = [sys.executable, "-W", "error::UserWarning", "-c", program, *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads take longer to start than all the rest
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, env=environment)
        why = done.stderr[-600:] if done.returncode else ""
    except subprocess.TimeoutExpired:
        why = f"hangs: not done after {HANGS_AFTER_S} s"
    failures += bool(why)
    print(f"FAIL  {name}: {why}" if why else f"ok    {name}", flush=True)


# What each package is for, after all are there.
WORK = """
import ctypes, importlib, os, sys
names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
assert not hasattr(ctypes.CDLL(None), "H5open"), "an HDF5 is visible to all libraries"
import csz.hdf5, h5py, netCDF4, numpy as np
mine = os.fsencode(csz.hdf5.plugin_path())
t = np.sin(np.arange(20 * 30 * 40) * 1e-3).reshape(20, 30, 40).astype("f4")
def near(a): assert float(np.abs(np.asarray(a, "f8") - t).max()) <= 1e-3
def same(a): assert (np.asarray(a) == t).all()

assert h5py.version.hdf5_version_tuple == h5py.version.hdf5_built_version_tuple
folders = [h5py.h5pl.get(i) for i in range(h5py.h5pl.size())]
assert len(folders) > 1 and folders[0] == mine not in folders[1:], folders  # HDF5's own follow, or what netCDF4 puts into HDF5_PLUGIN_PATH
path = f"{os.getpid()}"
with h5py.File(path + ".h5", "w") as file:
    file.create_dataset("gzip", data=t, compression="gzip", shuffle=True)
    file.create_dataset("csz", data=t, chunks=(10, 30, 40), **csz.hdf5.Csz(abs=1e-3))
    if "hdf5plugin" in names:
        import hdf5plugin
        file.create_dataset("blosc2", data=t, **hdf5plugin.Blosc2())  # not Blosc: behind netCDF4 h5py takes that one's, and fails without csz too
        file.create_dataset("zstd", data=t, **hdf5plugin.Zstd())
with h5py.File(path + ".h5") as file:
    same(file["gzip"][:])
    near(file["csz"][:])
    if "hdf5plugin" in names:
        same(file["blosc2"][:])
        same(file["zstd"][:])

with netCDF4.Dataset(path + ".nc", "w") as file:
    for name, n in zip("zyx", t.shape):
        file.createDimension(name, n)
    for name in "zlib", "zstd", "blosc_lz", "bzip2":
        file.createVariable(name, "f4", tuple("zyx"), compression=name)[:] = t
with netCDF4.Dataset(path + ".nc") as file:
    for name in "zlib", "zstd", "blosc_lz", "bzip2":
        same(file[name][:])
with netCDF4.Dataset(path + ".h5") as file:
    near(file["csz"][:])

if "tables" in names:
    import tables
    with tables.open_file(path + ".tables", "w") as file:
        for name in "zlib", "blosc":
            file.create_carray("/", name, obj=t, filters=tables.Filters(5, name))
    with tables.open_file(path + ".tables") as file:
        for name in "zlib", "blosc":
            same(file.root[name][:])
    with tables.open_file(path + ".h5") as file:
        near(file.root.csz[:])
if "h5netcdf" in names:
    import h5netcdf
    with h5netcdf.File(path + ".nc4", "w") as file:
        file.dimensions = dict(zip("zyx", t.shape))
        file.create_variable("t", tuple("zyx"), data=t, chunks=(10, 30, 40), **csz.hdf5.Csz(abs=1e-3))
    with h5netcdf.File(path + ".nc4") as file:
        near(file["t"][:])
if "kerchunk.hdf" in names:
    from kerchunk.hdf import SingleHdf5ToZarr
    with h5py.File(path + ".plain", "w") as file:
        file.create_dataset("t", data=t, compression="gzip")
    assert "t/0.0.0" in SingleHdf5ToZarr(path + ".plain").translate()["refs"]
"""
late = ["hdf5plugin", "h5netcdf"]
for i, order in enumerate(itertools.permutations(["csz.hdf5", "netCDF4", "h5py"] + ["tables"] * HAVE_TABLES)):
    if order[-1] != "csz.hdf5":  # there nothing is left to disturb
        names = [*order, late[i % 2]]
        runs(", ".join(names), WORK, *names)
# these import h5py themselves: each where h5py stood above
for name in late + ["kerchunk.hdf"] * HAVE_KERCHUNK:
    for names in (["csz.hdf5", "netCDF4", name], ["netCDF4", "csz.hdf5", name], [name, "netCDF4", "csz.hdf5"]):
        names += ["tables"] * HAVE_TABLES
        runs(", ".join(names), WORK, *names)

# netCDF makes its HDF5 visible to all libraries loaded after its first read of a Zarr store, csz or not.
STORE = """
import os
with netCDF4.Dataset(f"file://{os.getcwd()}/before.zarr#mode=zarr,file", "w") as file:
    file.createDimension("x", 100)
    file.createVariable("t", "f4", ("x",), zlib=True)[:] = 1
"""
TABLES = """
import tables
with tables.open_file("after.tables", "w") as file:
    file.create_carray("/", "t", obj=[1.0] * 1000, filters=tables.Filters(5, "zlib"))
with tables.open_file("after.tables") as file:
    assert sum(file.root.t[:]) == 1000
"""
H5PY = """
import h5py, numpy as np
t = np.sin(np.arange(24000) * 1e-3).astype("f4")
with h5py.File("after.h5", "w") as file:
    file.create_dataset("csz", data=t, chunks=True, **csz.hdf5.Csz(abs=1e-3))
assert float(np.abs(h5py.File("after.h5")["csz"][:].astype("f8") - t).max()) <= 1e-3
"""
if HAVE_TABLES:
    runs("tables imported after a Zarr store", "import csz.hdf5, netCDF4" + STORE + TABLES)
    runs("tables imported after a Zarr store, csz.hdf5 last", "import netCDF4" + STORE + TABLES + "import csz.hdf5")
runs("h5py imported before a Zarr store, csz.hdf5 after it", "import h5py, netCDF4" + STORE + "import csz.hdf5" + H5PY)
runs("h5py imported after a Zarr store", "import warnings\nwarnings.simplefilter('ignore')\nimport csz.hdf5, netCDF4" + STORE + H5PY)

runs("what has been told is left alone", """
import csz.hdf5, netCDF4
touched = []
paths_of = csz.hdf5._paths_of
csz.hdf5._paths_of = lambda library: touched.append(library._name) or paths_of(library)
csz.hdf5.register()
assert not touched, touched
import h5py
assert touched and all("h5py" in name for name in touched), touched
""")
runs("csz.hdf5 imported while another thread imports netCDF4", """
import importlib.util, sys, threading
import h5py, numpy as np
begun, go_on = threading.Event(), threading.Event()
class Slow:  # netCDF4 is being imported, and its HDF5 not loaded yet
    def find_spec(self, name, path, target=None):
        if name != "netCDF4":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (begun.set(), go_on.wait(20), execute(module))
        return spec
sys.meta_path.insert(0, Slow())
threads = [threading.Thread(target=importlib.import_module, args=(name,)) for name in ("netCDF4", "csz.hdf5")]
threads[0].start()
assert begun.wait(20)
threads[1].start()
threads[1].join(3)
go_on.set()
for thread in threads: thread.join()
import csz.hdf5, netCDF4
t = np.sin(np.arange(24000) * 1e-3).astype("f4")
with h5py.File("threads.h5", "w") as file:
    file.create_dataset("csz", data=t, chunks=True, **csz.hdf5.Csz(abs=1e-3))
with netCDF4.Dataset("threads.h5") as file:
    assert float(np.abs(file["csz"][:].astype("f8") - t).max()) <= 1e-3
""")
print(f"{failures} properties do not hold" if failures else "all properties hold")
sys.exit(failures > 0)
