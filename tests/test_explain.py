"""Each rule at its edges, on tables made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from spark_probe.cli import main
from spark_probe.eventlog.schemas import TASKS
from spark_probe.explain import Evidence, StageEvidence, explain, failures, frames, memory, tasks
from spark_probe.explain.finding import severity_of
from spark_probe.explain.shuffle import fetch_wait
from spark_probe.profile import load
from spark_probe.tables import TABLES
from tests.builders import START_MS, RunBuilder, sample
from tests.eventlogs.events import lines, whole_log


def task(run_ms: int = 1000, **more: Any) -> dict[str, Any]:
    row = {
        "stage_id": 1,
        "stage_attempt": 0,
        "executor_id": "1",
        "status": "success",
        "launch_ms": START_MS,
        "finish_ms": START_MS + run_ms,
        "duration_ms": run_ms,
        "run_ms": run_ms,
        "cpu_ns": run_ms * 1_000_000,
        "input_bytes": 1000,
    }
    return {**row, **more}


def app(rows: list[dict[str, Any]], cores: int = 0, attempt: int = 0, **more: Any) -> Evidence:
    stage = StageEvidence(1, attempt, pa.Table.from_pylist(rows, schema=TASKS), cores)
    return Evidence(10_000, (stage,), **more)


def gcs(*rows: dict[str, Any]) -> pa.Table:
    base = {"start_ms": START_MS, "pause": True, "cause": "G1 Evacuation Pause"}
    table = pa.Table.from_pylist([{**base, **row} for row in rows], schema=TABLES["gc"])
    return table.append_column("executor_id", pa.array([r["executor_id"] for r in rows]))


@pytest.mark.parametrize(
    ("cost", "duration", "severity"),
    [
        (999, 1000, "info"),
        (1000, 20_000, "warning"),
        (1000, 20_001, "info"),
        (4000, 20_000, "critical"),
        (3999, 20_000, "warning"),
        (5000, 0, "info"),
    ],
)
def test_severity_is_the_share_of_the_application(cost: int, duration: int, severity: str) -> None:
    assert severity_of(cost, duration) == severity


@pytest.mark.parametrize(
    ("slowest", "data", "found"),
    [(3000, 1500, 1), (2999, 9000, 0), (3000, 1499, 0), (6000, 2999, 0)],
)
def test_skew_wants_three_times_the_quartile_and_the_data(
    slowest: int, data: int, found: int
) -> None:
    rows = [task(1000) for _ in range(8)] + [task(slowest, input_bytes=data)]
    assert len(list(tasks.skew(app(rows)))) == found


def test_skew_may_be_of_records_and_costs_what_is_above_the_quartile() -> None:
    rows = [task(1000, input_records=10) for _ in range(8)]
    (found,) = tasks.skew(app([*rows, task(9000, input_records=100)]))
    assert found.cost_ms == round(9000 - 17_000 / 9, 1)
    (found,) = tasks.skew(app([*rows, task(9000, input_records=100)], cores=17))
    assert (found.cost_ms, found.severity) == (8000, "critical")


def test_a_few_tasks_are_no_skew() -> None:
    assert not list(tasks.skew(app([task(100), task(100), task(9000, input_bytes=90_000)])))


@pytest.mark.parametrize(
    ("slow", "data", "found"), [(1500, 1000, 1), (1499, 1000, 0), (1500, 1200, 1), (1500, 1201, 0)]
)
def test_a_slow_executor_has_the_same_data(slow: int, data: int, found: int) -> None:
    rows = [task(1000) for _ in range(6)]
    rows += [task(slow, executor_id="2", input_bytes=data) for _ in range(3)]
    got = list(tasks.slow_executor(app(rows)))
    assert [f.numbers["executor"] for f in got] == ["2"] * found


def test_two_tasks_tell_nothing_of_an_executor() -> None:
    rows = [task(1000) for _ in range(6)] + [task(9000, executor_id="2") for _ in range(2)]
    assert not list(tasks.slow_executor(app(rows)))


@pytest.mark.parametrize(("delay", "found"), [(50, 0), (51, 1)])
def test_tiny_tasks_are_overhead_by_more_than_half(delay: int, found: int) -> None:
    rows = [task(100, scheduler_delay_ms=delay, deserialize_ms=50) for _ in range(10)]
    assert len(list(tasks.tiny_tasks(app(rows)))) == found
    assert not list(tasks.tiny_tasks(app(rows[1:])))
    assert not list(tasks.tiny_tasks(app([{**r, "disk_spill_bytes": 1} for r in rows])))


@pytest.mark.parametrize(("delay", "found"), [(100, 0), (101, 1), (1001, 0)])
def test_scheduler_delay_is_a_tenth_and_not_of_tiny_tasks(delay: int, found: int) -> None:
    got = list(tasks.scheduler_delay(app([task(1000, scheduler_delay_ms=delay)])))
    assert len(got) == found


def test_few_partitions_leave_cores_idle_but_never_under_skew() -> None:
    (found,) = tasks.few_partitions(app([task(4000) for _ in range(4)], cores=8))
    assert found.cost_ms == 2000
    assert not list(tasks.few_partitions(app([task(4000) for _ in range(4)], cores=4)))
    assert not list(tasks.few_partitions(app([task(1000) for _ in range(4)], cores=8)))
    skewed = [task(1000) for _ in range(8)] + [task(10_000, input_bytes=90_000)]
    found_rules = explain(app([{**r, "disk_spill_bytes": 10**9} for r in skewed], cores=32))
    assert {f.rule for f in found_rules} == {"skew", "spill"}
    assert not any("Use more partitions" in f.advice for f in found_rules)


@pytest.mark.parametrize(("gc", "found"), [(100, 0), (101, 1), (1000, 1), (1001, 0)])
def test_gc_is_a_tenth_and_never_more_than_all_of_the_run_time(gc: int, found: int) -> None:
    assert len(list(memory.gc_pressure(app([task(1000, gc_ms=gc)])))) == found


@pytest.mark.parametrize(("pause_ms", "found"), [(100, 0), (101, 1)])
def test_pauses_of_the_jvm_overrule_the_tasks_gc_time(pause_ms: int, found: int) -> None:
    table = gcs(
        {"executor_id": "1", "duration_ns": pause_ms * 1_000_000},
        {"executor_id": "1", "duration_ns": 900_000_000, "pause": False},
        {"executor_id": "2", "duration_ns": 900_000_000},
        {"executor_id": "1", "duration_ns": 900_000_000, "start_ms": START_MS + 1000},
    )
    got = list(memory.gc_pressure(app([task(1000, gc_ms=900)], gc=table)))
    assert [f.cost_ms for f in got] == [101.0] * found


def test_explicit_gc_counts_the_worst_jvm() -> None:
    rows = [{"executor_id": e, "duration_ns": 10**9, "cause": "System.gc()"} for e in "112"]
    (found,) = memory.explicit_gc(app([], gc=gcs(*rows, {"executor_id": "1", "duration_ns": 1})))
    assert (found.numbers["collections"], found.cost_ms, found.severity) == (3, 2000, "critical")
    assert not list(memory.explicit_gc(app([], gc=gcs({"executor_id": "1", "duration_ns": 1}))))
    assert not list(memory.explicit_gc(app([])))


def test_spill_tells_its_explosion_ratio() -> None:
    rows = [task(5000, disk_spill_bytes=100_000_000, memory_spill_bytes=700_000_000)]
    (found,) = memory.spill(app(rows))
    assert (found.numbers["explosion_ratio"], found.cost_ms) == (7.0, 1000)
    assert not list(memory.spill(app([task(memory_spill_bytes=1)])))


@pytest.mark.parametrize(("wait", "found"), [(100, 0), (101, 1)])
def test_fetch_wait_is_a_tenth(wait: int, found: int) -> None:
    assert len(list(fetch_wait(app([task(1000, fetch_wait_ms=wait)])))) == found


@pytest.mark.parametrize(("cpu_ms", "found"), [(300, 0), (299, 1), (0, 0)])
def test_waiting_leaves_out_gc_and_fetch_wait_and_is_info_without_proof(
    cpu_ms: int, found: int
) -> None:
    row = task(1000, cpu_ns=cpu_ms * 1_000_000, gc_ms=100, fetch_wait_ms=100)
    got = list(frames.waiting(app([row])))
    assert [f.severity for f in got] == ["info"] * found


def test_failed_work_names_the_reason_and_counts_a_repeated_attempt_whole() -> None:
    bad = task(3000, status="failed", reason="FetchFailed")
    (found,) = failures.failed_work(app([task(3000), bad]))
    assert (found.cost_ms, found.numbers["failed_FetchFailed"]) == (1500, 1)
    (again,) = failures.failed_work(app([task(3000)], attempt=1))
    assert again.cost_ms == 3000
    assert not list(failures.failed_work(app([task(), task(status="killed")])))


def test_only_stragglers_and_hangs_are_told_of_triggers() -> None:
    base = {"stage_id": 1, "stage_attempt": 0, "threshold": 3.0, "value": 9.0}
    rows = [{**base, "rule": rule} for rule in ("straggler", "straggler", "gc")]
    table = pa.Table.from_pylist(rows, schema=TABLES["trigger"])
    (found,) = failures.fired_triggers(app([task()], triggers=table))
    assert (found.rule, found.numbers["fired"], found.stage_id) == ("trigger-straggler", 2, 1)


@pytest.fixture
def run(tmp_path: Any) -> RunBuilder:
    return RunBuilder(tmp_path / "app-1")


def profiled(
    run: RunBuilder, samples: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> Evidence:
    run.executor("1").flush(samples)
    run.write()
    profile = load(run.path)
    sampled = {s.id: s for s in profile.stages}
    evidence = app(rows, profile=profile)
    return replace(evidence, stages=tuple(replace(s, sampled=sampled[1]) for s in evidence.stages))


@pytest.mark.parametrize(("part", "found"), [(10, 0), (11, 1)])
def test_frames_of_serializer_and_codec_have_a_tenth_of_the_cpu(
    run: RunBuilder, part: int, found: int
) -> None:
    stacks = {
        "a.Job.run;java.io.ObjectOutputStream.writeObject0": part,
        "a.Job.run;net.jpountz.lz4.LZ4JNICompressor.compress": part,
        "a.Job.run": 100 - 2 * part,
    }
    got = profiled(run, [sample(s, stage=1, samples=n) for s, n in stacks.items()], [task()])
    serialized, packed = list(frames.java_serialization(got)), list(frames.compression(got))
    assert [f.numbers["cpu_share"] for f in serialized] == [0.11] * found
    assert [f.numbers["cpu_share"] for f in packed] == [0.11] * found
    assert all(f.frames[0][0] == "java.io.ObjectOutputStream.writeObject0" for f in serialized)


@pytest.mark.parametrize(("part", "found"), [(15, 0), (16, 1)])
def test_compiler_threads_have_more_than_15_percent(run: RunBuilder, part: int, found: int) -> None:
    rows = [
        sample("C2", kind="jit", samples=part),
        sample("a.Job.run", stage=1, samples=100 - part),
    ]
    assert len(list(frames.jit(profiled(run, rows, [task()])))) == found


@pytest.mark.parametrize(("blocked_ms", "found"), [(50, 0), (51, 1)])
def test_a_contended_lock_is_named(run: RunBuilder, blocked_ms: int, found: int) -> None:
    stack = "a.Job.run;a.Job.update;a.Shared@class"
    rows = [sample(stack, stage=1, event="lock", value=blocked_ms * 1_000_000)]
    got = list(frames.lock_contention(profiled(run, rows, [task(1000)])))
    assert [f.numbers["lock_class"] for f in got] == ["a.Shared"] * found


def test_a_call_of_system_gc_has_a_caller(run: RunBuilder) -> None:
    rows = [sample("a.Job.run;a.Job.free;java.lang.System.gc", stage=1, event="method", samples=2)]
    got = replace(
        profiled(run, rows, []),
        gc=gcs({"executor_id": "1", "duration_ns": 1, "cause": "System.gc()"}),
    )
    (found,) = memory.explicit_gc(got)
    assert found.frames == (("a.Job.free", 1.0),)


def test_a_run_without_an_event_log_and_without_tasks_has_no_findings(run: RunBuilder) -> None:
    run.executor("1").flush([sample("a.Job.run", stage=1)])
    run.write()
    assert load(run.path).findings == []


def test_the_command_reads_a_bare_log_and_says_how_bad_it_is(tmp_path: Any) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines(whole_log()))
    result = CliRunner().invoke(main, ["findings", str(path), "--json"])
    out = json.loads(result.stdout)
    assert out["profiled"] is False
    assert "failed-work" in {f["rule"] for f in out["findings"]}
    assert result.exit_code == int(any(f["severity"] != "info" for f in out["findings"]))
    costs = [f["cost_ms"] for f in out["findings"]]
    assert costs == sorted(costs, reverse=True)
    assert "failed-work" in CliRunner().invoke(main, ["findings", str(path)]).stdout


def test_what_cannot_be_read_ends_with_2(tmp_path: Any) -> None:
    result = CliRunner().invoke(main, ["findings", str(tmp_path)])
    assert result.exit_code == 2
    assert "neither a run" in result.stderr
