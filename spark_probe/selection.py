"""Which samples: by stage attempt, task, executor, kind of thread, state, time, recording."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from spark_probe.calltree import Ints
from spark_probe.merge import Merged

__all__ = ["Selection"]

_COLUMNS = {
    "tasks": "task_id",
    "sql_executions": "sql_execution_id",
    "recordings": "recording_id",
    "executors": "executor_id",
    "kinds": "kind",
    "states": "state",
}


class Selection:
    """Finds rows of a run's samples; those of one stage without a look at the others'."""

    def __init__(self, merged: Merged) -> None:
        self._samples = merged.samples

    def rows(
        self,
        event: str,
        stage: tuple[int, int] | None = None,
        *,
        start_ms: int | None = None,
        end_ms: int | None = None,
        **among: Iterable[Any] | None,
    ) -> Ints:
        """Row numbers, sorted.

        stage: (id, attempt). start_ms, end_ms: epoch, half open; a time bucket counts where it starts.
        among: for `tasks`, `sql_executions`, `recordings`, `executors`, `kinds`, `states` the values to take.
        """
        rows: Ints = np.arange(self._samples.num_rows) if stage is None else self._of_stage(stage)
        rows = rows[self._is(rows, "event", [event])]
        for name, values in among.items():
            if values is not None:
                rows = rows[self._is(rows, _column(name), list(values))]
        if start_ms is not None:
            rows = rows[self._numbers("bucket_ms")[rows] >= start_ms]
        if end_ms is not None:
            rows = rows[self._numbers("bucket_ms")[rows] < end_ms]
        return rows

    def groups(self, rows: Ints, column: str) -> dict[Any, Ints]:
        """Rows by their value in a column, in the order of values."""
        codes, words = self._codes(column)
        keys, place = np.unique(codes[rows], return_inverse=True)
        order = np.argsort(place, kind="stable")
        pieces = np.split(rows[order], np.cumsum(np.bincount(place, minlength=keys.size))[:-1])
        named = [words[key] if words is not None else int(key) for key in keys.tolist()]
        return dict(sorted(zip(named, pieces if keys.size else [], strict=True)))

    @cached_property
    def stages(self) -> list[tuple[int, int]]:
        """(id, attempt) of each stage attempt that has samples, sorted."""
        return sorted(key for key in self._stage_rows if key[0] >= 0)

    @cached_property
    def _stage_rows(self) -> dict[tuple[int, int], Ints]:
        stage, attempt = (self._numbers(n).astype(np.int64) for n in ("stage_id", "stage_attempt"))
        key = (stage << 32) | (attempt & 0xFFFFFFFF)
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        names = zip((ordered[first] >> 32).tolist(), attempt[order[first]].tolist(), strict=True)
        return dict(zip(names, np.split(order, first[1:]) if first.size else [], strict=True))

    def _of_stage(self, stage: tuple[int, int]) -> Ints:
        return self._stage_rows.get(stage, np.empty(0, dtype=np.int64))

    def _is(self, rows: Ints, column: str, values: list[Any]) -> Any:
        codes, words = self._codes(column)
        if words is not None:
            values = [words.index(value) for value in values if value in words]
        return np.isin(codes[rows], values)

    def _numbers(self, column: str) -> Ints:
        return self._codes(column)[0]

    def _codes(self, column: str) -> tuple[Ints, list[str] | None]:
        if column not in self._cache:
            array: Any = self._samples[column].combine_chunks()
            if hasattr(array, "dictionary"):
                self._cache[column] = array.indices.to_numpy(), array.dictionary.to_pylist()
            else:
                self._cache[column] = array.to_numpy(), None
        return self._cache[column]

    @cached_property
    def _cache(self) -> dict[str, tuple[Ints, list[str] | None]]:
        return {}


def _column(name: str) -> str:
    if name not in _COLUMNS:
        raise TypeError(
            f"there is no choice of samples by {name!r}; there is {', '.join(_COLUMNS)}"
        )
    return _COLUMNS[name]
