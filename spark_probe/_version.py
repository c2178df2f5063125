"""The version, from the one place that holds it."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

__all__ = ["__version__"]


def _read() -> str:
    # A checkout is asked before the installed metadata, which an editable install leaves behind.
    root = Path(__file__).parents[1]
    if (root / "hatch_build.py").is_file():
        text = (root / "gradle.properties").read_text(encoding="utf-8")
        found = re.search(r"^version=(.+)$", text, re.MULTILINE)
        if found:
            return found[1].strip()
    return version("spark-probe")


__version__ = _read()
