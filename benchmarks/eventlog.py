"""How fast a Spark event log becomes tables, and in how much memory.

    python -m benchmarks.eventlog                        # 1 GB, 400,000 tasks, and a tenth of it
    python -m benchmarks.eventlog --tasks 4000000        # ten times the tasks
    python -m benchmarks.eventlog --codec zstd
    python -m benchmarks.eventlog --history-server       # Spark's own replay of the same log beside it

The log is generated: every event has the fields, in the order and with the names, that Spark 4.3 writes; stages of
200 to 2,000 tasks over 100 executors, one SQL execution a stage, times and sizes log-normal. It is read in a process
of its own, whose wall time, CPU time and peak resident memory are printed: `read` to the tables, then the quantiles
of all stages. Goals: 150 MB/s of plain log on two cores, under 1.5 GiB, ten times the tasks in ten times the time.

With --history-server the History Server of the installed pyspark reads the log too: from the first request that makes
it load the application to the answer with all its stages.
"""

from __future__ import annotations

import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click
import zstandard

from spark_probe.eventlog.schemas import PEAK_METRICS, TASK_METRICS

ROOT = Path(__file__).parents[1]
APP = "app-20261201000000-0001"
START_MS = 1_796_090_400_000
EXECUTORS = 100
CORES = 4

CALL_SITE = "\n".join(
    f"org.apache.spark.sql.classic.Dataset.frame{i}(Dataset.scala:{100 + i})" for i in range(16)
)


class Hole(int):
    """A number in a template that is filled in later."""


HOLE = Hole(123_454_321)


def template(event: dict[str, Any]) -> str:
    """The event as Spark writes JSON, with `%d` for each HOLE and `%%` for each percent sign."""
    text = json.dumps(event, separators=(",", ":"))
    return text.replace("%", "%%").replace(str(int(HOLE)), "%d") + "\n"


def task_info(ended: bool, accumulables: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "Task ID": HOLE,
        "Index": HOLE,
        "Attempt": 0,
        "Partition ID": HOLE,
        "Launch Time": HOLE,
        "Executor ID": "%d",
        "Host": "10.0.%d.17",
        "Locality": "NODE_LOCAL",
        "Speculative": False,
        "Getting Result Time": 0,
        "Finish Time": HOLE if ended else 0,
        "Failed": False,
        "Killed": False,
        "Accumulables": accumulables,
    }


def sql_value(number: int, name: str) -> dict[str, Any]:
    return {
        "ID": number,
        "Name": name,
        "Update": "%d",
        "Value": "%d",
        "Internal": True,
        "Count Failed Values": True,
        "Metadata": "sql",
    }


def _holes(names: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return dict.fromkeys(names.split("|"), HOLE) | (more or {})


PUSH = {path[-1]: 0 for path in TASK_METRICS.values() if "Push Based Shuffle" in path}

TASK_START = (
    template(
        {
            "Event": "SparkListenerTaskStart",
            "Stage ID": HOLE,
            "Stage Attempt ID": 0,
            "Task Info": task_info(False, []),
        }
    )
    .replace('"%%d"', '"%d"')
    .replace("10.0.%%d", "10.0.%d")
)

TASK_END = (
    template(
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": HOLE,
            "Stage Attempt ID": 0,
            "Task Type": "ShuffleMapTask",
            "Task End Reason": {"Reason": "Success"},
            "Task Info": task_info(True, [sql_value(39, "number of output rows")]),
            "Task Executor Metrics": dict.fromkeys(PEAK_METRICS.values(), HOLE),
            "Task Metrics": _holes(
                "Executor Deserialize Time|Executor Deserialize CPU Time|Executor Run Time|"
                "Executor CPU Time|Peak Execution Memory|Peak On Heap Execution Memory|"
                "Peak Off Heap Execution Memory|Result Size|JVM GC Time|Result Serialization Time|"
                "Memory Bytes Spilled|Disk Bytes Spilled",
                {
                    "Shuffle Read Metrics": _holes(
                        "Remote Blocks Fetched|Local Blocks Fetched|Fetch Wait Time|Remote Bytes Read|"
                        "Remote Bytes Read To Disk|Local Bytes Read|Total Records Read|"
                        "Remote Requests Duration",
                        {"Push Based Shuffle": PUSH},
                    ),
                    "Shuffle Write Metrics": _holes(
                        "Shuffle Bytes Written|Shuffle Write Time|Shuffle Records Written"
                    ),
                    "Input Metrics": _holes("Bytes Read|Records Read"),
                    "Output Metrics": _holes("Bytes Written|Records Written"),
                    "Updated Blocks": [],
                },
            ),
        }
    )
    .replace('"%%d"', '"%d"')
    .replace("10.0.%%d", "10.0.%d")
)


def plan(first: int) -> dict[str, Any]:
    """A small physical plan whose metrics are accumulators from `first` on."""

    def node(name: str, children: list[Any], metrics: list[tuple[str, str]]) -> dict[str, Any]:
        nonlocal first
        listed = []
        for metric, kind in metrics:
            listed.append({"name": metric, "accumulatorId": first, "metricType": kind})
            first += 1
        return {
            "nodeName": name,
            "simpleString": f"{name} [key#1, value#2, hash(key#1, 42) AS h#3]",
            "children": children,
            "metadata": {},
            "metrics": listed,
        }

    rows = ("number of output rows", "sum")
    scan = node("Scan parquet", [], [rows, ("scan time", "timing"), ("size of files read", "size")])
    agg = node("HashAggregate", [node("Project", [scan], [])], [rows, ("peak memory", "size")])
    return node("WholeStageCodegen (1)", [agg], [("duration", "timing")])


def events(tasks: int, seed: int = 1) -> Iterator[str]:
    """The lines of a log of so many tasks."""
    rng = random.Random(seed)

    def line(event: str, **fields: Any) -> str:
        return json.dumps({"Event": event, **fields}, separators=(",", ":")) + "\n"

    sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    yield line("SparkListenerLogStart", **{"Spark Version": "4.3.0"})
    yield line(
        "SparkListenerApplicationStart",
        **{"App Name": "benchmark", "App ID": APP, "Timestamp": START_MS, "User": "bench"},
    )
    yield line(
        "SparkListenerEnvironmentUpdate",
        **{
            "JVM Information": {"Java Version": "17"},
            "Spark Properties": {f"spark.property.{i}": str(i) for i in range(60)},
            "Hadoop Properties": {f"fs.property.{i}": str(i) for i in range(900)},
            "System Properties": {},
            "Metrics Properties": {},
            "Classpath Entries": {
                f"/opt/spark/jars/{i}.jar": "System Classpath" for i in range(250)
            },
        },
    )
    for executor in range(EXECUTORS):
        yield line(
            "SparkListenerExecutorAdded",
            **{
                "Timestamp": START_MS + executor,
                "Executor ID": str(executor),
                "Executor Info": {
                    "Host": f"10.0.{executor % 50}.17",
                    "Total Cores": CORES,
                    "Log Urls": {},
                    "Attributes": {},
                    "Resources": {},
                    "Resource Profile Id": 0,
                },
            },
        )
    now, task_id, stage = START_MS + 5_000, 0, 0
    while task_id < tasks:
        count = min(rng.randint(200, 2_000), tasks - task_id)
        properties = {"spark.sql.execution.id": str(stage), "spark.job.description": "a stage"}
        yield line(
            f"{sql}Start",
            executionId=stage,
            rootExecutionId=stage,
            description="a stage",
            details=CALL_SITE,
            physicalPlanDescription="== Physical Plan ==\n" + "* Project (1)\n" * 60,
            sparkPlanInfo=plan(100 * stage),
            time=now,
            modifiedConfigs={},
        )
        info = {
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Stage Name": "collect at job.py:10",
            "Number of Tasks": count,
            "RDD Info": [rdd(10 * stage + i, count) for i in range(5)],
            "Parent IDs": [],
            "Details": CALL_SITE,
            "Submission Time": now,
            "Accumulables": [],
            "Resource Profile Id": 0,
        }
        yield line(
            "SparkListenerJobStart",
            **{
                "Job ID": stage,
                "Submission Time": now,
                "Stage Infos": [info],
                "Stage IDs": [stage],
                "Properties": properties,
            },
        )
        yield line("SparkListenerStageSubmitted", **{"Stage Info": info, "Properties": properties})
        ended = yield from task_lines(rng, stage, task_id, count, now)
        info["Completion Time"] = ended
        info["Accumulables"] = [
            sql_value(100 * stage, "number of output rows") | {"Update": "7", "Value": "700"}
        ]
        yield line("SparkListenerStageCompleted", **{"Stage Info": info})
        yield line(
            "SparkListenerJobEnd",
            **{
                "Job ID": stage,
                "Completion Time": ended,
                "Job Result": {"Result": "JobSucceeded"},
            },
        )
        yield line(f"{sql}End", executionId=stage, time=ended, errorMessage="")
        now, task_id, stage = ended + 50, task_id + count, stage + 1
    yield line("SparkListenerApplicationEnd", Timestamp=now)


def rdd(number: int, partitions: int) -> dict[str, Any]:
    return {
        "RDD ID": number,
        "Name": "MapPartitionsRDD",
        "Scope": f'{{"id":"{number}","name":"WholeStageCodegen (1)"}}',
        "Callsite": "collect at job.py:10",
        "Parent IDs": [number - 1],
        "Storage Level": {
            "Use Disk": False,
            "Use Memory": False,
            "Use Off Heap": False,
            "Deserialized": False,
            "Replication": 1,
        },
        "Barrier": False,
        "DeterministicLevel": "DETERMINATE",
        "Number of Partitions": partitions,
        "Number of Cached Partitions": 0,
        "Memory Size": 0,
        "Disk Size": 0,
    }


def task_lines(
    rng: random.Random, stage: int, first: int, count: int, now: int
) -> Generator[str, None, int]:
    """Starts and ends of a stage's tasks as its slots come free; returns when the last ends."""
    slots = EXECUTORS * CORES
    free = [now] * min(slots, count)
    for number in range(count):
        task, slot = first + number, number % len(free)
        executor, launch = slot % EXECUTORS, free[slot]
        run = int(rng.lognormvariate(7, 0.8))
        free[slot] = launch + run + 20
        where = (task, number, number, launch, executor, executor % 50)
        yield TASK_START % (stage, *where)
        size = int(rng.lognormvariate(16, 1))
        heap = 2_000_000_000 + size
        yield TASK_END % (
            *(stage, *where, free[slot], number, 7 * number),
            *(heap, 190_000_000, size, 0, 18_842, 0, size, 0, 3_897, 0, 0, 0, 0, 0, 0, 0),
            *(13, 120, 4, 353, 473, 0, 0),
            *(6, 5_000_000, run, run * 800_000, size, size, 0, 2_115, run // 20, 1, 0, 0),
            *(90, 10, run // 50, size, 0, size // 10, size // 100, run // 40),
            *(size, 90_000 * run, size // 100),
            *(2 * size, size // 50, 0, 0),
        )
    return max(free)


def write_log(path: Path, tasks: int, codec: str) -> int:
    """Write the log; returns its size in bytes before compression."""
    size = 0
    opened = path.open("wb")
    packer = zstandard.ZstdCompressor(level=1)
    with packer.stream_writer(opened) if codec == "zstd" else opened as out:
        lines = events(tasks)
        while batch := "".join(islice(lines, 2_000)).encode():
            out.write(batch)
            size += len(batch)
    return size


@dataclass(frozen=True)
class Result:
    """One reading: seconds of wall and CPU time, peak resident memory in bytes, tasks found."""

    read_s: float
    cpu_s: float
    summary_s: float
    peak_bytes: int
    tasks: int


def read_here(path: str) -> Result:
    """Read the log in this process."""
    from spark_probe import eventlog

    start, cpu = time.perf_counter(), time.process_time()
    log = eventlog.read(path)
    middle, cpu = time.perf_counter(), time.process_time() - cpu
    log.stage_metrics()
    log.stage_summary()
    end = time.perf_counter()
    assert log.complete, log.problems
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Result(middle - start, cpu, end - middle, peak, log.tasks.num_rows)


def read_apart(path: Path) -> Result:
    """Read the log in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.eventlog", "--read", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Result(**json.loads(done.stdout))


def history_server(directory: Path, tasks: int) -> float:
    """Seconds from the request that loads the application to all its stages."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = f"-Dspark.history.fs.logDirectory={directory.as_uri()} -Dspark.history.ui.port={port}"
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_HISTORY_OPTS": conf,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "6g",
    }
    server = subprocess.Popen(
        [str(home / "bin/spark-class"), "org.apache.spark.deploy.history.HistoryServer"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    api = f"http://127.0.0.1:{port}/api/v1/applications"
    try:
        deadline = time.monotonic() + 300
        while not _get(api):
            if time.monotonic() > deadline or server.poll() is not None:
                raise click.ClickException("the History Server did not list the log")
            time.sleep(0.5)
        start = time.perf_counter()
        stages = _get(f"{api}/{APP}/stages", timeout_s=3_600)
        taken = time.perf_counter() - start
        found = sum(s["numCompleteTasks"] for s in stages)
        if found == 0:
            raise click.ClickException("the History Server could not replay the log")
        if found != tasks:  # it keeps so many stages (spark.ui.retainedStages) and drops the rest
            click.echo(f"the History Server shows {found:,} of {tasks:,} tasks")
        return taken
    finally:
        server.terminate()
        server.wait(30)


def _get(url: str, timeout_s: float = 10) -> list[Any]:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            found: list[Any] = json.load(answer)
            return found
    except (urllib.error.URLError, ConnectionError):
        return []


@click.command()
@click.option("--tasks", default=400_000, show_default=True, help="Tasks in the log.")
@click.option("--codec", default="none", type=click.Choice(["none", "zstd"]), show_default=True)
@click.option(
    "--repeat", default=3, show_default=True, help="Readings of each log; the best counts."
)
@click.option("--history-server", "with_server", is_flag=True, help="Spark's own replay, too.")
@click.option("--read", "path", hidden=True)
def main(tasks: int, codec: str, repeat: int, with_server: bool, path: str | None) -> None:
    """Measure how fast event logs are read."""
    if path:
        click.echo(json.dumps(asdict(read_here(path))))
        return
    rates = []
    with tempfile.TemporaryDirectory() as scratch:
        for count in (tasks // 10, tasks):
            file = Path(scratch) / (APP if codec == "none" else f"{APP}.{codec}")
            size = write_log(file, count, codec)
            results = [read_apart(file) for _ in range(repeat)]
            best = min(results, key=lambda r: r.read_s)
            assert best.tasks == count, best
            rates.append(count / best.read_s)
            click.echo(
                f"{count:>9,} tasks  {size / 1e6:8,.0f} MB ({file.stat().st_size / 1e6:,.0f} stored)  "
                f"read {best.read_s:6.2f} s = {size / 1e6 / best.read_s:5,.0f} MB/s, "
                f"{best.cpu_s:.2f} s CPU; quantiles {best.summary_s:.2f} s; "
                f"peak {max(r.peak_bytes for r in results) / 2**30:.2f} GiB"
            )
            if count == tasks and with_server:
                taken = history_server(Path(scratch), count)
                click.echo(f"History Server {taken:.2f} s: {taken / best.read_s:.1f} times as long")
    click.echo(f"ten times the tasks takes {10 * rates[0] / rates[1]:.1f} times as long")


if __name__ == "__main__":
    main()
