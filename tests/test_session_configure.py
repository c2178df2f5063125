"""Sessions that begin with the plugin: in a JVM that runs already, and what `enable` does to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_probe
from spark_probe import ConfigError, SessionError
from tests.clusters.spark import BASE_CONF, LOCAL, LOCAL_CLUSTER, Sessions
from tests.runfolder import RunFolder, load

pytestmark = pytest.mark.slow


def work(spark: SparkSession) -> None:
    spark.range(0, 20_000_000, 1, 4).selectExpr("sum(hash(id))").collect()


@pytest.fixture
def builder(sessions: Sessions) -> Iterator[SparkSession.Builder]:
    """A builder in a process whose JVM has been started by an earlier session, without our jar."""
    sessions.get(LOCAL)
    sessions.stop()
    builder = SparkSession.builder.appName("configured")
    for key, value in BASE_CONF.items():
        builder = builder.config(key, value)
    yield builder
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()


@pytest.mark.every_spark
@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER])
def test_configured_in_a_jvm_that_runs(
    builder: SparkSession.Builder, tmp_path: Path, master: str
) -> None:
    spark = spark_probe.configure(builder.master(master), dir=tmp_path).getOrCreate()
    work(spark)
    with spark_probe.enable(spark) as probe:
        assert Path(probe.path).parent == tmp_path
        status = probe.status()
    # It was not this block that started it, so it goes on.
    work(spark)
    with pytest.raises(
        ConfigError, match=r"spark\.probe\.interval=50ms: profiling is on with 10ms"
    ):
        spark_probe.enable(spark, interval="50ms")
    assert spark_probe.enable(spark, interval="10ms").path == probe.path
    # Once more, as when a notebook's cell is run again: nothing to change.
    spark_probe.configure(SparkSession.builder)
    spark.stop()
    run = load(tmp_path)
    assert run.run["mode"] == "plugin"
    assert run.run["end_ms"] is not None
    assert len(run.tasks()) == 2 * (4 + 1)
    names = {"driver"} if master == LOCAL else {"driver", "0", "1"}
    assert names == set(status) == set(run.status)
    assert {name: run.status[name]["state"] for name in names} == dict.fromkeys(names, "stopped")


@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER])
def test_stopped_then_enabled_again(
    builder: SparkSession.Builder, tmp_path: Path, master: str
) -> None:
    """`stop` ends a plugin's recording too; `enable` after it attaches, for a run of its own."""
    spark = spark_probe.configure(builder.master(master), dir=tmp_path).getOrCreate()
    work(spark)
    first = spark_probe.enable(spark)
    first.stop()
    work(spark)
    with spark_probe.enable(spark, interval="20ms") as second:
        work(spark)
    assert second.path == f"{first.path}.2"
    before, after = RunFolder(Path(first.path)), RunFolder(Path(second.path))
    assert (before.run["mode"], after.run["mode"]) == ("plugin", "attach")
    assert after.run["conf"]["spark.probe.interval"] == "20ms"
    assert len(before.tasks()) == len(after.tasks()) == 5
    assert not set(before.tasks()) & set(after.tasks())


def test_a_running_session_without_the_plugin_is_for_enable(sessions: Sessions) -> None:
    sessions.get(LOCAL)
    with pytest.raises(SessionError, match=r"running already.*use spark_probe\.enable\(spark\)"):
        spark_probe.configure(SparkSession.builder)
