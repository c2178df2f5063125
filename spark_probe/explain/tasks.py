"""How a stage's work is divided: skew, slow executors, too few or too small tasks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_probe.explain.evidence import Evidence, StageEvidence
from spark_probe.explain.finding import Finding

__all__ = ["few_partitions", "scheduler_delay", "skew", "slow_executor", "tiny_tasks"]

SKEW = 3.0
SLOWER = 1.5
SAME_DATA = 1.2
SHARE = 0.10


def _p75(values: np.ndarray) -> float:
    return float(np.sort(values)[int(0.75 * values.size)])


def skew(evidence: Evidence) -> Iterator[Finding]:
    """The longest of at least 4 tasks runs 3 times the third quartile, and its data agrees.

    Data agree when its bytes or its records are at least half as far from their quartile as its time
    is (1.5 times at 3 times). Three times p75: the usual reading of the Spark UI's summary of a stage
    (Databricks, "Skew and spill"). Cost: longest task less the larger of p75 and the mean work a core
    (without known cores: of as many tasks as ran at once)
    """
    for stage in evidence.stages:
        if not stage.skewed:
            continue
        run = stage.values("run_ms")
        slow, quartile = int(run.argmax()), max(_p75(run), 1)
        times = run[slow] / quartile
        data, records = stage.data_bytes, stage.data_records
        more = max(
            float(values[slow]) / max(_p75(values), 1) if values[slow] else 0.0
            for values in (data, records)
        )
        if more < times / 2:
            continue
        cost = run[slow] - max(quartile, run.sum() / (stage.cores or stage.most_at_once))
        yield evidence.finding(
            "skew",
            f"One task runs {times:.1f} times as long as three quarters of the others, on {more:.1f} "
            "times the data",
            max(cost, 0),
            {
                "tasks": int(run.size),
                "max_run_ms": float(run[slow]),
                "p75_run_ms": quartile,
                "max_data_bytes": float(data[slow]),
                "p75_data_bytes": _p75(data),
                "data_ratio": round(more, 2),
            },
            "Divide the heavy keys: let AQE split skewed joins (spark.sql.adaptive.skewJoin.enabled), "
            "salt the key, or aggregate before the shuffle; filter null keys that join nothing.",
            stage=stage,
            caveat="More partitions do not help: rows of one key stay in one partition. AQE splits joins "
            "only, not aggregations.",
        )


def slow_executor(evidence: Evidence) -> Iterator[Finding]:
    """An executor's median task runs 1.5 times that of the others, on at most 1.2 times their data.

    At least 3 tasks there and elsewhere. 1.5: spark.speculation.multiplier of Spark 3. Cost: the
    executor's run time above the others' median, divided by the stage's slots.
    """
    for stage in evidence.stages:
        run, data, places = stage.values("run_ms"), stage.data_bytes, stage.executors
        for executor in sorted(set(places.tolist())):
            here = places == executor
            if here.sum() < 3 or (~here).sum() < 3:
                continue
            mine, others = float(np.median(run[here])), float(np.median(run[~here]))
            same = np.median(data[here]) <= SAME_DATA * np.median(data[~here])
            if others <= 0 or mine < SLOWER * others or not same:
                continue
            excess = float(np.maximum(run[here] - others, 0).sum())
            yield evidence.finding(
                "slow-executor",
                f"Executor {executor} takes {mine / others:.1f} times as long for the same data",
                excess / stage.slots,
                {
                    "executor": str(executor),
                    "tasks": int(here.sum()),
                    "p50_run_ms": mine,
                    "others_p50_run_ms": others,
                },
                "Look at its node: other load, a failing disk, fewer CPU than promised. "
                "spark.speculation=true starts its tasks again elsewhere.",
                stage=stage,
                caveat="No speculation where tasks write to outside systems without a committer.",
            )


def tiny_tasks(evidence: Evidence) -> Iterator[Finding]:
    """Scheduling and deserializing 10 or more tasks takes longer than to run them.

    Break-even is the threshold: such tasks are overhead by more than half. Not where the stage spills
    (fewer partitions would be worse). Cost: delay and deserialization, divided by slots.
    """
    for stage in evidence.stages:
        run = stage.values("run_ms")
        overhead = stage.total("scheduler_delay_ms") + stage.total("deserialize_ms")
        if run.size < 10 or overhead <= run.sum() or stage.total("disk_spill_bytes"):
            continue
        yield evidence.finding(
            "tiny-tasks",
            f"{run.size:,} tasks spend more time on being started than on running",
            overhead / stage.slots,
            {
                "tasks": int(run.size),
                "overhead_ms": overhead,
                "run_ms": float(run.sum()),
                "p50_run_ms": float(np.median(run)),
            },
            "Use fewer partitions: coalesce, a lower spark.sql.shuffle.partitions (or AQE's "
            "coalescePartitions), fewer and larger input files.",
            stage=stage,
            caveat="The first stage of an application also loads classes: there it may not recur.",
        )


def scheduler_delay(evidence: Evidence) -> Iterator[Finding]:
    """Tasks wait for the scheduler for over 10 % of their duration, and are not tiny.

    10 %: as the Spark UI's bar for GC time, for want of one of its own. Cost: delay / slots.
    """
    for stage in evidence.stages:
        delay, duration = stage.total("scheduler_delay_ms"), stage.total("duration_ms")
        tiny = delay + stage.total("deserialize_ms") > stage.total("run_ms")
        if not duration or tiny or delay <= SHARE * duration:
            continue
        yield evidence.finding(
            "scheduler-delay",
            f"Tasks wait for the scheduler for {delay / duration:.0%} of their time",
            delay / stage.slots,
            {"scheduler_delay_ms": delay, "duration_ms": duration},
            "Look for a busy driver and for large closures and results: broadcast what tasks share, "
            "collect less, give the driver more cores.",
            stage=stage,
        )


def few_partitions(evidence: Evidence) -> Iterator[Finding]:
    """Fewer tasks than cores, no skew. Spark's tuning guide wants 2 to 3 tasks a core.

    Cost: the stage's wall time x the share of cores that had no task. Silent where it would gain less
    than a second: small data needs no more tasks.
    """
    for stage in evidence.stages:
        tasks = stage.values("run_ms").size
        if not 0 < tasks < stage.cores or stage.skewed:
            continue
        cost = stage.wall_ms * (1 - tasks / stage.cores)
        if cost >= 1_000:
            yield _few(evidence, stage, tasks, cost)


def _few(evidence: Evidence, stage: StageEvidence, tasks: int, cost: float) -> Finding:
    return evidence.finding(
        "few-partitions",
        f"{tasks} tasks for {stage.cores} cores: the others are idle",
        cost,
        {
            "tasks": tasks,
            "cores": stage.cores,
            "wall_ms": stage.wall_ms,
            "data_bytes": float(stage.data_bytes.sum()),
        },
        "Use more partitions, 2 to 3 a core: repartition, spark.sql.shuffle.partitions, or a smaller "
        "spark.sql.files.maxPartitionBytes; a file that cannot be split (gzip) is one task.",
        stage=stage,
        caveat="Not where other stages ran on these cores at that time.",
    )
