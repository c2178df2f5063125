"""A driver program for tests that break something: burns in `burnAlpha`, and does what its scenario says.

python faults.py SCENARIO SECONDS. The last line of its output is JSON: the application id and the scenario's answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from tests.clusters import testjar
from tests.jobs.attribution import PARTITIONS, STEP_MICROS, rows


def burn(spark: SparkSession, seconds: float, partitions: int = PARTITIONS) -> None:
    rows(spark, "alpha", STEP_MICROS, int(seconds * 1e6 / STEP_MICROS), partitions)


def plain(spark: SparkSession, seconds: float) -> None:
    burn(spark, seconds)


def twenty_flushes(spark: SparkSession, seconds: float) -> dict[str, object]:
    """Burns while the probe is asked to flush twenty times, and tells what async-profiler counted."""
    jvm: Any = spark._jvm
    control = jvm.io.sparkprobe.ProbeControl.current()
    for _ in range(20):
        burn(spark, seconds / 20)
        answer = json.loads(control.flushJson(60_000))
        assert not answer["late"], answer
    metrics = jvm.one.profiler.AsyncProfiler.getInstance().execute("metrics")
    return {name: int(value) for name, value in (line.split() for line in metrics.splitlines())}


def kill_an_executor(spark: SparkSession, seconds: float) -> dict[str, object]:
    """Kills an executor with SIGKILL after a flush, in the middle of a stage; Spark starts another."""
    burn(spark, seconds)
    jvm: Any = spark._jvm
    control = jvm.io.sparkprobe.ProbeControl.current()
    json.loads(control.flushJson(60_000))
    executors = json.loads(control.statusJson())
    victim = min(executor for executor in executors if executor != "driver")
    pid = executors[victim]["pid"]
    assert psutil.pid_exists(pid)
    os.kill(pid, signal.SIGKILL)
    burn(spark, seconds)
    deadline = time.monotonic() + 60
    while (
        json.loads(control.statusJson())[victim]["state"] != "lost" and time.monotonic() < deadline
    ):
        time.sleep(0.2)
    return {"victim": victim, "samples": executors[victim]["samples"]}


def another_profiler(spark: SparkSession, seconds: float) -> None:
    """The other one came with the JVM (-agentpath); the job is what matters here."""
    burn(spark, seconds)


def main(scenario: str, seconds: float) -> None:
    spark = SparkSession.builder.appName(scenario).getOrCreate()
    testjar.register(spark)
    answer = globals()[scenario](spark, seconds)
    app_id = spark.sparkContext.applicationId
    spark.stop()
    print(json.dumps({"app_id": app_id, "answer": answer, "cwd": str(Path.cwd())}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
