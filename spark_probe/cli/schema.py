"""`spark-probe schema`: the contract of the run folder."""

from __future__ import annotations

from importlib import resources

import click

__all__ = ["schema"]


@click.command()
def schema() -> None:
    """Print FORMAT.md: what stands in a run folder, with types and units."""
    package = resources.files("spark_probe")
    # In a wheel it lies in the package, in a checkout at the top.
    for place in (package / "FORMAT.md", package / ".." / "FORMAT.md"):
        if place.is_file():
            click.echo(place.read_text(encoding="utf-8"), nl=False)
            return
    raise click.ClickException("FORMAT.md is not in this installation; install spark-probe again")
