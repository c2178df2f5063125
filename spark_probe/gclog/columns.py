"""Text columns -> numbers: the arithmetic that both dialects need, without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "Floats",
    "bytes_of",
    "captures",
    "epoch_ms",
    "floats",
    "lines_of",
    "match",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

UNITS = pa.array([b"B", b"K", b"M", b"G", b"T"], pa.binary())
SCALES = np.array([1.0, 2.0**10, 2.0**20, 2.0**30, 2.0**40, np.nan])


def lines_of(data: bytes) -> pa.Array:
    """The lines of a block as binary, each with its newline, over the block's own memory."""
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == 10).astype(np.int32) + 1
    if not len(ends) or ends[-1] != len(data):
        ends = np.append(ends, np.int32(len(data)))
    offsets = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
    return pa.Array.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def match(lines: pa.Array, pattern: str) -> Mask:
    """Which lines hold a match of the (RE2) pattern, as a numpy mask."""
    found: Mask = pc.match_substring_regex(lines, pattern).to_numpy(zero_copy_only=False)
    return found


def captures(lines: pa.Array, pattern: str) -> tuple[Mask, dict[str, pa.Array]]:
    """Which lines match, and the named groups of those (an empty value where a group is absent)."""
    found = pc.extract_regex(lines, pattern)
    mask = found.is_valid().to_numpy(zero_copy_only=False)
    kept = found.filter(pa.array(mask)) if not mask.all() else found
    return mask, {field.name: kept.field(position) for position, field in enumerate(found.type)}


def floats(text: pa.Array) -> Floats:
    """Decimal numbers, with point or comma; NaN where there is none."""
    plain = pc.replace_substring(text.cast(pa.string()), ",", ".")
    filled = pc.if_else(pc.equal(plain, ""), pa.scalar(None, pa.string()), plain)
    return np.asarray(filled.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def bytes_of(number: pa.Array, unit: pa.Array) -> Floats:
    """Sizes as bytes: HotSpot's K, M, G and T are powers of 1024. NaN where there is none."""
    position = pc.fill_null(pc.index_in(unit, value_set=UNITS), len(UNITS))
    scale: Floats = SCALES[position.to_numpy(zero_copy_only=False)]
    return floats(number) * scale


def epoch_ms(date: pa.Array, zone: pa.Array) -> Floats:
    """``2026-01-31T10:00:00.123`` (or with a comma) and ``+0100`` as ms since 1970 UTC."""
    # Logs rarely hold more zones than two (summer time): the few distinct ones are read in Python.
    zones = zone.dictionary_encode()
    offset_ms = np.array([_offset_ms(value.as_py()) for value in zones.dictionary] + [0.0])
    text = date.cast(pa.string())
    # A date that is none (the 0th of a month, in a damaged line) is null.
    whole = pc.strptime(
        pc.utf8_slice_codeunits(text, 0, 19), "%Y-%m-%dT%H:%M:%S", unit="s", error_is_null=True
    )
    seconds = whole.cast(pa.int64()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    local = np.asarray(seconds, np.float64) * 1e3 + floats(pc.utf8_slice_codeunits(text, 20, 23))
    offset: Floats = offset_ms[zones.indices.to_numpy(zero_copy_only=False)]
    return local - offset


def _offset_ms(zone: bytes) -> float:
    digits = zone.replace(b":", b"")
    if len(digits) != 5:
        return 0.0
    minutes = int(digits[1:3]) * 60 + int(digits[3:5])
    return (-60_000.0 if digits[:1] == b"-" else 60_000.0) * minutes
