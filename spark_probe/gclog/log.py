"""Files of GC logs -> one `GcLog`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.gclog.classic import Classic
from spark_probe.gclog.collectors import collector_of, hint
from spark_probe.gclog.dialect import UNIFIED, sniff
from spark_probe.gclog.errors import GcLogError, Problem
from spark_probe.gclog.files import blocks, expand
from spark_probe.gclog.spans import Span, spans, with_runs
from spark_probe.gclog.stamps import Stamps
from spark_probe.gclog.stops import Stops
from spark_probe.gclog.summary import pause_fractions, summarize
from spark_probe.gclog.unified import Unified

__all__ = ["GcLog", "read"]


@dataclass(frozen=True)
class GcLog:
    """What GC logs say, rotated files put together in the order of their times."""

    events: pa.Table
    """`EVENTS`: one row a pause, a concurrent phase, a cycle or an allocation stall."""
    collector: str
    """``Serial``, ``Parallel``, ``CMS``, ``G1``, ``ZGC``, ``Shenandoah``, ``Epsilon``, ``unknown``."""
    files: list[str]
    """The files read, in the order of their times."""
    spans: list[Span]
    """What each JVM's log covers: as many as `events` has runs."""
    stops: Stops
    """Safepoints of any kind, where the log states them."""
    explicit_requests: int = 0
    """Calls of System.gc() that only a trigger line names (Shenandoah)."""
    problems: list[Problem] = field(default_factory=list)
    """What was left out: files that are no GC log, collections that were cut."""

    def summary(self) -> dict[str, Any]:
        """The log in numbers; see `summary.summarize` for the keys, units and formulas."""
        return summarize(
            self.events, self.spans, self.collector, self.stops, self.explicit_requests
        )

    def pause_fractions(self, window_s: float = 10.0) -> pa.Table:
        """How much of each window the application stood still in pauses.

        Args:
            window_s: length of a window, in s.

        Returns:
            One row a window and JVM run: `run`, `start_s` (since the JVM's start, null where the log
            states no uptime), `start_ms` (since 1970 UTC, null where it states no date), `pause_ns`,
            `fraction` (of the part of the window that the log covers, 0 to 1). A pause over a
            window's edge counts in both with its part; overlapping pauses count once.

        Raises:
            GcLogError: `window_s` is not positive.
        """
        return pause_fractions(self.events, self.spans, window_s)


@dataclass
class _File:
    path: str
    parser: Unified | Classic
    stamps: Stamps
    stops: Stops
    hinted: str | None


def read(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> GcLog:
    """Reads GC logs of one JVM, or of one after another.

    Args:
        paths: files, plain or gzip, in any order, or directories of them; rotated files (``.0``,
            ``.1.current``) are put in the order of their times.

    Returns:
        The log. A file among several that cannot be read is a problem of it, not an error.

    Raises:
        GcLogError: no file could be read. The message names the file, what it is, and what to do.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[_File] = []
    problems: list[Problem] = []
    first_error: GcLogError | None = None
    for path in expand([os.fspath(path) for path in given]):
        try:
            files.append(_read_file(path))
        except GcLogError as error:
            first_error = first_error or error
            problems.append(Problem(path, 0, str(error)))
    if not files:
        raise first_error or GcLogError("no GC log was given; name at least one file")
    files = _in_order(files)
    parsers = [each.parser for each in files]
    # G1 states sizes in regions, and the region's size once: in the first of the rotated files.
    unified = [each for each in parsers if isinstance(each, Unified)]
    region_bytes = next((each.region_bytes for each in unified if each.region_bytes), None)
    for parser in unified:
        parser.region_bytes = parser.region_bytes or region_bytes
    events = with_runs(pa.concat_tables([each.table() for each in parsers]))
    for each in parsers:
        problems += each.problems
    words = {
        word
        for name in ("type", "cause")
        for word in pc.unique(events[name]).to_pylist()
        if word is not None
    }
    return GcLog(
        events=events,
        collector=collector_of(words, next((f.hinted for f in files if f.hinted), None)),
        files=[each.path for each in files],
        spans=spans(events, {each.path: each.stamps for each in files}),
        stops=Stops.sum(each.stops for each in files),
        explicit_requests=sum(each.explicit_requests for each in parsers),
        problems=problems,
    )


def _read_file(path: str) -> _File:
    parser: Unified | Classic | None = None
    dialect: str | None = None
    stamps, stops, hinted = Stamps(), Stops(), None
    seen_bytes = 0
    problems: list[Problem] = []
    for block in blocks(path, problems):
        seen_bytes += len(block.data)
        if parser is None:
            # Before the first sign of a GC log there may be what else the process printed.
            dialect = sniff(block.data, path)
            if dialect is None:
                continue
            parser = Unified(path) if dialect == UNIFIED else Classic(path)
        assert dialect is not None
        hinted = hinted or (hint(block.data) if block.first_line == 1 else None)
        parser.add(block)
        stops.add(block)
        stamps.add(block, dialect)
    if parser is None:
        raise GcLogError(_refusal(path, seen_bytes))
    parser.problems += problems
    return _File(
        path=path,
        parser=parser,
        stamps=stamps,
        stops=stops,
        hinted=hinted,
    )


def _refusal(path: str, seen_bytes: int) -> str:
    if not seen_bytes:
        return f"{path} is empty; check that the JVM had -Xlog:gc*:file=... or -Xloggc:..."
    return (
        f"{path} holds no line of a GC log that spark_probe knows: it reads HotSpot's -Xlog:gc* "
        "(JDK 9 and later) and -XX:+PrintGCDetails (JDK 8 and before)"
    )


def _in_order(files: list[_File]) -> list[_File]:
    """By date where all that state a time have one, else by uptime; without a time, last."""
    stated = [
        each for each in files if not np.isnan([each.stamps.first_ms, each.stamps.first_s]).all()
    ]
    for clock in ("first_ms", "first_s"):
        times = [getattr(each.stamps, clock) for each in stated]
        if not np.isnan(times).any():
            ordered = [stated[at] for at in np.argsort(times, kind="stable")]
            return ordered + [each for each in files if each not in stated]
    return files
