"""A page with one flame graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spark_probe import tables
from spark_probe.calltree import Tree, build_tree
from spark_probe.report.categories import Categories, load_categories
from spark_probe.report.encode import Block, Text, pack
from spark_probe.report.page import assemble

__all__ = ["FRAME_TYPES", "GraphColumns", "flamegraph_html", "named_frames"]

# "kind" is the page's own: the outermost frame of threads that are no task's, such as [gc].
FRAME_TYPES = (*tables.FRAME_TYPES, "kind")


class GraphColumns(Protocol):
    """A call tree in columns, in preorder: each node's frame (index into names), depth, self.

    The root has depth 0 and frame -1. ``self`` is the weight of the samples that end at the node;
    ``types`` has each frame's type of FORMAT.md.
    """

    @property
    def frame(self) -> npt.NDArray[Any]: ...
    @property
    def depth(self) -> npt.NDArray[Any]: ...
    @property
    def self(self) -> npt.NDArray[Any]: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def types(self) -> Sequence[str]: ...


def flamegraph_html(
    graph: GraphColumns,
    *,
    title: str,
    subtitle: str = "",
    event: str = "",
    unit: str | None = None,
    categories: Categories | None = None,
) -> str:
    """A self-contained page with one flame graph.

    ``unit`` is that of ``graph.self``: ``ns``, ``bytes`` or a countable word such as ``samples``; by
    default the unit of ``event`` (ns, but bytes for alloc), or samples where no event is named.
    """
    rules = categories or load_categories()
    weight = np.asarray(graph.self, dtype=np.float64)
    ids, names, types = named_frames(graph.names, graph.types, graph.frame, weight)
    frame = np.append(ids, -1)[graph.frame]
    tree, node = build_tree(np.asarray(graph.depth), frame)
    self_ = np.bincount(node, weights=weight, minlength=len(tree))
    blocks = {
        "frames": frame_block(names, types, rules),
        "tree": pack({**tree_columns(tree), "self": integers(self_)}),
    }
    document = {
        "kind": "flamegraph",
        "title": title,
        "subtitle": subtitle,
        "event": event,
        "unit": unit or tables.EVENT_UNITS.get(event, "samples"),
        "frame_types": FRAME_TYPES,
        "categories": list(zip(rules.keys, rules.labels, strict=True)),
    }
    return assemble(document, blocks)


def tree_columns(tree: Tree) -> dict[str, npt.NDArray[Any]]:
    """A tree for the page: each node's frame, and how many levels it steps back from the node before it.

    The root is left out. In preorder the steps tell all of the shape, and most of them are 0.
    """
    return {"pops": tree.depth[:-1] + 1 - tree.depth[1:], "frame": tree.frame[1:]}


def integers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers as int64 (they pack smaller), others as they are."""
    whole = values.astype(np.int64)
    return whole if bool(np.all(whole == values)) else values


def named_frames(
    names: Sequence[str],
    types: Sequence[str],
    used: npt.NDArray[Any],
    weight: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], list[str], list[str]]:
    """Frames of one name and class made one: a method is the same, compiled or not.

    ``used`` and ``weight``: the frame and weight of each node, to choose the type that a name mostly
    has. Returns the new id of each given frame, and the names (sorted) and types of the new ones. The
    ids are ranks of names, so trees made with them have their siblings in alphabetical order.
    """
    # A damaged name may hold what UTF-8 cannot. A method and a class of one name are two frames.
    keys = np.empty(len(names), dtype=object)
    keys[:] = [
        f"{name}\0{tables.class_of(kind)}".encode("utf-8", "replace").decode()
        for name, kind in zip(names, types, strict=True)
    ]
    unique, ids = np.unique(keys, return_inverse=True)
    order = {kind: i for i, kind in enumerate(FRAME_TYPES)}
    codes = np.array([order.get(kind, len(FRAME_TYPES) - 1) for kind in types], dtype=np.int64)
    width = len(FRAME_TYPES)
    votes = np.zeros(unique.size * width)
    valid = used >= 0
    cell = ids * width + codes
    # Every frame has a little vote of its own, so that a name without weight has a type too.
    votes += np.bincount(cell, minlength=votes.size) * 1e-9
    votes += np.bincount(cell[used[valid]], weights=weight[valid], minlength=votes.size)
    best = votes.reshape(-1, width).argmax(axis=1) if unique.size else np.zeros(0, dtype=np.int64)
    labels = [key.rpartition("\0")[0] for key in unique.tolist()]
    return ids.astype(np.int64), labels, [FRAME_TYPES[i] for i in best]


def frame_block(names: Sequence[str], types: Sequence[str], rules: Categories) -> Block:
    """The page's frames: name, type (index into ``FRAME_TYPES``) and category code of each."""
    order = {kind: i for i, kind in enumerate(FRAME_TYPES)}
    return pack(
        {
            "name": Text(names),
            "type": np.array([order[kind] for kind in types], dtype=np.int64),
            "category": rules.of_frames(names, types),
        }
    )
