"""Logs that real JVMs write, against the counts of the same JVM's own GarbageCollectorMXBeans."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from spark_probe.gclog import GcLog, read

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("GcLoad.java")
# Which log lines each asks for, and how its files are named.
LOGS = {
    "gc": "-Xlog:gc:file={0}/gc.log",
    "gc*": "-Xlog:gc*:file={0}/gc.log:time,uptime,level,tags",
    "undecorated": "-Xlog:gc*:file={0}/gc.log:none",
    "debug": "-Xlog:gc*=debug,safepoint:file={0}/gc.log:timemillis,uptimenanos,pid,tags:filecount=0",
    "rotated": "-Xlog:gc*:file={0}/gc.log:time,uptimemillis,tid,tags:filecount=200,filesize=24k",
}
COLLECTORS = {
    "SerialGC": "Serial",
    "ParallelGC": "Parallel",
    "G1GC": "G1",
    "ZGC": "ZGC",
    "ShenandoahGC": "Shenandoah",
}


def jvms() -> list[str]:
    """The JVMs of this machine, each once."""
    found = [shutil.which("java"), *map(str, Path("/usr/lib/jvm").glob("*/bin/java"))]
    return sorted({str(Path(java).resolve()) for java in found if java})


def run(java: str, collector: str, *options: str, folder: Path) -> tuple[GcLog, dict[str, int]]:
    """A JVM's log, and how often each of its collectors says that it ran."""
    flags = (f"-XX:+Use{collector}", "-XX:+UnlockExperimentalVMOptions", "-Xmx96m")
    supported = subprocess.run([java, *flags, "-version"], capture_output=True, timeout=60)
    if supported.returncode:
        pytest.skip(f"{java} has no {collector}")
    done = subprocess.run(
        [java, *flags, *options, str(PROGRAM)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]
    return read(folder), {name: int(count) for name, count, _ms in rows}


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("java", jvms())
def test_the_log_agrees_with_the_jvm(java: str, collector: str, kind: str, tmp_path: Path) -> None:
    log, counts = run(java, collector, LOGS[kind].format(tmp_path), folder=tmp_path)
    summary = log.summary()
    assert summary["collector"] == COLLECTORS[collector]
    assert summary["system_gc"] == 3
    assert summary["jvm_runs"] == 1
    assert not log.problems
    beans = {name: count for name, count in counts.items() if "Cycles" not in name}
    types = summary["types"]
    if collector in ("ZGC", "ShenandoahGC"):
        # These run beside the program: what ended after it asked its beans is in the log alone.
        cycles = sum(count for name, count in counts.items() if name.endswith("Cycles"))
        if collector == "ZGC":
            assert cycles <= summary["cycles"] <= cycles + 2
        if kind != "gc" or collector == "ShenandoahGC":
            assert sum(beans.values()) <= summary["pauses"] <= sum(beans.values()) + 8
        else:
            assert (summary["pauses"], summary["throughput"]) == (0, None)
    else:
        # G1's beans of JDK 17 leave out the pauses of its concurrent cycle.
        marking = sum(types[t]["count"] for t in ("Pause Remark", "Pause Cleanup") if t in types)
        expected = sum(beans.values())
        if collector == "G1GC" and "G1 Concurrent GC" not in beans:
            expected += marking
        assert summary["pauses"] == expected
        assert summary["full"] == 3
        if kind not in ("gc", "undecorated"):
            assert summary["promotion_bytes_per_s"] is not None
    if kind != "undecorated" and summary["throughput"] is not None:
        assert 0.1 < summary["throughput"] < 1
        assert summary["allocation_bytes_per_s"] > 1 << 20
    if kind == "rotated":
        assert len(log.files) > 1
    if kind == "debug" and collector != "ZGC":
        assert summary["safepoints"]["count"] >= summary["pauses"] - 3
