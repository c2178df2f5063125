"""`spark-probe flamegraph`: a page with one flame graph."""

from __future__ import annotations

from typing import Any

import click

from spark_probe.cli._run import chosen_graph, graph_options, load_run, warn, write_text

__all__ = ["flamegraph"]


@click.command()
@click.argument("run")
@graph_options
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False), help="The page to write."
)
def flamegraph(run: str, output: str, **choice: Any) -> None:
    """Write a flame graph of RUN, over all executors, as one self-contained HTML page."""
    profile = load_run(run)
    write_text(output, chosen_graph(profile, **choice).html())
    click.echo(output)
    warn(profile)
