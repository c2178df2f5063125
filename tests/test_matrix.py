"""Every way to start, on every kind of cluster, Spark and JDK: the right methods in the right stages.

Which cells run in CI, and which by hand (``make matrix``), is in CONTRIBUTING.md and in the marks below.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import spark_probe
from spark_probe.jar import jar_path
from tests.clusters import testjar
from tests.clusters.spark import (
    LOCAL,
    LOCAL_CLUSTER,
    SPARK_VERSION,
    Drivers,
    Standalone,
    java_home,
    spark_env,
)
from tests.clusters.yarn import MiniCluster
from tests.jobs import two_methods

SECONDS = 3.0

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix: a way to start, and what the driver is started with."""

    way: str
    master: str
    conf: dict[str, str]
    env: dict[str, str]
    executors: set[str]
    java: Path | None = None
    submit: bool = False


def run(cell: Cell, drivers: Drivers, work_jar: Path) -> spark_probe.Profile:
    """Runs the two methods and loads what the probe wrote."""
    folder = drivers.folder / "runs"
    jars = [str(work_jar)]
    conf = {**cell.conf, "spark.driver.memory": "1g"}
    if cell.way == "conf":
        jars.append(str(jar_path()))
        conf["spark.plugins"] = "io.sparkprobe.SparkProbePlugin"
        conf["spark.probe.dir"] = str(folder)
    conf["spark.jars"] = ",".join(jars)
    finished = drivers.run(
        Path(two_methods.__file__),
        [cell.way, str(folder), str(SECONDS)],
        master=cell.master,
        conf=conf,
        env=cell.env,
        java_home=cell.java,
        submit=cell.submit or cell.way == "conf",
    )
    finished.check()
    (path,) = folder.iterdir()
    if finished.out:  # in cluster mode the driver's output is on its node
        assert path.name == json.loads(finished.out.splitlines()[-1])["app_id"]
    return spark_probe.load(path)


def check(profile: spark_probe.Profile, cell: Cell) -> None:
    """Each method's samples are in one stage of its own, as many as its threads' CPU time; each executor is there."""
    stages: dict[str, Any] = {}
    for name in ("alpha", "beta"):
        method = testjar.METHODS[name]
        found = {stage: samples_of(stage, method) for stage in profile.stages}
        best = max(found, key=lambda stage: found[stage])
        assert found[best] >= 0.99 * sum(found.values()) > 0, (name, found)
        stages[name] = best
        # Its samples x 10 ms against the CPU time that the job has it burn; a cold JVM's tasks use more, not in it.
        tasks = profile.tasks.to_pylist()
        ours = [
            row
            for row in tasks
            if (row["stage_id"], row["stage_attempt"]) == (best.id, best.attempt)
        ]
        cpu_s = sum(row["thread_cpu_ns"] for row in ours) / 1e9
        assert len(ours) == two_methods.PARTITIONS
        assert {row["outcome"] for row in ours} == {"succeeded"}
        burnt_s = two_methods.PARTITIONS * SECONDS
        assert cpu_s >= burnt_s
        assert found[best] * 0.01 == pytest.approx(burnt_s, rel=0.1)
    assert stages["alpha"] is not stages["beta"]
    seen = {path.name for path in (Path(profile.path) / "executors").iterdir()}
    assert cell.executors <= seen


def samples_of(stage: Any, method: str) -> int:
    """CPU samples of a stage's graph with the method anywhere on the stack."""
    lines = (line.rpartition(" ") for line in stage.flamegraph("cpu").collapsed().splitlines())
    return sum(int(count) for stack, _, count in lines if method in stack.split(";"))


CI_EVERYWHERE = pytest.mark.every_spark
BY_HAND = pytest.mark.by_hand


@pytest.mark.parametrize(
    ("way", "master"),
    [
        pytest.param("enable", LOCAL, marks=CI_EVERYWHERE),
        pytest.param("configure", LOCAL),
        pytest.param("conf", LOCAL),
        pytest.param("enable", LOCAL_CLUSTER),
        pytest.param("configure", LOCAL_CLUSTER, marks=BY_HAND),
        pytest.param("conf", LOCAL_CLUSTER, marks=CI_EVERYWHERE),
    ],
)
def test_local(drivers: Drivers, work_jar: Path, way: str, master: str) -> None:
    cell = Cell(way, master, {}, {}, {"driver"} if master == LOCAL else {"driver", "0", "1"})
    check(run(cell, drivers, work_jar), cell)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("enable"),
        pytest.param("configure", marks=CI_EVERYWHERE),
        pytest.param("conf", marks=BY_HAND),
    ],
)
def test_standalone(drivers: Drivers, work_jar: Path, standalone: Standalone, way: str) -> None:
    conf = {"spark.executor.cores": "2", "spark.executor.memory": "1g", "spark.cores.max": "4"}
    cell = Cell(way, standalone.url, conf, {}, {"driver", "0", "1"})
    check(run(cell, drivers, work_jar), cell)


@pytest.mark.by_hand
@pytest.mark.parametrize("mode", ["client", "cluster"])
@pytest.mark.parametrize("way", ["enable", "configure", "conf"])
def test_yarn(drivers: Drivers, work_jar: Path, yarn: MiniCluster, way: str, mode: str) -> None:
    if (way, mode) == ("configure", "cluster"):
        pytest.skip("in cluster mode the driver's JVM is there before the job's first line")
    conf = {**yarn.conf(spark_env()), "spark.submit.deployMode": mode}
    cell = Cell(way, "yarn", conf, yarn.env(), {"driver", "1", "2"}, submit=mode == "cluster")
    check(run(cell, drivers, work_jar), cell)


@pytest.mark.by_hand
@pytest.mark.parametrize("way", ["enable", "configure", "conf"])
@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER])
def test_jdk_25(drivers: Drivers, work_jar: Path, way: str, master: str) -> None:
    java = java_home(25)
    if java is None:
        pytest.skip("no JDK 25 under /usr/lib/jvm")
    if SPARK_VERSION < (4, 0):
        pytest.skip("Spark 3.5 does not start on JDK 25")
    executors = {"driver"} if master == LOCAL else {"driver", "0", "1"}
    cell = Cell(way, master, {}, {}, executors, java)
    check(run(cell, drivers, work_jar), cell)
