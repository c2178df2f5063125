"""Run folders made by hand, to FORMAT.md, for tests that need no JVM.

    run = RunBuilder(tmp_path / "app-1")
    one = run.executor("1")
    one.flush([sample("java.lang.Thread.run;com.acme.Job.work", stage=3, task=7, samples=5)])
    one.flush([...])                 # 000002.parquet
    one.compact()                    # 000001-000002.parquet, two row groups
    run.write(end_ms=…)              # run.json; each executor's status.json

Stacks are folded text; a frame may end with its type, as in `com.acme.Job.work@interpreted`, and a line, as in
`com.acme.Job.work:42@jit`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_probe.tables import FRAME_TYPES, TABLES
from tests.eventlogs.events import lines as event_lines

__all__ = [
    "BUCKET_MS",
    "START_MS",
    "ExecutorBuilder",
    "RunBuilder",
    "damage",
    "part_table",
    "rows_of",
    "sample",
    "stack_hash",
    "write_part",
]

START_MS = 1_790_000_000_000
BUCKET_MS = 10_000
INTERVALS = {"cpu": 10_000_000, "wall": 100_000_000, "alloc": 4_194_304, "lock": 10_000_000}

Frame = tuple[str, str, int]
_MASK = (1 << 64) - 1
_OFFSET, _PRIME = 0xCBF29CE484222325, 0x100000001B3


def parse_frame(text: str) -> Frame:
    """(name, type, line) of `name:line@type`; the type is jit by default."""
    name, at, kind = text.rpartition("@")
    if not at or kind not in FRAME_TYPES:
        name, kind = text, "jit"
    head, colon, line = name.rpartition(":")
    if colon and line.isdigit():
        return head, kind, int(line)
    return name, kind, 0


def _fnv(data: bytes, h: int = _OFFSET) -> int:
    for byte in data:
        h = ((h ^ byte) * _PRIME) & _MASK
    return h


def stack_hash(frames: Iterable[Frame]) -> int:
    """FORMAT.md's hash of a stack, as the signed 64-bit number of the column."""
    h = _OFFSET
    for name, kind, line in frames:
        frame_hash = _fnv(b"\0".join((kind.encode(), name.encode(), str(line).encode())))
        h = ((h ^ frame_hash) * _PRIME) & _MASK
        h ^= h >> 32
    return h - (1 << 64) if h >> 63 else h


def sample(
    stack: str,
    *,
    stage: int = -1,
    attempt: int | None = None,
    task: int = -1,
    event: str = "cpu",
    samples: int = 1,
    value: int | None = None,
    kind: str | None = None,
    state: str = "",
    bucket: int = 0,
    recording: int = 0,
    sql: int = -1,
) -> dict[str, Any]:
    """A row of `sample` with its ``stack`` in place of the hash."""
    outside = stage < 0
    return {
        "recording_id": recording,
        "stage_id": stage,
        "stage_attempt": attempt if attempt is not None else -1 if outside else 0,
        "task_id": task,
        "sql_execution_id": sql,
        "kind": kind or ("other" if outside else "task"),
        "event": event,
        "state": state,
        "bucket_ms": START_MS + bucket * BUCKET_MS,
        "stack": stack,
        "samples": samples,
        "value": samples * INTERVALS.get(event, 1_000_000) if value is None else value,
    }


def rows_of(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of a table of FORMAT.md; columns that a row lacks are null."""
    return pa.Table.from_pylist(list(rows), schema=TABLES[name])


def stack_tables(samples: Sequence[dict[str, Any]]) -> dict[str, pa.Table]:
    """The tables `sample`, `stack` and `frame` of one flush."""
    parsed = {
        row["stack"]: [parse_frame(f) for f in row["stack"].split(";")] if row["stack"] else []
        for row in samples
    }
    frames = sorted({frame for stack in parsed.values() for frame in stack})
    ids = {frame: i for i, frame in enumerate(frames)}
    stacks = sorted({tuple(stack) for stack in parsed.values()}, key=lambda s: [ids[f] for f in s])
    return {
        "sample": rows_of(
            "sample", [{**row, "stack_hash": stack_hash(parsed[row["stack"]])} for row in samples]
        ),
        "stack": rows_of(
            "stack",
            [{"stack_hash": stack_hash(s), "frames": [ids[f] for f in s]} for s in stacks],
        ),
        "frame": rows_of(
            "frame",
            [
                {"id": i, "name": name, "type": kind, "line": line}
                for i, (name, kind, line) in enumerate(frames)
            ],
        ),
    }


def part_table(tables: dict[str, pa.Table]) -> pa.Table:
    """One row group: a column a table, in each row exactly one set."""
    total = sum(table.num_rows for table in tables.values())
    columns, start = {}, 0
    for name, table in tables.items():
        rows = table.combine_chunks()
        struct = pa.StructArray.from_arrays(
            [column.combine_chunks() for column in rows.columns], fields=list(rows.schema)
        )
        before, after = start, total - start - len(struct)
        columns[name] = pa.concat_arrays(
            [pa.nulls(before, struct.type), struct, pa.nulls(after, struct.type)]
        )
        start += len(struct)
    return pa.table(columns)


def write_part(
    path: Path,
    groups: Sequence[dict[str, pa.Table]],
    *,
    executor: str = "1",
    format: int = 1,  # noqa: A002
) -> None:
    """A file of row groups, each a dict of tables; all must have the same ones."""
    names = list(dict.fromkeys(name for group in groups for name in group))
    empty = {name: TABLES[name].empty_table() for name in names if name in TABLES}
    tables = [part_table({**empty, **group}) for group in groups]
    meta = {
        "spark_probe.format": str(format),
        "spark_probe.normalizer": "1",
        "spark_probe.executor": executor,
        "spark_probe.units": json.dumps({"sample.bucket_ms": "ms", "task.start_ms": "ms"}),
    }
    schema = tables[0].schema.with_metadata(meta)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema), row_group_size=max(1, table.num_rows))


def damage(path: Path, how: str) -> None:
    """Make a file unreadable as things happen: `cut`, `empty`, `footer`, `middle`, `text`."""
    data = bytearray(path.read_bytes())
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "empty":
        data = bytearray()
    elif how == "footer":
        data[-8:-4] = (0x7FFFFFFF).to_bytes(4, "little")
    elif how == "middle":
        data[4:600] = bytes(len(data[4:600]))
    elif how == "text":
        data = bytearray(b"<html>403 Forbidden</html>")
    else:
        raise ValueError(how)
    path.write_bytes(bytes(data))


@dataclass
class ExecutorBuilder:
    """One executor's folder; each ``flush`` is a file of one row group."""

    folder: Path
    id: str
    status: dict[str, Any] = field(default_factory=dict)
    groups: list[dict[str, pa.Table]] = field(default_factory=list)
    samples: int = 0

    def flush(
        self, samples: Sequence[dict[str, Any]] = (), **others: Sequence[dict[str, Any]]
    ) -> Path:
        """Write the next file. ``others``: rows of `task`, `recording`, `trigger`, `dump`, `gc`."""
        group = stack_tables(samples)
        group.update({name: rows_of(name, rows) for name, rows in others.items()})
        self.groups.append(group)
        self.samples += sum(row["samples"] for row in samples)
        path = self.folder / f"{len(self.groups):06d}.parquet"
        write_part(path, [group], executor=self.id)
        return path

    def compact(self, first: int = 1, last: int | None = None, *, keep: bool = False) -> Path:
        """Replace the files of flushes ``first`` to ``last`` by one; ``keep``: leave the small ones."""
        last = last or len(self.groups)
        path = self.folder / f"{first:06d}-{last:06d}.parquet"
        write_part(path, self.groups[first - 1 : last], executor=self.id)
        if not keep:
            for seq in range(first, last + 1):
                (self.folder / f"{seq:06d}.parquet").unlink(missing_ok=True)
        return path

    def write_status(self, **keys: Any) -> None:
        """status.json as an executor that ended in order leaves it, changed by ``keys``."""
        status = {
            "executor_id": self.id,
            "host": "127.0.0.1",
            "pid": 4242,
            "jvm": "OpenJDK 64-Bit Server VM 17.0.13",
            "os": "Linux",
            "arch": "amd64",
            "cores": 4,
            "state": "stopped",
            "reason": None,
            "engine": "ctimer",
            "events": INTERVALS,
            "attached_ms": START_MS,
            "updated_ms": START_MS + 60_000,
            "last_flush_ms": START_MS + 60_000,
            "last_seq": len(self.groups),
            "flushes": len(self.groups),
            "samples": self.samples,
            "samples_recorded": self.samples,
            "samples_lost": 0,
            "lost_reason": None,
            "bytes_jfr": 5_000_000,
            "bytes_shipped": 100_000,
            "probe_cpu_ns": 250_000_000,
            "notes": [],
            "last_error": None,
            **self.status,
            **keys,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "status.json").write_text(json.dumps(status), encoding="utf-8")


@dataclass
class RunBuilder:
    """A run folder."""

    path: Path
    executors: dict[str, ExecutorBuilder] = field(default_factory=dict)

    def executor(self, id: str = "1") -> ExecutorBuilder:  # noqa: A002
        """The builder of one executor, made when first asked for."""
        if id not in self.executors:
            self.executors[id] = ExecutorBuilder(self.path / "executors" / id, id)
        return self.executors[id]

    def events(self, events: Sequence[dict[str, Any]]) -> None:
        """The run's event log, as Spark's rolling writer leaves it (not compressed)."""
        folder = self.path / "events" / f"eventlog_v2_{self.path.name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"appstatus_{self.path.name}").write_bytes(b"")
        (folder / f"events_1_{self.path.name}").write_bytes(event_lines(list(events)))

    def write(self, *, run_json: bool = True, status: bool = True, **keys: Any) -> Path:
        """run.json, changed by ``keys``, and every status.json that is not there yet."""
        self.path.mkdir(parents=True, exist_ok=True)
        if run_json:
            run = {
                "format": 1,
                "normalizer": 1,
                "probe_version": "0.1.0",
                "app_id": self.path.name,
                "app_name": "a job",
                "app_attempt": None,
                "user": "ann",
                "spark_version": "4.3.0",
                "scala_version": "2.13.16",
                "java_version": "17.0.13",
                "master": "local-cluster[2,1,1024]",
                "deploy_mode": "client",
                "mode": "plugin",
                "conf": {"spark.probe.interval": "10ms"},
                "start_ms": START_MS,
                "end_ms": START_MS + 60_000,
                **keys,
            }
            (self.path / "run.json").write_text(json.dumps(run), encoding="utf-8")
        for executor in self.executors.values():
            if status and not (executor.folder / "status.json").exists():
                executor.write_status()
        return self.path
