"""`spark-probe findings`: why a run is slow, ranked by what it costs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from spark_probe.cli._run import as_json, load_run, warn
from spark_probe.errors import RunError

if TYPE_CHECKING:
    from spark_probe.explain import Finding

__all__ = ["findings"]


@click.command()
@click.argument("path")
@as_json
def findings(path: str, as_json: bool) -> None:
    """Say why an application is slow. PATH is a run folder or a bare Spark event log.

    Ends with 1 when there is a finding above info, 0 otherwise, 2 when PATH cannot be read.

    \b
    Keys of --json:
      path        as given
      profiled    whether PATH is a run folder (stacks), not a bare event log
      findings    a list, most costly first, of objects with
        rule, severity                    severity: info, warning, critical
        title, advice, caveat             sentences; caveat: when not to
        cost_ms                           estimated wall-clock time that it costs the application
        stage_id, stage_attempt           null: the whole application
        numbers                           {name: value}, units in the names
        frames                            [{name, share}] that prove it
        code                              the user's line, or empty
    """
    profiled, found = _found(path)
    if as_json:
        rows = [finding.to_dict() for finding in found]
        click.echo(json.dumps({"path": path, "profiled": profiled, "findings": rows}, indent=2))
    else:
        _show(found)
    sys.exit(1 if any(finding.severity != "info" for finding in found) else 0)


def _found(path: str) -> tuple[bool, list[Finding]]:
    from spark_probe.eventlog import EventLogError, read
    from spark_probe.explain import evidence_of_log, explain

    try:
        profile = load_run(path)
    except RunError as no_run:
        try:
            return False, explain(evidence_of_log(read(path)))
        except EventLogError as no_log:
            raise RunError(f"neither a run ({no_run}) nor an event log ({no_log})") from no_log
    warn(profile)
    return True, profile.findings


def _show(found: list[Finding]) -> None:
    if not found:
        click.echo("Nothing found.")
    for f in found:
        where = "application" if f.stage_id is None else f"stage {f.stage_id}.{f.stage_attempt}"
        click.echo(f"{f.severity}: {f.rule}, {where}, costs about {f.cost_ms / 1000:,.1f} s")
        click.echo(f"  {f.title}")
        if f.code:
            click.echo(f"  at {f.code}")
        for name, share in f.frames:
            click.echo(f"  {share:6.1%}  {name}")
        click.echo("  " + ", ".join(f"{k} {_number(v)}" for k, v in f.numbers.items()))
        click.echo(f"  -> {f.advice}" + (f" {f.caveat}" if f.caveat else ""))


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.10g}"
