"""The samples of a report: one tree of all stacks, and rows that say who spent what at its nodes.

Every view of the page (a stage, a task, a slice of time, a comparison) is a choice of rows added up at
the nodes of this one tree, so the rows are all that the page needs.

To stay within its size the page may keep less detail than the run folder: first wider time buckets, then
none, then no tasks but the listed ones, at last stacks cut where they are rare. Sums never change; what
was done stands in ``notes``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.calltree import Stacks, Tree, build_tree, front_code, tree_of
from spark_probe.report.flamepage import named_frames

__all__ = ["Samples", "collect"]

Ints = npt.NDArray[np.int64]

ROW_BUDGET = 700_000
NODE_BUDGET = 600_000
_KEYS = ("stage", "event", "state", "burst", "task", "bucket", "node")


@dataclass(frozen=True)
class Samples:
    """``rows``: columns ``stage``, ``event``, ``state`` (indices), ``burst`` (0 or 1), ``task`` (index into
    the report's tasks, -1: none or not kept), ``bucket`` (-1: none), ``node``, ``samples``, ``value``.

    Bucket ``b`` covers ``[origin_ms + b * bucket_ms, … + bucket_ms)`` of epoch time.
    """

    tree: Tree
    names: list[str]
    types: list[str]
    rows: dict[str, Ints]
    event_names: list[str]
    state_names: list[str]
    origin_ms: int
    bucket_ms: int
    notes: list[str]


def collect(
    samples: pa.Table,
    stacks: pa.Table,
    frames: pa.Table,
    stage_index: Ints,
    task_index: Ints,
    burst: npt.NDArray[np.bool_],
    *,
    row_budget: int = ROW_BUDGET,
    node_budget: int = NODE_BUDGET,
) -> Samples:
    """Build the tree and the rows.

    ``stage_index``, ``task_index`` and ``burst``: the report's stage and task (-1: none) of each row of
    ``samples``, and whether a burst recording took it. A stack hash that has no stack (a part of the folder
    is gone) ends at ``[unknown]``.
    """
    pairs, pair = _distinct(samples["stack_hash"].combine_chunks(), samples["kind"])
    offsets, flat, names, types = _stacks(pairs, stacks, frames)
    weight = np.bincount(pair, weights=_ints(samples["samples"]), minlength=offsets.size - 1)
    used = flat
    per_frame = np.repeat(weight.astype(np.float64), np.diff(offsets))
    ids, names, types = named_frames(names, types, used, per_frame)
    shared, own = front_code(offsets, ids[flat])
    starts = np.concatenate(([0], np.cumsum(np.diff(offsets) - shared)))
    depth, frame, leaf = Stacks(shared, starts, own).sequence(np.arange(shared.size))
    tree, place = build_tree(depth, frame)
    ends = place[leaf].astype(np.int64)
    event, event_names = _encode(samples["event"])
    state, state_names = _encode(samples["state"])
    bucket = _ints(samples["bucket_ms"])
    known = bucket >= 0
    origin = int(bucket[known].min()) if known.any() else 0
    moments = np.unique(bucket[known])
    width = int(np.diff(moments).min()) if moments.size > 1 else 10_000
    rows = {
        "stage": stage_index,
        "event": event,
        "state": state,
        "burst": burst.astype(np.int64),
        "task": task_index,
        "bucket": np.where(known, (bucket - origin) // width, -1),
        "node": ends[pair],
        "samples": _ints(samples["samples"]),
        "value": _ints(samples["value"]),
    }
    result = Samples(tree, names, types, _add_up(rows), event_names, state_names, origin, width, [])
    return _fit_nodes(_fit_rows(result, row_budget), node_budget)


def _ints(column: Any) -> Ints:
    return np.asarray(pc.fill_null(column, -1).to_numpy(), dtype=np.int64)


def _encode(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    words = pc.dictionary_encode(pc.fill_null(column.cast(pa.string()), "")).combine_chunks()
    codes = np.asarray(words.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    return codes, [str(word) for word in words.dictionary.to_pylist()]


def _distinct(hashes: pa.Array, kinds: pa.ChunkedArray) -> tuple[pa.Table, Ints]:
    """The distinct (stack, kind of thread) pairs and the pair of each row."""
    codes, words = _encode(kinds)
    stack = pc.dictionary_encode(hashes)
    numbers = np.asarray(stack.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    width = max(1, len(words))
    keys, pair = np.unique(numbers * width + codes, return_inverse=True)
    pairs = pa.table(
        {
            "stack_hash": stack.dictionary.take(pa.array(keys // width)),
            "kind": pa.array(words, pa.string()).take(pa.array(keys % width)),
        }
    )
    return pairs, pair.reshape(-1).astype(np.int64)


def _stacks(
    pairs: pa.Table, stacks: pa.Table, frames: pa.Table
) -> tuple[Ints, Ints, list[str], list[str]]:
    """Frames of each pair, root first; a thread that is no task's has its kind as outermost frame."""
    names = pc.fill_null(frames["name"], "").to_pylist()
    types = pc.fill_null(frames["type"], "").to_pylist()
    lines = _ints(frames["line"]) if "line" in frames.column_names else np.zeros(len(names), int)
    names = [f"{n}:{i}" if i > 0 else n for n, i in zip(names, lines.tolist(), strict=True)]
    place = np.full(int(_ints(frames["id"]).max(initial=-1)) + 1, -1, dtype=np.int64)
    place[_ints(frames["id"])] = np.arange(len(names))

    lists = stacks["frames"].combine_chunks()
    starts = np.asarray(lists.offsets.to_numpy(), dtype=np.int64)
    values = np.asarray(lists.values.to_numpy(zero_copy_only=False), dtype=np.int64)
    row = pc.index_in(pairs["stack_hash"], value_set=stacks["stack_hash"].combine_chunks())
    row = _ints(row)
    unknown = len(names)
    names.append("[unknown]")
    types.append("native")
    kinds = pairs["kind"].to_pylist()
    marks = {kind: len(names) + i for i, kind in enumerate(sorted(set(kinds) - {"task", ""}))}
    names += [f"[{kind}]" for kind in marks]
    types += ["kind"] * len(marks)
    mark = np.array([marks.get(kind, -1) for kind in kinds], dtype=np.int64)

    start = np.where(row >= 0, starts[row], 0)
    length = np.where(row >= 0, starts[row + 1] - start, 1)
    head = (mark >= 0).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(length + head)))
    flat = np.full(int(offsets[-1]), -1, dtype=np.int64)
    flat[offsets[:-1][mark >= 0]] = mark[mark >= 0]
    body = np.repeat(offsets[:-1] + head, length) + _ramp(length)
    source = np.repeat(start, length) + _ramp(length)
    found = np.repeat(row >= 0, length)
    flat[body[found]] = place[values[source[found]]]
    flat[flat < 0] = unknown
    return offsets, flat, names, types


def _ramp(lengths: Ints) -> Ints:
    """0, 1, … for each length, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)


def _add_up(rows: dict[str, Ints]) -> dict[str, Ints]:
    """Rows that are alike in all keys made one, sorted by their keys, stage and event first."""
    table = pa.table({name: pa.array(column) for name, column in rows.items()})
    grouped = table.group_by(list(_KEYS)).aggregate([("samples", "sum"), ("value", "sum")])
    out = {name: _ints(grouped[name]) for name in _KEYS}
    out["samples"] = _ints(grouped["samples_sum"])
    out["value"] = _ints(grouped["value_sum"])
    order = np.lexsort(
        [out[k] for k in ("bucket", "task", "node", "burst", "state", "event", "stage")]
    )
    return {name: column[order] for name, column in out.items()}


def _fit_rows(samples: Samples, budget: int) -> Samples:
    """Coarser and coarser until the rows fit."""
    factor = 1
    while samples.rows["node"].size > budget and factor < 64:
        factor *= 4
        bucket = samples.rows["bucket"]
        coarse = np.where(bucket >= 0, bucket // 4, -1)
        width = samples.bucket_ms * 4
        samples = _with_rows(samples, bucket=coarse, note=None)
        samples = replace(samples, bucket_ms=width)
    if factor > 1:
        text = f"Time is kept in buckets of {samples.bucket_ms / 1000:g} s to keep the page small."
        samples = replace(samples, notes=[*samples.notes, text])
    size = samples.rows["node"].size
    if size > budget:
        note = "Samples are kept without their time, to keep the page small."
        samples = _with_rows(samples, bucket=np.full(size, -1), note=note)
    size = samples.rows["node"].size
    if size > budget:
        note = "Samples are kept by stage without their task, to keep the page small."
        samples = _with_rows(samples, task=np.full(size, -1), note=note)
    return samples


def _with_rows(samples: Samples, *, note: str | None, **columns: Ints) -> Samples:
    notes = samples.notes if note is None else [*samples.notes, note]
    return replace(samples, rows=_add_up({**samples.rows, **columns}), notes=notes)


def _fit_nodes(samples: Samples, budget: int) -> Samples:
    """Rare ends of stacks cut off, their samples at the frame that is kept, until the nodes fit."""
    tree = samples.tree
    if len(tree) <= budget:
        return samples
    here = np.bincount(samples.rows["node"], weights=samples.rows["samples"], minlength=len(tree))
    total = tree.sum_below(here.astype(np.int64))
    floor = int(np.sort(total)[len(tree) - budget])
    # Totals only fall towards the leaves, so what is kept hangs together.
    keep = total > floor
    keep[0] = True
    kept = np.flatnonzero(keep)
    target = np.where(keep, np.cumsum(keep) - 1, -1)
    for _ in range(int(tree.depth.max())):
        lost = np.flatnonzero(target < 0)
        if not lost.size:
            break
        target[lost] = target[tree.parent[lost]]
    moved = target[samples.rows["node"]]
    smaller = tree_of(tree.depth[kept], tree.frame[kept])
    note = (
        f"Stacks are cut where fewer than {floor + 1} samples of the run reach, to keep the page "
        "small; the sums are whole."
    )
    return _with_rows(replace(samples, tree=smaller), node=moved, note=note)
