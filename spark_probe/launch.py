"""The configuration that a Spark session will start with: what is in it already, and how to add to it.

A session's configuration comes from four places: the builder, ``PYSPARK_SUBMIT_ARGS``, ``spark-defaults.conf``, and,
where the JVM is already running (under spark-submit, or after an earlier session), that JVM. What is added must be
added to what won there, never instead of it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LaunchConf", "SubmitArgs", "read_properties", "running_jvm"]

# Arguments of spark-submit that are conf keys under another name, and stronger than `--conf`.
_ALIASES = {
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--jars": "spark.jars",
}


def running_jvm() -> Any:
    """The JVM of this Python process (a py4j view), or None where the first session will start it."""
    from pyspark import SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return SparkContext._jvm


class SubmitArgs:
    """``PYSPARK_SUBMIT_ARGS``: the end of the spark-submit command that pyspark starts its JVM with."""

    def __init__(self, text: str) -> None:
        # spark-submit takes `--name=value` for `--name value`.
        self._words: list[str] = []
        for word in shlex.split(text):
            found = re.fullmatch(r"(--[^=]+)=(.*)", word, re.DOTALL)
            self._words += found.groups() if found else [word]

    def _places(self) -> dict[str, int]:
        """Conf key -> index of the word that holds its value (after ``key=`` for ``--conf``); the winner's."""
        by_conf, by_name = {}, {}
        for index, word in enumerate(self._words[:-1]):
            if word in ("--conf", "-c"):
                by_conf[self._words[index + 1].partition("=")[0].strip()] = index + 1
            elif word in _ALIASES:
                by_name[_ALIASES[word]] = index + 1
        return {**by_conf, **by_name}

    def conf(self) -> dict[str, str]:
        """What it sets, by conf key."""
        return {key: self._split(index)[1] for key, index in self._places().items()}

    def properties_file(self) -> str | None:
        """The file that is named instead of spark-defaults.conf."""
        if "--properties-file" in self._words[:-1]:
            return self._words[self._words.index("--properties-file") + 1]
        return None

    def _split(self, index: int) -> tuple[str, str]:
        if self._words[index - 1] in _ALIASES:
            return "", self._words[index]
        key, _, value = self._words[index].partition("=")
        return f"{key}=", value.strip()

    def replace(self, key: str, value: str) -> bool:
        """Changes a key's value where it stands; False where it does not stand."""
        index = self._places().get(key)
        if index is None:
            return False
        self._words[index] = self._split(index)[0] + value
        return True

    def __str__(self) -> str:
        return shlex.join(self._words)


def read_properties(text: str) -> dict[str, str]:
    """A Java properties file, as spark-defaults.conf is one: key and value parted by blanks, ``=`` or ``:``."""
    conf = {}
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    for line in joined.splitlines():
        found = re.match(r"\s*([^#!\s=:](?:\\.|[^\\\s=:])*)\s*[=:]?\s*(.*)", line)
        if found:
            key, value = (re.sub(r"\\(.)", r"\1", part) for part in found.groups())
            conf[key] = value.strip()
    return conf


def _defaults_file(args: SubmitArgs) -> dict[str, str]:
    named = args.properties_file()
    if named is not None:
        path = Path(named)
    elif "SPARK_CONF_DIR" in os.environ:
        path = Path(os.environ["SPARK_CONF_DIR"], "spark-defaults.conf")
    else:
        from pyspark.find_spark_home import _find_spark_home

        path = Path(_find_spark_home(), "conf", "spark-defaults.conf")
    try:
        return read_properties(path.read_text(encoding="utf-8"))
    except OSError:
        return {}


class LaunchConf:
    """Reads and extends the configuration of the session that a builder will make."""

    def __init__(self, builder: SparkSession.Builder) -> None:
        self._builder = builder
        self._args: SubmitArgs | None = None
        self.jvm = running_jvm()
        if self.jvm is not None:
            from pyspark import SparkConf

            self._below: Mapping[str, str] = dict(SparkConf().getAll())
        else:
            self._args = SubmitArgs(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
            self._below = {**_defaults_file(self._args), **self._args.conf()}

    def all(self) -> dict[str, str]:
        """Every key as the session will see it."""
        return {**self._below, **{key: str(value) for key, value in self._builder._options.items()}}

    def set(self, key: str, value: str) -> None:
        """Sets a key for the session, and for the JVM that is started for it."""
        self._builder.config(key, value)
        # There it would win over the builder when the JVM starts.
        if self._args is not None and self._args.replace(key, value):
            os.environ["PYSPARK_SUBMIT_ARGS"] = str(self._args)

    def append(self, key: str, value: str, separator: str) -> None:
        """Adds to what a key has."""
        self.set(key, separator.join(filter(None, [self.all().get(key, ""), value])))
