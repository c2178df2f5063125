"""Parts of any number of executors and flushes -> one table of each kind, and flame graphs of any of it.

Frame ids mean something only within a part, so frames are made one table first. Stacks are named by a hash
that is the same everywhere: each is kept as the first part that has it gives it, and a sample finds its
stack by a look-up. What is asked of one stage, task or executor is then a sum by stack, and a tree of these
stacks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.calltree import Ints, Stacks, find
from spark_probe.flamegraph import FlameGraph
from spark_probe.frametable import unify
from spark_probe.parts import Part
from spark_probe.tables import EVENT_UNITS, TABLES

__all__ = ["Merged", "merge"]

_EXECUTOR = pa.field("executor_id", pa.string())
_AT_ONCE = 16
_WORDS = ("kind", "event", "state")


@dataclass(frozen=True, eq=False)
class Merged:
    """A run's tables.

    ``samples``: ``executor_id`` and the columns of `sample` in FORMAT.md; words are dictionaries, nulls
    filled. ``frames``: ``id`` (0, 1, … of the whole run), ``name``, ``type``, ``line``, sorted by these.
    ``stack_hash``: of each of ``stacks``, which may hold one twice. ``stack``: the number of each sample's
    stack, -1 where it is in no part. ``others``: the other tables of FORMAT.md by name, with
    ``executor_id`` in front.
    """

    samples: pa.Table
    frames: pa.Table
    stack_hash: Ints
    stacks: Stacks
    stack: Ints
    others: dict[str, pa.Table]

    def stack_table(self) -> pa.Table:
        """`stack` of FORMAT.md, with ids of ``frames``."""
        offsets, flat = self.stacks.lists()
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))
        if offsets[-1] < 1 << 31:
            lists = lists.cast(pa.list_(pa.int32()))
        table = pa.table({"stack_hash": self.stack_hash, "frames": lists})
        _, first = np.unique(self.stack_hash, return_index=True)
        return table.take(pa.array(first)) if first.size < table.num_rows else table

    def graph(self, rows: Ints, event: str, *, title: str = "", lines: bool = False) -> FlameGraph:
        """The flame graph of some samples: ``rows`` of the table, of one event.

        Samples whose stack is not there stand at the root.
        """
        found, place = np.unique(self.stack[rows], return_inverse=True)
        known = found >= 0
        leaf = np.zeros(found.size, dtype=np.int64)
        depth, frame, leaf[known] = self.stacks.sequence(found[known])
        samples, value = np.zeros((2, depth.size), dtype=np.int64)
        for out, weight in zip((samples, value), self._weights, strict=True):
            np.add.at(out, leaf[place], weight[rows])
        unit = EVENT_UNITS.get(event, "ns")
        return FlameGraph(depth, frame, self.frames, samples, value, event, unit, title, lines)

    @cached_property
    def _weights(self) -> tuple[Ints, Ints]:
        return self.samples["samples"].to_numpy(), self.samples["value"].to_numpy()

    @property
    def stackless(self) -> int:
        """Samples whose stack is in no part."""
        return int(self._weights[0][self.stack < 0].sum())


def merge(parts: Iterable[tuple[str, Part]]) -> Merged:
    """Merge parts, each with its executor, in the order of executor and flush; uses them up.

    The order of executors makes no difference but to the order of rows.
    """
    batches = list(_batches(parts))
    parts = [pair for batch in batches for pair in batch.parts]
    frames, rows = unify([batch.frames for batch in batches])
    row_of = [row for row, batch in zip(rows, batches, strict=True) for _ in batch.parts]
    stack_hash, stacks = _stacks(parts, row_of, frames.num_rows)
    samples = _samples(parts)
    order = np.argsort(stack_hash, kind="stable")
    place = find(stack_hash[order], samples["stack_hash"].to_numpy())
    stack = np.append(order, -1)[place].astype(np.int32)
    ids = pa.array(np.arange(frames.num_rows, dtype=np.int32))
    others = {
        name: _together(name, parts) for name in TABLES if name not in ("sample", "stack", "frame")
    }
    return Merged(samples, frames.add_column(0, "id", ids), stack_hash, stacks, stack, others)


@dataclass
class _Batch:
    """Some parts, their stacks in rows of one table of frames."""

    parts: list[tuple[str, Part]]
    frames: pa.Table


def _batches(parts: Iterable[tuple[str, Part]]) -> Iterator[_Batch]:
    """Parts as they come; every executor names the same frames, so these are made one early."""
    coming = iter(parts)
    while batch := list(islice(coming, _AT_ONCE)):
        frames, rows = unify([part.frames for _, part in batch])
        for (_, part), row in zip(batch, rows, strict=True):
            part.frame = row.astype(_id_type(frames.num_rows))[part.frame]
            part.frames = frames.slice(0, 0)
        yield _Batch(batch, frames)


def _id_type(frames: int) -> Any:
    return np.uint16 if frames < 1 << 16 else np.int32


def _stacks(
    parts: Sequence[tuple[str, Part]], rows: Sequence[Ints], frames: int
) -> tuple[Ints, Stacks]:
    own = _joined(part.own for _, part in parts)
    start = np.concatenate(([0], np.cumsum(own, dtype=np.int64)))
    # Written part by part into place, each given up at once: frames of stacks are most of a run.
    frame = np.empty(start[-1], dtype=_id_type(frames))
    at = 0
    for (_, part), row in zip(parts, rows, strict=True):
        size = part.frame.size
        frame[at : at + size] = row[part.frame]
        at += size
        part.frame = part.frame[:0]
    shared = _joined(part.shared for _, part in parts)
    return _joined((part.stack_hash for _, part in parts), np.int64), Stacks(shared, start, frame)


def _joined(arrays: Iterator[Ints], dtype: Any = np.int32) -> Ints:
    return np.concatenate([np.empty(0, dtype=dtype), *arrays])


def _samples(parts: Sequence[tuple[str, Part]]) -> pa.Table:
    counts = [part.samples["samples"].size for _, part in parts]
    executors = [executor for executor, _ in parts]
    columns = {_EXECUTOR.name: _words(np.repeat(np.arange(len(parts)), counts), executors)}
    for field in TABLES["sample"]:
        if field.name in _WORDS:
            pairs = [part.words[field.name] for _, part in parts]
            starts = np.cumsum([0, *(len(words) for _, words in pairs)])[:-1]
            codes = _joined(c + s for (c, _), s in zip(pairs, starts.tolist(), strict=True))
            columns[field.name] = _words(codes, [w for _, words in pairs for w in words])
        else:
            numbers = _joined((p.samples.pop(field.name) for _, p in parts), str(field.type))
            columns[field.name] = pa.array(numbers)
    return pa.table(columns)


def _words(codes: Ints, words: list[str]) -> Any:
    """A dictionary column; ``words`` may repeat."""
    distinct = pa.array(words, pa.string()).dictionary_encode()
    code = distinct.indices.to_numpy()[codes] if words else codes.astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(code), distinct.dictionary)


def _together(name: str, parts: Sequence[tuple[str, Part]]) -> pa.Table:
    empty = TABLES[name].insert(0, _EXECUTOR).empty_table()
    tables = [
        part.others[name].add_column(
            0, _EXECUTOR, pa.array([executor] * part.others[name].num_rows, pa.string())
        )
        for executor, part in parts
        if name in part.others
    ]
    table = pa.concat_tables([empty, *tables])
    return _last_states(table) if name == "task" else table.combine_chunks()


def _last_states(tasks: pa.Table) -> pa.Table:
    """A running task has a row in each flush: the last one of each task counts."""
    ids = tasks["task_id"].fill_null(-1).to_numpy()
    _, last = np.unique(ids[::-1], return_index=True)
    rows = np.sort(ids.size - 1 - last)
    return tasks.take(pa.array(rows)).combine_chunks()
