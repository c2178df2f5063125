"""Which JVM each event is of, and the time that the log of each covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.gclog.stamps import Stamps

__all__ = ["Span", "clock_s", "floats_of", "spans", "with_runs"]

# Threads log out of order by less than this; a restart falls back by more.
RESTART_S = 1.0
# Two JVMs' starts, from date less uptime: the wall clock may be set meanwhile.
ANOTHER_START_S = 60.0


@dataclass(frozen=True)
class Span:
    """What one JVM's log covers. Seconds since the JVM's start if `uptime`, else since 1970."""

    run: int
    start_s: float
    end_s: float
    uptime: bool
    jvm_start_ms: float | None  # since 1970; None where the log states only one clock


def floats_of(events: pa.Table, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column as floats, NaN where null."""
    column = events[name].cast(pa.float64(), safe=False).combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def clock_s(events: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Start of each event in s: since the JVM's start where any event states that, else since 1970."""
    uptime = floats_of(events, "start_s")
    return uptime if not np.isnan(uptime).all() else floats_of(events, "start_ms") / 1e3


def with_runs(events: pa.Table) -> pa.Table:
    """The events with `run` counted up where the uptime falls back: a new JVM wrote on."""
    uptime = floats_of(events, "start_s")
    known = np.flatnonzero(~np.isnan(uptime))
    run = np.zeros(len(uptime), np.int32)
    if len(known):
        took_s = np.nan_to_num(floats_of(events, "duration_ns")) / 1e9
        ended = (uptime + took_s)[known]
        another = np.concatenate([[False], np.diff(ended) < -RESTART_S])
        born_s = floats_of(events, "start_ms")[known] / 1e3 - uptime[known]
        if not np.isnan(born_s).any():
            another[1:] |= np.abs(np.diff(born_s)) > ANOTHER_START_S
        run[known] = np.cumsum(another)
        run = np.maximum.accumulate(run)
    return events.set_column(events.schema.get_field_index("run"), events.field("run"), [run])


def spans(events: pa.Table, stamps: dict[str, Stamps]) -> list[Span]:
    """The time that each run's log covers: events, and any stamped line of its files."""
    uptime = not np.isnan(floats_of(events, "start_s")).all() or any(
        not np.isnan(each.first_s) for each in stamps.values()
    )
    start = floats_of(events, "start_s") if uptime else floats_of(events, "start_ms") / 1e3
    end = start + np.nan_to_num(floats_of(events, "duration_ns")) / 1e9
    born = floats_of(events, "start_ms") - floats_of(events, "start_s") * 1e3
    runs = np.asarray(events["run"].to_numpy())
    count = int(runs[-1]) + 1 if len(runs) else 1
    bounds = np.searchsorted(runs, np.arange(count + 1))
    edges = _edges(events, runs, stamps, uptime)
    found: list[Span] = []
    for run in range(count):
        mine = slice(int(bounds[run]), int(bounds[run + 1]))
        times = np.concatenate([start[mine], end[mine], edges.times.get(run, _NONE)])
        born_ms = np.concatenate([born[mine], edges.born_ms.get(run, _NONE)])
        if np.isnan(times).all():
            continue
        known = born_ms[~np.isnan(born_ms)]
        found.append(
            Span(
                run=run,
                start_s=float(np.nanmin(times)),
                end_s=float(np.nanmax(times)),
                uptime=uptime,
                jvm_start_ms=float(np.median(known)) if len(known) else None,
            )
        )
    return found


_NONE = np.zeros(0)


@dataclass
class _Edges:
    """By run, what the outer lines of its files say."""

    times: dict[int, np.ndarray[Any, np.dtype[np.float64]]]
    born_ms: dict[int, np.ndarray[Any, np.dtype[np.float64]]]


def _edges(
    events: pa.Table,
    runs: np.ndarray[Any, np.dtype[np.int32]],
    stamps: dict[str, Stamps],
    uptime: bool,
) -> _Edges:
    files = events["file"].combine_chunks().dictionary_encode()
    codes = np.asarray(files.indices.to_numpy())
    edges = _Edges({}, {})
    for file, stamp in stamps.items():
        name = files.dictionary.index(file).as_py()
        rows = np.flatnonzero(codes == name) if name >= 0 else _NONE
        if not len(rows) and len(runs):
            continue  # no collection says which JVM wrote it
        # A file's outer lines are of the JVMs of its outer events.
        first, last = (int(runs[rows[0]]), int(runs[rows[-1]])) if len(rows) else (0, 0)
        scale = 1.0 if uptime else 1e-3
        suffix = "s" if uptime else "ms"
        for run, clock in ((first, "first"), (last, "last")):
            time = getattr(stamp, f"{clock}_{suffix}") * scale
            edges.times[run] = np.append(edges.times.get(run, _NONE), time)
        edges.born_ms[first] = np.append(
            edges.born_ms.get(first, _NONE), stamp.first_ms - stamp.first_s * 1e3
        )
    return edges
