"""The zip that the History Server makes of a log, read entry by entry, also when its end is
missing.

Java writes each entry as it comes, so a download that broke off has no directory at the end: then
the entries are found by walking their local headers from the start.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["MAGIC", "ZipEntry", "entries", "open_entry"]

MAGIC = b"PK\x03\x04"
_HEADER = 30
_PIECE = 1 << 16


@dataclass(frozen=True)
class ZipEntry:
    """One file of a zip: its name in there, where its data starts, and whether it is deflated.

    `size` is the stored size in bytes, -1 where only the data itself tells.
    """

    name: str
    offset: int
    deflated: bool
    size: int


def entries(file: BinaryIO) -> tuple[list[ZipEntry], bool]:
    """The files of a zip, and whether its directory is there (False: cut, found by walking)."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return list(_walk(file)), False
    found = []
    for info in infos:
        file.seek(info.header_offset)
        header = file.read(_HEADER)
        start = info.header_offset + _HEADER + _u16(header, 26) + _u16(header, 28)
        deflated = info.compress_type == zipfile.ZIP_DEFLATED
        found.append(ZipEntry(info.filename, start, deflated, info.compress_size))
    return found, True


class open_entry:  # noqa: N801  (used as a function: a binary file of one entry's data)
    """A forward-only binary file over one entry; a cut entry gives what is there, then EOFError."""

    def __init__(self, file: BinaryIO, entry: ZipEntry) -> None:
        file.seek(entry.offset)
        self._file = file
        self._left = entry.size if entry.size >= 0 else 1 << 62
        self._inflate = zlib.decompressobj(wbits=-15) if entry.deflated else None

    def read(self, size: int = -1, /) -> bytes:
        """Up to about `size` bytes (64 KiB without one); empty at the end of the entry."""
        size = size if size > 0 else _PIECE
        if self._inflate is None:
            return self._stored(min(size, self._left))
        while not self._inflate.eof:
            piece = self._inflate.unconsumed_tail or self._stored(min(4096, self._left))
            data = self._inflate.decompress(piece, size)
            if data:
                return data
            if not piece:
                raise EOFError("the zip ends in the middle of this entry")
        return b""

    def close(self) -> None:
        """Close the zip under it."""
        self._file.close()

    def _stored(self, size: int) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._inflate is None and self._left > 0 and not data:
            raise EOFError("the zip ends in the middle of this entry")
        return data


def _walk(file: BinaryIO) -> Iterator[ZipEntry]:
    """Entries by their local headers; stops at the first that cannot be stepped over."""
    at = 0
    while True:
        file.seek(at)
        header = file.read(_HEADER)
        if len(header) < _HEADER or not header.startswith(MAGIC):
            return
        flags, method = _u16(header, 6), _u16(header, 8)
        names = file.read(_u16(header, 26) + _u16(header, 28))
        name = names[: _u16(header, 26)].decode("utf-8", "replace")
        start = at + _HEADER + len(names)
        size = -1 if flags & 8 else int.from_bytes(header[18:22], "little")
        if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or size == 0xFFFFFFFF:
            return
        if method == zipfile.ZIP_STORED and size < 0:
            if name.endswith("/"):
                size = 0
            else:
                return  # a stored entry of unknown size: nothing marks its end
        entry = ZipEntry(name, start, method == zipfile.ZIP_DEFLATED, size)
        if not name.endswith("/"):
            yield entry
        end = start + size if size >= 0 else _end_of(file, entry)
        if end is None:
            return
        file.seek(end)
        # A data descriptor may follow: an optional signature, CRC, and two sizes of 4 or 8 bytes.
        tail = file.read(64)
        step = tail.find(MAGIC)
        if step < 0:
            return
        at = end + step


def _end_of(file: BinaryIO, entry: ZipEntry) -> int | None:
    """Where a deflated entry of unknown size ends, by inflating it; None where it is cut."""
    file.seek(entry.offset)
    inflate = zlib.decompressobj(wbits=-15)
    at = entry.offset
    try:
        while not inflate.eof:
            piece = inflate.unconsumed_tail
            if not piece:
                piece = file.read(_PIECE)
                if not piece:
                    return None
                at += len(piece)
            inflate.decompress(piece, 1 << 20)
    except zlib.error:
        return None
    return at - len(inflate.unused_data)


def _u16(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")
