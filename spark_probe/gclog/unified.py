"""Unified logging (``-Xlog:gc``, JDK 9 and later, and native images): any tags, any decorations.

A pause or phase is the one line that ends with its duration, stamped at its end: lines of other
tags (``gc,start``, ``safepoint``, ``gc,phases``) repeat it and are not counted. Sizes of the
generations stand in lines before it that carry the same ``GC(n)``.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.gclog.columns import bytes_of, captures, epoch_ms, floats, lines_of, match
from spark_probe.gclog.errors import Problem
from spark_probe.gclog.files import Block
from spark_probe.gclog.labels import unified_label
from spark_probe.gclog.rows import Label, Numbers, Rows

__all__ = ["Unified"]

_OF_INTEREST = (
    r"GC\(\d+\) +(?:(?:[YyO]: )?(?:Pause|Concurrent|Garbage Coll|Minor Coll|Major Coll|Young Gen|"
    r"Old Gen)|To-space ex|(?:Eden|Survivor|Old) regions|DefNew:|Tenured:|PSYoungGen:|ParOldGen:|PSOldGen:|"
    r"ParNew:|CMS:)|Allocation Stall \("
)
_NUMBER = r"\d+(?:[.,]\d+)?"
_ID = r"(?P<dec>.*?)GC\((?P<id>\d+)\) +"
_EVENT = (
    rf"^{_ID}(?P<label>(?:[YyO]: )?(?:Pause|Concurrent|Garbage|Minor|Major|Young|Old)[^(\d]*"
    # `(G1 Evacuation Pause)`, `(System.gc())`; not JDK 9's `(0.295s, 0.314s)`.
    r"(?:\([^()\d](?:[^()]|\([^()]*\))*\) *)*)(?:\([\d., s]+\) *)?"
    rf"(?:(?P<b>{_NUMBER})(?P<bu>[BKMGT])(?:\(\d+%\))?->(?P<a>{_NUMBER})(?P<au>[BKMGT])"
    rf"(?:\((?P<c>{_NUMBER})(?P<cu>[BKMGT%])\))? *)?"
    rf"(?:(?P<d>{_NUMBER})(?P<du>m?s))?\s*$"
)
_STALL = rf"^(?P<dec>.*?)Allocation Stall \(.*\) (?P<d>{_NUMBER})ms\s*$"
_REGIONS = rf"^{_ID}(?P<space>Eden|Survivor|Old) regions: (?P<b>\d+)->(?P<a>\d+)"
_SPACES = (
    rf"^{_ID}(?P<space>DefNew|Tenured|PSYoungGen|ParOldGen|PSOldGen|ParNew|CMS): "
    r"(?P<b>\d+)(?P<bu>[BKMGT])(?:\(\d+[BKMGT]\))?->(?P<a>\d+)(?P<au>[BKMGT])"
)
_TO_SPACE = rf"^{_ID}To-space exhausted"
_REGION_SIZE = re.compile(rb"egion [Ss]ize:? (\d+)([KMG])")

_DATE = r"\[(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3})\d*(?P<zone>Z|[+-]\d\d:?\d\d)\]"
_SECONDS = rf"\[\s*(?P<n>{_NUMBER})s\s*\]"
_MILLIS = r"\[\s*(?P<n>\d+)ms\s*\](?:.*\[\s*(?P<m>\d+)ms\s*\])?"
_NANOS = r"\[\s*(?P<n>\d+)ns\s*\](?:.*\[\s*(?P<m>\d+)ns\s*\])?"
# `timemillis` and `uptimemillis` look alike; no JVM runs for thirty years.
_EPOCH_MS = 1e12

_YOUNG = pa.array([b"DefNew", b"PSYoungGen", b"ParNew", b"Eden", b"Survivor"], pa.binary())
_COLLECTION = ("Garbage Collection", "Minor Collection", "Major Collection")


class Unified:
    """One file of unified logging, read block by block."""

    def __init__(self, file: str) -> None:
        self.rows = Rows()
        self.problems: list[Problem] = []
        self._file = file
        self.explicit_requests = 0  # Shenandoah names the cause of a cycle in its trigger alone
        self.region_bytes: float | None = None  # of G1; may come from another file
        self._starts: list[tuple[Numbers, Numbers]] = []  # gc id, end-of-line clocks (s)
        self._sizes: list[dict[str, Numbers]] = []
        self._exhausted: list[dict[str, Numbers]] = []

    def add(self, block: Block) -> None:
        """Takes the events of a block."""
        self._note(block.data)
        lines = lines_of(block.data)
        wanted = match(lines, _OF_INTEREST)
        numbers = np.flatnonzero(wanted).astype(np.float64) + block.first_line
        lines = lines.filter(pa.array(wanted))
        for read, sign in _OTHERS:
            # Each line goes to one pattern: a capture costs more than telling the lines apart.
            chosen = match(lines, sign)
            if chosen.any():
                read(self, lines.filter(pa.array(chosen)), numbers[chosen])
                lines, numbers = lines.filter(pa.array(~chosen)), numbers[~chosen]
        self._events(lines, numbers)

    def _note(self, data: bytes) -> None:
        if self.region_bytes is None and (stated := _REGION_SIZE.search(data)):
            unit = {b"K": 10, b"M": 20, b"G": 30}[stated[2]]
            self.region_bytes = float(int(stated[1]) << unit)
        self.explicit_requests += data.count(b"GC request (System.gc())")

    def _events(self, lines: pa.Array, numbers: Numbers) -> None:
        mask, found = captures(lines, _EVENT)
        label = found["label"].dictionary_encode()
        has_duration, has_sizes = (
            pc.greater(pc.binary_length(found[name]), 0).to_numpy(zero_copy_only=False)
            for name in ("d", "b")
        )
        labels = [unified_label(text.as_py().decode("latin-1")) for text in label.dictionary]
        codes = np.array([self.rows.code(each) for each in labels], np.int64)
        of_row = label.indices.to_numpy(zero_copy_only=False)
        uptime, epoch = clocks(found["dec"])
        ids = floats(found["id"])
        # A cycle of ZGC before JDK 21 states no duration: it begins at its `gc,start` line.
        cycles = np.array([each.type in _COLLECTION for each in labels], bool)[of_row]
        begins = cycles & ~has_duration & ~has_sizes
        stated = has_duration | (cycles & has_sizes)
        clock = np.where(np.isnan(uptime), epoch / 1e3, uptime)
        if begins.any():
            self._starts.append((ids[begins], clock[begins]))
        scale = np.where(
            found["du"].cast(pa.string()).to_numpy(zero_copy_only=False) == "s", 1e9, 1e6
        )
        duration = floats(found["d"]) * scale
        spent = np.where(np.isnan(duration), 0.0, duration)
        columns = {
            "start_s": uptime - spent / 1e9,
            "start_ms": epoch - spent / 1e6,
            "duration_ns": duration,
            "gc_id": ids,
            "heap_before_bytes": bytes_of(found["b"], found["bu"]),
            "heap_after_bytes": bytes_of(found["a"], found["au"]),
            "heap_committed_bytes": bytes_of(found["c"], found["cu"]),
            "line": numbers[mask],
        }
        self.rows.add(codes[of_row][stated], **{k: v[stated] for k, v in columns.items()})

    def _stalls(self, lines: pa.Array, numbers: Numbers) -> None:
        mask, found = captures(lines, _STALL)
        duration = floats(found["d"]) * 1e6
        uptime, epoch = clocks(found["dec"])
        code = self.rows.code(Label("Allocation Stall", failure="allocation stall"))
        self.rows.add(
            np.full(len(duration), code, np.int64),
            start_s=uptime - duration / 1e9,
            start_ms=epoch - duration / 1e6,
            duration_ns=duration,
            line=numbers[mask],
        )

    def _to_space(self, lines: pa.Array, numbers: Numbers) -> None:
        mask, found = captures(lines, _TO_SPACE)
        self._exhausted.append({"id": floats(found["id"]), "line": numbers[mask]})

    def _spaces(self, lines: pa.Array, numbers: Numbers) -> None:
        mask, found = captures(lines, _SPACES)
        before = bytes_of(found["b"], found["bu"])
        self._place_later(found, numbers[mask], before, bytes_of(found["a"], found["au"]))

    def _regions(self, lines: pa.Array, numbers: Numbers) -> None:
        mask, found = captures(lines, _REGIONS)
        # Negative: regions, until the file or another of this JVM has stated their size.
        self._place_later(found, numbers[mask], -floats(found["b"]), -floats(found["a"]))

    def _place_later(
        self, found: dict[str, pa.Array], numbers: Numbers, before: Numbers, after: Numbers
    ) -> None:
        young = pc.is_in(found["space"], value_set=_YOUNG).to_numpy(zero_copy_only=False)
        self._sizes.append(
            {
                "id": floats(found["id"]),
                "line": numbers,
                "before": before,
                "after": after,
                "young": young.astype(np.float64),
            }
        )

    def table(self) -> pa.Table:
        """The events of the whole file."""
        codes, numbers = self.rows.columns()
        labels = self.rows.labels
        collected = (
            np.array([each.pause for each in labels], bool)[codes]
            & ~np.isnan(numbers["heap_before_bytes"])
            if len(codes)
            else np.zeros(0, bool)
        )
        self._place_sizes(numbers, np.flatnonzero(collected))
        self._place_exhausted(codes, numbers, np.flatnonzero(collected))
        self._place_starts(codes, numbers)
        return self.rows.table(codes, numbers, self._file)

    def _place_sizes(self, numbers: dict[str, Numbers], pauses: np.ndarray[Any, Any]) -> None:
        if not self._sizes or not len(pauses):
            return
        sizes = {
            name: np.concatenate([each[name] for each in self._sizes]) for name in self._sizes[0]
        }
        region_bytes = self.region_bytes or np.nan
        at = _next(numbers, pauses, sizes["id"], sizes["line"])
        for space, chosen in (("young", sizes["young"] > 0), ("old", sizes["young"] == 0)):
            for moment in ("before", "after"):
                rows = chosen & (at >= 0)
                column = numbers[f"{space}_{moment}_bytes"]
                column[np.unique(at[rows])] = 0.0
                size = sizes[moment][rows]
                np.add.at(column, at[rows], np.where(size < 0, -size * region_bytes, size))

    def _place_exhausted(
        self, codes: np.ndarray[Any, Any], numbers: dict[str, Numbers], pauses: np.ndarray[Any, Any]
    ) -> None:
        for marks in self._exhausted:
            at = _next(numbers, pauses, marks["id"], marks["line"])
            for row in np.unique(at[at >= 0]):
                was = self.rows.labels[codes[row]]
                codes[row] = self.rows.code(
                    Label(was.type, was.cause, "to-space exhausted", was.pause, was.full)
                )

    def _place_starts(self, codes: np.ndarray[Any, Any], numbers: dict[str, Numbers]) -> None:
        if not self._starts:
            return
        ids = np.concatenate([ids for ids, _ in self._starts])
        begun = dict(zip(ids.tolist(), np.concatenate([s for _, s in self._starts]), strict=True))
        is_cycle = np.array([each.type in _COLLECTION for each in self.rows.labels], bool)[codes]
        for row in np.flatnonzero(is_cycle & np.isnan(numbers["duration_ns"])):
            ended_s = numbers["start_s"][row]
            if np.isnan(ended_s):
                ended_s = numbers["start_ms"][row] / 1e3
            took_s = ended_s - begun.get(float(numbers["gc_id"][row]), np.nan)
            if took_s >= 0:
                numbers["duration_ns"][row] = round(took_s * 1e3) * 1e6  # stamped in ms
                numbers["start_s"][row] -= took_s
                numbers["start_ms"][row] -= took_s * 1e3


_OTHERS = (
    (Unified._regions, r" regions: "),
    (Unified._spaces, r"\) +(?:DefNew|Tenured|PSYoungGen|ParOldGen|PSOldGen|ParNew|CMS): "),
    (Unified._stalls, r"Allocation Stall \("),
    (Unified._to_space, r"\) +To-space ex"),
)


def _next(
    numbers: dict[str, Numbers], rows: np.ndarray[Any, Any], ids: Numbers, lines: Numbers
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each (gc id, line) the next of `rows` with that id, or -1: its sizes come before it."""
    if not len(rows):
        return np.full(len(ids), -1, np.int64)
    order = np.lexsort((numbers["line"][rows], numbers["gc_id"][rows]))
    span = 2.0 ** (53 - 22)  # four million collections, two thousand million lines: exact
    keys = (numbers["gc_id"][rows] * span + numbers["line"][rows])[order]
    position = np.searchsorted(keys, ids * span + lines)
    hit = np.minimum(position, len(rows) - 1)
    found = rows[order][hit]
    same = (position < len(rows)) & (numbers["gc_id"][found] == ids)
    return np.where(same, found, -1).astype(np.int64)


def clocks(decorations: pa.Array) -> tuple[Numbers, Numbers]:
    """Seconds since the JVM's start and ms since 1970 of each line; NaN where not written."""
    uptime = np.full(len(decorations), np.nan)
    epoch = np.full(len(decorations), np.nan)
    if not len(decorations):
        return uptime, epoch
    # A file has one set of decorations, so one line tells which patterns are worth trying.
    sample = decorations[len(decorations) // 2].as_py()
    if b"T" in sample:
        mask, found = captures(decorations, _DATE)
        epoch[mask] = epoch_ms(found["date"], found["zone"])
    if b"s]" in sample.replace(b" ", b""):
        mask, found = captures(decorations, _SECONDS)
        uptime[mask] = floats(found["n"])
    for unit, pattern, per_s in (("ms]", _MILLIS, 1e3), ("ns]", _NANOS, 1e9)):
        if unit.encode() not in sample.replace(b" ", b""):
            continue
        mask, found = captures(decorations, pattern)
        for group in ("n", "m"):
            value = floats(found[group])
            dated = (value >= _EPOCH_MS) & (per_s == 1e3)
            epoch[mask] = np.where(dated, value, epoch[mask])
            # Of two clocks in ns the later is the uptime; alone, its zero does not matter.
            plain = ~dated & ~np.isnan(value)
            coarse = np.isnan(uptime[mask]) | (per_s == 1e9)
            uptime[mask] = np.where(plain & coarse, value / per_s, uptime[mask])
    return uptime, epoch
