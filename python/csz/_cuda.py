# SPDX-License-Identifier: BSD-3-Clause
"""What the package asks of CUDA itself, through the driver: the device a call runs on, foreign streams, small
copies.

The library works on the legacy default stream of the current device and returns when it is done.  Before a
call, every stream that may still write or read one of its buffers is waited for: :func:`ready` is the one
place where that happens.
"""

from __future__ import annotations

import contextlib
import ctypes as c
import os
from typing import Any, Iterable, Iterator

from . import _errors, _library

_SYMBOLS: dict[str, list[Any]] = {
    "cuInit": [c.c_uint],
    "cuDeviceGet": [c.POINTER(c.c_int), c.c_int],
    "cuDevicePrimaryCtxRetain": [c.POINTER(c.c_void_p), c.c_int],
    "cuCtxGetDevice": [c.POINTER(c.c_int)],
    "cuCtxPushCurrent_v2": [c.c_void_p],
    "cuCtxPopCurrent_v2": [c.POINTER(c.c_void_p)],
    "cuStreamSynchronize": [c.c_void_p],
    "cuPointerGetAttribute": [c.c_void_p, c.c_int, c.c_uint64],
    "cuMemcpyDtoH_v2": [c.c_void_p, c.c_uint64, c.c_size_t],
    "cuMemcpyHtoD_v2": [c.c_uint64, c.c_void_p, c.c_size_t],
    "cuGetErrorString": [c.c_int, c.POINTER(c.c_char_p)],
}
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class _State:
    """What was learnt and made in this process.  A child starts anew; the driver refuses to work there if its
    parent used CUDA."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.driver: c.CDLL | None = None
        self.usable: bool | None = None
        self.primary: dict[int, c.c_void_p] = {}  # a primary context for each device


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.forget)


def usable() -> bool:
    """Whether the library has the CUDA backend and this machine can run it."""
    if _state.usable is None:
        _state.usable = bool(_library.lib.csz_backend_available(_library.CUDA))
    return _state.usable


def require() -> None:
    if not _library.lib.csz_backend_built(_library.CUDA):
        raise _errors.BackendError(
            "this build of csz has no CUDA backend: install csz where nvcc is found, or move the array to the host first"
        )
    if not usable():
        _driver()  # which says so where it is missing
        raise _errors.BackendError("CUDA finds no card here that this csz is compiled for (docs/install.md, CUDA): leave backend out, or use backend='cpu'")


def _driver() -> c.CDLL:
    if _state.driver is None:
        try:
            driver = c.CDLL("libcuda.so.1")
            for name, arguments in _SYMBOLS.items():
                getattr(driver, name).argtypes = arguments
        except (OSError, AttributeError) as error:
            raise _errors.BackendError(
                f"the CUDA driver cannot be loaded ({error}): install NVIDIA's driver, or use backend='cpu'"
            ) from None
        result = driver.cuInit(0)
        if result:
            raise _errors.BackendError(f"CUDA does not start: error {result}")
        _state.driver = driver
    return _state.driver


def _check(result: int, what: str) -> None:
    if result:
        text = c.c_char_p()
        _driver().cuGetErrorString(result, c.byref(text))
        kind = _errors.OutOfMemoryError if result == 2 else _errors.BackendError
        raise kind(f"{what}: CUDA says: {(text.value or b'error %d' % result).decode()}")


def device_of(pointer: int) -> int:
    """The device that memory belongs to."""
    ordinal = c.c_int(-1)
    result = _driver().cuPointerGetAttribute(c.byref(ordinal), _DEVICE_ORDINAL, pointer)
    _check(result, f"looking up device memory at {pointer:#x}")
    return ordinal.value


def current_device() -> int:
    """The device that the caller made current, or the first."""
    ordinal = c.c_int(0)
    return ordinal.value if _driver().cuCtxGetDevice(c.byref(ordinal)) == 0 else 0


class _Current:
    """Makes a device current for the length of a block, as cudaSetDevice would, and then what was current
    before."""

    def __init__(self, device: int) -> None:
        self.device = device

    def __enter__(self) -> None:
        driver, primary = _driver(), _state.primary
        if self.device not in primary:
            handle, context = c.c_int(), c.c_void_p()
            _check(driver.cuDeviceGet(c.byref(handle), self.device), f"finding CUDA device {self.device}")
            _check(driver.cuDevicePrimaryCtxRetain(c.byref(context), handle), f"using CUDA device {self.device}")
            primary[self.device] = context
        _check(driver.cuCtxPushCurrent_v2(primary[self.device]), f"using CUDA device {self.device}")

    def __exit__(self, *_: object) -> None:
        _driver().cuCtxPopCurrent_v2(c.byref(c.c_void_p()))


def wait(device: int, stream: int | None) -> None:
    """Returns when everything on the stream is done; None and 0 are the default stream."""
    with _Current(device):
        _check(_driver().cuStreamSynchronize(stream), "waiting for the array's stream")


@contextlib.contextmanager
def ready(device: int | None, streams: Iterable[int | None]) -> Iterator[None]:
    """The device is current and the streams given have finished; None: the CPU, no stream."""
    if device is None:
        yield
        return
    with _Current(device):
        for stream in {s for s in streams if s}:  # 0, the default stream, is the library's own
            _check(_driver().cuStreamSynchronize(stream), "waiting for the array's stream")
        yield


def call(function: Any, device: int | None, streams: Iterable[int | None], *arguments: Any) -> int:
    """Calls ``function(context, *arguments)`` on the device, once the streams given have finished; None: the
    CPU, no stream."""
    with ready(device, streams):
        return int(function(_library.context(device).handle, *arguments))


def read(device: int, stream: int | None, pointer: int, nbytes: int) -> bytearray:
    """Bytes of device memory, once the stream has finished."""
    host = bytearray(nbytes)
    if nbytes:
        with _Current(device):
            if stream:
                wait(device, stream)
            place = (c.c_char * nbytes).from_buffer(host)
            _check(_driver().cuMemcpyDtoH_v2(c.addressof(place), pointer, nbytes), "copying from the device")
    return host


def write(device: int, stream: int | None, pointer: int, source: int, nbytes: int) -> None:
    """Host bytes to device memory, once the stream has finished."""
    if nbytes:
        with _Current(device):
            if stream:
                wait(device, stream)
            _check(_driver().cuMemcpyHtoD_v2(pointer, source, nbytes), "copying to the device")
            wait(device, None)  # a small copy returns before it is there
