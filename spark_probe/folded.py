"""Folded stacks, Brendan Gregg's text format: `frame;frame;frame count`, one line a stack, root first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.calltree import Ints, Tree
from spark_probe.framenames import normalized, split_types

__all__ = ["FAULTS", "Folded", "lines_of", "parse"]

# Why a line was not counted as it stands. All but `fraction` are skipped.
FAULTS = {
    "no_count": "the last word is not a number",
    "no_stack": "there is a count and no frame before it",
    "negative": "the count is negative",
    "exponent": "the count is written with an exponent",
    "too_large": "the count is above 2**53, or the counts before it add up to 2**62",
    "fraction": "the count has a fraction, which was cut off",
}

# Every whole number up to it is exact as a double, so in JSON and in the page too.
_LARGEST = 1 << 53
_LARGEST_SUM = float(1 << 62)
_BYTES_AT_ONCE = 1 << 28

_LINE = r"(?s)^(?P<stack>.*[^ \t]|)[ \t]+(?P<count>[^ \t]+)$"
_NUMBER = r"^\d+(\.\d*)?$"


@dataclass(frozen=True)
class Folded:
    """A parsed text. ``stacks``: list<int32> of rows in ``names`` and ``types``; ``counts``: int64."""

    stacks: pa.Array
    names: pa.Array
    types: pa.Array
    counts: Ints
    faults: dict[str, int]


def parse(text: str, columns: int | None, normalize: bool) -> Folded:
    """Parse folded stacks; blank lines and lines that start with `#` are no stacks.

    ``columns``: 1 or 2 counts at the end of each line, the last is taken; None: two, if every line has two.
    """
    lines = pc.utf8_rtrim_whitespace(pa.array(text.split("\n"), pa.large_string()))
    lines = lines.filter(
        pc.invert(pc.or_(pc.equal(lines, ""), pc.match_substring_regex(lines, r"^#|^\s*$")))
    )
    stacks, words = _split_count(lines)
    faults: dict[str, int] = {}
    number = _matches(words, _NUMBER)
    negative = _matches(words, r"^-\d+(\.\d*)?$")
    exponent = _matches(words, r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    _count(faults, "negative", negative)
    _count(faults, "exponent", exponent)
    _count(faults, "no_count", ~(number | negative | exponent))
    stacks, words = stacks.filter(pa.array(number)), words.filter(pa.array(number))

    rest, second = _split_count(stacks)
    two = _matches(second, _NUMBER) & _matches(rest, r"[^ \t]")
    if columns == 2 or (columns is None and two.size > 1 and two.all()):
        _count(faults, "no_count", ~two)
        stacks, words = rest.filter(pa.array(two)), words.filter(pa.array(two))

    has_stack = _matches(stacks, r"(?s).")
    _count(faults, "no_stack", ~has_stack)
    stacks, words = stacks.filter(pa.array(has_stack)), words.filter(pa.array(has_stack))
    counts, fits = _whole(words)
    _count(faults, "too_large", ~fits)
    _count(faults, "fraction", fits & _matches(words, r"\."))
    names, types, lists = _frames(stacks.filter(pa.array(fits)), normalize)
    return Folded(lists, names, types, counts[fits], faults)


def _split_count(lines: Any) -> tuple[Any, Any]:
    """What stands before the last word of each line, and that word; null where there is but one word."""
    parts = pc.extract_regex(lines, _LINE)
    valid = parts.is_valid()
    return tuple(
        pc.if_else(valid, parts.field(name), pa.scalar(None, pa.large_string()))
        for name in ("stack", "count")
    )


def _matches(strings: Any, pattern: str) -> Any:
    found = pc.fill_null(pc.match_substring_regex(strings, pattern), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _count(faults: dict[str, int], kind: str, lines: Any) -> None:
    if lines.any():
        faults[kind] = faults.get(kind, 0) + int(lines.sum())


def _whole(words: Any) -> tuple[Ints, Any]:
    """The numbers with their fraction cut off, and which of them are small enough."""
    digits = pc.replace_substring_regex(words, r"\..*$", "")
    digits = pc.replace_substring_regex(digits, r"^0+(\d)", r"\1")
    short = np.asarray(pc.utf8_length(digits).to_numpy(zero_copy_only=False)) <= 18
    counts = pc.cast(pc.if_else(pa.array(short), digits, "0"), pa.int64()).to_numpy()
    fits = short & (counts <= _LARGEST)
    return counts, fits & (np.cumsum(np.where(fits, counts, 0), dtype=float) < _LARGEST_SUM)


def _frames(stacks: Any, normalize: bool) -> tuple[Any, Any, Any]:
    lists = pc.split_pattern(stacks, ";")
    flat = lists.flatten().cast(pa.string()).dictionary_encode()
    names, types = split_types(flat.dictionary)
    if normalize:
        names = normalized(names, types)
    frames = pa.ListArray.from_arrays(lists.offsets.cast(pa.int32()), flat.indices)
    return names, types, frames


def lines_of(tree: Tree, labels: Any, *weights: Ints) -> Iterator[str]:
    """Text, some lines at a time: the nodes that have a weight of their own, or nothing below them.

    ``labels``: the text of each frame id. Of two weights (a differential file) both stand in the line.
    """
    at = np.arange(len(tree))
    carries = np.any([weight != 0 for weight in weights], axis=0)
    ends = np.flatnonzero(carries | ((tree.end == at + 1) & (at > 0)))
    longest = pc.max(pc.binary_length(labels)).as_py() or 1
    batch = np.cumsum(tree.depth[ends], dtype=np.int64) // max(1, _BYTES_AT_ONCE // longest)
    for nodes in np.split(ends, np.flatnonzero(np.diff(batch)) + 1) if ends.size else ():
        offsets, flat = tree.paths(nodes)
        names = labels.take(pa.array(flat))
        stacks = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), names), ";")
        # What has no frames at all would be a line without a stack.
        stacks = pc.if_else(pa.array(nodes == 0), "[no_stack]", stacks)
        counts = [pa.array(weight[nodes]).cast(pa.string()) for weight in weights]
        lines = pc.binary_join_element_wise(stacks, *counts, " ")
        yield "\n".join(lines.to_pylist()) + "\n"
