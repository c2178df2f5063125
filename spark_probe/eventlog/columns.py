"""Lines of the columnar kinds -> Arrow tables, by Arrow's JSON reader; odd lines one by one.

Arrow's reader takes a schema and passes over what is not in it, but one line that is no JSON or has
a value of another type fails the whole piece. Then the piece is read again line by line, each value
taken for what the schema wants if it can be, so that one bad line costs itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from spark_probe.eventlog.fit import fit
from spark_probe.eventlog.schemas import (
    BLOCK_UPDATES,
    EXECUTOR_PEAKS,
    PEAK_METRICS,
    TASK_METRIC_ALIASES,
    TASK_METRICS,
    TASK_PEAKS,
    TASKS,
)

__all__ = [
    "JSON_SCHEMAS",
    "KINDS",
    "block_updates",
    "executor_peaks",
    "from_objects",
    "parse",
    "task_ends",
    "task_starts",
]

# Columnar kind -> the event's name with its closing quote: what follows {"Event":" on such a line.
KINDS = {
    "task_end": b'SparkListenerTaskEnd"',
    "task_start": b'SparkListenerTaskStart"',
    "block": b'SparkListenerBlockUpdated"',
    "peak": b'SparkListenerStageExecutorMetrics"',
}

# A task's error and stack are kept up to so many characters: a thousand failures with a plan in the
# message must not become the bulk of the table.
_MAX_ERROR = 4_000
_MAX_STACK = 20_000

_I32, _I64, _STR, _BOOL = pa.int32(), pa.int64(), pa.string(), pa.bool_()


def _nested(paths: Iterable[tuple[str, ...]], *more: pa.Field) -> pa.DataType:
    """A struct of int64 leaves at `paths`."""
    tree: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        tree.setdefault(path[0], []).append(path[1:])
    fields = [pa.field(name, _nested(rest) if rest[0] else _I64) for name, rest in tree.items()]
    return pa.struct([*fields, *more])


_PEAKS = _nested((name,) for name in PEAK_METRICS.values())
_LEVEL = pa.struct(
    [
        ("Use Disk", _BOOL),
        ("Use Memory", _BOOL),
        ("Use Off Heap", _BOOL),
        ("Deserialized", _BOOL),
        ("Replication", _I32),
    ]
)
_BLOCK_STATUS = [("Storage Level", _LEVEL), ("Memory Size", _I64), ("Disk Size", _I64)]
_ADDRESS = pa.struct([("Executor ID", _STR), ("Host", _STR)])
_REASON = pa.struct(
    [
        ("Reason", _STR),
        ("Class Name", _STR),
        ("Description", _STR),
        ("Full Stack Trace", _STR),
        ("Message", _STR),
        ("Loss Reason", _STR),
        ("Kill Reason", _STR),
        ("Exit Caused By App", _BOOL),
        ("Block Manager Address", _ADDRESS),
        ("Shuffle ID", _I32),
    ]
)
_INFO = pa.struct(
    [
        ("Task ID", _I64),
        ("Index", _I32),
        ("Attempt", _I32),
        ("Partition ID", _I32),
        ("Launch Time", _I64),
        ("Executor ID", _STR),
        ("Host", _STR),
        ("Locality", _STR),
        ("Speculative", _BOOL),
        ("Getting Result Time", _I64),
        ("Finish Time", _I64),
        ("Failed", _BOOL),
        ("Killed", _BOOL),
    ]
)
_UPDATED = pa.list_(pa.struct([("Block ID", _STR), ("Status", pa.struct(_BLOCK_STATUS))]))
_TASK_METRICS = _nested(
    [*TASK_METRICS.values(), *TASK_METRIC_ALIASES.values()], pa.field("Updated Blocks", _UPDATED)
)
_STAGE = [("Stage ID", _I32), ("Stage Attempt ID", _I32)]

# What is read of each columnar kind; everything else on its lines is passed over.
JSON_SCHEMAS: dict[str, pa.Schema] = {
    "task_end": pa.schema(
        [
            *_STAGE,
            ("Task Type", _STR),
            ("Task End Reason", _REASON),
            ("Task Info", _INFO),
            ("Task Executor Metrics", _PEAKS),
            ("Task Metrics", _TASK_METRICS),
        ]
    ),
    "task_start": pa.schema([*_STAGE, ("Task Info", _INFO)]),
    "block": pa.schema(
        [
            (
                "Block Updated Info",
                pa.struct([("Block Manager ID", _ADDRESS), ("Block ID", _STR), *_BLOCK_STATUS]),
            )
        ]
    ),
    "peak": pa.schema([("Executor ID", _STR), *_STAGE, ("Executor Metrics", _PEAKS)]),
}


def parse(kind: str, data: bytes, lines: int) -> tuple[pa.Table, int]:
    """The events on `lines` lines of one kind as a nested table, and how many lines were bad."""
    schema = JSON_SCHEMAS[kind]
    try:
        table = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows == lines:  # else two objects on a line, or one on two
            table.validate(full=True)  # strings may hold bytes that are no UTF-8
            return table, 0
    except pa.ArrowException:
        pass
    objects, bad = [], 0
    for line in data.split(b"\n")[:lines]:
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            bad += 1
        else:
            objects.append(event)
    return from_objects(kind, objects), bad


def from_objects(kind: str, events: list[dict[str, Any]]) -> pa.Table:
    """The nested table of events that were decoded one by one."""
    schema = JSON_SCHEMAS[kind]
    as_struct = pa.struct(list(schema))
    array = pa.array([fit(event, as_struct) for event in events], as_struct)
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)], schema)


def task_ends(events: pa.Table) -> tuple[pa.Table, pa.Table, pa.Table]:
    """TaskEnd events -> rows of TASKS, TASK_PEAKS and (Spark before 2.3) BLOCK_UPDATES."""
    reason = _of(events, "Task End Reason")
    why = reason("Reason")
    measured = pc.is_valid(events["Task Metrics"])
    metrics = {
        name: pc.if_else(measured, pc.coalesce(*_metric(events, name), 0), None)
        for name in TASK_METRICS
    }
    columns = _identity(events)
    launch, finish = columns["launch_ms"], columns["finish_ms"]
    fetched = _positive(_at(events, "Task Info", "Getting Result Time"))
    duration = pc.subtract(finish, launch)
    # AppStatusUtils.gettingResultTime and .schedulerDelay
    getting = pc.if_else(
        measured, pc.if_else(pc.is_valid(fetched), pc.subtract(finish, fetched), 0), None
    )
    spent = (metrics["run_ms"], metrics["deserialize_ms"], metrics["result_serialize_ms"], getting)
    delay = pc.max_element_wise(reduce(pc.subtract, spent, duration), 0, skip_nulls=False)
    message = pc.coalesce(
        reason("Description"), reason("Message"), reason("Loss Reason"), reason("Kill Reason")
    )
    columns |= {
        "task_type": events["Task Type"],
        "status": _status(why, events),
        "reason": why,
        "error_class": reason("Class Name"),
        "error": _text(message, _MAX_ERROR),
        "stack": _text(reason("Full Stack Trace"), _MAX_STACK),
        "caused_by_app": reason("Exit Caused By App"),
        "fetch_executor_id": reason("Block Manager Address", "Executor ID"),
        "fetch_host": reason("Block Manager Address", "Host"),
        "fetch_shuffle_id": reason("Shuffle ID"),
        "duration_ms": duration,
        "getting_result_ms": getting,
        "scheduler_delay_ms": delay,
        "shuffle_read_bytes": pc.add(
            metrics["shuffle_remote_read_bytes"], metrics["shuffle_local_read_bytes"]
        ),
        **metrics,
    }
    tasks = _table(columns, TASKS)
    return tasks, _task_peaks(events, tasks), _task_blocks(events, tasks)


def task_starts(events: pa.Table) -> pa.Table:
    """TaskStart events -> rows of TASKS with status running and nothing that comes at the end."""
    columns = _identity(events)
    columns["finish_ms"] = pa.nulls(len(events), _I64)
    columns["status"] = pa.repeat("running", len(events))
    return _table(columns, TASKS)


def executor_peaks(events: pa.Table) -> pa.Table:
    """StageExecutorMetrics events -> rows of EXECUTOR_PEAKS."""
    peaks = {n: _at(events, "Executor Metrics", json) for n, json in PEAK_METRICS.items()}
    columns = {**_stage(events), "executor_id": events["Executor ID"], **peaks}
    return _table(columns, EXECUTOR_PEAKS)


def block_updates(events: pa.Table) -> pa.Table:
    """BlockUpdated events -> rows of BLOCK_UPDATES."""
    info = _of(events, "Block Updated Info")
    columns = {
        "source": pa.repeat("block_updated", len(events)),
        "executor_id": info("Block Manager ID", "Executor ID"),
        "host": info("Block Manager ID", "Host"),
        **_block(info("Block ID"), info()),
    }
    return _table(columns, BLOCK_UPDATES)


def _metric(events: pa.Table, name: str) -> list[Any]:
    paths = [TASK_METRICS[name]] + [p for n, p in TASK_METRIC_ALIASES.items() if n == name]
    return [_at(events, "Task Metrics", *path) for path in paths]


def _identity(events: pa.Table) -> dict[str, Any]:
    """What a task is, from its Task Info."""
    info = _of(events, "Task Info")
    partition = info("Partition ID")  # from 3.3; -1 in a log that an older Spark rewrote
    partition = pc.if_else(pc.greater_equal(partition, 0), partition, None)
    return {
        **_stage(events),
        "task_id": info("Task ID"),
        "index": info("Index"),
        "partition": pc.coalesce(partition, info("Index")),
        "attempt": pc.fill_null(info("Attempt"), 0),
        "executor_id": info("Executor ID"),
        "host": info("Host"),
        "locality": info("Locality"),
        "speculative": pc.fill_null(info("Speculative"), False),
        "launch_ms": info("Launch Time"),
        "finish_ms": _positive(info("Finish Time")),
    }


def _stage(events: pa.Table) -> dict[str, Any]:
    return {
        "stage_id": events["Stage ID"],
        "stage_attempt": pc.fill_null(events["Stage Attempt ID"], 0),
    }


def _status(reason: Any, events: pa.Table) -> Any:
    """As AppStatusListener.onTaskEnd counts; by the Task Info's flags where there is no reason."""
    info = _of(events, "Task Info")
    flags = pc.if_else(
        pc.fill_null(info("Killed"), False),
        "killed",
        pc.if_else(pc.fill_null(info("Failed"), False), "failed", "success"),
    )
    known = {
        "Success": "success",
        "TaskKilled": "killed",
        "TaskCommitDenied": "killed",
        "Resubmitted": "resubmitted",
    }
    found = pc.index_in(reason, pa.array(list(known)))
    named = pc.coalesce(pa.array(list(known.values())).take(_one(found)), "failed")
    return pc.if_else(pc.is_valid(reason), named, flags)


def _task_peaks(events: pa.Table, tasks: pa.Table) -> pa.Table:
    peaks = {n: _at(events, "Task Executor Metrics", json) for n, json in PEAK_METRICS.items()}
    seen = reduce(pc.or_, (pc.fill_null(pc.greater(values, 0), False) for values in peaks.values()))
    key = {name: tasks[name] for name in ("stage_id", "stage_attempt", "task_id", "executor_id")}
    return _table(key | peaks, TASK_PEAKS).filter(seen)


def _task_blocks(events: pa.Table, tasks: pa.Table) -> pa.Table:
    lists = _one(_at(events, "Task Metrics", "Updated Blocks"))
    if not pc.sum(pc.list_value_length(lists)).as_py():
        return BLOCK_UPDATES.empty_table()
    owner = tasks.take(pc.list_parent_indices(lists))
    flat = pc.list_flatten(lists)
    columns = {
        "source": pa.repeat("task", len(flat)),
        "executor_id": owner["executor_id"],
        "host": owner["host"],
        "task_id": owner["task_id"],
        **_block(pc.struct_field(flat, "Block ID"), pc.struct_field(flat, "Status")),
    }
    return _table(columns, BLOCK_UPDATES)


def _block(block_id: Any, status: Any) -> dict[str, Any]:
    rdd = pc.extract_regex(block_id, r"^rdd_(?P<rdd>\d{1,9})_(?P<partition>\d{1,9})$")
    level = pc.struct_field(status, "Storage Level")
    return {
        "block_id": block_id,
        "rdd_id": pc.cast(pc.struct_field(rdd, "rdd"), _I32),
        "partition": pc.cast(pc.struct_field(rdd, "partition"), _I32),
        "use_memory": pc.struct_field(level, "Use Memory"),
        "use_disk": pc.struct_field(level, "Use Disk"),
        "use_off_heap": pc.struct_field(level, "Use Off Heap"),
        "deserialized": pc.struct_field(level, "Deserialized"),
        "replication": pc.struct_field(level, "Replication"),
        "memory_bytes": pc.struct_field(status, "Memory Size"),
        "disk_bytes": pc.struct_field(status, "Disk Size"),
    }


def _at(events: pa.Table, column: str, *path: str) -> Any:
    """A field deep in a struct column; null where any struct on the way is."""
    return reduce(pc.struct_field, path, events[column])


def _of(events: pa.Table, column: str) -> Any:
    return lambda *path: _at(events, column, *path)


def _positive(moment: Any) -> Any:
    """Spark writes 0 for a time that has not come."""
    return pc.if_else(pc.greater(moment, 0), moment, None)


def _text(values: Any, longest: int) -> Any:
    return pc.dictionary_encode(pc.utf8_slice_codeunits(values, 0, longest))


def _one(values: Any) -> Any:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """The columns in the schema's order and types, null where there is none."""
    length = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            values = pa.nulls(length, field.type)
        arrays.append(values if values.type == field.type else values.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
