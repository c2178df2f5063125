"""`spark-probe report`: the page of a whole run."""

from __future__ import annotations

import click

from spark_probe.cli._run import load_run, warn

__all__ = ["report"]


@click.command()
@click.argument("run")
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="The page to write.",
)
def report(run: str, output: str) -> None:
    """Write the report of RUN: one self-contained HTML page, all stages."""
    profile = load_run(run)
    try:
        profile.report(output)
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror or error}") from error
    click.echo(output)
    warn(profile)
