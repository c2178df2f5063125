"""A finding: what is wrong, what proves it, what it costs, what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["CRITICAL_SHARE", "LEAST_COST_MS", "WARNING_SHARE", "Finding", "severity_of"]

# Own choice: two runs of one Spark job differ by about 5 % without a cause, and what costs less than
# a second is not worth a change. A fifth of the application is what a person notices.
WARNING_SHARE = 0.05
CRITICAL_SHARE = 0.20
LEAST_COST_MS = 1_000


@dataclass(frozen=True)
class Finding:
    """One rule's verdict on a stage attempt, or on the application (``stage_id`` None).

    ``cost_ms``: estimated wall-clock time that the application would be shorter without it; each rule
    says how. ``numbers``: what the rule looked at, units in the names. ``frames``: (name, share 0..1)
    of what proves it. ``code``: the user's line, empty where unknown.
    """

    rule: str
    severity: str
    title: str
    cost_ms: float
    stage_id: int | None
    stage_attempt: int | None
    numbers: Mapping[str, float | str]
    advice: str
    caveat: str = ""
    frames: tuple[tuple[str, float], ...] = ()
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As the JSON output has it."""
        row = asdict(self)
        row["numbers"] = dict(self.numbers)
        row["frames"] = [{"name": name, "share": share} for name, share in self.frames]
        return row


def severity_of(cost_ms: float, duration_ms: float) -> str:
    """info under a second or WARNING_SHARE of the application, critical from CRITICAL_SHARE on."""
    if cost_ms < LEAST_COST_MS or duration_ms <= 0:
        return "info"
    share = cost_ms / duration_ms
    return (
        "critical" if share >= CRITICAL_SHARE else "warning" if share >= WARNING_SHARE else "info"
    )
