"""How fast a run folder of many executors becomes one set of flame graphs, and in how much memory.

    python benchmarks/merge.py                   # 200 parts of 10,000 sample rows and 7,000 stacks
    python benchmarks/merge.py --shared 0        # no two executors have a stack in common: the worst case
    python benchmarks/merge.py --folder D        # a run folder of yours

The folder is generated: stacks of mean depth 43 (up to 100) that share prefixes as call paths do, over 4,000
methods, compiled and interpreted, in every part under ids of its own; of the stacks of each executor the part
``--shared`` comes from a common pool, since executors run the same code. It is read in a process of its own,
whose wall time, CPU time and peak resident memory are printed: `load`, which reads and merges, then the flame
graph of every stage and event. Goal: `load` under 5 s, all of it under 1 GiB, on two cores that do nothing else.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.builders import RunBuilder, write_part

GOAL_S, GOAL_BYTES = 5.0, 1 << 30

METHODS = 4_000
DEEPEST = 100
MEAN_DEPTH = 43
OWN_FRAMES = 9  # of a stack, below what it shares with its neighbour
STAGES, TASKS = 10, 40
EVENTS = ("cpu", "wall", "alloc", "lock")
TYPES = ("jit", "inlined", "interpreted", "c1", "native", "cpp")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Result:
    """What the measured process prints."""

    load_s: float
    graphs_s: float
    cpu_s: float
    peak_bytes: int
    samples: int
    stacks: int
    frames: int
    nodes: int
    graphs: int


def stack_matrix(rng: np.random.Generator, count: int) -> Ints:
    """Stacks as rows of frame ids, -1 behind the leaf; each shares a prefix with the one before."""
    length = np.clip(rng.normal(MEAN_DEPTH, 16, count).astype(int), 6, DEEPEST)
    # Neighbours share as much as they can, but for a tail of the longer one.
    common = np.minimum(length, np.roll(length, 1))
    shared = np.maximum(common - rng.geometric(1 / OWN_FRAMES, count), 3)
    level = np.arange(DEEPEST)
    fresh = level >= shared[:, None]
    fresh[0] = True
    source = np.maximum.accumulate(np.where(fresh, np.arange(count)[:, None], 0), axis=0)
    drawn = rng.integers(0, METHODS * len(TYPES), (count, DEEPEST))
    return np.where(level < length[:, None], drawn[source, level], -1)


def hashes_of(stacks: Ints) -> Ints:
    """A 64-bit hash of each row; any will do that is the same for the same frames."""
    salt = np.random.default_rng(9).integers(1, 1 << 62, (DEEPEST, METHODS * len(TYPES) + 1))
    summed: Ints = salt[np.arange(DEEPEST), stacks].sum(axis=1)
    return summed


def write_run(path: Path, parts: int, rows: int, stacks: int, shared: float) -> None:
    """A run folder of ``parts`` executors with one part each."""
    rng = np.random.default_rng(7)
    pool = stack_matrix(rng, int(stacks * 1.5))
    names = [f"com.example.module{i % 97}.Class{i // 7}.method{i}" for i in range(METHODS)]
    run = RunBuilder(path)
    for number in range(parts):
        common = rng.permutation(len(pool))[: int(stacks * shared)]
        own = stack_matrix(rng, stacks - common.size)
        executor = run.executor(str(number))
        executor.samples = write_executor(
            executor.folder / "000001.parquet",
            rng,
            np.concatenate([pool[common], own]),
            names,
            rows,
            number,
        )
    run.write()


def write_executor(
    path: Path,
    rng: np.random.Generator,
    stacks: Ints,
    names: list[str],
    rows: int,
    number: int,
) -> int:
    """One part; returns its samples."""
    used = rng.permutation(np.unique(stacks[stacks >= 0]))
    local = np.full(METHODS * len(TYPES), -1)
    local[used] = np.arange(used.size)
    ids = np.where(stacks >= 0, local[stacks], -1)
    hashes = hashes_of(stacks)
    order = np.lexsort(ids.T[::-1])
    ids, hashes = ids[order], hashes[order]
    offsets = np.concatenate(([0], np.cumsum((ids >= 0).sum(axis=1))))
    lists = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(ids[ids >= 0], pa.int32())
    )
    which = np.concatenate([np.arange(len(ids)), rng.integers(0, len(ids), rows - len(ids))])
    task = rng.integers(0, TASKS, rows)
    counts = rng.geometric(0.3, rows)
    tables = {
        "sample": pa.table(
            {
                "recording_id": np.zeros(rows, np.int32),
                "stage_id": (task % STAGES).astype(np.int32),
                "stage_attempt": np.zeros(rows, np.int32),
                "task_id": task + number * TASKS,
                "sql_execution_id": np.full(rows, -1),
                "kind": pa.array(["task"] * rows),
                "event": pa.array([EVENTS[i] for i in rng.integers(0, len(EVENTS), rows)]),
                "state": pa.array([""] * rows),
                "bucket_ms": 1_790_000_000_000 + rng.integers(0, 6, rows) * 10_000,
                "stack_hash": hashes[which],
                "samples": counts,
                "value": counts * 10_000_000,
            }
        ),
        "stack": pa.table({"stack_hash": hashes, "frames": lists}),
        "frame": pa.table(
            {
                "id": np.arange(used.size, dtype=np.int32),
                "name": pa.array([names[i] for i in used // len(TYPES)]),
                "type": pa.array([TYPES[i] for i in used % len(TYPES)]),
                "line": np.zeros(used.size, np.int32),
            }
        ),
    }
    write_part(path, [tables], executor=str(number))
    return int(counts.sum())


def measure(path: str) -> Result:
    """Load a run and make every graph: what the measured process does."""
    import spark_probe

    start = time.perf_counter()
    profile = spark_probe.load(path)
    loaded = time.perf_counter()
    nodes = graphs = 0
    for stage in profile.stages:
        for event in stage.samples:
            nodes += len(stage.flamegraph(event))
            graphs += 1
    done = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    scale = 1 if sys.platform == "darwin" else 1024
    return Result(
        load_s=loaded - start,
        graphs_s=done - loaded,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * scale,
        samples=profile.samples.num_rows,
        stacks=profile.stacks.num_rows,
        frames=profile.frames.num_rows,
        nodes=nodes,
        graphs=graphs,
    )


def show(result: Result) -> bool:
    """Print it; whether the goals were met."""
    each = result.graphs_s / max(1, result.graphs)
    print(
        f"{result.samples:,} sample rows, {result.stacks:,} stacks, {result.frames:,} frames\n"
        f"load and merge {result.load_s:6.2f} s    goal {GOAL_S:.0f} s\n"
        f"all graphs     {result.graphs_s:6.2f} s    {result.graphs} with {result.nodes:,} nodes, "
        f"{each * 1000:.0f} ms each\n"
        f"CPU            {result.cpu_s:6.2f} s    with the start of Python and imports\n"
        f"peak memory    {result.peak_bytes / (1 << 20):6.0f} MiB  goal {GOAL_BYTES >> 20} MiB"
    )
    return result.load_s < GOAL_S and result.peak_bytes < GOAL_BYTES


@click.command(help=__doc__.split("\n", 1)[0] if __doc__ else None)
@click.option("--parts", default=200, show_default=True, help="Executors, of one part each.")
@click.option("--rows", default=10_000, show_default=True, help="Sample rows a part.")
@click.option("--stacks", default=7_000, show_default=True, help="Stacks a part.")
@click.option("--shared", default=0.7, show_default=True, help="Share from the common pool.")
@click.option("--folder", type=click.Path(exists=True), help="Measure this run folder instead.")
@click.option("--measured", hidden=True, is_flag=True)
def main(
    parts: int, rows: int, stacks: int, shared: float, folder: str | None, measured: bool
) -> None:
    if measured and folder:
        print(json.dumps(asdict(measure(folder))))
        return
    with tempfile.TemporaryDirectory(prefix="spark-probe-merge-") as scratch:
        if folder is None:
            start = time.perf_counter()
            write_run(Path(scratch) / "run", parts, rows, stacks, shared)
            print(f"generated {parts} parts in {time.perf_counter() - start:.0f} s", flush=True)
        sys.exit(0 if show(measured_apart(folder or f"{scratch}/run")) else 1)


def measured_apart(folder: str) -> Result:
    """`measure` in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.merge", "--folder", folder, "--measured"]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the measured process failed:\n{done.stderr}")
    values: dict[str, Any] = json.loads(done.stdout)
    return Result(**values)


if __name__ == "__main__":
    main()
