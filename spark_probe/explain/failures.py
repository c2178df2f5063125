"""Work done in vain, and triggers that fired."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from spark_probe.explain.evidence import Evidence
from spark_probe.explain.finding import Finding

__all__ = ["failed_work", "fired_triggers"]


def failed_work(evidence: Evidence) -> Iterator[Finding]:
    """Task attempts that failed, and stage attempts after the first; any counts.

    Cost: a repeated attempt's wall time, else the failed tasks' duration / slots.
    """
    for stage in evidence.stages:
        rows = stage.tasks.filter(pc.equal(stage.tasks["status"], "failed"))
        if not rows.num_rows and not stage.attempt:
            continue
        lost = float(pc.sum(rows["duration_ms"]).as_py() or 0)
        counts = rows["reason"].value_counts().to_pylist() if rows.num_rows else []
        reasons = sorted(((c["counts"], c["values"] or "unknown") for c in counts), reverse=True)
        why = f", most by {reasons[0][1]}" if reasons else ""
        title = f"{rows.num_rows:,} failed task attempts{why}"
        yield evidence.finding(
            "failed-work",
            f"Attempt {stage.attempt} of the stage; {title}" if stage.attempt else title,
            stage.wall_ms if stage.attempt else lost / stage.slots,
            {"failed_tasks": rows.num_rows, "failed_ms": lost, "stage_attempt": stage.attempt}
            | {f"failed_{reason}": count for count, reason in reasons},
            "See the reasons: FetchFailed and ExecutorLostFailure are lost executors (memory limits, "
            "preemption; an external shuffle service keeps their output), exceptions are the code's.",
            stage=stage,
        )


def fired_triggers(evidence: Evidence) -> Iterator[Finding]:
    """Straggler and hung rules that fired while the job ran; their thresholds are the run's own.

    At most info, without a cost: what they cost is another rule's to say.
    """
    if evidence.triggers is None:
        return
    stages = {(stage.id, stage.attempt): stage for stage in evidence.stages}
    rows = evidence.triggers.filter(
        pc.match_substring_regex(evidence.triggers["rule"], "straggler|hung")
    )
    by = rows.group_by(["rule", "stage_id", "stage_attempt"]).aggregate(
        [("value", "max"), ("threshold", "min"), ("rule", "count")]
    )
    for row in by.to_pylist():
        yield evidence.finding(
            f"trigger-{row['rule']}",
            f"The trigger {row['rule']} fired {row['rule_count']} times",
            0,
            {
                "fired": row["rule_count"],
                "max_value": row["value_max"] or 0,
                "threshold": row["threshold_min"] or 0,
            },
            "See the thread dumps that it took and the task's own flame graph.",
            stage=stages.get((row["stage_id"], row["stage_attempt"])),
            at_most_info=True,
        )
