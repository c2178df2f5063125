"""What happened when, and how much of it was seen: the report's time line and its coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.report.source import RunTables
from spark_probe.report.stages import Stages, clip

__all__ = ["coverage", "dumps_of", "timeline", "triggers_of"]

GC_BINS = 600
LONGEST_PAUSES = 300
FIRING_LIMIT = 2_000
DUMP_LIMIT = 200
DUMP_TEXT = 20_000  # characters of one dump


def timeline(run: RunTables, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Start and end of the run, its executors' lives and its GC pauses (binned; the longest each)."""
    executors = [
        {
            "id": row["executor_id"],
            "host": row["host"],
            "cores": row["cores"],
            "added_ms": row["added_ms"] or row["block_manager_ms"],
            "removed_ms": row["removed_ms"],
            "reason": clip(row["removed_reason"], 300),
        }
        for row in run.rows("executors")
    ]
    known = {row["id"] for row in executors}
    for status in run.executors:
        if status.get("executor_id") not in known:
            executors.append(
                {
                    "id": status.get("executor_id"),
                    "host": status.get("host"),
                    "cores": status.get("cores"),
                    "added_ms": status.get("attached_ms"),
                    "removed_ms": status.get("updated_ms")
                    if status.get("state") == "lost"
                    else None,
                    "reason": clip(status.get("reason"), 300),
                }
            )
    start, end = _span(run, entries, executors)
    return {
        "start_ms": start,
        "end_ms": end,
        "executors": executors,
        "gc": _pauses(run.gc, start, end),
    }


def _span(
    run: RunTables, entries: list[dict[str, Any]], executors: list[dict[str, Any]]
) -> tuple[int, int]:
    """First and last moment that is known, epoch ms."""
    moments = [run.run.get("start_ms"), run.run.get("end_ms")]
    for entry in entries:
        moments += [entry["submitted_ms"], entry["completed_ms"]]
    for executor in executors:
        moments += [executor["added_ms"], executor["removed_ms"]]
    moments += [status.get("updated_ms") for status in run.executors]
    if run.samples.num_rows:
        buckets = run.samples["bucket_ms"].to_numpy()
        buckets = buckets[buckets >= 0]
        if buckets.size:
            moments += [int(buckets.min()), int(buckets.max())]
    known = [int(moment) for moment in moments if moment is not None and moment > 0]
    return (min(known), max(max(known), min(known) + 1)) if known else (0, 1)


def _pauses(gc: pa.Table | None, start: int, end: int) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "bin_ms": 0,
        "pause_ms": [],
        "longest": [],
        "count": 0,
        "total_ms": 0.0,
    }
    if gc is None or gc.num_rows == 0:
        return empty
    pauses = gc.filter(gc["pause"].fill_null(False))
    if pauses.num_rows == 0:
        return empty
    at = pauses["start_ms"].fill_null(start).to_numpy().astype(np.float64)
    took = pauses["duration_ns"].fill_null(0).to_numpy().astype(np.float64) / 1e6
    width = max(1.0, (end - start) / GC_BINS)
    place = np.clip(((at - start) / width).astype(np.int64), 0, GC_BINS - 1)
    binned = np.bincount(place, weights=took, minlength=GC_BINS)
    top = np.sort(np.argsort(-took)[:LONGEST_PAUSES])
    rows = pauses.take(pa.array(top)).to_pylist()
    return {
        "bin_ms": width,
        "pause_ms": [round(float(v), 2) for v in binned],
        "count": pauses.num_rows,
        "total_ms": float(took.sum()),
        "longest": [
            {
                "executor": row.get("executor_id"),
                "start_ms": row["start_ms"],
                "ms": (row["duration_ns"] or 0) / 1e6,
                "what": clip(f"{row.get('action') or ''} ({row.get('cause') or ''})", 200),
            }
            for row in rows
        ],
    }


def coverage(run: RunTables) -> dict[str, Any]:
    """Executors seen and profiled, what is missing of each and why, and samples outside tasks."""
    given = run.coverage or _states(run)
    outside = total = 0
    if run.samples.num_rows:
        counts = run.samples["samples"].to_numpy()
        out = run.samples["stage_id"].fill_null(-1).to_numpy() < 0
        outside, total = int(counts[out].sum()), int(counts.sum())
    keys = ("id", "host", "state", "engine", "samples", "samples_lost")
    rows = [
        {
            **{key: row.get(key) for key in keys},
            "missing": [clip(text, 500) for text in row.get("missing") or ()],
            "notes": [clip(text, 500) for text in row.get("notes") or ()],
        }
        for row in given["executors"]
    ]
    counted = {key: given[key] for key in ("seen", "profiled", "partial")}
    return {**counted, "executors": rows, "samples": total, "outside": outside}


def _states(run: RunTables) -> dict[str, Any]:
    """Coverage by what the executors say of themselves."""
    rows = []
    for status in run.executors:
        why = [status.get("reason"), status.get("lost_reason"), status.get("last_error")]
        rows.append({**status, "id": status.get("executor_id"), "missing": [w for w in why if w]})
    known = {row["id"] for row in rows}
    for row in run.rows("executors"):
        if row["executor_id"] not in known:
            missing = ["the run has nothing of it"]
            rows.append({"id": row["executor_id"], "host": row["host"], "missing": missing})
    return {
        "seen": len(rows),
        "profiled": sum((row.get("samples") or 0) > 0 for row in rows),
        "partial": sum((row.get("samples") or 0) > 0 and bool(row["missing"]) for row in rows),
        "executors": rows,
    }


def _stage_key(row: dict[str, Any], stages: Stages) -> str | None:
    pair = row.get("stage_id"), row.get("stage_attempt")
    if pair[0] is None or pair[0] < 0:
        return None
    place = int(stages.of(np.array([pair[0]]), np.array([pair[1] or 0]))[0])
    return stages.entries[place]["key"] if place >= 0 else None


def triggers_of(run: RunTables, stages: Stages) -> list[dict[str, Any]]:
    """Rules that fired, in the order of time."""
    if run.triggers is None:
        return []
    rows = sorted(run.triggers.to_pylist(), key=lambda row: row.get("time_ms") or 0)
    keys = ("time_ms", "rule", "task_id", "threshold", "value", "unit", "action", "note")
    return [
        {
            key: clip(row.get(key), 500) if isinstance(row.get(key), str) else row.get(key)
            for key in keys
        }
        | {"executor": row.get("executor_id"), "stage": _stage_key(row, stages)}
        for row in rows[:FIRING_LIMIT]
    ]


def dumps_of(run: RunTables, stages: Stages) -> list[dict[str, Any]]:
    """Thread dumps that triggers asked for."""
    if run.dumps is None:
        return []
    rows = sorted(run.dumps.to_pylist(), key=lambda row: row.get("time_ms") or 0)
    return [
        {
            "time_ms": row.get("time_ms"),
            "task_id": row.get("task_id"),
            "stage": _stage_key(row, stages),
            "executor": row.get("executor_id"),
            "thread": clip(row.get("thread"), 300),
            "state": row.get("thread_state"),
            "text": clip(row.get("text"), DUMP_TEXT),
        }
        for row in rows[:DUMP_LIMIT]
    ]
