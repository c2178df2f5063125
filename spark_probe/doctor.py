"""Can this machine, or this cluster, be profiled; and if not, what to do: facts of each JVM, and rules on them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_probe.config import ProbeConfig
from spark_probe.errors import SparkProbeError
from spark_probe.jar import jar_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Advice", "Diagnosis", "check", "check_machine", "diagnose"]

Facts = Mapping[str, str]


@dataclass(frozen=True)
class Advice:
    """One thing that hinders profiling, or makes it worse.

    `severity` is ``error`` (nothing is recorded there) or ``note`` (less, or less exact); `where` are executor ids.
    """

    severity: str
    where: tuple[str, ...]
    what: str
    do: str


@dataclass(frozen=True)
class Diagnosis:
    """The facts of each JVM by executor id (``machine`` where there is no Spark), and what follows from them."""

    jvms: dict[str, dict[str, str]]
    advice: tuple[Advice, ...]

    @property
    def ok(self) -> bool:
        """Nothing hinders profiling anywhere."""
        return all(item.severity != "error" for item in self.advice)


def check_machine(directories: tuple[str, ...] = ()) -> Diagnosis:
    """Looks at this machine with the JDK that Spark would take (``JAVA_HOME``, else ``java`` on the path).

    Args:
        directories: where the native library may be put; the temporary and the working directory by default.

    Raises:
        SparkProbeError: there is no JDK, or it does not run.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise SparkProbeError("no java on the PATH and no JAVA_HOME; install a JDK, 8 or later")
    command = [java, "-cp", str(jar_path()), "io.sparkprobe.Doctor", *directories]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkProbeError(f"{java} does not run: {error}") from error
    if done.returncode != 0:
        raise SparkProbeError(f"{java} failed: {(done.stderr or done.stdout).strip()[:500]}")
    return diagnose({"machine": _facts(done.stdout)})


def check(spark: SparkSession, timeout: str = "30s", **options: Any) -> Diagnosis:
    """Looks at the driver and each executor of a running session, profiled or not.

    Args:
        spark: a session of classic Spark.
        timeout: how long to wait for executors; those whose slots are all taken may not answer.
        options: the fields of `ProbeConfig` that profiling would be started with.

    Raises:
        ConfigError: a bad option.
        SessionError: as `spark_probe.enable`.
    """
    from spark_probe.config import PREFIX, parse_duration_ns
    from spark_probe.gateway import attach_object, context_of, jvm_errors

    sc = context_of(spark)
    conf = {key: value for key, value in sc.getConf().getAll() if key.startswith(PREFIX)}
    config = ProbeConfig.from_conf(conf).with_options(options)
    jvms: dict[str, dict[str, str]] = {}
    with jvm_errors():
        attach = attach_object(spark, sc)
        timeout_ms = parse_duration_ns(timeout) // 1_000_000
        for answer in attach.doctor(sc._jsc, config.to_conf(), str(jar_path()), timeout_ms):
            executor, _, text = str(answer).partition("\n")
            jvms.setdefault(executor, {}).update(_facts(text))
    return diagnose(jvms)


def _facts(text: str) -> dict[str, str]:
    pairs = (line.partition("\t") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name}


def diagnose(jvms: dict[str, dict[str, str]]) -> Diagnosis:
    """Applies each rule to each JVM; the same advice for several is given once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for executor, facts in jvms.items():
        for rule in RULES:
            for severity, what, do in rule(facts):
                found.setdefault((severity, what, do), []).append(executor)
    advice = [
        Advice(severity, tuple(where), what, do) for (severity, what, do), where in found.items()
    ]
    return Diagnosis(jvms, tuple(sorted(advice, key=lambda item: item.severity != "error")))


Found = Iterator[tuple[str, str, str]]


def _answered(facts: Facts) -> Found:
    if not facts:
        yield (
            "note",
            "the executor did not answer in time",
            "its slots may all be taken: wait, or ask again with a longer timeout",
        )


def _native(facts: Facts) -> Found:
    native = facts.get("native", "loaded")
    if native != "loaded":
        yield "error", f"async-profiler does not load: {native}", _native_remedy(facts, native)


def _native_remedy(facts: Facts, native: str) -> str:
    if "another" in native or "no async-profiler for" in native:
        return "see above: there is no way around it in this JVM"
    if facts.get("libc") == "musl":
        return "the JVM runs on musl; take an image whose JDK runs on glibc if the library is refused for its libc"
    return (
        "set spark.probe.tmp.dir to a directory that allows execution (not mounted noexec) and can be written to; "
        f"tried were {facts.get('directories', 'none')}"
    )


def _other_profilers(facts: Facts) -> Found:
    if facts.get("other_profilers"):
        yield (
            "error",
            f"another profiler is loaded: {facts['other_profilers']}",
            "two cannot share a JVM's signals: remove that agent or plugin while spark_probe is on",
        )


def _engine(facts: Facts) -> Found:
    if facts.get("native") != "loaded" or facts.get("recording") == "true":
        return
    ctimer, itimer = facts.get("engine_ctimer", ""), facts.get("engine_itimer", "")
    if ctimer != "ok" and itimer != "ok":
        yield (
            "error",
            f"no engine samples CPU time here (ctimer: {ctimer}; itimer: {itimer})",
            "a seccomp profile may forbid timers: allow timer_create, or record events=wall,alloc,lock only",
        )
    elif ctimer != "ok" and facts.get("os") == "Linux":
        yield (
            "note",
            f"the engine ctimer is not to be had ({ctimer}); itimer is used, which is less fair to many threads",
            "nothing has to be done",
        )
    if facts.get("engine_alloc", "ok") != "ok":
        yield (
            "note",
            f"allocations cannot be sampled: {facts['engine_alloc']}",
            "JDK 11 or later samples them without debug symbols; on JDK 8 install those of the JDK",
        )


def _perf(facts: Facts) -> Found:
    paranoid = facts.get("perf_event_paranoid", "")
    if paranoid.lstrip("-").isdigit() and int(paranoid) > 1:
        yield (
            "note",
            f"kernel frames cannot be sampled (perf_event_paranoid={paranoid}); the default engine, "
            "ctimer, needs none of it",
            "for engine=perf: sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0, and in a container "
            "allow perf_event_open in its seccomp profile",
        )


def _safepoints(facts: Facts) -> Found:
    if facts.get("debug_non_safepoints") == "false":
        yield (
            "note",
            "DebugNonSafepoints is off: in inlined code a sample may be put down to a line nearby",
            "spark_probe.configure sets it; or add -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints to "
            "spark.executor.extraJavaOptions and spark.driver.extraJavaOptions",
        )


def _agents(facts: Facts) -> Found:
    if facts.get("agents"):
        yield (
            "note",
            f"agents are loaded: {facts['agents']}",
            "one that profiles by itself has to go; others do no harm",
        )


def _folder(facts: Facts) -> Found:
    writable = facts.get("folder_writable", "ok")
    if writable not in ("ok", "not needed"):
        where = f" {facts['folder']}" if facts.get("folder") else ""
        yield (
            "error",
            f"the folder of the run folders{where} cannot be written to: {writable}",
            "set spark.probe.dir to one that can, on a file system that the whole cluster reaches",
        )


RULES: tuple[Callable[[Facts], Found], ...] = (
    _answered,
    _native,
    _other_profilers,
    _engine,
    _folder,
    _perf,
    _safepoints,
    _agents,
)
