"""ProbeConfig: values and units checked once, conf keys there and back, and equal to its twin in Java."""

from __future__ import annotations

import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from spark_probe import ConfigError, ProbeConfig
from spark_probe.config import parse_duration_ns, parse_size_bytes
from spark_probe.jar import jar_path


def test_defaults_go_to_conf_and_back() -> None:
    conf = ProbeConfig().to_conf()
    assert conf["spark.probe.flush.interval"] == "30s"
    assert conf["spark.probe.events"] == "cpu,wall,alloc,lock"
    assert conf["spark.probe.driver"] == "true"
    assert ProbeConfig.from_conf(conf) == ProbeConfig()


def test_options_of_every_type_go_to_conf_and_back(tmp_path: Path) -> None:
    config = ProbeConfig(
        dir=tmp_path,  # type: ignore[arg-type]
        events=["cpu", "wall"],  # type: ignore[arg-type]
        interval="5MS",
        alloc_interval="512k",
        methods="a.B.c, a.B$D.e",  # type: ignore[arg-type]
        jfr_keep=True,
        stack_depth=256,
    )
    assert config.events == ("cpu", "wall")
    assert config.methods == ("a.B.c", "a.B$D.e")
    assert config.interval == "5ms"
    assert config.dir == str(tmp_path)
    assert ProbeConfig.from_conf(config.to_conf()) == config


def test_keys_of_others_are_ignored() -> None:
    conf = {"spark.master": "local", "spark.probe.interval": "20ms"}
    assert ProbeConfig.from_conf(conf) == ProbeConfig(interval="20ms")


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ProbeConfig().interval = "1s"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "10"}, "spark.probe.interval=10: it takes a duration such as 10ms"),
        ({"interval": 10}, "spark.probe.interval=10: it takes a duration"),
        ({"interval": "100us"}, "at least 1ms"),
        ({"flush_interval": "500ms"}, "spark.probe.flush.interval=500ms: it takes a duration"),
        ({"alloc_interval": "4 m"}, "spark.probe.alloc.interval=4 m: it takes a size"),
        ({"memory_limit": "1m"}, "at least 16m"),
        ({"events": "cpu,heap"}, "spark.probe.events=cpu,heap: it takes one or more of cpu, wall"),
        ({"events": ()}, "it takes one or more of"),
        ({"engine": "gdb"}, "it takes one of auto, ctimer, perf, itimer"),
        ({"mode": None}, "spark.probe.mode=None: it takes one of continuous"),
        ({"driver": "yes"}, "spark.probe.driver=yes: it takes true or false"),
        ({"driver": 1}, "it takes true or false"),
        ({"stack_depth": "deep"}, "it takes a whole number, at least 16"),
        ({"stack_depth": True}, "it takes a whole number"),
        ({"methods": "main"}, "it takes full names of Java methods"),
        ({"dir": 3}, "it takes a path or URL"),
    ],
)
def test_a_bad_value_names_key_value_and_what_it_takes(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        ProbeConfig(**options)
    assert message in str(error.value)


def test_a_name_that_is_no_option_lists_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"flush is no option.*flush_interval"):
        ProbeConfig().with_options({"flush": "1s"})
    with pytest.raises(ConfigError, match=r"spark\.probe\.intervall is no option"):
        ProbeConfig.from_conf({"spark.probe.intervall": "1s"})


@pytest.mark.parametrize(
    ("text", "ns"), [("7ns", 7), ("2us", 2000), ("10ms", 10**7), ("1m", 6 * 10**10), ("0s", 0)]
)
def test_durations(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "size"), [("17", 17), ("512k", 1 << 19), ("4M", 1 << 22), ("1gb", 1 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size_bytes(text) == size


def test_java_has_the_same_options() -> None:
    """The jar's own list of keys: name, type, default, since, meaning."""
    done = subprocess.run(
        ["java", "-cp", str(jar_path()), "io.sparkprobe.ProbeConf"],
        capture_output=True,
        text=True,
        check=True,
    )
    conf = ProbeConfig().to_conf()
    mine = []
    for option in fields(ProbeConfig):
        key, about = ProbeConfig.key(option.name), option.metadata
        mine.append((key, about["type"].name, conf[key], about["since"], about["doc"]))
    assert [tuple(line.split("\t")) for line in done.stdout.splitlines()] == mine


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interval", "900us"),
        ("alloc.interval", "1023"),
        ("flush.interval", "999ms"),
        ("memory.limit", "15m"),
        ("disk.limit", "31m"),
        ("stack.depth", "15"),
        ("events", "cpu,trace"),
        ("driver", "1"),
    ],
)
def test_what_java_refuses_is_refused_here(key: str, value: str) -> None:
    """Pinned to ProbeConfTest.java, which has the same rows."""
    with pytest.raises(ConfigError):
        ProbeConfig.from_conf({f"spark.probe.{key}": value})
