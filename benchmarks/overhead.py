"""What profiling costs: TPC-H in one warm JVM, with the probe off, on at its defaults, and with Spark's own settings.

    python -m benchmarks.overhead                              # 15 rounds of all 22 queries at scale 1: about an hour
    python -m benchmarks.overhead --rounds 2 --scale 0.01      # does it run at all
    python -m benchmarks.overhead --variant 'cpu:events=cpu' --variant 'fine:interval=5ms'

A round runs every condition once, in random order, each as one pass over the queries:

    off, off-again   nothing runs; their ratio (A/A) is what the machine's own noise looks like
    probe            spark_probe.enable(spark) with its defaults
    spark-profiler   async-profiler with the options that Spark's own profiler plugin documents as its default,
                     event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s, into one JFR file that is not shipped
    NAME             each --variant NAME:OPTION=VALUE;… : the probe with these options of enable

What is compared is CPU time, user and system, of the driver's Python, its JVM (which is the executor too: local[2])
and all their children. The probe's digest, its writing and its last flush lie inside the pass; attaching lies before it
and is reported apart. Between passes the collector runs and the processes come to rest. Wall time is reported and not
judged. A ratio is the geometric mean over the rounds of the pass against the mean of the round's two off passes, with
a percentile bootstrap over the rounds.

After the rounds, one long pass with the raw recordings kept says how much is shipped (--volume-minutes).
"""

from __future__ import annotations

import functools
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import psutil
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import spark_probe
from benchmarks import tpch
from benchmarks.paired import Ratio, cpu_seconds, ratio, settle
from spark_probe.jar import jar_path

SPARK_PROFILER = "event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s"
OFF, OFF_AGAIN, PROBE, SPARK = "off", "off-again", "probe", "spark-profiler"

console = Console(width=100)


@dataclass
class Pass:
    """One run over the queries: seconds of CPU and of wall time, and of CPU for attaching before it."""

    cpu_s: float
    wall_s: float
    attach_cpu_s: float
    query_cpu_s: dict[int, float] = field(default_factory=dict)


class Bench:
    def __init__(self, folder: Path, data: Path, scale: float, queries: list[int]) -> None:
        self.folder, self.queries = folder, queries
        self.texts = {number: tpch.query(number, scale) for number in queries}
        self.spark = self._session()
        tpch.register(self.spark, data)
        self.process = psutil.Process()

    def _session(self) -> SparkSession:
        # The probe's classes on the JVM's own class path: the raw profiler below is then the one that the probe loads,
        # and there is one of it in the JVM.
        builder = (
            SparkSession.builder.master("local[2]")
            .appName("overhead")
            .config("spark.driver.memory", "4g")
            .config("spark.driver.extraClassPath", str(jar_path()))
            .config(
                "spark.driver.extraJavaOptions",
                "-Xms4g -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints",
            )
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.local.dir", str(self.folder / "local"))
            .config("spark.log.level", "ERROR")
        )
        return builder.getOrCreate()

    def collect_garbage(self) -> None:
        assert self.spark.sparkContext._jvm is not None
        self.spark.sparkContext._jvm.java.lang.System.gc()

    def run(self, condition: Callable[[], Any]) -> Pass:
        """One pass under ``condition``, a context manager that attaches on entry and detaches on exit."""
        self.collect_garbage()
        settle(self.process)
        before = cpu_seconds(self.process)
        manager = condition()
        manager.__enter__()
        start_cpu, start = cpu_seconds(self.process), time.monotonic()
        each = {}
        try:
            for number, text in self.texts.items():
                query_cpu = cpu_seconds(self.process)
                self.spark.sparkContext.setJobDescription(f"q{number:02}")
                self.spark.sql(text).write.format("noop").mode("overwrite").save()
                each[number] = cpu_seconds(self.process) - query_cpu
        finally:
            manager.__exit__(None, None, None)
        end_cpu, end = cpu_seconds(self.process), time.monotonic()
        return Pass(end_cpu - start_cpu, end - start, start_cpu - before, each)

    @contextmanager
    def nothing(self) -> Iterator[None]:
        yield

    @contextmanager
    def probe(self, **options: Any) -> Iterator[spark_probe.Probe]:
        probe = spark_probe.enable(self.spark, dir=str(self.folder / "runs"), **options)
        try:
            yield probe
        finally:
            probe.stop()

    @contextmanager
    def spark_profiler(self) -> Iterator[None]:
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None
        profiler = jvm.one.profiler.AsyncProfiler.getInstance()
        target = self.folder / "spark-profiler.jfr"
        profiler.execute(f"start,{SPARK_PROFILER},file={target}")
        try:
            yield
        finally:
            profiler.execute(f"stop,{SPARK_PROFILER},file={target}")
            target.unlink(missing_ok=True)

    def volume(self, minutes: float) -> dict[str, float]:
        """What a run of at least ``minutes`` ships, against its raw and its gzipped recordings."""
        with self.probe(flush_interval="30s", jfr_keep=True) as probe:
            start = time.monotonic()
            while True:
                for text in self.texts.values():
                    self.spark.sql(text).write.format("noop").mode("overwrite").save()
                if time.monotonic() - start >= 60 * minutes:
                    break
        hours = (time.monotonic() - start) / 3600
        executors = [path for path in (Path(probe.path) / "executors").iterdir() if path.is_dir()]
        status = [json.loads((path / "status.json").read_text()) for path in executors]
        files = [file for path in executors for file in path.glob("*.parquet")]
        raw = sum(one["bytes_jfr"] for one in status)
        gzipped = sum(
            file.stat().st_size for path in executors for file in path.glob("jfr/*.jfr.gz")
        )
        stored = sum(file.stat().st_size for file in files)
        return {
            "minutes": 60 * hours,
            "executors": len(executors),
            "raw_jfr_bytes": raw,
            "gzipped_jfr_bytes": gzipped,
            "shipped_bytes": sum(one["bytes_shipped"] for one in status),
            "stored_bytes": stored,
            "stored_of_raw": stored / raw,
            "stored_of_gzipped": stored / gzipped,
            "flushes": sum(one["flushes"] for one in status),
            "files_an_executor_hour": len(files) / (len(executors) * hours),
        }


def parse_variants(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any]:
    variants: dict[str, Any] = {}
    for value in values:
        name, found, options = value.partition(":")
        pairs = [option.partition("=") for option in options.split(";") if option]
        if not found or not name or any(not equals for _, equals, _ in pairs):
            raise click.BadParameter(f"{value!r} is not NAME:OPTION=VALUE;OPTION=VALUE…")
        variants[name] = {
            key: text.split(",") if key == "events" else text for key, _, text in pairs
        }
    return variants


def parse_queries(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> list[int]:
    try:
        numbers = [int(number) for number in value.split(",")] if value else list(tpch.QUERIES)
    except ValueError:
        numbers = [0]
    if not set(numbers) <= set(tpch.QUERIES):
        raise click.BadParameter(f"{value!r}: give numbers from 1 to 22, with commas between them")
    return numbers


def summarize(passes: dict[str, list[Pass]]) -> dict[str, Ratio]:
    """Each condition's CPU time against the mean of the round's two off passes, and off-again against off (A/A)."""
    off = [(a.cpu_s + b.cpu_s) / 2 for a, b in zip(passes[OFF], passes[OFF_AGAIN], strict=True)]
    ratios = {
        "A/A": ratio([one.cpu_s for one in passes[OFF_AGAIN]], [one.cpu_s for one in passes[OFF]])
    }
    for name, measured in passes.items():
        if name not in (OFF, OFF_AGAIN):
            ratios[name] = ratio([one.cpu_s for one in measured], off)
    return ratios


def show(
    passes: dict[str, list[Pass]], ratios: dict[str, Ratio], volume: dict[str, float] | None
) -> None:
    table = Table(title="CPU time of a pass, probe's work included")
    for heading in (
        "condition",
        "CPU s",
        "wall s",
        "attach CPU s",
        "ratio to off",
        "95 % interval",
    ):
        table.add_column(heading, justify="left" if heading == "condition" else "right")
    for name, measured in passes.items():
        found = ratios.get("A/A" if name == OFF_AGAIN else name)
        columns = (
            sum(values) / len(values)
            for values in zip(
                *((one.cpu_s, one.wall_s, one.attach_cpu_s) for one in measured), strict=True
            )
        )
        shown = (
            ("", "")
            if found is None
            else (f"{found.mean:.4f}", f"{found.low:.4f} to {found.high:.4f}")
        )
        table.add_row(name, *(f"{value:.2f}" for value in columns), *shown)
    console.print(table)
    console.print(
        f"{len(passes[OFF])} rounds; off-again is against off, the others against the mean of both."
    )
    if volume is not None:
        console.print(
            f"Volume in {volume['minutes']:.1f} min: raw JFR {volume['raw_jfr_bytes'] / 1e6:.2f} MB, "
            f"gzipped {volume['gzipped_jfr_bytes'] / 1e6:.2f} MB, stored {volume['stored_bytes'] / 1e6:.2f} MB "
            f"({volume['stored_of_raw']:.1%} of raw, {volume['stored_of_gzipped']:.1%} of gzipped), "
            f"{volume['files_an_executor_hour']:.0f} files an executor-hour."
        )


@click.command(help=__doc__ and __doc__.split("\n\n")[0])
@click.option(
    "--rounds", default=15, show_default=True, help="Pairs; each round runs every condition once."
)
@click.option("--warmup", default=2, show_default=True, help="Rounds before the first that counts.")
@click.option("--queries", callback=parse_queries, help="Numbers with commas; all 22 if not given.")
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of the Parquet files [default: data/tpch-SCALE]",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    callback=parse_variants,
    help="NAME:OPTION=VALUE;… of enable.",
)
@click.option("--seed", default=1, show_default=True, help="Of the order of the conditions.")
@click.option(
    "--volume-minutes",
    default=10.0,
    show_default=True,
    help="Length of the volume run; 0 for none.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("build/overhead.json"),
    show_default=True,
)
def main(
    rounds: int,
    warmup: int,
    queries: list[int],
    scale: float,
    data: Path | None,
    variants: dict[str, Any],
    seed: int,
    volume_minutes: float,
    output: Path,
) -> None:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    data = tpch.generate(data or Path("data") / f"tpch-{scale:g}", scale)
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        bench = Bench(Path(folder), data, scale, queries)
        conditions: dict[str, Callable[[], Any]] = {
            OFF: bench.nothing,
            OFF_AGAIN: bench.nothing,
            PROBE: bench.probe,
            SPARK: bench.spark_profiler,
        }
        for name, options in variants.items():
            conditions[name] = functools.partial(bench.probe, **options)
        passes: dict[str, list[Pass]] = {name: [] for name in conditions}
        order = random.Random(seed)
        for number in range(-warmup, rounds):
            for name in order.sample(list(conditions), len(conditions)):
                one = bench.run(conditions[name])
                label = "warm-up" if number < 0 else f"round {number + 1}/{rounds}"
                console.print(
                    f"{label} {name}: {one.cpu_s:.2f} s CPU, {one.wall_s:.2f} s wall",
                    highlight=False,
                )
                if number >= 0:
                    passes[name].append(one)
        volume = bench.volume(volume_minutes) if volume_minutes > 0 else None
        spark_version = bench.spark.version
        bench.spark.stop()
    ratios = summarize(passes)
    show(passes, ratios, volume)
    output.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "spark": spark_version,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": psutil.cpu_count(),
        "scale": scale,
        "queries": queries,
        "seed": seed,
        "variants": variants,
        "ratios": {name: asdict(one) for name, one in ratios.items()},
        "passes": {name: [asdict(one) for one in measured] for name, measured in passes.items()},
        "volume": volume,
    }
    output.write_text(json.dumps(result, indent=1))
    console.print(f"Everything measured is in {output}")


if __name__ == "__main__":
    sys.exit(main())
