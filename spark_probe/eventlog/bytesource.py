"""A file read forward with look-ahead, so that a decoder can fail at a byte and go on after it."""

from __future__ import annotations

import re
from typing import Protocol

__all__ = ["ByteSource", "Readable"]

_READ = 1 << 20


class Readable(Protocol):
    """The one method of a binary file that the readers need."""

    def read(self, size: int = -1, /) -> bytes: ...


class ByteSource:
    """Bytes of `raw` in order; `pos` is the offset of the next one."""

    def __init__(self, raw: Readable) -> None:
        self._raw = raw
        self._buf = b""
        self._at = 0
        self._end = False
        self.pos = 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes without taking them; fewer only at the end of the file."""
        if len(self._buf) - self._at < size and not self._end:
            self._fill(size)
        return self._buf[self._at : self._at + size]

    def advance(self, size: int) -> None:
        """Step over bytes that were peeked at."""
        self._at += size
        self.pos += size

    def take(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end of the file."""
        data = self.peek(size)
        self.advance(len(data))
        return data

    def chunk(self) -> bytes:
        """Some bytes, as many as are at hand; empty only at the end of the file."""
        if self._at == len(self._buf) and not self._end:
            self._fill(1)
        return self.take(len(self._buf) - self._at)

    def skip_to(self, magic: re.Pattern[bytes], longest: int) -> int:
        """Step to the next match of `magic` (of at most `longest` bytes) or to the end.

        Returns how many bytes were stepped over.
        """
        start = self.pos
        while True:
            found = magic.search(self._buf, self._at)
            if found:
                self.advance(found.start() - self._at)
                return self.pos - start
            left = len(self._buf) - self._at
            if self._end:
                self.advance(left)
                return self.pos - start
            self.advance(max(left - longest + 1, 0))
            self._fill(_READ)

    def _fill(self, size: int) -> None:
        pieces = [self._buf[self._at :]]
        have = len(pieces[0])
        while have < size:
            piece = self._raw.read(_READ)
            if not piece:
                self._end = True
                break
            pieces.append(piece)
            have += len(piece)
        self._buf = b"".join(pieces)
        self._at = 0
