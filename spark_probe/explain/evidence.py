"""What rules look at: an application's stage attempts as arrays, from a run or a bare event log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.explain.finding import Finding, severity_of

if TYPE_CHECKING:
    from spark_probe.eventlog import EventLog
    from spark_probe.profile import Profile
    from spark_probe.stage import Stage

__all__ = ["Evidence", "StageEvidence", "evidence_of_log", "evidence_of_profile"]

Array = npt.NDArray[Any]
_LIBRARY = re.compile(r"^(org\.apache\.spark|scala|java|javax|jdk|sun|py4j)\.")


@dataclass(frozen=True, eq=False)
class StageEvidence:
    """A stage attempt. ``tasks``: its ended attempts, rows of the event log's TASKS.

    ``cores``: of executors that were there while it ran, 0 where unknown. ``sampled``: the profile's
    stage, None without a profile.
    """

    id: int
    attempt: int
    tasks: pa.Table
    cores: int = 0
    code: str = ""
    sampled: Stage | None = None

    def values(self, name: str, status: str = "success") -> Array:
        """A metric of its attempts of one status; 0 where null."""
        rows = self.tasks.filter(pc.equal(self.tasks["status"], status))
        return np.asarray(pc.fill_null(rows[name], 0).to_numpy(), np.float64)

    def total(self, name: str) -> float:
        return float(self.values(name).sum())

    @property
    def data_bytes(self) -> Array:
        return self.values("input_bytes") + self.values("shuffle_read_bytes")

    @property
    def data_records(self) -> Array:
        return self.values("input_records") + self.values("shuffle_read_records")

    @property
    def executors(self) -> Array:
        rows = self.tasks.filter(pc.equal(self.tasks["status"], "success"))
        return np.asarray(pc.fill_null(rows["executor_id"], "").to_pylist(), object)

    @property
    def window_ms(self) -> tuple[float, float]:
        """First launch, last finish; (0, 0) where unknown."""
        first, last = pc.min(self.tasks["launch_ms"]), pc.max(self.tasks["finish_ms"])
        return (first.as_py() or 0, last.as_py() or 0) if last.is_valid else (0, 0)

    @property
    def wall_ms(self) -> float:
        first, last = self.window_ms
        return max(last - first, 0)

    @property
    def slots(self) -> float:
        """How many of its tasks ran at once, on average over the stage; at least 1."""
        busy = float(np.asarray(pc.fill_null(self.tasks["duration_ms"], 0).to_numpy()).sum())
        return max(busy / self.wall_ms, 1.0) if self.wall_ms else 1.0

    @property
    def most_at_once(self) -> int:
        """The largest number of its tasks that ran at the same time; at least 1."""
        launch, finish = self.tasks["launch_ms"].drop_null(), self.tasks["finish_ms"].drop_null()
        moments = np.concatenate([finish.to_numpy(), launch.to_numpy()])
        steps = np.repeat([-1, 1], [len(finish), len(launch)])
        running = np.cumsum(steps[np.argsort(moments, kind="stable")])
        return max(int(running.max(initial=1)), 1)

    @property
    def skewed(self) -> bool:
        """Whether its longest task is at least 3 times its third quartile: see `tasks.skew`."""
        run = np.sort(self.values("run_ms"))
        return bool(run.size >= 4 and run[-1] >= 3 * max(run[int(0.75 * run.size)], 1))


@dataclass(frozen=True, eq=False)
class Evidence:
    """An application. ``gc``, ``triggers``: FORMAT.md's tables, None without a profile."""

    duration_ms: float
    stages: tuple[StageEvidence, ...]
    profile: Profile | None = None
    gc: pa.Table | None = None
    triggers: pa.Table | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def finding(
        self,
        rule: str,
        title: str,
        cost_ms: float,
        numbers: Mapping[str, float | str],
        advice: str,
        *,
        stage: StageEvidence | None = None,
        caveat: str = "",
        frames: tuple[tuple[str, float], ...] = (),
        code: str = "",
        at_most_info: bool = False,
    ) -> Finding:
        """A finding, its cost held to the stage's (or the application's) length."""
        cost = min(float(cost_ms), stage.wall_ms if stage else self.duration_ms)
        return Finding(
            rule,
            "info" if at_most_info else severity_of(cost, self.duration_ms),
            title,
            round(cost, 1),
            stage.id if stage else None,
            stage.attempt if stage else None,
            numbers,
            advice,
            caveat,
            frames,
            code or (stage.code if stage else ""),
        )


def evidence_of_log(log: EventLog) -> Evidence:
    """What a bare event log says."""
    return _evidence(log.tasks, log, None, log.app.start_ms, log.app.end_ms)


def evidence_of_profile(profile: Profile) -> Evidence:
    """What a run says, with or without its event log."""
    from spark_probe.stagelist import task_attempts

    log = profile.events
    start = (log.app.start_ms if log else None) or profile.run.get("start_ms")
    end = (log.app.end_ms if log else None) or profile.run.get("end_ms")
    return _evidence(task_attempts(profile), log, profile, start, end)


def _evidence(
    tasks: pa.Table,
    log: EventLog | None,
    profile: Profile | None,
    start_ms: int | None,
    end_ms: int | None,
) -> Evidence:
    ended = tasks.filter(pc.is_in(tasks["status"], pa.array(["success", "failed", "killed"])))
    if start_ms is None:
        start_ms = pc.min(ended["launch_ms"]).as_py() or 0
    if end_ms is None:
        end_ms = pc.max(ended["finish_ms"]).as_py() or start_ms
    rows = log.stages.to_pylist() if log else []
    named = {(r["stage_id"], r["stage_attempt"]): r for r in rows}
    sampled = {(s.id, s.attempt): s for s in profile.stages} if profile else {}
    executors = log.executors.to_pylist() if log else []
    stages = []
    for key, mine in _by_stage(ended):
        row = named.get(key, {})
        stage = StageEvidence(*key, mine)
        stages.append(
            StageEvidence(
                *key,
                mine,
                _cores(executors, *stage.window_ms),
                _code(row.get("details") or "", row.get("name") or ""),
                sampled.get(key),
            )
        )
    return Evidence(
        max(end_ms - start_ms, 0),
        tuple(stages),
        profile,
        profile.gc if profile else None,
        profile.triggers if profile else None,
        log.conf() if log else {},
    )


def _by_stage(tasks: pa.Table) -> list[tuple[tuple[int, int], pa.Table]]:
    if not tasks.num_rows:
        return []
    ordered = tasks.sort_by([("stage_id", "ascending"), ("stage_attempt", "ascending")])
    keys = np.stack([ordered[n].to_numpy() for n in ("stage_id", "stage_attempt")], axis=1)
    bounds = np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1
    starts = [0, *bounds.tolist(), len(keys)]
    return [
        ((int(keys[a, 0]), int(keys[a, 1])), ordered.slice(a, b - a)) for a, b in pairwise(starts)
    ]


def _cores(executors: list[dict[str, Any]], start_ms: float, end_ms: float) -> int:
    """Cores of the executors that were there for the whole window."""
    there = (
        r["cores"] or 0
        for r in executors
        if (r["added_ms"] or 0) <= start_ms and (r["removed_ms"] or end_ms) >= end_ms
    )
    return sum(there)


def _code(details: str, name: str) -> str:
    """The user's line of a call site: the innermost frame that is no library's, or PySpark's "at"."""
    if re.search(r" at .*\.py:\d+$", name):
        return name.rsplit(" at ", 1)[1]
    lines = (line.strip() for line in details.splitlines())
    return next((line for line in lines if line and not _LIBRARY.match(line)), "")
