"""Two runs as one, to be compared: which stage of one is which of the other."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.report.source import RunTables
from spark_probe.report.stages import RUN_STEP, alike_name

__all__ = ["join_runs", "match_stages"]

_TASK_STEP = 1 << 48

_LIFTED = {
    "stage_id": RUN_STEP,
    "job_id": RUN_STEP,
    "execution_id": RUN_STEP,
    "sql_execution_id": RUN_STEP,
    "task_id": _TASK_STEP,
}

_MOMENTS = (
    "bucket_ms",
    "launch_ms",
    "finish_ms",
    "start_ms",
    "end_ms",
    "submitted_ms",
    "completed_ms",
)


def join_runs(before: RunTables, after: RunTables) -> RunTables:
    """Both runs' samples, tasks and stages in one, as if they had started together.

    The second's ids are lifted by ``RUN_STEP``, its times moved by the difference of the starts. A stack
    hash is the same stack in both (FORMAT.md): where both have it, one copy is enough.
    """
    frames = 0 if before.frames.num_rows == 0 else int(pc.max(before.frames["id"]).as_py()) + 1
    start, other = before.run.get("start_ms"), after.run.get("start_ms")
    shift = start - other if start is not None and other is not None else 0
    events = {}
    for name in ("stages", "tasks", "jobs", "sql_executions", "sql_nodes", "sql_stages"):
        parts = [run.events.get(name) for run in (before, after)]
        events[name] = _joined(parts[0], parts[1], shift)
    return RunTables(
        run=before.run,
        samples=_both(before.samples, _lift(after.samples, shift)),
        stacks=_both(before.stacks, _moved_stacks(after.stacks, frames)),
        frames=_both(before.frames, _moved(after.frames, "id", frames)),
        tasks=_joined(before.tasks, after.tasks, shift),
        events={name: table for name, table in events.items() if table is not None},
    )


def _joined(one: pa.Table | None, two: pa.Table | None, shift: int) -> pa.Table | None:
    if two is None:
        return one
    return _lift(two, shift) if one is None else _both(one, _lift(two, shift))


def _both(one: pa.Table, two: pa.Table) -> pa.Table:
    return pa.concat_tables([one, two], promote_options="permissive")


def _lift(table: pa.Table, shift: int) -> pa.Table:
    for name, step in {**_LIFTED, **dict.fromkeys(_MOMENTS, shift)}.items():
        if name in table.column_names:
            column = table[name].cast(pa.int64())
            below = pc.subtract(column, 1) if name == "stage_id" else column
            lifted = pc.if_else(pc.greater_equal(column, 0), pc.add(column, step), below)
            table = table.set_column(table.column_names.index(name), name, lifted)
    if "job_ids" in table.column_names:
        ids = [
            None if row is None else [i + RUN_STEP for i in row]
            for row in table["job_ids"].to_pylist()
        ]
        table = table.set_column(
            table.column_names.index("job_ids"), "job_ids", pa.array(ids, pa.list_(pa.int64()))
        )
    return table


def _moved(table: pa.Table, name: str, step: int) -> pa.Table:
    moved = pc.add(table[name].cast(pa.int64()), step)
    return table.set_column(table.column_names.index(name), name, moved)


def _moved_stacks(stacks: pa.Table, step: int) -> pa.Table:
    lists = stacks["frames"].combine_chunks()
    values = pc.add(lists.values.cast(pa.int64()), step)
    moved = type(lists).from_arrays(lists.offsets, values)
    return stacks.set_column(stacks.column_names.index("frames"), "frames", moved)


def match_stages(entries: list[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    """Pairs of entries, first and second run; None where the other run has no such stage.

    Two stages are the same where name, call site and plan are (numbers apart: ids and line numbers move),
    in the order of their ids; then where name and plan are; then where the name is. Never by stage id.
    """
    rest = [
        [i for i, e in enumerate(entries) if e["run"] == run and e["id"] >= 0] for run in (0, 1)
    ]
    pairs: list[tuple[int | None, int | None]] = []
    for detail in (3, 2, 1):
        waiting: dict[Any, deque[int]] = defaultdict(deque)
        for i in rest[1]:
            waiting[_identity(entries[i], detail)].append(i)
        found: dict[int, int] = {}
        for i in rest[0]:
            queue = waiting[_identity(entries[i], detail)]
            if queue:
                found[i] = queue.popleft()
        pairs += found.items()
        taken = set(found.values())
        rest = [[i for i in rest[0] if i not in found], [i for i in rest[1] if i not in taken]]
    pairs += [(i, None) for i in rest[0]]
    pairs += [(None, i) for i in rest[1]]
    return pairs


def _identity(entry: dict[str, Any], detail: int) -> Any:
    plan = tuple(alike_name(name) for name, _ in entry["nodes"])
    return (alike_name(entry["name"]), plan, alike_name(entry["details"]))[:detail]
