"""Pages that a person opens: one flame graph, the report of a run, or of two against each other."""

from spark_probe.report.flamepage import flamegraph_html
from spark_probe.report.report import comparison_html, report_html
from spark_probe.report.source import RunTables

__all__ = ["RunTables", "comparison_html", "flamegraph_html", "report_html"]
