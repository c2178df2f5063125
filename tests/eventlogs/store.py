"""Text -> stored bytes, as each of Spark's codecs frames it; written from the formats, not from the reader."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Callable

import pyarrow as pa
import xxhash
import zstandard

__all__ = ["CODECS", "Codec", "java_zip", "pieces"]

Codec = Callable[[bytes], bytes]


def pieces(data: bytes, size: int) -> list[bytes]:
    """The data cut into pieces of `size` bytes."""
    return [data[i : i + size] for i in range(0, len(data), size)]


def plain(data: bytes) -> bytes:
    return data


def zstd_frames(data: bytes) -> bytes:
    """A frame a flush, as Spark's ZStdCompressionCodec ends them (with checksums, to see damage)."""
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(compressor.compress(piece) for piece in pieces(data, 3_000))


def gzip_members(data: bytes) -> bytes:
    return b"".join(gzip.compress(piece) for piece in pieces(data, 5_000))


def lz4_blocks(data: bytes) -> bytes:
    """LZ4Block of lz4-java, 32 KiB blocks there, smaller here; two streams joined, one block stored."""
    half = len(data) // 2
    return _lz4_stream(data[:half]) + _lz4_stream(data[half:])


def _lz4_stream(data: bytes) -> bytes:
    out = []
    for number, piece in enumerate(pieces(data, 2_000)):
        packed = pa.Codec("lz4_raw").compress(piece, asbytes=True)
        method, body = (0x10, piece) if number == 1 else (0x20, packed)
        check = xxhash.xxh32_intdigest(piece, 0x9747B28C) & 0x0FFFFFFF
        head = struct.pack("<8sBiiI", b"LZ4Block", method | 0x05, len(body), len(piece), check)
        out.append(head + body)
    return b"".join(out) + struct.pack("<8sBiiI", b"LZ4Block", 0x15, 0, 0, 0)


def snappy_xerial(data: bytes) -> bytes:
    """snappy-java's SnappyOutputStream; the header comes again where streams were joined."""
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    blocks = [struct.pack(">i", len(b)) + b for b in map(_snappy, pieces(data, 2_048))]
    half = len(blocks) // 2
    return head + b"".join(blocks[:half]) + head + b"".join(blocks[half:])


def snappy_framed(data: bytes) -> bytes:
    """google/snappy's framing format: compressed, stored and padding chunks (checksums are not read)."""
    out = [b"\xff\x06\x00\x00sNaPpY"]
    for number, piece in enumerate(pieces(data, 2_048)):
        kind, body = (0x01, piece) if number == 1 else (0x00, _snappy(piece))
        out.append(_chunk(kind, b"\0\0\0\0" + body))
        out.append(_chunk(0xFE, b"padding"))
    return b"".join(out)


def _chunk(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "little") + body


def snappy_hadoop(data: bytes) -> bytes:
    """Hadoop's BlockCompressorStream: a size, then blocks until it is reached."""
    out = []
    for piece in pieces(data, 5_000):
        out.append(struct.pack(">i", len(piece)))
        out += [struct.pack(">i", len(b)) + b for b in map(_snappy, pieces(piece, 2_000))]
    return b"".join(out)


def _snappy(data: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(data, asbytes=True))


def lzf_chunks(data: bytes) -> bytes:
    """compress-lzf's chunks, one of them stored."""
    out = []
    for number, piece in enumerate(pieces(data, 4_000)):
        packed = _lzf(piece)
        if number == 1:
            out.append(struct.pack(">2sBH", b"ZV", 0, len(piece)) + piece)
        else:
            out.append(struct.pack(">2sBHH", b"ZV", 1, len(packed), len(piece)) + packed)
    return b"".join(out)


def _lzf(data: bytes) -> bytes:
    """A greedy LZF encoder: short and long references, also such that run into what they write."""
    out, literals = bytearray(), bytearray()
    seen: dict[bytes, int] = {}
    i = 0

    def flush() -> None:
        for run in pieces(bytes(literals), 32):
            out.extend(bytes([len(run) - 1]) + run)
        literals.clear()

    while i < len(data):
        key = data[i : i + 3]
        at = seen.get(key, -1)
        seen[key] = i
        distance = i - at - 1
        if len(key) < 3 or at < 0 or distance >= 1 << 13:
            literals.append(data[i])
            i += 1
            continue
        length = 3
        while length < 264 and i + length < len(data) and data[at + length] == data[i + length]:
            length += 1
        flush()
        coded = length - 2
        if coded < 7:
            out.extend(bytes([(coded << 5) | (distance >> 8), distance & 0xFF]))
        else:
            out.extend(bytes([(7 << 5) | (distance >> 8), coded - 7, distance & 0xFF]))
        i += length
    flush()
    return bytes(out)


CODECS: dict[str, Codec] = {
    "plain": plain,
    "zstd": zstd_frames,
    "gzip": gzip_members,
    "lz4": lz4_blocks,
    "snappy-xerial": snappy_xerial,
    "snappy-framed": snappy_framed,
    "snappy-hadoop": snappy_hadoop,
    "lzf": lzf_chunks,
}


class _Unseekable(io.BytesIO):
    """What java.util.zip writes to: sizes come behind an entry's data, in a descriptor."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError("not seekable")


def java_zip(files: dict[str, bytes]) -> bytes:
    """A zip written as a stream, as the History Server does."""
    out = _Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()
