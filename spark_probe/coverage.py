"""How much of a run was seen: which executors were profiled, what is missing of them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.run import ExecutorFiles, Run

__all__ = ["Coverage", "ExecutorCoverage", "coverage_of"]

# Attaching to an executor waits for a free core; what is later than this missed some of its tasks.
_LATE_MS = 30_000


@dataclass(frozen=True)
class ExecutorCoverage:
    """One executor that the run folder or the event log names.

    ``state`` and what follows are status.json's (``state`` is empty without it). ``samples``: in the folder.
    ``missing``: why what the folder has of it is not all, in sentences; empty if nothing is known to be.
    """

    id: str
    host: str = ""
    state: str = ""
    reason: str = ""
    engine: str = ""
    samples: int = 0
    samples_recorded: int = 0
    samples_lost: int = 0
    files: int = 0
    bytes: int = 0
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def profiled(self) -> bool:
        """Whether the probe was at work on it."""
        return self.samples > 0 or self.state in ("recording", "idle", "stopped", "lost")

    @property
    def partial(self) -> bool:
        """Profiled, but something is known to be missing."""
        return self.profiled and bool(self.missing)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON output has it."""
        keys = "id host state reason engine samples samples_recorded samples_lost files bytes"
        return {
            **{key: getattr(self, key) for key in keys.split()},
            "profiled": self.profiled,
            "partial": self.partial,
            "missing": list(self.missing),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Coverage:
    """``executors``: all that are known of. ``samples``: event -> kind of thread -> samples, of which
    ``outside``: event -> kind -> samples that belong to no task. ``notes``: on the run as a whole."""

    executors: tuple[ExecutorCoverage, ...] = ()
    samples: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    outside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Executors that were there, the driver included."""
        return len(self.executors)

    @property
    def profiled(self) -> int:
        """Executors on which the probe was at work."""
        return sum(executor.profiled for executor in self.executors)

    @property
    def partial(self) -> int:
        """Profiled executors of which something is known to be missing."""
        return sum(executor.partial for executor in self.executors)

    @property
    def lost(self) -> int:
        """Samples that executors know they lost."""
        return sum(executor.samples_lost for executor in self.executors)

    @property
    def complete(self) -> bool:
        """Every executor profiled, nothing known to be missing."""
        return self.profiled == self.seen and not self.partial

    def outside_share(self, event: str) -> float:
        """Which part of an event's samples belongs to no task, 0 to 1."""
        total = sum(self.samples.get(event, {}).values())
        return sum(self.outside.get(event, {}).values()) / total if total else 0.0

    def sentences(self) -> list[str]:
        """All that a reader must know before trusting a sum."""
        out = list(self.notes)
        for executor in self.executors:
            name = "the driver" if executor.id == "driver" else f"executor {executor.id}"
            out += [f"{name}: {why}" for why in executor.missing]
        return out

    def to_dict(self) -> dict[str, Any]:
        """As the JSON output has it."""
        return {
            "seen": self.seen,
            "profiled": self.profiled,
            "partial": self.partial,
            "samples_lost": self.lost,
            "outside_tasks": {event: dict(kinds) for event, kinds in self.outside.items()},
            "outside_share": {event: self.outside_share(event) for event in self.samples},
            "executors": [executor.to_dict() for executor in self.executors],
            "notes": list(self.notes),
        }


def coverage_of(run: Run, logged: Sequence[Mapping[str, Any]], notes: Iterable[str]) -> Coverage:
    """The coverage of a run; ``logged``: rows of the event log's `executors`, empty without one."""
    added = {row["executor_id"]: row for row in logged if row.get("executor_id")}
    found = [_of_files(run, files, added.get(files.id, {})) for files in run.executors]
    known = {executor.id for executor in found}
    unseen = [
        ExecutorCoverage(
            id=str(row["executor_id"]),
            host=str(row.get("host") or ""),
            missing=("it was not profiled: the run folder has nothing of it",),
        )
        for name, row in added.items()
        if name not in known
    ]
    samples = run.merged.samples
    inside = pc.greater_equal(samples["stage_id"], 0)
    return Coverage(
        executors=tuple(
            sorted(found + unseen, key=lambda e: (not e.id.isdigit(), len(e.id), e.id))
        ),
        samples=_by_event_and_kind(samples),
        outside=_by_event_and_kind(samples.filter(pc.invert(inside))),
        notes=(*run.notes, *notes),
    )


def _of_files(run: Run, files: ExecutorFiles, logged: Mapping[str, Any]) -> ExecutorCoverage:
    status = files.status
    return ExecutorCoverage(
        id=files.id,
        host=_text(status, "host") or str(logged.get("host") or ""),
        state=_text(status, "state"),
        reason=_text(status, "reason"),
        engine=_text(status, "engine"),
        samples=files.samples,
        samples_recorded=_number(status, "samples_recorded"),
        samples_lost=_number(status, "samples_lost"),
        files=len(files.files),
        bytes=files.bytes,
        missing=tuple(_missing(run, files, logged)),
        notes=tuple(_notes(status)),
        status=status,
    )


def _missing(run: Run, files: ExecutorFiles, logged: Mapping[str, Any]) -> Iterable[str]:
    status = files.status
    state, reason = _text(status, "state"), _text(status, "reason")
    ended = run.info.get("end_ms") is not None
    if state == "off":
        yield f"profiling is off: {reason or 'no reason is given'}"
    elif state == "lost":
        yield f"it was lost: {reason or 'what came after its last flush is missing'}"
    elif state in ("recording", "idle") and ended:
        yield "the application ended and this executor did not report its end"
    yield from files.problems
    counted, lost = _number(status, "samples"), _number(status, "samples_lost")
    if counted > files.samples:
        yield (
            f"status.json counts {counted:,} samples in the folder, and {files.samples:,} could be read"
        )
    if (last := _number(status, "last_seq", -1)) > files.last_seq:
        yield (
            f"status.json knows of flush {last}, and the last one in the folder is {files.last_seq}"
        )
    if lost:
        yield f"{lost:,} samples were lost: {_text(status, 'lost_reason') or 'no reason is given'}"
    since = max(logged.get("added_ms") or 0, run.info.get("attached_ms") or 0)
    late = _number(status, "attached_ms") - since
    if since and late > _LATE_MS:
        yield f"it was attached {late / 1000:.0f} s late; what it ran before is missing"


def _notes(status: Mapping[str, Any]) -> Iterable[str]:
    notes = status.get("notes")
    if isinstance(notes, list):
        yield from (str(note) for note in notes)
    if status.get("last_error"):
        yield f"the probe's last error: {status['last_error']}"


def _text(status: Mapping[str, Any], key: str) -> str:
    value = status.get(key)
    return value if isinstance(value, str) else ""


def _number(status: Mapping[str, Any], key: str, absent: int = 0) -> int:
    value = status.get(key)
    return int(value) if isinstance(value, (int, float)) else absent


def _by_event_and_kind(samples: pa.Table) -> dict[str, dict[str, int]]:
    sums = samples.group_by(["event", "kind"]).aggregate([("samples", "sum")])
    out: dict[str, dict[str, int]] = {}
    for row in sorted(sums.to_pylist(), key=lambda row: (row["event"], -row["samples_sum"])):
        out.setdefault(row["event"], {})[row["kind"]] = row["samples_sum"]
    return out
