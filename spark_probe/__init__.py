"""Which stage of a Spark job is slow, and which lines of code make it slow.

import spark_probe

with spark_probe.enable(spark) as probe:   # a session that is already running
    run_the_job(spark)
probe.profile().report("report.html")

builder = spark_probe.configure(builder)   # or before the session starts
profile = spark_probe.load("spark-probe/app-2026…")  # later, anywhere, without Spark
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spark_probe._version import __version__

if TYPE_CHECKING:
    from spark_probe.config import ProbeConfig
    from spark_probe.errors import (
        ConfigError,
        ProbeWarning,
        RunError,
        SessionError,
        SparkProbeError,
    )
    from spark_probe.flamegraph import FlameGraph
    from spark_probe.profile import Profile, Stage, load
    from spark_probe.session import Probe, configure, enable

__all__ = [
    "ConfigError",
    "FlameGraph",
    "Probe",
    "ProbeConfig",
    "ProbeWarning",
    "Profile",
    "RunError",
    "SessionError",
    "SparkProbeError",
    "Stage",
    "__version__",
    "configure",
    "enable",
    "load",
]

# Imported when first asked for: `import spark_probe` costs a Python worker or a command neither pyarrow nor Spark.
_HOMES = {
    "ConfigError": "errors",
    "FlameGraph": "flamegraph",
    "Probe": "session",
    "ProbeConfig": "config",
    "ProbeWarning": "errors",
    "Profile": "profile",
    "RunError": "errors",
    "SessionError": "errors",
    "SparkProbeError": "errors",
    "Stage": "profile",
    "configure": "session",
    "enable": "session",
    "load": "profile",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
