"""The tables of FORMAT.md's Parquet files: columns, types, units."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["CLASSES", "EVENT_UNITS", "FORMAT", "FRAME_TYPES", "KINDS", "TABLES", "class_of"]

FORMAT = 1  # the newest format of a run folder that this version reads; it reads all from 1 on

EVENT_UNITS = {"cpu": "ns", "wall": "ns", "alloc": "bytes", "lock": "ns", "method": "ns"}

KINDS = (
    "task",
    "task-deserialization",
    "python-writer",
    "gc",
    "jit",
    "shuffle-server",
    "netty",
    "spark-internal",
    "driver",
    "probe",
    "other",
)

# Frame type -> its coarse class: a method is one frame of a graph however it was compiled.
FRAME_TYPES = {
    "interpreted": "java",
    "jit": "java",
    "inlined": "java",
    "c1": "java",
    "native": "native",
    "cpp": "cpp",
    "kernel": "kernel",
    "class": "class",
    "python": "python",
}
CLASSES = ("java", "native", "cpp", "kernel", "class", "python", "other")


def class_of(frame_type: str) -> str:
    """The coarse class of a frame type; `other` for one of a later version."""
    return FRAME_TYPES.get(frame_type, "other")


_UNITS = ("ms", "ns", "bytes")


def _schema(columns: str) -> pa.Schema:
    """A schema of lines "type name name …"; the unit is the word that a name ends with."""
    types = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "string": pa.string(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "list": pa.list_(pa.int32()),
    }
    fields = []
    for line in columns.strip().splitlines():
        kind, *names = line.split()
        for name in names:
            unit = name.rsplit("_", 1)[-1]
            metadata = {"unit": unit} if unit in _UNITS else None
            fields.append(pa.field(name, types[kind], metadata=metadata))
    return pa.schema(fields)


TABLES: dict[str, pa.Schema] = {
    "sample": _schema("""
        int32 recording_id stage_id stage_attempt
        int64 task_id sql_execution_id
        string kind event state
        int64 bucket_ms stack_hash samples value
    """),
    "stack": _schema("""
        int64 stack_hash
        list frames
    """),
    "frame": _schema("""
        int32 id
        string name type
        int32 line
    """),
    "task": _schema("""
        int32 stage_id stage_attempt partition task_attempt
        int64 task_id
        string thread
        int64 java_thread_id start_ms start_mono_ns end_ms end_mono_ns
        string outcome reason
        int64 thread_cpu_ns run_ms cpu_ns gc_ms deserialize_ms result_serialize_ms
        int64 memory_spill_bytes disk_spill_bytes peak_memory_bytes result_bytes
        int64 input_bytes input_records output_bytes output_records
        int64 shuffle_read_bytes shuffle_read_records shuffle_write_bytes shuffle_write_records
        int64 fetch_wait_ms
    """),
    "recording": _schema("""
        int32 recording_id
        string purpose engine
        int64 cpu_interval_ns wall_interval_ns alloc_interval_bytes lock_interval_ns
        int64 chunk_start_ms chunk_start_mono_ns chunk_end_ms chunk_end_mono_ns
        int64 jfr_bytes events samples
    """),
    "trigger": _schema("""
        int64 time_ms time_mono_ns
        string rule
        int32 stage_id stage_attempt
        int64 task_id
        double threshold value
        string unit action
        int32 recording_id
        string note
    """),
    "dump": _schema("""
        int64 time_ms time_mono_ns task_id
        int32 stage_id stage_attempt
        int64 trigger_time_mono_ns
        string thread thread_state text
    """),
    "gc": _schema("""
        int64 start_ms start_mono_ns duration_ns
        bool pause
        string collector action cause
        int64 heap_before_bytes heap_after_bytes heap_max_bytes
    """),
}
