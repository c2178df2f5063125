# A notebook in plain Python: open it in VS Code, Jupyter (jupytext) or Databricks, or run it as a script.
# The session is already running, as it is in a notebook; the probe is put into it, and taken out again.

# %%
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import spark_probe

spark = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()

# %% [markdown]
# Something slow: half of the rows have one key.

# %%
rows = spark.range(20_000_000).withColumn(
    "key", F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id") % 1000)
)


def top_keys() -> list[tuple[int, str]]:
    """The three keys with the most distinct hashes of their rows."""
    hashed = rows.withColumn("hash", F.substring(F.sha2(F.col("id").cast("string"), 256), 1, 4))
    counted = hashed.groupBy("key").agg(F.countDistinct("hash").alias("hashes"))
    return [tuple(row) for row in counted.orderBy(F.desc("hashes"), "key").take(3)]


# %%
probe = spark_probe.enable(spark)
print(top_keys())
profile = probe.profile()  # every executor flushes; the session and the probe go on

# %%
for stage in profile.stages:
    print(stage.id, stage.name, stage.tasks)

# %%
print(profile.report(Path(profile.path) / "report.html"))

# %%
probe.stop()
spark.stop()
