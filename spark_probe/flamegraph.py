"""A flame graph as columns: made of a run's stacks or of folded text, combined, filtered, written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe import folded
from spark_probe.calltree import Ints, Stacks, Tree, build_tree, tree_of
from spark_probe.framenames import printed, suffixes
from spark_probe.frametable import FRAMES, unify
from spark_probe.tables import CLASSES, FRAME_TYPES

__all__ = ["FlameGraph", "HotFrame"]

_COMPILED = ("interpreted", "jit", "inlined", "c1")


@dataclass(frozen=True)
class HotFrame:
    """A frame over the whole graph. ``total`` counts no sample twice, however often the frame recurs."""

    name: str
    kind: str
    self_samples: int
    total_samples: int
    self_value: int
    total_value: int


@dataclass(frozen=True)
class _View:
    """The tree of shown frames: what `FlameGraph`'s columns are."""

    tree: Tree
    place: Ints
    names: list[str]
    kinds: list[str]


@dataclass(frozen=True, eq=False)
class FlameGraph:
    """Call paths and what was sampled on them.

    Its columns describe the nodes of a call tree in preorder (node 0 is the root; numpy arrays of one entry
    a node): ``parent`` and ``frame`` (-1 for the root; ``frame`` is a row of ``names`` and ``kinds``),
    ``depth``, and weights: ``self_samples``, ``self_value`` (of stacks that end there), ``total_samples``,
    ``total_value`` (of all that pass). ``samples`` are counted, ``value`` is in ``unit``: ns (cpu, wall,
    lock, method), bytes (alloc), or samples (folded text).

    Methods of one name are one frame, interpreted or compiled (its ``kind`` is ``java``; the others:
    native, cpp, kernel, class, python, other); ``compiled`` tells how they ran.

    What these are made of still tells frame types and lines apart, so that every operation is exact in
    them, too: ``typed_depth``, ``typed_frame`` (rows of ``frames``), ``typed_samples`` and ``typed_value``
    are a preorder sequence, the root first, in which a call path may stand more than once.
    """

    typed_depth: Ints = field(repr=False)
    typed_frame: Ints = field(repr=False)
    frames: pa.Table = field(repr=False)
    typed_samples: Ints = field(repr=False)
    typed_value: Ints = field(repr=False)
    event: str = ""
    unit: str = "samples"
    title: str = ""
    lines: bool = False
    faults: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frames", self.frames.select(FRAMES.names))

    @property
    def total(self) -> int:
        """All samples."""
        return int(self.typed_samples.sum())

    @property
    def value(self) -> int:
        """The value of all samples, in ``unit``."""
        return int(self.typed_value.sum())

    def __len__(self) -> int:
        """Number of nodes, the root not counted."""
        return len(self._view.tree) - 1

    @property
    def parent(self) -> Ints:
        return self._view.tree.parent

    @property
    def frame(self) -> Ints:
        return self._view.tree.frame

    @property
    def depth(self) -> Ints:
        return self._view.tree.depth

    @property
    def names(self) -> list[str]:
        """Name of each frame, with ``:line`` where ``lines`` is set and the line is known."""
        return self._view.names

    @property
    def kinds(self) -> list[str]:
        """Coarse class of each frame."""
        return self._view.kinds

    @cached_property
    def self_samples(self) -> Ints:
        return self._shown(self.typed_samples)

    @cached_property
    def self_value(self) -> Ints:
        return self._shown(self.typed_value)

    @cached_property
    def total_samples(self) -> Ints:
        return self._view.tree.sum_below(self.self_samples)

    @cached_property
    def total_value(self) -> Ints:
        return self._view.tree.sum_below(self.self_value)

    @cached_property
    def compiled(self) -> dict[str, Ints]:
        """Total samples of each node by how its method ran: interpreted, jit, inlined, c1."""
        totals = self._typed.sum_below(self.typed_samples)
        types = self.frames["type"].combine_chunks()
        codes = pc.fill_null(pc.index_in(types, value_set=pa.array(_COMPILED)), -1).to_numpy()
        code = np.concatenate(([-1], codes[self.typed_frame[1:]]))
        return {
            kind: self._shown(np.where(code == i, totals, 0)) for i, kind in enumerate(_COMPILED)
        }

    def top(self, n: int = 10, by: str = "self") -> list[HotFrame]:
        """The hottest frames, by their ``self`` or ``total`` samples.

        A recursion counts once: a frame's total is that of its outermost calls.
        """
        if by not in ("self", "total"):
            raise ValueError(f"by={by!r}: a frame is ranked by 'self' or 'total'")
        frame = self.frame[1:]
        outer = self._view.tree.outermost()[1:]
        sums = {}
        for key, weight in (("samples", self.self_samples), ("value", self.self_value)):
            total = self._view.tree.sum_below(weight)[1:]
            sums[f"self_{key}"] = _sums(frame, weight[1:], len(self.names))
            sums[f"total_{key}"] = _sums(frame[outer], total[outer], len(self.names))
        other = "total_samples" if by == "self" else "self_samples"
        order = np.lexsort((-sums[other], -sums[f"{by}_samples"]))[:n].tolist()
        return [
            HotFrame(self.names[i], self.kinds[i], **{k: int(v[i]) for k, v in sums.items()})
            for i in order
        ]

    def collapsed(self, types: bool = False, value: str = "samples") -> str:
        """Folded stacks, one line a stack, sorted by frames.

        types: annotate frames as async-profiler does (`_[0]` interpreted, `_[j]` compiled, `_[i]` inlined,
            `_[1]` compiled by C1, `_[k]` kernel); paths that differ only there are lines of their own.
        value: what to count, `samples` or `value` (ns, bytes).

        In names `;` becomes `:`. The lines' sum is that of the graph.
        """
        if value not in ("samples", "value"):
            raise ValueError(f"value={value!r}: stacks are counted in 'samples' or 'value'")
        weight = self.typed_samples if value == "samples" else self.typed_value
        return self._text(types, weight)

    def differential(self, before: FlameGraph, types: bool = False) -> str:
        """Folded stacks with two counts, samples of ``before`` and of this graph, of each stack in either.

        types: annotate frames, as `collapsed` does.
        """
        nothing = np.zeros_like(before.typed_samples)
        old = replace(before, typed_samples=nothing, typed_value=before.typed_samples)
        new = replace(self, typed_value=np.zeros_like(self.typed_samples))
        both = new.merge(replace(old, unit=self.unit))
        return both._text(types, both.typed_value, both.typed_samples)

    @classmethod
    def from_collapsed(
        cls,
        text: str | bytes,
        *,
        counts: int | None = None,
        normalize: bool = False,
        event: str = "",
        unit: str = "samples",
    ) -> FlameGraph:
        """Read folded stacks of any tool.

        Type suffixes (`_[j]`, …) are understood, other frames' types guessed. A line that cannot be counted
        as it stands never costs the rest: ``faults`` has the number of lines by kind (`folded.FAULTS` says
        what each means), ``skipped`` those that were left out.

        counts: numbers at the end of a line; of two (a differential file) the second is taken. By default
            two if every line has two.
        normalize: make names equal over JVMs by FORMAT.md's rules (lambdas, hidden classes, accessors).
        """
        if counts not in (None, 1, 2):
            raise ValueError(f"counts={counts!r}: a line of folded stacks has 1 or 2 counts")
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        parsed = folded.parse(text, counts, normalize)
        offsets = parsed.stacks.offsets.to_numpy()
        stacks = Stacks.of(offsets, parsed.stacks.values.to_numpy())
        depth, frame, leaf = stacks.sequence(np.arange(len(stacks)))
        weight = _sums(leaf, parsed.counts, depth.size)
        frames = pa.table(
            [parsed.names, parsed.types, np.zeros(len(parsed.names), np.int32)], schema=FRAMES
        )
        return cls(depth, frame, frames, weight, weight, event, unit, faults=parsed.faults)

    @property
    def skipped(self) -> int:
        """Lines of folded text that were not counted."""
        return sum(n for kind, n in self.faults.items() if kind != "fraction")

    def filter(self, include: str | None = None, exclude: str | None = None) -> FlameGraph:
        """Whole stacks: those with a frame that ``include`` finds and none that ``exclude`` finds.

        Both are regular expressions (RE2's syntax) searched for in the frames' names. Raises ValueError for
        one that is none.
        """
        keep = self._ends()
        if include is not None:
            keep &= self._typed.inside(self._found(include))
        if exclude is not None:
            keep &= ~self._typed.inside(self._found(exclude))
        below = self._typed.sum_below(keep)
        kept = np.flatnonzero(below)
        kept = kept if kept.size else np.zeros(1, dtype=np.int64)
        return replace(
            self,
            typed_depth=self.typed_depth[kept],
            typed_frame=self.typed_frame[kept],
            typed_samples=np.where(keep, self.typed_samples, 0)[kept],
            typed_value=np.where(keep, self.typed_value, 0)[kept],
        )

    def merge(self, *others: FlameGraph) -> FlameGraph:
        """The sum of this graph and others. Raises ValueError where their units differ."""
        graphs = (self, *others)
        units = {graph.unit for graph in graphs}
        if len(units) > 1:
            names = ", ".join(sorted(units))
            raise ValueError(f"graphs in {names} do not add up; merge those of one unit")
        table, rows = unify([graph.frames for graph in graphs])
        depth = np.concatenate([[0], *(graph.typed_depth[1:] for graph in graphs)])
        frame = np.concatenate(
            [[-1], *(row[g.typed_frame[1:]] for g, row in zip(graphs, rows, strict=True))]
        )
        tree, node = build_tree(depth, frame)
        samples, value = (
            # The roots' own weights are of stacks without frames.
            _sums(
                node, np.concatenate([[sum(w[0] for w in each)], *(w[1:] for w in each)]), len(tree)
            )
            for each in (
                [graph.typed_samples for graph in graphs],
                [graph.typed_value for graph in graphs],
            )
        )
        faults = {
            kind: sum(graph.faults.get(kind, 0) for graph in graphs)
            for kind in sorted({kind for graph in graphs for kind in graph.faults})
        }
        return replace(
            self,
            typed_depth=tree.depth,
            typed_frame=tree.frame,
            frames=table,
            typed_samples=samples,
            typed_value=value,
            faults=faults,
        )

    def without_recursion(self) -> FlameGraph:
        """Frames that call themselves directly, made one frame; the sums stay."""
        tree = self._typed
        frame = self.frame[self._view.place]
        recurs = frame == frame[tree.parent]
        recurs[0] = False
        steps = np.zeros(len(tree) + 1, dtype=np.int32)
        steps[:-1] += recurs
        np.subtract.at(steps, tree.end[recurs], 1)
        # One level up, a recursive call is a second entry for its caller.
        return replace(self, typed_depth=tree.depth - np.cumsum(steps)[:-1].astype(np.int32))

    def html(self, path: str | PathLike[str] | None = None, *, title: str | None = None) -> str:
        """A self-contained page, weighted by value; also written to ``path`` if one is given."""
        from spark_probe.report import flamegraph_html

        page = flamegraph_html(
            _Columns(self),
            title=title or self.title or "Flame graph",
            event=self.event,
            unit=self.unit,
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def table(self) -> pa.Table:
        """The columns as one Arrow table, the frames' names and kinds beside them; row 0 is the root."""
        frame = pa.array(self.frame, mask=self.frame < 0)
        return pa.table(
            {
                "parent": self.parent,
                "depth": self.depth,
                "name": pa.array(self.names, pa.string()).take(frame),
                "kind": pa.array(self.kinds, pa.string()).take(frame),
                "self_samples": self.self_samples,
                "total_samples": self.total_samples,
                "self_value": self.self_value,
                "total_value": self.total_value,
                **{f"{kind}_samples": counts for kind, counts in self.compiled.items()},
            }
        )

    @cached_property
    def _typed(self) -> Tree:
        return tree_of(self.typed_depth, self.typed_frame)

    @cached_property
    def _view(self) -> _View:
        kinds = _class_codes(self._used["type"])
        # A method and a class of one name are two frames.
        keyed = pc.binary_join_element_wise(self._labels(), kinds.cast(pa.string()), "\0")
        tree, place, distinct = self._relabelled(keyed)
        parts = pc.split_pattern(distinct, "\0", max_splits=1, reverse=True)
        codes = pc.list_element(parts, 1).cast(pa.int8())
        return _View(
            tree,
            place,
            pc.list_element(parts, 0).to_pylist(),
            pa.array(CLASSES).take(codes).to_pylist(),
        )

    @cached_property
    def _rows(self) -> tuple[Ints, Ints]:
        """The rows of ``frames`` that the graph uses, and which of them each node but the root has."""
        rows, inverse = np.unique(self.typed_frame[1:], return_inverse=True)
        return rows, inverse

    @cached_property
    def _used(self) -> dict[str, Any]:
        """The columns of those rows, as arrays."""
        used = self.frames.take(pa.array(self._rows[0]))
        return {name: used[name].combine_chunks() for name in used.column_names}

    def _labels(self) -> Any:
        names, line = self._used["name"], self._used["line"]
        if not self.lines:
            return names
        numbered = pc.binary_join_element_wise(names, line.cast(pa.string()), ":")
        return pc.if_else(pc.fill_null(pc.greater(line, 0), False), numbered, names)

    def _relabelled(self, labels: Any) -> tuple[Tree, Ints, Any]:
        """The tree by one label a used frame, the node there of each typed node, the labels, sorted."""
        encoded = labels.dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size, dtype=np.int32)
        frame = np.concatenate(([-1], rank[encoded.indices.to_numpy()][self._rows[1]]))
        tree, place = build_tree(self.typed_depth, frame)
        return tree, place, encoded.dictionary.take(pa.array(order))

    def _text(self, types: bool, *weights: Ints) -> str:
        labels = printed(self._labels())
        if types:
            labels = pc.binary_join_element_wise(labels, suffixes(self._used["type"]), "")
        tree, place, distinct = self._relabelled(labels)
        sums = (_sums(place, weight, len(tree)) for weight in weights)
        return "".join(folded.lines_of(tree, distinct, *sums))

    def _shown(self, weight: Ints) -> Ints:
        return _sums(self._view.place, weight, len(self._view.tree))

    def _found(self, pattern: str) -> npt.NDArray[np.bool_]:
        try:
            found = pc.match_substring_regex(self._labels(), pattern)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        flags = np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)
        return np.concatenate(([False], flags[self._rows[1]]))

    def _ends(self) -> npt.NDArray[np.bool_]:
        """Nodes where a stack ends; one of zero samples ends where nothing is below."""
        # The next entry of a preorder sequence is a child, or there is none.
        leaf = np.append(self.typed_depth[1:] <= self.typed_depth[:-1], True)
        ends: npt.NDArray[np.bool_] = (self.typed_samples != 0) | (self.typed_value != 0) | leaf
        return ends


class _Columns:
    """What the page wants of a graph: typed nodes weighted by value."""

    def __init__(self, graph: FlameGraph) -> None:
        self.parent = graph._typed.parent
        self.depth = graph.typed_depth
        self.frame = np.concatenate(([-1], graph._rows[1]))
        self.self = graph.typed_value
        self.names: Sequence[str] = graph._labels().to_pylist()
        self.types: Sequence[str] = graph._used["type"].to_pylist()


def _sums(place: Ints, weight: Ints, size: int) -> Ints:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, place, weight)  # exact; bincount would add doubles
    return sums


def _class_codes(types: Any) -> Any:
    """Index into CLASSES of each frame type."""
    codes = pa.array([CLASSES.index(c) for c in FRAME_TYPES.values()], pa.int8())
    known = pc.index_in(types, value_set=pa.array(list(FRAME_TYPES)))
    return pc.fill_null(codes.take(known), CLASSES.index("other"))
