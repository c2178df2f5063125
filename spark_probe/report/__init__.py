"""Pages that a person opens: one flame graph, or the report of a whole run."""

from spark_probe.report.flamepage import flamegraph_html

__all__ = ["flamegraph_html"]
