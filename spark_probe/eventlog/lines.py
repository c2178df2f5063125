"""Bytes -> blocks of whole lines, and which lines of a block go to which columnar reader.

Task, block-update and executor-peak events are most of every big log and all alike: their lines are
cut out of a block as one piece for Arrow's JSON reader. The few others are handed on one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK_BYTES", "Block", "blocks", "split"]

# Large enough that what Arrow costs per call does not count (at 4 MiB it was a third of all).
BLOCK_BYTES = 16 << 20

# Longer than any line Spark can have written (a Java string ends at 2 GiB, Jackson reads 100 MB
# strings by default): a file without line ends must not be collected in memory until the end.
_MAX_LINE = 256 << 20

# How the lines of a columnar kind start, as Spark writes them and as Python's json.dumps does.
_OPENINGS = (b'{"Event":"', b'{"Event": "')


@dataclass(frozen=True)
class Block:
    """Lines of one block by kind. `columnar[kind]` are (lines as one piece of bytes, how many)."""

    lines: int
    columnar: dict[str, tuple[bytes, int]]
    others: list[bytes]


def blocks(chunks: Iterable[bytes | None], size: int = BLOCK_BYTES) -> Iterator[bytes | None]:
    """Join chunks into blocks of about `size` bytes that end where a line ends.

    None among the chunks (bytes were lost there) ends a line; None comes out for a line that is too
    long to be one and was dropped.
    """
    held: list[bytes] = []
    have, wanted = 0, size
    dropping = False
    for chunk in chunks:
        if dropping:
            end = chunk.find(b"\n") if chunk is not None else 0
            if end < 0:
                continue
            chunk, dropping = (None if chunk is None else chunk[end + 1 :]), False
        if chunk is None:
            if have:
                yield b"".join(held)
            held, have, wanted = [], 0, size
            continue
        held.append(chunk)
        have += len(chunk)
        if have < wanted:
            continue
        joined = b"".join(held)
        end = joined.rfind(b"\n") + 1
        if end:
            yield joined[:end]
            held, have, wanted = [joined[end:]], len(joined) - end, size
        elif have > _MAX_LINE:
            yield None
            held, have, wanted, dropping = [], 0, size, True
        else:  # one line, longer than a block: look again when there is twice as much
            held, wanted = [joined], 2 * have
    if have:
        yield b"".join(held)


def split(block: bytes, kinds: dict[str, bytes]) -> Block:
    """Sort the lines of a block. `kinds` maps a columnar kind to how its event's name starts."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == 0x0A)
    if not len(ends) or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
    kind_of = np.zeros(len(starts), np.int8)
    names = list(kinds)
    for number, name in enumerate(names, 1):
        for opening in _OPENINGS:
            kind_of[_starting_with(data, starts, opening + kinds[name])] = number
    columnar: dict[str, tuple[bytes, int]] = {}
    for number, name in enumerate(names, 1):
        mine = kind_of == number
        if mine.any():
            pieces = _runs(mine)
            joined = b"".join(block[starts[a] : ends[b - 1] + 1] for a, b in pieces)
            columnar[name] = joined, int(mine.sum())
    others = [block[starts[i] : ends[i]] for i in np.flatnonzero(kind_of == 0)]
    return Block(len(starts), columnar, others)


def _starting_with(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], prefix: bytes
) -> npt.NDArray[np.int64]:
    """Numbers of the lines that start with `prefix`; its last bytes tell most, so come first."""
    lines = np.flatnonzero(starts + len(prefix) <= len(data))
    for offset in range(len(prefix) - 1, -1, -1):
        lines = lines[data[starts[lines] + offset] == prefix[offset]]
        if not len(lines):
            break
    return lines


def _runs(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The half-open runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
