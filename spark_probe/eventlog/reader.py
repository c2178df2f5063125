"""Files -> tables: decompress, cut into blocks, parse them on all cores, put it together."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.eventlog import columns, schemas
from spark_probe.eventlog import events as ev
from spark_probe.eventlog.assemble import App, Assembler
from spark_probe.eventlog.bytesource import ByteSource
from spark_probe.eventlog.codecs import SNIFF_BYTES, decoder_for
from spark_probe.eventlog.lines import blocks, split
from spark_probe.eventlog.locate import Part, Source
from spark_probe.eventlog.problems import EventLogError, Problems
from spark_probe.eventlog.sqlstate import sql_tables

__all__ = ["Parsed", "Progress", "parse_source"]

# Called with (stored bytes read, stored bytes in all or -1) every few megabytes.
Progress = Callable[[int, int], None]

_ODD_BATCH = (
    2_000  # events of a columnar kind that came in another spelling, turned into rows at once
)
_MAX_WORKERS = 8


@dataclass
class Parsed:
    """What came of a log: the application, tables by name, and what was read and what was not."""

    app: App
    tables: dict[str, pa.Table]
    lines: int = 0
    bad_lines: int = 0
    events: dict[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)


@dataclass
class _BlockResult:
    """A block after the columnar part: its tables by kind, and the lines to be taken in order."""

    lines: int
    blank: int
    broken: int
    tables: dict[str, tuple[pa.Table, ...]]
    others: Iterator[bytes]


def parse_source(source: Source, progress: Progress | None = None) -> Parsed:
    """Read every part of a log. Raises EventLogError when no line of it is an event."""
    collector = _Collector(source.name)
    for note in source.notes:
        collector.problems.note(source.name, -1, note)
    for missing in source.missing:
        collector.problems.damage(source.name, -1, missing)
    workers = max(1, min(_MAX_WORKERS, os.cpu_count() or 1))
    waiting: deque[Future[_BlockResult]] = deque()
    with ThreadPoolExecutor(workers, "spark-probe-eventlog") as pool:
        for block in blocks(_chunks(source, collector.problems, progress)):
            if block is None:
                collector.line_too_long()
                continue
            waiting.append(pool.submit(_digest, block))
            del block
            while len(waiting) > workers + 1:
                collector.take(waiting.popleft().result())
        while waiting:
            collector.take(waiting.popleft().result())
    parsed = collector.finish()
    if parsed.lines and parsed.lines == parsed.bad_lines:
        raise EventLogError(
            f"{source.name} is no Spark event log: none of its {parsed.lines:,} lines is an event "
            '(JSON with an "Event" field); check the path'
        )
    return parsed


def _chunks(
    source: Source, problems: Problems, progress: Progress | None
) -> Iterator[bytes | None]:
    """The plain bytes of all parts; None after each part and where bytes were lost."""
    total = sum(p.size for p in source.parts)
    total = -1 if any(p.size < 0 for p in source.parts) else total
    done = 0
    for part in source.parts:
        for chunk, pos in _part_chunks(part, problems):
            yield chunk
            if progress:
                progress(done + pos, total)
        yield None
        done += max(part.size, 0)


def _part_chunks(part: Part, problems: Problems) -> Iterator[tuple[bytes | None, int]]:
    try:
        raw = part.open()
    except (OSError, ValueError) as error:
        problems.damage(part.name, -1, f"cannot be opened: {error}", max(part.size, 0))
        return
    src = ByteSource(raw)
    try:
        head = src.peek(SNIFF_BYTES)
        if not head:
            problems.note(part.name, 0, "is empty")
        for chunk in decoder_for(head, part.name)(src, part.name, problems):
            yield chunk, src.pos
    except (OSError, EOFError, ValueError) as error:
        lost = max(part.size - src.pos, 0) if part.size >= 0 else 0
        problems.damage(part.name, src.pos, f"cannot be read on: {error}", lost)
    finally:
        getattr(raw, "close", lambda: None)()


def _digest(block: bytes) -> _BlockResult:
    """The columnar work on a block; runs on a worker thread, mostly outside the GIL."""
    found = split(block, columns.KINDS)
    broken = 0
    tables: dict[str, tuple[pa.Table, ...]] = {}
    for kind, (data, lines) in found.columnar.items():
        events, bad = columns.parse(kind, data, lines)
        broken += bad
        tables[kind] = _rows_of(kind, events)
    return _BlockResult(found.lines, found.blank, broken, tables, found.others)


def _rows_of(kind: str, events: pa.Table) -> tuple[pa.Table, ...]:
    if kind == "task_end":
        return columns.task_ends(events)
    one = {
        "task_start": columns.task_starts,
        "block": columns.block_updates,
        "peak": columns.executor_peaks,
    }[kind]
    return (one(events),)


class _Collector:
    """Takes block results in order and holds what the tables are made of."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.problems = Problems()
        self._assembler = Assembler()
        self._tasks: list[pa.Table] = []
        self._starts = _OpenStarts()
        self._peaks: list[pa.Table] = []
        self._blocks: list[pa.Table] = []
        self._executor_peaks: list[pa.Table] = []
        self._odd: dict[str, list[dict[str, Any]]] = {kind: [] for kind in columns.KINDS}
        self._lines = 0
        self._bad = 0
        self._broken = 0
        self._events: Counter[str] = Counter()

    def line_too_long(self) -> None:
        """A stretch without a line end that can be no event."""
        self._lines += 1
        self._bad += 1
        self._broken += 1

    def take(self, result: _BlockResult) -> None:
        """The next block."""
        self._lines += result.lines
        self._bad += result.blank + result.broken
        self._broken += result.broken
        for kind, tables in result.tables.items():
            self._rows(kind, tables)
        for line in result.others:
            self._line(line)

    def finish(self) -> Parsed:
        """Make the tables; the collector is used up."""
        for kind in self._odd:
            self._take_odd(kind)
        self._assembler.finish()
        rows = {name: rows.table() for name, rows in self._assembler.rows.items()}
        if self._broken:
            self.problems.damage(self._name, -1, f"{self._broken:,} events are cut or damaged")
        if self._assembler.sql.unreadable_plans:
            count = self._assembler.sql.unreadable_plans
            self.problems.note(self._name, -1, f"{count} SQL plans could not be read")
        sql = sql_tables(self._assembler.sql, rows["jobs"], rows["stages"], rows["accumulators"])
        environment = [(s, k, v) for (s, k), v in self._assembler.environment.items()]
        tasks = _concat(self._tasks, schemas.TASKS)
        self._tasks.clear()
        running = self._starts.without(tasks["task_id"])
        tables = {
            "jobs": rows["jobs"].sort_by("job_id"),
            "stages": rows["stages"].sort_by(
                [("stage_id", "ascending"), ("stage_attempt", "ascending")]
            ),
            "tasks": pa.concat_tables([tasks, running]) if len(running) else tasks,
            "task_peaks": _concat(self._peaks, schemas.TASK_PEAKS),
            "executors": rows["executors"],
            "executor_peaks": _concat(self._executor_peaks, schemas.EXECUTOR_PEAKS),
            **sql,
            "streaming_queries": rows["streaming_queries"],
            "streaming": rows["streaming"],
            "accumulators": rows["accumulators"],
            "rdds": rows["rdds"].sort_by("rdd_id"),
            "block_updates": _concat(self._blocks, schemas.BLOCK_UPDATES),
            "unpersists": rows["unpersists"],
            "environment": pa.table(
                [list(column) for column in zip(*environment, strict=True)] or [[], [], []],
                schema=schemas.ENVIRONMENT,
            ),
        }
        return Parsed(
            self._assembler.app,
            tables,
            self._lines,
            self._bad,
            dict(self._events),
            self.problems,
        )

    def _rows(self, kind: str, tables: tuple[pa.Table, ...]) -> None:
        self._events[_NAMES[kind]] += len(tables[0])
        if kind == "task_end":
            tasks, peaks, updates = tables
            self._tasks.append(tasks)
            self._starts.ended(tasks["task_id"])
            _keep(self._peaks, peaks)
            _keep(self._blocks, updates)
        elif kind == "task_start":
            self._starts.add(tables[0])
        elif kind == "block":
            _keep(self._blocks, tables[0])
        else:
            _keep(self._executor_peaks, tables[0])

    def _line(self, line: bytes) -> None:
        name = ev.event_name(line)
        if name is None:
            meant = line.lstrip().startswith(b"{") or b'{"Event"' in line
            self._bad_line(meant and ev.decode(line, dict) is None)
        elif kind := _ODD_KINDS.get(name):
            event = ev.decode(line, dict)
            if event is None:
                self._bad_line(lost=True)
                return
            self._odd[kind].append(event)
            if len(self._odd[kind]) >= _ODD_BATCH:
                self._take_odd(kind)
        else:
            known = ev.EVENTS.get(name)
            event = ev.decode(line, known or ev.Event)
            if event is None:
                self._bad_line(lost=True)
                return
            self._events[name] += 1
            if known:
                self._assembler.add(event)

    def _bad_line(self, lost: bool) -> None:
        """No event: one that was meant to be is lost; noise between the events is no loss."""
        self._bad += 1
        self._broken += lost

    def _take_odd(self, kind: str) -> None:
        if self._odd[kind]:
            self._rows(kind, _rows_of(kind, columns.from_objects(kind, self._odd[kind])))
            self._odd[kind].clear()


_NAMES = {kind: name.rstrip(b'"').decode() for kind, name in columns.KINDS.items()}
_ODD_KINDS = {name: kind for kind, name in _NAMES.items()}


class _OpenStarts:
    """Task starts whose end has not come yet; those that ended are dropped as the log goes on."""

    _PRUNE_AT = 50_000

    def __init__(self) -> None:
        self._starts: list[pa.Table] = []
        self._ends: list[pa.ChunkedArray] = []
        self._rows = 0

    def add(self, starts: pa.Table) -> None:
        self._starts.append(starts)
        self._rows += len(starts)
        if self._rows >= self._PRUNE_AT:
            left = self._open(np.concatenate([e.to_numpy() for e in self._ends] or [_NONE]))
            self._starts, self._ends = [left], []
            # Running tasks are few; were they many, look again only when there are twice as many.
            self._rows = max(0, len(left) - self._PRUNE_AT)

    def ended(self, task_ids: pa.ChunkedArray) -> None:
        self._ends.append(task_ids)

    def without(self, task_ids: pa.ChunkedArray) -> pa.Table:
        """The starts whose task is in none of the ends."""
        return self._open(task_ids.to_numpy())

    def _open(self, ends: Any) -> pa.Table:
        starts = _concat(self._starts, schemas.TASKS)
        running = ~np.isin(starts["task_id"].to_numpy(), ends)
        return starts.filter(pa.array(running))


_NONE = np.empty(0, np.int64)


def _keep(tables: list[pa.Table], table: pa.Table) -> None:
    if len(table):
        tables.append(table)


def _concat(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """One table with one dictionary; its chunks stay as they came, since to join them costs a copy."""
    if not tables:
        return schema.empty_table()
    return pa.concat_tables(tables).unify_dictionaries()
