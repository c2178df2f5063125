"""The tables of an event log: columns, types, units.

A field's metadata has its unit: `ms` are epoch milliseconds in columns `*_ms` that name a moment
(`launch_ms`) and a length of time in those that name a metric (`run_ms`), as Spark has them.
"""

from __future__ import annotations

import pyarrow as pa

__all__ = [
    "ACCUMULATORS",
    "BLOCK_UPDATES",
    "ENVIRONMENT",
    "EXECUTORS",
    "EXECUTOR_PEAKS",
    "JOBS",
    "PEAK_METRICS",
    "RDDS",
    "SQL_EXECUTIONS",
    "SQL_METRICS",
    "SQL_NODES",
    "SQL_STAGES",
    "STAGES",
    "STREAMING",
    "STREAMING_QUERIES",
    "TASKS",
    "TASK_METRICS",
    "TASK_METRIC_ALIASES",
    "TASK_PEAKS",
    "UNPERSISTS",
    "unit_of",
]

_I32, _I64, _STR, _BOOL = pa.int32(), pa.int64(), pa.string(), pa.bool_()
TEXT = pa.dictionary(pa.int32(), pa.string())  # long and often repeated: kept once

_UNITS = {"ms": "ms", "ns": "ns", "bytes": "bytes"}


def unit_of(name: str) -> str:
    """The unit that a column's name ends with: `ms`, `ns`, `bytes`, or empty for counts and ids."""
    return _UNITS.get(name.rsplit("_", 1)[-1], "")


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    described = []
    for name, kind in fields:
        unit = unit_of(name)
        described.append(pa.field(name, kind, metadata={"unit": unit} if unit else None))
    return pa.schema(described)


_READ = "Shuffle Read Metrics"
_PUSH = {
    "corrupt_chunks": "Corrupt Merged Block Chunks",
    "fetch_fallbacks": "Merged Fetch Fallback Count",
    "remote_blocks": "Merged Remote Blocks Fetched",
    "local_blocks": "Merged Local Blocks Fetched",
    "remote_chunks": "Merged Remote Chunks Fetched",
    "local_chunks": "Merged Local Chunks Fetched",
    "remote_read_bytes": "Merged Remote Bytes Read",
    "local_read_bytes": "Merged Local Bytes Read",
    "remote_requests_ms": "Merged Remote Requests Duration",
}

# Column -> where it stands in "Task Metrics". What an older Spark does not have is 0, as in Spark
# itself.
TASK_METRICS: dict[str, tuple[str, ...]] = {
    "run_ms": ("Executor Run Time",),
    "cpu_ns": ("Executor CPU Time",),
    "gc_ms": ("JVM GC Time",),
    "deserialize_ms": ("Executor Deserialize Time",),
    "deserialize_cpu_ns": ("Executor Deserialize CPU Time",),
    "result_serialize_ms": ("Result Serialization Time",),
    "result_bytes": ("Result Size",),
    "memory_spill_bytes": ("Memory Bytes Spilled",),
    "disk_spill_bytes": ("Disk Bytes Spilled",),
    "peak_memory_bytes": ("Peak Execution Memory",),
    "peak_on_heap_memory_bytes": ("Peak On Heap Execution Memory",),
    "peak_off_heap_memory_bytes": ("Peak Off Heap Execution Memory",),
    "input_bytes": ("Input Metrics", "Bytes Read"),
    "input_records": ("Input Metrics", "Records Read"),
    "output_bytes": ("Output Metrics", "Bytes Written"),
    "output_records": ("Output Metrics", "Records Written"),
    "shuffle_remote_read_bytes": (_READ, "Remote Bytes Read"),
    "shuffle_local_read_bytes": (_READ, "Local Bytes Read"),
    "shuffle_remote_to_disk_bytes": (_READ, "Remote Bytes Read To Disk"),
    "shuffle_read_records": (_READ, "Total Records Read"),
    "shuffle_remote_blocks": (_READ, "Remote Blocks Fetched"),
    "shuffle_local_blocks": (_READ, "Local Blocks Fetched"),
    "fetch_wait_ms": (_READ, "Fetch Wait Time"),
    "shuffle_remote_requests_ms": (_READ, "Remote Requests Duration"),
    **{f"push_{name}": (_READ, "Push Based Shuffle", json) for name, json in _PUSH.items()},
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "shuffle_write_records": ("Shuffle Write Metrics", "Shuffle Records Written"),
    "shuffle_write_ns": ("Shuffle Write Metrics", "Shuffle Write Time"),
}

# Where else a metric may stand: Spark's JsonProtocol writes one name and reads another.
TASK_METRIC_ALIASES: dict[str, tuple[str, ...]] = {
    f"push_{name}": (
        *(_READ, "Shuffle Push Read Metrics"),
        "Merged Fallback Count" if name == "fetch_fallbacks" else json,
    )
    for name, json in _PUSH.items()
}

# Column -> its name in Spark's ExecutorMetrics: peaks that the executor saw while the task ran.
PEAK_METRICS: dict[str, str] = {
    "jvm_heap_bytes": "JVMHeapMemory",
    "jvm_off_heap_bytes": "JVMOffHeapMemory",
    "on_heap_execution_bytes": "OnHeapExecutionMemory",
    "off_heap_execution_bytes": "OffHeapExecutionMemory",
    "on_heap_storage_bytes": "OnHeapStorageMemory",
    "off_heap_storage_bytes": "OffHeapStorageMemory",
    "on_heap_unified_bytes": "OnHeapUnifiedMemory",
    "off_heap_unified_bytes": "OffHeapUnifiedMemory",
    "direct_pool_bytes": "DirectPoolMemory",
    "mapped_pool_bytes": "MappedPoolMemory",
    "jvm_virtual_bytes": "ProcessTreeJVMVMemory",
    "jvm_rss_bytes": "ProcessTreeJVMRSSMemory",
    "python_virtual_bytes": "ProcessTreePythonVMemory",
    "python_rss_bytes": "ProcessTreePythonRSSMemory",
    "other_virtual_bytes": "ProcessTreeOtherVMemory",
    "other_rss_bytes": "ProcessTreeOtherRSSMemory",
    "minor_gc_count": "MinorGCCount",
    "minor_gc_ms": "MinorGCTime",
    "major_gc_count": "MajorGCCount",
    "major_gc_ms": "MajorGCTime",
    "total_gc_ms": "TotalGCTime",
    "concurrent_gc_count": "ConcurrentGCCount",
    "concurrent_gc_ms": "ConcurrentGCTime",
}

_PEAKS = [(name, _I64) for name in PEAK_METRICS]
_STAGE_KEY = [("stage_id", _I32), ("stage_attempt", _I32)]

# One row a TaskEnd, and one a TaskStart that has no TaskEnd (`status` running, no `finish_ms`).
# `status`: success, failed, killed, resubmitted (the executor that held a finished task's output
# went; no attempt of its own), running. Metrics are null where the event carries none.
TASKS = _schema(
    *_STAGE_KEY,
    ("task_id", _I64),
    ("index", _I32),
    ("partition", _I32),
    ("attempt", _I32),
    ("task_type", _STR),
    ("executor_id", _STR),
    ("host", _STR),
    ("locality", _STR),
    ("speculative", _BOOL),
    ("launch_ms", _I64),
    ("finish_ms", _I64),
    ("status", _STR),
    (
        "reason",
        _STR,
    ),  # Spark's: Success, ExceptionFailure, FetchFailed, ExecutorLostFailure, TaskKilled, …
    ("error_class", _STR),
    ("error", TEXT),  # message, loss reason or kill reason
    ("stack", TEXT),
    ("caused_by_app", _BOOL),  # ExecutorLostFailure: whether the application is to blame
    ("fetch_executor_id", _STR),  # FetchFailed: from whom
    ("fetch_host", _STR),
    ("fetch_shuffle_id", _I32),
    ("duration_ms", _I64),
    ("scheduler_delay_ms", _I64),
    ("getting_result_ms", _I64),
    *((name, _I64) for name in TASK_METRICS),
    ("shuffle_read_bytes", _I64),
)

# Only tasks with a peak that is not 0: most end before the executor has looked.
TASK_PEAKS = _schema(*_STAGE_KEY, ("task_id", _I64), ("executor_id", _STR), *_PEAKS)

EXECUTOR_PEAKS = _schema(*_STAGE_KEY, ("executor_id", _STR), *_PEAKS)

# `source`: block_updated (spark.eventLog.logBlockUpdates.enabled) or task (Spark before 2.3).
BLOCK_UPDATES = _schema(
    ("source", _STR),
    ("block_id", _STR),
    ("rdd_id", _I32),
    ("partition", _I32),
    ("executor_id", _STR),
    ("host", _STR),
    ("task_id", _I64),
    ("use_memory", _BOOL),
    ("use_disk", _BOOL),
    ("use_off_heap", _BOOL),
    ("deserialized", _BOOL),
    ("replication", _I32),
    ("memory_bytes", _I64),
    ("disk_bytes", _I64),
)

# `status`: succeeded, failed, running.
JOBS = _schema(
    ("job_id", _I32),
    ("name", _STR),
    ("description", TEXT),
    ("job_group", TEXT),
    ("section", _STR),  # spark.probe.section
    ("tags", pa.list_(_STR)),
    ("pool", _STR),
    ("sql_execution_id", _I64),
    ("streaming_query_id", _STR),
    ("streaming_batch_id", _I64),
    ("stage_ids", pa.list_(_I32)),
    ("submitted_ms", _I64),
    ("completed_ms", _I64),
    ("status", _STR),
    ("error", TEXT),
)

# One row an attempt that was submitted. `status`: complete, failed, running.
STAGES = _schema(
    *_STAGE_KEY,
    ("name", TEXT),
    ("details", TEXT),  # the call site: the driver's stack, innermost first
    ("description", TEXT),
    ("job_group", TEXT),
    ("section", _STR),
    ("pool", _STR),
    ("sql_execution_id", _I64),
    ("job_ids", pa.list_(_I32)),
    ("parent_ids", pa.list_(_I32)),
    ("rdd_ids", pa.list_(_I32)),
    ("rdd_scopes", pa.list_(_STR)),
    ("tasks", _I32),
    ("submitted_ms", _I64),
    ("completed_ms", _I64),
    ("status", _STR),
    ("failure", TEXT),
    ("resource_profile_id", _I32),
)

# Values of a stage's accumulators when it ended, Spark's internal ones (they are task metrics) left
# out. An accumulator that more stages share has its running total. `value` null: not a whole
# number.
ACCUMULATORS = _schema(
    *_STAGE_KEY,
    ("accumulator_id", _I64),
    ("name", TEXT),
    ("kind", _STR),  # sql, or empty for the user's own
    ("value", _I64),
    ("text", _STR),
)

RDDS = _schema(
    ("rdd_id", _I32),
    ("name", TEXT),
    ("scope", TEXT),
    ("call_site", TEXT),
    ("parent_ids", pa.list_(_I32)),
    ("partitions", _I32),
    ("cached_partitions", _I32),
    ("use_memory", _BOOL),
    ("use_disk", _BOOL),
    ("use_off_heap", _BOOL),
    ("deserialized", _BOOL),
    ("replication", _I32),
    ("memory_bytes", _I64),
    ("disk_bytes", _I64),
)

# One row an addition: an id that comes twice (a restarted driver numbers anew) has two rows.
EXECUTORS = _schema(
    ("executor_id", _STR),
    ("host", _STR),
    ("cores", _I32),
    ("resource_profile_id", _I32),
    ("added_ms", _I64),  # null where only its block manager was seen: the driver, Spark before 1.3
    ("block_manager_ms", _I64),
    ("max_memory_bytes", _I64),
    ("removed_ms", _I64),
    ("removed_reason", TEXT),
)

# `status`: succeeded, failed, running. Before Spark 3.4 an end says nothing: failed is then what a
# job says.
SQL_EXECUTIONS = _schema(
    ("execution_id", _I64),
    ("root_execution_id", _I64),
    ("description", TEXT),
    ("details", TEXT),
    ("submitted_ms", _I64),
    ("completed_ms", _I64),
    ("status", _STR),
    ("error", TEXT),
    ("job_ids", pa.list_(_I32)),
    ("stage_ids", pa.list_(_I32)),
)

# The last plan that the log has, nodes numbered depth first from 0.
SQL_NODES = _schema(
    ("execution_id", _I64),
    ("node_id", _I32),
    ("parent_id", _I32),  # null at the root
    ("depth", _I32),
    ("name", TEXT),
    ("description", TEXT),
    ("codegen_id", _I32),  # of the WholeStageCodegen it is compiled into, null where it is not
    ("metadata", pa.map_(_STR, _STR)),
)

# Only metrics that got a value. `metric_type`: sum, size (bytes), timing (ms), nsTiming (ns),
# average.
SQL_METRICS = _schema(
    ("execution_id", _I64),
    ("node_id", _I32),
    ("name", TEXT),
    ("metric_type", TEXT),
    ("accumulator_id", _I64),
    ("value", _I64),
)

SQL_STAGES = _schema(("execution_id", _I64), ("node_id", _I32), *_STAGE_KEY)

STREAMING = _schema(
    ("query_id", _STR),
    ("run_id", _STR),
    ("name", _STR),
    ("batch_id", _I64),
    ("timestamp_ms", _I64),  # start of the trigger
    ("batch_ms", _I64),
    ("input_rows", _I64),
    ("input_rows_per_second", pa.float64()),
    ("processed_rows_per_second", pa.float64()),
    ("durations_ms", pa.map_(_STR, _I64)),  # phase -> ms: addBatch, queryPlanning, walCommit, …
    ("watermark_ms", _I64),
    ("state_rows", _I64),
    ("state_rows_updated", _I64),
    ("state_bytes", _I64),
    ("state_commit_ms", _I64),
    ("sources", pa.list_(_STR)),
    ("sink", _STR),
)

STREAMING_QUERIES = _schema(
    ("query_id", _STR),
    ("run_id", _STR),
    ("name", _STR),
    ("started_ms", _I64),
    ("terminated", _BOOL),
    ("error", _STR),
)

# `section`: Spark Properties, JVM Information, Hadoop Properties, System Properties, …
ENVIRONMENT = _schema(("section", _STR), ("key", _STR), ("value", _STR))

UNPERSISTS = _schema(("rdd_id", _I32), ("after_ms", _I64))  # not before: the event has no time
