# SPDX-License-Identifier: BSD-3-Clause
"""The calls of the package: compress, decompress, info, compare, check, and bounds over a whole dataset."""

from __future__ import annotations

import ctypes as c
import math
import mmap
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Mapping, Sequence, TypedDict, TypeVar, Union, overload

import numpy as np

from . import _arguments, _arrays, _cuda, _errors, _library, _metadata, _ranges, _shapes, _warnings
from ._arguments import Backend, Fill, Predictor, Workflow, check_fill, named_fill
from ._info import Info, inspect, level_shape
from ._library import BOUND_MODES, DTYPES, MAX_NDIM, check as _check, lib

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
class Comparison:
    """How far one array is from another; see :func:`compare`."""

    size: int
    special: int
    """Values of the first array that are not finite or missing: compared bit for bit, left out of all numbers
    below."""
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
    unsigned_zeros: bool = False,
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
    unsigned_zeros: bool = False,
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
    unsigned_zeros: bool = False,
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

    Exactly one bound is given: ``abs``, the most that a value may change by; ``rel``, the same as a share of
    the array's value range; ``psnr``, at least this many dB; or ``pwr``, the same as a share of each value,
    below 1.  With ``pwr`` zeros and signs are kept, and ``floor`` is an absolute error that values may have
    all the same.  Or a target: ``ratio``, bytes of the array over bytes of the archive, or ``size``, bytes of
    the archive.  Then the archive has an absolute bound that reaches it, nearly always within 3%, which
    takes the time of six archives on average and of 24 at most, or is exact where that reaches it.  A warning
    says where sizes jump past the target, :class:`TargetError` that no bound reaches it.  Or ``exact=True``:
    every value comes back bit for bit, with no choice of workflow and predictor.  NaN, infinities and -0.0
    come back bit for bit.

    array
        NumPy arrays of any strides, byte order and rank, what ``numpy.asarray`` turns into one, and arrays on
        the GPU (CuPy, PyTorch, anything with ``__cuda_array_interface__`` or DLPack), which are read where
        they are.  The archive keeps up to four dims: of more the slowest are stored as one, and 0-d is stored
        as one element; see the ``shape`` of :func:`decompress`.  Masked values become ``fill``, or NaN.
    fill
        Values equal to this are missing: left out of the range that ``rel`` and ``psnr`` refer to, and
        restored exactly.  Where a value of an array on the host looks like a fill value and is not named
        here, a :class:`FillWarning` says so, unless ``"none"`` says that every value is data.
    unsigned_zeros
        True: -0.0 counts as 0 and may lose its sign, which makes fields with many of them smaller.  Not with
        ``pwr`` and ``exact``.  Where 0 or -0.0 is the fill value, -0.0 keeps its bits.
    workflow
        ``auto`` takes the smallest coder for each tile; ``huffman``, ``rle`` and ``rle+vle`` are the paper's.
    predictor
        ``lorenzo``, from neighbours; ``pyramid``, by interpolation, which makes smooth fields smaller and
        gives previews, see ``level`` of :func:`decompress`; or ``auto``: what is smaller.  Lorenzo takes the
        pyramid's place in one dimension and where a pyramid would be larger than the values; :func:`info`
        says what was used.
    backend
        ``cpu``, ``cuda``, or ``auto``: CUDA for arrays on the GPU and, where there is one, for 32 MiB and
        more.  The bytes are the same.
    threads
        0 takes one per core.  The bytes are the same for every number.
    zstd
        A level, 1 to 22, adds a final zstd pass.
    name, dims, attrs
        What the archive says of the field: its name, a name for each dim that the archive has, and a dict of
        attributes, each text, a list of text, a number or a list of numbers; 1 MiB at most.  :func:`info`
        gives them back, and the command writes them into netCDF files.
    like
        Where the archive goes: ``numpy`` for bytes on the host, ``cupy``, ``torch`` or an array of theirs for
        the device.

    Returns bytes for arrays on the host; for arrays on the GPU an array of uint8 there, of CuPy or, for
    tensors, of PyTorch.
    """
    archive, warn = compress_quietly(
        array, abs, rel, psnr, fill, pwr=pwr, floor=floor, ratio=ratio, size=size, exact=exact, unsigned_zeros=unsigned_zeros, workflow=workflow,
        predictor=predictor, backend=backend, threads=threads, zstd=zstd, name=name, dims=dims, attrs=attrs, like=like,
    )  # fmt: skip
    warn()
    _warnings.warn_of_bound(array, abs, rel, psnr, floor, fill)
    if pwr is not None:
        _warnings.warn_of_fineness(archive, pwr)
    if ratio is not None or size is not None:
        _warnings.warn_of_target(array, archive, fill)
    if not _arrays.is_device(array) and _warnings.starts_as_archive(array):
        warnings.warn_explicit("the array holds the bytes of an archive, compressed as numbers: give those to csz.decompress", UserWarning, *_warnings.outside())
    return archive


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
    unsigned_zeros: bool = False,
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
    options = _arguments.compress_options(abs, rel, psnr, named, pwr, floor, ratio, size, exact, workflow, predictor, backend, threads, zstd, unsigned_zeros)
    source = _arrays.view_field(array, named)
    check_fill(named, source)
    place = _arrays.place_of(like, source)
    shape = _arguments.field_of(source)
    section = _metadata.encode(name, dims, attrs, shape.ndim)
    if section is not None:
        options.metadata, options.metadata_nbytes = c.cast(c.c_char_p(section), c.c_void_p), len(section)

    capacity = c.c_size_t()
    _check(lib.csz_compress_bound(c.byref(capacity), c.byref(shape), c.byref(options)), f"a field of shape {source.shape}")
    # The library packs with zstd on the host.
    room, out = _arrays.make(_arrays.HOST if zstd else place, (capacity.value,), np.dtype("uint8"))
    nbytes, suspect, outlier = c.c_size_t(), _library.FillSuspect(), _library.FillOutlier()
    device = _arguments.device_of(options, source, out)
    status = _cuda.call(
        lib.csz_compress, device, (source.stream, out.stream),
        out.pointer, capacity.value, c.byref(nbytes), source.pointer, c.byref(shape), c.byref(options),
    )  # fmt: skip
    _check(status, _compressing(status, device, source.nbytes, options.metadata_nbytes))
    lib.csz_context_fill_suspect(_library.context(device).handle, c.byref(suspect))
    lib.csz_context_fill_outlier(_library.context(device).handle, c.byref(outlier))
    warn = partial(_warnings.warn_of_fill, suspect, outlier, fill, source.dtype)
    if ratio is not None or size is not None:
        target = _library.Target()
        lib.csz_context_target(_library.context(device).handle, c.byref(target), c.sizeof(target))
        warn = partial(_warnings.warn_of_jump, target, source.nbytes, warn)
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


def _compressing(status: int, device: int | None, nbytes: int, metadata_nbytes: int) -> str:
    """What was done, for an error; of a target that cannot be reached how near it was."""
    target = _library.Target()
    if status != _errors.TargetError.status:
        return "compressing"
    lib.csz_context_target(_library.context(device).handle, c.byref(target), c.sizeof(target))
    if not nbytes:
        text = "an archive without values"
    elif metadata_nbytes >= target.nbytes_wanted or 2 * metadata_nbytes >= target.nbytes:
        text = f"name, dims and attrs take {metadata_nbytes}: the archive"
    elif not target.max > target.min:
        text = "its values are all equal or missing: the archive"
    elif target.most < target.least:
        text = "no bound that the type resolves is as small as its range: the exact archive"
    elif target.bound == 0:
        text = "the smallest archive is the exact one and"
    elif target.bound < target.max - target.min:
        text = f"its values lie from {target.min:.6g} to {target.max:.6g}: the smallest archive found, with a bound of {target.bound:.6g},"
    else:
        text = f"even with a bound as large as its range, from {target.min:.6g} to {target.max:.6g}, the archive"
    ratio = f", ratio {nbytes / target.nbytes:.2f}" if nbytes else ""
    return f"compressing to {target.nbytes_wanted} bytes ({text} has {target.nbytes}{ratio})"


def _store(out: _arrays.View, data: _arrays.View) -> None:
    """Host data to out, on the device or in host memory of any strides and byte order."""
    if out.device is not None:
        _cuda.write(out.device, out.stream, out.pointer, data.pointer, data.nbytes)
    else:
        out.owner[...] = data.owner.reshape(out.shape)


# ---- Archives ------------------------------------------------------------------------------------------------------------


def info(archive: Any, *, survey: bool = False) -> Info:
    """What an archive says of itself: shape, dtype, bound, sizes.  Reads header and footer, decodes nothing.
    ``survey`` reads the frames too, for ``predictor``, ``pyramids`` and ``level_nbytes`` of archives that may
    have pyramids."""
    return inspect(_arrays.view_archive(archive), survey)


def check(archive: Any, *, threads: int = 0, memory_limit: int | None = None) -> None:
    """Checks everything: structure, every checksum, and the restored values' checksum.  Raises an
    :class:`ArchiveError` if one fails."""
    view = _arrays.host_copy(_arrays.view_archive(archive))
    options = _arguments.decompress_options("cpu", threads, memory_limit)
    status = _cuda.call(lib.csz_test, None, (), view.pointer, view.nbytes, c.byref(options))
    _check_limit(status, memory_limit, "checking an archive")


def _check_limit(status: int, memory_limit: int | None, what: str) -> None:
    """As _check, with the limit's number where that was exceeded."""
    if status == _errors.LimitError.status:
        raise _errors.LimitError(f"{what} takes more than the memory_limit of {memory_limit} bytes, scratch included: raise it, or use fewer threads")
    _check(status, what)


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
        Any contiguous buffer (bytes, bytearray, memoryview, mmap, NumPy array, read-only or not), or an array
        of bytes on the GPU.
    out
        An array to decode into, of the archive's dtype: the same shape, one that folds to it, or flat.  It is
        returned.  NumPy arrays may have any strides and byte order (other than contiguous native costs a
        copy); on the GPU it must be contiguous.
    region
        What to decode, in the archive's dims: ``numpy.s_[0:64, 128:256]``, whole numbers (which drop the
        axis), ``...``, or a sequence of (begin, end) pairs.  None, the default, is all of it.  Only the tiles
        it touches are decoded.  Negative indices count from the end; an empty region is an error, unless the
        axis itself is empty.
    level
        A preview, of an archive compressed with the pyramid: every 2^level-th value along each axis, within
        the bound, from a fraction of the bytes.  Its shape is that of the field over 2^level, rounded up; of
        four axes longer than 1 the two slowest are one.  ``region`` is then in that shape.
    shape
        The shape to return, where the archive could not keep it: ``()`` for 0-d, or more than four dims.
    like
        Where the result goes: ``numpy``, ``cupy``, ``torch``, or an array of theirs.  Default: where the
        archive is.
    memory_limit
        Refuse, with :class:`LimitError`, to use more bytes than this for the result and scratch.  Set it
        before decoding what you do not trust: a few hundred bytes can describe a field of petabytes.
    """
    source = _arrays.view_archive(archive)
    header = inspect(source)
    options = _arguments.decompress_options(backend, threads, memory_limit)
    begin: list[int] = []
    end: list[int] = []
    dims = header.shape if level == 0 else level_shape(source, level)
    if region is not None:
        begin, end, dims = _shapes.region_of(region, dims)
    nbytes = math.prod(dims) * header.dtype.itemsize
    if options.memory_limit and nbytes > options.memory_limit:
        raise _errors.LimitError(f"the result needs {nbytes} bytes, more than the memory_limit of {options.memory_limit}")

    if out is not None:
        if like is not None or shape is not None:
            raise _errors.ArgumentError("out already says shape and place: leave out shape= and like=")
        result, target = out, _arrays.view_out(out)
        if target.dtype.newbyteorder("=") != header.dtype:
            raise _errors.DtypeError(f"out holds {target.dtype}, and the archive {header.dtype}")
        _shapes.shape_of(target.shape, dims, "out of shape", flat=True)
    else:
        wanted = dims if shape is None else _shapes.shape_of(shape, dims, "shape")
        result, target = _arrays.make(_arrays.place_of(like, source), wanted, header.dtype)

    if header.zstd:  # undone on the host alone
        source = _arrays.host_copy(source)
        if options.backend == _library.CUDA:
            raise _errors.BackendError("an archive with zstd is decoded on the CPU: leave backend out")
    direct = target
    if header.zstd and target.device is not None or not _writable_directly(target, source):
        direct = _arrays.make(_arrays.HOST, dims, header.dtype)[1]
    device, streams = _arguments.device_of(options, source, direct), (source.stream, direct.stream)
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

    ``bound`` is what ``|a - b|`` may be, exactly; or ``pwr``, the same as a share of each value, beside which
    ``floor`` is an absolute error that any value may have.  Without a bound nothing but special values can
    violate it.  Values of ``a`` that are not finite, or equal to ``fill``, must agree bit for bit.  The
    result is true where nothing is violated.  Two arrays on one GPU are compared there, unless ``pwr`` is
    given; of others on GPUs copies on the host.
    """
    left, right = _arrays.view_field(a, _arguments.fill_of(fill)), _arrays.view_field(b, fill)
    if bound is not None and pwr is not None:
        raise _errors.BoundError("give one of bound= and pwr=")
    if left.device != right.device or pwr is not None:
        left, right = _arrays.host_copy(left), _arrays.host_copy(right)
    check_fill(fill, left)
    if left.shape != right.shape:
        raise _errors.DimsError(f"the shapes differ: {left.shape} and {right.shape}")
    if left.dtype != right.dtype:
        raise _errors.DtypeError(f"the types differ: {left.dtype} and {right.dtype}")
    limit = -1.0
    if bound is not None:
        limit = _arguments.number_of("bound", bound, _errors.BoundError)
        if not 0 <= limit < math.inf:
            raise _errors.BoundError(f"bound is 0 or a positive finite number, not {bound!r}")
    elif pwr is not None:
        limit = _arguments.bound_of(None, None, None, pwr)[1]
    options, field, m = _arguments.base_options("cpu" if left.device is None else "auto", 1, fill), _arguments.field_of(left), _library.Metrics()
    options.bound_mode = BOUND_MODES.index("pwr" if pwr is not None else "abs")
    options.floor = _arguments.floor_of(floor, "pwr" if pwr is not None else "")
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


class _Watch:
    """Looks for a fill value in blocks of rows of an array that is read in pieces."""

    def __init__(self, data: Any, fill: Fill, bound: tuple[int, float]) -> None:
        self.raw, self.fill, self.dtype = _library.FillWatch(), fill, np.dtype(data.dtype).newbyteorder("=")
        self.size, self.bound = math.prod(data.shape), bound

    def add(self, block: Any, first: int) -> None:
        if self.dtype.name in DTYPES:
            view, options = _arrays.view_field(block), _arguments.base_options("cpu", 1, named_fill(self.fill))
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

    def warn(self, limits: tuple[float, float] | None) -> None:
        suspect, outlier = _library.FillSuspect(), _library.FillOutlier()
        if self.dtype.name in DTYPES and limits is not None:
            kind, known = DTYPES.index(self.dtype.name), _library.ValueRange(1, *limits)
            lib.csz_fill_watch_result(c.byref(suspect), c.byref(self.raw), kind)
            lib.csz_fill_watch_outlier(c.byref(outlier), c.byref(self.raw), c.byref(known), kind)
            _warnings.warn_of_fill(suspect, outlier, self.fill, self.dtype)


def absolute_bound(data: Any, *, rel: float | None = None, psnr: float | None = None, fill: Fill = None) -> float:
    """The absolute bound that ``rel`` or ``psnr`` stands for over a whole dataset.

    Chunked stores compress each chunk alone, so a relative bound there refers to the range of a chunk.  To
    mean the dataset's range, resolve the bound once with this function and give it as ``abs``.  ``data`` is
    as in :func:`value_range`, ``fill`` as in :func:`compress`, with its warning but for Dask arrays.
    """
    if (rel is None) == (psnr is None):
        raise _errors.BoundError("give exactly one of rel= and psnr=")
    mode, number = _arguments.bound_of(None, rel, psnr)
    if not (hasattr(data, "shape") and hasattr(data, "dtype")):
        data = _arrays.as_numpy(data)
    watch = _Watch(data, fill, (BOUND_MODES.index(mode), number))
    limits = _ranges.range_of(data, named_fill(fill), watch.add)
    if watch.raw.n and watch.recounts(limits):
        _ranges.range_of(data, named_fill(fill), watch.add)
    watch.warn(limits)
    if limits is None or limits[0] == limits[1]:
        raise _errors.BoundError("the data has no range of finite values to refer to: give an absolute bound")
    # The library's own rule, asked of the two values that it depends on.
    two = compress(np.array(limits, dtype=np.float64), rel=rel, psnr=psnr, backend="cpu", threads=1)
    return info(two).bound_abs


def features() -> Features:
    """What this build and machine offer: version, library file, zstd, the CPU's instruction set, CUDA built
    and usable."""
    return {
        "version": _library.version,
        "library": _library.path,
        "zstd": bool(lib.csz_zstd_available()),
        "cpu_isa": lib.csz_cpu_isa().decode(),
        "cuda_built": bool(lib.csz_backend_built(_library.CUDA)),
        "cuda_available": _cuda.usable(),
    }
