"""Rows of events while a file is read: numbers as numpy columns, words as codes of few labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.gclog.events import EVENTS

__all__ = ["NUMBERS", "Label", "Numbers", "Rows"]

Numbers = np.ndarray[Any, np.dtype[np.float64]]

# float64 holds every value here exactly: bytes, lines and ns stay under 2**53. NaN is null.
NUMBERS = (
    "start_s",
    "start_ms",
    "duration_ns",
    "gc_id",
    "heap_before_bytes",
    "heap_after_bytes",
    "heap_committed_bytes",
    "young_before_bytes",
    "young_after_bytes",
    "old_before_bytes",
    "old_after_bytes",
    "line",
)


@dataclass(frozen=True)
class Label:
    """What an event is, in words. A log has few different ones."""

    type: str
    cause: str | None = None
    failure: str | None = None
    pause: bool = False
    full: bool = False


class Rows:
    """Grows block by block; every column has the same length."""

    def __init__(self) -> None:
        self._chunks: list[dict[str, Numbers]] = []
        self._codes: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        self._labels: dict[Label, int] = {}
        self._single: list[tuple[int, dict[str, float]]] = []

    def code(self, label: Label) -> int:
        """The label's number in this file."""
        return self._labels.setdefault(label, len(self._labels))

    @property
    def labels(self) -> list[Label]:
        """Each label at the index that is its code."""
        return list(self._labels)

    def add(self, codes: np.ndarray[Any, np.dtype[np.int64]], **numbers: Numbers) -> None:
        """Appends rows; a column that is not given is null."""
        if len(codes):
            self._codes.append(codes)
            self._chunks.append(numbers)

    def add_one(self, label: Label, **numbers: float) -> None:
        """Appends one row, of a record that no columnar pattern fits."""
        self._single.append((self.code(label), numbers))

    def _flush(self) -> None:
        single, self._single = self._single, []
        columns = {
            name: np.array([numbers.get(name, np.nan) for _, numbers in single], np.float64)
            for name in NUMBERS
        }
        self.add(np.array([code for code, _ in single], np.int64), **columns)

    def columns(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], dict[str, Numbers]]:
        """The codes and the numbers of all rows, in the order of the file's lines."""
        self._flush()
        codes = np.concatenate([np.zeros(0, np.int64), *self._codes])
        numbers = {
            name: np.concatenate(
                [np.zeros(0)]
                + [
                    chunk.get(name, np.full(len(codes_of), np.nan))
                    for chunk, codes_of in zip(self._chunks, self._codes, strict=True)
                ]
            )
            for name in NUMBERS
        }
        self._chunks, self._codes = [], []  # the rows are the caller's now
        if np.all(np.diff(numbers["line"]) >= 0):
            return codes, numbers
        order = np.argsort(numbers["line"], kind="stable")
        return codes[order], {name: column[order] for name, column in numbers.items()}

    def table(
        self,
        codes: np.ndarray[Any, np.dtype[np.int64]],
        numbers: dict[str, Numbers],
        file: str,
    ) -> pa.Table:
        """The rows as events of one file; `run` is 0 until the files' order is known."""
        labels = self.labels
        words = {
            "type": pa.array([label.type for label in labels], pa.string()),
            "cause": pa.array([label.cause for label in labels], pa.string()),
            "failure": pa.array([label.failure for label in labels], pa.string()),
            "pause": pa.array([label.pause for label in labels], pa.bool_()),
            "full": pa.array([label.full for label in labels], pa.bool_()),
        }
        picked = pa.array(codes)
        columns: dict[str, pa.Array] = {name: words[name].take(picked) for name in words}
        columns["run"] = pa.array(np.zeros(len(codes), np.int32))
        columns["file"] = pa.repeat(pa.scalar(file, pa.string()), len(codes))
        for name in NUMBERS:
            values = numbers[name]
            kind = EVENTS.field(name).type
            missing = np.isnan(values) | (np.abs(values) > 2.0**62)  # digits of a damaged line
            if pa.types.is_integer(kind):
                whole = np.rint(np.where(missing, 0.0, values)).astype(np.int64)
                columns[name] = pa.array(whole, kind, mask=missing)
            else:
                columns[name] = pa.array(values, kind, mask=missing)
        return pa.table([columns[name] for name in EVENTS.names], schema=EVENTS)
