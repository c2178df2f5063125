"""A GC log from text, and what `gclog` reads in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_probe.gclog import GcLog, read

Reader = Callable[[str], GcLog]


@pytest.fixture
def read_text(tmp_path: Path) -> Reader:
    def reader(text: str) -> GcLog:
        path = tmp_path / "gc.log"
        path.write_text(text)
        return read(path)

    return reader
