"""One stage attempt of a profile: what Spark says of it, what was sampled in it, its flame graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.flamegraph import FlameGraph
from spark_probe.tables import EVENT_UNITS

if TYPE_CHECKING:
    from spark_probe.profile import Profile

__all__ = ["Metric", "Sampled", "Stage", "StageCoverage"]


@dataclass(frozen=True)
class Sampled:
    """How much was sampled: ``samples``, and their ``value`` in ``unit`` (ns, bytes)."""

    samples: int
    value: int
    unit: str


@dataclass(frozen=True)
class Metric:
    """A task metric over a stage attempt's successful tasks.

    Quantiles are Spark's: the element at floor(q * n) of the sorted values, without interpolation.
    """

    unit: str
    tasks: int
    total: int
    min: int
    p25: int
    p50: int
    p75: int
    p95: int
    max: int


@dataclass(frozen=True)
class StageCoverage:
    """``executors`` that ran the stage's tasks, and those of them that are ``unprofiled`` or ``partial``."""

    executors: tuple[str, ...]
    unprofiled: tuple[str, ...]
    partial: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage attempt. ``tasks``: how many of its task attempts are known.

    ``name``, ``details`` (the call site), ``status`` (complete, failed, running; empty where unknown),
    ``submitted_ms``, ``completed_ms``, ``job_ids`` and ``sql_execution_id`` come from the event log and are
    empty or None without one. ``samples``: event -> what was sampled in its tasks; ``kinds``: event -> kind
    of thread -> samples (a task's own thread, its Python writer, its deserialization). ``metrics``: name ->
    `Metric`, by the names of FORMAT.md's `task` and, with an event log, `spark_probe.eventlog.METRICS`.
    """

    id: int
    attempt: int
    name: str
    details: str
    status: str
    tasks: int
    submitted_ms: int | None
    completed_ms: int | None
    job_ids: tuple[int, ...]
    sql_execution_id: int | None
    samples: Mapping[str, Sampled]
    kinds: Mapping[str, Mapping[str, int]]
    metrics: Mapping[str, Metric] = field(repr=False)
    coverage: StageCoverage = field(repr=False)
    profile: Profile = field(repr=False)

    @property
    def key(self) -> str:
        """``id.attempt``, as the command line takes it."""
        return f"{self.id}.{self.attempt}"

    @property
    def task_table(self) -> pa.Table:
        """Its rows of the profile's ``tasks``."""
        tasks = self.profile.tasks
        mine = pc.and_(
            pc.equal(tasks["stage_id"], self.id), pc.equal(tasks["stage_attempt"], self.attempt)
        )
        return tasks.filter(mine)

    def flamegraph(
        self,
        event: str = "cpu",
        *,
        task: int | None = None,
        tasks: Iterable[int] | None = None,
        **where: Any,
    ) -> FlameGraph:
        """The flame graph of this stage attempt, or of some of its tasks, over all executors.

        event: cpu, wall, alloc, lock or method. task, tasks: Spark's task ids. where: as in
        `Profile.flamegraph`. Without a sample the graph is empty.
        """
        if task is not None:
            tasks = [*(tasks or ()), task]
        return self.profile.flamegraph(event, stage=self, tasks=tasks, **where)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON output has it."""
        return {
            "id": self.id,
            "attempt": self.attempt,
            "name": self.name,
            "status": self.status,
            "submitted_ms": self.submitted_ms,
            "completed_ms": self.completed_ms,
            "job_ids": list(self.job_ids),
            "sql_execution_id": self.sql_execution_id,
            "tasks": self.tasks,
            "samples": {event: vars(sampled) for event, sampled in self.samples.items()},
            "kinds": {event: dict(kinds) for event, kinds in self.kinds.items()},
            "metrics": {name: vars(metric) for name, metric in self.metrics.items()},
            "coverage": {name: list(value) for name, value in vars(self.coverage).items()},
        }


def sampled_by_stage(samples: pa.Table) -> dict[tuple[int, int], dict[str, dict[str, Sampled]]]:
    """(stage, attempt) -> event -> kind of thread -> what was sampled."""
    sums = samples.group_by(["stage_id", "stage_attempt", "event", "kind"]).aggregate(
        [("samples", "sum"), ("value", "sum")]
    )
    out: dict[tuple[int, int], dict[str, dict[str, Sampled]]] = {}
    for row in sorted(sums.to_pylist(), key=lambda row: (row["event"], -row["samples_sum"])):
        kinds = out.setdefault((row["stage_id"], row["stage_attempt"]), {})
        kinds.setdefault(row["event"], {})[row["kind"]] = Sampled(
            row["samples_sum"], row["value_sum"], EVENT_UNITS.get(row["event"], "ns")
        )
    return out
