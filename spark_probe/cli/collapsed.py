"""`spark-probe collapsed`: folded stacks of a run or a stage."""

from __future__ import annotations

from typing import Any

import click

from spark_probe.cli._run import chosen_graph, graph_options, load_run, warn, write_text

__all__ = ["collapsed"]


@click.command()
@click.argument("run")
@graph_options
@click.option("--types", is_flag=True, help="Mark frames: _[0] _[j] _[i] _[1] _[k].")
@click.option(
    "--value",
    type=click.Choice(["samples", "value"]),
    default="samples",
    show_default=True,
    help="What to count: samples, or their value (ns; bytes for alloc).",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file.")
def collapsed(run: str, types: bool, value: str, output: str | None, **choice: Any) -> None:
    """Print folded stacks of RUN, over all executors: `frame;frame;frame count`.

    This is the format of Brendan Gregg's flamegraph.pl, async-profiler, speedscope and others.
    """
    profile = load_run(run)
    text = chosen_graph(profile, **choice).collapsed(types=types, value=value)
    if output:
        write_text(output, text)
    else:
        click.echo(text, nl=False)
    warn(profile)
