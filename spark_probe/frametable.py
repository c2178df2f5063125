"""Tables of frames made one: the distinct frames in an order that does not depend on who came first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.calltree import Ints

__all__ = ["FRAMES", "unify"]

FRAMES = pa.schema([("name", pa.string()), ("type", pa.string()), ("line", pa.int32())])


def unify(tables: Sequence[pa.Table]) -> tuple[pa.Table, list[Ints]]:
    """One table (FRAMES) of the distinct rows, sorted by name, type and line, and where each row went.

    tables: name, type and line of frames, without nulls. The second value has for each table an int32 array:
    the row in the new table of each of its rows.
    """
    every = pa.concat_tables([FRAMES.empty_table(), *(t.select(FRAMES.names) for t in tables)])
    names, name = _ranks(every["name"])
    types, kind = _ranks(every["type"])
    # Lines fit in 31 bits, and names times types in the rest.
    key = (name * max(1, len(types)) + kind) << 32 | every["line"].to_numpy()
    unique, inverse = np.unique(key, return_inverse=True)
    pair = unique >> 32
    table = pa.table(
        [
            names.take(pa.array(pair // max(1, len(types)))),
            types.take(pa.array(pair % max(1, len(types)))),
            pa.array((unique & 0xFFFFFFFF).astype(np.int32)),
        ],
        schema=FRAMES,
    )
    bounds = np.cumsum([0, *(t.num_rows for t in tables)]).tolist()
    return table, [inverse[a:b].astype(np.int32) for a, b in pairwise(bounds)]


def _ranks(column: Any) -> tuple[Any, Ints]:
    """The distinct strings, sorted, and the place there of each row (int64)."""
    words = column.combine_chunks()
    encoded = (
        words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
    ).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return encoded.dictionary.take(order), rank[encoded.indices.to_numpy()]
