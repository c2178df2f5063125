"""A classic (JDK 1.3 to 8) record -> its events, for what no columnar pattern fits.

The JVM prints a collection as nested brackets, over several lines, and its threads print into each
other's lines. So a record is read as a tree: a bracket's own text, without what is inside it, says
its duration and sizes, whatever stands in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from spark_probe.gclog.labels import classic_label, unified_label
from spark_probe.gclog.rows import Label

__all__ = ["Event", "parse_record"]

_BRACKET = re.compile(r"([\[\]])")
_HEAP_RANGE = re.compile(r"\[0x[0-9a-fA-F]+, ?[^\]\[]*?\)")
_STAMP = re.compile(
    r"(?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.,](\d{3})([+-]\d\d)(\d\d): ?)?(?:#\d+: )?"
    r"(?:(\d+[.,]\d+): ?)?(?:#\d+: )?\s*$"
)
# `GC ref-proc`, `GC Worker Start`: parts of a collection. `GC concurrent-...`: not a pause.
_HEAD = re.compile(
    r"(Full GC|GC(?: pause| remark| cleanup)?)(?! ref-proc| Worker| concurrent)(--)?"
)
_AFTER_HEAD = re.compile(r"(?:\s*\((?:[^()]|\(\))+\)|\s*<[^<>]+>)*")
_INVOKED = re.compile(r"\s*invoke=\d+ size=\d+ ")  # JDK 1.3: [Full GC invoke=2 size=0 <System.gc()>
# `[GC (Allocation Failure) --[PSYoungGen: ...` and G1's `(young)-- 18M->18M`: it did not fit.
_DASHES = re.compile(r"(?<!-)--(?!-)")
_WORD = re.compile(r"[(<]((?:[^()<>]|\(\))+)[)>]")
_REMARK = re.compile(
    r"\((young|mixed|partial|initial-mark|to-space exhausted|to-space overflow|promotion failed|"
    r"concurrent mode failure|concurrent mode interrupted)\)"
)
_SECONDS = re.compile(r"(\d+[.,]\d+) sec")
_SIZE = r"(\d+(?:[.,]\d+)?) ?([BKMGT])"
_CHANGE = re.compile(rf"{_SIZE}->{_SIZE}(?:\({_SIZE}\))?")
_USED = re.compile(rf"{_SIZE}\({_SIZE}\)")
_PART = re.compile(
    r"(?:1 )?((?:AS)?CMS-(?:initial-mark|remark)|(?:AS)?ParNew|DefNew|PSYoungGen|ParOldGen|PSOldGen|"
    r"Tenured|Train(?: MSC)?|(?:AS)?CMS)(?![-A-Za-z]| Perm)"
)
_YOUNG = frozenset(("ParNew", "ASParNew", "DefNew", "PSYoungGen"))
_TENURED_1_3 = re.compile(rf"\b(eden|survivor|new|tenured) {_SIZE}->{_SIZE}")
_CONCURRENT = re.compile(
    r"((?:AS)?CMS-concurrent-[a-z-]+): [\d.,]+/(\d+[.,]\d+) secs|"
    r"GC (concurrent-[a-z-]+?)(?:-end)?, (?:.*, )?(\d+[.,]\d+)(?: secs?)?$"
)
_SHENANDOAH = re.compile(
    rf"((?:Pause|Concurrent) [^,\d]*?)(?: {_SIZE}->{_SIZE}\({_SIZE}\))?, (\d+[.,]\d+) ms$"
)
_BREAKS = re.compile(r"\s+(?=,)|\n+")
_SCALES = {"B": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}


@dataclass(frozen=True)
class Event:
    """One event of a record; `label` is None for sizes that belong to the pause before it."""

    label: Label | None
    numbers: dict[str, float]


@dataclass
class _Node:
    before: str = ""  # the text in front of the bracket: its time stamp
    own: str = ""  # the text inside, with a zero byte for each bracket in it
    parts: list[_Node] = field(default_factory=list)


def parse_record(text: str) -> list[Event]:
    """The events of some lines with balanced brackets, in the order in which they end."""
    events: list[Event] = []
    for node in _tree(_HEAP_RANGE.sub("", text)).parts:
        _collect(node, events)
    return events


def _tree(text: str) -> _Node:
    root = _Node()
    open_nodes = [root]
    pieces = _BRACKET.split(text)
    for piece, bracket in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        top = open_nodes[-1]
        top.own += piece
        if bracket == "[":
            node = _Node(before=piece)
            top.own += "\0"
            top.parts.append(node)
            open_nodes.append(node)
        elif bracket and len(open_nodes) > 1:
            open_nodes.pop()
    return root


def _collect(node: _Node, events: list[Event]) -> float:
    """Appends the node's events; returns the seconds of the pauses in it."""
    inner_s = sum(_collect(part, events) for part in node.parts)
    own = node.own.strip()
    if head := _HEAD.match(own):
        seconds = _SECONDS.findall(own)
        if not seconds:
            return inner_s
        total_s = _number(seconds[-1])
        label, sizes = _collection(head, node, own)
        # A collection within this one (CMS scavenges before a remark) has its own row: time counts
        # once.
        rest = {"duration_ns": round(max(0.0, total_s - inner_s) * 1e9)}
        events.append(Event(label, {**_stamp(node.before), **rest, **sizes}))
        return total_s
    if found := _CONCURRENT.match(_BREAKS.sub("", own.replace("\0", ""))):
        took_s = _number(found[2] or found[4])
        events.append(Event(Label(found[1] or f"GC {found[3]}"), _ended(node.before, took_s)))
    elif found := _SHENANDOAH.match(own):
        label = unified_label(found[1])
        took_s = _number(found[8]) / 1e3
        sizes = _heap(found.groups()[1:7]) if found[2] else {}
        events.append(Event(label, {**_ended(node.before, took_s), **sizes}))
        return took_s if label.pause else inner_s
    elif found := _CHANGE.fullmatch(own.replace("\0", "").strip()):
        events.append(Event(None, _heap(found.groups())))
    return inner_s


def _collection(head: re.Match[str], node: _Node, own: str) -> tuple[Label, dict[str, float]]:
    rest = own[head.end() :]
    if invoked := _INVOKED.match(rest):
        rest = rest[invoked.end() :]
    after = _AFTER_HEAD.match(rest)
    words = _WORD.findall(after[0]) if after else []
    sizes: dict[str, float] = {}
    if change := _CHANGE.search(own):
        sizes |= _heap(change.groups())
    elif used := _USED.findall(own.replace("\0", " ")):
        number, unit, total, total_unit = used[-1]
        held = _bytes(number, unit)
        sizes |= {"heap_before_bytes": held, "heap_after_bytes": held}
        sizes["heap_committed_bytes"] = _bytes(total, total_unit)
    parts: list[str] = []
    inside = own
    for part in node.parts:
        text = part.own.lstrip()
        name = _PART.match(text)
        if not name:
            continue
        inside += part.own
        changed = _CHANGE.search(text)
        if changed:
            place = "young" if name[1] in _YOUNG else "old"
            sizes[f"{place}_before_bytes"] = _bytes(changed[1], changed[2])
            sizes[f"{place}_after_bytes"] = _bytes(changed[3], changed[4])
        elif "-" in name[1] and (mark := _USED.search(text)):
            sizes["old_before_bytes"] = sizes["old_after_bytes"] = _bytes(mark[1], mark[2])
        if changed or "-" in name[1]:
            parts.append(name[1])
    sizes |= _jdk_1_3(own)
    words += [word for word in _REMARK.findall(inside) if word not in words]
    failed = bool(head[2] or _DASHES.search(own)) or "promotion failure size" in inside
    return classic_label(head[1], words, parts, promotion_failed=failed), sizes


def _jdk_1_3(own: str) -> dict[str, float]:
    sizes: dict[str, float] = {}
    for space, before, unit, after, after_unit in _TENURED_1_3.findall(own):
        place = "old" if space == "tenured" else "young"
        for moment, size in (
            ("before", _bytes(before, unit)),
            ("after", _bytes(after, after_unit)),
        ):
            key = f"{place}_{moment}_bytes"
            sizes[key] = sizes.get(key, 0.0) + size
    return sizes


def _heap(groups: tuple[str | None, ...]) -> dict[str, float]:
    before, before_unit, after, after_unit, total, total_unit = groups
    sizes = {
        "heap_before_bytes": _bytes(before, before_unit),
        "heap_after_bytes": _bytes(after, after_unit),
    }
    if total:
        sizes["heap_committed_bytes"] = _bytes(total, total_unit)
    return sizes


def _stamp(before: str) -> dict[str, float]:
    """The times in front of a bracket."""
    found = _STAMP.search(before[-90:])
    times: dict[str, float] = {}
    if found and found[5]:
        times["start_s"] = _number(found[5])
    if found and found[1]:
        try:
            at = datetime.fromisoformat(f"{found[1]}{found[3]}:{found[4]}")
        except ValueError:  # the 0th of a month, in a damaged line
            return times
        times["start_ms"] = at.timestamp() * 1e3 + int(found[2])
    return times


def _ended(before: str, took_s: float) -> dict[str, float]:
    """The times of an event that is stamped at its end."""
    times = _stamp(before)
    numbers = {"duration_ns": float(round(took_s * 1e9))}
    if "start_s" in times:
        numbers["start_s"] = times["start_s"] - took_s
    if "start_ms" in times:
        numbers["start_ms"] = times["start_ms"] - took_s * 1e3
    return numbers


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _bytes(number: str | None, unit: str | None) -> float:
    return _number(number or "nan") * _SCALES[unit or "B"]
