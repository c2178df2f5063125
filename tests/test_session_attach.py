"""Live attach to real sessions: what it records, that it comes to every executor, and that it leaves no trace."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_probe
from spark_probe import ConfigError, ProbeWarning, SessionError
from tests.clusters.processes import wait_until
from tests.clusters.spark import LOCAL, LOCAL_CLUSTER, Sessions
from tests.runfolder import RunFolder

pytestmark = pytest.mark.slow

MASTERS = [LOCAL, LOCAL_CLUSTER]
PARTITIONS = 4
SLEEP = "java.lang.Thread.sleep"


def work(spark: SparkSession, millions: int = 120) -> None:
    """A job of one busy stage and one of a single task."""
    table = spark.range(0, millions * 1_000_000, 1, PARTITIONS)
    table.selectExpr("sum(hash(id, id + 1))").collect()


def sleep(spark: SparkSession, seconds: float, tasks: int = PARTITIONS) -> None:
    """A job whose tasks only sleep, in Java."""
    ms = int(seconds * 1000)
    spark.range(0, tasks, 1, tasks).selectExpr(
        f"java_method('java.lang.Thread', 'sleep', {ms}L)"
    ).collect()


def executors(master: str) -> set[str]:
    """Who runs tasks under a master."""
    return {"driver"} if master == LOCAL else {"0", "1"}


def in_background(job: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=job)
    thread.start()
    return thread


def running_tasks(spark: SparkSession) -> int:
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(info.numActiveTasks for info in infos if info is not None)


def probe_threads(pid: int) -> list[str]:
    """Names of our threads in a JVM."""
    done = subprocess.run(
        ["jcmd", str(pid), "Thread.print"], capture_output=True, text=True, check=True
    )
    return re.findall(r'^"(spark-probe[^"]*)"', done.stdout, re.MULTILINE)


def native_copies(pid: int) -> set[str]:
    """Native profilers mapped into a JVM, by device and inode: their files are deleted."""
    found = set()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "libasyncProfiler" in line:
            found.add(" ".join(line.split()[3:5]))
    return found


@pytest.mark.every_spark
@pytest.mark.parametrize("master", MASTERS)
def test_attached_then_detached(sessions: Sessions, tmp_path: Path, master: str) -> None:
    spark = sessions.get(master)
    work(spark, 1)
    with spark_probe.enable(spark, dir=tmp_path) as probe:
        work(spark)
        status = probe.status()
    assert executors(master) <= set(status)
    assert Path(probe.path).parent == tmp_path
    run = RunFolder(Path(probe.path))
    assert run.run["mode"] == "attach"
    assert run.run["attached_ms"] <= run.run["detached_ms"]
    for executor in executors(master):
        assert run.status[executor]["state"] == "stopped", run.status[executor]
        assert run.status[executor]["engine"] == "ctimer"
    tasks = run.tasks()
    assert {task["executor"] for task in tasks.values()} == executors(master)
    assert {task["outcome"] for task in tasks.values()} == {"succeeded"}
    # Samples of the tasks' threads against those threads' own CPU time; each task has at most one of error.
    cpu_s = sum(task["thread_cpu_ns"] for task in tasks.values()) / 1e9
    ours = run.count(lambda sample: sample.event == "cpu" and sample.kind == "task")
    assert ours * 0.01 == pytest.approx(cpu_s, rel=0.05, abs=0.01 * len(tasks))
    # What comes after is not ours.
    before = sorted(run.path.rglob("*.parquet"))
    work(spark, 1)
    assert sorted(run.path.rglob("*.parquet")) == before
    for executor in {"driver"} | executors(master):
        assert probe_threads(status[executor]["pid"]) == []


@pytest.mark.every_spark
@pytest.mark.parametrize("master", MASTERS)
def test_ten_times_on_and_off(sessions: Sessions, tmp_path: Path, master: str) -> None:
    spark = sessions.get(master)
    pids: dict[str, int] = {}
    for turn in range(10):
        probe = spark_probe.enable(spark, dir=tmp_path)
        work(spark, 8)
        pids = {name: status["pid"] for name, status in probe.status().items()}
        probe.stop()
        probe.stop()
        run = RunFolder(Path(probe.path))
        name = spark.sparkContext.applicationId + ("" if turn == 0 else f".{turn + 1}")
        assert run.path.name == name
        assert len(run.tasks()) >= PARTITIONS
        assert run.count(lambda sample: sample.kind == "task") > 0
    assert executors(master) <= set(pids)
    for pid in pids.values():
        assert probe_threads(pid) == []
        assert len(native_copies(pid)) == 1


@pytest.mark.every_spark
def test_tasks_that_run_already_are_known_from_then_on(sessions: Sessions, tmp_path: Path) -> None:
    spark = sessions.get(LOCAL)
    job = in_background(lambda: sleep(spark, 6))
    wait_until(lambda: running_tasks(spark) == PARTITIONS, 30, "four running tasks")
    with spark_probe.enable(spark, dir=tmp_path, wall_interval="20ms") as probe:
        job.join()
    run = RunFolder(Path(probe.path))
    tasks = run.tasks()
    assert len(tasks) == PARTITIONS
    slept = run.by(
        lambda sample: sample.task, lambda sample: sample.event == "wall" and sample.has(SLEEP)
    )
    for task in tasks.values():
        assert task["outcome"] == "succeeded"
        seconds = (task["end_mono_ns"] - task["start_mono_ns"]) / 1e9
        assert 1 < seconds < 6
        assert slept[task["task_id"]] * 0.02 == pytest.approx(seconds, rel=0.15)


def test_busy_executors_are_attached_before_the_tasks_that_wait(
    sessions: Sessions, tmp_path: Path
) -> None:
    """Two slots, six tasks of 8 s: ours goes in when the first two end, not when the last do."""
    spark = sessions.get(LOCAL_CLUSTER)
    job = in_background(lambda: sleep(spark, 8, tasks=6))
    wait_until(lambda: running_tasks(spark) == 2, 30, "two running tasks")
    with pytest.warns(ProbeWarning, match="not attached yet: executor 0, 1, whose slots are all"):
        probe = spark_probe.enable(spark, dir=tmp_path, timeout="1s")

    def attached() -> bool:
        states = {name: status["state"] for name, status in probe.status().items()}
        return states.get("0") == states.get("1") == "recording"

    wait_until(attached, 20, "both executors attached")
    assert job.is_alive()
    job.join()
    probe.stop()
    tasks = RunFolder(Path(probe.path)).tasks()
    assert len(tasks) == 4  # the first two were not running when we came


def test_an_executor_that_comes_later_is_attached(sessions: Sessions, tmp_path: Path) -> None:
    """A killed executor's place is taken by a new one, with a new id."""
    spark = sessions.get(LOCAL_CLUSTER)
    probe = spark_probe.enable(spark, dir=tmp_path)
    work(spark, 8)
    before = set(probe.status())
    victim = sorted(before - {"driver"})[0]
    os.kill(probe.status()[victim]["pid"], signal.SIGKILL)

    def newcomer() -> set[str]:
        status = probe.status()
        return {name for name in set(status) - before if status[name]["state"] == "recording"}

    (new,) = wait_until(newcomer, 60, "the new executor attached")
    wait_until(lambda: probe.status()[victim]["state"] == "lost", 30, "the old one known as lost")
    for _ in range(5):
        work(spark, 20)
    probe.stop()
    run = RunFolder(Path(probe.path))
    assert run.status[new]["state"] == "stopped"
    assert run.status[victim]["state"] == "lost"
    assert new in {task["executor"] for task in run.tasks().values()}
    sessions.stop()  # the others count on executors 0 and 1


def test_a_second_enable_takes_hold_of_the_first(sessions: Sessions, tmp_path: Path) -> None:
    spark = sessions.get(LOCAL)
    with spark_probe.enable(spark, dir=tmp_path, bucket="5s") as probe:
        with spark_probe.enable(spark, bucket="5s") as again:
            assert again.path == probe.path
            assert repr(again).startswith("<Probe on: ")
        assert probe.status()["driver"]["state"] == "recording"
        with pytest.raises(ConfigError, match=r"spark\.probe\.bucket=1s: profiling is on with 5s"):
            spark_probe.enable(spark, bucket="1s")
    assert repr(probe) == f"<Probe stopped: {probe.path}>"


def test_sections_are_in_the_jobs_properties(sessions: Sessions, tmp_path: Path) -> None:
    spark = sessions.get(LOCAL)
    sc = spark.sparkContext
    with spark_probe.enable(spark, dir=tmp_path) as probe:
        with probe.section("outer"):
            with probe.section("inner"):
                assert sc.getLocalProperty("spark.probe.section") == "inner"
            assert sc.getLocalProperty("spark.probe.section") == "outer"
            with pytest.raises(ZeroDivisionError), probe.section("fails"):
                _ = 1 / 0
            assert sc.getLocalProperty("spark.probe.section") == "outer"
        assert sc.getLocalProperty("spark.probe.section") is None


@pytest.mark.every_spark
def test_a_run_folder_elsewhere_is_fetched(sessions: Sessions, tmp_path: Path) -> None:
    """viewfs is no local file system to Hadoop: executors write to it themselves, and we have to copy from it."""
    conf = {
        "spark.hadoop.fs.viewfs.mounttable.far.link./probe": tmp_path.as_uri(),
        "spark.probe.dir": "viewfs://far/probe",
    }
    spark = sessions.get(LOCAL_CLUSTER, conf)
    with spark_probe.enable(spark) as probe:
        work(spark)
        assert probe.path.startswith("viewfs://far/probe/")
        first = probe.profile()
        assert Path(first.path).is_dir()
        seen = first.samples.num_rows
        work(spark)
    last = probe.profile()
    assert first.path == last.path
    assert last.samples.num_rows > seen > 0
    # Written by the executors themselves: nothing went through the driver's folder.
    (there,) = tmp_path.iterdir()
    assert {"0", "1", "driver"} <= {path.name for path in (there / "executors").iterdir()}


@pytest.mark.every_spark
@pytest.mark.parametrize("master", MASTERS)
def test_a_profile_while_the_job_runs(sessions: Sessions, tmp_path: Path, master: str) -> None:
    spark = sessions.get(master)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProbeWarning)
        with spark_probe.enable(spark, dir=tmp_path) as probe:
            work(spark)
            profile = probe.profile(timeout="20s")
            busiest = max(profile.stages, key=lambda stage: stage.tasks)
            assert busiest.tasks == PARTITIONS
            assert "hash" in busiest.flamegraph("cpu").collapsed().lower()
            assert probe.triggers().num_rows == 0


def test_a_bad_option_changes_nothing(sessions: Sessions, tmp_path: Path) -> None:
    spark = sessions.get(LOCAL)
    with pytest.raises(ConfigError, match=r"spark\.probe\.interval=1us"):
        spark_probe.enable(spark, dir=tmp_path, interval="1us")
    with pytest.raises(ConfigError, match=r"spark\.probe\.mode=off"):
        spark_probe.enable(spark, dir=tmp_path, mode="off")
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_session_is_refused(sessions: Sessions, tmp_path: Path) -> None:
    spark = sessions.get(LOCAL)
    probe = spark_probe.enable(spark, dir=tmp_path)
    work(spark, 8)
    sessions.stop()
    with pytest.raises(SessionError, match="this Spark session has been stopped"):
        spark_probe.enable(spark)
    # What was recorded is there: Spark's end was ours.
    probe.stop()
    run = RunFolder(Path(probe.path))
    assert run.run["end_ms"] is not None
    assert len(run.tasks()) >= PARTITIONS
    # The next session of the same JVM can be profiled as well.
    spark = sessions.get(LOCAL)
    with spark_probe.enable(spark, dir=tmp_path) as probe:
        work(spark, 8)
    assert len(RunFolder(Path(probe.path)).tasks()) >= PARTITIONS
