"""Findings as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spark_probe.report.stages import Stages, clip

__all__ = ["finding_rows"]


def finding_rows(findings: Sequence[Any], stages: Stages) -> list[dict[str, Any]]:
    """Findings (objects or mappings) as plain values, ranked by what they cost.

    Read of each: ``rule``, ``severity`` (``critical``, ``warning``, ``info``), ``title``, ``stage_id`` and
    ``stage_attempt`` (None: the application's), ``cost_ms``, ``numbers`` (mapping of name to value, or
    pairs), ``frames`` (names, or pairs of name and share 0..1), ``code`` (the user's line), ``advice``,
    ``caveat``. What a finding lacks is left out of its row.
    """
    rows = [_row(finding, stages) for finding in findings]
    return sorted(rows, key=lambda row: -(row["cost_ms"] or 0))


def _get(finding: Any, key: str) -> Any:
    return finding.get(key) if isinstance(finding, Mapping) else getattr(finding, key, None)


def _row(finding: Any, stages: Stages) -> dict[str, Any]:
    stage_id, attempt = _get(finding, "stage_id"), _get(finding, "stage_attempt") or 0
    stage = None
    if stage_id is not None and stage_id >= 0:
        place = int(stages.of(np.array([stage_id]), np.array([attempt]))[0])
        stage = stages.entries[place]["key"] if place >= 0 else None
    numbers = _get(finding, "numbers") or {}
    pairs = numbers.items() if isinstance(numbers, Mapping) else numbers
    frames = []
    for frame in _get(finding, "frames") or ():
        name, share = (frame, None) if isinstance(frame, str) else (frame[0], frame[1])
        frames.append([clip(name, 400), None if share is None else float(share)])
    cost = _get(finding, "cost_ms")
    return {
        "rule": clip(_get(finding, "rule"), 100),
        "severity": clip(_get(finding, "severity") or "info", 20).lower(),
        "title": clip(_get(finding, "title"), 400),
        "stage": stage,
        "cost_ms": None if cost is None else float(cost),
        "numbers": [[clip(name, 100), clip(value, 200)] for name, value in pairs],
        "frames": frames,
        "code": clip(_get(finding, "code"), 300),
        "advice": clip(_get(finding, "advice")),
        "caveat": clip(_get(finding, "caveat")),
    }
