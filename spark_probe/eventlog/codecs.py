"""Stored bytes -> plain bytes, whatever Spark compressed them with; the codec is seen, not named.

A decoder is a generator over a `ByteSource`. It yields data as it comes, and None where bytes were
lost, so that the ends of what was lost are never taken for one line. It reports the loss to
`Problems` and goes on with the next frame, block or chunk that can be decoded.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator

import pyarrow as pa
import xxhash
import zstandard

from spark_probe.eventlog import lzf, snappy
from spark_probe.eventlog.bytesource import ByteSource
from spark_probe.eventlog.problems import EventLogError, Problems

__all__ = ["SNIFF_BYTES", "Decoder", "decoder_for"]

Decoder = Callable[[ByteSource, str, Problems], Iterator[bytes | None]]

SNIFF_BYTES = 1 << 16

# Compressed bytes given to a decoder at once. Small, because what a call has decoded before it
# meets damage is lost with it, and because a hostile file must not blow one call up.
_PIECE = 4096

_ZSTD_MAGIC = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_GZIP_MAGIC = re.compile(rb"\x1f\x8b\x08")
_LZ4_MAGIC = re.compile(rb"LZ4Block")
_LZ4_HEADER = 21
_LZ4_SEED = 0x9747B28C  # net.jpountz.lz4.LZ4BlockOutputStream.DEFAULT_SEED


def decoder_for(head: bytes, name: str) -> Decoder:
    """The decoder for a file that starts with `head`; `name` counts only if that is garbage."""
    if head.startswith(b"\x04\x22\x4d\x18"):
        raise EventLogError(
            f"{name} is an lz4 frame file, which Spark never writes (it writes LZ4Block); "
            "decompress it with the lz4 tool and read the result"
        )
    for magic, decoder in _BY_MAGIC:
        if magic.match(head):
            return decoder
    if b"{" not in head[:1] and snappy.looks_like_hadoop(head):
        return snappy.hadoop
    if _is_binary(head):
        for suffix, decoder in _BY_NAME:
            if suffix in name.rsplit("/", 1)[-1].split(".")[1:]:
                return decoder
    return plain


def plain(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """No codec."""
    while data := src.chunk():
        yield data


def zstd(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """zstd frames, one after another (Spark ends a frame at every flush)."""
    context = zstandard.ZstdDecompressor()
    return _streams(src, file, problems, "zstd frame", _ZSTD_MAGIC, context.decompressobj)


def gzip(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """gzip members, one after another; zero padding behind them is no loss."""
    return _streams(
        src, file, problems, "gzip member", _GZIP_MAGIC, lambda: zlib.decompressobj(wbits=31)
    )


def lz4(src: ByteSource, file: str, problems: Problems) -> Iterator[bytes | None]:
    """LZ4Block, the framing of lz4-java's LZ4BlockOutputStream: not the frame format of the lz4
    tool.

    "LZ4Block", token (method and level), then little-endian ints: stored length, original length,
    and 28 bits of XXH32 over the original; a block of no length ends a stream, and another may
    follow.
    """
    while head := src.peek(_LZ4_HEADER):
        at = src.pos
        stored = int.from_bytes(head[9:13], "little")
        size = int.from_bytes(head[13:17], "little")
        if len(head) == _LZ4_HEADER and _LZ4_MAGIC.match(head) and stored == size == 0:
            src.advance(_LZ4_HEADER)
            continue
        data = None
        level_size = 1 << (10 + (head[8] & 0x0F)) if len(head) == _LZ4_HEADER else 0
        if _LZ4_MAGIC.match(head) and stored > 0 and 0 < size <= level_size and stored <= 2 * size:
            body = src.peek(_LZ4_HEADER + stored)[_LZ4_HEADER:]
            data = _lz4_block(head, body, stored, size)
        if data is not None:
            src.advance(_LZ4_HEADER + stored)
            yield data
            continue
        src.advance(1)
        src.skip_to(_LZ4_MAGIC, 8)
        last = not src.peek(1)
        why = "the last lz4 block is cut or damaged" if last else "a damaged lz4 block"
        problems.damage(file, at, why, src.pos - at)
        yield None


def _lz4_block(head: bytes, body: bytes, stored: int, size: int) -> bytes | None:
    if len(body) < stored:
        return None
    method = head[8] & 0xF0
    if method == 0x10 and stored == size:
        data = body
    elif method == 0x20:
        try:
            data = pa.Codec("lz4_raw").decompress(body, decompressed_size=size, asbytes=True)
        except (OSError, pa.ArrowInvalid):
            return None
    else:
        return None
    wanted = int.from_bytes(head[17:21], "little")
    return data if xxhash.xxh32_intdigest(data, _LZ4_SEED) & 0x0FFFFFFF == wanted else None


def _streams(
    src: ByteSource,
    file: str,
    problems: Problems,
    what: str,
    magic: re.Pattern[bytes],
    new: Callable[[], zstandard.ZstdDecompressionObj | zlib._Decompress],
) -> Iterator[bytes | None]:
    """Joined streams that each start with `magic` and know their own end."""
    while head := src.peek(4):
        at = src.pos
        if not magic.match(head):
            zeros = not head.strip(b"\0")
            src.advance(1)
            src.skip_to(magic, 4)
            if src.peek(1) or not zeros:
                problems.damage(file, at, f"no {what} here", src.pos - at)
                yield None
            continue
        stream = new()
        while not stream.eof:
            piece = src.peek(_PIECE)
            if not piece:
                problems.damage(file, at, f"the file ends in the middle of a {what}")
                yield None
                return
            try:
                data = stream.decompress(piece)
            except (zstandard.ZstdError, zlib.error) as error:
                bad = src.pos
                src.advance(1)
                src.skip_to(magic, 4)
                problems.damage(file, bad, f"a damaged {what} ({error})", src.pos - bad)
                yield None
                break
            src.advance(len(piece) - len(stream.unused_data))
            if data:
                yield data


def _is_binary(head: bytes) -> bool:
    text = sum(head.count(c) for c in b' "{}[]:,\n')
    return len(head) > 0 and text < len(head) // 20


_BY_MAGIC: list[tuple[re.Pattern[bytes], Decoder]] = [
    (_ZSTD_MAGIC, zstd),
    (_GZIP_MAGIC, gzip),
    (_LZ4_MAGIC, lz4),
    (re.compile(re.escape(snappy.XERIAL_MAGIC)), snappy.xerial),
    (re.compile(re.escape(snappy.FRAMED_MAGIC)), snappy.framed),
    (lzf.MAGIC, lzf.lzf),
]

_BY_NAME: list[tuple[str, Decoder]] = [
    ("zstd", zstd),
    ("gz", gzip),
    ("lz4", lz4),
    ("snappy", snappy.xerial),
    ("lzf", lzf.lzf),
]
