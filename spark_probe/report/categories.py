"""What the time of a stack was spent on: business code, serialization, shuffle, GC, …

The rules stand in ``categories.json``, each with its source. A frame takes the first rule that fits its
name and type. A sample belongs to the **innermost** frame of its stack that has a category: what the
thread was really doing, not what it was started for. The one exception: frames that block or copy for
others (``waits``: locks, sockets, files) leave their time to the innermost caller that ``claims`` it, so
a socket read below the shuffle's fetcher is shuffle read and not network. What no frame explains is
``other``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.calltree import Tree

__all__ = ["NONE", "Categories", "CategoryRuleError", "load_categories"]

# A frame's code: the category's index in the low bits, and two flags.
NONE = 63
WAITS = 64
CLAIMS = 128


class CategoryRuleError(ValueError):
    """A rule file that cannot be used; says which rule and why."""


@dataclass(frozen=True)
class Rule:
    """One line of the rule file; ``category`` is an index, ``NONE`` for a transparent frame."""

    category: int
    pattern: str
    types: tuple[str, ...]
    flags: int


@dataclass(frozen=True)
class Categories:
    """``keys`` and ``labels`` in the order of the bar, and the rules in the order they are tried."""

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    rules: tuple[Rule, ...]

    def of_frames(self, names: Sequence[str], types: Sequence[str]) -> npt.NDArray[np.uint8]:
        """The code of each frame: category index (``NONE`` for none), ``WAITS`` and ``CLAIMS`` bits."""
        name, kind = pa.array(names, pa.string()), pa.array(types, pa.string())
        codes = np.full(len(name), NONE, dtype=np.uint8)
        open_ = np.ones(len(name), dtype=bool)
        for rule in self.rules:
            fits = open_.copy()
            if rule.types:
                wanted = pa.array(rule.types, pa.string())
                fits &= pc.is_in(kind, value_set=wanted).to_numpy(zero_copy_only=False)
            if rule.pattern:
                found = pc.match_substring_regex(name, pattern=rule.pattern)
                fits &= found.to_numpy(zero_copy_only=False)
            codes[fits] = rule.category | rule.flags
            open_ &= ~fits
        return codes

    def of_nodes(self, tree: Tree, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The category index of the samples that end at each node of a tree (``other`` if none)."""
        category = np.full(len(tree), NONE, dtype=np.uint8)
        claim = np.full(len(tree), NONE, dtype=np.uint8)
        order = np.argsort(tree.depth, kind="stable")
        bounds = np.flatnonzero(np.diff(tree.depth[order])) + 1
        for nodes in np.split(order, bounds)[1:]:
            code = codes[tree.frame[nodes]]
            up = tree.parent[nodes]
            own = code & NONE
            claimed = claim[up]
            waits = ((code & WAITS) != 0) & (claimed != NONE)
            category[nodes] = np.where(own == NONE, category[up], np.where(waits, claimed, own))
            claim[nodes] = np.where((code & CLAIMS) != 0, own, claimed)
        category[category == NONE] = self.keys.index("other")
        return category


def load_categories(extra: Path | None = None) -> Categories:
    """The built-in rules; with ``extra`` (a JSON file of the same form) its rules come first.

    ``extra`` may also add categories. Raises :class:`CategoryRuleError` for a rule that cannot be used.
    """
    if extra is None:
        return _builtin()
    try:
        user = json.loads(extra.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CategoryRuleError(f"category rules {extra}: cannot be read: {error}") from error
    if not isinstance(user, dict):
        raise CategoryRuleError(f'category rules {extra}: not an object with a list "rules"')
    base = json.loads(_builtin_text())
    return _parse(
        {
            "categories": base["categories"][:-1]
            + list(user.get("categories", []))
            + base["categories"][-1:],
            "rules": list(user.get("rules", [])) + base["rules"],
        },
        str(extra),
    )


def _builtin_text() -> str:
    return (resources.files("spark_probe.report") / "categories.json").read_text(encoding="utf-8")


@functools.cache
def _builtin() -> Categories:
    return _parse(json.loads(_builtin_text()), "categories.json")


def _parse(document: dict[str, Any], where: str) -> Categories:
    keys = tuple(str(entry["key"]) for entry in document["categories"])
    if len(set(keys)) != len(keys) or len(keys) >= NONE:
        raise CategoryRuleError(f"category rules {where}: categories must be distinct, at most 62")
    labels = tuple(str(entry.get("label", entry["key"])) for entry in document["categories"])
    rules = tuple(
        _rule(entry, keys, f"{where}, rule {i}") for i, entry in enumerate(document["rules"])
    )
    return Categories(keys, labels, rules)


def _rule(entry: Any, keys: tuple[str, ...], where: str) -> Rule:
    if not isinstance(entry, dict) or not isinstance(entry.get("pattern"), str):
        raise CategoryRuleError(f"category rules {where}: needs a text 'pattern'")
    key = entry.get("category")
    if key is not None and key not in keys:
        raise CategoryRuleError(
            f"category rules {where}: unknown category {key!r}; known: {', '.join(keys)}"
        )
    try:
        pc.match_substring_regex(pa.array([""]), pattern=entry["pattern"])
    except pa.ArrowInvalid as error:
        raise CategoryRuleError(f"category rules {where}: bad pattern: {error}") from error
    flags = (WAITS if entry.get("waits") else 0) | (CLAIMS if entry.get("claims") else 0)
    category = NONE if key is None else keys.index(key)
    return Rule(category, entry["pattern"], tuple(entry.get("types", ())), flags)
