"""What can be wrong with a GC log."""

from __future__ import annotations

from dataclasses import dataclass

from spark_probe.errors import RunError

__all__ = ["GcLogError", "Problem"]


class GcLogError(RunError):
    """A file is not a GC log that can be read: the message names it, what it is, and what to do."""


@dataclass(frozen=True)
class Problem:
    """A part of a log that was left out, and why: the rest counts."""

    file: str
    line: int  # 1-based; 0 where the whole file is meant
    reason: str
