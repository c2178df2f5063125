"""Events in the order of the log -> rows of the tables that are not columnar from the start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from spark_probe.eventlog import events as ev
from spark_probe.eventlog import schemas
from spark_probe.eventlog.rows import Rows
from spark_probe.eventlog.sqlstate import SqlState

__all__ = ["App", "Assembler"]

_MAX_NAME = 1_000  # of an RDD: a cached plan's RDD has the whole plan for its name


@dataclass
class App:
    """The application as the log has it; times in epoch milliseconds."""

    id: str | None = None
    attempt: str | None = None
    name: str | None = None
    user: str | None = None
    spark_version: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None


@dataclass
class _Job:
    start: ev.JobStart
    props: ev.Properties


class Assembler:
    """Takes events one by one (`add`) and gives what came of them (`app`, `rows`, `sql`).

    An event that comes twice or not at all never raises: the log is what it is.
    """

    def __init__(self) -> None:
        self.app = App()
        self.sql = SqlState()
        self.rows = {
            "jobs": Rows(schemas.JOBS),
            "stages": Rows(schemas.STAGES),
            "accumulators": Rows(schemas.ACCUMULATORS),
            "rdds": Rows(schemas.RDDS),
            "executors": Rows(schemas.EXECUTORS),
            "streaming": Rows(schemas.STREAMING),
            "streaming_queries": Rows(schemas.STREAMING_QUERIES),
            "unpersists": Rows(schemas.UNPERSISTS),
        }
        self.environment: dict[tuple[str, str], str] = {}
        self._jobs: dict[int, _Job] = {}
        self._jobs_of_stage: dict[int, list[int]] = {}
        self._stages: dict[tuple[int, int], tuple[ev.StageInfo, ev.Properties, list[int]]] = {}
        self._rdds: set[int] = set()
        self._executors: list[dict[str, Any]] = []
        self._here: dict[str, dict[str, Any]] = {}
        self._queries: dict[str, list[Any]] = {}
        self._now: int | None = None
        self._handlers: dict[type[ev.Event], Any] = {
            ev.LogStart: self._log_start,
            ev.ApplicationStart: self._application_start,
            ev.ApplicationEnd: self._application_end,
            ev.EnvironmentUpdate: self._environment,
            ev.JobStart: self._job_start,
            ev.JobEnd: self._job_end,
            ev.StageSubmitted: self._stage_submitted,
            ev.StageCompleted: self._stage_completed,
            ev.BlockManagerAdded: self._block_manager,
            ev.ExecutorAdded: self._executor_added,
            ev.ExecutorRemoved: self._executor_removed,
            ev.UnpersistRdd: self._unpersist,
            ev.QueryStarted: self._query_started,
            ev.QueryProgress: self._query_progress,
            ev.QueryTerminated: self._query_terminated,
            ev.SqlStart: self.sql.start,
            ev.SqlAdaptiveUpdate: self.sql.adaptive,
            ev.SqlEnd: self.sql.end,
            ev.DriverAccumUpdates: self.sql.driver_updates,
        }

    def add(self, event: ev.Event) -> None:
        """Take the next event."""
        self._handlers[type(event)](event)

    def finish(self) -> None:
        """What is still open becomes rows, too: running jobs, stages, executions, executors."""
        for job in list(self._jobs.values()):
            self._job_row(job, None)
        for info, props, jobs in self._stages.values():
            self._stage_row(info, props, jobs, "running")
        for row in self._executors:
            self.rows["executors"].add(*(row.get(f.name) for f in schemas.EXECUTORS))
        for query in self._queries.values():
            self.rows["streaming_queries"].add(*query)
        self.sql.finish()

    def _log_start(self, event: ev.LogStart) -> None:
        self.app.spark_version = event.spark_version

    def _application_start(self, event: ev.ApplicationStart) -> None:
        app = self.app
        app.id, app.attempt, app.name = event.app_id, event.attempt, event.app_name
        app.user, app.start_ms = event.user, event.timestamp
        self._now = event.timestamp

    def _application_end(self, event: ev.ApplicationEnd) -> None:
        self.app.end_ms = event.timestamp

    def _environment(self, event: ev.EnvironmentUpdate) -> None:
        sections = {
            "JVM Information": event.jvm,
            "Spark Properties": event.spark,
            "Hadoop Properties": event.hadoop,
            "System Properties": event.system,
            "Metrics Properties": event.metrics,
            "Classpath Entries": event.classpath,
        }
        for section, properties in sections.items():
            for key, value in (properties or {}).items():
                self.environment[section, key] = value if isinstance(value, str) else str(value)

    def _job_start(self, event: ev.JobStart) -> None:
        self._now = event.submitted or self._now
        if not event.stage_ids:
            event.stage_ids = [stage.stage_id for stage in event.stages]
        if previous := self._jobs.pop(event.job_id, None):
            self._job_row(previous, None)
        self._jobs[event.job_id] = _Job(event, event.properties or {})
        for stage_id in event.stage_ids:
            self._jobs_of_stage.setdefault(stage_id, []).append(event.job_id)

    def _job_end(self, event: ev.JobEnd) -> None:
        self._now = event.completed or self._now
        job = self._jobs.pop(event.job_id, None)
        if job is None:  # its start was lost
            job = _Job(ev.JobStart(event.job_id), {})
        for stage_id in job.start.stage_ids:
            jobs = self._jobs_of_stage.get(stage_id, [])
            if event.job_id in jobs:
                jobs.remove(event.job_id)
            if not jobs:
                self._jobs_of_stage.pop(stage_id, None)
        self._job_row(job, event)

    def _job_row(self, job: _Job, end: ev.JobEnd | None) -> None:
        start, props = job.start, job.props
        # The name that the UI shows: that of the job's last stage.
        last = max(start.stages, key=lambda s: s.stage_id, default=None)
        status, error = "running", None
        if end is not None:
            status = "succeeded" if end.result.result == "JobSucceeded" else "failed"
            error = end.result.exception.message if end.result.exception else None
        self.rows["jobs"].add(
            start.job_id,
            last.name if last else None,
            _prop(props, "spark.job.description"),
            _prop(props, "spark.jobGroup.id"),
            _prop(props, "spark.probe.section"),
            [tag for tag in (_prop(props, "spark.job.tags") or "").split(",") if tag],
            _prop(props, "spark.scheduler.pool"),
            _int_prop(props, "spark.sql.execution.id"),
            _prop(props, "sql.streaming.queryId"),
            _int_prop(props, "streaming.sql.batchId"),
            start.stage_ids,
            start.submitted,
            end.completed if end else None,
            status,
            error,
        )

    def _stage_submitted(self, event: ev.StageSubmitted) -> None:
        info = event.info
        self._now = info.submitted or self._now
        props = event.properties or {}
        jobs = list(self._jobs_of_stage.get(info.stage_id, ()))
        if not props and jobs:
            props = self._jobs[jobs[0]].props if jobs[0] in self._jobs else {}
        key = info.stage_id, info.attempt
        if previous := self._stages.pop(key, None):
            self._stage_row(*previous, "running")
        for rdd in info.rdds:
            self._rdd(rdd)
        self._stages[key] = info, props, jobs

    def _stage_completed(self, event: ev.StageCompleted) -> None:
        info = event.info
        self._now = info.completed or self._now
        submitted = self._stages.pop((info.stage_id, info.attempt), None)
        if submitted is None:  # its start was lost, or it was skipped
            for rdd in info.rdds:
                self._rdd(rdd)
            submitted = info, {}, list(self._jobs_of_stage.get(info.stage_id, ()))
        _, props, jobs = submitted
        self._stage_row(info, props, jobs, "failed" if info.failure is not None else "complete")
        for acc in info.accumulables:
            if not (acc.name or "").startswith("internal.metrics."):
                self.rows["accumulators"].add(info.stage_id, info.attempt, *_accumulated(acc))

    def _stage_row(
        self, info: ev.StageInfo, props: ev.Properties, jobs: list[int], status: str
    ) -> None:
        scopes = dict.fromkeys(name for rdd in info.rdds if (name := _scope(rdd.scope)))
        self.rows["stages"].add(
            info.stage_id,
            info.attempt,
            info.name,
            info.details,
            _prop(props, "spark.job.description"),
            _prop(props, "spark.jobGroup.id"),
            _prop(props, "spark.probe.section"),
            _prop(props, "spark.scheduler.pool"),
            _int_prop(props, "spark.sql.execution.id"),
            jobs,
            info.parents,
            [rdd.rdd_id for rdd in info.rdds],
            list(scopes),
            info.tasks,
            info.submitted,
            info.completed,
            status,
            info.failure,
            info.resource_profile,
        )

    def _rdd(self, rdd: ev.RddInfo) -> None:
        if rdd.rdd_id in self._rdds:
            return
        self._rdds.add(rdd.rdd_id)
        level = rdd.level
        self.rows["rdds"].add(
            rdd.rdd_id,
            (rdd.name or "")[:_MAX_NAME],
            _scope(rdd.scope),
            rdd.call_site,
            rdd.parents,
            rdd.partitions,
            rdd.cached,
            level.use_memory,
            level.use_disk,
            level.use_off_heap,
            level.deserialized,
            level.replication,
            rdd.memory,
            rdd.disk,
        )

    def _executor(self, executor_id: str) -> dict[str, Any]:
        """The row of an executor that is there now."""
        row = self._here.get(executor_id)
        if row is None:
            row = {"executor_id": executor_id}
            self._here[executor_id] = row
            self._executors.append(row)
        return row

    def _executor_added(self, event: ev.ExecutorAdded) -> None:
        if self._here.get(event.executor_id, {}).get("added_ms") is not None:
            del self._here[event.executor_id]  # the id is used again; nobody saw the first one go
        row = self._executor(event.executor_id)
        info = event.info
        row["added_ms"] = event.timestamp or 0
        row["host"] = info.host or row.get("host")
        row["cores"], row["resource_profile_id"] = info.cores, info.resource_profile

    def _block_manager(self, event: ev.BlockManagerAdded) -> None:
        row = self._executor(event.manager.executor_id)
        row["host"] = row.get("host") or event.manager.host
        row["block_manager_ms"], row["max_memory_bytes"] = event.timestamp, event.max_memory

    def _executor_removed(self, event: ev.ExecutorRemoved) -> None:
        row = self._executor(event.executor_id)
        row["removed_ms"], row["removed_reason"] = event.timestamp or 0, event.reason
        del self._here[event.executor_id]

    def _unpersist(self, event: ev.UnpersistRdd) -> None:
        self.rows["unpersists"].add(event.rdd_id, self._now)

    def _query_started(self, event: ev.QueryStarted) -> None:
        started = _epoch_ms(event.timestamp)
        self._queries[event.run_id or event.id] = [
            *(event.id, event.run_id, event.name, started, False, None)
        ]

    def _query_terminated(self, event: ev.QueryTerminated) -> None:
        row = self._queries.setdefault(
            event.run_id or event.id, [event.id, event.run_id, None, None, True, None]
        )
        row[4:] = True, event.exception

    def _query_progress(self, event: ev.QueryProgress) -> None:
        p = event.progress
        state, sources = p.state_operators, p.sources
        self.rows["streaming"].add(
            p.id,
            p.run_id,
            p.name,
            p.batch_id,
            _epoch_ms(p.timestamp),
            p.duration_ms.get("triggerExecution", p.batch_duration),
            sum(s.num_input_rows for s in sources),
            _sum(s.input_rows_per_second for s in sources),
            _sum(s.processed_rows_per_second for s in sources),
            list(p.duration_ms.items()),
            _epoch_ms(p.event_time.get("watermark")),
            sum(s.num_rows_total for s in state),
            sum(s.num_rows_updated for s in state),
            sum(s.memory_used_bytes for s in state),
            sum(s.commit_time_ms for s in state),
            [s.description for s in sources],
            p.sink.description,
        )


def _prop(props: ev.Properties, key: str) -> str | None:
    value = props.get(key)
    return None if value is None else str(value)


def _int_prop(props: ev.Properties, key: str) -> int | None:
    text = _prop(props, key)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _scope(text: str | None) -> str | None:
    """The name in an RDD's scope: the operator that made it."""
    if not text:
        return None
    try:
        name = json.loads(text).get("name")
    except (ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _accumulated(acc: ev.Accumulable) -> tuple[Any, ...]:
    """(id, name, kind, whole number or None, text): Spark writes most values as text."""
    number = None
    if isinstance(acc.value, (int, str)):
        try:
            number = int(acc.value)
        except ValueError:
            number = None
    if number is not None and not -(1 << 63) <= number < 1 << 63:
        number = None
    text = None if acc.value is None else str(acc.value)
    return acc.accumulator_id, acc.name, acc.metadata or "", number, text


def _epoch_ms(text: Any) -> int | None:
    """Spark's ISO time (`2026-12-01T02:01:02.776Z`, UTC) -> epoch milliseconds."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


def _sum(rates: Any) -> float | None:
    """Sum of rates; Spark writes NaN (as text) for a source that has none yet."""
    known = [float(r) for r in rates if isinstance(r, (int, float)) and r == r]
    return sum(known) if known else None
