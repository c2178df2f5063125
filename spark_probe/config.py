"""The options of the probe: a frozen dataclass on this side, ``spark.probe.*`` keys on Spark's.

A field's key is its name with dots: ``flush_interval`` is ``spark.probe.flush.interval``. `ProbeConf.java` is the
twin of this file; a test holds names, types, defaults and meanings of the two equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike, fspath
from typing import Any

from spark_probe.errors import ConfigError

__all__ = ["PREFIX", "ProbeConfig", "flat_options", "parse_duration_ns", "parse_size_bytes"]

PREFIX = "spark.probe."

_DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SIZE_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of a duration such as ``10ms``, ``30s`` or ``1m`` (ns, us, ms, s, m, h).

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(r"(\d{1,9})(ns|us|ms|s|m|h)", text.strip().lower())
    if not found:
        raise ValueError(f"{text!r} is no duration such as 10ms, 30s or 1m")
    return int(found[1]) * _DURATION_NS[found[2]]


def parse_size_bytes(text: str) -> int:
    """Bytes of a size such as ``512k``, ``4m`` or ``1g``; a bare number is bytes. Units are powers of 1,024.

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(r"(\d{1,9})([kmg]?)b?", text.strip().lower())
    if not found:
        raise ValueError(f"{text!r} is no size such as 512k, 4m or 1g")
    return int(found[1]) * _SIZE_BYTES[found[2]]


@dataclass(frozen=True)
class _Type:
    """How a value is read (from Python or from a conf string) and written back."""

    name: str  # ProbeConf.Type, in lower case
    takes: str
    read: Callable[[Any], Any]  # raises ValueError or TypeError on what the option does not take


def _words(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Iterable):
        raise TypeError
    stripped = [item.strip() for item in items]
    return tuple(dict.fromkeys(filter(None, stripped)))


def _one_of(*words: str) -> _Type:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return _Type("word", f"one of {', '.join(words)}", read)


def _some_of(*words: str) -> _Type:
    def read(value: Any) -> tuple[str, ...]:
        items = _words(value)
        if not items or not set(items) <= set(words):
            raise ValueError
        return items

    return _Type("list", f"one or more of {', '.join(words)}", read)


def _methods() -> _Type:
    def read(value: Any) -> tuple[str, ...]:
        items = _words(value)
        if not all(re.fullmatch(r"[\w.$]+\.[\w$<>*]+", item, re.ASCII) for item in items):
            raise ValueError
        return items

    return _Type("list", "full names of Java methods, such as java.lang.System.gc", read)


def _text() -> _Type:
    def read(value: Any) -> str:
        if not isinstance(value, str | PathLike):
            raise TypeError
        return str(fspath(value)).strip()

    return _Type("text", "a path or URL", read)


def _flag() -> _Type:
    def read(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "false": False}[value.strip().lower()]

    return _Type("flag", "true or false", read)


def _measure(
    name: str, example: str, parse: Callable[[str], int], least: str | None = None
) -> _Type:
    def read(value: Any) -> str:
        text = value.strip().lower()
        if least is not None and parse(text) < parse(least):
            raise ValueError
        parse(text)
        return str(text)

    at_least = "" if least is None else f", at least {least}"
    return _Type(name, f"a {name} such as {example}{at_least}", read)


def _duration(least: str | None = None) -> _Type:
    return _measure("duration", "10ms, 30s or 1m", parse_duration_ns, least)


def _size(least: str) -> _Type:
    return _measure("size", "512k, 4m or 1g", parse_size_bytes, least)


def _count(least: int) -> _Type:
    def read(value: Any) -> int:
        if isinstance(value, bool) or (not isinstance(value, int) and not isinstance(value, str)):
            raise TypeError
        number = int(value)
        if number < least:
            raise ValueError
        return number

    return _Type("count", f"a whole number, at least {least}", read)


def _number(most: float | None = None) -> _Type:
    def read(value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise TypeError
        text = str(value).strip()
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or (
            most is not None and float(text) > most
        ):
            raise ValueError
        return text

    return _Type(
        "number",
        "a number such as 0.5 or 3" if most is None else f"a number from 0 to {most:g}",
        read,
    )


def _option(default: Any, kind: _Type, doc: str, since: str = "0.1.0") -> Any:
    return field(default=default, metadata={"type": kind, "doc": doc, "since": since})


@dataclass(frozen=True)
class ProbeConfig:
    """Every option with its value, checked. Durations and sizes are strings with a unit: ``"10ms"``, ``"4m"``.

    Raises:
        ConfigError: a value that its option does not take; the message names the key, the value, and what it takes.
    """

    mode: str = _option(
        "continuous",
        _one_of("continuous", "triggered", "off"),
        "continuous records always; triggered records nothing until a rule fires; off does nothing",
    )
    dir: str = _option(
        "spark-probe",
        _text(),
        "where run folders go: a path or a Hadoop URL. A local path is the driver's; executors then send what they "
        "have to the driver",
    )
    events: tuple[str, ...] = _option(
        ("cpu", "wall", "alloc", "lock"),
        _some_of("cpu", "wall", "alloc", "lock"),
        "what is sampled: cpu, wall, alloc, lock",
    )
    engine: str = _option(
        "auto",
        _one_of("auto", "ctimer", "perf", "itimer"),
        "cpu engine: ctimer, perf, itimer; auto takes ctimer, and itimer where there is none",
    )
    interval: str = _option(
        "10ms", _duration("1ms"), "CPU time between two cpu samples of a thread"
    )
    wall_interval: str = _option(
        "100ms", _duration("1ms"), "time between two wall samples of a task's thread"
    )
    alloc_interval: str = _option("4m", _size("1k"), "bytes allocated between two alloc samples")
    lock_interval: str = _option("10ms", _duration(), "total contention between two lock samples")
    methods: tuple[str, ...] = _option(
        (),
        _methods(),
        "Java methods whose calls are traced beside java.lang.System.gc: package.Class.method",
    )
    flush_interval: str = _option(
        "30s", _duration("1s"), "time between two flushes to the run folder"
    )
    bucket: str = _option("10s", _duration(), "length of the time buckets of samples; 0s for none")
    driver: bool = _option(True, _flag(), "whether the driver's own work is recorded as well")
    jfr_keep: bool = _option(
        False, _flag(), "whether the raw JFR chunks go to the run folder as well"
    )
    stack_depth: int = _option(1024, _count(16), "deepest stack that is recorded, in frames")
    memory_limit: str = _option(
        "64m",
        _size("16m"),
        "memory of the profiler's stack storage, and of the tables of one flush",
    )
    disk_limit: str = _option(
        "512m",
        _size("32m"),
        "size of the recording's file on the executor's disk at which it is started anew",
    )
    trigger_straggler_factor: str = _option(
        "3",
        _number(),
        "straggler: a task that runs this many times the median of its stage's finished tasks; 0 for never",
    )
    trigger_straggler_min: str = _option(
        "10s",
        _duration(),
        "straggler: and at least this long",
    )
    trigger_straggler_quorum: str = _option(
        "0.5",
        _number(1),
        "straggler: once this share of the stage's tasks has finished",
    )
    trigger_duration_time: str = _option(
        "0s",
        _duration(),
        "duration: a task that runs longer than this; 0s for never",
    )
    trigger_gc_fraction: str = _option(
        "0.1",
        _number(1),
        "gc: the JVM paused for more than this share of the window to collect; 0 for never",
    )
    trigger_gc_window: str = _option(
        "10s",
        _duration("1s"),
        "gc: length of the window",
    )
    trigger_spill_bytes: str = _option(
        "256m",
        _size("0"),
        "spill: a task has spilt more of its memory than this; 0 for never",
    )
    trigger_fetchwait_fraction: str = _option(
        "0.5",
        _number(1),
        "fetchwait: a task waited for shuffle data for more than this share of the window; 0 for never",
    )
    trigger_fetchwait_window: str = _option(
        "10s",
        _duration("1s"),
        "fetchwait: length of the window",
    )
    trigger_peak_fraction: str = _option(
        "0",
        _number(1),
        "peak: a task holds more than this share of the executor's execution memory; 0 for never",
    )
    trigger_hung_time: str = _option(
        "60s",
        _duration(),
        "hung: neither CPU used nor a metric moved for this long; 0s for never",
    )
    trigger_explicitgc_on: bool = _option(
        True,
        _flag(),
        "explicitgc: System.gc() was called",
    )
    burst_duration: str = _option(
        "20s",
        _duration("1s"),
        "how long a burst records more after a rule fired",
    )
    burst_budget: str = _option(
        "0.1",
        _number(1),
        "most of an executor's time that bursts may take; the first is free",
    )
    burst_cooldown: str = _option(
        "60s",
        _duration(),
        "least time between two bursts of a stage",
    )
    burst_interval: str = _option(
        "5ms",
        _duration("1ms"),
        "as interval, in a burst",
    )
    burst_wall_interval: str = _option(
        "20ms",
        _duration("1ms"),
        "as wall.interval, in a burst",
    )
    burst_alloc_interval: str = _option(
        "512k",
        _size("1k"),
        "as alloc.interval, in a burst of gc or spill",
    )
    tmp_dir: str = _option(
        "",
        _text(),
        "directory for the native library and the recording; empty: the first that allows it of Spark's local "
        "directories, the working directory, java.io.tmpdir",
    )

    def __post_init__(self) -> None:
        for option in fields(self):
            kind: _Type = option.metadata["type"]
            given = getattr(self, option.name)
            try:
                value = kind.read(given)
            except (ValueError, TypeError, KeyError, AttributeError):
                raise ConfigError(
                    f"{self.key(option.name)}={given}: it takes {kind.takes}"
                ) from None
            object.__setattr__(self, option.name, value)

    @staticmethod
    def key(option: str) -> str:
        """The ``spark.probe.*`` key of an option (a field's name)."""
        return PREFIX + option.replace("_", ".")

    @classmethod
    def from_conf(cls, conf: Mapping[str, str]) -> ProbeConfig:
        """The options out of all of Spark's configuration; keys of others are ignored.

        Raises:
            ConfigError: a bad value, or a ``spark.probe.*`` key that is no option.
        """
        ours = {key: value for key, value in conf.items() if key.startswith(PREFIX)}
        return cls().with_options({_option_of(key): value for key, value in ours.items()})

    def with_options(self, options: Mapping[str, Any]) -> ProbeConfig:
        """A copy with these options (by field name) changed.

        ``triggers={"gc": {"fraction": 0.2}}`` stands for ``trigger_gc_fraction=0.2``.

        Raises:
            ConfigError: a bad value, or a name that is no option.
        """
        options = flat_options(options)
        known = {option.name for option in fields(self)}
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ConfigError(
                f"{unknown[0]} is no option of spark_probe; the options are {', '.join(sorted(known))}"
            )
        return replace(self, **options)

    def to_conf(self) -> dict[str, str]:
        """Every option as Spark's configuration: ``{"spark.probe.interval": "10ms", …}``."""
        return {
            self.key(option.name): _written(getattr(self, option.name)) for option in fields(self)
        }


def flat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by field name, with those under ``triggers`` brought to theirs."""
    flat = dict(options)
    rules = flat.pop("triggers", {})
    if not isinstance(rules, Mapping) or not all(
        isinstance(rule, Mapping) for rule in rules.values()
    ):
        raise ConfigError(
            f'triggers={rules}: it takes the rules with their options, such as {{"gc": {{"fraction": 0.2}}}}'
        )
    for rule, settings in rules.items():
        for name, value in settings.items():
            flat[f"trigger_{rule}_{name}"] = value
    return flat


def _option_of(key: str) -> str:
    for option in fields(ProbeConfig):
        if ProbeConfig.key(option.name) == key:
            return option.name
    known = ", ".join(ProbeConfig.key(option.name) for option in fields(ProbeConfig))
    raise ConfigError(f"{key} is no option of spark_probe; its keys are {known}")


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
