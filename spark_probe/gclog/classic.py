"""The JVM's own log before JDK 9 (``-XX:+PrintGC``, ``PrintGCDetails`` and what goes with them).

Lines that are a whole event are read column by column. What spans lines, or has another thread's
line inside, is gathered by its brackets and goes to `records`. Both ways give the same events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.gclog.columns import bytes_of, captures, epoch_ms, floats, lines_of, match
from spark_probe.gclog.errors import Problem
from spark_probe.gclog.files import Block
from spark_probe.gclog.labels import classic_label
from spark_probe.gclog.records import parse_record
from spark_probe.gclog.rows import NUMBERS, Label, Numbers, Rows

__all__ = ["Classic"]

Mask = np.ndarray[Any, np.dtype[Any]]

# A record that is longer was cut, or is another thing in brackets.
MAX_RECORD_LINES = 5_000

_NUMBER = r"\d+[.,]\d+"
_STAMP = (
    r"^(?:#\d+: )?(?:(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3})(?P<zone>[+-]\d{4}): )?"
    rf"(?:#\d+: )?(?:(?P<up>{_NUMBER}): )?(?:#\d+: )?"
)
_INNER_STAMP = rf"(?: ?\d{{4}}-\d\d-\d\dT[\d:.,]+[+-]\d{{4}}: )?(?: ?{_NUMBER}: )?(?:#\d+: )?"
_WORDS = r"(?P<words>(?: ?\((?:[^()]|\(\))+\))*)"
_HEAP = r"(?P<b>\d+)(?P<bu>[KMG])->(?P<a>\d+)(?P<au>[KMG])\((?P<c>\d+)(?P<cu>[KMG])\)"
_TIMES = r"(?: ?\[Times: [^\]]*\])?\s*$"
_GENERATIONS = (
    rf"{_STAMP}\[(?P<head>Full GC|GC)(?P<fail>(?:--)?){_WORDS} ?{_INNER_STAMP}"
    r"\[(?P<y>(?:AS)?ParNew|DefNew|PSYoungGen): (?P<yb>\d+)K->(?P<ya>\d+)K\(\d+K\)"
    rf"(?:, {_NUMBER} secs)?\](?: \[(?P<o>ParOldGen|PSOldGen): (?P<ob>\d+)K->(?P<oa>\d+)K\(\d+K\)\])?"
    rf" {_HEAP}(?:,? \[(?:PSPermGen|Metaspace|CMS Perm ?|Perm ?): [^\]]*\])?"
    rf"(?: icms_dc=\d+ ?)?, (?P<d>{_NUMBER}) secs\]{_TIMES}"
)
_PLAIN = (
    rf"{_STAMP}\[(?P<head>Full GC|GC(?: pause| remark| cleanup)?){_WORDS}"
    rf"(?: {{1,2}}{_HEAP})?, (?P<d>{_NUMBER}) secs\]{_TIMES}"
)
_CONCURRENT = (
    rf"{_STAMP}\[(?:(?P<cms>(?:AS)?CMS-concurrent-[a-z-]+): {_NUMBER}/(?P<d>{_NUMBER}) secs|"
    rf"GC (?P<g1>concurrent-[a-z-]+)-end, (?P<e>{_NUMBER})(?: secs?)?)\]{_TIMES}"
)
_G1_SIZE = r"(?P<{0}>\d+(?:[.,]\d+)?)(?P<{0}u>[BKMGT])"
_G1_HEAP = r"\[Eden: {}\([^)]*\)->{}\([^)]*\) Survivors: {}->{} Heap: {}\([^)]*\)->{}\({}\)".format(
    *(_G1_SIZE.format(name) for name in ("eb", "ea", "sb", "sa", "b", "a", "c"))
)
_G1_HEAP_JDK6 = r"^ {1,4}\[ " + "{}->{}\\({}\\)".format(
    *(_G1_SIZE.format(name) for name in ("b", "a", "c"))
)

# The inside of a collection in full detail, histograms, ages: most of a log's bytes.
_DETAIL = r"^(?: {3,}\S|\s*\d+: +\d+ +\d+ +| ?\[Times: )"
_NOT_DETAIL = r"^ *[^ \[].*secs?\]|^   \[\[GC|^ {3,}.*\[(?:Full )?GC (?:pause|conc|remark)"
_EVENT_WORD = r"\[(?:Full GC|Inc GC|GC[^a-z]|(?:AS)?CMS|Pause |Concurrent )"
# A collection at a line's start: if a record is open there, it was cut.
_BEGINS = rf"{_STAMP}\[(?:Full GC|Inc GC|GC(?:--|\s*$|[\[(]| [^c]|[A-Z]))"


class Classic:
    """One file of the classic log, read block by block."""

    def __init__(self, file: str) -> None:
        self.rows = Rows()
        self.problems: list[Problem] = []
        self.explicit_requests = 0  # Shenandoah names the cause of a cycle in its trigger alone
        self._file = file
        self._open: list[bytes] = []  # lines of a record that has not ended
        self._open_line = 0
        self._depth = 0
        self._late: list[dict[str, Numbers]] = []  # G1's sizes, in lines after their pause

    def add(self, block: Block) -> None:
        """Takes the events of a block."""
        self.explicit_requests += block.data.count(b"GC request (System.gc())")
        lines = lines_of(block.data)
        opens = _count(lines, "[")
        if b"[0x" in block.data:
            opens -= _count(lines, "[0x")  # `[0x..., 0x...)`: a range of addresses, not a bracket
        change = opens - _count(lines, "]")
        wanted = (opens > 0) | (change != 0)
        if b"(concurrent mode " in block.data:  # may stand on a line of its own
            wanted |= match(lines, r"\(concurrent mode ")
        detail = np.flatnonzero(match(lines, _DETAIL))
        if len(detail):
            wanted[detail] &= match(lines.take(pa.array(detail)), _NOT_DETAIL)
        if b"[Eden: " in block.data or b"   [ " in block.data:
            self._g1_sizes(lines, block.first_line)
        numbers = np.flatnonzero(wanted)
        if not len(numbers):
            return
        lines = lines.filter(pa.array(wanted))
        change = change[wanted]
        numbers = numbers + block.first_line
        inside, alone = self._gather(lines, change, numbers)
        free = ~inside & (change == 0) & alone
        self._whole_lines(lines, free, numbers)

    def _gather(self, lines: pa.Array, change: Mask, numbers: Mask) -> tuple[Mask, Mask]:
        """Reads the records that span lines; says which lines were theirs, and which may be events."""
        event = match(lines, _EVENT_WORD)
        begins = match(lines, _BEGINS)
        inside = np.zeros(len(lines), bool)
        first = 0 if self._open else -1  # the line of this block at which the open record begins
        for at in np.flatnonzero((change != 0) | begins):
            if first >= 0 and self._cut(lines, first, int(at), begins):
                inside[first:at] = True
                first = -1
            if first < 0:
                if change[at] > 0 and event[at]:
                    first = int(at)
                    self._open, self._open_line = [], int(numbers[at])
                    self._depth = int(change[at])
                continue
            self._depth += int(change[at])
            if self._depth <= 0:
                self._close(lines, first, int(at) + 1)
                inside[first : at + 1] = True
                first = -1
        if first >= 0:
            self._open += lines.slice(first).to_pylist()
            inside[first:] = True
        return inside, event

    def _cut(self, lines: pa.Array, first: int, at: int, begins: Mask) -> bool:
        """Whether the open record never ended; if so, it is reported and dropped."""
        held = len(self._open) + at - first
        head = self._open[0] if self._open else lines[first].as_py()
        # CMS may scavenge inside a remark: there a collection begins inside another.
        if held <= MAX_RECORD_LINES and (not begins[at] or b"YG occupancy" in head):
            return False
        self._drop()
        return True

    def _drop(self) -> None:
        self.problems.append(
            Problem(self._file, self._open_line, "a collection that was cut: it has no end")
        )
        self._open, self._depth = [], 0

    def _close(self, lines: pa.Array, first: int, end: int) -> None:
        text = b"".join(self._open + lines.slice(first, end - first).to_pylist())
        self._open, self._depth = [], 0
        self._record(text, self._open_line)

    def _record(self, text: bytes, line: int) -> None:
        events = parse_record(text.decode("latin-1"))
        for event in events:
            if event.label is not None:
                self.rows.add_one(event.label, line=float(line), **event.numbers)
            else:
                sizes = {key: np.array([value]) for key, value in event.numbers.items()}
                self._late.append({"line": np.array([float(line)]), **sizes})

    def _whole_lines(self, lines: pa.Array, free: Mask, numbers: Mask) -> None:
        for read in (self._generations, self._plain, self._concurrent):
            if not free.any():
                return
            chosen = np.flatnonzero(free)
            mask = read(lines.filter(pa.array(free)), numbers[chosen].astype(np.float64))
            free[chosen[mask]] = False
        if free.any():
            free &= ~match(lines, r"-start(?:ed)?\]|, start\]")
        for at in np.flatnonzero(free):
            self._record(lines[int(at)].as_py(), int(numbers[at]))

    def _generations(self, lines: pa.Array, numbers: Numbers) -> Mask:
        mask, found = captures(lines, _GENERATIONS)
        unit = pa.array([b"K"] * int(mask.sum()), pa.binary())
        sizes = {
            "young_before_bytes": bytes_of(found["yb"], unit),
            "young_after_bytes": bytes_of(found["ya"], unit),
            "old_before_bytes": bytes_of(found["ob"], unit),
            "old_after_bytes": bytes_of(found["oa"], unit),
        }
        self._pauses(found, ("head", "fail", "words", "y", "o"), numbers[mask], sizes)
        return mask

    def _plain(self, lines: pa.Array, numbers: Numbers) -> Mask:
        mask, found = captures(lines, _PLAIN)
        self._pauses(found, ("head", "words"), numbers[mask], {})
        return mask

    def _pauses(
        self,
        found: dict[str, pa.Array],
        names: tuple[str, ...],
        numbers: Numbers,
        sizes: dict[str, Numbers],
    ) -> None:
        key = pc.binary_join_element_wise(*(found[name] for name in names), b"|")
        words = key.dictionary_encode()
        codes = np.array([self._code(names, each.as_py()) for each in words.dictionary], np.int64)
        heap = {
            "heap_before_bytes": bytes_of(found["b"], found["bu"]),
            "heap_after_bytes": bytes_of(found["a"], found["au"]),
            "heap_committed_bytes": bytes_of(found["c"], found["cu"]),
        }
        self.rows.add(
            codes[words.indices.to_numpy(zero_copy_only=False)],
            **_times(found),
            **heap,
            **sizes,
            duration_ns=np.rint(floats(found["d"]) * 1e9),
            line=numbers,
        )

    def _code(self, names: tuple[str, ...], key: bytes) -> int:
        part = dict(zip(names, key.decode("latin-1").split("|"), strict=True))
        words = [
            word.strip().removeprefix("(") for word in part["words"].split(")") if word.strip()
        ]
        # `System.gc()` holds the bracket at which it was split.
        words = [f"{word})" if word.endswith("(") else word for word in words]
        parts = [part[name] for name in ("y", "o") if part.get(name)]
        return self.rows.code(
            classic_label(part["head"], words, parts, promotion_failed=bool(part.get("fail")))
        )

    def _concurrent(self, lines: pa.Array, numbers: Numbers) -> Mask:
        mask, found = captures(lines, _CONCURRENT)
        name = pc.binary_join_element_wise(found["cms"], found["g1"], b"").dictionary_encode()
        labels = [each.as_py().decode("latin-1") for each in name.dictionary]
        codes = np.array(
            [self.rows.code(Label(n if "CMS" in n else f"GC {n}")) for n in labels], np.int64
        )
        taken_s = floats(found["d"])
        taken_s = np.where(np.isnan(taken_s), floats(found["e"]), taken_s)
        times = _times(found)  # of the end
        self.rows.add(
            codes[name.indices.to_numpy(zero_copy_only=False)],
            start_s=times["start_s"] - taken_s,
            start_ms=times["start_ms"] - taken_s * 1e3,
            duration_ns=np.rint(taken_s * 1e9),
            line=numbers[mask],
        )
        return mask

    def _g1_sizes(self, lines: pa.Array, first_line: int) -> None:
        for pattern in (_G1_HEAP, _G1_HEAP_JDK6):
            mask, found = captures(lines, pattern)
            if not mask.any():
                continue
            size = {
                name: bytes_of(found[name], found[f"{name}u"])
                for name in ("eb", "ea", "sb", "sa", "b", "a", "c")
                if name in found
            }
            late = {
                "line": np.flatnonzero(mask).astype(np.float64) + first_line,
                "heap_before_bytes": size["b"],
                "heap_after_bytes": size["a"],
                "heap_committed_bytes": size["c"],
            }
            if "eb" in size:
                late["young_before_bytes"] = size["eb"] + size["sb"]
                late["young_after_bytes"] = size["ea"] + size["sa"]
            self._late.append(late)

    def table(self) -> pa.Table:
        """The events of the whole file."""
        if self._open:
            self._drop()
        codes, numbers = self.rows.columns()
        pauses = np.flatnonzero(np.array([x.pause for x in self.rows.labels], bool)[codes])
        for late in self._late:
            if not len(pauses):
                break
            position = np.searchsorted(numbers["line"][pauses], late["line"], side="right") - 1
            rows = pauses[position[position >= 0]]
            for name in NUMBERS[4:-1]:
                if name in late:
                    numbers[name][rows] = late[name][position >= 0]
        for moment in ("before", "after"):
            heap = numbers[f"heap_{moment}_bytes"]
            for one, other in (("old", "young"), ("young", "old")):
                stated, rest = numbers[f"{one}_{moment}_bytes"], numbers[f"{other}_{moment}_bytes"]
                numbers[f"{one}_{moment}_bytes"] = np.where(
                    np.isnan(stated), np.maximum(heap - rest, 0.0), stated
                )
        return self.rows.table(codes, numbers, self._file)


def _count(lines: pa.Array, text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    counts = pc.count_substring(lines, text).to_numpy(zero_copy_only=False)
    return np.asarray(counts, np.int64)


def _times(found: dict[str, pa.Array]) -> dict[str, Numbers]:
    times = {"start_s": floats(found["up"]), "start_ms": np.full(len(found["up"]), np.nan)}
    if pc.any(pc.greater(pc.binary_length(found["date"]), 0)).as_py():
        times["start_ms"] = epoch_ms(found["date"], found["zone"])
    return times
