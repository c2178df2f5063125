"""The words of an event line -> its label: type, cause, failure, whether it pauses, whether full."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spark_probe.gclog.rows import Label

__all__ = ["classic_label", "unified_label"]

# What stands in parentheses last is the cause in these, and something else in all others.
_CAUSED = frozenset(
    (
        "Pause Young", "Pause Full", "Pause Mixed", "Pause Initial Mark", "Pause Incremental GC",
        "Pause Complete GC", "Pause Full GC", "Garbage Collection", "Minor Collection", "Major Collection",
    )
)  # fmt: skip
# The last two: native images.
_FULL = frozenset(("Pause Full", "Pause Full GC", "Pause Complete GC"))
_KINDS = frozenset(
    (
        "Normal", "Mixed", "Prepare Mixed", "Concurrent Start", "Concurrent End", "Initial Mark",
        "young", "mixed", "partial", "initial-mark", "CMS Initial Mark", "CMS Final Remark",
    )
)  # fmt: skip
_FAILURES = {
    "to-space exhausted": "to-space exhausted",
    "to-space overflow": "to-space exhausted",  # its name before JDK 7
    "promotion failed": "promotion failed",
    "concurrent mode failure": "concurrent mode failure",
    "concurrent mode interrupted": "concurrent mode interrupted",
}
_PARENTHESES = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)")
_GENERATION = re.compile(r"^[YyO]: ")


def unified_label(text: str) -> Label:
    """``Pause Young (Normal) (G1 Evacuation Pause)`` -> type ``Pause Young (Normal)``, the cause."""
    name = _PARENTHESES.sub("", text).strip()
    stated = _PARENTHESES.findall(text)
    # JDK 17 to 21 say `(Evacuation Failure)`, later ones add why.
    words = [word for word in stated if not word.startswith("Evacuation Failure")]
    failure = "evacuation failure" if len(words) < len(stated) else None
    if name == "Pause Degenerated GC":
        failure = "degenerated"
    cause = words.pop() if name in _CAUSED and words and words[-1] not in _KINDS else None
    return Label(
        type=" ".join([name, *(f"({word})" for word in words)]),
        cause=cause,
        failure=failure,
        pause=_GENERATION.sub("", name).startswith("Pause"),
        full=name in _FULL,
    )


def classic_label(
    head: str, words: Sequence[str], parts: Sequence[str], *, promotion_failed: bool = False
) -> Label:
    """The label of a JDK 1.3 to 8 collection.

    Args:
        head: ``GC``, ``Full GC``, ``GC pause``, ``GC remark``, ``GC cleanup``.
        words: what stands in parentheses, anywhere in the record.
        parts: the generations or phases inside that were collected, in order: ``ParNew``, ``CMS``.
        promotion_failed: the log says so in another way (``GC--``).
    """
    cause, kinds = None, []
    failures = [_FAILURES[word] for word in words if word in _FAILURES]
    if promotion_failed:
        failures.append("to-space exhausted" if head == "GC pause" else "promotion failed")
    for word in words:
        if word in _KINDS:
            kinds.append(f"({word})")
        elif word not in _FAILURES and cause is None:
            cause = "System.gc()" if word == "System" else word  # its name in JDK 6
    old = {"CMS", "ASCMS", "Tenured", "Train MSC", "ParOldGen", "PSOldGen"} & set(parts)
    return Label(
        type=" ".join([head, *kinds, *(["+".join(parts)] if parts else [])]),
        cause=cause,
        failure=failures[-1] if failures else None,  # what it ended in
        pause=True,
        full=head == "Full GC" or bool(old),
    )
