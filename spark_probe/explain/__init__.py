"""Why it is slow: rules over a run or a bare event log, ranked by what they cost.

    >>> from spark_probe.explain import evidence_of_log, explain
    >>> explain(evidence_of_log(spark_probe.eventlog.read(path)))

`evidence` makes a small input of either; each rule is a pure function Evidence -> findings, one file a
family; `finding` says how a cost becomes a severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from spark_probe.explain import failures, frames, memory, shuffle, tasks
from spark_probe.explain.evidence import (
    Evidence,
    StageEvidence,
    evidence_of_log,
    evidence_of_profile,
)
from spark_probe.explain.finding import Finding

__all__ = [
    "RULES",
    "Evidence",
    "Finding",
    "StageEvidence",
    "evidence_of_log",
    "evidence_of_profile",
    "explain",
]

RULES: tuple[Callable[[Evidence], Iterable[Finding]], ...] = (
    tasks.skew,
    tasks.slow_executor,
    tasks.tiny_tasks,
    tasks.scheduler_delay,
    tasks.few_partitions,
    memory.gc_pressure,
    memory.explicit_gc,
    memory.spill,
    shuffle.fetch_wait,
    frames.java_serialization,
    frames.compression,
    frames.jit,
    frames.lock_contention,
    frames.waiting,
    failures.failed_work,
    failures.fired_triggers,
)


def explain(evidence: Evidence) -> list[Finding]:
    """All findings, the most costly first."""
    found = [finding for rule in RULES for finding in rule(evidence)]
    return sorted(found, key=lambda f: (-f.cost_ms, f.rule, f.stage_id or -1))
