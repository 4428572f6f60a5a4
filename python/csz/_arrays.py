# SPDX-License-Identifier: BSD-3-Clause
"""From what users hold (NumPy, CuPy, PyTorch, anything with an array protocol, buffers) to pointers, and from
results back.

A :class:`View` is memory that the library may read or write, with everything that keeps it valid.  Device
memory is taken without a copy where it is contiguous: PyTorch and CuPy by their own methods, others through
``__cuda_array_interface__`` or DLPack.
"""

from __future__ import annotations

import ctypes as c
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _cuda, _errors


@dataclass
class View:
    """C-contiguous memory.  ``device`` is None on the host; ``stream`` may still be at work on the memory;
    ``owner`` keeps it."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int | None
    owner: Any
    stream: int | None = None
    readonly: bool = False
    kind: str = "numpy"  # who makes a result to go with it: numpy, cupy, torch; "device" where only the memory is known

    @property
    def size(self) -> int:
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class Place:
    """Where a result is made: by whom, and on which device (None: the host)."""

    kind: str
    device: int | None


HOST = Place("numpy", None)


# ---- Who is who: without importing anything that the caller has not imported --------------------------------------------------


def _instance(x: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(x, getattr(loaded, name, ()))


def is_torch(x: Any) -> bool:
    return _instance(x, "torch", "Tensor")


def is_cupy(x: Any) -> bool:
    return _instance(x, "cupy", "ndarray")


def is_device(x: Any) -> bool:
    """Whether x lies in GPU memory."""
    if isinstance(x, (np.ndarray, bytes, bytearray, memoryview)):
        return False
    if is_torch(x):
        return bool(x.device.type != "cpu")
    if hasattr(x, "__cuda_array_interface__"):
        return True
    return hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) not in (1, 3)  # CPU and pinned host memory


# ---- Device memory -------------------------------------------------------------------------------------------------------


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    if strides is None or 0 in shape:
        return True
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _view_torch(x: Any) -> View:
    import torch

    if x.layout is not torch.strided or x.device.type != "cuda":
        raise _errors.DtypeError(f"csz takes dense tensors on the CPU or on a CUDA device, not {x.layout} on {x.device}")
    x = x.detach().contiguous()
    name = str(x.dtype).removeprefix("torch.")
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise _errors.DtypeError(f"csz compresses float32 and float64, not {name}: convert with tensor.float()") from None
    stream = int(torch.cuda.current_stream(x.device).cuda_stream)
    return View(x.data_ptr(), tuple(x.shape), dtype, x.device.index, x, stream, kind="torch")


def _view_interface(x: Any, kind: str) -> View:
    """Through __cuda_array_interface__, version 2 or 3."""
    face = x.__cuda_array_interface__
    shape, dtype = tuple(int(n) for n in face["shape"]), np.dtype(face["typestr"])
    if face.get("mask") is not None:
        raise _errors.ArgumentError("masked arrays on the device are not supported: put a fill value in their place")
    if not _contiguous(shape, face.get("strides"), dtype.itemsize):
        try:
            import cupy
        except ImportError:
            raise _errors.ArgumentError("the device array is not C-contiguous: make a contiguous copy of it first") from None
        x = cupy.asarray(x)
        with x.device:
            return _view_interface(cupy.ascontiguousarray(x), kind)
    pointer, readonly = face["data"]
    device = _cuda.device_of(pointer) if pointer else _cuda.current_device()
    return View(int(pointer), shape, dtype, device, x, face.get("stream"), bool(readonly), kind)


class _DLTensor(c.Structure):
    """The head of DLManagedTensor, which is the tensor itself."""

    _fields_ = [
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


_capsule_pointer = c.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c.c_void_p
_capsule_pointer.argtypes = [c.py_object, c.c_char_p]


def _view_dlpack(x: Any) -> View:
    """Through DLPack.  The capsule is kept, not consumed, so its own destructor gives the tensor back.

    Stream 1, the legacy default one, is the library's: the producer makes it wait for whatever still writes
    the tensor.
    """
    device_type, _ = x.__dlpack_device__()
    if int(device_type) not in (2, 13):
        raise _errors.DtypeError(f"csz takes arrays on the CPU or on a CUDA device, not DLPack's device type {int(device_type)}")
    capsule = x.__dlpack__(stream=1)
    tensor = c.cast(_capsule_pointer(capsule, b"dltensor"), c.POINTER(_DLTensor)).contents
    codes = {0: "i", 1: "u", 2: "f", 5: "c"}
    if tensor.code not in codes or tensor.lanes != 1:
        raise _errors.DtypeError("csz compresses float32 and float64, not what this DLPack tensor holds")
    dtype = np.dtype(f"{codes[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)) if tensor.strides else None
    if not _contiguous(shape, strides, dtype.itemsize):
        raise _errors.ArgumentError("the device array is not C-contiguous: make a contiguous copy of it first")
    pointer = (tensor.data or 0) + tensor.byte_offset
    return View(pointer, shape, dtype, int(tensor.device_id), (x, capsule), readonly=True, kind="device")


def view_device(x: Any) -> View:
    _cuda.require()
    if is_torch(x):
        return _view_torch(x)
    if is_cupy(x):
        with x.device:
            return _view_interface(x, "cupy")
    if hasattr(x, "__cuda_array_interface__"):
        return _view_interface(x, "device")
    return _view_dlpack(x)


# ---- Host memory ---------------------------------------------------------------------------------------------------------


def _view_numpy(x: np.ndarray[Any, Any], kind: str = "numpy") -> View:
    return View(int(x.ctypes.data) if x.size else 0, x.shape, x.dtype, None, x, readonly=not x.flags.writeable, kind=kind)


def as_numpy(x: Any) -> np.ndarray[Any, Any]:
    if is_torch(x):
        try:
            return np.asarray(x.detach().numpy())
        except TypeError:
            raise _errors.DtypeError(f"csz compresses float32 and float64, not {x.dtype}: convert with tensor.float()") from None
    if not isinstance(x, np.ndarray) and not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    try:
        return np.asarray(x)
    except (ValueError, TypeError) as error:  # a list whose rows differ in length, for example
        raise _errors.ArgumentError(f"NumPy makes no array of this {type(x).__name__}: {error}") from None


def in_parts(x: Any) -> Any:
    """x itself where its parts can be read as NumPy's, as those of h5py and zarr can; else as an array.
    PyTorch's tensors have a dtype of their own."""
    return x if hasattr(x, "shape") and isinstance(getattr(x, "dtype", None), np.dtype) else as_numpy(x)


def view_field(x: Any, fill: float | None = None) -> View:
    """A field to read, in the machine's byte order; masked values become the fill value, or NaN where there
    is none."""
    if is_device(x):
        view = view_device(x)
    else:
        if isinstance(x, np.ma.MaskedArray) and x.dtype.kind == "f":
            x = x.filled(np.nan if fill is None else fill)
        a = as_numpy(x)
        if a.dtype.kind == "f" and a.itemsize in (4, 8):
            a = np.require(a, dtype=a.dtype.newbyteorder("="), requirements=["C", "A"]).reshape(a.shape)  # 0-d stays 0-d
        view = _view_numpy(a, "torch" if is_torch(x) else "numpy")
    if view.dtype.kind != "f" or view.dtype.itemsize not in (4, 8):
        raise _errors.DtypeError(f"csz compresses float32 and float64, not {view.dtype}: {_advice(view.dtype)}")
    return view


def _advice(dtype: np.dtype[Any]) -> str:
    """What to do with an array of another type; in the words of the command."""
    if dtype.names is not None:
        return f"compress each field of numbers by itself, such as array[{dtype.names[0]!r}]"
    if dtype.kind == "c":
        return "compress both parts, array.real.copy() and array.imag.copy()"
    if dtype.kind == "O":
        return "make an array of numbers of these objects, with numpy.array(array.tolist(), 'f8')"
    if dtype.kind in "biuf":
        return "convert with array.astype('float32'), or astype('float64') where 7 digits are too few"
    return "these are no floating-point numbers"


def _aligned(view: View) -> View:
    """An archive on the device, where kernels read words of 8 bytes: a slice that starts between two is
    copied."""
    if view.pointer % 8 == 0:
        return view
    assert view.device is not None
    place = Place(_maker(view.kind), view.device)
    data = np.frombuffer(_cuda.read(view.device, view.stream, view.pointer, view.nbytes), dtype=np.uint8)
    copy = make(place, data.shape, data.dtype)[1]
    _cuda.write(view.device, copy.stream, copy.pointer, data.ctypes.data, data.nbytes)
    return copy


def host_copy(view: View) -> View:
    """The view itself, or its bytes on the host."""
    if view.device is None:
        return view
    data = np.frombuffer(_cuda.read(view.device, view.stream, view.pointer, view.nbytes), dtype=view.dtype)
    return _view_numpy(data.reshape(view.shape))


def view_archive(x: Any) -> View:
    """An archive to read: any contiguous buffer on the host, or an array of bytes on the device."""
    if isinstance(x, str):
        raise _errors.ArgumentError("an archive is bytes, not a string: read the file with open(name, 'rb').read() or numpy.memmap")
    if is_device(x):
        view = view_device(x)
        if view.dtype.itemsize != 1:
            raise _errors.DtypeError(f"an archive on the device is an array of uint8, not of {view.dtype}")
        return _aligned(view)
    try:
        flat = as_numpy(x).reshape(-1).view(np.uint8) if is_torch(x) else np.frombuffer(x, dtype=np.uint8)
    except (TypeError, ValueError, BufferError, AttributeError) as error:
        if hasattr(x, "__len__") and len(x) == 0:
            flat = np.empty(0, dtype=np.uint8)
        else:
            raise _errors.ArgumentError(f"an archive is a contiguous buffer of bytes, not {type(x).__name__}: {error}") from None
    return _view_numpy(flat)


def view_out(x: Any) -> View:
    """Memory to write a field to."""
    if is_device(x):
        if not is_torch(x) and not hasattr(x, "__cuda_array_interface__"):
            raise _errors.ArgumentError("out on the device needs __cuda_array_interface__: DLPack does not say whether it may be written")
        _cuda.require()
        contiguous = x.is_contiguous() if is_torch(x) else _contiguous(
            tuple(x.shape), x.__cuda_array_interface__.get("strides"), np.dtype(x.__cuda_array_interface__["typestr"]).itemsize
        )
        if not contiguous:
            raise _errors.ArgumentError("out on the device must be C-contiguous")
        view = view_device(x)
    elif is_torch(x):
        if x.requires_grad:
            raise _errors.ArgumentError("out is a tensor that requires grad: give tensor.detach()")
        view = _view_numpy(x.numpy(), "torch")
    elif isinstance(x, np.ndarray):
        view = _view_numpy(x)
    else:
        raise _errors.ArgumentError(f"out is a NumPy array or a device array, not {type(x).__name__}")
    if view.readonly:
        raise _errors.ArgumentError("out is read-only: give a writable array")
    return view


# ---- Results -------------------------------------------------------------------------------------------------------------


def place_of(like: Any, *views: View) -> Place:
    """Where a result goes: as ``like`` says (a module or an array), else where the first view on a device is,
    else the host."""
    if like is None:
        for view in views:
            if view.device is not None:
                return Place(_maker(view.kind), view.device)
        return HOST
    name = getattr(like, "__name__", None)
    if name == "numpy":
        return HOST
    devices = [view.device for view in views if view.device is not None]
    if name in ("cupy", "torch"):
        if name == "torch" and not devices and not _cuda.usable():
            return Place("torch", None)
        _cuda.require()
        return Place(name, devices[0] if devices else _cuda.current_device())
    if isinstance(like, np.ndarray):
        return HOST
    if is_torch(like) and not is_device(like):
        return Place("torch", None)
    if is_device(like):
        view = view_device(like)
        return Place(_maker(view.kind), view.device)
    raise _errors.ArgumentError("like is numpy, cupy, torch, or an array of one of them")


def _maker(kind: str) -> str:
    if kind != "device":
        return kind
    for name in ("cupy", "torch"):
        try:
            __import__(name)
            return name
        except ImportError:
            continue
    raise _errors.ArgumentError("results on the device need CuPy or PyTorch: install one, or give out= or like=numpy")


def make(place: Place, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, View]:
    """A new array at a place and a view of it."""
    try:
        if place.kind == "cupy":
            import cupy

            with cupy.cuda.Device(place.device):
                array = cupy.empty(shape, dtype)
            return array, view_device(array)
        if place.kind == "torch":
            import torch

            device = "cpu" if place.device is None else f"cuda:{place.device}"
            array = torch.empty(shape, dtype=getattr(torch, dtype.name), device=device)
            return array, (_view_numpy(array.numpy(), "torch") if place.device is None else view_device(array))
        array = np.empty(shape, dtype)
        return array, _view_numpy(array)
    except (MemoryError, ValueError, RuntimeError) as error:
        if isinstance(error, _errors.Error):
            raise
        nbytes = dtype.itemsize
        for extent in shape:
            nbytes *= extent
        raise _errors.OutOfMemoryError(f"the result needs {nbytes} bytes, which could not be had: {error}") from None
