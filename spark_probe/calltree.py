"""Call stacks and their prefix trees, as columns.

`Stacks` holds stacks front-coded: of each one only what it does not share with the one before. A *preorder
sequence* is depth and frame of the nodes of a tree, the root first; several nodes of it may stand for one
(two executors saw the same call path). `build_tree` makes a `Tree` of it, where siblings stand in the order
of their frame ids and each is there once.

In preorder the subtree of node ``i`` is ``[i, end[i])``: a sum over it is a difference of two running sums,
and "has an ancestor such that" is a running maximum. Nothing here loops over nodes or stacks; loops go over
levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "Stacks", "Tree", "build_tree", "find", "front_code", "tree_of"]

Ints = npt.NDArray[Any]

_LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class Tree:
    """Columns of one entry a node in preorder, all int32.

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


@dataclass(frozen=True, eq=False)
class Stacks:
    """Stacks, front-coded in any order (sorted ones are shortest).

    Stack ``i`` starts with the first ``shared[i]`` frames of the one before; the frames of its own are
    ``frame[start[i]:start[i + 1]]``, at least one if it has any.
    """

    shared: Ints
    start: Ints
    frame: Ints

    @classmethod
    def of(cls, offsets: Ints, flat: Ints) -> Stacks:
        """Of a list column: ``flat[offsets[i]:offsets[i + 1]]`` are the frame ids of stack ``i``, root first."""
        shared, own = front_code(offsets, flat)
        return cls(shared, np.concatenate(([0], np.cumsum(np.diff(offsets) - shared))), own)

    def __len__(self) -> int:
        return int(self.shared.size)

    @cached_property
    def length(self) -> Ints:
        """Frames of each stack."""
        length: Ints = self.shared + np.diff(self.start)
        return length

    @cached_property
    def lender(self) -> Ints:
        """The stack among whose own frames is the last that a stack shares; -1 where it shares none.

        That is the last one before that shares less with its predecessor.
        """
        at = np.arange(-1, len(self) - 1, dtype=np.int32)
        at[self.shared == 0] = -1
        todo = np.flatnonzero(at >= 0)
        while todo.size:
            # What lies between a stack and its candidate shares at least as much as the stack; so it
            # is with the candidate's own, and one may leap from candidate to candidate.
            todo = todo[self.shared[at[todo]] >= self.shared[todo]]
            at[todo] = at[at[todo]]
        return at

    def sequence(self, wanted: Ints) -> tuple[Ints, Ints, Ints]:
        """The preorder sequence of some stacks: its depth and frame, and the place of each stack's leaf.

        ``wanted``: numbers of stacks, sorted, each once. A stack without frames ends at the root, place 0.
        """
        depth_of = np.zeros(len(self), dtype=np.int32)  # how far the frames of a stack are needed
        depth_of[wanted] = self.length[wanted]
        claim = np.empty(len(self), dtype=np.int32)
        now = wanted
        while now.size:
            up = self.lender[now]
            now, up = now[up >= 0], up[up >= 0]
            new = up[depth_of[up] == 0]
            np.maximum.at(depth_of, up, self.shared[now])
            # Of those that come to one stack together, one goes on.
            turn = np.arange(new.size, dtype=np.int32)
            claim[new] = turn
            now = new[claim[new] == turn]
        used = np.flatnonzero(depth_of)
        shared = self.shared[used]
        count = depth_of[used] - shared
        ends = np.cumsum(count)
        ramp = _ramp(count)
        depth = ramp + np.repeat(shared + 1, count)
        frame = self.frame[ramp + np.repeat(self.start[used], count)]
        leaf = np.zeros(wanted.size, dtype=np.int64)
        filled = depth_of[wanted] > 0
        leaf[filled] = ends[np.searchsorted(used, wanted[filled])]
        root = np.zeros(1, dtype=np.int32)
        return (
            np.concatenate((root, depth.astype(np.int32))),
            np.concatenate((root - 1, frame.astype(np.int32))),
            leaf,
        )

    def lists(self) -> tuple[Ints, Ints]:
        """All frames of all stacks, as offsets (int64) and values (int32) of a list column."""
        offsets = np.concatenate(([0], np.cumsum(self.length, dtype=np.int64)))
        flat = np.empty(offsets[-1], dtype=np.int32)
        slot, lender, upto = offsets[:-1], np.arange(len(self), dtype=np.int32), self.length
        while lender.size:
            shared = self.shared[lender]
            count = upto - shared
            ramp = _ramp(count)
            frames = self.frame[ramp + np.repeat(self.start[lender], count)]
            flat[ramp + np.repeat(slot + shared, count)] = frames
            more = shared > 0
            slot, upto, lender = slot[more], shared[more], self.lender[lender[more]]
        return offsets, flat


def _ramp(counts: Ints) -> Ints:
    """0, 1, … for each count, one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    ramp: Ints = np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)
    return ramp


def find(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands in a sorted array, -1 where it does not (int64)."""
    # Looked up in their order, they meet what is in the cache.
    order = np.argsort(wanted)
    ordered = wanted[order]
    at = np.searchsorted(known, ordered)
    at[at == known.size] = 0
    place = np.full(wanted.size, -1, dtype=np.int64)
    if known.size:
        place[order] = np.where(known[at] == ordered, at, -1)
    return place


def front_code(offsets: Ints, flat: Ints) -> tuple[Ints, Ints]:
    """What each stack of a list column shares with the one before (int32), and all frames of their own."""
    starts: Ints = np.asarray(offsets, dtype=np.int64)
    length = np.diff(starts).astype(np.int32)
    flat = np.asarray(flat)[starts[0] : starts[-1]]
    full = np.flatnonzero(length)
    shared = np.zeros(length.size, dtype=np.int32)
    if not full.size:
        return shared, flat
    size = length[full]
    start = np.cumsum(size) - size
    place = np.arange(flat.size, dtype=np.int32)
    depth = place - np.repeat(start.astype(np.int32), size)
    # The frame of the stack before at the same depth; where that one is shorter, nothing is shared.
    before = np.concatenate(([0], size[:-1])).astype(np.int32)
    # An empty stack in between shares nothing with its neighbours.
    before[1:][np.diff(full) > 1] = 0
    above = np.repeat(before, size)
    differs = flat != flat[np.maximum(place - above, 0)]
    differs |= depth >= above
    # A stack keeps at least its last frame, so that it has a place of its own.
    differs[start + size - 1] = True
    same = np.minimum.reduceat(np.where(differs, depth, flat.size), start).astype(np.int32)
    shared[full] = same
    return shared, flat[depth >= np.repeat(same, size)]


def tree_of(depth: Ints, frame: Ints) -> Tree:
    """The tree of a preorder sequence as it stands: what stands twice stays so."""
    parent = np.full(depth.size, -1, dtype=np.int32)
    end = np.arange(1, depth.size + 1, dtype=np.int32)
    levels = _levels(depth)
    for above, here in pairwise(levels):
        parent[here] = above[np.searchsorted(above, here) - 1]
    for here in reversed(levels[1:]):
        # The last child's end comes last.
        np.maximum.at(end, parent[here], end[here])
    return Tree(parent, np.asarray(frame), np.asarray(depth), end)


def _levels(depth: Ints) -> list[Ints]:
    """The places of each depth's nodes, root first, in order."""
    deepest = int(depth.max())
    # Of 16-bit keys numpy sorts by counting, of wider ones by comparing.
    keys = depth.astype(np.int16) if deepest < 1 << 15 else depth
    order = np.argsort(keys, kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(depth, minlength=deepest + 1))[:-1])


def build_tree(depth: Ints, frame: Ints) -> tuple[Tree, Ints]:
    """The tree of a preorder sequence, and the node there of each of its entries.

    Entries that say the same (equal frames under one parent) become one node.
    """
    levels = _levels(depth)
    # Of each level's nodes: the parent's number on the level above, and the frame; of its entries: the node.
    parents = [np.zeros(1, dtype=np.int32)]
    frames = [np.full(1, -1, dtype=np.int32)]
    nodes = [np.zeros(1, dtype=np.int64)]
    for above, here in pairwise(levels):
        # The entry above is the last one before on the level above.
        up = nodes[-1][np.searchsorted(above, here) - 1]
        unique, inverse = np.unique((up << 32) | frame[here], return_inverse=True)
        parents.append((unique >> 32).astype(np.int32))
        frames.append((unique & _LOW).astype(np.int32))
        nodes.append(inverse)
    places, sizes = _places(parents)
    place = np.empty(depth.size, dtype=np.int32)
    for here, node, level in zip(levels, nodes, places, strict=True):
        place[here] = level[node]
    parent = [np.full(1, -1, dtype=np.int32)]
    parent += [above[mine] for above, mine in zip(places[:-1], parents[1:], strict=True)]
    depths = np.repeat(np.arange(len(levels), dtype=np.int32), [level.size for level in places])
    at = np.arange(depths.size, dtype=np.int32)
    order = np.empty_like(at)
    order[np.concatenate(places)] = at
    tree = Tree(
        np.concatenate(parent)[order],
        np.concatenate(frames)[order],
        depths[order],
        at + np.concatenate(sizes)[order],
    )
    return tree, place


def _places(parents: list[Ints]) -> tuple[list[Ints], list[Ints]]:
    """Of a tree given level by level, siblings together and in order: preorder place and size of each node."""
    sizes = [np.ones(level.size, dtype=np.int32) for level in parents]
    firsts = [np.flatnonzero(np.append(True, mine[1:] != mine[:-1])) for mine in parents]
    for level in range(len(parents) - 1, 0, -1):
        first = firsts[level]
        sizes[level - 1][parents[level][first]] += np.add.reduceat(sizes[level], first)
    places = [np.zeros(1, dtype=np.int32)]
    for mine, size, first in zip(parents[1:], sizes[1:], firsts[1:], strict=True):
        before = np.cumsum(size, dtype=np.int32) - size
        elder = np.repeat(before[first], np.diff(np.append(first, mine.size)))
        places.append(places[-1][mine] + 1 + before - elder)
    return places, sizes
