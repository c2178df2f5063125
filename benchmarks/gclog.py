"""How fast GC logs become a table of events, and in how much memory.

    python benchmarks/gclog.py                # 200 MB of each kind
    python benchmarks/gclog.py --mb 2000      # ten times the log in ten times the time

Logs are generated in the shapes that the JVMs write: unified logging of G1 with all of gc* and of Parallel with
nothing but its pauses (the densest there is: a line an event), the classic log of CMS (a line an event) and of G1 with
PrintGCDetails (23 lines an event). Each is read in a process of its own, whose wall time, CPU time and peak resident
memory are printed. Goal: 50 MB/s and over on an idle core; memory that grows with the events alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from spark_probe.gclog import read

MEGABYTE = 1_000_000

_UNIFIED_G1 = """\
[{date}+0100][{up:.3f}s][info][gc,start    ] GC({n}) Pause Young (Normal) (G1 Evacuation Pause)
[{date}+0100][{up:.3f}s][info][gc,task     ] GC({n}) Using 2 workers of 2 for evacuation
[{date}+0100][{up:.3f}s][info][gc,phases   ] GC({n})   Pre Evacuate Collection Set: 0.05ms
[{date}+0100][{up:.3f}s][info][gc,phases   ] GC({n})   Merge Heap Roots: 0.02ms
[{date}+0100][{up:.3f}s][info][gc,phases   ] GC({n})   Evacuate Collection Set: 3.12ms
[{date}+0100][{up:.3f}s][info][gc,phases   ] GC({n})   Post Evacuate Collection Set: 0.14ms
[{date}+0100][{up:.3f}s][info][gc,phases   ] GC({n})   Other: 0.09ms
[{date}+0100][{up:.3f}s][info][gc,heap     ] GC({n}) Eden regions: 54->0(51)
[{date}+0100][{up:.3f}s][info][gc,heap     ] GC({n}) Survivor regions: 3->6(8)
[{date}+0100][{up:.3f}s][info][gc,heap     ] GC({n}) Old regions: 2->{old}
[{date}+0100][{up:.3f}s][info][gc,heap     ] GC({n}) Humongous regions: 0->0
[{date}+0100][{up:.3f}s][info][gc,metaspace] GC({n}) Metaspace: 1186K(1344K)->1186K(1344K)
[{date}+0100][{up:.3f}s][info][gc          ] GC({n}) Pause Young (Normal) (G1 Evacuation Pause) 57M->{old}M(96M) {ms}ms
[{date}+0100][{up:.3f}s][info][gc,cpu      ] GC({n}) User=0.00s Sys=0.00s Real=0.00s
"""
_UNIFIED_PLAIN = (
    "[{up:.3f}s][info][gc] GC({n}) Pause Young (Allocation Failure) 62M->{old}M(123M) {ms}ms\n"
)
_CLASSIC_CMS = (
    "{date}+0100: {up:.3f}: [GC (Allocation Failure) {date}+0100: {up:.3f}: [ParNew: 218496K->25704K(245760K), "
    "0.0145305 secs] 218496K->25{old}K(791936K), 0.0{n:06d} secs] [Times: user=0.13 sys=0.00, real=0.01 secs] \n"
)
_CLASSIC_G1 = (
    "{date}+0100: {up:.3f}: [GC pause (G1 Evacuation Pause) (young), 0.0{n:06d} secs]\n"
    "   [Parallel Time: 17.8 ms, GC Workers: 8]\n"
    + "      [Object Copy (ms): Min: 0.0, Avg: 5.2, Max: 9.4, Diff: 9.4, Sum: 41.5]\n"
    * 18
    + "   [Other: 4.4 ms]\n"
    "   [Eden: 264.0M(768.0M)->0.0B(752.0M) Survivors: 0.0B->16.0M Heap: 264.0M(8192.0M)->{old}.6M(8192.0M)]\n"
    " [Times: user=0.10 sys=0.00, real=0.03 secs] \n"
)
KINDS = {
    "unified, G1, gc*": (_UNIFIED_G1, "[0.001s][info][gc,init] Heap Region Size: 1M\n"),
    "unified, Parallel, gc": (_UNIFIED_PLAIN, "[0.001s][info][gc] Using Parallel\n"),
    "classic, CMS, a line each": (_CLASSIC_CMS, "CommandLine flags: -XX:+UseConcMarkSweepGC\n"),
    "classic, G1, in detail": (_CLASSIC_G1, "CommandLine flags: -XX:+UseG1GC\n"),
}


def _write(path: Path, template: str, head: str, size: int) -> int:
    """Writes a log of about `size` bytes; returns its number of pauses."""
    written = number = 0
    with path.open("w") as file:
        written += file.write(head)
        while written < size:
            up = 1 + number * 0.25
            hour, rest = divmod(int(up), 3600)
            date = (
                f"2024-03-{1 + hour // 24:02d}T{hour % 24:02d}:{rest // 60:02d}:{rest % 60:02d}.000"
            )
            written += file.write(
                template.format(
                    date=date if hour < 24 * 30 else "2024-03-31T00:00:00.000",
                    up=up,
                    n=number % 1_000_000,
                    old=20 + number % 30,
                    ms=f"{0.5 + number % 97 / 10:.3f}",
                )
            )
            number += 1
    return number


def _measure(path: str) -> None:
    began, used = time.perf_counter(), time.process_time()
    log = read(path)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - used
    began = time.perf_counter()
    pauses = log.summary()["pauses"]
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    summary_s = time.perf_counter() - began
    print(json.dumps([wall_s, cpu_s, summary_s, peak_mib, pauses]))


@click.command()
@click.option("--mb", default=200, show_default=True, help="Size of each log, in MB.")
@click.option("--read", "path", hidden=True, help="Read this log and print the measurements.")
def main(mb: int, path: str | None) -> None:
    if path:
        return _measure(path)
    show: Callable[[str], None] = click.echo
    show(f"{'log':28} {'MB/s':>6} {'CPU MB/s':>9} {'events/s':>10} {'summary':>9} {'peak':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, (template, head) in KINDS.items():
            log = Path(folder, "gc.log")
            written = _write(log, template, head, mb * MEGABYTE)
            done = subprocess.run(
                [sys.executable, __file__, "--read", str(log)], stdout=subprocess.PIPE, check=True
            )
            wall_s, cpu_s, summary_s, peak_mib, pauses = json.loads(done.stdout)
            assert pauses == written, f"{kind}: {pauses} of {written} pauses"
            size = log.stat().st_size / MEGABYTE
            show(
                f"{kind:28} {size / wall_s:6.0f} {size / cpu_s:9.0f} {pauses / wall_s:10,.0f} "
                f"{summary_s:7.2f} s {peak_mib:5.0f} MiB"
            )
    return None


if __name__ == "__main__":
    main()
