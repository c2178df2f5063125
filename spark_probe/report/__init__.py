"""Pages that a person opens: one flame graph, or the report of a whole run."""

from spark_probe.report.flamepage import flamegraph_html
from spark_probe.report.report import report_html
from spark_probe.report.source import RunTables

__all__ = ["RunTables", "flamegraph_html", "report_html"]
