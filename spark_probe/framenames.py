"""Frames as text: type suffixes, types guessed from names, and names made equal over JVMs.

All on arrays of distinct names, with pyarrow's (RE2's) regular expressions.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["normalized", "printed", "split_types", "suffixes"]

# async-profiler's annotations (its FlameGraph.java: FRAME_SUFFIX); the other types have none.
_SUFFIX = {"interpreted": "_[0]", "jit": "_[j]", "inlined": "_[i]", "c1": "_[1]", "kernel": "_[k]"}
_SUFFIX_LENGTH = 4

# What stands in front of the rest tells the type of a name without suffix. As async-profiler guesses,
# and dotted Java names (as `FlameGraph.collapsed` writes them) beside those with slashes.
_GUESSES = (
    ("cpp", r"::|^[-+]\["),
    ("class", r"^[\w.$]+(\[\])+$"),
    ("native", r"^\[|\.so\b|\.dylib$|@|^\W*$|\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)*$"),
    ("jit", r"^[^\s()]*[\w$][/.][\w$<>]+[^\s()]*$"),
)

# normalizer 1 of FORMAT.md, on "class.method" as other tools write it.
_HIDDEN = (r"[/+.]0x[0-9a-fA-F]+|/\d+(\.|$)", r"\1")
_JAVA_RULES = (
    (r"(\$\$Lambda)\$[^.]*", r"\1"),
    (r"(LambdaForm\$[A-Za-z]+)[^.]*", r"\1"),
    (r"(Generated(?:Method|Constructor|SerializationConstructor)Accessor)\d+", r"\1"),
    (r"(\$Proxy)\d+", r"\1"),
    (r"^jdk\.proxy\d+\.", "jdk.proxy."),
)
_NATIVE_RULES = (
    (r"\+0x[0-9a-fA-F]+$", ""),
    (r" \[clone .*$", ""),
    (r"(?:\.(?:isra|part|constprop|cold|lto_priv|llvm)(?:\.\d+)*)+$", ""),
)
_NATIVE_TYPES = pa.array(["native", "cpp", "kernel"])


def suffixes(types: Any) -> Any:
    """The suffix that marks each type in annotated folded stacks; empty where there is none."""
    known = pc.index_in(types, value_set=pa.array(list(_SUFFIX)))
    return pc.fill_null(pa.array(list(_SUFFIX.values())).take(known), "")


def split_types(names: Any) -> tuple[Any, Any]:
    """Names without their type suffix, and the types: from the suffix, or guessed from the name."""
    types = pa.nulls(len(names), pa.string())
    bare = names
    for kind, suffix in _SUFFIX.items():
        marked = pc.ends_with(names, suffix)
        types = pc.if_else(marked, kind, types)
        bare = pc.if_else(marked, pc.utf8_slice_codeunits(names, 0, -_SUFFIX_LENGTH), bare)
    for kind, pattern in _GUESSES:
        guessed = pc.and_(pc.is_null(types), pc.match_substring_regex(names, pattern))
        types = pc.if_else(guessed, kind, types)
    return bare, pc.fill_null(types, "native")


def normalized(names: Any, types: Any) -> Any:
    """Names by FORMAT.md's normalizer 1, so that the same code has the same name in every JVM."""
    native = pc.is_in(types, value_set=_NATIVE_TYPES)
    # Whatever was guessed, only a generated class is called so.
    native = pc.and_not(native, pc.match_substring(names, "$$Lambda"))
    java, symbols = pc.replace_substring_regex(names, *_HIDDEN), names
    java = pc.replace_substring(java, "/", ".")
    for pattern, replacement in _JAVA_RULES:
        java = pc.replace_substring_regex(java, pattern, replacement)
    for pattern, replacement in _NATIVE_RULES:
        symbols = pc.replace_substring_regex(symbols, pattern, replacement)
    return pc.if_else(native, symbols, java)


def printed(names: Any) -> Any:
    """Names as they can stand in a line of folded stacks: without `;` and line ends."""
    return pc.replace_substring_regex(pc.replace_substring(names, ";", ":"), r"[\r\n]+", " ")
