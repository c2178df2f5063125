"""`EventLog`: a log's tables and what is known of their wholeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from spark_probe.eventlog import summary
from spark_probe.eventlog.assemble import App
from spark_probe.eventlog.locate import locate
from spark_probe.eventlog.problems import Problem
from spark_probe.eventlog.reader import Progress, parse_source

__all__ = ["EventLog", "read"]


@dataclass(frozen=True)
class EventLog:
    """A Spark event log as tables; `spark_probe.eventlog.schemas` has each table's columns and
    units.

    `jobs`, `stages` (one row a stage attempt), `tasks` (one row a task that ended, and those that
    only started), `task_peaks`, `executors`, `executor_peaks`, `sql_executions`, `sql_nodes`,
    `sql_metrics`, `sql_stages` (which stage attempts ran which plan node), `streaming_queries`,
    `streaming` (one row a progress report), `accumulators`, `rdds`, `block_updates`, `unpersists`,
    `environment`.

    complete: no event is known to be lost, and the application's end is there.
    bad_lines: lines that are no events; noise (blank lines, other JSON) does not make the log
        incomplete, events that are cut or damaged do.
    events: how many of each name, known or not.
    problems: what could not be read, in sentences; the first hundred of `problem_count`.
    skipped_bytes: stored bytes that could not be decoded.
    """

    path: str
    app: App
    tables: dict[str, pa.Table]
    lines: int
    bad_lines: int
    events: dict[str, int]
    complete: bool
    skipped_bytes: int
    problems: tuple[Problem, ...]
    problem_count: int

    @property
    def jobs(self) -> pa.Table:
        """One row a job."""
        return self.tables["jobs"]

    @property
    def stages(self) -> pa.Table:
        """One row a stage attempt that was submitted."""
        return self.tables["stages"]

    @property
    def tasks(self) -> pa.Table:
        """One row a task attempt: all that ended, and those that started and did not end."""
        return self.tables["tasks"]

    @property
    def executors(self) -> pa.Table:
        """One row a time an executor came; the driver's block manager is one, too."""
        return self.tables["executors"]

    @property
    def sql_executions(self) -> pa.Table:
        """One row a SQL execution."""
        return self.tables["sql_executions"]

    @property
    def streaming(self) -> pa.Table:
        """One row a progress report of a streaming query."""
        return self.tables["streaming"]

    @property
    def environment(self) -> pa.Table:
        """(section, key, value); Spark redacts secrets before it writes them."""
        return self.tables["environment"]

    def conf(self) -> dict[str, str]:
        """The Spark properties."""
        rows = self.environment.to_pylist()
        return {r["key"]: r["value"] for r in rows if r["section"] == "Spark Properties"}

    def stage_metrics(self, quantiles: Sequence[float] = summary.QUANTILES) -> pa.Table:
        """Quantiles of every task metric of every stage attempt: see `summary.stage_metrics`."""
        return summary.stage_metrics(self.tasks, quantiles)

    def stage_summary(self) -> pa.Table:
        """One row a stage attempt, totals and counts: see `summary.stage_summary`."""
        return summary.stage_summary(self.stages, self.tasks)

    def totals(self) -> dict[str, Any]:
        """Counts and sums over the log, and how much of it could be read.

        Sums are over every ended attempt that carries metrics, failed and killed ones, too;
        resubmitted ones (no attempts of their own) are left out. `start` and `end` are epoch
        milliseconds, None where the log does not tell; `app` has the attempt's number behind it
        where there is one.
        """
        counted = summary.totals(self.tables, self.events)
        app = self.app.id or self.path.rstrip("/").rsplit("/", 1)[-1]
        return {
            "file": self.path,
            "spark": self.app.spark_version,
            "app": f"{app}_{self.app.attempt}" if self.app.attempt else app,
            "start": self.app.start_ms,
            "end": self.app.end_ms,
            "lines": self.lines,
            "bad_lines": self.bad_lines,
            **counted,
            "skipped_lines": self.bad_lines,
            "skipped_bytes": self.skipped_bytes,
            "complete": self.complete,
        }


def read(path: str, progress: Progress | None = None) -> EventLog:
    """Read a Spark event log: the run folder's own or anyone's, Spark 1.3 to 4.x.

    path: a file, a rolling `eventlog_v2_…` directory, a directory of Databricks segments, a zip
    from the
        History Server, a directory that holds one of these (a run folder, its events/), or any
        fsspec or Hadoop URL of such. The codec is seen from the bytes.
    progress: called with (stored bytes read, stored bytes in all or -1) as it goes.

    Damage costs what is damaged: see `EventLog.complete` and `.problems`. Raises EventLogError when
    there is no log at `path`, more than one, or nothing in it is an event.
    """
    source = locate(path)
    parsed = parse_source(source, progress)
    problems = parsed.problems
    return EventLog(
        path=path,
        app=parsed.app,
        tables=parsed.tables,
        lines=parsed.lines,
        bad_lines=parsed.bad_lines,
        events=parsed.events,
        complete=parsed.app.end_ms is not None and not problems.damaged,
        skipped_bytes=problems.skipped_bytes,
        problems=tuple(problems.kept),
        problem_count=problems.count,
    )
