"""`spark-probe stages`: the stage attempts of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from spark_probe.cli._run import as_json, load_run, warn

if TYPE_CHECKING:
    from rich.table import Table

    from spark_probe.profile import Profile
    from spark_probe.stage import Stage

__all__ = ["stages"]

_WIDE = 160  # columns, where no terminal says how many it has
_LEAST = 16


@click.command()
@click.argument("run")
@as_json
def stages(run: str, as_json: bool) -> None:
    """List the stage attempts of RUN: their tasks, and what was sampled in them.

    \b
    Keys of --json:
      path        the run folder
      stages      a list, sorted by id and attempt, of objects with
        id, attempt, name, status         status: complete, failed, running, or empty
        submitted_ms, completed_ms        epoch milliseconds or null
        job_ids, sql_execution_id
        tasks                             task attempts that are known
        samples     {event: {samples, value, unit}}
        kinds       {event: {kind of thread: samples}}
        metrics     {name: {unit, tasks, total, min, p25, p50, p75, p95, max}}
        coverage    {executors, unprofiled, partial}: ids of executors that ran its tasks
      notes       what is missing of the run, in sentences
    """
    profile = load_run(run)
    if as_json:
        rows = [stage.to_dict() for stage in profile.stages]
        click.echo(
            json.dumps({"path": profile.path, "stages": rows, "notes": profile.notes}, indent=2)
        )
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    console.print(_table(profile, console.width))
    warn(profile)


def _table(profile: Profile, width: int) -> Table:
    """Numbers as wide as they are; names get what is left."""
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    headings = ["tasks", "run", "max task", *profile.event_names]
    rows = [_cells(stage, profile.event_names) for stage in profile.stages]
    key_width = max((len(stage.key) for stage in profile.stages), default=0)
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    left = width - max(key_width, len("stage")) - sum(widths) - len(widths) - 4
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("stage", no_wrap=True)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=max(left, _LEAST))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for stage, cells in zip(profile.stages, rows, strict=True):
        table.add_row(stage.key, escape(stage.name), *cells)
    return table


def _cells(stage: Stage, events: list[str]) -> list[str]:
    run, duration = stage.metrics.get("run_ms"), stage.metrics.get("duration_ms")
    return [
        f"{stage.tasks:,}",
        f"{run.total / 1000:,.1f} s" if run else "",
        f"{duration.max / 1000:,.1f} s" if duration else "",
        *(f"{stage.samples[e].samples:,}" if e in stage.samples else "" for e in events),
    ]
