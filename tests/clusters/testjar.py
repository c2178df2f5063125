"""A jar of small Java functions for SQL (tests/jobs/java), compiled against the Spark that the tests run on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.clusters.processes import run
from tests.clusters.spark import SPARK_HOME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parents[1] / "jobs" / "java"

#: SQL function -> the method that its samples show.
METHODS = {
    "alpha": "probetest.Work$Alpha.burnAlpha",
    "beta": "probetest.Work$Beta.burnBeta",
    "gamma": "probetest.Work$Gamma.allocateGamma",
    "delta": "probetest.Work$Delta.contendDelta",
    "epsilon": "probetest.Work$Epsilon.sleepEpsilon",
}


def build(folder: Path) -> Path:
    """Compiles the sources and returns the jar."""
    classes = folder / "classes"
    sources = sorted(str(file) for file in SOURCES.glob("*.java"))
    compiler = ["javac", "--release", "8", "-Xlint:-options", "-cp", f"{SPARK_HOME / 'jars'}/*"]
    run([*compiler, "-d", str(classes), *sources], folder, 120).check()
    jar = folder / "probe-test-work.jar"
    run(["jar", "cf", str(jar), "-C", str(classes), "."], folder, 60).check()
    return jar


def register(spark: SparkSession) -> None:
    """Makes the functions callable in SQL by their short names; the jar must be on ``spark.jars``."""
    for name, method in METHODS.items():
        spark.udf.registerJavaFunction(name, method.rpartition(".")[0], "bigint")
