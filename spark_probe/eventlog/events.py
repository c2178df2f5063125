"""The events that come one by one, as typed structs: fields that are not named here are passed
over.

Names in quotes are Spark's (JsonProtocol for core events, Jackson's bean names for SQL and
streaming). Fields that some Spark since 1.3 does not write have a default.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from msgspec import field

__all__ = [
    "EVENTS",
    "Accumulable",
    "ApplicationEnd",
    "ApplicationStart",
    "BlockManagerAdded",
    "DriverAccumUpdates",
    "EnvironmentUpdate",
    "Event",
    "ExecutorAdded",
    "ExecutorRemoved",
    "JobEnd",
    "JobStart",
    "LogStart",
    "PlanNode",
    "QueryProgress",
    "QueryStarted",
    "QueryTerminated",
    "RddInfo",
    "SqlAdaptiveUpdate",
    "SqlEnd",
    "SqlStart",
    "StageCompleted",
    "StageInfo",
    "StageSubmitted",
    "StorageLevel",
    "UnpersistRdd",
    "decode",
    "decode_plan",
    "event_name",
]

Properties = dict[str, Any]


class Event(msgspec.Struct, gc=False):
    """Any event; by itself it stands for those that are not read."""


class LogStart(Event):
    spark_version: str | None = field(default=None, name="Spark Version")


class ApplicationStart(Event):
    app_name: str | None = field(default=None, name="App Name")
    app_id: str | None = field(default=None, name="App ID")
    timestamp: int | None = field(default=None, name="Timestamp")
    user: str | None = field(default=None, name="User")
    attempt: str | None = field(default=None, name="App Attempt ID")


class ApplicationEnd(Event):
    timestamp: int | None = field(default=None, name="Timestamp")


class StageName(msgspec.Struct, gc=False):
    stage_id: int = field(name="Stage ID")
    name: str = field(default="", name="Stage Name")


class JobStart(Event):
    job_id: int = field(name="Job ID")
    submitted: int | None = field(default=None, name="Submission Time")
    stages: list[StageName] = field(default_factory=list, name="Stage Infos")
    stage_ids: list[int] = field(default_factory=list, name="Stage IDs")
    properties: Properties | None = field(default=None, name="Properties")


class JobException(msgspec.Struct, gc=False):
    message: str | None = field(default=None, name="Message")


class JobResult(msgspec.Struct, gc=False):
    result: str = field(default="", name="Result")
    exception: JobException | None = field(default=None, name="Exception")


class JobEnd(Event):
    job_id: int = field(name="Job ID")
    completed: int | None = field(default=None, name="Completion Time")
    result: JobResult = field(default_factory=JobResult, name="Job Result")


class StorageLevel(msgspec.Struct, gc=False):
    use_disk: bool = field(default=False, name="Use Disk")
    use_memory: bool = field(default=False, name="Use Memory")
    use_off_heap: bool = field(default=False, name="Use Off Heap")
    deserialized: bool = field(default=False, name="Deserialized")
    replication: int = field(default=1, name="Replication")


class RddInfo(msgspec.Struct, gc=False):
    rdd_id: int = field(name="RDD ID")
    name: str | None = field(default=None, name="Name")
    scope: str | None = field(default=None, name="Scope")
    call_site: str | None = field(default=None, name="Callsite")
    parents: list[int] = field(default_factory=list, name="Parent IDs")
    level: StorageLevel = field(default_factory=StorageLevel, name="Storage Level")
    partitions: int | None = field(default=None, name="Number of Partitions")
    cached: int | None = field(default=None, name="Number of Cached Partitions")
    memory: int | None = field(default=None, name="Memory Size")
    disk: int | None = field(default=None, name="Disk Size")


class Accumulable(msgspec.Struct, gc=False):
    accumulator_id: int = field(name="ID")
    name: str | None = field(default=None, name="Name")
    value: Any = field(default=None, name="Value")
    metadata: str | None = field(default=None, name="Metadata")


class StageInfo(msgspec.Struct, gc=False):
    stage_id: int = field(name="Stage ID")
    attempt: int = field(default=0, name="Stage Attempt ID")
    name: str = field(default="", name="Stage Name")
    tasks: int | None = field(default=None, name="Number of Tasks")
    rdds: list[RddInfo] = field(default_factory=list, name="RDD Info")
    parents: list[int] = field(default_factory=list, name="Parent IDs")
    details: str | None = field(default=None, name="Details")
    submitted: int | None = field(default=None, name="Submission Time")
    completed: int | None = field(default=None, name="Completion Time")
    failure: str | None = field(default=None, name="Failure Reason")
    accumulables: list[Accumulable] = field(default_factory=list, name="Accumulables")
    resource_profile: int | None = field(default=None, name="Resource Profile Id")


class StageSubmitted(Event):
    info: StageInfo = field(name="Stage Info")
    properties: Properties | None = field(default=None, name="Properties")


class StageCompleted(Event):
    info: StageInfo = field(name="Stage Info")


class BlockManagerId(msgspec.Struct, gc=False):
    executor_id: str = field(name="Executor ID")
    host: str | None = field(default=None, name="Host")


class BlockManagerAdded(Event):
    manager: BlockManagerId = field(name="Block Manager ID")
    max_memory: int | None = field(default=None, name="Maximum Memory")
    timestamp: int | None = field(default=None, name="Timestamp")


class ExecutorInfo(msgspec.Struct, gc=False):
    host: str | None = field(default=None, name="Host")
    cores: int | None = field(default=None, name="Total Cores")
    resource_profile: int | None = field(default=None, name="Resource Profile Id")


class ExecutorAdded(Event):
    executor_id: str = field(name="Executor ID")
    timestamp: int | None = field(default=None, name="Timestamp")
    info: ExecutorInfo = field(default_factory=ExecutorInfo, name="Executor Info")


class ExecutorRemoved(Event):
    executor_id: str = field(name="Executor ID")
    timestamp: int | None = field(default=None, name="Timestamp")
    reason: str | None = field(default=None, name="Removed Reason")


class EnvironmentUpdate(Event):
    jvm: Properties | None = field(default=None, name="JVM Information")
    spark: Properties | None = field(default=None, name="Spark Properties")
    hadoop: Properties | None = field(default=None, name="Hadoop Properties")
    system: Properties | None = field(default=None, name="System Properties")
    metrics: Properties | None = field(default=None, name="Metrics Properties")
    classpath: Properties | None = field(default=None, name="Classpath Entries")


class UnpersistRdd(Event):
    rdd_id: int = field(name="RDD ID")


class PlanMetric(msgspec.Struct, gc=False, rename="camel"):
    name: str
    accumulator_id: int
    metric_type: str = ""


class PlanNode(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    simple_string: str = ""
    children: list[PlanNode] = []
    metadata: dict[str, Any] = {}
    metrics: list[PlanMetric] = []


class SqlStart(Event, rename="camel"):
    execution_id: int
    root_execution_id: int | None = None
    description: str | None = None
    details: str | None = None
    time: int | None = None
    spark_plan_info: msgspec.Raw = msgspec.Raw(b"null")


class SqlAdaptiveUpdate(Event, rename="camel"):
    execution_id: int
    spark_plan_info: msgspec.Raw = msgspec.Raw(b"null")


class SqlEnd(Event, rename="camel"):
    execution_id: int
    time: int | None = None
    error_message: str | None = None


class DriverAccumUpdates(Event, rename="camel"):
    execution_id: int
    accum_updates: list[tuple[int, int]] = []


class StateOperator(msgspec.Struct, gc=False, rename="camel"):
    num_rows_total: int = 0
    num_rows_updated: int = 0
    memory_used_bytes: int = 0
    commit_time_ms: int = 0


class StreamSource(msgspec.Struct, gc=False, rename="camel"):
    description: str = ""
    num_input_rows: int = 0
    input_rows_per_second: float | str | None = None
    processed_rows_per_second: float | str | None = None


class StreamSink(msgspec.Struct, gc=False):
    description: str = ""


class Progress(msgspec.Struct, gc=False, rename="camel"):
    id: str
    run_id: str | None = None
    name: str | None = None
    timestamp: str | None = None
    batch_id: int | None = None
    batch_duration: int | None = None
    duration_ms: dict[str, int] = {}
    event_time: dict[str, Any] = {}
    state_operators: list[StateOperator] = []
    sources: list[StreamSource] = []
    sink: StreamSink = msgspec.field(default_factory=StreamSink)


class QueryProgress(Event):
    progress: Progress


class QueryStarted(Event, rename="camel"):
    id: str
    run_id: str | None = None
    name: str | None = None
    timestamp: str | None = None


class QueryTerminated(Event, rename="camel"):
    id: str
    run_id: str | None = None
    exception: str | None = None


# Last part of the event's name -> what is read of it.
EVENTS: dict[str, type[Event]] = {
    "SparkListenerLogStart": LogStart,
    "SparkListenerApplicationStart": ApplicationStart,
    "SparkListenerApplicationEnd": ApplicationEnd,
    "SparkListenerJobStart": JobStart,
    "SparkListenerJobEnd": JobEnd,
    "SparkListenerStageSubmitted": StageSubmitted,
    "SparkListenerStageCompleted": StageCompleted,
    "SparkListenerBlockManagerAdded": BlockManagerAdded,
    "SparkListenerExecutorAdded": ExecutorAdded,
    "SparkListenerExecutorRemoved": ExecutorRemoved,
    "SparkListenerEnvironmentUpdate": EnvironmentUpdate,
    "SparkListenerUnpersistRDD": UnpersistRdd,
    "SparkListenerSQLExecutionStart": SqlStart,
    "SparkListenerSQLAdaptiveExecutionUpdate": SqlAdaptiveUpdate,
    "SparkListenerSQLExecutionEnd": SqlEnd,
    "SparkListenerDriverAccumUpdates": DriverAccumUpdates,
    "StreamingQueryListener$QueryProgressEvent": QueryProgress,
    "StreamingQueryListener$QueryStartedEvent": QueryStarted,
    "StreamingQueryListener$QueryTerminatedEvent": QueryTerminated,
}


class _Named(msgspec.Struct, gc=False):
    event: str = field(name="Event")


_NAME = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"\\]+)"')
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind, strict=False)
    for kind in (*EVENTS.values(), Event, _Named, dict)
}


def event_name(line: bytes) -> str | None:
    """The event's name without its package; None where the line is no event."""
    found = _NAME.match(line)
    name = found[1].decode("utf-8", "replace") if found else None
    if name is None:
        named = decode(line, _Named)
        name = named.event if named else ""
    return name.rsplit(".", 1)[-1] or None


def decode(line: bytes, kind: Any) -> Any:
    """The event on a line as `kind`, or None where the line is none (bad JSON, no object).

    A field of another type than it should have is as if it were not there; where the event makes no
    sense without it, the event is not one.
    """
    try:
        return _DECODERS[kind].decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:  # what a stricter reader refuses: NaN, bytes that are no UTF-8, lone surrogates
        event = json.loads(line.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)
        cleaned = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
        return _DECODERS[kind].decode(cleaned)
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        if not isinstance(error, msgspec.ValidationError) or kind is dict:
            return None
    return _what_fits(json.loads(cleaned), kind)


def _what_fits(value: Any, kind: type[msgspec.Struct]) -> Any:
    """A struct of those fields that have their type; None where one is missing that must be there."""
    if not isinstance(value, dict):
        return None
    found = {}
    for field_ in msgspec.structs.fields(kind):
        given = value.get(field_.encode_name)
        if given is None:
            fitting = None
        elif field_.type is msgspec.Raw:
            fitting = msgspec.Raw(json.dumps(given).encode())
        elif isinstance(field_.type, type) and issubclass(field_.type, msgspec.Struct):
            fitting = _what_fits(given, field_.type)
        else:
            try:
                fitting = msgspec.convert(given, field_.type, strict=False)
            except msgspec.ValidationError:
                fitting = None
        if fitting is not None:
            found[field_.name] = fitting
        elif field_.required:
            return None
    return kind(**found)


def decode_plan(raw: msgspec.Raw) -> PlanNode | None:
    """The plan that a SQL event holds, None where it has none or one that cannot be read."""
    try:
        plan: PlanNode | None = _PLAN.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return plan


_PLAN = msgspec.json.Decoder(PlanNode | None, strict=False)
