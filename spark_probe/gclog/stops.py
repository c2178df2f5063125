"""Safepoints: how long the application stood still for any reason, garbage collection or not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spark_probe.gclog.columns import captures, floats, lines_of, match
from spark_probe.gclog.files import Block

__all__ = ["Stops"]

_STATED = r"were stopped: \d|Safepoint \"[^\"]*\", .*Total: +\d+ ns"
_SECONDS = r"were stopped: (?P<s>\d+[.,]\d+) seconds(?:, Stopping threads took: (?P<t>\d+[.,]\d+))?"
_NANOS = r"Reaching safepoint: +(?P<t>\d+) ns.*Total: +(?P<s>\d+) ns"


class Stops:
    """Sums over the lines of ``-XX:+PrintGCApplicationStoppedTime`` or of the ``safepoint`` tag."""

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.longest_s = 0.0
        self.reaching_s = 0.0  # until all threads had stopped; part of the total

    def add(self, block: Block) -> None:
        """Takes the stops of a block."""
        if b"were stopped: " not in block.data and b"Reaching safepoint: " not in block.data:
            return
        lines = lines_of(block.data)
        lines = lines.filter(match(lines, _STATED))
        for pattern, per_s in ((_SECONDS, 1.0), (_NANOS, 1e9)):
            _, found = captures(lines, pattern)
            stopped = floats(found["s"]) / per_s
            if len(stopped):
                self.count += len(stopped)
                self.total_s += float(stopped.sum())
                self.longest_s = max(self.longest_s, float(stopped.max()))
                self.reaching_s += float(np.nansum(floats(found["t"]) / per_s))

    @staticmethod
    def sum(parts: Iterable[Stops]) -> Stops:
        """The stops of several files together."""
        total = Stops()
        for part in parts:
            total.count += part.count
            total.total_s += part.total_s
            total.longest_s = max(total.longest_s, part.longest_s)
            total.reaching_s += part.reaching_s
        return total
