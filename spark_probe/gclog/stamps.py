"""The first and last time stamp of a file, on any line: a log spans more than its collections."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from spark_probe.gclog.columns import captures, epoch_ms, floats
from spark_probe.gclog.dialect import UNIFIED
from spark_probe.gclog.files import Block
from spark_probe.gclog.rows import Numbers
from spark_probe.gclog.unified import clocks

__all__ = ["Stamps"]

_EDGE_BYTES = 64 << 10
# Whatever a container's log puts in front of them.
_DECORATIONS = re.compile(
    rb"(?:\[[^\]]*\])*\[[^\]]*(?:\d[mn]?s|\dT\d\d:[\d:.,]+[+-]\d+) *\](?:\[[^\]]*\])*"
)
_CLASSIC = (
    r"^(?:(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3})(?P<zone>[+-]\d{4}): )?"
    r"(?:#\d+: )?(?:(?P<up>\d+[.,]\d+): )?"
)


class Stamps:
    """Clocks of the first and the last stamped line: s since the JVM's start, ms since 1970."""

    def __init__(self) -> None:
        self.first_s = self.last_s = self.first_ms = self.last_ms = np.nan

    def add(self, block: Block, dialect: str) -> None:
        """Takes the outer lines of a block."""
        data = block.data
        if len(data) <= 2 * _EDGE_BYTES:
            self._take(*_clocks(data.split(b"\n"), dialect))
        else:  # the lines that the cuts go through are left out
            self._take(*_clocks(data[:_EDGE_BYTES].split(b"\n")[:-1], dialect))
            self._take(*_clocks(data[-_EDGE_BYTES:].split(b"\n")[1:], dialect))

    def _take(self, uptime: Numbers, epoch: Numbers) -> None:
        known = uptime[~np.isnan(uptime)]
        if len(known):
            self.first_s = known[0] if np.isnan(self.first_s) else self.first_s
            self.last_s = known[-1]
        known = epoch[~np.isnan(epoch)]
        if len(known):
            self.first_ms = known[0] if np.isnan(self.first_ms) else self.first_ms
            self.last_ms = known[-1]


def _clocks(lines: Iterable[bytes], dialect: str) -> tuple[Numbers, Numbers]:
    if dialect == UNIFIED:
        heads = [head[0] for line in lines if (head := _DECORATIONS.search(line))]
        return clocks(pa.array(heads, pa.binary()))
    _, found = captures(pa.array(list(lines), pa.binary()), _CLASSIC)
    return floats(found["up"]), epoch_ms(found["date"], found["zone"])
