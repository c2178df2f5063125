"""`spark-probe conf`: what to add to spark-submit."""

from __future__ import annotations

import shlex
from dataclasses import fields

import click

from spark_probe.config import PREFIX, ProbeConfig
from spark_probe.gateway import PLUGIN
from spark_probe.jar import jar_path

__all__ = ["conf"]


@click.command("conf")
@click.argument("options", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--list", "show", is_flag=True, help="Print every key with its default and meaning.")
def conf(options: tuple[str, ...], show: bool) -> None:
    """Print the arguments that put the profiler into a spark-submit command.

    KEY is an option's name, with or without spark.probe. before it; values are checked.

    \b
    spark-submit $(spark-probe conf interval=20ms dir=hdfs:///probe) job.py

    Not among them, since the shell would split it: -XX:+UnlockDiagnosticVMOptions
    -XX:+DebugNonSafepoints in spark.executor.extraJavaOptions and spark.driver.extraJavaOptions
    makes samples exact to the line. A session by spark_probe.configure has it.
    """
    if show:
        defaults = ProbeConfig().to_conf()
        for about in fields(ProbeConfig):
            key = ProbeConfig.key(about.name)
            click.echo(f"{key} (default {defaults[key] or 'empty'})\n    {about.metadata['doc']}")
        return
    chosen = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise click.UsageError(f"{option}: it takes KEY=VALUE")
        chosen[key if key.startswith(PREFIX) else PREFIX + key] = value
    resolved = ProbeConfig.from_conf(chosen).to_conf()
    words = ["--jars", str(jar_path()), "--conf", f"spark.plugins={PLUGIN}"]
    for key in chosen:
        words += ["--conf", f"{key}={resolved[key]}"]
    click.echo(shlex.join(words))
