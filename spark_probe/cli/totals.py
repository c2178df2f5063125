"""`spark-probe totals`: sums over a run, and how much of it was seen."""

from __future__ import annotations

import json
from typing import Any

import click

from spark_probe.cli._run import as_json, load_run, warn

__all__ = ["totals"]


@click.command()
@click.argument("run")
@as_json
def totals(run: str, as_json: bool) -> None:
    """Print sums over RUN: samples of each event and kind of thread, executors, files.

    \b
    Keys of --json:
      path, app_id, app_name, spark_version, mode      run.json's; null where it is missing
      start_ms, end_ms                                 epoch milliseconds; end_ms null while running
      stages, tasks                                    stage attempts, task attempts
      events      {event: {samples, value, unit, kinds: {kind of thread: samples}}}
      sample_rows, stacks, frames                      size of the tables
      files, bytes                                     Parquet files that were read
      coverage    {seen, profiled, partial, samples_lost, outside_tasks: {event: {kind: samples}},
                  outside_share: {event: 0..1}, executors: [{id, host, state, reason, engine, samples,
                  samples_recorded, samples_lost, files, bytes, profiled, partial, missing, notes}],
                  notes}
    """
    profile = load_run(run)
    sums = profile.totals()
    if as_json:
        click.echo(json.dumps(sums, indent=2))
        return
    for name, value in _facts(sums):
        click.echo(f"{name:<15} {value}")
    warn(profile)


def _facts(sums: dict[str, Any]) -> list[tuple[str, str]]:
    cover = sums["coverage"]
    facts = [
        ("application", f"{sums['app_name'] or '?'}  {sums['app_id'] or ''}"),
        ("Spark", f"{sums['spark_version'] or '?'}"),
        (
            "executors",
            f"{cover['seen']:,} seen, {cover['profiled']:,} profiled, {cover['partial']:,} partial",
        ),
        ("stages, tasks", f"{sums['stages']:,} stage attempts, {sums['tasks']:,} task attempts"),
    ]
    for event, counted in sums["events"].items():
        share = cover["outside_share"].get(event, 0.0)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in counted["kinds"].items())
        facts.append(
            (
                event,
                f"{counted['samples']:,} samples, {_quantity(counted['value'], counted['unit'])}, "
                f"{share:.1%} outside tasks ({kinds})",
            )
        )
    facts.append(
        (
            "folder",
            f"{sums['files']:,} files, {sums['bytes'] / 1e6:,.1f} MB: {sums['sample_rows']:,} sample rows, "
            f"{sums['stacks']:,} stacks, {sums['frames']:,} frames",
        )
    )
    if cover["samples_lost"]:
        facts.append(("lost", f"{cover['samples_lost']:,} samples"))
    return facts


def _quantity(value: int, unit: str) -> str:
    return f"{value / 1e6:,.1f} MB" if unit == "bytes" else f"{value / 1e9:,.1f} s"
