"""Run folders that the jar wrote, one for each format, read as the first reader of that format read them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import spark_probe
from spark_probe import Profile
from spark_probe.tables import FORMAT
from tests.builders import stack_hash
from tests.runfolder import RunFolder

GOLDEN = Path(__file__).parent / "golden"
RUN = GOLDEN / "format-1" / "app-20261201000000-0001"
MS = 1_000_000


@pytest.fixture(scope="module")
def profile() -> Profile:
    return spark_probe.load(RUN)


def test_there_is_one_for_each_format() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == [
        f"format-{number}" for number in range(1, FORMAT + 1)
    ]


def test_stages_and_samples(profile: Profile) -> None:
    assert {
        stage.key: (stage.tasks, {event: s.samples for event, s in stage.samples.items()})
        for stage in profile.stages
    } == {
        "0.0": (4, {"alloc": 4, "cpu": 157, "lock": 2, "method": 2, "wall": 37}),
        "1.0": (1, {"alloc": 2, "cpu": 33, "lock": 1, "method": 1, "wall": 9}),
        "1.1": (2, {"alloc": 6, "cpu": 239, "lock": 3, "method": 3, "wall": 102}),
    }
    assert profile.coverage.outside == {
        "cpu": {"spark-internal": 88, "jit": 40, "gc": 30, "driver": 30, "python-writer": 11},
        "wall": {"spark-internal": 38},
    }
    assert profile.stage(1, 1).samples["cpu"].value == 2_010 * MS  # base at 10 ms, burst at 5 ms
    assert profile.flamegraph("cpu", recordings=[1]).total == 98


def test_the_graph_over_all_executors(profile: Profile) -> None:
    job = "java.lang.Thread.run_[0];org.apache.spark.rdd.RDD.iterator_[j]"
    assert profile.flamegraph("cpu").collapsed(types=True) == (
        "java.lang.Thread.run_[0];com.example.Job.plan_[0] 30\n"
        f"{job} 48\n"
        f"{job};com.example.Job$$Lambda.apply_[j];com.example.Job.map_[1] 120\n"
        f"{job};com.example.Job$$Lambda.apply_[j];com.example.Job.map_[i] 240\n"
        f"{job};org.apache.spark.sql.catalyst.expressions.GeneratedClass"
        "$GeneratedIteratorForCodegenStage3.processNext_[j];memcpy 120\n"
        "start_thread;Compile::Optimize 40\n"
        "start_thread;G1ParScanThreadState::trim_queue 30\n"
    )
    lines = profile.flamegraph("cpu", lines=True, kinds=["task"])
    assert {name for name in lines.names if "Job.map" in name} == {
        "com.example.Job.map:31",
        "com.example.Job.map:47",
    }


def test_the_other_tables(profile: Profile) -> None:
    assert Counter(profile.tasks["outcome"].to_pylist()) == {
        "succeeded": 4,
        "failed": 1,
        "killed": 1,
        "running": 1,
    }
    assert profile.triggers["rule"].to_pylist() == ["straggler", "explicitgc"]
    assert profile.dumps["thread_state"].to_pylist() == ["BLOCKED"]
    assert profile.gc.num_rows == 6
    assert sorted(profile.recordings["purpose"].to_pylist()) == ["base"] * 6 + ["burst"]


def test_coverage(profile: Profile) -> None:
    cover = profile.coverage
    assert (cover.seen, cover.profiled, cover.partial) == (3, 3, 1)
    (lost,) = [executor for executor in cover.executors if executor.partial]
    assert (lost.id, lost.host) == ("1", "worker-2")
    assert lost.missing == (
        "it was lost: Executor 1 on worker-2 was killed (exit code 137): "
        "what it sampled after its last flush is lost.",
    )


def test_another_reader_counts_the_same(profile: Profile) -> None:
    """Row by row, in Python, with ids looked up in their row group."""
    other = RunFolder(RUN)
    frames = profile.frames.to_pylist()
    stacks = {row["stack_hash"]: row["frames"] for row in profile.stacks.to_pylist()}

    def names(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(frames[i]["name"] for i in stacks[row["stack_hash"]])

    ours: Counter[Any] = Counter()
    for row in profile.samples.to_pylist():
        ours[(row["executor_id"], row["task_id"], row["kind"], row["event"], names(row))] += row[
            "samples"
        ]
    assert ours == other.by(lambda s: (s.executor, s.task, s.kind, s.event, s.frames))
    assert {task["task_id"]: task["outcome"] for task in profile.tasks.to_pylist()} == {
        task: row["outcome"] for task, row in other.tasks().items()
    }


def test_hashes_are_formats(profile: Profile) -> None:
    """FORMAT.md's arithmetic, done here, gives the hashes that the jar wrote."""
    frames = [(row["name"], row["type"], row["line"]) for row in profile.frames.to_pylist()]
    rows = profile.stacks.to_pylist()
    assert len(rows) == 11
    for row in rows:
        assert stack_hash([frames[i] for i in row["frames"]]) == row["stack_hash"]
