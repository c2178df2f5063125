"""A driver program for tests: stages side by side in each JVM, each with its work in Java methods of its own.

python attribution.py SCENARIO SECONDS. The last line of its output is JSON: the application id, the version of Spark,
and the stages of each job group.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from tests.clusters import testjar

PARTITIONS = 4
STEP_MICROS = 1000


class Jobs:
    """Runs jobs, alone or side by side, each in a job group of its name."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.groups: list[str] = []

    def run(self, group: str, job: Callable[[], None]) -> None:
        self.groups.append(group)
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", group)
        self.spark.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
        job()

    def side_by_side(self, **jobs: Callable[[], None]) -> None:
        threads = [InheritableThread(target=self.run, args=job) for job in jobs.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stages(self) -> dict[str, list[int]]:
        tracker = self.spark.sparkContext.statusTracker()
        found: dict[str, list[int]] = {}
        for group in self.groups:
            infos = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
            found[group] = sorted({stage for info in infos if info for stage in info.stageIds})
        return found


def rows(
    spark: SparkSession, function: str, argument: int, count: int, partitions: int = PARTITIONS
) -> None:
    """Calls ``function(argument)`` ``count`` times in each partition, in a job of one stage."""
    table = spark.range(0, partitions * count, 1, partitions)
    table = table.selectExpr(f"{function}({argument} + 0 * id) as done")
    table.write.format("noop").mode("overwrite").save()


def methods(jobs: Jobs, seconds: float) -> None:
    """Two stages that burn, one that allocates and one that fights for a lock, all at the same time."""
    spark, steps = jobs.spark, int(seconds * 1e6 / STEP_MICROS)
    jobs.side_by_side(
        alpha=lambda: rows(spark, "alpha", STEP_MICROS, steps),
        beta=lambda: rows(spark, "beta", STEP_MICROS, steps),
    )
    jobs.side_by_side(
        gamma=lambda: rows(spark, "gamma", 512, int(200 * seconds)),
        delta=lambda: rows(spark, "delta", 200, int(200 * seconds)),
    )


def short_tasks(jobs: Jobs, seconds: float) -> None:
    """Two stages of tasks of 5 ms."""
    spark, tasks = jobs.spark, int(seconds * PARTITIONS / 0.005)
    jobs.side_by_side(
        alpha=lambda: rows(spark, "alpha", 5000, 1, tasks),
        beta=lambda: rows(spark, "beta", 5000, 1, tasks),
    )


def retry(jobs: Jobs, seconds: float) -> None:
    """A stage whose first attempt fails, beside another stage."""
    spark, micros = jobs.spark, int(seconds * 1e6 / 20)
    spark.udf.registerJavaFunction("retried", "probetest.Attempts$Retried", "bigint")

    def retried() -> None:
        table = spark.range(0, 20 * PARTITIONS, 1, PARTITIONS).repartition(PARTITIONS)
        table = table.selectExpr(f"retried({micros} + 0 * id) as done")
        table.write.format("noop").mode("overwrite").save()

    jobs.side_by_side(
        retried=retried,
        alpha=lambda: rows(spark, "alpha", STEP_MICROS, int(seconds * 1e6 / STEP_MICROS)),
    )


def speculation(jobs: Jobs, seconds: float) -> None:
    """A task that is much slower than the others of its stage, until a copy of it is done."""
    spark = jobs.spark
    spark.udf.registerJavaFunction("speculated", "probetest.Attempts$Speculated", "bigint")
    jobs.run("speculated", lambda: rows(spark, "speculated", int(seconds * 1e6), 1, PARTITIONS))


def cancelled(jobs: Jobs, seconds: float) -> None:
    """A job group that is cancelled in its middle, beside a stage that goes on."""
    spark = jobs.spark

    def victim() -> None:
        timer = threading.Timer(seconds / 2, spark.sparkContext.cancelJobGroup, ["victim"])
        timer.start()
        try:
            rows(spark, "beta", STEP_MICROS, int(100 * seconds * 1e6 / STEP_MICROS))
        except Exception as error:
            if "cancelled" not in str(error).lower():
                raise
        finally:
            timer.join()

    jobs.side_by_side(
        victim=victim,
        alpha=lambda: rows(spark, "alpha", STEP_MICROS, int(seconds * 1e6 / STEP_MICROS)),
    )


def python(jobs: Jobs, seconds: float) -> None:
    """Stages whose Java work is done to feed a Python function, side by side."""
    spark, steps = jobs.spark, int(seconds * 1e6 / STEP_MICROS)
    same = udf(lambda value: value, "bigint")

    def feed(function: str) -> Callable[[], None]:
        def job() -> None:
            table = spark.range(0, PARTITIONS * steps, 1, PARTITIONS)
            table = table.selectExpr(f"{function}({STEP_MICROS} + 0 * id) as done")
            table.select(same("done").alias("done")).write.format("noop").mode("overwrite").save()

        return job

    jobs.side_by_side(alpha=feed("alpha"), beta=feed("beta"))


def main(scenario: str, seconds: float) -> None:
    spark = SparkSession.builder.appName(scenario).getOrCreate()
    testjar.register(spark)
    jobs = Jobs(spark)
    started = time.time()
    globals()[scenario](jobs, seconds)
    answer = {
        "app_id": spark.sparkContext.applicationId,
        "spark": spark.version,
        "stages": jobs.stages(),
        "seconds": time.time() - started,
    }
    spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
