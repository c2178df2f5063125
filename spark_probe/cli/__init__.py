"""The command `spark-probe`: each module here is a subcommand, whose click command has the module's name."""

from __future__ import annotations

from spark_probe.cli._group import main

__all__ = ["main"]
