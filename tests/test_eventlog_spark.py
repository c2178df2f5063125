"""Logs that a real Spark writes, with each of its codecs, rolling and not: one job, the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_probe import eventlog
from spark_probe.eventlog import EventLog
from tests.clusters.spark import LOCAL_CLUSTER, Sessions
from tests.eventlogs.store import java_zip

pytestmark = [pytest.mark.slow, pytest.mark.every_spark]

ROWS, GROUPS, PARTITIONS = 40_000, 7, 5
# Codec and whether the log is rolling: 4.x rolls with zstd by default, 3.5 does neither.
WAYS = [("none", True), ("lz4", False), ("lzf", False), ("snappy", True), ("zstd", False)]


def work(spark: SparkSession) -> None:
    """One aggregation over a shuffle, one RDD job that fails, one accumulator."""
    context = spark.sparkContext
    context.setJobGroup("numbers", "the <aggregation>")
    context.setLocalProperty("spark.probe.section", "count")
    table = spark.range(0, ROWS, 1, PARTITIONS).withColumn("k", F.col("id") % GROUPS)
    assert table.groupBy("k").count().count() == GROUPS
    context.setLocalProperty("spark.probe.section", "rest")
    counter = context.accumulator(0)
    context.parallelize(range(100), 4).foreach(lambda _: counter.add(1))

    def fail(number: int) -> int:
        if number == 3:
            raise ValueError("three is not a number that I count")
        return number

    # Py4JJavaError of Spark 3.5, an exception of pyspark's own in 4.x
    with pytest.raises(Exception, match="three is not a number"):
        context.parallelize(range(4), 4).map(fail).collect()
    with pytest.raises(Exception, match="no more"):
        spark.sql("SELECT raise_error('no more') FROM range(0, 3, 1, 1)").collect()


def logged(sessions: Sessions, folder: Path, master: str = "local[2]", **conf: str) -> EventLog:
    folder.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        **{key.replace("_", "."): value for key, value in conf.items()},
    }
    work(sessions.get(master, settings))
    sessions.stop()
    return eventlog.read(str(folder))


def facts(log: EventLog) -> dict[str, Any]:
    """What is the same however often the job is run: no times and no sizes."""
    totals = log.totals()
    names = ("bad_lines", "complete", "jobs", "jobs_ok", "jobs_failed", "stages", "stages_open")
    first = log.stages.to_pylist()[0]
    table = log.tables
    return {
        **{name: totals[name] for name in names},
        "section": first["section"],
        "description": first["description"],
        "rows read": pc.sum(log.tasks["input_records"]).as_py(),
        "shuffle records": pc.sum(log.tasks["shuffle_write_records"]).as_py(),
        "executions": log.sql_executions["status"].to_pylist(),
        "nodes": table["sql_nodes"].num_rows,
        "plan rows": sorted(
            m["value"]
            for m in table["sql_metrics"].to_pylist()
            if m["name"] == "number of output rows"
        ),
        "problems": log.problems,
    }


@pytest.fixture(scope="module")
def plain(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> EventLog:
    return logged(
        sessions,
        tmp_path_factory.mktemp("plain") / "logs",
        spark_eventLog_compress="false",
        spark_eventLog_rolling_enabled="false",
    )


def test_the_job_is_seen_as_it_ran(plain: EventLog) -> None:
    nodes = facts(plain)["nodes"]
    assert facts(plain) == {
        "bad_lines": 0,
        "complete": True,
        "jobs": 6,  # three of the adaptive aggregation, one for each of the rest
        "jobs_ok": 4,
        "jobs_failed": 2,
        "stages": 6,
        "stages_open": 0,
        "section": "count",
        "description": "the <aggregation>",
        "rows read": ROWS,
        "shuffle records": GROUPS * PARTITIONS + 1,  # partial groups, and the partial count
        "executions": ["succeeded", "failed"],
        "nodes": nodes,
        "plan rows": [1, 1, GROUPS, GROUPS * PARTITIONS, ROWS],
        "problems": (),
    }
    assert nodes > 10
    totals = plain.totals()
    assert totals["task_starts"] == totals["task_ends"]
    assert totals["failed"] == 2  # a local task is not tried again
    failed = plain.tasks.filter(pc.equal(plain.tasks["status"], "failed")).to_pylist()
    assert ["three is not a number" in row["error"] for row in failed] == [True, False]
    assert all(row["run_ms"] is not None for row in failed)
    # A node with rows ran in a stage that the execution has.
    ran = set(plain.tables["sql_stages"]["stage_id"].to_pylist())
    assert ran
    assert ran <= {i for row in plain.sql_executions["stage_ids"].to_pylist() for i in row}
    assert plain.conf()["spark.master"] == "local[2]"


def test_quantiles_lie_between_the_extremes(plain: EventLog) -> None:
    for row in plain.stage_metrics().to_pylist():
        values = [row[name] for name in ("min", "p25", "p50", "p75", "p95", "max")]
        assert values == sorted(values), row
        assert row["total"] >= row["max"]


@pytest.mark.parametrize(("codec", "rolling"), WAYS)
def test_every_codec_of_spark(
    sessions: Sessions, plain: EventLog, tmp_path: Path, codec: str, rolling: bool
) -> None:
    log = logged(
        sessions,
        tmp_path / "logs",
        spark_eventLog_rolling_enabled=str(rolling).lower(),
        spark_eventLog_compress=str(codec != "none").lower(),
        **({} if codec == "none" else {"spark_eventLog_compression_codec": codec}),
    )
    assert facts(log) == facts(plain)


def test_defaults_and_the_zip_of_them(sessions: Sessions, plain: EventLog, tmp_path: Path) -> None:
    log = logged(sessions, tmp_path / "logs", LOCAL_CLUSTER)
    assert facts(log) == facts(plain)
    assert log.totals()["exec_added"] == 2
    files = {
        str(file.relative_to(tmp_path / "logs")): file.read_bytes()
        for file in (tmp_path / "logs").rglob("*")
        if file.is_file() and not file.name.startswith(".")
    }
    path = tmp_path / "eventLogs.zip"
    path.write_bytes(java_zip(files))
    zipped = eventlog.read(str(path)).totals() | {"file": log.path}
    assert zipped == log.totals()


def test_block_updates_and_peaks(sessions: Sessions, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    spark = sessions.get(
        "local[2]",
        {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.logBlockUpdates.enabled": "true",
            "spark.eventLog.logStageExecutorMetrics": "true",
        },
    )
    numbers = spark.sparkContext.parallelize(range(1_000), 3).cache()
    numbers.count()
    cached = numbers.id()
    numbers.unpersist(blocking=True)
    sessions.stop()
    log = eventlog.read(str(folder))
    blocks = log.tables["block_updates"]
    own = blocks.filter(pc.equal(blocks["rdd_id"], cached))
    assert set(own["partition"].to_pylist()) == {0, 1, 2}
    assert pc.max(own["memory_bytes"]).as_py() > 0
    assert log.tables["unpersists"]["rdd_id"].to_pylist() == [cached]
    assert log.tables["executor_peaks"]["executor_id"].to_pylist()
    assert cached in log.tables["rdds"]["rdd_id"].to_pylist()
