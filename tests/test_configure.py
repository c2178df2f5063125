"""`configure` and the errors of `enable`, on real builders, with no Spark started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

import spark_probe
from spark_probe import ConfigError, SessionError
from spark_probe.jar import jar_path
from spark_probe.launch import SubmitArgs, read_properties

PLUGIN = "io.sparkprobe.SparkProbePlugin"
FLAGS = "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"


@pytest.fixture(autouse=True)
def a_python_without_a_jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """As a plain script starts; another test of this process may have a JVM already."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_jvm", None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    yield
    monkeypatch.undo()


def options(builder: SparkSession.Builder) -> dict[str, Any]:
    return dict(builder._options)


def test_it_sets_plugin_jar_and_flags_and_returns_the_builder() -> None:
    builder = SparkSession.builder
    assert spark_probe.configure(builder) is builder
    assert options(builder) == {
        "spark.plugins": PLUGIN,
        "spark.jars": jar_path().as_uri(),
        "spark.executor.extraJavaOptions": FLAGS,
        "spark.driver.extraJavaOptions": FLAGS,
    }


def test_what_the_builder_has_stays() -> None:
    builder = (
        SparkSession.builder.config("spark.plugins", "a.B")
        .config("spark.jars", "/a.jar,/b.jar")
        .config("spark.executor.extraJavaOptions", "-Xss4m")
    )
    found = options(spark_probe.configure(builder))
    assert found["spark.plugins"] == f"a.B,{PLUGIN}"
    assert found["spark.jars"] == f"/a.jar,/b.jar,{jar_path().as_uri()}"
    assert found["spark.executor.extraJavaOptions"] == f"-Xss4m {FLAGS}"


def test_twice_is_once() -> None:
    builder = spark_probe.configure(SparkSession.builder)
    once = options(builder)
    assert options(spark_probe.configure(builder)) == once


def test_a_jar_of_this_version_elsewhere_is_enough() -> None:
    theirs = f"hdfs://libs/{jar_path().name}"
    builder = SparkSession.builder.config("spark.jars", theirs)
    assert options(spark_probe.configure(builder))["spark.jars"] == theirs


def test_the_defaults_file_counts(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# comment\nspark.plugins   x.Y\nspark.driver.extraJavaOptions=-Da=b -Dc\n"
        "spark.probe.interval: 20ms\n"
    )
    found = options(spark_probe.configure(SparkSession.builder, bucket="5s"))
    assert found["spark.plugins"] == f"x.Y,{PLUGIN}"
    assert found["spark.driver.extraJavaOptions"] == f"-Da=b -Dc {FLAGS}"
    # What is there already needs no setting; only what was asked for here is set.
    assert {key for key in found if key.startswith("spark.probe.")} == {"spark.probe.bucket"}


def test_submit_arguments_are_extended_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        "--jars /x.jar --driver-java-options '-Da=b c' --conf spark.plugins=x.Y pyspark-shell",
    )
    found = options(spark_probe.configure(SparkSession.builder))
    jars = f"/x.jar,{jar_path().as_uri()}"
    assert found["spark.jars"] == jars
    after = SubmitArgs(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert after.conf() == {
        "spark.jars": jars,
        "spark.driver.extraJavaOptions": f"-Da=b c {FLAGS}",
        "spark.plugins": f"x.Y,{PLUGIN}",
    }
    assert str(after).endswith(" pyspark-shell")


def test_options_become_keys_and_are_checked_together_with_those_there() -> None:
    builder = SparkSession.builder.config("spark.probe.bucket", "1s")
    found = options(spark_probe.configure(builder, interval="20ms", events=["cpu"]))
    assert found["spark.probe.interval"] == "20ms"
    assert found["spark.probe.events"] == "cpu"
    assert found["spark.probe.bucket"] == "1s"
    with pytest.raises(ConfigError, match=r"spark\.probe\.interval=fast: it takes a duration"):
        spark_probe.configure(SparkSession.builder, interval="fast")
    with pytest.raises(ConfigError, match="speed is no option of spark_probe"):
        spark_probe.configure(SparkSession.builder, speed="1ms")
    with pytest.raises(ConfigError, match=r"spark\.probe\.bukket is no option"):
        spark_probe.configure(SparkSession.builder.config("spark.probe.bukket", "1s"))


@pytest.mark.parametrize(
    ("key", "value"), [("spark.remote", "sc://host"), ("spark.api.mode", "connect")]
)
def test_a_connect_builder_is_told_what_to_do(key: str, value: str) -> None:
    builder = SparkSession.builder.config(key, value)
    before = options(builder)
    with pytest.raises(SessionError, match=r"Spark Connect.*--conf spark\.plugins=.*--jars"):
        spark_probe.configure(builder)
    assert options(builder) == before


def test_a_connect_environment_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(SessionError, match="Spark Connect"):
        spark_probe.configure(SparkSession.builder)


def test_enable_refuses_a_connect_session() -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SessionError, match=r"its client has no JVM.*On the Connect server"):
        spark_probe.enable(session)


def test_enable_says_what_a_restricted_gateway_bars() -> None:
    class Restricted:
        """As on a shared cluster: the gateway answers each call with an error."""

        @property
        def sparkContext(self) -> object:  # noqa: N802
            raise Py4JError("py4j.security.Py4JSecurityException: Method is not whitelisted")

    with pytest.raises(SessionError, match=r"may not reach the driver's JVM here \(py4j\.security"):
        spark_probe.enable(Restricted())  # type: ignore[arg-type]


def test_enable_checks_its_timeout() -> None:
    with pytest.raises(ConfigError, match="timeout=soon: it takes a duration"):
        spark_probe.enable(None, timeout="soon")  # type: ignore[arg-type]


def test_properties_are_read_as_java_reads_them() -> None:
    text = "a b c\n  d=e = f\n! no\n#no\ng:h\\\n   i\nj\\ k l\nm\n\\\nn=\\t\\u\r\no p\\\\\n"
    assert read_properties(text) == {
        "a": "b c",
        "d": "e = f",
        "g": "hi",
        "j k": "l",
        "m": "",
        "n": "tu",
        "o": "p\\",
    }


@pytest.mark.parametrize(
    ("text", "conf"),
    [
        ("pyspark-shell", {}),
        ("--conf a=b --conf a=c pyspark-shell", {"a": "c"}),
        ("--conf spark.jars=x --jars y pyspark-shell", {"spark.jars": "y"}),
        ("--jars y --conf spark.jars=x pyspark-shell", {"spark.jars": "y"}),
        ("--jars=y --conf=k=v=w pyspark-shell", {"spark.jars": "y", "k": "v=w"}),
        ("--conf 'k=a b' pyspark-shell", {"k": "a b"}),
    ],
)
def test_submit_arguments(text: str, conf: dict[str, str]) -> None:
    assert SubmitArgs(text).conf() == conf


def test_replacing_a_submit_argument() -> None:
    args = SubmitArgs("--conf k=v --jars y pyspark-shell")
    assert args.replace("k", "a b")
    assert args.replace("spark.jars", "z")
    assert not args.replace("other", "1")
    assert str(args) == "--conf 'k=a b' --jars z pyspark-shell"
