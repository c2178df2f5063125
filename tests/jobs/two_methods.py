"""A driver program for tests: one job burns CPU in `burnAlpha`, the next in `burnBeta`.

python two_methods.py WAY DIR [SECONDS]: WAY is enable, configure, or conf (spark.plugins came from outside).
The last line of its output is JSON: the application id and Spark version.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext

from pyspark.sql import SparkSession

import spark_probe
from tests.clusters import testjar

PARTITIONS = 4
STEP_MICROS = 1000


def burn(spark: SparkSession, function: str, seconds: float) -> None:
    """A job of one stage with four tasks, each burning ``seconds`` in the function's method."""
    steps = int(seconds * 1e6 / STEP_MICROS)
    spark.sparkContext.setJobDescription(function)
    table = spark.range(0, PARTITIONS * steps, 1, PARTITIONS)
    table.selectExpr(f"{function}({STEP_MICROS} + 0 * id) as done").write.format("noop").mode(
        "overwrite"
    ).save()


def main(way: str, folder: str, seconds: float) -> None:
    builder = SparkSession.builder.appName(f"two methods by {way}")
    if way == "configure":
        builder = spark_probe.configure(builder, dir=folder)
    spark = builder.getOrCreate()
    testjar.register(spark)
    with spark_probe.enable(spark, dir=folder) if way == "enable" else nullcontext():
        burn(spark, "alpha", seconds)
        burn(spark, "beta", seconds)
    answer = {"app_id": spark.sparkContext.applicationId, "spark": spark.version}
    spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 3.0)
