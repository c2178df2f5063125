"""Paths -> blocks of whole lines, whatever the files are wrapped in.

A block ends at a line's end, so no line is in two. Memory holds one block at a time.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spark_probe.gclog.errors import GcLogError, Problem

__all__ = ["Block", "blocks", "expand"]

BLOCK_BYTES = 8 << 20
MAX_LINE_BYTES = 64 << 20

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
ZSTD = b"\x28\xb5\x2f\xfd"
# PowerShell's `>` writes UTF-16.
UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

# gc.log.0, gc.log.1.current, gc.log.00: the numbers run in circles, so times decide the order. This
# is the order of files that state no time.
ROTATED = re.compile(r"\.(\d+)(?:\.current)?(?:\.gz)?$")


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file; the last may lack its newline at the end of the file."""

    data: bytes
    first_line: int  # 1-based


def expand(paths: list[str]) -> list[str]:
    """The files meant by `paths`, a directory standing for the files in it, in their stated order.

    Raises:
        GcLogError: a path does not exist, a directory is empty, or nothing was given.
    """
    found: list[str] = []
    for path in paths:
        entry = Path(path)
        if entry.is_dir():
            files = [str(child) for child in entry.iterdir() if child.is_file()]
            if not files:
                raise GcLogError(f"{path} is a directory without files; name the GC logs")
            found += sorted(files, key=_rotation)
        elif entry.exists():
            found.append(path)
        else:
            raise GcLogError(f"{path} does not exist; check the path of the GC log")
    if not found:
        raise GcLogError("no GC log was given; name at least one file")
    return list(dict.fromkeys(found))


def _rotation(path: str) -> tuple[str, int, str]:
    numbered = ROTATED.search(path)
    # The unified log's own file has no number and is the newest.
    return (path[: numbered.start()], int(numbered[1]), path) if numbered else (path, 1 << 30, path)


def blocks(path: str, problems: list[Problem]) -> Iterator[Block]:
    """The lines of a file, plain or gzip, UTF-8 or UTF-16, in blocks of about 8 MiB.

    ``\\r\\n`` becomes ``\\n``. A gzip file that was cut gives what can be unpacked,
    and a problem.

    Raises:
        GcLogError: the file cannot be opened, is of another kind, or has a line of 64 MiB.
    """
    try:
        with open(path, "rb") as raw:
            yield from _lines(_plain(raw, path), path, problems)
    except OSError as error:
        raise GcLogError(f"{path} cannot be read: {error.strerror or error}") from error


def _plain(raw: io.BufferedIOBase, path: str) -> io.BufferedIOBase:
    start = raw.read(4)
    raw.seek(0)
    for magic, name in ((ZIP, "a zip archive"), (ZSTD, "zstd")):
        if start == magic:
            raise GcLogError(f"{path} is {name}; unpack it and give the log itself")
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start[:2] in UTF16:
        raw.seek(2)
        text = codecs.getreader(UTF16[start[:2]])(raw, "replace")
        return io.BufferedReader(_Recoded(text))
    return raw


class _Recoded(io.RawIOBase):
    """A text stream read as UTF-8 bytes."""

    def __init__(self, text: codecs.StreamReader) -> None:
        self._text = text
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        if not self._left:
            self._left = self._text.read(len(buffer)).encode("utf-8", "replace")
        taken = self._left[: len(buffer)]
        self._left = self._left[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _lines(stream: io.BufferedIOBase, path: str, problems: list[Problem]) -> Iterator[Block]:
    rest = b""
    line = 1
    while True:
        data, ended = _read(stream, path, problems)
        data = rest + data
        cut = len(data) if ended else data.rfind(b"\n") + 1
        rest = data[cut:]
        if len(rest) > MAX_LINE_BYTES:
            raise GcLogError(
                f"{path}, line {line}: over {MAX_LINE_BYTES >> 20} MiB in one line; not a GC log"
            )
        if cut:
            whole = data[:cut]
            if line == 1:
                whole = whole.removeprefix(codecs.BOM_UTF8)
            yield Block(whole.replace(b"\r\n", b"\n"), line)
            line += whole.count(b"\n")
        if ended:
            return


def _read(stream: io.BufferedIOBase, path: str, problems: list[Problem]) -> tuple[bytes, bool]:
    """The next bytes, and whether the stream has ended with them."""
    if not isinstance(stream, gzip.GzipFile):
        data = stream.read(BLOCK_BYTES)
        return data, not data
    parts: list[bytes] = []
    size = 0
    try:
        # Piece by piece: a read that fails loses all that it has unpacked.
        while size < BLOCK_BYTES and (part := stream.read1(BLOCK_BYTES)):
            parts.append(part)
            size += len(part)
    except (EOFError, OSError, zlib.error):
        problems.append(Problem(path, 0, "the gzip file is cut or damaged: its end is missing"))
        return b"".join(parts), True
    return b"".join(parts), not size
