# SPDX-License-Identifier: BSD-3-Clause
"""A Zarr format 3 codec from arrays to bytes, ``{"name": "csz", "configuration": {"abs": 0.001}}``.

    zarr.create_array(store, shape=..., chunks=..., dtype="float32", serializer=csz.zarr.CszCodec(abs=1e-3), compressors=None)

Zarr finds it by its entry point once the package is installed.  Reading a part of a chunk decodes only the
tiles it touches.  Each chunk is an archive, which the command csz reads too.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import zarr
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin
from zarr.core.buffer import gpu
from zarr.registry import register_codec

from . import _api, _arrays, _batch, _codec, _errors, _shapes

__all__ = ["CszCodec"]


@dataclass(frozen=True)
class CszCodec(ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin):
    """Error-bounded lossy compression of float32 and float64 chunks.

    Bounds, ``exact``, ``floor``, ``unsigned_zeros``, ``workflow``, ``predictor`` and ``zstd`` are those of
    :func:`csz.compress`.  A relative bound refers to the range of each chunk; :func:`csz.absolute_bound` resolves one over a whole
    dataset.

    ``fill`` says which value stands for missing data.  ``"auto"``, the default, is the array's fill value: it
    is left out of the range that a relative bound refers to, so that what Zarr pads chunks at the edge with
    does not count, and is restored exactly, unless it is 0, which is then a value like any other.  A number
    names another value; with None or ``"none"`` no value is missing, and the array's fill value is left out
    of the range all the same.  ``threads`` is for one chunk and not stored: 1, or what CSZ_CODEC_THREADS
    says.
    """

    is_fixed_size = False

    abs: float | None = None
    rel: float | None = None
    psnr: float | None = None
    fill: float | str | None = "auto"
    workflow: str = "auto"
    zstd: int = 0
    threads: int | None = field(default=None, compare=False)
    predictor: str = "lorenzo"
    pwr: float | None = None
    floor: float | None = None
    exact: bool = False
    unsigned_zeros: bool = False
    _warner: _codec.Warner = field(default_factory=_codec.Warner, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._stored()
        _codec.check_threads(self.threads)
        if self.fill != "auto":
            object.__setattr__(self, "fill", _codec.number_from_json("fill", self.fill))

    @classmethod
    def from_dict(cls, data: Any) -> CszCodec:
        configuration = data.get("configuration") or {}
        try:
            return cls(**configuration)
        except TypeError as error:
            raise _errors.ArgumentError(f"the configuration of the codec csz: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        stored = self._stored()
        if self.fill != "auto":
            stored["fill"] = _codec.number_to_json(self.fill)  # type: ignore[arg-type]
        return {"name": "csz", "configuration": stored}

    def _stored(self) -> dict[str, Any]:
        return _codec.settings(
            self.abs, self.rel, self.psnr, self.workflow, self.predictor, self.zstd, self.pwr, self.floor, self.exact, self.unsigned_zeros
        )

    def validate(self, *, dtype: Any, **_: Any) -> None:
        native = dtype.to_native_dtype()
        if native.kind != "f" or native.itemsize not in (4, 8):
            raise _errors.DtypeError(f"csz compresses float32 and float64, not {native}")

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        raise NotImplementedError("the size of an archive is known when it is made")

    def _fill_of(self, chunk_spec: Any) -> tuple[float, Any]:
        """What pads chunks at the edge, and what stands for missing data."""
        padding = 0.0 if chunk_spec.fill_value is None else float(chunk_spec.fill_value)
        if self.fill == "auto":
            return padding, padding if padding != 0 and not math.isnan(padding) else None
        return padding, self.fill

    def _has_own_range(self, padding: float, fill: Any) -> bool:
        """Whether the bound refers to a range that leaves out the padding, which the library does not
        know."""
        return (self.rel is not None or self.psnr is not None) and fill != padding

    def _encode_sync(self, chunk_array: Any, chunk_spec: Any) -> Any:
        chunk, stored = chunk_array.as_ndarray_like(), self._stored()
        padding, fill = self._fill_of(chunk_spec)
        if self._has_own_range(padding, fill):
            stored = _codec.bound_without(chunk, stored, padding, fill)
        archive = _codec.compress_chunk(chunk, stored, "none" if self.fill is None else fill, self.threads, self._warner)
        buffer = chunk_spec.prototype.buffer
        return buffer.from_bytes(archive) if isinstance(archive, bytes) else buffer.from_array_like(archive)

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return self._decode_selection(chunk_data, None, chunk_spec)

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    async def _decode_partial_single(self, byte_getter: Any, selection: Any, chunk_spec: Any) -> Any:
        chunk_data = await byte_getter.get(prototype=chunk_spec.prototype)
        if chunk_data is None:
            return None
        return await asyncio.to_thread(self._decode_selection, chunk_data, selection, chunk_spec)

    # Chunks on the GPU go through one set of launches where zarr hands over several
    # (codec_pipeline.batch_size).

    async def encode(self, chunks_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        return await _together(list(chunks_and_specs), self._encode_key, self._encode_many, super().encode)

    def _encode_key(self, chunk_array: Any, chunk_spec: Any) -> Any:
        """Equal for chunks that one call compresses; None for one that is compressed alone."""
        padding, fill = self._fill_of(chunk_spec)
        chunk = chunk_array.as_ndarray_like()
        if not _arrays.is_cupy(chunk) or self.zstd or self._has_own_range(padding, fill):
            return None
        return chunk.shape, chunk.dtype, fill

    def _encode_many(self, work: list[tuple[Any, Any]]) -> list[Any]:
        fill = self._fill_of(work[0][1])[1]
        archives = _batch.compress([chunk_array.as_ndarray_like() for chunk_array, _ in work], fill, **self._stored())
        return [None if archive is None else spec.prototype.buffer.from_array_like(archive) for archive, (_, spec) in zip(archives, work)]

    async def decode(self, chunks_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        return await _together(list(chunks_and_specs), self._decode_key, self._decode_many, super().decode)

    def _decode_key(self, chunk_data: Any, chunk_spec: Any) -> Any:
        """Equal for chunks that one call restores; None for one that is restored alone."""
        if self.zstd or not _arrays.is_cupy(chunk_data.as_array_like()):
            return None
        return tuple(chunk_spec.shape), chunk_spec.dtype.to_native_dtype().newbyteorder("=")

    def _decode_many(self, work: list[tuple[Any, Any]]) -> list[Any]:
        shape, dtype = self._decode_key(*work[0])
        made = _batch.decompress([chunk_data.as_array_like() for chunk_data, _ in work], shape, dtype, self.predictor)
        return [None if one is None else spec.prototype.nd_buffer.from_ndarray_like(one) for one, (_, spec) in zip(made, work)]

    async def decode_partial(self, batch_info: Iterable[tuple[Any, Any, Any]]) -> Iterable[Any]:
        work = list(batch_info)
        if len(work) < 2 or not issubclass(work[0][2].prototype.buffer, gpu.Buffer):
            return await super().decode_partial(work)
        turns = asyncio.Semaphore(zarr.config.get("async.concurrency"))

        async def fetch(byte_getter: Any, chunk_spec: Any) -> Any:
            async with turns:
                return await byte_getter.get(prototype=chunk_spec.prototype)

        async def decode(chunk_data: Any, selection: Any, chunk_spec: Any) -> Any:
            async with turns:
                return await asyncio.to_thread(self._decode_selection, chunk_data, selection, chunk_spec)

        fetched = await asyncio.gather(*(fetch(byte_getter, chunk_spec) for byte_getter, _, chunk_spec in work))
        whole = [_is_whole(selection, tuple(chunk_spec.shape)) for _, selection, chunk_spec in work]
        decoded = list(await self.decode((data if whole[i] else None, work[i][2]) for i, data in enumerate(fetched)))
        parts = [i for i, data in enumerate(fetched) if data is not None and not whole[i]]
        for i, part in zip(parts, await asyncio.gather(*(decode(fetched[i], *work[i][1:]) for i in parts))):
            decoded[i] = part
        return decoded

    def _decode_selection(self, chunk_data: Any, selection: Any, chunk_spec: Any) -> Any:
        archive, shape = chunk_data.as_array_like(), tuple(chunk_spec.shape)
        header, dtype = _api.info(archive), chunk_spec.dtype.to_native_dtype()
        if header.dtype != dtype.newbyteorder("=") or header.shape != _shapes.fold(shape):
            raise _errors.CorruptError(
                f"a chunk holds {header.dtype} of shape {header.shape}, where the array's metadata says {dtype} of {shape}"
            )
        box = None if selection is None or header.shape != shape else _box(selection, shape)
        if box is None:
            values = _codec.decompress_chunk(archive, self.threads, shape=shape)
        else:
            region, selection = box
            values = _codec.decompress_chunk(archive, self.threads, region=region)
        if selection is not None:
            values = values[selection]
            values = np.asarray(values) if isinstance(values, np.generic) else values
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(values)


async def _together(work: list[tuple[Any, Any]], key: Callable[..., Any], many: Callable[..., list[Any]], alone: Callable[..., Any]) -> list[Any]:
    """Results in the order of the work, None for no chunk: ``many`` does what has one key, and ``alone`` the
    rest and what ``many`` has left undone."""
    groups: dict[Any, list[int]] = {}
    for i, item in enumerate(work):
        of = None if item[0] is None else key(*item)
        if of is not None:
            groups.setdefault(of, []).append(i)
    results: list[Any] = [None] * len(work)
    for group in groups.values():
        if len(group) > 1:
            for i, made in zip(group, await asyncio.to_thread(many, [work[i] for i in group])):
                results[i] = made
    rest = [i for i, made in enumerate(results) if made is None]
    for i, made in zip(rest, await alone([work[i] for i in rest])):
        results[i] = made
    return results


def _is_whole(selection: Any, shape: tuple[int, ...]) -> bool:
    """Whether a selection is the chunk itself."""
    return (
        isinstance(selection, tuple)
        and len(selection) == len(shape)
        and all(isinstance(item, slice) and item.indices(extent) == (0, extent, 1) for item, extent in zip(selection, shape))
    )


def _box(selection: Any, shape: tuple[int, ...]) -> tuple[list[tuple[int, int]], tuple[Any, ...]] | None:
    """The smallest region that holds a selection, and the selection within it; None where it is best to
    decode everything."""
    if not isinstance(selection, tuple) or len(selection) != len(shape):
        return None
    region, inside = [], []
    for item, extent in zip(selection, shape):
        moved: Any
        if isinstance(item, slice):
            picked = range(*item.indices(extent))
            if not picked or picked.step < 0:
                return None
            low, high = picked[0], picked[-1]
            moved = slice(0, high - low + 1, picked.step)
        else:
            index = np.asarray(item)
            if index.dtype.kind not in "iu" or not index.size or index.min() < 0 or index.max() >= extent:
                return None
            low, high = int(index.min()), int(index.max())
            moved = index - low if index.ndim else int(index) - low
        region.append((low, high + 1))
        inside.append(moved)
    return region, tuple(inside)


register_codec("csz", CszCodec)  # where the package is on the path and not installed, there is no entry point
