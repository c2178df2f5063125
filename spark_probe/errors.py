"""What spark_probe raises. Each message says what, where, and the next step."""

from __future__ import annotations

__all__ = ["ConfigError", "ProbeWarning", "RunError", "SessionError", "SparkProbeError"]


class SparkProbeError(Exception):
    """Base of every error that spark_probe raises on purpose."""


class ConfigError(SparkProbeError, ValueError):
    """An option or a ``spark.probe.*`` key has a value that it does not take."""


class SessionError(SparkProbeError):
    """This Spark session cannot be profiled, or not any more."""


class RunError(SparkProbeError):
    """A run folder or another input cannot be read, or what was asked for is not in it."""


class ProbeWarning(UserWarning):
    """Profiling goes on, but not everywhere: the message names the executors and the reason."""
