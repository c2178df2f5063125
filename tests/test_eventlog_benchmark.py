"""The log that benchmarks/eventlog.py measures with reads whole, and its events have a real Spark's fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.eventlog import events, read_here, write_log
from spark_probe import eventlog
from tests.clusters.spark import SPARK_VERSION, Sessions


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_the_generated_log_reads_whole(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "log"
    size = write_log(path, 700, codec)
    log = eventlog.read(str(path))
    totals = log.totals()
    assert (totals["task_ends"], totals["ok"], totals["bad_lines"]) == (700, 700, 0)
    assert log.complete
    assert log.tables["task_peaks"].num_rows == 700
    assert log.tables["sql_nodes"].num_rows == 4 * totals["jobs"]
    assert (path.stat().st_size == size) == (codec == "none")
    assert read_here(str(path)).tasks == 700


def shape(value: Any) -> Any:
    """The names of fields, all the way down."""
    if isinstance(value, dict):
        return {name: shape(field) for name, field in value.items()}
    return None


@pytest.mark.slow
def test_its_task_events_are_those_of_spark(sessions: Sessions, tmp_path: Path) -> None:
    if SPARK_VERSION < (4, 3):
        pytest.skip("the log is shaped as Spark 4.3 writes it")
    folder = tmp_path / "logs"
    folder.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    sessions.get("local[2]", settings).range(0, 10, 1, 2).count()
    sessions.stop()
    (log,) = folder.iterdir()
    names = ["SparkListenerTaskStart", "SparkListenerTaskEnd", "SparkListenerExecutorAdded"]

    def by_name(lines: Any) -> dict[str, Any]:
        parsed = (json.loads(line) for line in lines)
        return {e["Event"]: shape(e) for e in parsed if e["Event"] in names}

    real, made = by_name(log.open()), by_name(events(10))
    real["SparkListenerExecutorAdded"]["Executor Info"].pop("Registration Time", None)
    assert made == real
