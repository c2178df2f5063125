"""Quantiles and totals of stage attempts, on hand-built tables."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from spark_probe.eventlog import METRICS, quantile_column, stage_metrics, stage_summary
from spark_probe.eventlog.schemas import STAGES, TASKS


def tasks(*rows: dict[str, Any]) -> pa.Table:
    """Rows of TASKS; what a row does not say is what a healthy task has."""
    usual = {
        "stage_id": 0,
        "stage_attempt": 0,
        "executor_id": "1",
        "locality": "PROCESS_LOCAL",
        "speculative": False,
        "launch_ms": 10,
        "finish_ms": 20,
        "status": "success",
        "run_ms": 0,
    }
    filled = [{"task_id": i, **usual, **row} for i, row in enumerate(rows)]
    return pa.Table.from_pylist(filled, TASKS)


def stages(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), STAGES)


def quantiles(table: pa.Table, metric: str, stage: int = 0) -> dict[str, Any]:
    (row,) = [r for r in table.to_pylist() if (r["metric"], r["stage_id"]) == (metric, stage)]
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 101])
def test_a_quantile_is_the_element_at_floor_of_q_times_n(n: int) -> None:
    values = list(range(100, 100 + n))
    random.Random(n).shuffle(values)
    qs = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
    row = quantiles(stage_metrics(tasks(*({"run_ms": v} for v in values)), qs), "run_ms")
    for q in qs:
        assert row[quantile_column(q)] == 100 + min(int(q * n), n - 1)
    assert (row["tasks"], row["total"], row["unit"]) == (n, sum(values), "ms")


def test_names_of_quantiles() -> None:
    names = [quantile_column(q) for q in (0, 0.05, 0.25, 0.5, 0.999, 1)]
    assert names == ["min", "p5", "p25", "p50", "p99.9", "max"]


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_a_quantile_outside_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match=r"must lie in 0\.\.1"):
        stage_metrics(tasks({}), (q,))


def test_stages_are_apart_and_only_successes_count() -> None:
    table = stage_metrics(
        tasks(
            {"stage_id": 3, "run_ms": 5, "duration_ms": 8},
            {"stage_id": 2, "run_ms": 9},
            {"stage_id": 3, "run_ms": 7},
            {"stage_id": 3, "stage_attempt": 1, "run_ms": 100},
            {"stage_id": 3, "run_ms": 1_000, "status": "failed"},
            {"stage_id": 3, "run_ms": 1_000, "status": "killed"},
            {"stage_id": 3, "run_ms": 1_000, "status": "resubmitted"},
            {"stage_id": 3, "run_ms": None},  # no metrics
            {"stage_id": 4, "run_ms": 1, "status": "failed"},
        )
    )
    keys = {(r["stage_id"], r["stage_attempt"]) for r in table.to_pylist()}
    assert keys == {(2, 0), (3, 0), (3, 1)}
    rows = {
        (r["stage_id"], r["stage_attempt"]): r for r in table.to_pylist() if r["metric"] == "run_ms"
    }
    assert (rows[3, 0]["min"], rows[3, 0]["max"], rows[3, 0]["tasks"]) == (5, 7, 2)
    assert rows[3, 1]["max"] == 100
    assert [r["metric"] for r in table.to_pylist()[: len(METRICS)]] == list(METRICS)


def test_sums_are_exact_beyond_doubles() -> None:
    big = (1 << 60) + 1
    table = stage_metrics(tasks({"cpu_ns": big}, {"cpu_ns": big}))
    assert quantiles(table, "cpu_ns")["total"] == 2 * big


def test_blocks_read_are_remote_and_local_ones() -> None:
    table = stage_metrics(tasks({"shuffle_remote_blocks": 3, "shuffle_local_blocks": 4}))
    assert quantiles(table, "shuffle_blocks")["max"] == 7


def test_summary_of_a_stage() -> None:
    table = stage_summary(
        stages(
            {"stage_id": 0, "stage_attempt": 0, "name": "count", "status": "complete"},
            {"stage_id": 0, "stage_attempt": 1, "name": "again", "status": "running"},
        ),
        tasks(
            {"run_ms": 10, "memory_spill_bytes": 600, "disk_spill_bytes": 100, "finish_ms": 90},
            {
                "run_ms": 20,
                "status": "failed",
                "executor_id": "2",
                "launch_ms": 4,
                "locality": "ANY",
            },
            {"run_ms": 30, "status": "killed", "speculative": True, "peak_memory_bytes": 9},
            {"run_ms": 40, "status": "resubmitted", "locality": "ANY"},
            {"run_ms": None, "status": "running", "finish_ms": None},
            {"stage_id": 7, "run_ms": 1},
        ),
    )
    first, orphan = table.to_pylist()
    assert (first["name"], first["status"]) == ("count", "complete")
    counts = [
        first[f"tasks_{s}"] for s in ("success", "failed", "killed", "resubmitted", "running")
    ]
    assert counts == [1, 1, 1, 1, 1]
    assert first["tasks_speculative"] == 1
    assert (first["run_ms"], first["peak_memory_bytes"]) == (60, 9)  # all attempts but resubmitted
    assert (first["first_launch_ms"], first["last_finish_ms"], first["executors"]) == (4, 90, 2)
    assert (first["local_process"], first["local_any"], first["local_node"]) == (3, 1, 0)
    assert first["explosion_ratio"] == 6.0
    assert orphan["stage_id"] == 7
    assert orphan["name"] is orphan["status"] is orphan["explosion_ratio"] is None


def test_nothing_gives_nothing() -> None:
    assert stage_metrics(tasks()).num_rows == 0
    assert stage_summary(stages(), tasks()).num_rows == 0
