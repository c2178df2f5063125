"""What the doctor says of facts, and that it finds the facts: on this machine, and in a session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from spark_probe import doctor
from spark_probe.cli import main
from spark_probe.errors import SparkProbeError
from spark_probe.jar import jar_path
from tests.clusters.spark import LOCAL, LOCAL_CLUSTER, Sessions

WELL = {
    "native": "loaded",
    "os": "Linux",
    "libc": "glibc",
    "recording": "false",
    "engine_ctimer": "ok",
    "engine_itimer": "ok",
    "engine_alloc": "ok",
    "perf_event_paranoid": "1",
    "debug_non_safepoints": "true",
    "folder": "hdfs://n/probe",
    "folder_writable": "ok",
    "directories": "/tmp:/work",
}


def test_nothing_is_said_where_all_is_well() -> None:
    found = doctor.diagnose({"driver": WELL, "1": {**WELL, "folder_writable": "not needed"}})
    assert found.ok
    assert found.advice == ()


@pytest.mark.parametrize(
    ("facts", "severity", "what", "do"),
    [
        (
            {"native": "dlopen failed"},
            "error",
            "does not load: dlopen failed",
            "spark.probe.tmp.dir",
        ),
        ({"native": "musl?", "libc": "musl"}, "error", "does not load", "glibc"),
        ({"other_profilers": "/x/libpyroscope.so"}, "error", "/x/libpyroscope.so", "remove"),
        (
            {"engine_ctimer": "no timer", "engine_itimer": "EPERM"},
            "error",
            "ctimer: no timer; itimer: EPERM",
            "seccomp",
        ),
        ({"engine_ctimer": "no timer"}, "note", "itimer is used", "nothing has to be done"),
        ({"engine_alloc": "no symbol"}, "note", "no symbol", "JDK 11"),
        ({"perf_event_paranoid": "2"}, "note", "perf_event_paranoid=2", "sysctl"),
        ({"debug_non_safepoints": "false"}, "note", "DebugNonSafepoints is off", "configure"),
        ({"agents": "-javaagent:/a.jar"}, "note", "-javaagent:/a.jar", "no harm"),
        (
            {"folder_writable": "Permission denied"},
            "error",
            "hdfs://n/probe cannot be written to: Permission denied",
            "spark.probe.dir",
        ),
    ],
)
def test_each_rule(facts: dict[str, str], severity: str, what: str, do: str) -> None:
    found = doctor.diagnose({"7": {**WELL, **facts}})
    (item,) = found.advice
    assert (item.severity, item.where) == (severity, ("7",))
    assert what in item.what
    assert do in item.do
    assert found.ok == (severity == "note")


def test_the_same_for_many_is_said_once_and_errors_come_first() -> None:
    slow = {**WELL, "perf_event_paranoid": "4"}
    found = doctor.diagnose({"1": slow, "2": slow, "3": {**WELL, "native": "no"}, "4": {}})
    assert [(item.severity, item.where) for item in found.advice] == [
        ("error", ("3",)),
        ("note", ("1", "2")),
        ("note", ("4",)),
    ]
    assert "did not answer" in found.advice[2].what


def test_engines_are_not_judged_where_the_probe_is_on() -> None:
    facts = {key: value for key, value in WELL.items() if not key.startswith("engine")}
    assert doctor.diagnose({"1": {**facts, "recording": "true"}}).ok


def test_this_machine(tmp_path: Path) -> None:
    found = doctor.check_machine((str(tmp_path),))
    facts = found.jvms["machine"]
    assert facts["probe"] in jar_path().name
    assert facts["native"] == "loaded"
    assert facts["native_directory"].startswith(str(tmp_path))
    assert facts["engine_wall"] == facts["engine_alloc"] == facts["engine_lock"] == "ok"
    assert found.ok
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    found = doctor.check_machine((str(file),))
    assert not found.ok
    assert str(file) in found.advice[0].what


def test_no_jdk_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkProbeError, match="no java on the PATH"):
        doctor.check_machine()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkProbeError, match="does not run"):
        doctor.check_machine()


def test_the_commands() -> None:
    run = CliRunner().invoke
    assert run(main, ["jar"]).output.strip() == str(jar_path())
    line = run(main, ["conf", "interval=20ms", "spark.probe.dir=hdfs:///a b"]).output.strip()
    assert line == (
        f"--jars {jar_path()} --conf spark.plugins=io.sparkprobe.SparkProbePlugin "
        "--conf spark.probe.interval=20ms --conf 'spark.probe.dir=hdfs:///a b'"
    )
    listed = run(main, ["conf", "--list"]).output
    assert "spark.probe.flush.interval (default 30s)\n    time between two flushes" in listed
    for bad in (["conf", "interval=fast"], ["conf", "interval"], ["conf", "speed=1"]):
        assert run(main, bad).exit_code == 2
    seen = run(main, ["doctor", "--json"])
    answer = json.loads(seen.output)
    assert seen.exit_code == 0
    assert answer["ok"] is True
    assert set(answer["jvms"]) == {"machine"}
    assert "Profiling works here." in run(main, ["doctor"]).output
    assert run(main, ["doctor", "--master", "local", "--conf", "x"]).exit_code == 2


@pytest.mark.slow
@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER])
def test_a_session(sessions: Sessions, tmp_path: Path, master: str) -> None:
    spark = sessions.get(master)
    spark.range(1000).repartition(4).count()
    found = doctor.check(spark, dir=tmp_path)
    names = {"driver"} if master == LOCAL else {"driver", "0", "1"}
    assert set(found.jvms) == names
    assert found.ok, found.advice
    for facts in found.jvms.values():
        assert facts["native"] == "loaded"
        assert facts["engine_ctimer"] == "ok"
    assert found.jvms["driver"]["folder_writable"] == "ok"
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "file"
    file.write_text("")
    barred = doctor.check(spark, dir=file / "below")
    assert not barred.ok
    assert barred.advice[0].where == ("driver",)
    assert os.fspath(file) in barred.advice[0].what
