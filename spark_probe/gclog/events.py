"""The table of GC events: one row a pause, a concurrent phase, a cycle or an allocation stall."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["EVENTS", "empty"]


def _field(name: str, kind: pa.DataType, meaning: str, unit: str = "") -> pa.Field:
    metadata = {"meaning": meaning, **({"unit": unit} if unit else {})}
    return pa.field(name, kind, metadata=metadata)


_BYTES = "bytes"

EVENTS = pa.schema(
    [
        _field("start_s", pa.float64(), "start, since the JVM started; null where not stated", "s"),
        _field("start_ms", pa.int64(), "start, since 1970 UTC; null where not stated", "ms"),
        _field("duration_ns", pa.int64(), "null where not stated", "ns"),
        _field("pause", pa.bool_(), "whether the application's threads stood still"),
        _field("full", pa.bool_(), "a stop-the-world collection of the whole heap"),
        _field("type", pa.string(), "as the log names it, without cause and sizes"),
        _field("cause", pa.string(), "why it ran; null where the log gives none"),
        _field("failure", pa.string(), "evacuation failure, promotion failed, degenerated, ..."),
        _field("gc_id", pa.int64(), "the log's own number of the collection"),
        _field("heap_before_bytes", pa.int64(), "used", _BYTES),
        _field("heap_after_bytes", pa.int64(), "used", _BYTES),
        _field("heap_committed_bytes", pa.int64(), "size of the heap after the event", _BYTES),
        _field("young_before_bytes", pa.int64(), "used", _BYTES),
        _field("young_after_bytes", pa.int64(), "used", _BYTES),
        _field("old_before_bytes", pa.int64(), "used", _BYTES),
        _field("old_after_bytes", pa.int64(), "used", _BYTES),
        _field(
            "run", pa.int32(), "0, 1, ...: which JVM, where a log holds several one after another"
        ),
        _field("file", pa.string(), "the path as given"),
        _field("line", pa.int64(), "1-based line that states the event"),
    ]
)


def empty() -> pa.Table:
    """No events, with all columns."""
    return EVENTS.empty_table()
