"""Rows collected one by one into Arrow, in batches, so that Python objects do not pile up."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from spark_probe.eventlog.fit import fit

__all__ = ["Rows"]

_BATCH = 1 << 15


class Rows:
    """Collects tuples in the order of `schema`'s fields."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, *values: Any) -> None:
        """One row, a value a field."""
        self._rows.append(values)
        if len(self._rows) >= _BATCH:
            self._flush()

    def table(self) -> pa.Table:
        """All rows so far."""
        self._flush()
        return pa.Table.from_batches(self._batches, self._schema).unify_dictionaries()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            pairs = zip(columns, self._schema, strict=True)
            arrays = [_array(values, field.type) for values, field in pairs]
            self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._rows.clear()


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        # A number beyond the column's, a string that is no Unicode: one value, not the batch.
        return pa.array([fit(value, kind) for value in values], kind)
