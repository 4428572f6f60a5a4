# SPDX-License-Identifier: BSD-3-Clause
"""A numcodecs codec, ``{"id": "csz", "abs": 0.001}``, for Zarr format 2 and whatever else takes numcodecs.

numcodecs finds it by its entry point once the package is installed.  Each encoded chunk is an archive, which
the command csz reads too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numcodecs.abc import Codec
from numcodecs.registry import register_codec

from . import _api, _arguments, _codec, _errors

__all__ = ["Csz"]


class Csz(Codec):  # type: ignore[misc]
    """Error-bounded lossy compression of float32 and float64 chunks.

    Bounds, ``exact``, ``floor``, ``fill``, ``unsigned_zeros``, ``workflow``, ``predictor`` and ``zstd`` are
    those of :func:`csz.compress`.  A relative bound refers to the range of each chunk; :func:`csz.absolute_bound`
    resolves one over a whole dataset.  The codec does not see the array's fill value: where it stands for
    missing data, or pads chunks and the bound is relative, give it as ``fill`` too.  With None or ``"none"``
    no value is missing; with ``"auto"``, the default, nothing is said, and a value that looks like a fill
    value gives a :class:`csz.FillWarning`.  ``dtype`` is needed for arrays in the other byte order alone, for
    example ``">f4"``.  ``threads`` is for one chunk and not stored: 1, or what CSZ_CODEC_THREADS says.

    Zarr gives a decoded chunk its shape and order.  By itself ``decode`` returns the dims of the archive:
    those of a chunk in Fortran order reversed, (4, 3, 2) for (2, 3, 4), and of more than four the slowest as
    one.
    """

    codec_id = "csz"

    def __init__(
        self,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        fill: float | str | None = "auto",
        workflow: str = "auto",
        zstd: int = 0,
        dtype: str | None = None,
        threads: int | None = None,
        predictor: str = "lorenzo",
        pwr: float | None = None,
        floor: float | None = None,
        exact: bool = False,
        unsigned_zeros: bool = False,
    ) -> None:
        self._settings = _codec.settings(abs, rel, psnr, workflow, predictor, zstd, pwr, floor, exact, unsigned_zeros)
        self._fill = fill if isinstance(fill, str) and fill == "auto" else _codec.number_from_json("fill", fill)
        self._dtype = None if dtype is None else np.dtype(dtype)
        self._threads, self._warner = _codec.check_threads(threads), _codec.Warner()

    def get_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {"id": self.codec_id, **self._settings}
        if not isinstance(self._fill, str):
            config["fill"] = _codec.number_to_json(self._fill)
        if self._dtype is not None:
            config["dtype"] = self._dtype.str
        return config

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items() if name != "id")
        return f"Csz({shown})"

    def encode(self, buf: Any) -> Any:
        """An archive of a chunk; one in Fortran order is stored transposed, because decoded chunks are taken
        in memory order."""
        chunk = buf if hasattr(buf, "flags") else np.asarray(buf)
        if chunk.dtype.kind == "f" and not chunk.dtype.isnative and chunk.dtype != self._dtype:
            raise _errors.DtypeError(f"chunks in the other byte order need Csz(..., dtype={chunk.dtype.str!r}), to come back in it")
        if chunk.flags.f_contiguous and not chunk.flags.c_contiguous:
            chunk = chunk.T
        fill: _arguments.Fill = None if isinstance(self._fill, str) else "none" if self._fill is None else self._fill
        return _codec.compress_chunk(chunk, self._settings, fill, self._threads, self._warner)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The chunk, in the dims of its archive, or written to ``out``, which may be any writable buffer of
        the right size."""
        if out is None:
            chunk = _codec.decompress_chunk(buf, self._threads)
            return chunk if self._dtype is None else chunk.astype(self._dtype, copy=False)
        header = _api.info(buf)
        if getattr(getattr(out, "dtype", None), "hasobject", False):  # its bytes are references
            raise _errors.DtypeError("out holds Python objects: a chunk is decoded into numbers or bytes")
        in_order = out.T if isinstance(out, np.ndarray) and not out.flags.c_contiguous else out
        try:
            flat = np.frombuffer(in_order, dtype=np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise _errors.ArgumentError(f"out is a writable contiguous buffer, not {type(out).__name__}: {error}") from None
        if flat.nbytes != header.nbytes:
            raise _errors.CapacityError(f"out holds {flat.nbytes} bytes, and the chunk {header.nbytes}")
        _codec.decompress_chunk(buf, self._threads, out=flat.view(header.dtype if self._dtype is None else self._dtype))
        return out


register_codec(Csz)  # where the package is on the path and not installed, there is no entry point
