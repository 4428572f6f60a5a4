# SPDX-License-Identifier: BSD-3-Clause
"""The HDF5 filter of csz for h5py, netCDF4, h5netcdf and xarray, without a variable to set.

    import csz.hdf5
    file.create_dataset("t", data=t, chunks=True, **csz.hdf5.Csz(abs=1e-3))
    dataset.to_netcdf("t.nc", engine="h5netcdf", encoding={"t": csz.hdf5.encoding(abs=1e-3)})

Importing this module tells HDF5 where the package keeps the plugin: the copies of HDF5 that the process has
loaded already, by their own call, and those that it loads later, by HDF5_PLUGIN_PATH.  Files then open as any
other.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
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


def _loaded_hdf5() -> Iterator[str]:
    """Files of the HDF5 libraries that this process has loaded; wheels bring one each, under names of their
    own."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/") > 0}
    except OSError:  # not Linux
        return
    for path in sorted(paths):
        if re.match(r"libhdf5(_serial|_openmpi|_mpich)?[-.]", os.path.basename(path)):
            yield path


def _default_paths() -> Iterator[str]:
    """Where HDF5 and netCDF4 look while HDF5_PLUGIN_PATH is not set, which setting it must not take away.
    netCDF4 sets the variable to its own folder, with its zstd, blosc and bzip2, when it is imported; it may
    not be yet."""
    yield "/usr/local/hdf5/lib/plugin"
    try:
        package = importlib.util.find_spec("netCDF4")
    except ValueError:  # a stand-in in sys.modules
        return
    for place in (package and package.submodule_search_locations) or ():
        if any(Path(place, "plugins").glob("*__nczhdf5filters.*")):
            yield os.path.join(place, "plugins")


def register() -> None:
    """Tells HDF5 where the plugin is.  Importing the module does it; a second call does no harm."""
    folder = str(plugin_path())
    given = os.environ.get("HDF5_PLUGIN_PATH", "")
    if folder not in given.split(os.pathsep):
        os.environ["HDF5_PLUGIN_PATH"] = os.pathsep.join([folder, *([given] if given else _default_paths())])
    for path in _loaded_hdf5():
        library = ctypes.CDLL(path)
        if folder in _paths_of(library):
            continue
        prepend = getattr(library, "H5PLprepend", None)  # 1.10.1 and later
        if prepend is not None:
            prepend.argtypes, prepend.restype = [ctypes.c_char_p], ctypes.c_int
            prepend(os.fsencode(folder))


def _paths_of(library: ctypes.CDLL) -> list[str]:
    """The folders in which an HDF5 looks for plugins."""
    try:
        size, get = library.H5PLsize, library.H5PLget
    except AttributeError:
        return []
    size.argtypes, size.restype = [ctypes.POINTER(ctypes.c_uint)], ctypes.c_int
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
            found.append(os.fsdecode(text.value))
    return found


class Csz(Mapping[str, Any]):
    """Settings of the filter, to be given to h5py as ``**Csz(abs=1e-3)`` or ``compression=Csz(abs=1e-3)``.

    Exactly one of ``abs``, ``rel``, ``psnr`` and ``pwr``; ``rel`` and ``psnr`` hold chunk by chunk, each with
    the range of its own values.  :func:`csz.absolute_bound` resolves one over a whole array.  ``fill``: a
    value of missing data; by default the dataset's own fill value; ``"none"``: every value counts.  ``floor``
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
        if any(value is not None for value in (abs, rel, psnr, pwr, floor)) or workflow != "auto" or predictor != "lorenzo":
            raise _errors.BoundError("exact=True keeps every bit; give no bound, workflow or predictor with it")
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

    words = dataset._filters.get(str(FILTER_ID), ())
    dtype = None if dataset.dtype.isnative else dataset.dtype.str
    if len(words) > 3 and words[0] == _EXACT and dataset.dtype.kind == "f":
        return Codec(exact=True, dtype=dtype)
    if len(words) < 3 or words[0] & 0xFF >= len(BOUND_MODES) or words[0] & _EXACT:
        raise _errors.ArgumentError(f"{dataset.name} does not have the filter {FILTER_ID} on floats")
    settings = {BOUND_MODES[words[0] & 0xFF]: struct.unpack("<d", struct.pack("<II", *words[1:3]))[0]}
    if words[0] & _FLOOR:
        settings["floor"] = struct.unpack("<d", struct.pack("<II", *words[-2:]))[0]
    return Codec(**settings, dtype=dtype, unsigned_zeros=bool(words[0] & _UNSIGNED_ZEROS))


register()
