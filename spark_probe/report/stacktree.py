"""Stacks as one prefix tree, in columns.

A :class:`Tree` stands in preorder: node 0 is the root, a parent comes before its children, siblings in
the order of their frame ids. Everything here works level by level on numpy arrays, never node by node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Tree", "regroup", "tree_of_stacks"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tree:
    """``parent`` (-1 for the root), ``frame`` (-1 for the root) and ``depth`` (0 for it) of each node."""

    parent: Ints
    frame: Ints
    depth: Ints

    def __len__(self) -> int:
        return int(self.parent.size)

    def pops(self) -> Ints:
        """Levels that each node but the root steps back from the node before it; all of the shape."""
        steps: Ints = self.depth[:-1] + 1 - self.depth[1:]
        return steps


class _Levels:
    """Collects a tree level by level; nodes are numbered breadth first until :meth:`finish`."""

    def __init__(self) -> None:
        self.parents: list[Ints] = [np.array([-1], dtype=np.int64)]
        self.frames: list[Ints] = [np.array([-1], dtype=np.int64)]
        self.n = 1

    def add(self, parent: Ints, frame: Ints) -> Ints:
        """The next level: the node of each (parent node, frame)."""
        width = int(frame.max()) + 1
        keys, inverse = np.unique(parent * width + frame, return_inverse=True)
        self.parents.append(keys // width)
        self.frames.append(keys % width)
        nodes: Ints = (self.n + inverse.reshape(-1)).astype(np.int64)
        self.n += int(keys.size)
        return nodes

    def finish(self) -> tuple[Tree, Ints]:
        """The tree in preorder, and the place there of each node."""
        starts = np.cumsum([0] + [level.size for level in self.parents])
        parent = np.concatenate(self.parents)
        frame = np.concatenate(self.frames)
        size = np.ones(self.n, dtype=np.int64)
        levels = list(zip(starts[:-1], starts[1:], strict=True))
        for start, end in reversed(levels[1:]):
            below = np.bincount(parent[start:end], weights=size[start:end], minlength=0)
            size[: below.size] += below.astype(np.int64)
        place = np.zeros(self.n, dtype=np.int64)
        depth = np.zeros(self.n, dtype=np.int64)
        for level, (start, end) in enumerate(levels[1:], start=1):
            mine, sizes = parent[start:end], size[start:end]
            before = np.cumsum(sizes) - sizes
            first = np.concatenate(([True], mine[1:] != mine[:-1]))
            group = np.maximum.accumulate(np.where(first, np.arange(mine.size), 0))
            place[start:end] = place[mine] + 1 + before - before[group]
            depth[start:end] = level
        order = np.empty(self.n, dtype=np.int64)
        order[place] = np.arange(self.n)
        up = parent[order]
        return Tree(np.where(up >= 0, place[up], -1), frame[order], depth[order]), place


def tree_of_stacks(offsets: npt.NDArray[Any], frames: npt.NDArray[Any]) -> tuple[Tree, Ints]:
    """Tree of stacks given as an Arrow list column has them, and the last node of each stack.

    ``frames[offsets[i]:offsets[i + 1]]`` are the frame ids of stack ``i``, root first. An empty stack
    ends at the root.
    """
    starts = np.asarray(offsets, dtype=np.int64)
    flat = np.asarray(frames, dtype=np.int64)
    length = np.diff(starts)
    node = np.zeros(length.size, dtype=np.int64)
    levels = _Levels()
    active = np.flatnonzero(length > 0)
    depth = 0
    while active.size:
        node[active] = levels.add(node[active], flat[starts[active] + depth])
        depth += 1
        active = active[length[active] > depth]
    tree, place = levels.finish()
    return tree, place[node]


def regroup(
    parent: npt.NDArray[Any], frame: npt.NDArray[Any], depth: npt.NDArray[Any]
) -> tuple[Tree, Ints]:
    """The tree of any parent/frame/depth columns, and the node there of each given node.

    Nodes may stand in any order and siblings may share a frame: those become one node. Nodes with
    ``parent`` < 0 are roots; all become the root.
    """
    up = np.asarray(parent, dtype=np.int64)
    ids = np.asarray(frame, dtype=np.int64)
    level_of = np.asarray(depth, dtype=np.int64)
    node = np.zeros(up.size, dtype=np.int64)
    levels = _Levels()
    order = np.argsort(level_of, kind="stable")
    order = order[up[order] >= 0]
    bounds = np.flatnonzero(np.diff(level_of[order])) + 1
    for members in np.split(order, bounds):
        if members.size:
            node[members] = levels.add(node[up[members]], ids[members])
    tree, place = levels.finish()
    return tree, place[node]
