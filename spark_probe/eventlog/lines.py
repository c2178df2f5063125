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

_CUT = 1 << 16
_OTHER, _BLANK = 0, -1  # what a line is that is of no columnar kind

# How the lines of a columnar kind start, as Spark writes them and as Python's json.dumps does.
_OPENINGS = (b'{"Event":"', b'{"Event": "')


@dataclass(frozen=True)
class Block:
    """Lines of one block by kind. `columnar[kind]` are (lines as one piece of bytes, how many).

    `others` can be gone through once; blank lines are in `lines` and `blank` only.
    """

    lines: int
    blank: int
    columnar: dict[str, tuple[bytes, int]]
    others: Iterator[bytes]


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
    sizes = ends - starts
    blank = (sizes == 0) | ((sizes == 1) & (data[starts] == 0x0D))
    kind_of = np.where(blank, _BLANK, _OTHER).astype(np.int8)
    names = list(kinds)
    for number, name in enumerate(names, 1):
        for opening in _OPENINGS:
            kind_of[_starting_with(data, starts, opening + kinds[name])] = number
    columnar: dict[str, tuple[bytes, int]] = {}
    for number, name in enumerate(names, 1):
        mine = kind_of == number
        if mine.any():
            first, last = _runs(mine)
            columnar[name] = b"".join(_cut(block, starts[first], ends[last] + 1)), int(mine.sum())
    rest = kind_of == _OTHER
    others = _cut(block, starts[rest], ends[rest])
    return Block(len(starts), int(blank.sum()), columnar, others)


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


def _runs(mask: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges[0::2], edges[1::2] - 1


def _cut(
    block: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Iterator[bytes]:
    # Python's own integers slice ten times as fast as numpy's, but take more room: some at a time.
    for at in range(0, len(starts), _CUT):
        some = slice(at, at + _CUT)
        for first, end in zip(starts[some].tolist(), ends[some].tolist(), strict=True):
            yield block[first:end]
