# SPDX-License-Identifier: BSD-3-Clause
"""What an archive says of its field besides values: name, names of dims, attributes; as Python's objects and
as bytes."""

from __future__ import annotations

import ctypes as c
from typing import Any, Mapping, Sequence

import numpy as np

from . import _errors, _library
from ._library import lib

TEXT, STRINGS = 0, 1
NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")  # from type 2 on
ROLE_ATTRIBUTE, ROLE_NAME, ROLE_DIMS = 0, 1, 2


def _text(what: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise _errors.ArgumentError(f"{what} is text, not {value!r}")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _errors.ArgumentError(f"{what} holds half of a surrogate pair, which is no text: {value!r}") from None


def _strings(what: str, values: Sequence[Any]) -> bytes:
    texts = [_text(what, value) for value in values]
    if any(b"\0" in text for text in texts):
        raise _errors.ArgumentError(f"{what} holds a NUL character: leave it out")
    return b"".join(text + b"\0" for text in texts)


def _values(name: str, value: Any) -> tuple[int, bytes]:
    """Type and bytes of an attribute."""
    if isinstance(value, str):
        return TEXT, _text(name, value)
    if isinstance(value, bytes):
        return TEXT, value
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value):
        return STRINGS, _strings(name, value)
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return STRINGS, _strings(name, array.ravel().tolist())
    if array.dtype.kind == "b":
        array = array.astype("u1")
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    if kind not in NUMBERS or array.ndim > 1:
        raise _errors.ArgumentError(f"the attribute {name} is text, a list of texts, a number or a list of numbers, not {value!r}"[:200])
    return 2 + NUMBERS.index(kind), array.astype("<" + kind).tobytes()


def encode(name: str | None, dims: Sequence[str] | None, attrs: Mapping[str, Any] | None, ndim: int) -> bytes | None:
    """The section of an archive, None where there is nothing to say."""
    entries: list[tuple[int, int, bytes, bytes]] = []
    if name is not None:
        entries.append((ROLE_NAME, TEXT, b"", _text("name", name)))
    if dims is not None:
        if isinstance(dims, str) or len(dims) != ndim:
            raise _errors.ArgumentError(f"dims are {ndim} names, one for each dim that the archive has, not {dims!r}")
        entries.append((ROLE_DIMS, STRINGS, b"", _strings("dims", dims)))
    if attrs is not None and not isinstance(attrs, Mapping):
        raise _errors.ArgumentError(f"attrs is a dict of names and values, not {attrs!r}"[:200])
    for key, value in (attrs or {}).items():
        kind, data = _values(str(key), value)
        entries.append((ROLE_ATTRIBUTE, kind, _text("the name of an attribute", key), data))
    if not entries:
        return None
    attributes = (_library.Attribute * len(entries))()
    for attribute, (role, kind, label, data) in zip(attributes, entries):
        attribute.role, attribute.type, attribute.name = role, kind, label
        attribute.values = c.cast(c.c_char_p(data), c.c_void_p)
        attribute.nbytes = len(data)
    nbytes = c.c_size_t()
    status = lib.csz_metadata_write(None, 0, c.byref(nbytes), attributes, len(entries))
    if status == _errors.LimitError.status:
        raise _errors.ArgumentError("name, dims and attrs take more than 1 MiB: leave some out")
    _library.check(status, "attrs, at most 1024 with names of 1 to 1024 bytes")
    section = c.create_string_buffer(nbytes.value)
    _library.check(lib.csz_metadata_write(section, nbytes.value, c.byref(nbytes), attributes, len(entries)))
    return section.raw


def decode(section: bytes) -> tuple[str | None, tuple[str, ...] | None, dict[str, Any]]:
    """Name, dims and attributes of a section that was checked."""
    name: str | None = None
    dims: tuple[str, ...] | None = None
    attrs: dict[str, Any] = {}
    attribute, place = _library.Attribute(), c.c_size_t()
    while section and lib.csz_metadata_next(c.byref(attribute), section, len(section), c.byref(place)):
        data = c.string_at(attribute.values, attribute.nbytes)
        value: Any
        if attribute.type == TEXT:
            value = data.decode("utf-8", "surrogateescape")
        elif attribute.type == STRINGS:
            value = [text.decode("utf-8", "surrogateescape") for text in data.split(b"\0")[:-1]]
        else:
            value = np.frombuffer(data, dtype="<" + NUMBERS[attribute.type - 2]).astype(NUMBERS[attribute.type - 2])
            value = value[0] if value.size == 1 else value
        if attribute.role == ROLE_NAME:
            name = value
        elif attribute.role == ROLE_DIMS:
            dims = tuple(value)
        # of netCDF files: fill says the first, xarray would trip over them
        elif attribute.name not in (b"_FillValue", b"_Unlimited", b"_Dimensions"):
            attrs[attribute.name.decode("utf-8", "surrogateescape")] = value
    return name, dims, attrs
