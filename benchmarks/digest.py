"""How long the digest of a JFR file takes, against jfrconv on the same file: process against process.

    python -m benchmarks.digest                          # makes a JFR of 100 MB first: some minutes
    python -m benchmarks.digest --jfr recorded.jfr       # of a real job
    python -m benchmarks.digest --rounds 3 --megabytes 5 # does it run at all

The digest joins all stages, tasks and events in one pass and writes them as Parquet; jfrconv (`java -jar jfr-converter
--cpu -o collapsed`) reads the cpu samples alone and writes folded stacks. Both start a JVM with its default options and
read from the page cache; rounds take turns in random order. Printed are the medians of wall and CPU time (the JIT
compiler's threads included) and their ratio with a bootstrap interval; what the digest wrote, against the file and its
gzip; and the same once more with the JVM's cheaper compiler alone (-XX:TieredStopAtLevel=1), as a short program is best
started. Goal: no longer than jfrconv.

The file is made by DigestWorkload.java, whose head says what is in it, and kept under build/bench.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from benchmarks.paired import ratio

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "build" / "bench"
MADE = ROOT / "build" / "bench-data"
CHEAP = "-XX:TieredStopAtLevel=1"

console = Console(width=100)


@dataclass(frozen=True)
class Timing:
    """Seconds of one process."""

    wall: float
    cpu: float


def run(command: list[str]) -> Timing:
    """One process, which must succeed."""
    before = os.times()
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.perf_counter() - start
    after = os.times()
    if done.returncode != 0:
        raise click.ClickException(f"{' '.join(command)} failed: {done.stderr}")
    cpu = after.children_user + after.children_system
    return Timing(wall, cpu - before.children_user - before.children_system)


def bench_jars() -> list[Path]:
    """The jars that `gradle benchJars` lays out."""
    subprocess.run(["gradle", "--no-daemon", "-q", "benchJars"], cwd=ROOT, check=True)
    return sorted(BENCH.glob("*.jar"))


def made(probe: Path, megabytes: int) -> Path:
    """A JFR file of at least that size, made unless it is there."""
    path = MADE / f"digest-{megabytes}.jfr"
    if not path.exists():
        MADE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        console.print(f"making {path.relative_to(ROOT)} …")
        workload = ROOT / "benchmarks" / "DigestWorkload.java"
        subprocess.run(
            ["java", "-Xmx1g", "-cp", str(probe), str(workload), str(part), str(megabytes)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        part.rename(path)
    return path


def gzip_bytes(path: Path) -> int:
    """Size of the file as `gzip -6` makes it."""
    with tempfile.TemporaryFile() as out, path.open("rb") as raw:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as packed:
            shutil.copyfileobj(raw, packed)
        return out.tell()


@click.command(help=__doc__)
@click.option("--jfr", type=click.Path(exists=True, path_type=Path), help="This file instead.")
@click.option("--megabytes", default=100, show_default=True, help="Size of the file to make.")
@click.option("--rounds", default=15, show_default=True)
def main(jfr: Path | None, megabytes: int, rounds: int) -> None:
    jars = bench_jars()
    probe = next(jar for jar in jars if jar.name.startswith("spark-probe"))
    converter = next(jar for jar in jars if jar.name.startswith("jfr-converter"))
    classpath = os.pathsep.join(str(jar) for jar in jars if jar != converter)
    source = jfr or made(probe, megabytes)
    with tempfile.TemporaryDirectory() as scratch:
        folded, parquet = Path(scratch, "cpu.collapsed"), Path(scratch, "tables.parquet")
        digest = ["-cp", classpath, "io.sparkprobe.DigestMain", str(source), str(parquet)]
        convert = ["-jar", str(converter), "--cpu", "-o", "collapsed", str(source), str(folded)]
        commands = {
            "jfrconv": ["java", *convert],
            "digest": ["java", *digest],
            f"digest {CHEAP}": ["java", CHEAP, *digest],
        }
        timings: dict[str, list[Timing]] = {name: [] for name in commands}
        for command in commands.values():
            run(command)  # the file, the jars and the JVM itself into the page cache
        for _ in range(rounds):
            for name in random.sample(list(commands), len(commands)):
                timings[name].append(run(commands[name]))
        written = parquet.stat().st_size
    report(source, timings)
    raw, packed = source.stat().st_size, gzip_bytes(source)
    console.print(
        f"{source.name}: {raw / 1e6:.1f} MB, gzip {packed / 1e6:.1f} MB; written {written / 1e6:.2f} MB: "
        f"{written / raw:.1%} of the file, {written / packed:.1%} of its gzip"
    )


def report(source: Path, timings: dict[str, list[Timing]]) -> None:
    table = Table("", "wall s", "CPU s", "wall / jfrconv", "CPU / jfrconv", title=source.name)
    base = timings["jfrconv"]
    for name, runs in timings.items():
        table.add_row(
            name,
            f"{median(run.wall for run in runs):.2f}",
            f"{median(run.cpu for run in runs):.2f}",
            str(ratio([run.wall for run in runs], [run.wall for run in base])),
            str(ratio([run.cpu for run in runs], [run.cpu for run in base])),
        )
    console.print(table)


if __name__ == "__main__":
    main()
