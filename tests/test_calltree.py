"""Prefix trees held against the same thing done slowly: one dict of prefixes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spark_probe.calltree import Ints, Stacks, Tree, build_tree, tree_of

# Few frames, so that stacks share prefixes and call themselves.
STACKS = st.lists(st.lists(st.integers(0, 2), max_size=7), max_size=25)


def column(stacks: list[list[int]]) -> tuple[Ints, Ints]:
    offsets = np.cumsum([0, *map(len, stacks)])
    return offsets, np.array([frame for stack in stacks for frame in stack], dtype=np.int32)


def path(tree: Tree, node: int) -> tuple[int, ...]:
    frames = []
    while node > 0:
        frames.append(int(tree.frame[node]))
        node = int(tree.parent[node])
    return tuple(reversed(frames))


def tree_and_paths(stacks: list[list[int]]) -> tuple[Tree, list[tuple[int, ...]]]:
    depth, frame, _ = Stacks.of(*column(stacks)).sequence(np.arange(len(stacks)))
    tree, _ = build_tree(depth, frame)
    return tree, [path(tree, node) for node in range(len(tree))]


@given(STACKS)
def test_front_coding_loses_nothing(stacks: list[list[int]]) -> None:
    offsets, flat = column(stacks)
    coded = Stacks.of(offsets, flat)
    assert coded.frame.size <= flat.size
    again = coded.lists()
    assert again[0].tolist() == offsets.tolist()
    assert again[1].tolist() == flat.tolist()


def test_sorted_stacks_keep_only_what_is_new() -> None:
    coded = Stacks.of(*column([[1], [1, 2], [1, 2, 3], [1, 4], [5]]))
    assert coded.shared.tolist() == [0, 1, 2, 1, 0]
    assert coded.frame.tolist() == [1, 2, 3, 4, 5]
    assert coded.lender.tolist() == [-1, 0, 1, 0, -1]


@given(STACKS, st.sets(st.integers(0, 24)))
def test_a_sequence_of_some_stacks_has_their_paths_and_no_others(
    stacks: list[list[int]], wanted: set[int]
) -> None:
    some = np.array(sorted(i for i in wanted if i < len(stacks)), dtype=np.int64)
    depth, frame, leaf = Stacks.of(*column(stacks)).sequence(some)
    as_it_stands = tree_of(depth, frame)
    assert [path(as_it_stands, int(end)) for end in leaf] == [tuple(stacks[i]) for i in some]
    tree, node = build_tree(depth, frame)
    prefixes = {tuple(stacks[i][:n]) for i in some for n in range(len(stacks[i]) + 1)} | {()}
    assert [path(tree, i) for i in range(len(tree))] == sorted(prefixes)
    assert [path(tree, int(node[end])) for end in leaf] == [tuple(stacks[i]) for i in some]


@given(STACKS, st.randoms())
def test_the_order_of_stacks_makes_no_difference(stacks: list[list[int]], random: object) -> None:
    shuffled = list(stacks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert tree_and_paths(stacks)[1] == tree_and_paths(shuffled)[1]


@given(STACKS)
def test_sums_ends_and_paths(stacks: list[list[int]]) -> None:
    tree, paths = tree_and_paths(stacks)
    weight = np.arange(1, len(tree) + 1)
    below = [[j for j, q in enumerate(paths) if q[: len(p)] == p] for p in paths]
    assert tree.sum_below(weight).tolist() == [int(weight[nodes].sum()) for nodes in below]
    assert tree.end.tolist() == [i + len(nodes) for i, nodes in enumerate(below)]
    offsets, flat = tree.paths(np.arange(len(tree)))
    pieces = np.split(flat, offsets[1:-1])
    assert [tuple(piece.tolist()) for piece in pieces] == paths


@given(STACKS, st.sets(st.integers(0, 40)))
def test_inside_and_outermost(stacks: list[list[int]], marks: set[int]) -> None:
    tree, paths = tree_and_paths(stacks)
    marked = np.isin(np.arange(len(tree)), list(marks))
    wanted = {paths[i] for i in np.flatnonzero(marked)}
    inside = [any(p[:n] in wanted for n in range(len(p) + 1)) for p in paths]
    assert tree.inside(marked).tolist() == inside
    assert tree.outermost()[1:].tolist() == [p[-1] not in p[:-1] for p in paths[1:]]


def test_a_recursion_of_forty_thousand_calls() -> None:
    depth = 40_000  # beyond 16 bits
    tree, node = build_tree(np.arange(depth + 1), np.where(np.arange(depth + 1) > 0, 7, -1))
    assert len(tree) == depth + 1
    assert tree.depth[-1] == depth
    assert tree.outermost().sum() == 2
    assert node.tolist() == list(range(depth + 1))


def test_two_hundred_thousand_nodes_a_thousand_deep() -> None:
    rng = np.random.default_rng(1)
    depths = list(range(1, 1_001))
    while len(depths) < 220_000:
        start = int(rng.integers(1, depths[-1] + 1))
        depths += range(start, min(start + int(rng.integers(1, 60)), 1_000) + 1)
    sequence = np.array([0, *depths])
    frame = np.concatenate(([-1], rng.integers(0, 50_000, len(depths))))
    tree, node = build_tree(sequence, frame)
    assert len(tree) > 200_000
    assert tree.depth.max() == 1_000
    weight = np.bincount(node, minlength=len(tree))
    assert tree.sum_below(weight)[0] == sequence.size
    assert np.array_equal(tree.depth[node], sequence)
    assert np.array_equal(tree.frame[node], frame)
