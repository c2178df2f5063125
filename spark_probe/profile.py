"""A run, loaded: its tables, its stages, its flame graphs, its report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from spark_probe.coverage import Coverage, coverage_of
from spark_probe.errors import RunError
from spark_probe.flamegraph import FlameGraph
from spark_probe.merge import Merged
from spark_probe.run import Progress, Run, read_run
from spark_probe.selection import Selection
from spark_probe.stage import Stage
from spark_probe.tables import EVENT_UNITS

if TYPE_CHECKING:
    from spark_probe.eventlog import EventLog
    from spark_probe.explain import Finding

__all__ = ["Profile", "Stage", "load"]

_EVENT_ORDER = list(EVENT_UNITS)


class Profile:
    """What a run folder says. Tables are pyarrow's, with the columns and units of FORMAT.md.

    ``path``: the run folder. ``run``: run.json. ``coverage``: how much was seen, and what is missing.
    ``events``: the Spark event log's tables (`spark_probe.eventlog.EventLog`), None without one.
    """

    def __init__(self, run: Run, events: EventLog | None = None, notes: Iterable[str] = ()) -> None:
        self.path = run.path
        self.run: Mapping[str, Any] = run.info
        self.events = events
        self.merged: Merged = run.merged
        logged = events.executors.to_pylist() if events else []
        self.coverage: Coverage = coverage_of(run, logged, notes)
        self._selection = Selection(run.merged)

    @cached_property
    def samples(self) -> pa.Table:
        """`sample`, with ``executor_id``; one row a group of samples that are alike."""
        table = self.merged.samples
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                table = table.set_column(i, field.name, table[field.name].cast(pa.string()))
        return table

    @property
    def frames(self) -> pa.Table:
        """`frame`; ``id`` is the same in the whole run."""
        return self.merged.frames

    @cached_property
    def stacks(self) -> pa.Table:
        """`stack`; ``frames`` are ids of `frames`, root first."""
        return self.merged.stack_table()

    @property
    def tasks(self) -> pa.Table:
        """`task`, with ``executor_id``; the last state of each task attempt."""
        return self.merged.others["task"]

    @property
    def triggers(self) -> pa.Table:
        """`trigger`, with ``executor_id``: the rules that fired."""
        return self.merged.others["trigger"]

    @property
    def dumps(self) -> pa.Table:
        """`dump`, with ``executor_id``: thread dumps that triggers took."""
        return self.merged.others["dump"]

    @property
    def gc(self) -> pa.Table:
        """`gc`, with ``executor_id``: collections, as the JVM told of them."""
        return self.merged.others["gc"]

    @property
    def recordings(self) -> pa.Table:
        """`recording`, with ``executor_id``: chunks, their engine, intervals and clock anchors."""
        return self.merged.others["recording"]

    @property
    def executors(self) -> list[dict[str, Any]]:
        """status.json of each executor in the folder."""
        return [
            {"executor_id": executor.id, **executor.status}
            for executor in self.coverage.executors
            if executor.files or executor.status
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader must know before trusting a sum: all that is missing, in sentences."""
        return self.coverage.sentences()

    @cached_property
    def event_names(self) -> list[str]:
        """Events that have samples: cpu, wall, alloc, lock, then others by name."""
        known = {name: i for i, name in enumerate(_EVENT_ORDER)}
        return sorted(self.coverage.samples, key=lambda name: (known.get(name, len(known)), name))

    @cached_property
    def stages(self) -> list[Stage]:
        """Every stage attempt, sorted by id and attempt."""
        from spark_probe.stagelist import stages_of

        return stages_of(self)

    @cached_property
    def findings(self) -> list[Finding]:
        """Why it is slow: what `spark_probe.explain` finds, the most costly first."""
        from spark_probe.explain import evidence_of_profile, explain

        return explain(evidence_of_profile(self))

    def stage(self, id: int, attempt: int | None = None) -> Stage:  # noqa: A002
        """A stage attempt; the last one if ``attempt`` is not given. Raises RunError if it is not there."""
        attempts = [stage for stage in self.stages if stage.id == id]
        chosen = [s for s in attempts if attempt is None or s.attempt == attempt]
        if chosen:
            return chosen[-1]
        if attempts:
            has = ", ".join(str(stage.attempt) for stage in attempts)
            raise RunError(f"stage {id} has no attempt {attempt} in {self.path}; it has {has}")
        ids = sorted({stage.id for stage in self.stages})
        span = f"it has {len(ids)}, from {ids[0]} to {ids[-1]}" if ids else "it has none"
        raise RunError(f"there is no stage {id} in {self.path}; {span}")

    def flamegraph(
        self,
        event: str = "cpu",
        *,
        stage: Stage | None = None,
        lines: bool = False,
        title: str | None = None,
        **where: Any,
    ) -> FlameGraph:
        """The flame graph of the run, or of some of its samples, over all executors.

        where: `tasks` (Spark's task ids), `executors`, `kinds` (of threads), `states`, `sql_executions`,
        `recordings`: values to take; `start_ms`, `end_ms`: epoch, half open, in steps of the time bucket.
        lines: tell source lines of a method apart, where they are kept. Raises TypeError for another word.
        """
        rows = self._rows(event, stage, where)
        return self.merged.graph(
            rows, event, title=self._title(event, stage) if title is None else title, lines=lines
        )

    def flamegraphs(
        self,
        by: str,
        event: str = "cpu",
        *,
        stage: Stage | None = None,
        lines: bool = False,
        **where: Any,
    ) -> dict[Any, FlameGraph]:
        """One flame graph for each value of a column of `samples`: ``by`` = "kind", "executor_id", …"""
        if by not in self.merged.samples.column_names:
            has = ", ".join(self.merged.samples.column_names)
            raise ValueError(f"by={by!r}: samples have the columns {has}")
        groups = self._selection.groups(self._rows(event, stage, where), by)
        title = self._title(event, stage)
        return {
            value: self.merged.graph(rows, event, title=f"{title}, {by} {value}", lines=lines)
            for value, rows in groups.items()
        }

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained page of all stages; returns its path."""
        from spark_probe.report import report_html

        target = Path(path)
        target.write_text(report_html(self), encoding="utf-8")
        return target

    def totals(self) -> dict[str, Any]:
        """Sums over the run, as `spark-probe totals --json` prints them."""
        counts = self.merged.samples.group_by("event").aggregate(
            [("samples", "sum"), ("value", "sum")]
        )
        sums = {row["event"]: row for row in counts.to_pylist()}
        keys = ["app_id", "app_name", "spark_version", "mode", "start_ms", "end_ms"]
        return {
            "path": self.path,
            **{key: self.run.get(key) for key in keys},
            "stages": len(self.stages),
            "tasks": sum(stage.tasks for stage in self.stages),
            "events": {
                event: {
                    "samples": sums[event]["samples_sum"],
                    "value": sums[event]["value_sum"],
                    "unit": EVENT_UNITS.get(event, "ns"),
                    "kinds": dict(self.coverage.samples[event]),
                }
                for event in self.event_names
            },
            "sample_rows": self.merged.samples.num_rows,
            "stacks": int(np.unique(self.merged.stack_hash).size),
            "frames": self.frames.num_rows,
            "files": sum(executor.files for executor in self.coverage.executors),
            "bytes": sum(executor.bytes for executor in self.coverage.executors),
            "coverage": self.coverage.to_dict(),
        }

    def __repr__(self) -> str:
        cover = self.coverage
        return (
            f"<Profile {self.path}: {self.run.get('app_name') or 'application'}, "
            f"{cover.profiled} of {cover.seen} executors profiled, {cover.partial} partial>"
        )

    def _rows(self, event: str, stage: Stage | None, where: dict[str, Any]) -> Any:
        return self._selection.rows(event, (stage.id, stage.attempt) if stage else None, **where)

    def _title(self, event: str, stage: Stage | None) -> str:
        if stage:
            return f"{event}, stage {stage.key}: {stage.name}"
        return f"{event}, {self.run.get('app_name') or self.run.get('app_id') or 'application'}"


def load(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Profile:
    """Load a run folder: a path or any fsspec or Hadoop URL. Needs no Spark; may be called while it grows.

    progress: called with how many files are read and how many there are. Raises RunError where there is no
    run folder or its format is too new; what is damaged is left out and named in `Profile.coverage`.
    """
    run = read_run(path, progress)
    events, notes = _events(run.path)
    return Profile(run, events, notes)


def _events(path: str) -> tuple[EventLog | None, list[str]]:
    from spark_probe.eventlog import EventLogError, read

    folder = f"{path.rstrip('/')}/events"
    try:
        log = read(folder)
    except EventLogError as error:
        return None, [f"no event log: stage names and most metrics are missing ({error})"]
    return log, [f"event log: {problem}" for problem in log.problems]
