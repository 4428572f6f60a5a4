# SPDX-License-Identifier: BSD-3-Clause
"""The HDF5 filter of csz for h5py, netCDF4, h5netcdf and xarray, without a variable to set.

    import csz.hdf5
    file.create_dataset("t", data=t, chunks=True, **csz.hdf5.Csz(abs=1e-3))
    dataset.to_netcdf("t.nc", engine="h5netcdf", encoding={"t": csz.hdf5.encoding(abs=1e-3)})

Importing this module tells every copy of HDF5 that the process has loaded, and netCDF for its Zarr, where the
package keeps the plugin, by their own calls; those that h5py, netCDF4 and PyTables bring later are told right
after their import.  Files then open as any other.  HDF5_PLUGIN_PATH stays as it is: HDF5 looks there instead
of in its default folders, so setting it would take away other filters, here and in child processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
import struct
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _arguments, _errors
from ._library import BOUND_MODES, PREDICTORS, WORKFLOWS

__all__ = ["FILTER_ID", "Csz", "codec", "encoding", "plugin_path", "register"]

FILTER_ID = 411
"""The filter's number in files.  From HDF5's range for tests, until one is registered."""

_FILL_NONE, _FILL_GIVEN = 1, 2  # word 4; 0: the dataset's own
_EXACT, _FLOOR, _UNSIGNED_ZEROS = 512, 1024, 2048  # word 0: every bit is kept; the last two words are the floor; -0.0 counts as 0


def plugin_path() -> Path:
    """The folder that holds the plugin: the package's own, or one of HDF5_PLUGIN_PATH."""
    named = os.environ.get("HDF5_PLUGIN_PATH", "").split(os.pathsep)
    for folder in (Path(__file__).resolve().parent / "plugins", *map(Path, filter(None, named))):
        if any(folder.glob("libh5csz.*")):
            return folder
    raise _errors.BackendError(
        "this installation of csz has no HDF5 plugin: install HDF5's headers (libhdf5-dev) and then csz again, or set "
        "HDF5_PLUGIN_PATH to a folder that holds libh5csz.so"
    )


def _loaded(pattern: str) -> list[ctypes.CDLL]:
    """The libraries of this process whose files' names begin so.  Wheels bring one each, under names of their
    own."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/") > 0}
    except OSError:  # not Linux
        return []
    # one whose package was replaced meanwhile has no file any more
    return [ctypes.CDLL(path) for path in sorted(paths) if re.match(pattern, os.path.basename(path)) and os.path.exists(path)]


_PACKAGES = ("h5py", "netCDF4", "tables")
_lock = threading.Lock()
_told: set[int] = set()  # handles of libraries that know the folder


def register() -> None:
    """Tells every HDF5 and netCDF that is loaded where the plugin is.  Importing the module does it, and so does
    an import of h5py, netCDF4 or PyTables after that; call it where something else loads an HDF5 later.  What
    has been told is left alone, since another thread may be using it."""
    folder = os.fsencode(plugin_path())
    with _lock:
        netcdfs = [library for library in _loaded(r"libnetcdf[-.]") if library._handle not in _told]
        theirs = {_address(library, "H5open") for library in netcdfs} - {None}
        copies = [
            library
            for library in _loaded(r"libhdf5(_serial|_openmpi|_mpich)?[-.]")
            if library._handle not in _told or _address(library, "H5open") in theirs
        ]
        _told.update(library._handle for library in netcdfs + copies)
        copies = list(filter(_calls_itself, copies))
        before = [_paths_of(library) for library in copies]
        for library in netcdfs:
            _register_nczarr(library, folder)
        for library, paths in zip(copies, before):
            for path in paths:  # netCDF gives its HDF5 its own list
                if path not in _paths_of(library):
                    library.H5PLappend(path)
            if folder not in _paths_of(library) and hasattr(library, "H5PLprepend"):  # 1.10.1 and later
                library.H5PLprepend(folder)


def _await_imports() -> None:
    """Waits for imports that other threads began before they were watched: their HDF5 may not be loaded yet."""
    for name in _PACKAGES:
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            with contextlib.suppress(ImportError):  # which is told where it began
                importlib.import_module(name)


def _address(library: ctypes.CDLL, name: str) -> int | None:
    """Where a function is that a library, or one that it needs, has."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value if hasattr(library, name) else None


def _visible(library: ctypes.CDLL, name: str) -> bool:
    """Whether every library that is loaded from now on finds this one's function, not its own of that name."""
    return None is not _address(library, name) == _address(ctypes.CDLL(None), name)


def _calls_itself(library: ctypes.CDLL) -> bool:
    """False for an HDF5 that was loaded after another one became visible to all: most of its calls then reach
    that other one, which register() sees as well, and a call that mixes the two may never return."""
    if not hasattr(ctypes.CDLL(None), "H5open") or _visible(library, "H5open"):
        return True
    try:  # H5T_NATIVE_INT of the public header: it stays unset where initialising went to the other
        return ctypes.c_int64.in_dll(library, "H5T_NATIVE_INT_g").value > 0
    except ValueError:
        return False


def _paths_of(library: ctypes.CDLL) -> list[bytes]:
    """The folders in which an HDF5 looks for plugins."""
    try:
        size, get = library.H5PLsize, library.H5PLget
    except AttributeError:
        return []
    get.argtypes, get.restype = [ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_ssize_t
    n = ctypes.c_uint()
    if size(ctypes.byref(n)) < 0:
        return []
    found = []
    for i in range(n.value):
        nbytes = get(i, None, 0)
        if nbytes >= 0:
            text = ctypes.create_string_buffer(nbytes + 1)
            get(i, text, nbytes + 1)
            found.append(text.value)
    return found


class _Folders(ctypes.Structure):
    """NCPluginList of netCDF."""

    _fields_ = [("n", ctypes.c_size_t), ("paths", ctypes.POINTER(ctypes.c_char_p))]


def _register_nczarr(library: ctypes.CDLL, folder: bytes) -> None:
    """netCDF looks for the codecs of its Zarr in a list of its own, once, when the first store needs one.  It then
    loads all of them with RTLD_GLOBAL, which makes itself and its HDF5 visible to all libraries loaded later:
    h5py's or PyTables' calls would go there.  So the list is set here, and loading is left to the first store."""
    given = _Folders()
    if not hasattr(library, "nc_plugin_path_set") or library.nc_plugin_path_get(ctypes.byref(given)) != 0:  # 4.9.3 and later
        return
    paths = [given.paths[i] for i in range(given.n)]
    library.ncaux_plugin_path_clear(ctypes.byref(given))
    if folder not in paths:
        wanted = (ctypes.c_char_p * (len(paths) + 1))(folder, *paths)
        library.nc_plugin_path_set(ctypes.byref(_Folders(len(wanted), wanted)))
        if _visible(library, "NCZ_load_all_plugins"):  # a store has been read before: nothing else becomes visible
            library.NCZ_load_all_plugins()


class _Watch:
    """An entry of sys.meta_path: calls register() when a package that brings an HDF5 has been imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _PACKAGES:
            return None
        others = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            setattr(spec.loader, "exec_module", execute_and_register)
        return spec


class Csz(Mapping[str, Any]):
    """Settings of the filter, to be given to h5py as ``**Csz(abs=1e-3)`` or ``compression=Csz(abs=1e-3)``.

    Exactly one of ``abs``, ``rel``, ``psnr`` and ``pwr``; ``rel`` and ``psnr`` hold chunk by chunk, each with
    the range of its own values.  In a chunk with more than eight numbers far outside, all others may come
    back as one, without a warning.  :func:`csz.absolute_bound` resolves such a bound over a whole array, and
    warns.  ``fill``: a value of missing data; by default the dataset's own fill value; ``"none"``: every value counts.  ``floor``
    beside ``pwr``: an absolute error that any value may have.  ``unsigned_zeros=True``: -0.0 counts as 0.
    ``exact=True`` instead of a bound: every bit is kept, of any type.
    """

    def __init__(
        self,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        fill: float | str | None = None,
        workflow: str = "auto",
        predictor: str = "lorenzo",
        exact: bool = False,
        pwr: float | None = None,
        floor: float | None = None,
        unsigned_zeros: bool = False,
    ) -> None:
        self.filter_id = FILTER_ID
        self.filter_options = _options_of(abs, rel, psnr, fill, workflow, predictor, exact, pwr, floor, unsigned_zeros)
        self._settings: dict[str, Any] = {"compression": self.filter_id, "compression_opts": self.filter_options}
        h5py = sys.modules.get("h5py")
        if h5py is not None:  # it then takes this as one of its own, which have an id and options too
            h5py.filters.FilterRefBase.register(Csz)

    def __getitem__(self, name: str) -> Any:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __hash__(self) -> int:  # h5py looks for it among its own filters
        return hash((self.filter_id, self.filter_options))

    def __repr__(self) -> str:
        return f"Csz({self._settings})"


def _options_of(
    abs: float | None,
    rel: float | None,
    psnr: float | None,
    fill: float | str | None,
    workflow: str,
    predictor: str,
    exact: bool,
    pwr: float | None,
    floor: float | None,
    unsigned_zeros: bool,
) -> tuple[int, ...]:
    """The words that the filter is given."""
    zeros = _arguments.unsigned_zeros_of(unsigned_zeros, pwr is not None or exact)
    if exact:
        if any(value is not None for value in (abs, rel, psnr, pwr, floor, fill)) or workflow != "auto" or predictor != "lorenzo":
            raise _errors.BoundError("exact=True keeps every bit; give no bound, fill value, workflow or predictor with it")
        return (_EXACT,)
    mode, bound = _arguments.bound_of(abs, rel, psnr, pwr)
    coding = _arguments.choice_of("workflow", workflow, WORKFLOWS) | _arguments.choice_of("predictor", predictor, PREDICTORS) << 8
    words = [BOUND_MODES.index(mode) | (_UNSIGNED_ZEROS if zeros else 0), *_words_of(bound)]
    least = _arguments.floor_of(floor, mode)
    if fill is None:
        words += [coding] if coding else []
    elif fill == "none":
        words += [coding, _FILL_NONE]
    else:
        words += [coding, _FILL_GIVEN, *_words_of(_arguments.number_of("fill", fill))]
    if least:
        words[0] |= _FLOOR
        words += [0] * (7 - len(words)) + [*_words_of(least)]
    return tuple(words)


def _words_of(value: float) -> tuple[int, int]:
    """A double as two words, the low one first."""
    low, high = struct.unpack("<II", struct.pack("<d", value))
    return low, high


def encoding(**settings: Any) -> dict[str, Any]:
    """For xarray's ``to_netcdf(engine="h5netcdf", encoding={NAME: encoding(rel=1e-4)})``; settings as of
    :class:`Csz`.  Its engine netcdf4, the default, knows no filters by number and refuses them."""
    return dict(Csz(**settings))


def codec(dataset: Any) -> Any:
    """The numcodecs codec that reads the chunks of a dataset of h5py which has the filter: for kerchunk and
    others that read chunks by themselves."""
    from .numcodecs import Csz as Codec

    filters = getattr(dataset, "_filters", None)
    if not isinstance(filters, Mapping):
        raise _errors.ArgumentError(f"codec() takes a dataset of h5py, not {type(dataset).__module__}.{type(dataset).__qualname__}")
    words = filters.get(str(FILTER_ID))
    if words is None:
        raise _errors.ArgumentError(f"{dataset.name} does not have the filter {FILTER_ID}")
    if dataset.dtype.kind != "f" or dataset.dtype.itemsize not in (4, 8):
        raise _errors.DtypeError(
            f"{dataset.name} has the filter {FILTER_ID} on {dataset.dtype}, of which it stores bytes as they are: only chunks of float32 and "
            "float64 are archives that a codec reads"
        )
    dtype = None if dataset.dtype.isnative else dataset.dtype.str
    if len(words) > 3 and words[0] == _EXACT:
        return Codec(exact=True, dtype=dtype)
    if len(words) < 3 or words[0] & 0xFF >= len(BOUND_MODES) or words[0] & _EXACT:
        raise _errors.ArgumentError(f"{dataset.name} has the filter {FILTER_ID} with settings that this version does not know")
    settings = {BOUND_MODES[words[0] & 0xFF]: struct.unpack("<d", struct.pack("<II", *words[1:3]))[0]}
    if words[0] & _FLOOR:
        settings["floor"] = struct.unpack("<d", struct.pack("<II", *words[-2:]))[0]
    return Codec(**settings, dtype=dtype, unsigned_zeros=bool(words[0] & _UNSIGNED_ZEROS))


sys.meta_path.insert(0, _Watch())
_await_imports()
register()
