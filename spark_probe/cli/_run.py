"""What the subcommands that read a run folder share: loading with a progress bar, options, warnings."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from spark_probe.flamegraph import FlameGraph
    from spark_probe.profile import Profile

__all__ = ["as_json", "chosen_graph", "fail", "graph_options", "load_run", "warn", "write_text"]

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _stage(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, int | None] | None:
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?", value)
    if not match:
        raise click.BadParameter(
            f"{value!r} is no stage; it takes a stage id as 3, or with its attempt 3.1"
        )
    return int(match[1]), int(match[2]) if match[2] else None


_OPTIONS = (
    click.option(
        "--stage",
        metavar="N[.ATTEMPT]",
        callback=_stage,
        help="Only this stage attempt; without ATTEMPT the last one. Default: the whole run.",
    ),
    click.option(
        "--event", default="cpu", show_default=True, help="cpu, wall, alloc, lock, method."
    ),
    click.option("--task", "tasks", type=int, multiple=True, metavar="ID", help="Only this task."),
    click.option("--kind", "kinds", multiple=True, help="Only threads of this kind: task, gc, …"),
    click.option("--include", metavar="REGEX", help="Only stacks with a frame that it finds."),
    click.option("--exclude", metavar="REGEX", help="No stacks with a frame that it finds."),
    click.option("--lines", is_flag=True, help="Tell the source lines of a method apart."),
)


def graph_options(command: F) -> F:
    """The options that say which samples a graph is made of."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_run(path: str) -> Profile:
    """Load a run folder, with a bar on standard error while a terminal looks on."""
    from spark_probe.profile import load

    with _bar() as progress:
        return load(path, progress=progress)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    columns = ("reading files", BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading files", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def chosen_graph(
    profile: Profile,
    stage: tuple[int, int | None] | None,
    event: str,
    tasks: tuple[int, ...],
    kinds: tuple[str, ...],
    include: str | None,
    exclude: str | None,
    lines: bool,
) -> FlameGraph:
    """The graph of `graph_options`; ends the command with 1 if there is no such sample."""
    of = profile.stage(*stage) if stage else None
    graph = profile.flamegraph(
        event, stage=of, tasks=tasks or None, kinds=kinds or None, lines=lines
    )
    if include or exclude:
        try:
            graph = graph.filter(include, exclude)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if not graph.total:
        there = list(of.samples) if of else profile.event_names
        where = f"stage {of.key}" if of else "the run"
        narrowed = " of that choice" if tasks or kinds or include or exclude else ""
        has = f"{where} has samples of {', '.join(there)}" if there else f"{where} has no samples"
        fail(f"there are no {event} samples{narrowed}; {has}")
    return graph


def fail(message: str) -> NoReturn:
    """A problem was found: say it, and end with 1."""
    click.echo(message, err=True)
    sys.exit(1)


def warn(profile: Profile) -> None:
    """Say on standard error what is missing of the run."""
    for note in profile.notes:
        click.echo(f"note: {note}", err=True)


def write_text(path: str, text: str) -> None:
    """Write a file, or say why not."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}") from error
