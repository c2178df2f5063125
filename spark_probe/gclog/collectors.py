"""Which collector a log is of. The events say it; flags and headers only where they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["collector_of", "hint"]

UNKNOWN = "unknown"

# In this order: the first that an event's type or cause fits. G1 and CMS share words with others.
_BY_EVENT = (
    (
        "ZGC",
        r"Garbage Collection|Minor Collection|Major Collection|(?:[YyO]: )?Pause (?:Mark|Reloc)",
    ),
    (
        "Shenandoah",
        r"Pause (?:Init Mark|Final Mark|Init Update|Final Update|Degenerated|Final Roots)",
    ),
    ("Shenandoah", r"Concurrent (?:reset|marking|cleanup|evacuation|update ref|precleaning)"),
    ("G1", r"GC pause|G1 |GC (?:remark|cleanup|concurrent)|Pause (?:Mixed|Remark.*G1|Cleanup)"),
    ("G1", r"Pause Young \((?:Normal|Concurrent|Mixed|Prepare)|Concurrent (?:Mark|Undo)? ?Cycle"),
    ("CMS", r".*CMS|.*ParNew|Concurrent (?:Preclean|Abortable|Sweep)|Pause Initial Mark"),
    ("Parallel", r".*(?:PSYoungGen|ParOldGen|PSOldGen)|Ergonomics$"),
    ("Serial", r".*(?:DefNew|Tenured|Train)|Pause Incremental GC|Pause (?:Complete|Full) GC$"),
)
_PATTERNS = [(name, re.compile(pattern)) for name, pattern in _BY_EVENT]
_NAMES = {
    "Concurrent Mark Sweep": "CMS", "The Z": "ZGC", "ConcMarkSweep": "CMS", "Z": "ZGC",
    "ParallelOld": "Parallel", "garbage-first heap": "G1", "PSYoungGen": "Parallel",
    "concurrent mark-sweep gen": "CMS", "tenured generation": "Serial",
    "Cancelling concurrent GC": "Shenandoah",
}  # fmt: skip
_FLAG = re.compile(rb"-XX:\+Use(Serial|Parallel|ParallelOld|ConcMarkSweep|G1|Z|Shenandoah)GC\b")
_HEAP = re.compile(
    rb"(?m)^ *(garbage-first heap|PSYoungGen|concurrent mark-sweep gen|tenured generation)[^\n:]* total "
    rb"|(Cancelling concurrent GC): "
)
_USING = re.compile(
    rb"\bUsing (Serial|Parallel|Concurrent Mark Sweep|G1|The Z|Shenandoah|Epsilon)\b"
)


def collector_of(words: Iterable[str], hinted: str | None = None) -> str:
    """``Serial``, ``Parallel``, ``CMS``, ``G1``, ``ZGC``, ``Shenandoah``, ``Epsilon``, ``unknown``.

    Args:
        words: the different types and causes of the log's events.
        hinted: what `hint` found: it counts where no event is of one collector alone.
    """
    distinct = set(words)
    for name, pattern in _PATTERNS:
        if any(pattern.match(word) for word in distinct):
            return name
    return hinted or UNKNOWN


def hint(data: bytes) -> str | None:
    """The collector that a ``Using`` line, a printed heap, or the command line's flags name."""
    found = _USING.search(data) or _HEAP.search(data) or _FLAG.search(data)
    if not found:
        return None
    name = found[found.lastindex or 1].decode()
    return _NAMES.get(name, name)
