"""What a report is made from: one run's tables, whoever holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.tables import TABLES

__all__ = ["RunTables", "burst_rows", "tables_of", "task_table"]

# Columns of the task table that the report reads: those of an event log's tasks.
_TASK = pa.schema(
    [
        ("stage_id", pa.int32()),
        ("stage_attempt", pa.int32()),
        ("task_id", pa.int64()),
        ("partition", pa.int32()),
        ("attempt", pa.int32()),
        ("executor_id", pa.string()),
        ("host", pa.string()),
        ("speculative", pa.bool_()),
        ("launch_ms", pa.int64()),
        ("finish_ms", pa.int64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("duration_ms", pa.int64()),
        ("run_ms", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("gc_ms", pa.int64()),
        ("deserialize_ms", pa.int64()),
        ("scheduler_delay_ms", pa.int64()),
        ("fetch_wait_ms", pa.int64()),
        ("shuffle_write_ns", pa.int64()),
        ("input_bytes", pa.int64()),
        ("input_records", pa.int64()),
        ("output_bytes", pa.int64()),
        ("shuffle_read_bytes", pa.int64()),
        ("shuffle_read_records", pa.int64()),
        ("shuffle_write_bytes", pa.int64()),
        ("memory_spill_bytes", pa.int64()),
        ("disk_spill_bytes", pa.int64()),
        ("peak_memory_bytes", pa.int64()),
    ]
)


@dataclass(frozen=True)
class RunTables:
    """One run, as tables.

    ``run`` is run.json, ``executors`` the status.json of each executor. ``samples``, ``tasks``,
    ``triggers``, ``dumps``, ``gc`` and ``recordings`` have FORMAT.md's columns and ``executor_id``;
    ``frames`` has one ``id`` a frame for all of the run, which ``stacks.frames`` use. ``events`` are the
    tables of ``spark_probe.eventlog``, by name; a table that is not there is empty. ``coverage``: as
    ``spark_probe.coverage`` tells it in JSON; without it, what the executors' states say. ``findings``: see
    ``findings.finding_rows``.
    """

    run: Mapping[str, Any] = field(default_factory=dict)
    executors: Sequence[Mapping[str, Any]] = ()
    samples: pa.Table = field(default_factory=TABLES["sample"].empty_table)
    stacks: pa.Table = field(default_factory=TABLES["stack"].empty_table)
    frames: pa.Table = field(default_factory=TABLES["frame"].empty_table)
    tasks: pa.Table | None = None
    triggers: pa.Table | None = None
    dumps: pa.Table | None = None
    gc: pa.Table | None = None
    recordings: pa.Table | None = None
    events: Mapping[str, pa.Table] = field(default_factory=dict)
    coverage: Mapping[str, Any] | None = None
    findings: Sequence[Any] = ()
    notes: Sequence[str] = ()

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Rows of an event-log table, empty where the run has none."""
        table = self.events.get(name)
        return [] if table is None else table.to_pylist()


def tables_of(profile: Any) -> RunTables:
    """The tables of a profile; what it lacks is empty. ``RunTables`` are returned as they are."""
    if isinstance(profile, RunTables):
        return profile
    given = {
        field_.name: getattr(profile, field_.name)
        for field_ in fields(RunTables)
        if getattr(profile, field_.name, None) is not None
    }
    if not isinstance(given.get("events", {}), Mapping):
        given["events"] = given["events"].tables
    if not isinstance(given.get("coverage", {}), Mapping):
        given["coverage"] = given["coverage"].to_dict()
    return RunTables(**given)


def burst_rows(run: RunTables) -> npt.NDArray[np.bool_]:
    """Which rows of ``samples`` a burst recording took; none where the recordings are not known."""
    samples, recordings = run.samples, run.recordings
    columns = ("executor_id", "recording_id")
    if recordings is None or any(name not in samples.column_names for name in columns):
        return np.zeros(samples.num_rows, dtype=bool)
    bursts = recordings.filter(pc.equal(recordings["purpose"], "burst"))
    of_sample, of_burst = (_joined_ids(table, columns) for table in (samples, bursts))
    found = pc.is_in(of_sample, value_set=of_burst.combine_chunks())
    return np.asarray(found.to_numpy(), dtype=bool)


def _joined_ids(table: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*(table[name].cast(pa.string()) for name in columns), " ")


def task_table(run: RunTables) -> pa.Table:
    """One row a task attempt: the event log's, and the probe's own of tasks that the log lacks."""
    parts = []
    logged = run.events.get("tasks")
    if logged is not None and logged.num_rows:
        logged = logged.filter(pc.not_equal(logged["status"], "resubmitted"))
        parts.append(_shaped(logged, {}))
    if run.tasks is not None and run.tasks.num_rows:
        own = run.tasks
        if parts:
            known = pc.is_in(own["task_id"], value_set=parts[0]["task_id"].combine_chunks())
            own = own.filter(pc.invert(known))
        outcomes = pa.array(["succeeded", "failed", "killed", "running"])
        words = pa.array(["success", "failed", "killed", "running"])
        index = pc.index_in(own["outcome"], value_set=outcomes)
        parts.append(
            _shaped(
                own,
                {
                    "attempt": own["task_attempt"],
                    "launch_ms": own["start_ms"],
                    "finish_ms": own["end_ms"],
                    "status": words.take(index.combine_chunks()),
                    "error": own["reason"],
                    "duration_ms": pc.subtract(own["end_ms"], own["start_ms"]),
                },
            )
        )
    return pa.concat_tables(parts) if parts else _TASK.empty_table()


def _shaped(table: pa.Table, given: Mapping[str, Any]) -> pa.Table:
    columns = []
    for column in _TASK:
        if column.name in given:
            values = given[column.name]
        elif column.name in table.column_names:
            values = table[column.name]
        else:
            values = pa.nulls(table.num_rows, column.type)
        columns.append(pc.cast(values, column.type))
    return pa.table(columns, schema=_TASK)
