"""The group of subcommands. A subcommand's module, and what it imports, is loaded only when it is called."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import click

from spark_probe import cli
from spark_probe._version import __version__
from spark_probe.errors import SparkProbeError

__all__ = ["main"]


class _Failure(click.ClickException):
    exit_code = 2


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(name for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = getattr(import_module(f"{cli.__name__}.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SparkProbeError as error:
            raise _Failure(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spark-probe")
def main() -> None:
    """Which stage of a Spark job is slow, and which lines of code make it slow.

    RUN is a run folder, <spark.probe.dir>/<application id>, as a path or any fsspec URL.

    Exit codes: 0, 1 a problem was found, 2 wrong usage or unreadable input.
    """
