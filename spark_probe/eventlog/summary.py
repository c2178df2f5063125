"""Tables in, tables out: quantiles and totals a stage attempt, totals a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.eventlog.schemas import TASK_METRICS, unit_of

__all__ = ["METRICS", "QUANTILES", "quantile_column", "stage_metrics", "stage_summary", "totals"]

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)

# What a stage's tasks are compared by.
METRICS = (
    "duration_ms",
    "scheduler_delay_ms",
    "getting_result_ms",
    *TASK_METRICS,
    "shuffle_read_bytes",
    "shuffle_blocks",
)

_LOCALITIES = ("PROCESS_LOCAL", "NODE_LOCAL", "RACK_LOCAL", "ANY", "NO_PREF")

_SUMS = (
    "duration_ms",
    "scheduler_delay_ms",
    "getting_result_ms",
    *(name for name in TASK_METRICS if not name.startswith("peak_")),
    "shuffle_read_bytes",
)


def quantile_column(quantile: float) -> str:
    """A quantile's column in `stage_metrics`: 0 is `min`, 0.5 `p50`, 0.999 `p99.9`, 1 `max`."""
    named = {0.0: "min", 1.0: "max"}
    return named.get(quantile, f"p{quantile * 100:.10g}")


def stage_metrics(tasks: pa.Table, quantiles: Sequence[float] = QUANTILES) -> pa.Table:
    """Quantiles of each metric over the successful tasks of each stage attempt.

    tasks: rows of TASKS. Returns one row a stage attempt and metric: `stage_id`, `stage_attempt`,
    `metric` (a name of METRICS), `unit` (ms, ns, bytes or empty for counts), `tasks` (how many
    there are), `total`, and a column a quantile (`quantile_column`). A quantile q of n sorted
    values is the one at min(floor(q * n), n - 1), as Spark's AppStatusStore.taskSummary takes it,
    without interpolation. (Where a stage has failed tasks Spark's own answer for duration,
    scheduler delay and getting-result time mixes them in; here all metrics are of successful
    tasks.)

    Raises ValueError for a quantile outside 0..1.
    """
    if not all(0 <= q <= 1 for q in quantiles):
        raise ValueError(f"quantiles must lie in 0..1, not {list(quantiles)}")
    done = tasks.filter(pc.and_(pc.equal(tasks["status"], "success"), pc.is_valid(tasks["run_ms"])))
    group, keys = _groups(done)
    counts = np.bincount(group, minlength=len(keys))
    first = np.cumsum(counts) - counts
    columns: dict[str, list[Any]] = {
        name: [] for name in ("total", *map(quantile_column, quantiles))
    }
    for name in METRICS:
        values = _values(done, name)
        columns["total"].append(_sum_by(group, values, len(keys)))
        ordered = values[np.lexsort((values, group))] if values.any() else values
        for q in quantiles:
            at = np.minimum(np.floor(q * counts).astype(np.int64), counts - 1)
            columns[quantile_column(q)].append(ordered[first + at])
    repeats = len(METRICS)
    return pa.table(
        {
            "stage_id": np.tile(keys[:, 0], repeats).astype(np.int32),
            "stage_attempt": np.tile(keys[:, 1], repeats).astype(np.int32),
            "metric": np.repeat(np.array(METRICS, object), len(keys)),
            "unit": np.repeat(np.array([unit_of(m) for m in METRICS], object), len(keys)),
            "tasks": np.tile(counts, repeats),
            **{
                name: np.concatenate(parts) if parts else np.empty(0, np.int64)
                for name, parts in columns.items()
            },
        },
        schema=pa.schema(
            [
                ("stage_id", pa.int32()),
                ("stage_attempt", pa.int32()),
                ("metric", pa.string()),
                ("unit", pa.string()),
                ("tasks", pa.int64()),
                *((name, pa.int64()) for name in columns),
            ]
        ),
    ).sort_by([("stage_id", "ascending"), ("stage_attempt", "ascending")])


def stage_summary(stages: pa.Table, tasks: pa.Table) -> pa.Table:
    """One row a stage attempt that has tasks: how many ended how, where, and sums of their metrics.

    stages, tasks: rows of STAGES and TASKS. Columns: `stage_id`, `stage_attempt`, `name`,
    `submitted_ms`, `completed_ms`, `status` (null where the stage's own events are lost),
    `tasks_success`, `tasks_failed`, `tasks_killed`, `tasks_resubmitted`, `tasks_running`,
    `tasks_speculative`, `first_launch_ms`, `last_finish_ms`, `executors` (how many ran its tasks),
    `local_process`, `local_node`, `local_rack`, `local_any`, `local_no_pref` (attempts by
    locality); sums over attempts that carry metrics, failed and killed ones, too, under the names
    of TASKS; `peak_memory_bytes`, the largest of one task; `explosion_ratio`, memory spilled / disk
    spilled: how much larger the data is as objects than serialized, null without spill.
    """
    group, keys = _groups(tasks)
    n = len(keys)
    status = _one(tasks["status"])
    attempt = ~_is(status, "resubmitted")
    columns: dict[str, Any] = {
        "stage_id": pa.array(keys[:, 0], pa.int32()),
        "stage_attempt": pa.array(keys[:, 1], pa.int32()),
    }
    for name in ("success", "failed", "killed", "resubmitted", "running"):
        columns[f"tasks_{name}"] = _count(group, _is(status, name), n)
    speculative = _flags(tasks["speculative"])
    columns["tasks_speculative"] = _count(group, speculative & attempt, n)
    launch, finish = tasks["launch_ms"], tasks["finish_ms"]
    columns["first_launch_ms"] = _extreme(group, launch, n, np.minimum)
    columns["last_finish_ms"] = _extreme(group, finish, n, np.maximum)
    columns["executors"] = _distinct(group, tasks["executor_id"], n)
    locality = _one(tasks["locality"])
    for place in _LOCALITIES:
        name = "local_" + place.replace("_LOCAL", "").lower()
        columns[name] = _count(group, _is(locality, place) & attempt, n)
    for name in _SUMS:
        columns[name] = _sum_by(group, np.where(attempt, _values(tasks, name), 0), n)
    peak = _extreme(group, tasks["peak_memory_bytes"], n, np.maximum)
    columns["peak_memory_bytes"] = pc.fill_null(peak, 0)
    memory, disk = columns["memory_spill_bytes"], columns["disk_spill_bytes"]
    ratio = np.divide(memory, disk, out=np.zeros(n), where=disk > 0)
    columns["explosion_ratio"] = pa.array(ratio, mask=disk <= 0)
    table = pa.table(columns)
    own = stages.select(
        ["stage_id", "stage_attempt", "name", "submitted_ms", "completed_ms", "status"]
    )
    where = _rows_of(own, keys)
    for at, name in enumerate(("name", "submitted_ms", "completed_ms", "status"), 2):
        table = table.add_column(at, name, own[name].combine_chunks().take(where))
    return table


def totals(tables: dict[str, pa.Table], events: dict[str, int]) -> dict[str, int]:
    """Counts and sums over a log, named as in the totals of `EventLog`.

    events: how many events of each name the log has; what started is counted there.
    """
    jobs, stages, tasks = tables["jobs"], tables["stages"], tables["tasks"]
    executors = tables["executors"]
    status = _one(tasks["status"])
    ended = ~_is(status, "running")
    attempt = ended & ~_is(status, "resubmitted")
    measured = ~_flags(pc.is_null(tasks["run_ms"]))

    def count(table: pa.Table, column: str, value: str) -> int:
        return int(_is(_one(table[column]), value).sum())

    def total(name: str) -> int:
        return int(_values(tasks, name)[attempt].sum())

    return {
        "jobs": events.get("SparkListenerJobStart", 0),
        "jobs_ok": count(jobs, "status", "succeeded"),
        "jobs_failed": count(jobs, "status", "failed"),
        "stages": len(stages),
        "stages_failed": count(stages, "status", "failed"),
        "stages_open": count(stages, "status", "running"),
        "task_starts": events.get("SparkListenerTaskStart", 0),
        "task_ends": int(ended.sum()),
        "ok": int(_is(status, "success").sum()),
        "failed": int(_is(status, "failed").sum()),
        "killed": int(_is(status, "killed").sum()),
        "resubmitted": int(_is(status, "resubmitted").sum()),
        "speculative": int((_flags(tasks["speculative"]) & attempt).sum()),
        "no_metrics": int((attempt & ~measured).sum()),
        "exec_added": len(executors) - executors["added_ms"].null_count,
        "exec_removed": len(executors) - executors["removed_ms"].null_count,
        "run_ms": total("run_ms"),
        "cpu_ns": total("cpu_ns"),
        "gc_ms": total("gc_ms"),
        "deser_ms": total("deserialize_ms"),
        "ser_ms": total("result_serialize_ms"),
        "mem_spill": total("memory_spill_bytes"),
        "disk_spill": total("disk_spill_bytes"),
        "shuf_read": total("shuffle_read_bytes"),
        "shuf_write": total("shuffle_write_bytes"),
        "fetch_wait_ms": total("fetch_wait_ms"),
        "input": total("input_bytes"),
        "output": total("output_bytes"),
    }


def _groups(tasks: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each task's group (stage attempt), and the (stage, attempt) of each group, sorted."""
    stage = _values(tasks, "stage_id")
    attempt = _values(tasks, "stage_attempt")
    combined, group = np.unique((stage << 32) | attempt, return_inverse=True)
    return group, np.stack((combined >> 32, combined & 0xFFFFFFFF), axis=1)


def _values(tasks: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """A column as int64, 0 where null."""
    if name == "shuffle_blocks":
        return _values(tasks, "shuffle_remote_blocks") + _values(tasks, "shuffle_local_blocks")
    filled: npt.NDArray[np.int64] = pc.fill_null(tasks[name], 0).to_numpy().astype(np.int64)
    return filled


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is(column: Any, value: str) -> npt.NDArray[np.bool_]:
    return _flags(pc.equal(column, value))


def _flags(column: Any) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = (
        pc.fill_null(_one(column), False).to_numpy(zero_copy_only=False).astype(bool)
    )
    return flags


def _count(
    group: npt.NDArray[np.int64], flags: npt.NDArray[np.bool_], n: int
) -> npt.NDArray[np.int64]:
    return np.bincount(group[flags], minlength=n).astype(np.int64)


def _sum_by(
    group: npt.NDArray[np.int64], values: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.int64]:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, group, values)  # exact; bincount would add doubles
    return sums


def _extreme(group: npt.NDArray[np.int64], column: Any, n: int, better: Any) -> pa.Array:
    """The least or largest value a group, null where there is none."""
    valid = ~_flags(pc.is_null(column))
    values = pc.fill_null(column, 0).to_numpy().astype(np.int64)[valid]
    info = np.iinfo(np.int64)
    out = np.full(n, info.max if better is np.minimum else info.min)
    better.at(out, group[valid], values)
    return pa.array(out, mask=_count(group, valid, n) == 0)


def _distinct(group: npt.NDArray[np.int64], column: Any, n: int) -> npt.NDArray[np.int64]:
    codes = pc.fill_null(_one(column).dictionary_encode().indices, -1).to_numpy()
    pairs = np.unique(np.stack((group, codes), axis=1), axis=0)
    return np.bincount(pairs[pairs[:, 1] >= 0, 0], minlength=n).astype(np.int64)


def _rows_of(stages: pa.Table, keys: npt.NDArray[np.int64]) -> pa.Array:
    """The row of each (stage, attempt) in `stages`, null where it has none."""
    known = (_values(stages, "stage_id") << 32) | _values(stages, "stage_attempt")
    wanted = (keys[:, 0] << 32) | keys[:, 1]
    return pc.cast(pc.index_in(pa.array(wanted), pa.array(known)), pa.int64())
