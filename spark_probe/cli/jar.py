"""`spark-probe jar`: where the jar is."""

from __future__ import annotations

import click

from spark_probe.jar import jar_path

__all__ = ["jar"]


@click.command("jar")
def jar() -> None:
    """Print the path of the jar, for spark-submit --jars.

    \b
    spark-submit --conf spark.plugins=io.sparkprobe.SparkProbePlugin --jars $(spark-probe jar) job.py
    """
    click.echo(jar_path())
