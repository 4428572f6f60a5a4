# SPDX-License-Identifier: BSD-3-Clause
"""The calls of the package: compress, decompress, info, compare, check, and bounds over a whole dataset."""

from __future__ import annotations

import ctypes as c
import math
import mmap
import operator
import sys
import warnings
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, Callable, Iterator, Literal, Mapping, Sequence, TypedDict, TypeVar, Union, overload

import numpy as np

from . import _arrays, _cuda, _errors, _library, _metadata
from ._library import BACKENDS, BOUND_MODES, DTYPES, MAX_NDIM, PREDICTORS, WORKFLOWS, check as _check, lib

Workflow = Literal["auto", "huffman", "rle", "rle+vle"]
Predictor = Literal["lorenzo", "pyramid", "auto"]
Backend = Literal["auto", "cpu", "cuda"]
Fill = Union[float, Literal["none"], None]
HostArray = Union["np.ndarray[Any, Any]", Sequence[float], Sequence[Sequence[float]], float]
HostBuffer = Union[bytes, bytearray, memoryview, mmap.mmap, "np.ndarray[Any, Any]"]
Out = TypeVar("Out")


class Features(TypedDict):
    """What :func:`features` returns."""

    version: str
    library: str
    zstd: bool
    cpu_isa: str
    cuda_built: bool
    cuda_available: bool


@dataclass(frozen=True)
class Info:
    """What an archive says of itself; see :func:`info`."""

    shape: tuple[int, ...]
    """Dims of the field, slowest first: 1 to 4 of them."""
    dtype: np.dtype[Any]
    mode: str
    """Which bound was given: abs, rel, psnr or pwr; or exact."""
    bound: float
    """The bound as given."""
    bound_abs: float
    """What no finite value differs by more than; 0 means exact.  NaN with pwr, where that depends on the value."""
    workflow: str
    fill: float | None
    """The value that stands for missing ones, where one was given."""
    zstd: bool
    format_version: int
    size: int
    nbytes: int
    """Bytes of the field."""
    nbytes_archive: int
    frames: int
    tiles: int
    tile_shape: tuple[int, ...]
    levels: int
    """Levels of resolution, the field's own included; 1 means that there are no previews."""
    name: str | None = None
    """What the field is called, where the archive says so."""
    dims: tuple[str, ...] | None = None
    """Names of the dims, slowest first, where the archive has them."""
    floor: float | None = None
    """The absolute error that values may have besides a pointwise bound, where one was given."""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """Attributes: text, lists of text, NumPy scalars and arrays."""

    @property
    def ratio(self) -> float:
        """Bytes of the field over bytes of the archive."""
        return self.nbytes / self.nbytes_archive


@dataclass(frozen=True)
class Comparison:
    """How far one array is from another; see :func:`compare`."""

    size: int
    special: int
    """Values of the first array that are not finite or missing: compared bit for bit, left out of all numbers below."""
    violations: int
    """Values further apart than the bound, and special ones that differ; without a bound only the latter."""
    worst: tuple[int, ...] | None
    """Index of the largest difference, or of the first special value that differs."""
    min: float
    max: float
    max_abs_error: float
    rmse: float
    nrmse: float
    psnr: float
    max_pwr_error: float
    """Largest difference over the value itself, of those above ``floor``; infinite where a value is 0."""

    def __bool__(self) -> bool:
        """True where nothing is violated."""
        return self.violations == 0


# ---- Arguments -----------------------------------------------------------------------------------------------------------


def _choice(name: str, value: str, names: Sequence[str]) -> int:
    try:
        return names.index(value)
    except ValueError:
        raise _errors.ArgumentError(f"{name} is one of {', '.join(names)}, not {value!r}") from None


def _shown(value: Any) -> str:
    """How a message shows what it refuses: in a few words, however large."""
    if getattr(value, "shape", ()):
        return f"an array of {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _integer(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise _errors.ArgumentError(f"{name} is a whole number, not {value!r}") from None
    if not least <= number <= most:
        raise _errors.ArgumentError(f"{name} lies between {least} and {most}, not {number}")
    return number


def _number(name: str, value: Any, kind: type[_errors.Error] = _errors.ArgumentError) -> float:
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise kind(f"{name} is a number, not {_shown(value)}") from None


def bound_of(abs: float | None, rel: float | None, psnr: float | None, pwr: float | None = None) -> tuple[str, float]:
    """The one bound given, as a mode and a number."""
    given = [(mode, value) for mode, value in zip(BOUND_MODES, (abs, rel, psnr, pwr)) if value is not None]
    if len(given) != 1:
        raise _errors.BoundError("give exactly one of abs=, rel=, psnr= and pwr=")
    mode, value = given[0]
    number = _number(mode, value, _errors.BoundError)
    if not 0 < number < math.inf:
        raise _errors.BoundError(f"{mode} is a positive finite number, not {value!r}")
    if mode == "pwr" and number >= 1:
        raise _errors.BoundError(f"pwr is a number below 1, not {value!r}")
    return mode, number


def floor_of(floor: float | None, mode: str) -> float:
    """The absolute error that values may have besides a pointwise bound, or 0."""
    if floor is None:
        return 0.0
    number = _number("floor", floor, _errors.BoundError)
    if mode != "pwr" or not 0 < number < math.inf:
        raise _errors.BoundError(f"floor is a positive finite number beside pwr=, not {floor!r}")
    return number


def check_exact(workflow: str, predictor: str) -> None:
    """What exact=True leaves no choice of."""
    if workflow != "auto":
        raise _errors.ArgumentError(f"exact=True has one way to code values; leave out workflow={workflow!r}")
    if predictor == "pyramid":
        raise _errors.ArgumentError("exact=True cannot interpolate; leave out predictor='pyramid'")


def _bound_or_target(
    abs: float | None, rel: float | None, psnr: float | None, pwr: float | None, ratio: float | None, size: int | None, exact: bool = False
) -> tuple[int, float]:
    """The one bound or target given, as the number of its mode and its own."""
    if exact:
        if any(value is not None for value in (abs, rel, psnr, pwr, ratio, size)):
            raise _errors.BoundError("exact=True keeps every bit; give no bound and no target with it")
        return _library.EXACT, 0.0
    targets = [(mode, value) for mode, value in (("ratio", ratio), ("size", size)) if value is not None]
    if not targets and sum(value is not None for value in (abs, rel, psnr, pwr)) == 1:
        mode, bound = bound_of(abs, rel, psnr, pwr)
        return BOUND_MODES.index(mode), bound
    if len(targets) != 1 or any(value is not None for value in (abs, rel, psnr, pwr)):
        raise _errors.BoundError("give exactly one of abs=, rel=, psnr=, pwr=, ratio=, size= and exact=True")
    mode, value = targets[0]
    number = _number(mode, value, _errors.BoundError)
    if not 0 < number < math.inf:
        raise _errors.BoundError(f"{mode} is a positive finite number, not {value!r}")
    return _library.TARGETS[mode], number


def _compressing(status: int, device: int | None, nbytes: int) -> str:
    """What was done, for an error; of a target that cannot be reached how near it was."""
    target = _library.Target()
    if status != _errors.TargetError.status:
        return "compressing"
    lib.csz_context_target(_library.context(device).handle, c.byref(target), c.sizeof(target))
    return (
        f"compressing to {target.nbytes_wanted} bytes (with a bound as large as the range, {target.bound:.6g}, "
        f"there are {target.nbytes}, ratio {nbytes / target.nbytes:.2f})"
    )


def _machine(options: _library.Options | _library.DecompressOptions, backend: str, threads: int) -> None:
    """Sets what options of compressing and of decompressing have in common."""
    options.backend = _choice("backend", backend, BACKENDS)
    if options.backend == _library.CUDA:
        _cuda.require()
    options.threads = _integer("threads", threads, 0, 2**31 - 1)


def _decompress_options(backend: str, threads: int, memory_limit: int | None) -> _library.DecompressOptions:
    options = _library.DecompressOptions()
    lib.csz_decompress_options_init_sized(c.byref(options), c.sizeof(options))
    _machine(options, backend, threads)
    options.memory_limit = _limit(memory_limit)
    return options


def _options(backend: str, threads: int, fill: float | None = None) -> _library.Options:
    options = _library.Options()
    lib.csz_options_init_sized(c.byref(options), c.sizeof(options))
    _machine(options, backend, threads)
    if fill is not None:
        options.has_fill = 1
        options.fill = _number("fill", fill)
    return options


_FLOAT32_END = float.fromhex("0x1.ffffffp127")  # the largest float32 and half a step: from here on numbers round to infinity


def check_fill(fill: float | None, view: _arrays.View) -> None:
    """Refuses a fill value that becomes infinite in the array's type."""
    if fill is not None and view.dtype.itemsize == 4 and _FLOAT32_END <= math.fabs(fill) < math.inf:
        raise _errors.ArgumentError(f"fill {fill!r} does not fit float32: give the value as it stands in the array")


def named_fill(fill: Fill) -> float | None:
    """The fill value, None where there is none, whether it was left out or said."""
    return None if isinstance(fill, str) and fill == "none" else fill


def outside() -> tuple[str, int]:
    """File and line of the nearest caller outside this package and those that call it as a codec."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _WITHIN:
        frame = frame.f_back
    assert frame is not None
    return frame.f_code.co_filename, frame.f_lineno


_WITHIN = {"csz", "zarr", "numcodecs", "dataclasses", "asyncio", "concurrent", "threading"}


def warn_of_fill(suspect: _library.FillSuspect, fill: Fill, dtype: np.dtype[Any], where: tuple[str, int] | None = None) -> bool:
    """Warns of values that look like fill values, unless none is said to be one.  ``where``: the line to blame, by default the caller's."""
    if not suspect.found or isinstance(fill, str):
        return False
    text, other = (str(dtype.type(value)).replace("+", "") for value in (suspect.value, suspect.other))
    also = f" and {other} in about {100 * suspect.other_share:.3g}%" if suspect.found > 1 else ""
    if suspect.found > 2:
        also = f",{also[4:]} and more such numbers in some"
    advice = f"give fill={text} if it marks missing values, or fill='none' if it is data"
    if suspect.found > 1:
        advice = "make them one and give that as fill if they mark missing values, or give fill='none' if they are data"
    warnings.warn_explicit(
        f"{text} stands in about {100 * suspect.share:.3g}%{also} of the values, far outside the others "
        f"({suspect.low:.4g} to {suspect.high:.4g}): {advice}",
        _errors.FillWarning,
        *(outside() if where is None else where),
    )
    return True


def fold(shape: Sequence[int]) -> tuple[int, ...]:
    """The dims an archive stores for a shape: of more than four the slowest become one, and none become (1,)."""
    shape = tuple(shape)
    extra = max(len(shape) - MAX_NDIM, 0)
    return (math.prod(shape[: extra + 1]), *shape[extra + 1 :]) if shape else (1,)


def _field(view: _arrays.View) -> _library.Field:
    dims = fold(view.shape)
    if max(dims) >= 2**64:
        raise _errors.DimsError(f"the shape {view.shape} holds more than 2**56 elements")
    return _library.Field(DTYPES.index(view.dtype.name), len(dims), (c.c_uint64 * MAX_NDIM)(*dims))


_WORTH_A_GPU = 32 << 20  # bytes from which AUTO takes the GPU for data on the host; see csz.h


def _device(options: _library.Options | _library.DecompressOptions, *views: _arrays.View) -> int | None:
    """The device that a call runs on, None where it cannot need one."""
    devices = {view.device for view in views if view.device is not None}
    if len(devices) > 1:
        raise _errors.ArgumentError(f"the arrays lie on different devices: {sorted(devices)}")
    if devices:
        if options.backend == _library.CPU:
            raise _errors.ArgumentError("backend='cpu' cannot reach an array on the GPU: leave backend out, or move the array to the host")
        return devices.pop()
    if options.backend == BACKENDS.index("auto") and all(view.nbytes < _WORTH_A_GPU for view in views):
        options.backend = _library.CPU  # what the library would choose, without starting CUDA to find out
    if options.backend == _library.CPU or not _cuda.usable():
        return None
    return _cuda.current_device()


def _host_copy(view: _arrays.View) -> _arrays.View:
    """The view itself, or its bytes on the host."""
    if view.device is None:
        return view
    data = np.frombuffer(_cuda.read(view.device, view.stream, view.pointer, view.nbytes), dtype=view.dtype)
    return _arrays._view_numpy(data.reshape(view.shape))


# ---- Compress ------------------------------------------------------------------------------------------------------------


@overload
def compress(
    array: HostArray,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    fill: Fill = None,
    workflow: Workflow = "auto",
    predictor: Predictor = "lorenzo",
    backend: Backend = "auto",
    threads: int = 0,
    zstd: int = 0,
    name: str | None = None,
    dims: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    like: None = None,
) -> bytes: ...
@overload
def compress(
    array: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    fill: Fill = None,
    workflow: Workflow = "auto",
    predictor: Predictor = "lorenzo",
    backend: Backend = "auto",
    threads: int = 0,
    zstd: int = 0,
    name: str | None = None,
    dims: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    like: Any = None,
) -> Any: ...
def compress(
    array: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    fill: Fill = None,
    workflow: Workflow = "auto",
    predictor: Predictor = "lorenzo",
    backend: Backend = "auto",
    threads: int = 0,
    zstd: int = 0,
    name: str | None = None,
    dims: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    like: Any = None,
) -> Any:
    """Compresses an array of float32 or float64 and returns the archive.

    Exactly one bound is given: ``abs``, the most that a value may change by; ``rel``, the same as a share of the array's value range;
    ``psnr``, at least this many dB; or ``pwr``, the same as a share of each value, below 1.  With ``pwr`` zeros and signs are kept, and ``floor`` is an
    absolute error that values may have all the same.  Or a target: ``ratio``, bytes of the array over bytes of the archive, or ``size``, bytes of the
    archive.  Then the archive has the tightest absolute bound that reaches it, within 3% unless sizes jump there, which takes the time of a
    few archives; :class:`TargetError` says that none does.  Or ``exact=True``: every value comes back bit for bit,
    with no choice of workflow and predictor.  NaN, infinities and -0.0 always come back bit for bit.

    array
        NumPy arrays of any strides, byte order and rank, what ``numpy.asarray`` turns into one, and arrays on the GPU (CuPy, PyTorch, anything
        with ``__cuda_array_interface__`` or DLPack), which are read where they are.  The archive keeps up to four dims: of more the
        slowest are stored as one, and 0-d is stored as one element; see the ``shape`` of :func:`decompress`.  Masked values
        become ``fill``, or NaN.
    fill
        Values equal to this are missing: left out of the range that ``rel`` and ``psnr`` refer to, and restored exactly.  Where a value of an array on the
        host looks like a fill value and is not named here, a :class:`FillWarning` says so, unless ``"none"`` says that every value is data.
    workflow
        ``auto`` takes the smallest coder for each tile; ``huffman``, ``rle`` and ``rle+vle`` are the paper's.
    predictor
        ``lorenzo``, from neighbours; ``pyramid``, by interpolation, which makes smooth fields smaller and gives previews, see ``level`` of
        :func:`decompress`; or ``auto``: what is smaller.  With ``pwr`` these two are of the CPU alone.
    backend
        ``cpu``, ``cuda``, or ``auto``: CUDA for arrays on the GPU and, where there is one, for 32 MiB and more.  The bytes are the same.
    threads
        0 takes one per core.  The bytes are the same for every number.
    zstd
        A level, 1 to 22, adds a final zstd pass.
    name, dims, attrs
        What the archive says of the field: its name, a name for each dim that the archive has, and a dict of attributes, each text, a list of
        text, a number or a list of numbers; 1 MiB at most.  :func:`info` gives them back, and the command writes them into netCDF files.
    like
        Where the archive goes: ``numpy`` for bytes on the host, ``cupy``, ``torch`` or an array of theirs for the device.

    Returns bytes for arrays on the host; for arrays on the GPU an array of uint8 there, of CuPy or, for tensors, of PyTorch.
    """
    archive, warn = compress_quietly(
        array, abs, rel, psnr, fill, pwr=pwr, floor=floor, ratio=ratio, size=size, exact=exact, workflow=workflow, predictor=predictor, backend=backend,
        threads=threads, zstd=zstd, name=name, dims=dims, attrs=attrs, like=like,
    )  # fmt: skip
    warn()
    _warn_of_bound(array, abs, rel, psnr, fill)
    if not _arrays.is_device(array) and _starts_as_archive(array):
        warnings.warn_explicit("the array holds the bytes of an archive, compressed as numbers: give those to csz.decompress", UserWarning, *outside())
    return archive


def _starts_as_archive(array: Any) -> bool:
    start, info = _arrays.as_numpy(array).flat[: _library.HEADER_MAX_NBYTES].tobytes(), _library.Info()
    return bool(lib.csz_inspect_header(c.byref(info), c.sizeof(info), c.cast(c.c_char_p(start), c.c_void_p), len(start)) == 0)


def _warn_of_bound(array: Any, abs: float | None, rel: float | None, psnr: float | None, fill: Fill) -> None:
    """Warns of a bound so large, from half the range on, that all values may come back as one."""
    share = rel if rel is not None else 0 if psnr is None else 10 ** (-psnr / 20)
    if share >= 0.5:
        text = f"rel={rel:g} allows errors of {rel:g} times the range" if rel is not None else f"psnr={psnr:g} allows errors of {share:.3g} times the range"
    elif abs is not None and hasattr(array, "shape") and not _arrays.is_device(array):
        # First of some values: to look at all takes as long as compressing.
        few = array[tuple(slice(None, None, max(1, n // 16)) for n in array.shape)]
        limits = _range_of(few, named_fill(fill))
        if limits is not None and limits[0] < limits[1] and 2 * abs >= limits[1] - limits[0]:
            limits = _range_of(array, named_fill(fill))
        if limits is None or limits[0] == limits[1] or 2 * abs < limits[1] - limits[0]:
            return
        text = f"abs={abs:g} exceeds {'' if abs >= limits[1] - limits[0] else 'half of '}what the values span, {limits[1] - limits[0]:.4g}"
    else:
        return
    warnings.warn_explicit(f"{text}: all may come back as one; give a {'larger PSNR' if psnr is not None else 'smaller bound'}", UserWarning, *outside())


def compress_options(
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    fill: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    workflow: str = "auto",
    predictor: str = "lorenzo",
    backend: str = "auto",
    threads: int = 0,
    zstd: int = 0,
) -> _library.Options:
    """Checked options, without metadata."""
    mode, bound = _bound_or_target(abs, rel, psnr, pwr, ratio, size, exact)
    options = _options(backend, threads, fill)
    options.bound_mode, options.bound = mode, bound
    options.floor = floor_of(floor, "pwr" if pwr is not None else "")
    options.workflow = _choice("workflow", workflow, WORKFLOWS)
    options.predictor = _choice("predictor", predictor, PREDICTORS)
    if exact:
        check_exact(workflow, predictor)
    options.zstd_level = _integer("zstd", zstd, 0, 22)
    return options


def compress_quietly(
    array: Any,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    fill: Fill = None,
    *,
    pwr: float | None = None,
    floor: float | None = None,
    ratio: float | None = None,
    size: int | None = None,
    exact: bool = False,
    workflow: str = "auto",
    predictor: str = "lorenzo",
    backend: str = "auto",
    threads: int = 0,
    zstd: int = 0,
    name: str | None = None,
    dims: Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    like: Any = None,
) -> tuple[Any, Callable[..., bool]]:
    """An archive, and the call of :func:`warn_of_fill` that tells of values that look like fill values."""
    named = named_fill(fill)
    options = compress_options(abs, rel, psnr, named, pwr, floor, ratio, size, exact, workflow, predictor, backend, threads, zstd)
    source = _arrays.view_field(array, named)
    check_fill(named, source)
    place = _arrays.place_of(like, source)
    shape = _field(source)
    section = _metadata.encode(name, dims, attrs, shape.ndim)
    if section is not None:
        options.metadata, options.metadata_nbytes = c.cast(c.c_char_p(section), c.c_void_p), len(section)

    capacity = c.c_size_t()
    _check(lib.csz_compress_bound(c.byref(capacity), c.byref(shape), c.byref(options)), f"a field of shape {source.shape}")
    # The library packs with zstd on the host.
    room, out = _arrays.make(_arrays.HOST if zstd else place, (capacity.value,), np.dtype("uint8"))
    nbytes, suspect = c.c_size_t(), _library.FillSuspect()
    device = _device(options, source, out)
    status = _cuda.call(
        lib.csz_compress, device, (source.stream, out.stream),
        out.pointer, capacity.value, c.byref(nbytes), source.pointer, c.byref(shape), c.byref(options),
    )  # fmt: skip
    _check(status, _compressing(status, device, source.nbytes))
    lib.csz_context_fill_suspect(_library.context(device).handle, c.byref(suspect))
    warn = partial(warn_of_fill, suspect, fill, source.dtype)
    archive = room[: nbytes.value]
    if place.kind == "numpy":
        return archive.tobytes(), warn
    if zstd:
        result, out = _arrays.make(place, (nbytes.value,), np.dtype("uint8"))
        _store(out, _arrays._view_numpy(archive))
        return result, warn
    result = archive.clone() if place.kind == "torch" else archive.copy()  # without the room that was not used
    if place.device is not None:
        _cuda.wait(place.device, _arrays.view_device(result).stream)
    return result, warn


def _store(out: _arrays.View, data: _arrays.View) -> None:
    """Host data to out, on the device or in host memory of any strides and byte order."""
    if out.device is not None:
        _cuda.write(out.device, out.stream, out.pointer, data.pointer, data.nbytes)
    else:
        out.owner[...] = data.owner.reshape(out.shape)


# ---- Archives ------------------------------------------------------------------------------------------------------------


def _inspect(archive: _arrays.View) -> Info:
    raw = _library.Info()
    if archive.device is None:
        status = lib.csz_inspect(c.byref(raw), c.sizeof(raw), archive.pointer, archive.nbytes)
    else:
        start = _cuda.read(archive.device, archive.stream, archive.pointer, min(archive.nbytes, _library.HEADER_MAX_NBYTES))
        status = lib.csz_inspect_header(c.byref(raw), c.sizeof(raw), (c.c_char * len(start)).from_buffer(start), len(start))
    _check(status, f"reading an archive of {archive.nbytes} bytes")
    name, dims, attrs = _metadata.decode(_section(archive, raw.metadata_nbytes))
    return Info(
        shape=tuple(raw.field.dims[: raw.field.ndim]),
        dtype=np.dtype(DTYPES[raw.field.type]),
        mode="exact" if raw.bound_mode == _library.EXACT else BOUND_MODES[raw.bound_mode],
        bound=raw.bound,
        bound_abs=math.nan if raw.bound_abs and BOUND_MODES[raw.bound_mode] == "pwr" else raw.bound_abs,
        floor=raw.floor or None,
        workflow=WORKFLOWS[raw.workflow],
        fill=raw.fill if raw.has_fill else None,
        zstd=bool(raw.has_zstd),
        format_version=raw.format_version,
        size=raw.nelements,
        nbytes=raw.nbytes_field,
        nbytes_archive=archive.nbytes,
        frames=raw.nframes,
        tiles=raw.ntiles,
        tile_shape=tuple(raw.tile_dims),
        levels=raw.nlevels,
        name=name,
        dims=dims,
        attrs=attrs,
    )


def _section(archive: _arrays.View, nbytes: int) -> bytes:
    """The metadata of an archive, its last bytes."""
    if archive.device is None or nbytes > archive.nbytes:
        return c.string_at(archive.pointer + archive.nbytes - nbytes, nbytes) if 0 < nbytes <= archive.nbytes else b""
    if nbytes == 0:
        return b""
    section = bytes(_cuda.read(archive.device, archive.stream, archive.pointer + archive.nbytes - nbytes, nbytes))
    _check(lib.csz_metadata_check(section, nbytes), "reading the attributes of an archive")
    return section


def _level_shape(archive: _arrays.View, level: int) -> tuple[int, ...]:
    """The shape of a preview."""
    raw, field = _library.Info(), _library.Field()
    _check(lib.csz_inspect(c.byref(raw), c.sizeof(raw), archive.pointer, archive.nbytes), f"reading an archive of {archive.nbytes} bytes")
    _check(lib.csz_level_field(c.byref(field), c.byref(raw), _integer("level", level, 0, 31)), f"level {level}, of {raw.nlevels} from 0 up,")
    return tuple(field.dims[: field.ndim])


def info(archive: Any) -> Info:
    """What an archive says of itself: shape, dtype, bound, sizes.  Reads header and footer, decodes nothing."""
    return _inspect(_arrays.view_archive(archive))


def check(archive: Any, *, threads: int = 0, memory_limit: int | None = None) -> None:
    """Checks everything: structure, every checksum, and the restored values' checksum.  Raises an :class:`ArchiveError` if one fails."""
    view = _host_copy(_arrays.view_archive(archive))
    options = _decompress_options("cpu", threads, memory_limit)
    status = _cuda.call(lib.csz_test, None, (), view.pointer, view.nbytes, c.byref(options))
    _check_limit(status, memory_limit, "checking an archive")


def _limit(memory_limit: int | None) -> int:
    """What csz.h calls it: 0 is none."""
    if memory_limit is None:
        return 0
    try:
        nbytes = operator.index(memory_limit)
    except TypeError:
        nbytes = 0
    if nbytes <= 0:
        raise _errors.ArgumentError(f"memory_limit is a whole number of bytes above 0, or None for no limit, not {memory_limit!r}")
    return min(nbytes, 2**63)


def _check_limit(status: int, memory_limit: int | None, what: str) -> None:
    """As _check, with the limit's number where that was exceeded."""
    if status == _errors.LimitError.status:
        raise _errors.LimitError(f"{what} takes more than the memory_limit of {memory_limit} bytes, scratch included: raise it, or use fewer threads")
    _check(status, what)


def _axis(item: Any, extent: int, axis: int) -> tuple[int, int, bool]:
    """Begin, end, and whether the axis stays, of one entry of a region."""
    if isinstance(item, slice):
        if item.step not in (None, 1):
            raise _errors.RegionError(f"axis {axis}: a region has no step: decode it, then take {item.step} by {item.step}")
        begin, end, keep = item.start, item.stop, True
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        (begin, end), keep = item, True
    else:
        begin, end, keep = item, None, False
    try:
        if any(isinstance(number, (bool, np.bool_)) for number in (begin, end)):
            raise TypeError
        begin = 0 if begin is None and keep else operator.index(begin)
        end = None if end is None else operator.index(end)
    except TypeError:
        raise _errors.RegionError(f"axis {axis}: a region is made of slices, (begin, end) pairs and whole numbers, not {_shown(item)}") from None
    begin += extent if begin < 0 else 0
    if end is None:
        end = extent if keep else begin + 1
    elif end < 0:
        end += extent
    if not (0 <= begin < end <= extent or begin == end == extent == 0):  # of an axis without elements, all of it
        raise _errors.RegionError(f"axis {axis}: {item!r} is empty, reversed or outside an extent of {extent}")
    return begin, end, keep


def _region(region: Any, dims: tuple[int, ...]) -> tuple[list[int], list[int], tuple[int, ...]]:
    """Begin and end on every axis of the archive, and the shape of what they hold."""
    items = list(region) if isinstance(region, (tuple, list)) else [region]
    if sum(item is Ellipsis for item in items) > 1:
        raise _errors.RegionError("a region has at most one ellipsis")
    if Ellipsis not in [item if item is Ellipsis else None for item in items]:
        items.append(Ellipsis)
    if len(items) - 1 > len(dims):
        raise _errors.RegionError(f"the region has {len(items) - 1} axes, and the archive {len(dims)}: {dims}")
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at : at + 1] = [slice(None)] * (len(dims) - len(items) + 1)
    axes = [_axis(item, extent, axis) for axis, (item, extent) in enumerate(zip(items, dims))]
    return [a[0] for a in axes], [a[1] for a in axes], tuple(a[1] - a[0] for a in axes if a[2])


def _shape(shape: Any, dims: tuple[int, ...], what: str, flat: bool = False) -> tuple[int, ...]:
    """A shape that holds the same elements in the same order as the archive's dims: only extents folded or of 1 may differ."""
    try:
        wanted = tuple(operator.index(n) for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        raise _errors.DimsError(f"{what} is a tuple of whole numbers, not {shape!r}") from None
    def solid(s: Sequence[int]) -> list[int]:
        return [n for n in s if n != 1]
    if min(wanted, default=0) < 0 or not (
        solid(fold(wanted)) == solid(dims) or solid(wanted) == solid(dims) or (flat and wanted == (math.prod(dims),))
    ):
        raise _errors.DimsError(f"{what} {wanted} does not fit what is decoded, which is {dims}")
    return wanted


def _writable_directly(target: _arrays.View, source: _arrays.View) -> bool:
    """Whether the library can decode source right into target; on the device anything else is an error."""
    if target.device is None:
        overlaps = source.device is None and np.may_share_memory(target.owner, source.owner)
        flags = target.owner.flags
        return bool(flags.c_contiguous and flags.aligned and target.dtype.isnative and not overlaps)
    if target.device == source.device:
        if target.pointer < source.pointer + source.nbytes and source.pointer < target.pointer + target.nbytes:
            raise _errors.ArgumentError("out overlaps the archive")
    return True


@overload
def decompress(
    archive: HostBuffer,
    out: None = None,
    region: Any = None,
    *,
    level: int = 0,
    shape: Sequence[int] | None = None,
    like: None = None,
    backend: Backend = "auto",
    threads: int = 0,
    memory_limit: int | None = None,
) -> np.ndarray[Any, np.dtype[Any]]: ...
@overload
def decompress(
    archive: Any,
    out: Out,
    region: Any = None,
    *,
    level: int = 0,
    shape: None = None,
    like: None = None,
    backend: Backend = "auto",
    threads: int = 0,
    memory_limit: int | None = None,
) -> Out: ...
@overload
def decompress(
    archive: Any,
    out: Any = None,
    region: Any = None,
    *,
    level: int = 0,
    shape: Sequence[int] | None = None,
    like: Any = None,
    backend: Backend = "auto",
    threads: int = 0,
    memory_limit: int | None = None,
) -> Any: ...
def decompress(
    archive: Any,
    out: Any = None,
    region: Any = None,
    *,
    level: int = 0,
    shape: Sequence[int] | None = None,
    like: Any = None,
    backend: Backend = "auto",
    threads: int = 0,
    memory_limit: int | None = None,
) -> Any:
    """Restores the array of an archive, or a region of it.

    archive
        Any contiguous buffer (bytes, bytearray, memoryview, mmap, NumPy array, read-only or not), or an array of bytes on the GPU.
    out
        An array to decode into, of the archive's dtype: the same shape, one that folds to it, or flat.  It is returned.  NumPy arrays may have
        any strides and byte order (other than contiguous native costs a copy); on the GPU it must be contiguous.
    region
        What to decode, in the archive's dims: ``numpy.s_[0:64, 128:256]``, whole numbers (which drop the axis), ``...``, or a sequence of (begin, end)
        pairs.  None, the default, is all of it.  Only the tiles it touches are decoded.  Negative indices count from the end; an empty region is an error, unless the axis itself is empty.
    level
        A preview, of an archive compressed with the pyramid: every 2^level-th value along each axis, within the bound, from a fraction of the bytes.
        Its shape is that of the field over 2^level, rounded up; of four axes longer than 1 the two slowest are one.  ``region`` is then in that shape.
    shape
        The shape to return, where the archive could not keep it: ``()`` for 0-d, or more than four dims.
    like
        Where the result goes: ``numpy``, ``cupy``, ``torch``, or an array of theirs.  Default: where the archive is.
    memory_limit
        Refuse, with :class:`LimitError`, to use more bytes than this for the result and scratch.  Set it before decoding what you do not trust:
        a few hundred bytes can describe a field of petabytes.
    """
    source = _arrays.view_archive(archive)
    header = _inspect(source)
    options = _decompress_options(backend, threads, memory_limit)
    begin: list[int] = []
    end: list[int] = []
    dims = header.shape if level == 0 else _level_shape(source, level)
    if region is not None:
        begin, end, dims = _region(region, dims)
    nbytes = math.prod(dims) * header.dtype.itemsize
    if options.memory_limit and nbytes > options.memory_limit:
        raise _errors.LimitError(f"the result needs {nbytes} bytes, more than the memory_limit of {options.memory_limit}")

    if out is not None:
        if like is not None or shape is not None:
            raise _errors.ArgumentError("out already says shape and place: leave out shape= and like=")
        result, target = out, _arrays.view_out(out)
        if target.dtype.newbyteorder("=") != header.dtype:
            raise _errors.DtypeError(f"out holds {target.dtype}, and the archive {header.dtype}")
        _shape(target.shape, dims, "out of shape", flat=True)
    else:
        wanted = dims if shape is None else _shape(shape, dims, "shape")
        result, target = _arrays.make(_arrays.place_of(like, source), wanted, header.dtype)

    if header.zstd:  # undone on the host alone
        source = _host_copy(source)
        if options.backend == _library.CUDA:
            raise _errors.BackendError("an archive with zstd is decoded on the CPU: leave backend out")
    direct = target
    if header.zstd and target.device is not None or not _writable_directly(target, source):
        direct = _arrays.make(_arrays.HOST, dims, header.dtype)[1]
    device, streams = _device(options, source, direct), (source.stream, direct.stream)
    if level:
        corners = c.c_uint64 * MAX_NDIM
        status = _cuda.call(
            lib.csz_decompress_level, device, streams,
            direct.pointer, direct.nbytes, source.pointer, source.nbytes, level,
            corners(*begin) if region is not None else None, corners(*end) if region is not None else None, c.byref(options),
        )  # fmt: skip
    elif region is None or header.size == 0:
        status = _cuda.call(
            lib.csz_decompress, device, streams,
            direct.pointer, direct.nbytes, source.pointer, source.nbytes, c.byref(options),
        )  # fmt: skip
    else:
        corners = c.c_uint64 * MAX_NDIM
        status = _cuda.call(
            lib.csz_decompress_region, device, streams,
            direct.pointer, direct.nbytes, source.pointer, source.nbytes, corners(*begin), corners(*end), c.byref(options),
        )  # fmt: skip
    _check_limit(status, memory_limit, f"decompressing {nbytes} bytes")
    if direct is not target:
        _store(target, direct)
    return result


# ---- Comparing and bounds ------------------------------------------------------------------------------------------------


def compare(
    a: Any, b: Any, *, bound: float | None = None, fill: float | None = None, pwr: float | None = None, floor: float | None = None
) -> Comparison:
    """Compares ``b`` with ``a``, in double and in one pass.

    ``bound`` is what ``|a - b|`` may be, exactly; or ``pwr``, the same as a share of each value, beside which ``floor`` is an absolute error that any value
    may have.  Without a bound nothing but special values can violate it.  Values of ``a`` that are not finite, or equal to ``fill``, must agree bit for
    bit.  The result is true where nothing is violated.  Two arrays on one GPU are compared there, unless ``pwr`` is given; of others on GPUs copies on the
    host.
    """
    left, right = _arrays.view_field(a, fill), _arrays.view_field(b, fill)
    if bound is not None and pwr is not None:
        raise _errors.BoundError("give one of bound= and pwr=")
    if left.device != right.device or pwr is not None:
        left, right = _host_copy(left), _host_copy(right)
    check_fill(fill, left)
    if left.shape != right.shape:
        raise _errors.DimsError(f"the shapes differ: {left.shape} and {right.shape}")
    if left.dtype != right.dtype:
        raise _errors.DtypeError(f"the types differ: {left.dtype} and {right.dtype}")
    limit = -1.0
    if bound is not None:
        limit = _number("bound", bound, _errors.BoundError)
        if not 0 <= limit < math.inf:
            raise _errors.BoundError(f"bound is 0 or a positive finite number, not {bound!r}")
    elif pwr is not None:
        limit = bound_of(None, None, None, pwr)[1]
    options, field, m = _options("cpu" if left.device is None else "auto", 1, fill), _field(left), _library.Metrics()
    options.bound_mode = BOUND_MODES.index("pwr" if pwr is not None else "abs")
    options.floor = floor_of(floor, "pwr" if pwr is not None else "")
    with _cuda.ready(left.device, (left.stream, right.stream)):
        status = lib.csz_compare(c.byref(m), c.sizeof(m), left.pointer, right.pointer, c.byref(field), limit, c.byref(options))
    _check(status, "comparing")
    error, index = (m.max_abs_error, m.max_abs_index) if pwr is None else (m.max_pwr_error, m.max_pwr_index)
    if m.special_violations and not 0 <= limit < error:
        index = m.special_index
    worst = tuple(int(i) for i in np.unravel_index(index, left.shape)) if m.n else None
    return Comparison(
        m.n, m.n_special, m.violations, worst, m.min, m.max, m.max_abs_error, m.rmse, m.nrmse, m.psnr, m.max_pwr_error
    )


def _range_of_block(block: Any, fill: float | None) -> tuple[float, float]:
    values = _arrays.as_numpy(block)
    if values.dtype.kind not in "fiub":
        raise _errors.DtypeError(f"a range is of numbers, not of {values.dtype}")
    keep = np.isfinite(values)
    if fill is not None:
        missing = values == values.dtype.type(fill)
        if values.dtype.kind == "f":  # the library compares bits, to which 0.0 and -0.0 are two values
            missing &= np.signbit(values) == np.signbit(values.dtype.type(fill))
        keep &= ~missing
    values = values[keep]
    return (float(values.min()), float(values.max())) if values.size else (math.inf, -math.inf)


class _Watch:
    """Looks for a fill value in blocks of rows of an array that is read in pieces."""

    def __init__(self, data: Any, fill: Fill, bound: tuple[int, float]) -> None:
        self.raw, self.fill, self.dtype = _library.FillWatch(), fill, np.dtype(data.dtype).newbyteorder("=")
        self.size, self.bound = math.prod(data.shape), bound

    def add(self, block: Any, first: int) -> None:
        if self.dtype.name in DTYPES:
            view, options = _arrays.view_field(block), _options("cpu", 1, named_fill(self.fill))
            options.bound_mode, options.bound = self.bound
            if view.device is None:
                kind = DTYPES.index(view.dtype.name)
                lib.csz_fill_watch_add(c.byref(self.raw), view.pointer or None, first, view.size, kind, self.size, c.byref(options))

    def recounts(self, limits: tuple[float, float] | None) -> bool:
        """Whether all blocks are to be added again, since something between these limits is suspicious."""
        if self.dtype.name not in DTYPES or limits is None:
            return False
        known = _library.ValueRange(1, *limits)
        return bool(lib.csz_fill_watch_recount(c.byref(self.raw), c.byref(known), DTYPES.index(self.dtype.name)))

    def warn(self) -> None:
        suspect = _library.FillSuspect()
        if self.dtype.name in DTYPES:
            lib.csz_fill_watch_result(c.byref(suspect), c.byref(self.raw), DTYPES.index(self.dtype.name))
            warn_of_fill(suspect, self.fill, self.dtype)


def value_range(data: Any, fill: float | None = None) -> tuple[float, float] | None:
    """Minimum and maximum over finite values that are not missing, or None where there are none.

    ``data`` may be larger than memory: Dask arrays are reduced block by block, anything else with ``shape`` and slices (Zarr, HDF5, memmap) is read
    some rows at a time.
    """
    return _range_of(data, fill)


def _range_of(data: Any, fill: float | None, watch: _Watch | None = None) -> tuple[float, float] | None:
    if hasattr(data, "to_delayed") and hasattr(data, "dask"):
        import dask

        task = dask.delayed(_range_of_block)  # type: ignore[attr-defined]
        ranges = dask.compute(*(task(block, fill) for block in data.to_delayed().ravel()))  # type: ignore[attr-defined,no-untyped-call]
    else:
        data = data if hasattr(data, "shape") and hasattr(data, "dtype") else _arrays.as_numpy(data)
        ranges = tuple(_ranges_of_rows(data, fill, watch)) if data.shape else (_range_of_block(data[()], fill),)
    low, high = min((r[0] for r in ranges), default=math.inf), max((r[1] for r in ranges), default=-math.inf)
    return (low, high) if low <= high else None


def _ranges_of_rows(data: Any, fill: float | None, watch: _Watch | None) -> Iterator[tuple[float, float]]:
    row = math.prod(data.shape[1:])
    rows = max(1, (64 << 20) // max(1, row * np.dtype(data.dtype).itemsize))
    chunk = (getattr(data, "chunks", None) or (1,))[0]
    if isinstance(chunk, int):  # whole chunks, so that none is read twice
        rows = max(chunk, rows // chunk * chunk)
    for i in range(0, data.shape[0], rows):
        block = data[i : i + rows]
        if watch is not None:
            watch.add(block, i * row)
        yield _range_of_block(block, fill)


def absolute_bound(data: Any, *, rel: float | None = None, psnr: float | None = None, fill: Fill = None) -> float:
    """The absolute bound that ``rel`` or ``psnr`` stands for over a whole dataset.

    Chunked stores compress each chunk alone, so a relative bound there refers to the range of a chunk.  To mean the dataset's range, resolve
    the bound once with this function and give it as ``abs``.  ``data`` is as in :func:`value_range`, ``fill`` as in :func:`compress`, with its warning but for
    Dask arrays.
    """
    mode, number = bound_of(None, rel, psnr)
    if not (hasattr(data, "shape") and hasattr(data, "dtype")):
        data = _arrays.as_numpy(data)
    watch = _Watch(data, fill, (BOUND_MODES.index(mode), number))
    limits = _range_of(data, named_fill(fill), watch)
    if watch.raw.n and watch.recounts(limits):
        _range_of(data, named_fill(fill), watch)
    watch.warn()
    if limits is None or limits[0] == limits[1]:
        raise _errors.BoundError("the data has no range of finite values to refer to: give an absolute bound")
    # The library's own rule, asked of the two values that it depends on.
    two = compress(np.array(limits, dtype=np.float64), rel=rel, psnr=psnr, backend="cpu", threads=1)
    return info(two).bound_abs


def features() -> Features:
    """What this build and machine offer: version, library file, zstd, the CPU's instruction set, CUDA built and usable."""
    return {
        "version": _library.version,
        "library": _library.path,
        "zstd": bool(lib.csz_zstd_available()),
        "cpu_isa": lib.csz_cpu_isa().decode(),
        "cuda_built": bool(lib.csz_backend_built(_library.CUDA)),
        "cuda_available": _cuda.usable(),
    }
