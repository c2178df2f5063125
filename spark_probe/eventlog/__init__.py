"""Spark event logs, whoever wrote them, as Arrow tables.

    >>> from spark_probe import eventlog
    >>> log = eventlog.read("hdfs:///spark-logs/eventlog_v2_app-2026…")
    >>> log.tasks, log.stage_metrics(), log.totals()

The steps, each a module: `locate` (path -> files in order), `codecs` (stored -> plain bytes),
`lines` (bytes -> blocks by kind of event), `columns` and `assemble` (events -> rows), `reader` (all
of it, on all cores), `summary` (tables -> quantiles and totals).
"""

from spark_probe.eventlog.locate import find_logs
from spark_probe.eventlog.log import EventLog, read
from spark_probe.eventlog.problems import EventLogError, Problem
from spark_probe.eventlog.summary import (
    METRICS,
    quantile_column,
    stage_metrics,
    stage_summary,
    totals,
)

__all__ = [
    "METRICS",
    "EventLog",
    "EventLogError",
    "Problem",
    "find_logs",
    "quantile_column",
    "read",
    "stage_metrics",
    "stage_summary",
    "totals",
]
