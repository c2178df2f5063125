"""Profiles: stages from event log, tasks and samples; choices of samples; coverage and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spark_probe
from spark_probe import Profile, RunError
from tests.builders import BUCKET_MS, START_MS, RunBuilder, sample
from tests.eventlogs.events import (
    application_start,
    completed,
    executor_added,
    job_start,
    metrics,
    submitted,
    task_end,
    task_start,
)


def task_row(task: int, stage: int = 0, attempt: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "stage_id": stage,
        "stage_attempt": attempt,
        "partition": task,
        "task_attempt": 0,
        "task_id": task,
        "start_ms": START_MS,
        "end_ms": START_MS + 1_000 * (task + 1),
        "outcome": "succeeded",
        "run_ms": 1_000 * (task + 1),
        "cpu_ns": 900_000_000,
        **more,
    }


def rich_run(path: Path, *, events: bool = True) -> RunBuilder:
    """Two executors and the driver; stage 0 with a retry, stage 1; work in and outside of tasks."""
    run = RunBuilder(path)
    one, two, driver = (run.executor(name) for name in ("1", "2", "driver"))
    one.flush(
        [
            sample("run;scan", stage=0, task=0, samples=10),
            sample("run;scan;hash", stage=0, task=1, samples=5, bucket=1),
            sample("run;write", stage=0, task=1, samples=2, kind="python-writer"),
            sample("run;wait", stage=0, task=0, samples=3, event="wall", state="sleeping"),
            sample("run;wait", stage=0, task=0, samples=1, event="wall", state="runnable"),
            sample("run;byte[]@class", stage=0, task=0, samples=4, event="alloc", state="tlab"),
            sample("gc@cpp", samples=20, kind="gc"),
        ],
        task=[task_row(0), task_row(1)],
    )
    two.flush(
        [
            sample("run;scan", stage=0, attempt=1, task=2, samples=7, recording=1),
            sample("run;sort", stage=1, task=3, samples=6, bucket=2),
        ],
        task=[task_row(2, attempt=1), task_row(3, stage=1, outcome="running", end_ms=None)],
    )
    driver.flush([sample("main;plan", samples=9, kind="driver", sql=4)])
    if events:
        run.events(
            [
                application_start(),
                executor_added("1", START_MS),
                executor_added("2", START_MS),
                job_start(0, [0, 1]),
                submitted(0),
                task_start(0),
                task_end(0, task_metrics=metrics(100)),
                task_end(1, task_metrics=metrics(300)),
                completed(0),
                submitted(0, 1),
                task_end(2, attempt=1, Executor_ID="2"),
                completed(0, 1),
                submitted(1),
                task_start(3, stage=1, Executor_ID="2"),
            ]
        )
    run.write()
    return run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return spark_probe.load(rich_run(tmp_path_factory.mktemp("runs") / "app-1").path)


# --- stages


def test_stage_attempts(profile: Profile) -> None:
    assert [(stage.key, stage.name, stage.status, stage.tasks) for stage in profile.stages] == [
        ("0.0", "count at job.py:0", "complete", 2),
        ("0.1", "count at job.py:0", "complete", 1),
        ("1.0", "count at job.py:1", "running", 1),
    ]
    stage = profile.stage(0, 0)
    assert vars(stage.samples["cpu"]) == {"samples": 17, "value": 170_000_000, "unit": "ns"}
    assert vars(stage.samples["alloc"]) == {"samples": 4, "value": 4 << 22, "unit": "bytes"}
    assert stage.kinds["cpu"] == {"task": 15, "python-writer": 2}
    assert stage.details == "org.example.Job.main(Job.java:1)"
    assert stage.task_table["task_id"].to_pylist() == [0, 1]
    assert stage.coverage.executors == ("1",)


def test_metrics_are_the_event_logs(profile: Profile) -> None:
    stage = profile.stage(0, 0)
    assert vars(stage.metrics["run_ms"]) == {
        "unit": "ms",
        "tasks": 2,
        "total": 400,
        "min": 100,
        "p25": 100,
        "p50": 300,
        "p75": 300,
        "p95": 300,
        "max": 300,
    }
    assert stage.metrics["shuffle_read_bytes"].total == 60
    assert stage.metrics["shuffle_blocks"].total == 6


def test_without_an_event_log_tasks_give_the_metrics(tmp_path: Path) -> None:
    profile = spark_probe.load(rich_run(tmp_path / "app-1", events=False).path)
    assert [(stage.key, stage.name, stage.tasks) for stage in profile.stages] == [
        ("0.0", "stage 0", 2),
        ("0.1", "stage 0", 1),
        ("1.0", "stage 1", 1),
    ]
    stage = profile.stage(0, 0)
    assert (stage.metrics["run_ms"].total, stage.metrics["duration_ms"].max) == (3_000, 2_000)
    assert "scheduler_delay_ms" not in stage.metrics
    assert "shuffle_blocks" not in stage.metrics
    assert stage.coverage.executors == ("1",)
    assert profile.stage(1).metrics == {}
    assert any(note.startswith("no event log: stage names") for note in profile.notes)


def test_a_task_that_the_event_log_does_not_end_is_known_from_the_folder(tmp_path: Path) -> None:
    run = rich_run(tmp_path / "app-1")
    run.executor("2").flush(task=[task_row(3, stage=1, run_ms=77)])
    profile = spark_probe.load(run.path)
    assert profile.stage(1).tasks == 1
    assert profile.stage(1).metrics["run_ms"].total == 77


def test_a_damaged_event_log_costs_only_itself(tmp_path: Path) -> None:
    run = rich_run(tmp_path / "app-1")
    (log,) = run.path.glob("events/*/events_1_*")
    log.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    profile = spark_probe.load(run.path)
    assert profile.flamegraph("cpu", tasks=[3]).total == 6
    assert profile.stage(1).name == "stage 1"
    assert any("event log" in note for note in profile.notes)


def test_a_stage_by_its_id(profile: Profile) -> None:
    assert profile.stage(0).attempt == 1
    assert profile.stage(0, 0).attempt == 0
    with pytest.raises(RunError, match=r"there is no stage 7 in .*app-1; it has 2, from 0 to 1"):
        profile.stage(7)
    with pytest.raises(RunError, match=r"stage 0 has no attempt 5 in .*; it has 0, 1"):
        profile.stage(0, 5)


# --- which samples


def test_attempts_stay_apart(profile: Profile) -> None:
    assert profile.stage(0, 0).flamegraph("cpu").collapsed() == (
        "run;scan 10\nrun;scan;hash 5\nrun;write 2\n"
    )
    assert profile.stage(0, 1).flamegraph("cpu").collapsed() == "run;scan 7\n"


def test_graphs_know_what_they_are_of(profile: Profile) -> None:
    graph = profile.stage(0, 0).flamegraph("alloc")
    assert (graph.event, graph.unit, graph.total, graph.value) == ("alloc", "bytes", 4, 4 << 22)
    assert graph.title == "alloc, stage 0.0: count at job.py:0"
    assert profile.flamegraph("wall").title == "wall, a job"
    assert profile.stage(1).flamegraph("lock").total == 0


@pytest.mark.parametrize(
    ("where", "cpu"),
    [
        ({}, 59),
        ({"tasks": [1]}, 7),
        ({"tasks": [0, 3, 99]}, 16),
        ({"tasks": []}, 0),
        ({"executors": ["1"]}, 37),
        ({"executors": ["9"]}, 0),
        ({"kinds": ["gc", "driver"]}, 29),
        ({"sql_executions": [4]}, 9),
        ({"recordings": [1]}, 7),
        ({"start_ms": START_MS + BUCKET_MS}, 11),
        ({"end_ms": START_MS + BUCKET_MS}, 48),
        ({"start_ms": START_MS + BUCKET_MS, "end_ms": START_MS + 2 * BUCKET_MS}, 5),
        ({"kinds": ["task"], "executors": ["2"], "tasks": [3]}, 6),
    ],
)
def test_choices(profile: Profile, where: dict[str, Any], cpu: int) -> None:
    assert profile.flamegraph("cpu", **where).total == cpu


def test_choices_in_a_stage(profile: Profile) -> None:
    stage = profile.stage(0, 0)
    assert stage.flamegraph("cpu", task=1).total == 7
    assert stage.flamegraph("cpu", task=1, tasks=[0]).total == 17
    assert stage.flamegraph("cpu", tasks=[0]).total == 10
    assert stage.flamegraph("cpu", task=3).total == 0
    assert stage.flamegraph("wall", states=["sleeping"]).total == 3
    with pytest.raises(TypeError, match="there is no choice of samples by 'thread'"):
        stage.flamegraph("cpu", thread=["x"])


def test_groups_add_up_to_the_whole(profile: Profile) -> None:
    kinds = profile.flamegraphs("kind", "cpu")
    assert {kind: graph.total for kind, graph in kinds.items()} == {
        "driver": 9,
        "gc": 20,
        "python-writer": 2,
        "task": 28,
    }
    first, *others = kinds.values()
    assert first.merge(*others).collapsed() == profile.flamegraph("cpu").collapsed()
    tasks = profile.flamegraphs("task_id", "cpu", stage=profile.stage(0, 0))
    assert {task: graph.total for task, graph in tasks.items()} == {0: 10, 1: 7}
    assert profile.flamegraphs("kind", "lock") == {}
    with pytest.raises(ValueError, match="by='thread': samples have the columns executor_id, "):
        profile.flamegraphs("thread")


def test_graphs_of_all_stages_and_the_rest_add_up(profile: Profile) -> None:
    for event in profile.event_names:
        inside = sum(stage.flamegraph(event).total for stage in profile.stages)
        outside = sum(profile.coverage.outside.get(event, {}).values())
        assert inside + outside == profile.flamegraph(event).total


# --- tables


def test_tables_are_plain(profile: Profile) -> None:
    assert profile.event_names == ["cpu", "wall", "alloc"]
    assert profile.samples["kind"].to_pylist().count("gc") == 1
    assert profile.samples.num_rows == 10
    frames = profile.frames.to_pylist()
    stacks = {row["stack_hash"]: row["frames"] for row in profile.stacks.to_pylist()}
    first = profile.samples.to_pylist()[0]
    assert [frames[i]["name"] for i in stacks[first["stack_hash"]]] == ["run", "scan"]


# --- coverage


def test_coverage_of_a_whole_run(profile: Profile) -> None:
    cover = profile.coverage
    assert (cover.seen, cover.profiled, cover.partial, cover.lost) == (3, 3, 0, 0)
    assert cover.outside == {"cpu": {"gc": 20, "driver": 9}}
    assert cover.outside_share("cpu") == pytest.approx(29 / 59)
    assert cover.outside_share("wall") == cover.outside_share("nothing") == 0
    assert [executor.id for executor in cover.executors] == ["1", "2", "driver"]


def test_an_executor_that_only_the_event_log_knows(tmp_path: Path) -> None:
    run = rich_run(tmp_path / "app-1")
    run.events([application_start(), executor_added("1", START_MS), executor_added("12", START_MS)])
    cover = spark_probe.load(run.path).coverage
    assert (cover.seen, cover.profiled, cover.partial, cover.complete) == (4, 3, 0, False)
    assert "executor 12: it was not profiled: the run folder has nothing of it" in cover.sentences()


@pytest.mark.parametrize(
    ("status", "profiled", "why"),
    [
        (
            {"state": "off", "reason": "no native library for this platform", "samples": 0},
            False,
            "profiling is off: no native library for this platform",
        ),
        (
            {"state": "lost", "reason": "heartbeats stopped"},
            True,
            "it was lost: heartbeats stopped",
        ),
        (
            {"state": "lost"},
            True,
            "it was lost: what came after its last flush is missing",
        ),
        (
            {"state": "recording"},
            True,
            "the application ended and this executor did not report its end",
        ),
        (
            {"samples_lost": 1_200, "lost_reason": "a chunk could not be read"},
            True,
            "1,200 samples were lost: a chunk could not be read",
        ),
        (
            {"samples": 10_000},
            True,
            "status.json counts 10,000 samples in the folder, and 0 could be read",
        ),
        (
            {"last_seq": 4},
            True,
            "status.json knows of flush 4, and the last one in the folder is -1",
        ),
        (
            {"attached_ms": START_MS + 95_000},
            True,
            "it was attached 95 s late; what it ran before is missing",
        ),
    ],
)
def test_why_an_executor_is_partial(
    tmp_path: Path, status: dict[str, Any], profiled: bool, why: str
) -> None:
    run = RunBuilder(tmp_path / "app-1")
    run.executor("7").write_status(**{"samples": 0, "last_seq": -1, **status})
    run.events([application_start(), executor_added("7", START_MS)])
    cover = spark_probe.load(run.write()).coverage
    (executor,) = cover.executors
    assert executor.missing == (why,)
    assert (executor.profiled, executor.partial) == (profiled, profiled)
    assert f"executor 7: {why}" in cover.sentences()
    assert not cover.complete


def test_a_live_executor_is_not_partial(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    run.executor("1").flush([sample("run", samples=3)])
    run.executor("1").write_status(state="recording", samples=2, last_seq=0)
    run.executor("2").write_status(state="idle", last_seq=-1)
    cover = spark_probe.load(run.write(end_ms=None)).coverage
    assert (cover.seen, cover.profiled, cover.partial) == (2, 2, 0)


def test_late_is_late_of_an_attached_session(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    run.executor("1").write_status(attached_ms=START_MS + 600_000, last_seq=-1)
    run.events([application_start(), executor_added("1", START_MS)])
    attached = START_MS + 590_000
    assert spark_probe.load(run.write(mode="attach", attached_ms=attached)).coverage.complete


def test_notes_of_executors_are_kept(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    run.executor("1").write_status(
        notes=["perf is blocked: ctimer instead"], last_error="IOException: no space", last_seq=-1
    )
    (executor,) = spark_probe.load(run.write()).coverage.executors
    assert executor.notes == (
        "perf is blocked: ctimer instead",
        "the probe's last error: IOException: no space",
    )
    assert not executor.partial


# --- report


def test_the_report_is_a_page(profile: Profile, tmp_path: Path) -> None:
    path = profile.report(tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "a job" in page
