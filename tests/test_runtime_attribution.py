"""Whose samples are whose: stages side by side in one JVM, each with its work in Java methods of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.spark import LOCAL, LOCAL_CLUSTER, SPARK_VERSION, Drivers
from tests.runfolder import RunFolder, Sample, load

JOB = Path(__file__).parent / "jobs" / "attribution.py"
ROOT = Path(__file__).parents[1]

ALPHA = "probetest.Work$Alpha.burnAlpha"
BETA = "probetest.Work$Beta.burnBeta"
GAMMA = "probetest.Work$Gamma.allocateGamma"
DELTA = "probetest.Work$Delta.contendDelta"
FIRST_STAGE_ATTEMPT = "probetest.Attempts$Retried.firstStageAttempt"
SECOND_STAGE_ATTEMPT = "probetest.Attempts$Retried.secondStageAttempt"
FIRST_COPY = "probetest.Attempts$Speculated.firstCopy"
SECOND_COPY = "probetest.Attempts$Speculated.secondCopy"

#: At most this share of a stage's samples may show another stage's method, at the border of two tasks.
FOREIGN = 0.001
#: At least this share of a method's samples is in its own stage.
OWN = 0.99

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Done:
    """A finished driver program and what it left."""

    run: RunFolder
    stages: Mapping[str, list[int]]

    def is_of(self, group: str) -> Callable[[Sample], bool]:
        stages = set(self.stages[group])
        return lambda sample: sample.stage in stages


def probe_jar() -> Path:
    from spark_probe.jar import jar_path

    return jar_path()


def run_job(
    drivers: Drivers,
    work_jar: Path,
    scenario: str,
    seconds: float,
    master: str = LOCAL,
    **options: str,
) -> Done:
    conf = {
        "spark.plugins": "io.sparkprobe.SparkProbePlugin",
        "spark.jars": f"{probe_jar()},{work_jar}",
        "spark.scheduler.mode": "FAIR",
        "spark.probe.interval": "4ms",
        **{f"spark.probe.{key.replace('_', '.')}": value for key, value in options.items()},
    }
    if scenario == "speculation":
        conf.update(
            {
                "spark.speculation": "true",
                "spark.speculation.interval": "100ms",
                "spark.speculation.minTaskRuntime": "100ms",
            }
        )
    finished = drivers.run(JOB, [scenario, str(seconds)], 400, master=master, conf=conf).check()
    answer: dict[str, Any] = json.loads(finished.out.splitlines()[-1])
    return Done(load(drivers.folder / "spark-probe"), answer["stages"])


def in_its_own_stage(done: Done, event: str, methods: Mapping[str, str], at_least: int = 0) -> None:
    """Holds that each group's method is seen in the group's own stages, and in no other's."""
    groups = {stage: group for group, stages in done.stages.items() for stage in stages}

    def cell(sample: Sample) -> tuple[str | None, str | None]:
        shown = next((group for group, method in methods.items() if sample.has(method)), None)
        return groups.get(sample.stage), shown

    seen = done.run.by(cell, lambda sample: sample.event == event)
    for group, method in methods.items():
        everywhere = sum(count for (_, shown), count in seen.items() if shown == group)
        assert everywhere >= at_least, f"{event}: {everywhere} samples of {method}: {seen}"
        assert seen[group, group] >= OWN * everywhere, f"{event}: {seen}"
        stage = sum(count for (where, _), count in seen.items() if where == group)
        foreign = stage - seen[group, group] - seen[group, None]
        assert foreign <= FOREIGN * stage, f"{event}: {foreign} of {stage} are others': {seen}"


@pytest.mark.every_spark
@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER])
def test_stages_side_by_side_for_every_event(drivers: Drivers, work_jar: Path, master: str) -> None:
    done = run_job(
        drivers,
        work_jar,
        "methods",
        9,
        master,
        wall_interval="20ms",
        alloc_interval="64k",
        lock_interval="20us",
    )
    burning = {"alpha": ALPHA, "beta": BETA}
    in_its_own_stage(done, "cpu", burning, 5_000)
    in_its_own_stage(done, "wall", {**burning, "gamma": GAMMA, "delta": DELTA}, 50)
    in_its_own_stage(done, "alloc", {"gamma": GAMMA, "delta": DELTA, **burning})
    assert done.run.count(lambda s: s.event == "alloc" and s.has(GAMMA)) >= 5_000
    if master == LOCAL:  # one slot a JVM in local-cluster: nobody to fight with
        in_its_own_stage(done, "lock", {"delta": DELTA, **burning})
        assert done.run.count(lambda s: s.event == "lock" and s.has(DELTA)) >= 100
    outcomes = {task["outcome"] for task in done.run.tasks().values()}
    assert outcomes == {"succeeded"}


def test_tasks_of_five_milliseconds(drivers: Drivers, work_jar: Path) -> None:
    done = run_job(drivers, work_jar, "short_tasks", 5, events="cpu,wall")
    in_its_own_stage(done, "cpu", {"alpha": ALPHA, "beta": BETA}, 2_000)
    tasks = done.run.tasks().values()
    assert len(tasks) == 8_000
    assert {task["outcome"] for task in tasks} == {"succeeded"}


@pytest.mark.every_spark
def test_a_stages_second_attempt_is_apart_from_its_first(drivers: Drivers, work_jar: Path) -> None:
    done = run_job(drivers, work_jar, "retry", 6, events="cpu")
    run, own = done.run, done.is_of("retried")
    seen = run.by(
        lambda s: (
            s.attempt,
            FIRST_STAGE_ATTEMPT if s.has(FIRST_STAGE_ATTEMPT) else SECOND_STAGE_ATTEMPT,
        ),
        lambda s: s.has(FIRST_STAGE_ATTEMPT) or s.has(SECOND_STAGE_ATTEMPT),
    )
    assert set(seen) == {(0, FIRST_STAGE_ATTEMPT), (1, SECOND_STAGE_ATTEMPT)}
    assert min(seen.values()) >= 20, seen
    assert not run.count(lambda s: own(s) and s.has(ALPHA))
    failed = [task for task in run.tasks().values() if task["outcome"] == "failed"]
    assert [task["reason"] for task in failed] == ["FetchFailed"]
    assert failed[0]["stage_attempt"] == 0


def test_a_speculative_copy_is_a_task_of_its_own(drivers: Drivers, work_jar: Path) -> None:
    done = run_job(drivers, work_jar, "speculation", 1, LOCAL_CLUSTER, events="cpu")
    run = done.run
    tasks = run.tasks()
    copies = {i for i, task in tasks.items() if task["partition"] == 0 and task["task_attempt"] > 0}
    assert copies
    shown = run.by(lambda s: s.task, lambda s: s.has(SECOND_COPY))
    assert shown
    assert set(shown) <= copies
    originals = run.by(lambda s: s.task, lambda s: s.has(FIRST_COPY))
    assert not set(originals) & copies
    slow = next(
        i for i, task in tasks.items() if task["partition"] == 0 and task["task_attempt"] == 0
    )
    assert tasks[slow]["outcome"] == "killed"
    assert originals[slow] >= 20


def test_a_cancelled_groups_samples_stay_its_own(drivers: Drivers, work_jar: Path) -> None:
    done = run_job(drivers, work_jar, "cancelled", 6, events="cpu")
    in_its_own_stage(done, "cpu", {"alpha": ALPHA, "victim": BETA}, 200)
    victims = [
        task for task in done.run.tasks().values() if task["stage_id"] in done.stages["victim"]
    ]
    assert victims
    assert {task["outcome"] for task in victims} == {"killed"}
    assert all(task["end_ms"] is not None for task in victims)


@pytest.mark.every_spark
def test_work_that_feeds_a_python_function(drivers: Drivers, work_jar: Path) -> None:
    done = run_job(drivers, work_jar, "python", 5, events="cpu")
    in_its_own_stage(done, "cpu", {"alpha": ALPHA, "beta": BETA}, 1_000)
    kinds = done.run.by(lambda s: s.kind, lambda s: s.has(ALPHA) or s.has(BETA))
    # Spark 3.5 feeds the worker from a thread of its own; Spark 4 from the task's.
    expected = {"python-writer"} if SPARK_VERSION < (4, 0) else {"task"}
    assert set(kinds) == expected
