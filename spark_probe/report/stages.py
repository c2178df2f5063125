"""The stages of a report: one entry a stage attempt, or one for many where a run has too many.

A job that runs for days submits the same stage thousands of times. Over ``FOLD_OVER`` stage attempts, those
of one call site and plan become one entry, whose tasks and samples are those of all of them; where that
still leaves more than ``FOLD_WIDER_OVER``, those whose names differ only in their numbers do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.report.encode import Block, pack
from spark_probe.report.source import RunTables

__all__ = ["RUN_STEP", "Stages", "TaskRows", "alike_name", "collect_stages", "collect_tasks"]

Ints = npt.NDArray[np.int64]

# In a comparison the second run's ids are lifted by this, so that one table holds both runs.
RUN_STEP = 1 << 24
_OUTSIDE = -1  # stage id of samples outside tasks; in a comparison the second run's have one less

FOLD_OVER = 400
FOLD_WIDER_OVER = 1_500
TASK_BUDGET = 120_000
TEXT_LIMIT = 2_000  # characters of one call site, description or plan node
NODE_LIMIT = 24

# label, column of the task table, unit
METRICS = (
    ("Duration", "duration_ms", "ms"),
    ("Run time", "run_ms", "ms"),
    ("CPU time", "cpu_ns", "ns"),
    ("GC time", "gc_ms", "ms"),
    ("Deserialize", "deserialize_ms", "ms"),
    ("Scheduler delay", "scheduler_delay_ms", "ms"),
    ("Fetch wait", "fetch_wait_ms", "ms"),
    ("Shuffle write time", "shuffle_write_ns", "ns"),
    ("Input", "input_bytes", "bytes"),
    ("Input records", "input_records", ""),
    ("Shuffle read", "shuffle_read_bytes", "bytes"),
    ("Shuffle read records", "shuffle_read_records", ""),
    ("Shuffle write", "shuffle_write_bytes", "bytes"),
    ("Output", "output_bytes", "bytes"),
    ("Spill (memory)", "memory_spill_bytes", "bytes"),
    ("Spill (disk)", "disk_spill_bytes", "bytes"),
    ("Peak memory", "peak_memory_bytes", "bytes"),
)
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Names that Spark gives to stages which adaptive execution submits on a thread of its own.
_OPAQUE = re.compile(r"withThreadLocalCaptured|^\$anonfun")
# Plan nodes that are in nearly every plan and tell nothing of a stage.
_PLAIN_NODES = {
    "AQEShuffleRead",
    "AdaptiveSparkPlan",
    "ColumnarToRow",
    "Filter",
    "InputAdapter",
    "Project",
    "WholeStageCodegen",
}
OPERATORS_SHOWN = 3
_DIGITS = re.compile(r"\d+")
_STATUSES = ("success", "failed", "killed", "running")


@dataclass(frozen=True)
class Stages:
    """``entries``: what the page shows of each; ``of(ids, attempts)``: the entry of each pair (-1)."""

    entries: list[dict[str, Any]]
    notes: list[str]
    keys: Ints
    index: Ints

    def of(self, ids: Ints, attempts: Ints) -> Ints:
        """The entry of each (stage id, attempt); -1 where there is none."""
        if self.keys.size == 0:
            return np.full(ids.size, -1, dtype=np.int64)
        wanted = _key(ids, attempts)
        place = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        return np.where(self.keys[place] == wanted, self.index[place], -1)


@dataclass(frozen=True)
class TaskRows:
    """The tasks that the page lists, in the order of their stages, and how to find them by task id."""

    block: Block
    count: int
    executors: list[str]
    origin_ms: int
    sorted_ids: Ints
    rows: Ints
    notes: list[str]

    def of(self, task_ids: Ints) -> Ints:
        """The listed row of each task id, -1 where it is not listed."""
        if self.sorted_ids.size == 0:
            return np.full(task_ids.size, -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.sorted_ids, task_ids), self.sorted_ids.size - 1)
        return np.where(self.sorted_ids[place] == task_ids, self.rows[place], -1)


def _key(ids: Ints, attempts: Ints) -> Ints:
    return ids.astype(np.int64) * (1 << 20) + attempts.astype(np.int64)


def _one_key(stage_id: int, attempt: int) -> int:
    return int(_key(np.array([stage_id]), np.array([attempt]))[0])


def _column(table: pa.Table, name: str) -> Ints:
    return np.asarray(pc.fill_null(table[name], -1).to_numpy(), dtype=np.int64)


def clip(text: Any, limit: int = TEXT_LIMIT) -> str:
    """Text of bounded length; None is empty."""
    words = "" if text is None else str(text)
    return words if len(words) <= limit else words[: limit - 1] + "…"


def collect_stages(run: RunTables, tasks: pa.Table, *, fold_over: int = FOLD_OVER) -> Stages:
    """One entry a stage attempt of the event log, of the tasks and of the samples.

    The last entry stands for what ran outside tasks, if anything did.
    """
    rows = {(row["stage_id"], row["stage_attempt"]): row for row in run.rows("stages")}
    pairs = set(rows)
    for table in (tasks, run.samples):
        if table.num_rows:
            distinct = table.group_by(["stage_id", "stage_attempt"]).aggregate([]).to_pydict()
            pairs |= set(zip(distinct["stage_id"], distinct["stage_attempt"], strict=True))
    outside = {pair for pair in pairs if pair[0] is None or pair[0] < 0}
    ordered = sorted(pairs - outside)
    plan = _plan_nodes(run)
    queries = {row["execution_id"]: row["description"] for row in run.rows("sql_executions")}
    same = _alike(ordered, rows, plan, fold_over)
    entries: list[dict[str, Any]] = []
    seen: dict[Any, int] = {}
    index: list[int] = []
    for pair in ordered:
        row = rows.get(pair, {})
        name = clip(row.get("name")) or f"stage {pair[0]}"
        if _OPAQUE.search(name):
            name = clip(queries.get(row.get("sql_execution_id"))) or name
        details = clip(row.get("details"))
        like = same[pair]
        if like in seen:
            entry = entries[seen[like]]
            entry["folded"] += 1
            entry["submitted_ms"] = _least(entry["submitted_ms"], row.get("submitted_ms"))
            entry["completed_ms"] = _most(entry["completed_ms"], row.get("completed_ms"))
            entry["busy_ms"] += _span(row)
            entry["jobs"] = sorted({*entry["jobs"], *(row.get("job_ids") or [])})[:50]
        else:
            seen[like] = len(entries)
            entries.append(_entry(pair, name, details, row, plan.get(pair, [])))
        index.append(seen[like])
    notes = []
    if len(entries) < len(ordered):
        notes.append(
            f"{len(ordered):,} stage attempts are shown as {len(entries):,} stages: those of one call "
            "site and plan are one."
        )
    keys = [_one_key(a, b) for a, b in ordered]
    places: dict[int, int] = {}
    for a, b in sorted(outside, key=lambda pair: -_OUTSIDE if pair[0] is None else -pair[0]):
        who = _OUTSIDE if a is None else a
        if who not in places:
            places[who] = len(entries)
            entries.append(_entry((who, 0), "Outside tasks", "", {}, []))
        keys.append(_one_key(who, -1 if b is None else b))
        index.append(places[who])
    order = np.argsort(np.array(keys, dtype=np.int64))
    return Stages(
        entries,
        notes,
        np.array(keys, dtype=np.int64)[order],
        np.array(index, dtype=np.int64)[order],
    )


def alike_name(text: str) -> str:
    """Text without its numbers: ids and line numbers that differ from run to run."""
    return _DIGITS.sub("", text)


def _alike(
    pairs: list[tuple[int, int]],
    rows: dict[tuple[int, int], dict[str, Any]],
    plan: dict[tuple[int, int], list[list[str]]],
    fold_over: int,
) -> dict[tuple[int, int], Any]:
    """What each stage attempt is told from others by: see the module."""
    if len(pairs) <= fold_over:
        return {pair: pair for pair in pairs}

    def key(pair: tuple[int, int]) -> Any:
        row = rows.get(pair)
        if row is None:
            return pair
        run = pair[0] // RUN_STEP
        nodes = tuple(alike_name(name) for name, _ in plan.get(pair, []))
        return run, row.get("name"), row.get("details"), nodes

    same = {pair: key(pair) for pair in pairs}
    if len(set(same.values())) > FOLD_WIDER_OVER:
        same = {
            pair: (pair[0] // RUN_STEP, alike_name(str(rows.get(pair, {}).get("name"))))
            for pair in pairs
        }
    return same


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _span(row: dict[str, Any]) -> int:
    start, end = row.get("submitted_ms"), row.get("completed_ms")
    return max(0, end - start) if start is not None and end is not None else 0


def _entry(
    pair: tuple[int, int], name: str, details: str, row: dict[str, Any], nodes: list[Any]
) -> dict[str, Any]:
    run, number = divmod(pair[0], RUN_STEP) if pair[0] >= 0 else (_OUTSIDE - pair[0], -1)
    key = f"{number}.{pair[1]}" if number >= 0 else "outside"
    return {
        "key": f"{'B' if run else ''}{key}",
        "run": run,
        "id": number,
        "attempt": pair[1],
        "folded": 1,
        "name": name,
        "details": details,
        "status": row.get("status") or "",
        "failure": clip(row.get("failure")),
        "submitted_ms": row.get("submitted_ms"),
        "completed_ms": row.get("completed_ms"),
        "busy_ms": _span(row),
        "jobs": list(row.get("job_ids") or [])[:50],
        "sql": row.get("sql_execution_id"),
        "group": clip(row.get("job_group"), 300),
        "description": clip(row.get("description"), 300),
        "section": clip(row.get("section"), 300),
        "nodes": nodes,
        "operators": _operators(nodes),
    }


def _operators(nodes: list[list[str]]) -> str:
    """The plan's nodes that tell what a stage does, as it is read: the last one first."""
    names = [name.partition(" (")[0] for name, _ in nodes]
    telling = list(dict.fromkeys(name for name in names if name not in _PLAIN_NODES))
    return " ← ".join(telling[:OPERATORS_SHOWN])


def _plan_nodes(run: RunTables) -> dict[tuple[int, int], list[list[str]]]:
    """(name, description) of the plan's nodes that ran in each stage attempt, in the plan's order."""
    nodes = {(r["execution_id"], r["node_id"]): r for r in run.rows("sql_nodes")}
    out: dict[tuple[int, int], list[list[str]]] = {}
    for row in run.rows("sql_stages"):
        node = nodes.get((row["execution_id"], row["node_id"]))
        here = out.setdefault((row["stage_id"], row["stage_attempt"]), [])
        if node is not None and len(here) < NODE_LIMIT:
            here.append([clip(node["name"], 120), clip(node["description"], 400)])
    return out


def collect_tasks(tasks: pa.Table, stages: Stages, *, budget: int = TASK_BUDGET) -> TaskRows:
    """Put task counts and metric quantiles into the stages' entries; choose the tasks to list.

    Quantiles are Spark's (element at floor(q * n)) over the successful tasks, or over all that ended
    where none succeeded. Where the tasks are more than ``budget``, the slowest of each stage are listed,
    and others evenly over the rest.
    """
    entry = stages.of(_column(tasks, "stage_id"), _column(tasks, "stage_attempt"))
    duration = _column(tasks, "duration_ms")
    launch = _column(tasks, "launch_ms")
    order = np.lexsort([launch, entry])
    order = order[entry[order] >= 0]
    entry = entry[order]
    tasks = tasks.take(pa.array(order))
    duration, launch = duration[order], launch[order]
    codes = pc.index_in(pc.fill_null(tasks["status"], "running"), value_set=pa.array(_STATUSES))
    status = np.asarray(pc.fill_null(codes, 3).to_numpy(), dtype=np.int64)
    columns = {column: _column(tasks, column) for _, column, _ in METRICS}
    bounds = np.searchsorted(entry, np.arange(len(stages.entries) + 1))
    per_stage = max(20, budget // max(1, len(stages.entries)))
    listed = np.ones(entry.size, dtype=bool)
    for i, stage in enumerate(stages.entries):
        part = slice(int(bounds[i]), int(bounds[i + 1]))
        _describe(stage, part, status, columns)
        if entry.size > budget and part.stop - part.start > per_stage:
            listed[part] = _slowest_and_even(duration[part], per_stage)
    kept = np.flatnonzero(listed)
    notes = []
    if kept.size < entry.size:
        notes.append(
            f"{kept.size:,} of {entry.size:,} tasks are listed: each stage's slowest, and others evenly."
        )
    chosen = tasks.take(pa.array(kept))
    executors = sorted(
        {str(e) for e in pc.unique(chosen["executor_id"]).to_pylist() if e is not None}
    )
    place = {name: i + 1 for i, name in enumerate(executors)}
    origin = int(launch[kept][launch[kept] >= 0].min()) if (launch[kept] >= 0).any() else 0
    ids = _column(chosen, "task_id")
    packed: dict[str, Any] = {
        "stage": entry[kept],
        "task_id": ids.clip(0),
        "partition": _column(chosen, "partition") + 1,
        "attempt": _column(chosen, "attempt").clip(0),
        "executor": np.array([place.get(str(e), 0) for e in chosen["executor_id"].to_pylist()]),
        "status": status[kept],
        "start_ms": (launch[kept] - origin).clip(0),
        "speculative": np.asarray(pc.fill_null(chosen["speculative"], False).to_numpy()),
    }
    for _, column, _ in METRICS:
        packed[column] = columns[column][kept].clip(0)
    block = pack({name: np.asarray(column) for name, column in packed.items()})
    by_id = np.argsort(ids, kind="stable")
    return TaskRows(
        block, int(kept.size), executors, origin, ids[by_id], by_id.astype(np.int64), notes
    )


def _describe(stage: dict[str, Any], part: slice, status: Ints, columns: dict[str, Ints]) -> None:
    """Counts, quantiles and sums of one stage's tasks."""
    mine = status[part]
    stage["tasks"] = int(mine.size)
    for code, word in enumerate(_STATUSES):
        stage[word] = int(np.count_nonzero(mine == code))
    good = mine == 0 if (mine == 0).any() else mine != 3
    metrics = []
    for label, column, unit in METRICS:
        every = columns[column][part]
        every = every[every >= 0]
        values = columns[column][part][good]
        values = np.sort(values[values >= 0])
        if values.size == 0 or (values[-1] == 0 and label != "Duration"):
            continue
        at = [min(values.size - 1, int(q * values.size)) for q in QUANTILES]
        metrics.append([label, unit, [int(values[i]) for i in at], int(every.sum()), column])
    stage["metrics"] = metrics


def _slowest_and_even(duration: Ints, count: int) -> npt.NDArray[np.bool_]:
    order = np.argsort(-duration, kind="stable")
    half = count // 2
    rest = order[half:]
    chosen = np.zeros(duration.size, dtype=bool)
    chosen[order[:half]] = True
    chosen[rest[np.linspace(0, rest.size - 1, count - half).astype(np.int64)]] = True
    return chosen
