"""Prefix trees of call stacks, as columns.

A tree stands in preorder: node 0 is the root, the subtree of node ``i`` is ``[i, end[i])``, siblings stand
in the order of their frame ids. So a sum over a subtree is a difference of two running sums, and "has an
ancestor such that …" is a running maximum. Where several nodes may stand for one (two executors saw the
same call path), their *preorder sequence* is enough to describe them: depth and frame of each node, the
root left out. `build_tree` makes a tree of any such sequence.

Nothing here loops over nodes or stacks; `build_tree` loops over levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "Tree", "build_tree", "front_code"]

Ints = npt.NDArray[Any]

_LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class Tree:
    """Columns of one entry a node, all int32: see the module.

    ``parent``, ``frame``: -1 for the root; ``depth``: 0 for the root; ``end``: one past the subtree.
    """

    parent: Ints
    frame: Ints
    depth: Ints
    end: Ints

    def __len__(self) -> int:
        return int(self.parent.size)

    def sum_below(self, weight: Ints) -> Ints:
        """For each node the sum of ``weight`` (int64, one a node) over its subtree, itself included."""
        running = np.concatenate(([0], np.cumsum(weight, dtype=np.int64)))
        total: Ints = running[self.end] - running[:-1]
        return total

    def inside(self, marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether a node is marked, or below a marked one."""
        ends = np.where(marked, self.end, 0)
        covered: npt.NDArray[np.bool_] = np.maximum.accumulate(ends) > np.arange(len(self))
        return covered

    def outermost(self) -> npt.NDArray[np.bool_]:
        """Whether no ancestor of a node has its frame: the outermost call of a recursion."""
        order = np.argsort(self.frame, kind="stable")
        frame = self.frame[order].astype(np.int64)
        # Ends, lifted by group so that one running maximum serves all frames: a node that starts
        # before the end of an earlier one of its frame lies in that one's subtree.
        lifted = self.end[order] + (frame + 1) * len(self)
        before = np.maximum.accumulate(lifted)[:-1]
        out = np.ones(len(self), dtype=bool)
        out[order[1:]] = before <= order[1:] + (frame[1:] + 1) * len(self)
        return out

    def with_ancestors(self, nodes: Ints) -> Ints:
        """The nodes and all that is above them, sorted, each once; the root is always among them."""
        marked = np.zeros(len(self), dtype=bool)
        marked[0] = True
        claim = np.empty(len(self), dtype=np.int32)
        at: Ints = np.asarray(nodes)
        while at.size:
            at = at[~marked[at]]
            marked[at] = True
            # Of those that arrive at one node together, one goes on.
            turn = np.arange(at.size, dtype=np.int32)
            claim[at] = turn
            at = self.parent[at[claim[at] == turn]]
        return np.flatnonzero(marked)

    def paths(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The frames from the root to each node, as offsets and values of a list column (int64, int32)."""
        at: Ints = np.asarray(nodes)
        offsets = np.concatenate(([0], np.cumsum(self.depth[at], dtype=np.int64)))
        flat = np.empty(offsets[-1], dtype=np.int32)
        slot = offsets[1:] - 1
        while at.size:
            below = at > 0
            at, slot = at[below], slot[below]
            flat[slot] = self.frame[at]
            at, slot = self.parent[at], slot - 1
        return offsets, flat

    def subset(self, nodes: Ints) -> Tree:
        """The tree of some of the nodes: sorted, the root among them, with every ancestor of each."""
        place = np.full(len(self), -1, dtype=np.int32)
        place[nodes] = np.arange(nodes.size, dtype=np.int32)
        up = self.parent[nodes]
        parent = np.where(up >= 0, place[up], -1).astype(np.int32)
        end = np.searchsorted(nodes, self.end[nodes]).astype(np.int32)
        return Tree(parent, self.frame[nodes], self.depth[nodes], end)


def front_code(offsets: Ints, flat: Ints) -> tuple[Ints, Ints, Ints]:
    """Stacks as a preorder sequence: what each stack shares with the one before it is left out.

    ``flat[offsets[i]:offsets[i + 1]]`` are the frame ids of stack ``i``, root first. Returns ``depth`` and
    ``frame`` of the sequence (depth 1 is the outermost frame) and ``leaf``: the place in it where each stack
    ends, -1 for a stack without frames. Sorted stacks give the shortest sequence; any order is right.
    """
    starts: Ints = np.asarray(offsets, dtype=np.int64)
    length = np.diff(starts).astype(np.int32)
    full = np.flatnonzero(length)
    if full.size < length.size:
        kept = np.concatenate((starts[:-1][full], starts[-1:]))
        depth, frame, ends = front_code(kept, flat)
        leaf = np.full(length.size, -1, dtype=np.int64)
        leaf[full] = ends
        return depth, frame, leaf
    if not full.size:
        empty = np.empty(0, dtype=np.int32)
        return empty, empty, np.empty(0, dtype=np.int64)
    flat = np.asarray(flat)[starts[0] : starts[-1]]
    starts = starts - starts[0]
    place = np.arange(flat.size, dtype=np.int32)
    depth = place - np.repeat(starts[:-1].astype(np.int32), length)
    before = np.concatenate(([0], length[:-1])).astype(np.int32)
    # The frame of the stack before at the same depth; where that one is shorter, nothing is shared.
    above = np.repeat(before, length)
    differs = flat != flat[np.maximum(place - above, 0)]
    differs |= depth >= above
    # A stack keeps at least its last frame, so that it has a place of its own.
    differs[starts[1:] - 1] = True
    shared = np.minimum.reduceat(np.where(differs, depth, flat.size), starts[:-1])
    own = depth >= np.repeat(shared.astype(np.int32), length)
    leaf = np.cumsum(length - shared) - 1
    return depth[own] + 1, flat[own], leaf


def build_tree(depth: Ints, frame: Ints) -> tuple[Tree, Ints]:
    """The tree of a preorder sequence, and the node there of each of its entries.

    Entries that say the same (equal frames under one parent) become one node. The depth of an entry is at
    most one more than that of the entry before it; the first has depth 1.
    """
    # Of 16-bit keys numpy sorts by counting, of wider ones by comparing.
    deepest = int(depth.max(initial=0))
    keys = depth.astype(np.int16) if deepest < 1 << 15 else depth
    order = np.argsort(keys, kind="stable").astype(np.int32)
    bounds = np.cumsum(np.bincount(depth, minlength=deepest + 1))
    node = np.zeros(depth.size, dtype=np.int32)
    parents = [np.array([-1], dtype=np.int32)]
    frames = [np.array([-1], dtype=np.int32)]
    count = 1
    above = np.empty(0, dtype=np.int32)
    for level in range(1, deepest + 1):
        here = order[bounds[level - 1] : bounds[level]]
        # The entry above is the last one before on the level above.
        up = node[above[np.searchsorted(above, here) - 1]] if above.size else 0
        key = (np.asarray(up, dtype=np.int64) << 32) | frame[here]
        unique, inverse = np.unique(key, return_inverse=True)
        node[here] = count + inverse
        parents.append((unique >> 32).astype(np.int32))
        frames.append((unique & _LOW).astype(np.int32))
        count += unique.size
        above = here
    tree, place = _preorder(parents, frames, count)
    return tree, place[node]


def _preorder(parents: list[Ints], frames: list[Ints], count: int) -> tuple[Tree, Ints]:
    """A tree given level by level, siblings together and in order, and the place of each of its nodes."""
    parent = np.concatenate(parents)
    size = np.ones(count, dtype=np.int32)
    starts = np.cumsum([0, *(level.size for level in parents)])
    levels = list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
    for start, end in reversed(levels[1:]):
        mine = parent[start:end]
        first = np.flatnonzero(np.diff(mine, prepend=-1))
        size[mine[first]] += np.add.reduceat(size[start:end], first)
    place = np.zeros(count, dtype=np.int32)
    depth = np.zeros(count, dtype=np.int32)
    for level, (start, end) in enumerate(levels[1:], start=1):
        mine, sizes = parent[start:end], size[start:end]
        before = np.cumsum(sizes) - sizes
        first = np.diff(mine, prepend=-1) != 0
        elder = np.maximum.accumulate(np.where(first, np.arange(mine.size), 0))
        place[start:end] = place[mine] + 1 + before - before[elder]
        depth[start:end] = level
    order = np.empty(count, dtype=np.int32)
    order[place] = np.arange(count, dtype=np.int32)
    up = parent[order]
    at = np.arange(count, dtype=np.int32)
    tree = Tree(
        np.where(up >= 0, place[up], -1).astype(np.int32),
        np.concatenate(frames)[order],
        depth[order],
        at + size[order],
    )
    return tree, place
