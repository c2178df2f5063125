"""GC logs of any HotSpot JVM, 1.3 to today, as one Arrow table of collections and their numbers.

    >>> from spark_probe import gclog
    >>> log = gclog.read(["gc.log.0", "gc.log.1.current"])
    >>> log.events, log.summary(), log.pause_fractions(window_s=10)

The steps, each a module: `files` (paths -> blocks of whole lines), `dialect` (which JVM wrote it, or
a refusal that names it), `unified` (``-Xlog``) and `classic` with `records` (``-XX:+PrintGC``),
`collectors` (what the events say about the collector), `summary` (table -> numbers).
"""

from spark_probe.gclog.errors import GcLogError, Problem
from spark_probe.gclog.events import EVENTS
from spark_probe.gclog.log import GcLog, read

__all__ = ["EVENTS", "GcLog", "GcLogError", "Problem", "read"]
