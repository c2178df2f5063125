"""`spark-probe doctor`: can this machine, or this cluster, be profiled."""

from __future__ import annotations

import dataclasses
import json
import sys

import click
from rich.console import Console
from rich.markup import escape

from spark_probe.config import PREFIX, ProbeConfig
from spark_probe.doctor import Diagnosis, check, check_machine

__all__ = ["doctor"]

# What a person is told of each JVM; --json has all.
_SHOWN = ("jvm", "libc", "engine_ctimer", "native", "native_directory", "folder")


@click.command("doctor")
@click.option(
    "--master", help="Start a session on this master (local[2], yarn, …) and look at its executors."
)
@click.option(
    "--conf",
    "confs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Spark configuration of that session; spark.probe.* is checked. May be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print facts and advice as one JSON object.")
def doctor(master: str | None, confs: tuple[str, ...], as_json: bool) -> None:
    """Look for what hinders profiling here, and say what to do.

    Without --master it looks at this machine with its JDK alone. With it, at the driver and each
    executor of a session that it starts and ends. In a session of yours, call spark_probe.doctor.check(spark).

    Exit code: 0 all can be profiled, 1 something hinders it, 2 it could not look.

    \b
    Keys of --json:
      ok       whether everything can be profiled
      jvms     executor id (machine without --master) -> facts
      advice   severity (error, note), where (executor ids), what, do
    """
    conf = {}
    for word in confs:
        key, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"--conf {word}: it takes KEY=VALUE")
        conf[key] = value
    diagnosis = check_machine() if master is None else _session(master, conf)
    if as_json:
        answer = {
            "ok": diagnosis.ok,
            "jvms": diagnosis.jvms,
            "advice": [dataclasses.asdict(item) for item in diagnosis.advice],
        }
        click.echo(json.dumps(answer, indent=2))
    else:
        _show(diagnosis)
    sys.exit(0 if diagnosis.ok else 1)


def _session(master: str, conf: dict[str, str]) -> Diagnosis:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise click.UsageError("--master needs pyspark: pip install pyspark") from None
    ProbeConfig.from_conf({key: value for key, value in conf.items() if key.startswith(PREFIX)})
    builder = SparkSession.builder.master(master).appName("spark-probe doctor")
    for key, value in {"spark.ui.enabled": "false", **conf}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        # Executors register a little after the session is there.
        spark.range(1).count()
        return check(spark)
    finally:
        spark.stop()


def _show(diagnosis: Diagnosis) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for executor, facts in sorted(diagnosis.jvms.items()):
        console.print(f"[bold]{escape(executor)}[/bold]")
        for name in _SHOWN:
            if facts.get(name):
                console.print(f"  {name.replace('_', ' ')}: {escape(facts[name])}")
    for item in diagnosis.advice:
        color = "red" if item.severity == "error" else "yellow"
        where = "" if item.where == ("machine",) else f" on {', '.join(item.where)}"
        console.print(
            f"[{color}]{item.severity}[/{color}]{escape(where)}: {escape(item.what)}\n"
            f"  to do: {escape(item.do)}"
        )
    if diagnosis.ok:
        console.print("[green]Profiling works here.[/green]")
