"""LZF as com.ning:compress-lzf writes it: chunks of at most 64 KiB, each with a header of its own.

'Z' 'V' type (0 stored, 1 compressed), big-endian 16 bit length; a compressed chunk also has its
original length. No Python library of this format has wheels, and the decoder is one short loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spark_probe.eventlog.bytesource import ByteSource
from spark_probe.eventlog.problems import Problems

__all__ = ["MAGIC", "lzf"]

MAGIC = re.compile(rb"ZV[\x00\x01]")


def lzf(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """Decode chunk after chunk; after a bad one go on at the next that is whole."""
    while head := src.peek(7):
        at = src.pos
        data, size = _chunk(src, head)
        if data is not None:
            src.advance(size)
            yield data
            continue
        cut = len(src.peek(size)) < size
        src.advance(1)
        src.skip_to(MAGIC, 3)
        if src.peek(1):
            problems.damage(file, at, "a damaged lzf chunk", src.pos - at)
        else:
            why = "the last lzf chunk is cut" if cut else "the last lzf chunk is damaged"
            problems.damage(file, at, why, src.pos - at)
        yield None


def _chunk(src: ByteSource, head: bytes) -> tuple[bytes | None, int]:
    """The data of the chunk that `head` starts (None where it is none) and its stored size."""
    if not MAGIC.match(head):
        return None, 1
    size = int.from_bytes(head[3:5], "big")
    if head[2] == 0:
        body = src.peek(5 + size)[5:]
        return (body if len(head) >= 5 and len(body) == size else None), 5 + size
    body = src.peek(7 + size)[7:]
    if len(head) < 7 or len(body) < size:
        return None, 7 + size
    return _decode(body, int.from_bytes(head[5:7], "big")), 7 + size


def _decode(data: bytes, size: int) -> bytes | None:
    """One compressed chunk: literal runs (control byte below 32) and back references."""
    out = bytearray()
    i = 0
    try:
        while i < len(data):
            control = data[i]
            i += 1
            if control < 32:
                out += data[i : i + control + 1]
                i += control + 1
                continue
            length = (control >> 5) + 2
            if length == 9:
                length += data[i]
                i += 1
            distance = ((control & 31) << 8) + data[i] + 1
            i += 1
            start = len(out) - distance
            if start < 0 or len(out) > size:
                return None
            if distance >= length:
                out += out[start : start + length]
            else:  # the reference runs into what it writes: a repeated pattern
                out += (out[start:] * (length // distance + 1))[:length]
    except IndexError:
        return None
    return bytes(out) if len(out) == size else None
