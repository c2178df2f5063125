"""Columns of numbers and names, packed small enough to stand inside a page.

A *block* is a list of columns: written one after the other, compressed together (zlib), in base64. Its
*layout* (JSON, in the page's document) says for each column:

``name``, ``encoding``, ``type`` (``u8 u16 u32 i32 f64``), ``length``, and for ``dict`` the length of its
``table``.

========  =========================================================================================
plain     ``length`` numbers of ``type``, as byte planes (all lowest bytes, then all second bytes, …):
          planes compress far better than whole numbers do
delta     differences of neighbours, zigzag (0, -1, 1, -2, …), as ``plain``; decodes to int32
dict      ``table`` float64 values (planes), then ``length`` codes of ``type`` (planes)
text      ``count`` UTF-8 strings joined by newlines; ``length`` is in bytes
========  =========================================================================================

``assets/codec.js`` is the reader.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Delta", "Text", "pack", "pack_bytes"]

Array = npt.NDArray[Any]

_UNSIGNED = (("u8", np.uint8), ("u16", np.uint16), ("u32", np.uint32))
# Above this many distinct values a dictionary no longer pays.
_DICT_LIMIT = 1 << 16


@dataclass(frozen=True)
class Delta:
    """Integers (int32 range) whose neighbours are close."""

    values: Array


@dataclass(frozen=True)
class Text:
    """Strings; a newline inside one becomes a space."""

    values: Iterable[str]


@dataclass(frozen=True)
class Block:
    """A packed block: ``layout`` for the document, ``data`` (base64) for the page."""

    layout: list[dict[str, Any]]
    data: str


def pack(columns: Mapping[str, Array | Delta | Text]) -> Block:
    """Pack columns. Arrays of integers >= 0 get the narrowest type; others become float64."""
    layout: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for name, column in columns.items():
        entry, raw = _column(column)
        layout.append({"name": name, **entry})
        parts.append(raw)
    return pack_bytes(b"".join(parts), layout)


def pack_bytes(raw: bytes, layout: list[dict[str, Any]] | None = None) -> Block:
    """A block of any bytes."""
    return Block(layout or [], base64.b64encode(zlib.compress(raw, 6)).decode("ascii"))


def _column(column: Array | Delta | Text) -> tuple[dict[str, Any], bytes]:
    if isinstance(column, Text):
        lines = [" ".join(text.splitlines()) for text in column.values]
        raw = "\n".join(lines).encode("utf-8", "replace")
        return {"encoding": "text", "length": len(raw), "count": len(lines)}, raw
    if isinstance(column, Delta):
        values = np.asarray(column.values, dtype=np.int64)
        steps = np.diff(values, prepend=0)
        kind, codes = _narrow(np.where(steps < 0, -2 * steps - 1, 2 * steps))
        return _entry("delta", kind, codes), _planes(codes)
    values = np.asarray(column)
    if values.dtype.kind in "bui" and (values.size == 0 or _fits(values)):
        kind, codes = _narrow(values)
        return _entry("plain", kind, codes), _planes(codes)
    table, inverse = np.unique(values.astype(np.float64), return_inverse=True)
    if table.size <= _DICT_LIMIT and table.size * 2 < values.size:
        kind, codes = _narrow(inverse)
        entry = {**_entry("dict", kind, codes), "table": int(table.size)}
        return entry, _planes(table) + _planes(codes)
    floats = values.astype(np.float64)
    return _entry("plain", "f64", floats), _planes(floats)


def _fits(values: Array) -> bool:
    # Wide numbers go on as float64 (exact to 2**53), where a dictionary usually holds them.
    return bool(values.min() >= 0 and values.max() < 1 << 32)


def _narrow(values: Array) -> tuple[str, Array]:
    top = int(values.max()) if values.size else 0
    for kind, dtype in _UNSIGNED:
        if top <= np.iinfo(dtype).max:
            return kind, values.astype(dtype)
    raise ValueError(f"column value {top} does not fit in 32 bits")


def _entry(encoding: str, kind: str, values: Array) -> dict[str, Any]:
    return {"encoding": encoding, "type": kind, "length": int(values.size)}


def _planes(values: Array) -> bytes:
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(values.size, values.dtype.itemsize).T
    return bytes(planes.tobytes())
