"""Snappy as Spark and Hadoop write it: three framings around the same raw blocks.

xerial      what Spark's SnappyCompressionCodec writes (snappy-java's SnappyOutputStream): a header
of
            0x82 "SNAPPY" 0x00 and two big-endian ints, then [length, block]...; headers may repeat
            where streams were joined.
framed      the framing format of google/snappy (framing_format.txt): 0xff "sNaPpY" chunk first.
Hadoop      Hadoop's BlockCompressorStream: [size of the data][length, block]..., no magic at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from spark_probe.eventlog.bytesource import ByteSource
from spark_probe.eventlog.problems import Problems

__all__ = ["FRAMED_MAGIC", "XERIAL_MAGIC", "framed", "hadoop", "looks_like_hadoop", "xerial"]

XERIAL_MAGIC = b"\x82SNAPPY\x00"
FRAMED_MAGIC = b"\xff\x06\x00\x00sNaPpY"

_XERIAL_HEADER = 16
# snappy-java's default block is 32 KiB and Hadoop's 256 KiB; both can be configured. Anything
# larger than this is not a length but damage.
_MAX_BLOCK = 64 << 20
_RESYNC = 4 << 20
# What a block that is full starts with: its length, 32 KiB where nothing else is configured.
_DEFAULT_START = b"\x80\x80\x02"
_CODEC = pa.Codec("snappy")


def xerial(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """Decode the xerial framing; after a bad block go on at the next that decodes."""
    usual, largest = _DEFAULT_START, 0
    while head := src.peek(_XERIAL_HEADER):
        if head.startswith(XERIAL_MAGIC):
            src.advance(len(head))
            continue
        at = src.pos
        size = int.from_bytes(head[:4], "big")
        block = src.peek(4 + size)[4:] if 0 < size <= _MAX_BLOCK else b""
        data = _decode(block) if len(block) == size else None
        if data is not None:
            if len(data) > largest:
                usual, largest = block[: _varint_size(block)], len(data)
            src.advance(4 + size)
            yield data
            continue
        src.advance(1)
        found = _to_next_block(src, usual)
        why = "a damaged snappy block" if found else "the last snappy block is cut or damaged"
        problems.damage(file, at, why, src.pos - at)
        yield None


def framed(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """Decode the framing format of google/snappy. Checksums are not checked: no CRC-32C here."""
    while head := src.peek(4):
        at = src.pos
        kind, size = head[0], int.from_bytes(head[1:], "little")
        src.advance(len(head))
        body = src.take(size)
        if len(head) < 4 or len(body) < size:
            problems.damage(file, at, "the last snappy chunk is cut", len(head) + len(body))
            yield None
        elif kind == 0x00:
            data = _decode(body[4:])
            if data is None:
                problems.damage(file, at, "a damaged snappy chunk", 4 + size)
            yield data
        elif kind == 0x01:
            yield body[4:]
        elif 0x02 <= kind <= 0x7F:
            src.skip_to(re.compile(re.escape(FRAMED_MAGIC)), len(FRAMED_MAGIC))
            problems.damage(file, at, f"not a snappy chunk (type {kind:#04x})", src.pos - at)
            yield None


def hadoop(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """Decode Hadoop's framing; nothing marks a block, so what follows a bad one is lost."""
    while head := src.peek(4):
        at = src.pos
        wanted = int.from_bytes(head, "big")
        src.advance(len(head))
        while wanted > 0:
            size = int.from_bytes(src.peek(4), "big")
            block = src.peek(4 + size)[4:] if 0 < size <= _MAX_BLOCK else b""
            data = _decode(block) if len(block) == size else None
            if data is None or len(data) > wanted:
                while src.chunk():
                    pass
                problems.damage(file, at, "a snappy block is cut or damaged", src.pos - at)
                yield None
                return
            src.advance(4 + size)
            wanted -= len(data)
            yield data


def looks_like_hadoop(head: bytes) -> bool:
    """Whether `head`, the first bytes of a file, starts with a whole block of Hadoop's framing."""
    wanted, size = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    if not (0 < wanted <= _MAX_BLOCK and 0 < size <= _MAX_BLOCK):
        return False
    length = _varint(head[8:13])
    if length is None or not 0 < length <= wanted:
        return False
    if len(head) < 8 + size:  # the block goes beyond what was sniffed: lengths agree, so it is one
        return size <= length + length // 6 + 32
    return _decode(head[8 : 8 + size]) is not None


def _to_next_block(src: ByteSource, usual: bytes) -> bool:
    """Step to the next header, or whole block that starts as full ones do; False at the end."""
    magic = re.compile(b"|".join(re.escape(m) for m in (XERIAL_MAGIC, usual) if m))
    while src.peek(1):
        window = src.peek(_RESYNC)
        for found in magic.finditer(window):
            if found.group() == XERIAL_MAGIC:
                src.advance(found.start())
                return True
            at = found.start() - 4
            size = int.from_bytes(window[at : at + 4], "big") if at >= 0 else 0
            if 0 < size <= len(window) - at - 4 and _decode(window[at + 4 : at + 4 + size]):
                src.advance(at)
                return True
        src.advance(len(window) if len(window) < _RESYNC else _RESYNC // 2)
    return False


def _decode(block: bytes) -> bytes | None:
    size = _varint(block)
    if size is None or size > _MAX_BLOCK:
        return None
    try:
        return bytes(_CODEC.decompress(block, decompressed_size=size, asbytes=True))
    except (OSError, pa.ArrowInvalid):
        return None


def _varint(data: bytes) -> int | None:
    """The uncompressed length that a raw block starts with (little-endian base 128, 32 bits)."""
    value = 0
    for i, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value
    return None


def _varint_size(data: bytes) -> int:
    return next((i + 1 for i, byte in enumerate(data[:5]) if byte < 0x80), 0)
