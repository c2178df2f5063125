"""A directory by path or URL: listed and read the same on a disk, HDFS or an object store."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import Any

import fsspec

from spark_probe.errors import RunError

__all__ = ["Entry", "Folder"]


@dataclass(frozen=True)
class Entry:
    """A file or directory in a folder; ``size`` in bytes, 0 where the store does not say."""

    name: str
    is_dir: bool
    size: int


@dataclass(frozen=True)
class Folder:
    """A directory. ``path`` is as the user gave it; ``root`` as its file system calls it."""

    path: str
    fs: Any
    root: str

    @classmethod
    def open(cls, path: str) -> Folder:
        """The directory at a path or any fsspec or Hadoop URL. Raises RunError where there is none."""
        local = path[len("file:") :] if path.startswith("file:/") and path[6:7] != "/" else path
        try:
            fs, root = _filesystem(local)
            # A run may be growing while it is looked at.
            fs.invalidate_cache()
            if fs.isdir(root):
                return cls(path, fs, root.rstrip("/") or "/")
            found = fs.exists(root)
        except (ImportError, OSError, ValueError) as error:
            raise RunError(f"{path}: cannot be opened: {error}") from error
        what = "is a file; name the run folder that it lies in" if found else "is not there"
        raise RunError(f"{path} {what}" + ("" if found else "; check the path"))

    def below(self, *names: str) -> str:
        """The path of something in the folder, as its file system calls it."""
        return posixpath.join(self.root, *names)

    def entries(self, *names: str) -> list[Entry]:
        """What is in the folder or in a folder below, sorted, without names that start with a dot.

        Empty where there is no such folder. Raises OSError where it cannot be listed.
        """
        try:
            infos = self.fs.ls(self.below(*names), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        entries = (
            Entry(
                posixpath.basename(info["name"].rstrip("/")),
                info["type"] == "directory",
                int(info.get("size") or 0),
            )
            for info in infos
            if info["name"].rstrip("/") != self.below(*names)
        )
        return sorted((e for e in entries if e.name[:1] not in ("", ".")), key=lambda e: e.name)

    def read(self, *names: str) -> bytes:
        """A whole file. Raises OSError."""
        data = self.fs.cat_file(self.below(*names))
        return bytes(data) if not isinstance(data, bytes) else data

    def read_object(self, *names: str) -> dict[str, Any]:
        """A file that holds one JSON object. Raises OSError, or ValueError where it holds none."""
        value = json.loads(self.read(*names))
        if not isinstance(value, dict):
            raise ValueError("it holds no JSON object")
        return value


def _filesystem(path: str) -> tuple[Any, str]:
    try:
        fs, root = fsspec.core.url_to_fs(path)
    except (OSError, ValueError, ImportError):
        # Hadoop's own schemes (viewfs, hdfs by its native library) are Arrow's rather than fsspec's.
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow.fs import FileSystem

        arrow_fs, root = FileSystem.from_uri(path)
        return ArrowFSWrapper(arrow_fs), root
    return fs, root
