"""A path or URL -> the files of one event log, in the order in which they were written.

What may stand there: one file; a rolling directory `eventlog_v2_*` with `events_<n>_*` parts; a
Databricks directory of `eventlog-YYYY-MM-DD--HH-MM.gz` segments and the current `eventlog`; a zip
of either from the History Server; a directory that holds exactly one of these, such as the events/
of a run folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import fsspec

from spark_probe.eventlog import zips
from spark_probe.eventlog.bytesource import Readable
from spark_probe.eventlog.problems import EventLogError

__all__ = ["Part", "Source", "find_logs", "locate"]

_ROLLING = re.compile(r"events_(\d+)_")
_SEGMENT = re.compile(r"eventlog(-\d{4}-\d\d-\d\d--\d\d-\d\d)?(\.\w+)?$")
_COMPACT = ".compact"
# What a log's name may end with; application ids themselves have no dots.
_SUFFIXES = (".inprogress", ".zstd", ".lz4", ".lzf", ".snappy", ".gz", ".zip")
_DEPTH = 4  # directories that hold nothing but one: run/events/…, Databricks' <cluster>/<context>/…


@dataclass(frozen=True)
class Part:
    """One file of a log. `size` is its stored size in bytes, -1 where unknown."""

    name: str
    size: int
    open: Callable[[], Readable]


@dataclass(frozen=True)
class Source:
    """A log that was found: its parts in order, and what is odd about them."""

    name: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Entry:
    """A file or directory; `path` is what its file system calls it."""

    path: str
    is_dir: bool
    size: int
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", posixpath.basename(self.path.rstrip("/")))


def locate(path: str) -> Source:
    """Find the one event log at `path`, a path or any fsspec or Hadoop URL.

    Raises EventLogError when there is none, or more than one: then it names them.
    """
    fs, root = _filesystem(path)
    try:
        if fs.isdir(root):
            return _directory(fs, root, path)
        if not fs.exists(root):
            raise EventLogError(f"{path}: no such file or directory; check the path")
        part = _part(fs, _Entry(root, False, _size(fs, root)))
        with fs.open(root, "rb") as file:
            zipped = file.read(4) == zips.MAGIC
        return _zip(fs, root, path) if zipped else Source(path, (part,))
    except (OSError, ValueError) as error:
        raise EventLogError(f"{path}: cannot be opened: {_line(error)}") from error


def find_logs(path: str) -> list[str]:
    """The event logs in a directory (a `spark.eventLog.dir`), each as a path that `read` takes.

    Looks one level deep; a log itself gives just itself. Raises EventLogError where nothing is
    there.
    """
    fs, root = _filesystem(path)
    try:
        if not fs.isdir(root):
            if not fs.exists(root):
                raise EventLogError(f"{path}: no such file or directory; check the path")
            return [path]
        entries = _list(fs, root)
        if _log_files(entries):
            return [path]
        found = _logs_in(fs, entries)
    except (OSError, ValueError) as error:
        raise EventLogError(f"{path}: cannot be listed: {_line(error)}") from error
    return [fs.unstrip_protocol(e.path) if "://" in path else e.path for e in found]


def _filesystem(path: str) -> tuple[Any, str]:
    """The file system of `path` and its path in there, for local paths and URLs of any scheme."""
    if path.startswith("file:") and not path.startswith("file://"):
        path = path[len("file:") :]  # Hadoop's way to write a local path
    try:
        fs, root = fsspec.core.url_to_fs(path)
        return fs, root
    except ImportError as error:
        raise EventLogError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        # Hadoop's own schemes (viewfs, hdfs by its native library) are Arrow's rather than
        # fsspec's.
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow.fs import FileSystem

        try:
            arrow_fs, root = FileSystem.from_uri(path)
        except Exception as second:
            hint = "HDFS needs JAVA_HOME and Hadoop's native library and class path"
            why = f"{_line(error)}; {_line(second)} ({hint})"
            raise EventLogError(f"{path}: cannot be opened: {why}") from second
        return ArrowFSWrapper(arrow_fs), root


def _directory(fs: Any, root: str, path: str) -> Source:
    for _ in range(_DEPTH):
        entries = _list(fs, root)
        files = _log_files(entries)
        if files:
            return _ordered(path, files, lambda e: _part(fs, e))
        if any(e.name == "run.json" for e in entries):  # a run folder: its log is in events/
            entries = [e for e in entries if e.is_dir and e.name == "events"]
        logs = _logs_in(fs, entries)
        if len(logs) > 1:
            names = ", ".join(e.name for e in logs[:10]) + (", …" if len(logs) > 10 else "")
            raise EventLogError(f"{path} holds {len(logs)} event logs; name one of them: {names}")
        if logs:
            root = logs[0].path
            if not logs[0].is_dir:
                return locate(fs.unstrip_protocol(root) if "://" in path else root)
        else:
            below = [e for e in entries if e.is_dir]
            if len(below) != 1:
                break
            root = below[0].path
    raise EventLogError(
        f"{path} holds no event log; name the log file or an eventlog_v2_… directory"
    )


def _logs_in(fs: Any, entries: Iterable[_Entry]) -> list[_Entry]:
    """Which of a directory's entries are logs: files, and directories of parts."""
    found = []
    for entry in entries:
        if entry.is_dir:
            if _log_files(_list(fs, entry.path)):
                found.append(entry)
        elif "." not in entry.name or entry.name.endswith(_SUFFIXES):
            found.append(entry)
    return found


def _log_files(entries: list[_Entry]) -> list[_Entry]:
    """The parts among a directory's entries, if it is a rolling or a Databricks one."""
    files = [e for e in entries if not e.is_dir]
    rolling = [e for e in files if _ROLLING.match(e.name)]
    return rolling or [e for e in files if _SEGMENT.match(e.name)]


def _ordered(path: str, files: list[_Entry], part: Callable[[_Entry], Part]) -> Source:
    """Parts in the order of writing, less what a compaction replaced."""
    if not _ROLLING.match(files[0].name):
        # Segments sort by their minute; the plain `eventlog` is the one being written, so the last.
        files = sorted(files, key=lambda e: ("-" not in e.name, e.name))
        return Source(path, tuple(part(e) for e in files))
    by_index: dict[int, _Entry] = {}
    notes, missing = [], []
    for entry in sorted(files, key=lambda e: (not e.name.endswith(_COMPACT), e.name)):
        index = int(_ROLLING.match(entry.name).group(1))  # type: ignore[union-attr]
        kept = by_index.setdefault(index, entry)
        if kept is not entry and not kept.name.endswith(_COMPACT):
            notes.append(f"two files for part {index}: {kept.name} is read, {entry.name} is not")
    compact = max((i for i, e in by_index.items() if e.name.endswith(_COMPACT)), default=None)
    if compact is not None:
        by_index = {i: e for i, e in by_index.items() if i >= compact}
        notes.append(
            f"Spark compacted this log up to part {compact}: events of what had finished are gone"
        )
    indexes = sorted(by_index)
    first = 1 if compact is None else compact
    gaps = (
        sorted(set(range(first, indexes[-1] + 1)) - set(indexes)) if indexes[-1] < 1 << 20 else []
    )
    missing += [f"part {i} is missing" for i in gaps]
    return Source(path, tuple(part(by_index[i]) for i in indexes), tuple(notes), tuple(missing))


def _zip(fs: Any, root: str, path: str) -> Source:
    with fs.open(root, "rb") as file:
        found, whole = zips.entries(file)
    by_path = {e.name: e for e in found}
    listed = [_Entry(e.name, False, e.size) for e in found if not _hidden(e.name)]
    groups: dict[str, list[_Entry]] = {}
    for entry in listed:
        groups.setdefault(posixpath.dirname(entry.path), []).append(entry)
    logs = {folder: _log_files(group) for folder, group in groups.items() if _log_files(group)} or {
        e.path: [e] for e in listed
    }
    if len(logs) != 1:
        what = f"holds {len(logs)} event logs: {', '.join(sorted(logs))}" if logs else "holds none"
        raise EventLogError(f"{path} {what}; unzip it and name one event log")
    (files,) = logs.values()

    def part(entry: _Entry) -> Part:
        stored = by_path[entry.path]
        return Part(entry.name, stored.size, lambda: zips.open_entry(fs.open(root, "rb"), stored))

    if len(files) == 1 and not _ROLLING.match(files[0].name):
        source = Source(path, (part(files[0]),))
    else:
        source = _ordered(path, files, part)
    cut = () if whole else ("the zip is cut: its directory, and maybe files, are missing",)
    return Source(path, source.parts, source.notes, source.missing + cut)


def _part(fs: Any, entry: _Entry) -> Part:
    return Part(entry.name, entry.size, lambda: fs.open(entry.path, "rb"))


def _list(fs: Any, root: str) -> list[_Entry]:
    infos = fs.ls(root, detail=True)
    entries = [_Entry(i["name"], i["type"] == "directory", i.get("size") or 0) for i in infos]
    same = root.rstrip("/")
    shown = (e for e in entries if e.path.rstrip("/") != same and not _hidden(e.path))
    return sorted(shown, key=lambda e: e.name)


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]  # Arrow lists every library it has looked for


def _hidden(path: str) -> bool:
    return posixpath.basename(path.rstrip("/")).startswith((".", "_"))


def _size(fs: Any, root: str) -> int:
    size = fs.size(root)
    return -1 if size is None else int(size)
