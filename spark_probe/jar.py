"""Where the JVM half of spark_probe is."""

from __future__ import annotations

from pathlib import Path

from spark_probe._version import __version__
from spark_probe.errors import SparkProbeError

__all__ = ["jar_path"]


def jar_path() -> Path:
    """The jar of this version, the one file that Spark needs (``spark.jars``).

    Raises:
        SparkProbeError: it is not there, as in a checkout where it was never built.
    """
    jar = Path(__file__).parent / "jars" / f"spark-probe-{__version__}.jar"
    if jar.is_file():
        return jar
    found = ", ".join(sorted(other.name for other in jar.parent.glob("*.jar"))) or "no jar"
    raise SparkProbeError(
        f"{jar} is missing ({found} there). An installed wheel carries it: reinstall spark-probe; "
        "in a checkout build it with `make jar` or `pip install -e .`"
    )
