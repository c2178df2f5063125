"""Events -> numbers: counts, pause times, throughput, allocation and promotion rates.

The formulas are those that GC log analysers share; where they differ, the docstring says which.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.gclog.errors import GcLogError
from spark_probe.gclog.spans import Span, clock_s, floats_of
from spark_probe.gclog.stops import Stops

__all__ = ["merged", "pause_fractions", "summarize"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

SYSTEM_GC = "System.gc()"
_CYCLES = ("Garbage Collection", "Minor Collection", "Major Collection")


def summarize(
    events: pa.Table,
    spans: list[Span],
    collector: str,
    stops: Stops,
    explicit_requests: int,
) -> dict[str, Any]:
    """The log in numbers, ready for JSON; None where the log does not say.

    - `collector`, `jvm_runs`; `start` and `end`, each `uptime_s` and `time` (ISO 8601, UTC);
      `span_s`: the time that the log covers, from its first to its last stamped line, summed over
      the JVMs.
    - `pauses`: stop-the-world events; `pause_ms`: the sum of their durations as logged. Where a
      classic log nests one in another, the outer counts without the inner; unified logging gives
      each its own line and duration, and a Serial full collection within a young one counts in both.
    - `full`: pauses that collected the whole heap. `cycles`: those of ZGC.
    - `system_gc`: calls of System.gc(). Parallel answers a call with a young and a full pause: one
      call, two pauses in `causes`.
    - `longest_ms`, and `longest`: that pause's type, cause and time. `mean_pause_ms`,
      `median_pause_ms`, `p99_pause_ms`: the smallest duration that so many pauses do not exceed.
    - `throughput`: 1 - (time in pauses / `span_s`), overlapping pauses counted once, as the goal
      of -XX:GCTimeRatio is defined. None where the log has no times, or cycles without pauses.
    - `heap_before_bytes`, `heap_after_bytes`: `first`, `max`, `last` of the heap used before and
      after what states both; `heap_committed_bytes`: the largest; `live_bytes`: the largest heap used
      after a full collection.
    - `allocation_bytes_per_s`: the growth between collections (used before one, less used after the
      one before it) of the heap, or of the young generation where that is more, over the time from
      the first to the last. What a cycle frees or is allocated beside the application is not seen,
      nor what goes straight into the old generation then: a lower bound.
    - `promotion_bytes_per_s`: the old generation's growth in young pauses over that time.
    - `causes`: collections by cause. `failures`: events by what went wrong. `types`: for each type
      `count`, `total_ms`, `max_ms`, `pause`.
    - `safepoints`: `count`, `stopped_ms`, `longest_ms`, `reaching_ms` of any kind, or None.
    """
    pause = np.asarray(events["pause"].combine_chunks().to_numpy(zero_copy_only=False), bool)
    pauses = events.filter(pa.array(pause))
    took_ms = floats_of(pauses, "duration_ns") / 1e6
    cycles = events.filter(pc.is_in(events["type"], value_set=pa.array(_CYCLES)))
    span_s = round(sum(each.end_s - each.start_s for each in spans), 9) if spans else None
    silent = bool(cycles.num_rows) and not pauses.num_rows
    collections = events.filter(
        pc.or_(events["pause"], pc.is_in(events["type"], value_set=pa.array(_CYCLES)))
    )
    # ZGC's generations within a cycle state the same heap as the cycle.
    sized = events.filter(
        pc.and_(
            pc.is_valid(events["heap_before_bytes"]),
            pc.invert(pc.match_substring_regex(events["type"], "^[YyO]: ")),
        )
    )
    allocation, promotion = _rates(sized)
    return {
        "collector": collector,
        "jvm_runs": max(1, len(spans)),
        "start": _moment(spans[0], spans[0].start_s) if spans else None,
        "end": _moment(spans[-1], spans[-1].end_s) if spans else None,
        "span_s": span_s,
        "pauses": pauses.num_rows,
        "full": int(pc.sum(events["full"]).as_py() or 0),
        "cycles": cycles.num_rows,
        "system_gc": _system_gc(collections, explicit_requests),
        "pause_ms": round(float(np.nansum(took_ms)), 6),
        "longest_ms": _rounded(np.nanmax(took_ms)) if len(took_ms) else None,
        "longest": _longest(pauses, took_ms),
        "mean_pause_ms": _rounded(np.nanmean(took_ms)) if len(took_ms) else None,
        "median_pause_ms": _quantile(took_ms, 0.5),
        "p99_pause_ms": _quantile(took_ms, 0.99),
        "throughput": None if silent or not span_s else _throughput(pauses, spans, span_s),
        "heap_before_bytes": _sizes(sized, "heap_before_bytes"),
        "heap_after_bytes": _sizes(sized, "heap_after_bytes"),
        "heap_committed_bytes": pc.max(events["heap_committed_bytes"]).as_py(),
        "live_bytes": pc.max(events.filter(events["full"])["heap_after_bytes"]).as_py(),
        "allocation_bytes_per_s": allocation,
        "promotion_bytes_per_s": promotion,
        "causes": _counts(collections["cause"]),
        "failures": _counts(events["failure"]),
        "types": _types(events),
        "safepoints": {
            "count": stops.count,
            "stopped_ms": _rounded(stops.total_s * 1e3),
            "longest_ms": _rounded(stops.longest_s * 1e3),
            "reaching_ms": _rounded(stops.reaching_s * 1e3),
        }
        if stops.count
        else None,
    }


def merged(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Intervals, in any order and overlapping, as disjoint ones in order."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], start[1:] > reach[:-1]]))
    return start[first], reach[np.concatenate([first[1:], [len(start)]]) - 1]


def pause_fractions(events: pa.Table, spans: list[Span], window_s: float) -> pa.Table:
    """See `GcLog.pause_fractions`."""
    if not window_s > 0:
        raise GcLogError(f"window_s is {window_s}: it must be more than 0 seconds")
    columns: dict[str, list[Floats]] = {
        name: [] for name in ("run", "start_s", "start_ms", "pause_ns", "fraction")
    }
    for span, (start, end) in zip(spans, _pause_intervals(events, spans), strict=True):
        edges = (
            np.arange(np.floor(span.start_s / window_s), np.floor(span.end_s / window_s) + 2)
            * window_s
        )
        inside = np.clip(edges, span.start_s, span.end_s)
        # Paused time up to each edge: it grows within a pause and stands still between two.
        corners = np.column_stack([start, end]).ravel()
        lengths = np.column_stack([np.zeros(len(start)), end - start]).ravel()
        paused = np.interp(inside, corners, np.cumsum(lengths)) if len(start) else inside * 0
        spent, covered = np.diff(paused), np.diff(inside)
        at = edges[:-1]
        shown = covered > 0
        born_ms = span.jvm_start_ms if span.jvm_start_ms is not None else np.nan
        columns["run"].append(np.full(int(shown.sum()), float(span.run)))
        columns["start_s"].append(at[shown] if span.uptime else at[shown] * np.nan)
        columns["start_ms"].append((born_ms + at * 1e3 if span.uptime else at * 1e3)[shown])
        columns["pause_ns"].append(np.rint(spent[shown] * 1e9))
        columns["fraction"].append(spent[shown] / covered[shown])
    joined = {name: np.concatenate([np.zeros(0), *parts]) for name, parts in columns.items()}
    return pa.table(
        {
            "run": pa.array(joined["run"].astype(np.int32)),
            "start_s": pa.array(joined["start_s"], from_pandas=True),
            "start_ms": pa.array(joined["start_ms"], from_pandas=True).cast(pa.int64(), safe=False),
            "pause_ns": pa.array(joined["pause_ns"].astype(np.int64)),
            "fraction": pa.array(joined["fraction"]),
        }
    )


def _pause_intervals(events: pa.Table, spans: list[Span]) -> list[tuple[Floats, Floats]]:
    """For each span the disjoint times in which the application stood still, in s."""
    start = clock_s(events)
    end = start + floats_of(events, "duration_ns") / 1e9
    pause = np.asarray(events["pause"].combine_chunks().to_numpy(zero_copy_only=False), bool)
    pause &= ~np.isnan(end)
    start, end = start[pause], end[pause]
    runs = np.asarray(events["run"].to_numpy())[pause]  # never falls
    found = []
    for span in spans:
        first, after = np.searchsorted(runs, [span.run, span.run + 1])
        found.append(merged(start[first:after], end[first:after]))
    return found


def _throughput(pauses: pa.Table, spans: list[Span], span_s: float) -> float | None:
    unplaced = np.isnan(clock_s(pauses))
    if len(unplaced) and unplaced.mean() > 0.5:
        return None
    stopped_s = sum(float((end - start).sum()) for start, end in _pause_intervals(pauses, spans))
    # A pause whose time stamp another thread has printed into still took its time.
    stopped_s += float(np.nansum(floats_of(pauses, "duration_ns")[unplaced])) / 1e9
    # A log of nothing but a pause says nothing about the time around it.
    return round(1.0 - stopped_s / span_s, 6) if stopped_s < span_s * (1 - 1e-9) else None


def _rates(sized: pa.Table) -> tuple[float | None, float | None]:
    """Allocation and promotion in bytes/s."""
    sized = sized.filter(pa.array(~np.isnan(clock_s(sized))))
    start = clock_s(sized)
    run = np.asarray(sized["run"].to_numpy())
    end = start + np.nan_to_num(floats_of(sized, "duration_ns")) / 1e9
    order = np.lexsort((end, start, run))
    run, start, end = run[order], start[order], end[order]
    before = floats_of(sized, "heap_before_bytes")[order]
    after = floats_of(sized, "heap_after_bytes")[order]
    same = run[1:] == run[:-1]
    observed_s = float((np.diff(start) * same).sum())
    if observed_s <= 0:
        return None, None
    # One inside another (a full collection in a young one) allocates nothing in between.
    apart = same & (start[1:] >= end[:-1] - 1e-3)
    young_before = floats_of(sized, "young_before_bytes")[order]
    young_after = floats_of(sized, "young_after_bytes")[order]
    growth = np.fmax(before[1:] - after[:-1], young_before[1:] - young_after[:-1])
    allocated = float((np.maximum(growth, 0.0) * apart).sum())
    old_growth = (floats_of(sized, "old_after_bytes") - floats_of(sized, "old_before_bytes"))[order]
    young = np.asarray(pc.and_(sized["pause"], pc.invert(sized["full"])).to_numpy(), bool)[
        order
    ] & ~np.isnan(old_growth)
    promoted = float(np.maximum(old_growth[young], 0.0).sum()) if young.any() else None
    return (
        round(allocated / observed_s, 1),
        None if promoted is None else round(promoted / observed_s, 1),
    )


def _system_gc(collections: pa.Table, explicit_requests: int) -> int:
    explicit = collections.filter(pc.equal(collections["cause"], SYSTEM_GC))
    count = int(explicit.num_rows)
    asked = np.asarray(pc.equal(collections["cause"], SYSTEM_GC).fill_null(False).to_numpy(), bool)
    full = np.asarray(collections["full"].to_numpy(), bool)
    kind = pc.match_substring_regex(collections["type"], r"^(?:Pause Young|GC|GC PSYoungGen)$")
    pair = asked[:-1] & asked[1:] & ~full[:-1] & full[1:] & np.asarray(kind.to_numpy())[:-1]
    # Shenandoah names the call at its trigger, and again where it answers with a full pause.
    return max(count - int(pair.sum()), explicit_requests)


def _sizes(collections: pa.Table, name: str) -> dict[str, int] | None:
    sizes = pc.drop_null(collections[name].combine_chunks())
    if not len(sizes):
        return None
    return {
        "first": sizes[0].as_py(),
        "max": pc.max(sizes).as_py(),
        "last": sizes[len(sizes) - 1].as_py(),
    }


def _longest(pauses: pa.Table, took_ms: Floats) -> dict[str, Any] | None:
    if not len(took_ms):
        return None
    row = pauses.slice(int(np.nanargmax(took_ms)), 1).to_pylist()[0]
    kept = ("type", "cause", "start_s", "start_ms", "file", "line")
    return {name: row[name] for name in kept}


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    counted = pc.value_counts(pc.drop_null(column.combine_chunks())).to_pylist()
    ranked = sorted(counted, key=lambda each: (-each["counts"], each["values"]))
    return {each["values"]: each["counts"] for each in ranked}


def _types(events: pa.Table) -> dict[str, dict[str, Any]]:
    grouped = events.group_by(["type", "pause"]).aggregate(
        [("type", "count"), ("duration_ns", "sum"), ("duration_ns", "max")]
    )
    rows = sorted(
        grouped.to_pylist(), key=lambda row: (not row["pause"], -(row["duration_ns_sum"] or 0))
    )
    return {
        row["type"]: {
            "count": row["type_count"],
            "total_ms": _rounded((row["duration_ns_sum"] or 0) / 1e6),
            "max_ms": _rounded((row["duration_ns_max"] or 0) / 1e6),
            "pause": row["pause"],
        }
        for row in rows
    }


def _quantile(took_ms: Floats, share: float) -> float | None:
    known = np.sort(took_ms[~np.isnan(took_ms)])
    if not len(known):
        return None
    return _rounded(known[max(0, int(np.ceil(share * len(known))) - 1)])


def _moment(span: Span, at_s: float) -> dict[str, Any]:
    born_ms = span.jvm_start_ms if span.uptime else 0.0
    when = None
    if born_ms is not None:
        moment = datetime.fromtimestamp(round(born_ms + at_s * 1e3) / 1e3, timezone.utc)
        when = moment.isoformat(timespec="milliseconds")
    return {"uptime_s": round(at_s, 6) if span.uptime else None, "time": when}


def _rounded(number: float | np.floating[Any]) -> float:
    return round(float(number), 6)
