"""A profile's tables -> its stage attempts, from the event log where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.eventlog.schemas import TASKS
from spark_probe.eventlog.summary import METRICS, stage_metrics
from spark_probe.stage import Metric, Sampled, Stage, StageCoverage, sampled_by_stage

if TYPE_CHECKING:
    from spark_probe.profile import Profile

__all__ = ["stages_of", "task_attempts"]

Key = tuple[int, int]

# Outcomes of FORMAT.md's `task` -> the event log's words.
_STATUS = {"succeeded": "success", "failed": "failed", "killed": "killed", "running": "running"}


def stages_of(profile: Profile) -> list[Stage]:
    """Every stage attempt that the event log, a task or a sample names, sorted."""
    logged = profile.events.stages.to_pylist() if profile.events else []
    rows: dict[Key, dict[str, Any]] = {(r["stage_id"], r["stage_attempt"]): r for r in logged}
    tasks = task_attempts(profile)
    counts, executors = _counted(tasks)
    sampled = sampled_by_stage(profile.merged.samples)
    metrics = _metrics(
        tasks, set(TASKS.names) if profile.events else set(profile.tasks.column_names)
    )
    unprofiled = {e.id for e in profile.coverage.executors if not e.profiled}
    partial = {e.id for e in profile.coverage.executors if e.partial}
    keys = sorted(key for key in {*rows, *counts, *sampled} if key[0] >= 0)
    stages = []
    for key in keys:
        row, kinds = rows.get(key, {}), sampled.get(key, {})
        ran = executors.get(key, ())
        stages.append(
            Stage(
                id=key[0],
                attempt=key[1],
                name=row.get("name") or f"stage {key[0]}",
                details=row.get("details") or "",
                status=row.get("status") or "",
                tasks=counts.get(key, 0),
                submitted_ms=row.get("submitted_ms"),
                completed_ms=row.get("completed_ms"),
                job_ids=tuple(row.get("job_ids") or ()),
                sql_execution_id=row.get("sql_execution_id"),
                samples={event: _total(by_kind) for event, by_kind in kinds.items()},
                kinds={
                    e: {k: s.samples for k, s in by_kind.items()} for e, by_kind in kinds.items()
                },
                metrics=metrics.get(key, {}),
                coverage=StageCoverage(
                    executors=ran,
                    unprofiled=tuple(e for e in ran if e in unprofiled),
                    partial=tuple(e for e in ran if e in partial),
                ),
                profile=profile,
            )
        )
    return stages


def _total(by_kind: Mapping[str, Sampled]) -> Sampled:
    sums = list(by_kind.values())
    return Sampled(sum(s.samples for s in sums), sum(s.value for s in sums), sums[0].unit)


def task_attempts(profile: Profile) -> pa.Table:
    """Task attempts as the event log has them: its own, and those that only the run folder knows."""
    own = profile.tasks
    logged = profile.events.tasks if profile.events else TASKS.empty_table()
    logged = logged.filter(pc.fill_null(pc.not_equal(logged["status"], "resubmitted"), True))
    ended = logged.filter(pc.fill_null(pc.not_equal(logged["status"], "running"), True))
    own = own.filter(
        pc.invert(pc.is_in(own["task_id"], value_set=ended["task_id"].combine_chunks()))
    )
    running = logged.filter(pc.equal(logged["status"], "running"))
    running = running.filter(
        pc.invert(pc.is_in(running["task_id"], value_set=own["task_id"].combine_chunks()))
    )
    return pa.concat_tables([ended, running, _as_logged(own)])


def _as_logged(own: pa.Table) -> pa.Table:
    words = pa.array(list(_STATUS.values()))
    outcome = pc.index_in(own["outcome"], value_set=pa.array(list(_STATUS)))
    given = {
        "attempt": own["task_attempt"],
        "launch_ms": own["start_ms"],
        "finish_ms": own["end_ms"],
        "duration_ms": pc.subtract(own["end_ms"], own["start_ms"]),
        "status": words.take(outcome.combine_chunks()),
        **{
            name: own[name] for name in TASKS.names if name in own.column_names and name != "reason"
        },
    }
    columns = [
        given[column.name].cast(column.type)
        if column.name in given
        else pa.nulls(own.num_rows, column.type)
        for column in TASKS
    ]
    return pa.table(columns, schema=TASKS)


def _counted(tasks: pa.Table) -> tuple[dict[Key, int], dict[Key, tuple[str, ...]]]:
    """Task attempts of each stage attempt, and the executors that ran them."""
    grouped = tasks.group_by(["stage_id", "stage_attempt"]).aggregate(
        [("task_id", "count"), ("executor_id", "distinct")]
    )
    counts, executors = {}, {}
    for row in grouped.to_pylist():
        key = row["stage_id"], row["stage_attempt"]
        counts[key] = row["task_id_count"]
        executors[key] = tuple(sorted(e for e in row["executor_id_distinct"] if e is not None))
    return counts, executors


def _metrics(tasks: pa.Table, known: set[str]) -> dict[Key, dict[str, Metric]]:
    wanted = {name for name in METRICS if name in known or name in ("duration_ms",)}
    if "shuffle_remote_blocks" in known:
        wanted.add("shuffle_blocks")
    out: dict[Key, dict[str, Metric]] = {}
    for row in stage_metrics(tasks).to_pylist():
        if row["metric"] in wanted:
            key, name = (row.pop("stage_id"), row.pop("stage_attempt")), row.pop("metric")
            out.setdefault(key, {})[name] = Metric(**row)
    return out
