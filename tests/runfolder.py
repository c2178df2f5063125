"""What a run folder holds, straight from its Parquet files: the tests' own reader, to hold the product's against."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


@dataclass(frozen=True)
class Sample:
    """One row of the table ``sample`` with its stack in words, root first."""

    executor: str
    stage: int
    attempt: int
    task: int
    sql: int
    kind: str
    event: str
    state: str
    bucket_ms: int
    samples: int
    value: int
    recording: int
    frames: tuple[str, ...]

    def has(self, method: str) -> bool:
        return method in self.frames


class RunFolder:
    """A run folder, read whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run: dict[str, Any] = json.loads((path / "run.json").read_text())
        self.status: dict[str, dict[str, Any]] = {
            file.parent.name: json.loads(file.read_text())
            for file in sorted(path.glob("executors/*/status.json"))
        }
        self.files = sorted(path.glob("executors/*/[0-9]*.parquet"))
        self.samples: list[Sample] = []
        self.rows: dict[str, list[dict[str, Any]]] = {}
        for file in self.files:
            self._read(file)

    def _read(self, file: Path) -> None:
        parquet = pq.ParquetFile(file)
        executor = file.parent.name
        for group in range(parquet.num_row_groups):
            table = parquet.read_row_group(group)
            tables = {
                name: [row for row in table.column(name).to_pylist() if row is not None]
                for name in table.column_names
            }
            names = {frame["id"]: frame["name"] for frame in tables["frame"]}
            stacks = {
                stack["stack_hash"]: tuple(names[frame] for frame in stack["frames"])
                for stack in tables["stack"]
            }
            for row in tables["sample"]:
                self.samples.append(
                    Sample(
                        executor=executor,
                        stage=row["stage_id"],
                        attempt=row["stage_attempt"],
                        task=row["task_id"],
                        sql=row["sql_execution_id"],
                        kind=row["kind"],
                        event=row["event"],
                        state=row["state"],
                        bucket_ms=row["bucket_ms"],
                        samples=row["samples"],
                        value=row["value"],
                        recording=row["recording_id"],
                        frames=stacks[row["stack_hash"]],
                    )
                )
            for name in ("task", "recording", "gc", "trigger", "dump"):
                found = self.rows.setdefault(name, [])
                found.extend({**row, "executor": executor} for row in tables[name])

    def where(self, check: Callable[[Sample], bool]) -> Iterator[Sample]:
        return (sample for sample in self.samples if check(sample))

    def count(self, check: Callable[[Sample], bool]) -> int:
        """Samples, not rows."""
        return sum(sample.samples for sample in self.where(check))

    def by(
        self, key: Callable[[Sample], Any], check: Callable[[Sample], bool] = lambda _: True
    ) -> Counter[Any]:
        """Samples by any key."""
        counter: Counter[Any] = Counter()
        for sample in self.where(check):
            counter[key(sample)] += sample.samples
        return counter

    def tasks(self) -> dict[int, dict[str, Any]]:
        """Each task attempt's last row, by task id."""
        last: dict[int, dict[str, Any]] = {}
        for row in self.rows.get("task", []):
            before = last.get(row["task_id"])
            if before is None or before["end_ms"] is None:
                last[row["task_id"]] = row
        return last


def load(folder: Path) -> RunFolder:
    """The one run folder in ``folder``.

    Raises:
        AssertionError: there is none, or more than one.
    """
    runs = sorted(folder.glob("*/run.json"))
    assert len(runs) == 1, f"{folder} holds {[run.parent.name for run in runs]}"
    return RunFolder(runs[0].parent)
