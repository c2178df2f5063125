"""What a log lost on the way in: counted always, described for the first few."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_probe.errors import RunError

__all__ = ["EventLogError", "Problem", "Problems"]

# A log with a million bad lines must not make a report of a million sentences.
_KEPT = 100


class EventLogError(RunError):
    """An event log cannot be found or is none; says what, where, and the next step."""


@dataclass(frozen=True)
class Problem:
    """One place of a log that could not be read.

    `offset` is in bytes of the file as stored (compressed where it is), -1 where the place is a
    line or the whole file; `skipped_bytes` are stored bytes that gave no events.
    """

    file: str
    offset: int
    message: str
    skipped_bytes: int = 0

    def __str__(self) -> str:
        where = self.file if self.offset < 0 else f"{self.file}, byte {self.offset}"
        lost = f" ({self.skipped_bytes:,} bytes skipped)" if self.skipped_bytes else ""
        return f"{where}: {self.message}{lost}"


@dataclass
class Problems:
    """Collects `Problem`s; `damaged` says whether any part of the log was lost, not just a line."""

    kept: list[Problem] = field(default_factory=list)
    count: int = 0
    skipped_bytes: int = 0
    damaged: bool = False

    def damage(self, file: str, offset: int, message: str, skipped_bytes: int = 0) -> None:
        """A stretch of a file, or a whole one, is lost."""
        self.damaged = True
        self.note(file, offset, message, skipped_bytes)

    def note(self, file: str, offset: int, message: str, skipped_bytes: int = 0) -> None:
        """Worth telling; the rest of the file is whole."""
        self.count += 1
        self.skipped_bytes += skipped_bytes
        if len(self.kept) < _KEPT:
            self.kept.append(Problem(file, offset, message, skipped_bytes))
