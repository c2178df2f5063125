"""`spark-probe eventlog`: what a Spark event log says, as totals or as a page a person reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pyarrow.compute as pc
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
from rich.table import Table

from spark_probe.eventlog import EventLog, read
from spark_probe.eventlog.reader import Progress as Report

__all__ = ["eventlog"]


_WIDE = 150  # columns of a terminal that shows all there is of a stage


@click.command("eventlog")
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print the totals as one JSON object.")
@click.option(
    "--top",
    default=20,
    show_default=True,
    metavar="N",
    help="Show the N stages with most run time.",
)
def eventlog(path: str, as_json: bool, top: int) -> None:
    """Read a Spark event log of any Spark since 1.3, however it is compressed.

    PATH is a log file, a rolling eventlog_v2_… directory, a directory of Databricks segments, a zip
    from the History Server, a run folder, or an fsspec or Hadoop URL of one of these.

    \b
    Keys of --json:
      file, spark, app, start, end       path, Spark's version, application, epoch milliseconds
      lines, bad_lines, skipped_lines    lines read; those that are no events (twice the same)
      skipped_bytes, complete            stored bytes that cannot be decoded; whether all is there
      jobs, jobs_ok, jobs_failed         stages, stages_failed, stages_open
      task_starts, task_ends             ok, failed, killed, resubmitted, speculative, no_metrics
      exec_added, exec_removed           executors
      run_ms, cpu_ns, gc_ms, deser_ms, ser_ms, mem_spill, disk_spill, shuf_read, shuf_write,
      fetch_wait_ms, input, output       sums over all ended attempts; sizes in bytes
      problems                           what could not be read, in sentences
    """
    with _progress() as report:
        log = read(path, report)
    if as_json:
        problems = [str(problem) for problem in log.problems]
        click.echo(json.dumps({**log.totals(), "problems": problems}, ensure_ascii=False))
    else:
        _show(log, top)


@contextmanager
def _progress() -> Iterator[Report | None]:
    """A bar on standard error while a terminal looks on."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = ("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, done))


def _show(log: EventLog, top: int) -> None:
    console = Console(highlight=False)
    t, app = log.totals(), log.app
    console.print(
        f"[bold]{escape(app.name or '?')}[/]  {escape(t['app'])}  "
        f"Spark {escape(app.spark_version or '?')}  {_span(app.start_ms, app.end_ms)}"
    )
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(t):
        facts.add_row(f"[dim]{name}[/]", value)
    console.print(facts)
    if log.tasks.num_rows and top > 0:
        console.print(_stages(log, top, console.width))
    if t["bad_lines"]:
        console.print(f"[yellow]{t['bad_lines']:,} of {t['lines']:,} lines are no events[/]")
    for problem in log.problems:
        console.print(f"[yellow]{escape(str(problem))}[/]")
    if log.problem_count > len(log.problems):
        console.print(f"[yellow]… and {log.problem_count - len(log.problems):,} more problems[/]")
    if not log.complete:
        missing = "events are missing" if log.app.end_ms else "the application's end is not in it"
        console.print(f"[yellow]The log is not complete: {missing}.[/]")


def _facts(t: dict[str, int]) -> list[tuple[str, str]]:
    return [
        ("jobs", f"{t['jobs']:,} ({t['jobs_ok']:,} succeeded, {t['jobs_failed']:,} failed)"),
        (
            "stage attempts",
            f"{t['stages']:,} ({t['stages_failed']:,} failed, {t['stages_open']:,} not ended)",
        ),
        (
            "task attempts",
            f"{t['task_ends']:,} of {t['task_starts']:,} ended: {t['ok']:,} ok, "
            f"{t['failed']:,} failed, {t['killed']:,} killed; {t['speculative']:,} speculative",
        ),
        ("executors", f"{t['exec_added']:,} added, {t['exec_removed']:,} removed"),
        (
            "time in tasks",
            f"run {_ms(t['run_ms'])}, CPU {_ms(t['cpu_ns'] // 1_000_000)}, GC {_ms(t['gc_ms'])}, "
            f"fetch wait {_ms(t['fetch_wait_ms'])}",
        ),
        (
            "data",
            f"input {_size(t['input'])}, output {_size(t['output'])}, "
            f"shuffle read {_size(t['shuf_read'])}, write {_size(t['shuf_write'])}",
        ),
        ("spill", f"memory {_size(t['mem_spill'])}, disk {_size(t['disk_spill'])}"),
    ]


def _stages(log: EventLog, top: int, width: int) -> Table:
    """The stage attempts with most run time; what they read and wrote only where there is room."""
    summary = log.stage_summary().sort_by([("run_ms", "descending")])
    shown = summary.slice(0, top).to_pylist()
    durations = log.stage_metrics((0.5, 1.0))
    durations = durations.filter(pc.equal(durations["metric"], "duration_ms"))
    quantiles = {(r["stage_id"], r["stage_attempt"]): r for r in durations.to_pylist()}
    title = f"{len(shown)} of {summary.num_rows} stage attempts, most run time first"
    headings = ["tasks", "run", "GC", "median", "max", "spill"]
    if width >= _WIDE:
        headings += ["failed", "CPU", "input", "shuffle read", "shuffle write"]
    room = width - 12 * (len(headings) + 1)
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("stage", no_wrap=True)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=max(room, 16))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for r in shown:
        q = quantiles.get((r["stage_id"], r["stage_attempt"]), {})
        cells = {
            "tasks": f"{r['tasks_success'] + r['tasks_failed'] + r['tasks_killed']:,}",
            "run": _ms(r["run_ms"]),
            "GC": _ms(r["gc_ms"]),
            "median": _ms(q.get("p50")),
            "max": _ms(q.get("max")),
            "spill": _size(r["disk_spill_bytes"]),
            "failed": f"{r['tasks_failed']:,}",
            "CPU": _ms(r["cpu_ns"] // 1_000_000),
            "input": _size(r["input_bytes"]),
            "shuffle read": _size(r["shuffle_read_bytes"]),
            "shuffle write": _size(r["shuffle_write_bytes"]),
        }
        name = f"{r['stage_id']}.{r['stage_attempt']}", escape(r["name"] or "?")
        table.add_row(*name, *(cells[heading] for heading in headings))
    return table


def _span(start_ms: int | None, end_ms: int | None) -> str:
    return _ms(end_ms - start_ms) if start_ms is not None and end_ms is not None else "not ended"


def _ms(ms: int | None) -> str:
    if ms is None:
        return ""
    for limit, unit, per in ((60_000, "s", 1_000), (3_600_000, "min", 60_000)):
        if ms < 1_000:
            return f"{ms} ms"
        if ms < limit:
            return f"{ms / per:.1f} {unit}"
    return f"{ms / 3_600_000:.1f} h"


def _size(size: float) -> str:
    if not size:
        return "0"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"
