"""What goes wrong in a cluster costs profiles, never jobs; and nothing is lost that need not be."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from spark_probe.jar import jar_path
from tests.clusters.processes import Finished
from tests.clusters.spark import LOCAL, LOCAL_CLUSTER, Drivers
from tests.runfolder import RunFolder, load

JOB = Path(__file__).parent / "jobs" / "faults.py"
ALPHA = "probetest.Work$Alpha.burnAlpha"

pytestmark = pytest.mark.slow


def run_job(
    drivers: Drivers,
    work_jar: Path,
    scenario: str,
    seconds: float,
    master: str = LOCAL,
    conf: dict[str, str] | None = None,
    **options: str,
) -> tuple[Finished, Any]:
    """The finished driver, which must have succeeded, and its answer."""
    settings = {
        "spark.plugins": "io.sparkprobe.SparkProbePlugin",
        "spark.jars": f"{jar_path()},{work_jar}",
        **(conf or {}),
        **{f"spark.probe.{key.replace('_', '.')}": value for key, value in options.items()},
    }
    finished = drivers.run(JOB, [scenario, str(seconds)], 400, master=master, conf=settings).check()
    return finished, json.loads(finished.out.splitlines()[-1])["answer"]


def run_folder(drivers: Drivers) -> RunFolder:
    return load(drivers.folder / "spark-probe")


def the_one_warning(finished: Finished, words: str) -> str:
    """The line of the driver's log that says why profiling is off, which must be said once."""
    lines = [line for line in finished.err.splitlines() if words in line]
    assert len(lines) == 1, "\n".join(lines) or finished.err[-3000:]
    return lines[0]


@pytest.mark.every_spark
def test_nothing_is_lost_over_twenty_flushes(drivers: Drivers, work_jar: Path) -> None:
    _, metrics = run_job(
        drivers, work_jar, "twenty_flushes", 60, "local[2]", events="cpu", bucket="1s"
    )
    run = run_folder(drivers)
    status = run.status["driver"]
    stored = sum(sample.samples for sample in run.samples)
    assert stored == status["samples"]
    assert status["samples_recorded"] == stored + status["samples_lost"]
    assert metrics["samples_skipped_total"] <= status["samples_lost"] + 5
    assert status["flushes"] >= 20
    tasks = run.tasks()
    assert len(tasks) == 20 * 4
    used = sum(task["thread_cpu_ns"] for task in tasks.values())
    sampled = sum(sample.value for sample in run.where(lambda s: s.kind == "task"))
    # A core for each thread: Linux looks at a thread's CPU timer at its own ticks, and at those only while it runs.
    # Each flush skips about one sample a thread: one in 600 here, one in 3,000 at the default interval.
    assert 0.995 <= sampled / used <= 1.005, f"{sampled / 1e9:.2f} s sampled of {used / 1e9:.2f} s"
    burning = run.count(lambda s: s.kind == "task" and s.has(ALPHA))
    assert burning >= 0.97 * run.count(lambda s: s.kind == "task")


def test_a_killed_executor_leaves_what_it_had_flushed(drivers: Drivers, work_jar: Path) -> None:
    _, answer = run_job(drivers, work_jar, "kill_an_executor", 3, LOCAL_CLUSTER)
    run = run_folder(drivers)
    victim = answer["victim"]
    assert run.status[victim]["state"] == "lost"
    assert victim in run.status[victim]["reason"]
    left = sum(sample.samples for sample in run.samples if sample.executor == victim)
    assert left == answer["samples"] > 0
    others = {
        executor: status["state"] for executor, status in run.status.items() if executor != victim
    }
    assert len(others) >= 3  # the driver, the other one, and the one that came for the dead one
    assert set(others.values()) == {"stopped"}
    for executor in others:
        stored = sum(sample.samples for sample in run.samples if sample.executor == executor)
        assert stored == run.status[executor]["samples"]


@pytest.mark.every_spark
@pytest.mark.parametrize(
    ("option", "value", "takes"),
    [
        ("interval", "10", "it takes a duration such as 10ms"),
        ("events", "cpu,gpu", "it takes a list of"),
        ("no.such.key", "1", "is no option of spark_probe"),
    ],
)
def test_a_bad_option_turns_profiling_off_and_is_named_once(
    drivers: Drivers, work_jar: Path, option: str, value: str, takes: str
) -> None:
    finished, _ = run_job(drivers, work_jar, "plain", 0.2, conf={f"spark.probe.{option}": value})
    line = the_one_warning(finished, f"spark.probe.{option}")
    assert takes in line
    assert "ERROR" in line
    assert not (drivers.folder / "spark-probe").exists()


def test_a_folder_that_cannot_be_written_turns_profiling_off(
    drivers: Drivers, work_jar: Path, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("in the way")
    finished, _ = run_job(drivers, work_jar, "plain", 0.2, dir=str(tmp_path / "a-file" / "runs"))
    line = the_one_warning(finished, "the run folder cannot be opened")
    assert "set spark.probe.dir" in line


def test_a_directory_for_the_library_that_cannot_be_used_is_named(
    drivers: Drivers, work_jar: Path, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("in the way")
    finished, _ = run_job(drivers, work_jar, "plain", 0.2, tmp_dir=str(tmp_path / "a-file" / "tmp"))
    line = the_one_warning(finished, "could not be loaded from any of")
    assert "spark.probe.tmp.dir" in line
    status = run_folder(drivers).status["driver"]
    assert status["state"] == "off"
    assert "a-file" in status["reason"]


def test_another_profiler_in_the_jvm_is_named_and_left_alone(
    drivers: Drivers, work_jar: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(jar_path()) as jar:
        library = tmp_path / "libasyncProfiler.so"
        library.write_bytes(jar.read("linux-x64/libasyncProfiler.so"))
    other = tmp_path / "other.jfr"
    finished, _ = run_job(
        drivers,
        work_jar,
        "another_profiler",
        0.5,
        conf={
            "spark.driver.extraJavaOptions": f"-agentpath:{library}=start,event=itimer,file={other}"
        },
    )
    line = the_one_warning(finished, "another profiler is loaded in this JVM")
    assert str(library) in line
    assert run_folder(drivers).status["driver"]["state"] == "off"
    assert other.stat().st_size > 10_000, "the other profiler's recording goes on"


def test_off_is_off(drivers: Drivers, work_jar: Path) -> None:
    run_job(drivers, work_jar, "plain", 0.2, mode="off")
    assert not (drivers.folder / "spark-probe").exists()
