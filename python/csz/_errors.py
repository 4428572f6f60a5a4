# SPDX-License-Identifier: BSD-3-Clause
"""One exception class for each status of csz.h, each also of the built-in kind that a caller would expect."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of everything that csz raises by itself.  ``status`` is the number of csz.h, 0 where the library
    was not reached."""

    status = 0


class ArgumentError(Error, ValueError):
    """An argument is missing or outside its range."""

    status = 1


class DtypeError(Error, TypeError):
    """Not an array of float32 or float64, or not the type that the archive holds."""

    status = 2


class DimsError(Error, ValueError):
    """A shape that does not fit: the archive's, or one beyond 2**56 elements."""

    status = 3


class BoundError(Error, ValueError):
    """A bound that is 0, negative, NaN or infinite, or not exactly one of abs, rel, psnr and pwr."""

    status = 4


class CapacityError(Error, ValueError):
    """An output buffer is too small."""

    status = 5


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed, on the host or on the device."""

    status = 6


class LimitError(Error, MemoryError):
    """Decoding would take more memory than ``memory_limit`` allows."""

    status = 7


class RegionError(Error, IndexError):
    """A region that is empty, reversed, strided or outside the field."""

    status = 8


class ArchiveError(Error, ValueError):
    """Base of what can be wrong with an archive's bytes."""


class NotArchiveError(ArchiveError):
    """The bytes do not start as an archive does."""

    status = 9


class VersionError(ArchiveError):
    """The archive needs a newer version of csz."""

    status = 10


class TruncatedError(ArchiveError):
    """The archive ends too early."""

    status = 11


class CorruptError(ArchiveError):
    """A checksum or a structure of the archive does not hold."""

    status = 12


class TrailingError(ArchiveError):
    """Bytes follow the archive's end."""

    status = 13


class BackendError(Error, RuntimeError):
    """The backend asked for is not in this build or not usable on this machine."""

    status = 14


class ZstdError(Error, RuntimeError):
    """zstd is needed and this build lacks it, or zstd failed."""

    status = 15


class ReadError(Error, OSError):
    """What an archive is read from has failed."""

    status = 16


class InternalError(Error, RuntimeError):
    """Compressing found itself at fault and gives no archive: please report it."""

    status = 17


class LevelError(Error, IndexError):
    """The archive has no such level of resolution."""

    status = 18


class TargetError(Error, ValueError):
    """No bound gives an archive as small as ``ratio`` or ``size`` asked for."""

    status = 19


class FillWarning(UserWarning):
    """A value looks like one for missing data and was not named as ``fill``."""


BY_STATUS: dict[int, type[Error]] = {
    kind.status: kind
    for kind in (
        ArgumentError, DtypeError, DimsError, BoundError, CapacityError, OutOfMemoryError, LimitError, RegionError,
        NotArchiveError, VersionError, TruncatedError, CorruptError, TrailingError, BackendError, ZstdError,
        ReadError, InternalError, LevelError, TargetError,
    )
}  # fmt: skip


def shown(value: Any) -> str:
    """How a message shows what it refuses: in a few words, however large."""
    if getattr(value, "shape", ()):
        return f"an array of {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
