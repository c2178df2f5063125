"""Fixtures of every test. Those that start Spark belong to tests with the marker ``slow``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.clusters.processes import leftovers, mark_this_run

if TYPE_CHECKING:  # imported in the fixtures, so that fast tests do not wait for pyspark
    from tests.clusters.spark import Drivers, Sessions, Standalone
    from tests.clusters.yarn import MiniCluster

# Before anything starts a JVM: without it Spark binds the address that the host's name resolves to.
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
MARK = mark_this_run()

# The same examples each time, however slow the machine, and no folder of them left behind.
settings.register_profile("spark_probe", deadline=None, derandomize=True, database=None)
settings.load_profile("spark_probe")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left() -> Iterator[None]:
    """The last to run: what a test started and did not end is killed by its pid, and named."""
    yield
    names = []
    for process in leftovers(MARK):
        names.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
        process.kill()
    assert not names, "processes were left running:\n" + "\n".join(names)


@pytest.fixture(scope="session")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """SparkSessions in this process, one at a time; the last one is kept for the next test that wants the same."""
    from tests.clusters.spark import Sessions

    holder = Sessions(tmp_path_factory.mktemp("sessions"))
    yield holder
    holder.close()


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    """Driver programs in processes of their own, with this test's folder as their working directory."""
    from tests.clusters.spark import Drivers

    return Drivers(tmp_path)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A standalone master and one worker of four cores."""
    from tests.clusters.spark import Standalone

    with Standalone(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    """YARN with two node managers, on the local file system."""
    from tests.clusters.yarn import MiniCluster

    with MiniCluster(tmp_path_factory.mktemp("yarn"), ROOT / "build" / "clusters") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def hdfs_yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    """YARN with HDFS as the default file system."""
    from tests.clusters.yarn import MiniCluster

    with MiniCluster(
        tmp_path_factory.mktemp("hdfs-yarn"), ROOT / "build" / "clusters", "yarn,hdfs"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def work_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar of Java functions for SQL, each with its work in a method of a known name (`testjar.METHODS`)."""
    from tests.clusters import testjar

    return testjar.build(tmp_path_factory.mktemp("work-jar"))
