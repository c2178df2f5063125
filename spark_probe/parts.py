"""One Parquet file of a run folder -> its row groups, each a `Part`: FORMAT.md says what stands in it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_probe.calltree import Ints, find, front_code
from spark_probe.tables import FORMAT, TABLES

__all__ = ["Part", "PartFile", "SeenStacks", "choose", "read_parts"]

_NAME = re.compile(r"(\d{6,})(?:-(\d{6,}))?\.parquet")
# A table without these says nothing; what else is missing is null, or as here.
_NEEDED = {
    "sample": ("stack_hash", "samples"),
    "stack": ("stack_hash", "frames"),
    "frame": ("name",),
}
_ABSENT = {"samples": 0, "value": 0, "line": 0}

_EMPTY = {name: schema.empty_table() for name, schema in TABLES.items()}

# What reading bytes that are damaged can raise in Arrow, in numpy, and here.
_DAMAGE = (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError)


@dataclass(frozen=True)
class PartFile:
    """A file of an executor, ``first`` to ``last`` flush in it, and those that it replaces."""

    name: str
    first: int
    last: int
    replaces: tuple[PartFile, ...] = ()


@dataclass
class Part:
    """A row group, in memory of its own (Arrow's would keep all of it).

    ``samples``: columns of `sample`; words are (codes, words). ``frames``: rows of `frame` in the order of
    their ids. The stacks that no part before has shown: ``stack_hash``, and front-coded (`calltree.Stacks`)
    ``shared``, ``own`` (how many frames of its own each has) and ``frame``, all of these in rows of
    ``frames``. ``others``: the other tables, by name.
    """

    samples: dict[str, Ints]
    words: dict[str, tuple[Ints, list[str]]]
    frames: pa.Table
    stack_hash: Ints
    shared: Ints
    own: Ints
    frame: Ints
    others: dict[str, pa.Table] = field(default_factory=dict)


class SeenStacks:
    """Hashes of stacks that are already held; asked from many threads."""

    _PUBLISH_AT = 20_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = np.empty(0, dtype=np.int64)
        self._new: list[Ints] = []
        self._count = 0

    def unseen(self, hashes: Ints) -> Ints:
        """Which hashes are not held yet. One that two threads bring together is in both: no harm."""
        return find(self._known, hashes) < 0

    def add(self, hashes: Ints) -> None:
        """These are held from now on."""
        with self._lock:
            self._new.append(hashes)
            self._count += hashes.size
            # Each time when they grew by a quarter: the sorting stays a small part of the work.
            if self._count >= max(self._PUBLISH_AT, self._known.size // 4):
                known = np.concatenate([self._known, *self._new])
                known.sort(kind="stable")
                self._known, self._new, self._count = known, [], 0


def choose(names: Iterable[str]) -> list[PartFile]:
    """The files to read out of an executor's: of two that cover each other the wider one."""
    files = []
    for name in names:
        if match := _NAME.fullmatch(name):
            first = int(match[1])
            files.append(PartFile(name, first, int(match[2] or first)))
    # A wide file comes before what it covers; of equals the one that compaction wrote.
    files.sort(key=lambda f: (f.first, -f.last, "-" not in f.name))
    chosen: list[PartFile] = []
    for file in files:
        if chosen and file.last <= chosen[-1].last:
            wide = chosen[-1]
            chosen[-1] = PartFile(wide.name, wide.first, wide.last, (*wide.replaces, file))
        else:
            chosen.append(file)
    return chosen


def read_parts(data: bytes, seen: SeenStacks) -> Iterator[Part | str]:
    """The parts of a file; in place of one that cannot be read a sentence that says why.

    Raises ValueError where nothing of the file can be read.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        meta = file.metadata.metadata or {}
        version = int(meta.get(b"spark_probe.format", b"1"))
        wanted = _columns(file.schema_arrow)
        groups = file.num_row_groups
    except _DAMAGE as error:
        raise ValueError(_first_line(error)) from error
    if version > FORMAT:
        raise ValueError(
            f"it has format {version}; this spark_probe reads 1 to {FORMAT}; upgrade it"
        )
    for group in range(groups):
        try:
            yield _part(file.read_row_group(group, columns=wanted, use_threads=False), seen)
        except _DAMAGE as error:
            yield f"row group {group} of {groups} cannot be read: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _columns(schema: pa.Schema) -> list[str]:
    """Paths of the columns that are known, of those that a file has."""
    paths = []
    for table, wanted in TABLES.items():
        index = schema.get_field_index(table)
        if index < 0 or not pa.types.is_struct(schema.field(index).type):
            continue
        names = {child.name for child in schema.field(index).type}
        paths += [f"{table}.{column.name}" for column in wanted if column.name in names]
    return paths


def _part(group: pa.Table, seen: SeenStacks) -> Part:
    tables = {name: _rows(group, name) for name in TABLES}
    samples, words = {}, {}
    for name, column in _filled(tables.pop("sample")).items():
        if pa.types.is_string(column.type):
            encoded = _one(column).dictionary_encode()
            words[name] = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
        else:
            samples[name] = column.to_numpy().copy()
    stacks, frames = tables.pop("stack"), tables.pop("frame")
    hashes = _numbers(stacks["stack_hash"])
    lists = _one(stacks["frames"])
    unseen = seen.unseen(hashes)
    if not unseen.all():
        lists = lists.filter(pa.array(unseen))
    hashes = hashes[unseen]
    offsets = lists.offsets.to_numpy()
    shared, ids = front_code(offsets, lists.values.to_numpy())
    frame = _frame_rows(frames, ids)
    narrow = np.uint16 if frames.num_rows < 1 << 16 else np.int32
    named = pa.table({name: _filled(frames)[name] for name in ("name", "type", "line")})
    seen.add(hashes)
    return Part(
        samples,
        words,
        # Taken: a copy.
        named.take(pa.array(np.arange(named.num_rows))),
        hashes,
        shared,
        np.diff(offsets) - shared,
        frame.astype(narrow),
        {name: table for name, table in tables.items() if table.num_rows},
    )


def _rows(group: pa.Table, name: str) -> pa.Table:
    """The rows of one table, with the columns and types of FORMAT.md."""
    schema = TABLES[name]
    if name not in group.column_names:
        return _EMPTY[name]
    rows = _one(group[name])
    count = len(rows) - rows.null_count
    if count == 0:
        return _EMPTY[name]
    if rows.null_count:
        # A table's rows stand together: a slice, which copies nothing.
        start = pc.index(rows.is_valid(), True).as_py()
        together = rows.slice(start, count)
        rows = rows.drop_null() if together.null_count else together
    rows.validate(full=True)
    given = {rows.type.field(i).name: i for i in range(rows.type.num_fields)}
    missing = [column for column in _NEEDED.get(name, ()) if column not in given]
    if missing:
        raise ValueError(f"table {name} has no column {missing[0]}")
    columns = [
        rows.field(given[column.name]).cast(column.type)
        if column.name in given
        else pa.nulls(count, column.type)
        for column in schema
    ]
    return pa.table(columns, schema=schema)


def _filled(table: pa.Table) -> dict[str, Any]:
    """Columns without nulls: ids and times that are not there are -1, counts 0, words empty."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count:
            word = pa.types.is_string(column.type)
            column = column.fill_null("" if word else _ABSENT.get(name, -1))
        columns[name] = column
    return columns


def _frame_rows(frames: pa.Table, ids: Ints) -> Ints:
    """The row of each frame id of the stacks."""
    given = _numbers(frames["id"]) if not frames["id"].null_count else np.arange(len(frames))
    order = np.argsort(given, kind="stable")
    place = find(given[order], ids)
    if place.size and place.min() < 0:
        raise ValueError("a stack has a frame that is not in the row group")
    rows: Ints = order[place]
    return rows


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: Any) -> Ints:
    if column.null_count:
        raise ValueError("a stack has no hash or a frame no id")
    numbers: Ints = column.to_numpy()
    return numbers
