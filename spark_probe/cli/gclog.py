"""`spark-probe gclog`: what GC logs say, as one JSON object or as a page a person reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spark_probe.gclog import GcLog, read

__all__ = ["gclog"]


@click.command("gclog")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def gclog(files: tuple[str, ...], as_json: bool) -> None:
    """Read GC logs of one JVM: -Xlog:gc* of any collector, or -XX:+PrintGC… of JDK 8 and before.

    FILE… are log files, plain or gzip, in any order (rotated ones are put together by their times),
    or directories of them.

    \b
    Keys of --json (null where the log does not say):
      collector, jvm_runs, files         Serial, Parallel, CMS, G1, ZGC, Shenandoah; JVMs; paths
      start, end, span_s                 uptime_s and time (UTC) of both ends; seconds covered
      pauses, full, cycles, system_gc    counts; cycles are ZGC's; calls of System.gc()
      pause_ms, longest_ms, longest      sum; the longest, with its type, cause, time and line
      mean_pause_ms, median_pause_ms, p99_pause_ms
      throughput                         1 - time in pauses / span_s
      heap_before_bytes, heap_after_bytes    first, max and last of collections
      heap_committed_bytes, live_bytes   largest heap; most used after a full collection
      allocation_bytes_per_s, promotion_bytes_per_s
      causes, failures, types            counts by name; for types also total_ms, max_ms, pause
      safepoints                         count, stopped_ms, longest_ms, reaching_ms
      problems                           what was left out: file, line, reason
    """
    log = read(files)
    if as_json:
        click.echo(json.dumps(_document(log), ensure_ascii=False))
    else:
        _show(log)


def _document(log: GcLog) -> dict[str, Any]:
    problems = [{"file": p.file, "line": p.line, "reason": p.reason} for p in log.problems]
    return {**log.summary(), "files": log.files, "problems": problems}


def _show(log: GcLog) -> None:
    console = Console()
    summary = log.summary()
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(summary):
        facts.add_row(f"[dim]{name}[/]", escape(value))
    console.print(facts)
    _table(
        console,
        ("type", "count", "total", "longest"),
        (
            (name, str(kind["count"]), _ms(kind["total_ms"]), _ms(kind["max_ms"]))
            for name, kind in summary["types"].items()
        ),
    )
    for title in ("causes", "failures"):
        if summary[title]:
            rows = ((name, str(count)) for name, count in summary[title].items())
            _table(console, (title[:-1], "count"), rows)
    for problem in log.problems:
        where = f"{problem.file}:{problem.line}: " if problem.line else ""
        console.print(f"[yellow]left out: {escape(where + problem.reason)}[/]", highlight=False)


def _facts(summary: dict[str, Any]) -> Iterable[tuple[str, str]]:
    runs = summary["jvm_runs"]
    yield (
        "collector",
        summary["collector"] + (f", {runs} JVMs one after another" if runs > 1 else ""),
    )
    if summary["start"]:
        start, end = (
            each["time"] or f"{each['uptime_s']:.3f} s"
            for each in (summary["start"], summary["end"])
        )
        yield "time", f"{start} to {end} ({summary['span_s']:.3f} s)"
    counts = [f"{summary['pauses']:,}", f"{summary['full']:,} full"]
    if summary["cycles"]:
        counts.append(f"{summary['cycles']:,} cycles")
    if summary["system_gc"]:
        counts.append(f"{summary['system_gc']:,} by System.gc()")
    yield "pauses", ", ".join(counts)
    if summary["pauses"]:
        yield (
            "paused",
            f"{_ms(summary['pause_ms'])} in all, {_ms(summary['median_pause_ms'])} median, "
            f"{_ms(summary['p99_pause_ms'])} p99, {_ms(summary['longest_ms'])} longest",
        )
        longest = summary["longest"]
        cause = f" ({longest['cause']})" if longest["cause"] else ""
        yield "longest", f"{longest['type']}{cause}, {longest['file']}:{longest['line']}"
    if summary["throughput"] is not None:
        yield "throughput", f"{summary['throughput']:.3%} of the time outside pauses"
    if summary["heap_before_bytes"]:
        before, after = summary["heap_before_bytes"]["max"], summary["heap_after_bytes"]["max"]
        committed = summary["heap_committed_bytes"]
        of = f" of {_size(committed)}" if committed else ""
        yield "heap", f"at most {_size(before)} before and {_size(after)} after collections{of}"
    if summary["live_bytes"] is not None:
        yield "live", f"at most {_size(summary['live_bytes'])} after full collections"
    for name, key in (("allocated", "allocation"), ("promoted", "promotion")):
        if (rate := summary[f"{key}_bytes_per_s"]) is not None:
            yield name, f"{_size(rate)}/s"
    if stops := summary["safepoints"]:
        yield (
            "safepoints",
            f"{stops['count']:,}, {_ms(stops['stopped_ms'])} stopped, of it "
            f"{_ms(stops['reaching_ms'])} until all threads stood still",
        )


def _table(console: Console, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    table = Table(box=SIMPLE, pad_edge=False)
    for at, name in enumerate(head):
        table.add_column(name, justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    if table.row_count:
        console.print(table)


def _ms(value: float) -> str:
    return f"{value / 1e3:,.2f} s" if value >= 10_000 else f"{value:,.3f} ms"


def _size(value: float) -> str:
    if value < 1024:
        return f"{value:.0f} B"
    power = min(4, int(math.log(value, 1024)))
    return f"{value / 1024**power:,.1f} {'KMGT'[power - 1]}iB"
