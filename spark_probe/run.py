"""A run folder -> its tables, and what of each executor is there. FORMAT.md defines the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from spark_probe.errors import RunError
from spark_probe.folder import Folder
from spark_probe.merge import Merged, merge
from spark_probe.parts import Part, PartFile, SeenStacks, choose, read_parts
from spark_probe.tables import FORMAT

__all__ = ["ExecutorFiles", "Progress", "Run", "read_run"]

# Called with how many files are read and how many there are.
Progress = Callable[[int, int], None]

_THREADS = 8
# A live run compacts its files while they are read: what was listed may be gone.
_ATTEMPTS = 3


@dataclass
class ExecutorFiles:
    """What the folder holds of one executor.

    ``status``: its status.json, empty where there is none. ``samples``: in the files that could be read.
    ``problems``: what could not be, in sentences. ``last_seq``: the last flush, -1 where there is none.
    """

    id: str
    folder: str
    status: dict[str, Any] = field(default_factory=dict)
    files: list[PartFile] = field(default_factory=list)
    bytes: int = 0
    flushes: int = 0
    samples: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def last_seq(self) -> int:
        return max((file.last for file in self.files), default=-1)


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder, read. ``info``: run.json; ``notes``: what is odd about the folder, in sentences."""

    path: str
    info: dict[str, Any]
    merged: Merged
    executors: tuple[ExecutorFiles, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Content:
    """A file, read: its parts or why there are none; ``gone``: it was listed and is not there."""

    parts: list[Part]
    problems: list[str]
    gone: bool = False


def read_run(path: str | os.PathLike[str], progress: Progress | None = None) -> Run:
    """Read a run folder, or the only one in a directory; a path or any fsspec or Hadoop URL.

    What is damaged costs itself only: it stands in the executor's ``problems``. Raises RunError where there
    is no run folder, or one of a format that is too new.
    """
    folder = _run_folder(Folder.open(os.fspath(path)))
    notes: list[str] = []
    info = _run_json(folder, notes)
    for attempt in range(1, _ATTEMPTS + 1):
        executors = _executors(folder)
        read = _Reader(folder, executors, progress)
        merged = merge(read.parts())
        if not read.gone:
            break
        if attempt == _ATTEMPTS:
            notes.append(
                f"files went while they were read, {_ATTEMPTS} times: {', '.join(read.gone[:5])}"
            )
    if merged.stackless:
        notes.append(f"the stacks of {merged.stackless:,} samples are not in the folder")
    return Run(folder.path, info, merged, tuple(executors), tuple(notes))


def _run_folder(folder: Folder) -> Folder:
    try:
        names = {entry.name for entry in folder.entries()}
        if names & {"run.json", "executors"}:
            return folder
        runs = [
            entry.name
            for entry in folder.entries()
            if entry.is_dir
            and {"run.json", "executors"} & {below.name for below in folder.entries(entry.name)}
        ]
    except OSError as error:
        raise RunError(f"{folder.path}: cannot be listed: {error}") from error
    if len(runs) == 1:
        return Folder.open(f"{folder.path.rstrip('/')}/{runs[0]}")
    if runs:
        shown = ", ".join(runs[-10:]) + (f" and {len(runs) - 10} more" if len(runs) > 10 else "")
        raise RunError(f"{folder.path} holds {len(runs)} runs; name one of them: {shown}")
    raise RunError(
        f"{folder.path} is no run folder: it has neither run.json nor executors/; "
        "name <spark.probe.dir>/<application id>"
    )


def _run_json(folder: Folder, notes: list[str]) -> dict[str, Any]:
    try:
        info = folder.read_object("run.json")
    except FileNotFoundError:
        notes.append("run.json is missing: what is known of the application comes from its events")
        return {}
    except (OSError, ValueError) as error:
        notes.append(f"run.json cannot be read: {error}")
        return {}
    found = info.get("format")
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= FORMAT:
        return info
    if isinstance(found, int) and found > FORMAT:
        raise RunError(
            f"run.json has format {found}; this spark_probe reads 1 to {FORMAT}; upgrade it."
        )
    raise RunError(
        f"run.json has format {found!r}; this spark_probe reads 1 to {FORMAT}; "
        "was the file changed by hand?"
    )


def _executors(folder: Folder) -> list[ExecutorFiles]:
    try:
        names = [entry.name for entry in folder.entries("executors") if entry.is_dir]
    except OSError as error:
        raise RunError(f"{folder.path}/executors: cannot be listed: {error}") from error
    executors = [_executor(folder, name) for name in names]
    return sorted(executors, key=lambda e: (not e.id.isdigit(), len(e.id), e.id))


def _executor(folder: Folder, name: str) -> ExecutorFiles:
    executor = ExecutorFiles(unquote(name), name)
    try:
        entries = folder.entries("executors", name)
    except OSError as error:
        executor.problems.append(f"its folder cannot be listed: {error}")
        return executor
    try:
        executor.status = folder.read_object("executors", name, "status.json")
    except FileNotFoundError:
        executor.problems.append("status.json is missing")
    except (OSError, ValueError) as error:
        executor.problems.append(f"status.json cannot be read: {error}")
    executor.files = choose(entry.name for entry in entries if not entry.is_dir)
    chosen = {file.name for file in executor.files}
    executor.bytes = sum(entry.size for entry in entries if entry.name in chosen)
    return executor


class _Reader:
    """Reads all files of all executors on a few threads; gives their parts in order."""

    def __init__(
        self, folder: Folder, executors: list[ExecutorFiles], progress: Progress | None
    ) -> None:
        self._folder = folder
        self._executors = executors
        self._progress = progress
        self._seen = SeenStacks()
        self.gone: list[str] = []

    def parts(self) -> Iterator[tuple[str, Part]]:
        work = [(executor, file) for executor in self._executors for file in executor.files]
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "spark-probe-read") as pool:
            contents = pool.map(self._content, work)
            for done, ((executor, file), content) in enumerate(zip(work, contents, strict=True), 1):
                executor.problems += content.problems
                if content.gone:
                    self.gone.append(f"executors/{executor.folder}/{file.name}")
                for part in content.parts:
                    executor.flushes += 1
                    executor.samples += int(part.samples["samples"].sum())
                    yield executor.id, part
                if self._progress:
                    self._progress(done, len(work))

    def _content(self, work: tuple[ExecutorFiles, PartFile]) -> _Content:
        executor, file = work
        parts, problems = [], []
        try:
            data = self._folder.read("executors", executor.folder, file.name)
            for part in read_parts(data, self._seen):
                if isinstance(part, Part):
                    parts.append(part)
                else:
                    problems.append(f"{file.name}: {part}")
        except FileNotFoundError:
            return _Content([], [f"{file.name} was listed and is gone"], gone=True)
        except (OSError, ValueError) as error:
            problems.append(f"{file.name} cannot be read: {error}")
            # Compaction removes what it replaces only afterwards: it may still be there.
            for instead in file.replaces:
                content = self._content((executor, instead))
                parts += content.parts
                problems += content.problems
        return _Content(parts, problems)
