"""Turning the profiler on: before a session starts, or in one that is running."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from spark_probe.config import PREFIX, ProbeConfig, flat_options, parse_duration_ns
from spark_probe.errors import ConfigError, ProbeWarning, SessionError
from spark_probe.gateway import CONF_WAY, PLUGIN, attach_object, context_of, jvm_errors, load_jar
from spark_probe.jar import jar_path
from spark_probe.launch import LaunchConf

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from spark_probe.profile import Profile

__all__ = ["Probe", "configure", "enable"]

#: Local property that names the part of the job a thread is in; Spark keeps it in each job's properties.
SECTION = "spark.probe.section"

# Without them a sample between two safepoints is put down to the line of the last one.
_JVM_OPTIONS = "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"


def configure(builder: SparkSession.Builder, **options: Any) -> SparkSession.Builder:
    """Adds the profiler to a session that is about to be made; what it has in its configuration stays.

    The plugin is appended to ``spark.plugins`` and the jar to ``spark.jars``; the JVM options of executors and driver
    get the two flags that make samples exact to the line.

    Args:
        builder: ``SparkSession.builder``, with or without options of its own.
        options: the fields of `ProbeConfig`; they win over ``spark.probe.*`` keys that are set already.

    Returns:
        The builder.

    Raises:
        ConfigError: a bad option.
        SessionError: the builder makes a Spark Connect session, or a session is running already.
    """
    _refuse_connect(builder)
    launch = LaunchConf(builder)
    present = {key: value for key, value in launch.all().items() if key.startswith(PREFIX)}
    config = ProbeConfig.from_conf(present).with_options(options)
    _refuse_running()
    if launch.jvm is not None:
        # A JVM that runs does not look at spark.jars, and Spark would fail on a plugin that it does not find.
        with jvm_errors():
            load_jar(launch.jvm)
    conf = config.to_conf()
    for name in options:
        launch.set(ProbeConfig.key(name), conf[ProbeConfig.key(name)])
    jar = jar_path()
    plugins = launch.all().get("spark.plugins", "")
    if PLUGIN not in [plugin.strip() for plugin in plugins.split(",")]:
        launch.append("spark.plugins", PLUGIN, ",")
    jars = launch.all().get("spark.jars", "")
    if jar.name not in [item.strip().rpartition("/")[2] for item in jars.split(",")]:
        launch.append("spark.jars", jar.as_uri(), ",")
    # The driver's options are read when its JVM starts.
    for role in ["executor"] if launch.jvm is not None else ["executor", "driver"]:
        key = f"spark.{role}.extraJavaOptions"
        if "DebugNonSafepoints" not in launch.all().get(key, ""):
            launch.append(key, _JVM_OPTIONS, " ")
    return builder


def _refuse_connect(builder: SparkSession.Builder) -> None:
    options = getattr(builder, "_options", {})
    mode = options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))
    if (
        type(builder).__module__.startswith("pyspark.sql.connect")
        or "spark.remote" in options
        or "SPARK_REMOTE" in os.environ
        or "SPARK_CONNECT_MODE_ENABLED" in os.environ
        or str(mode).lower() == "connect"
    ):
        raise SessionError(
            "this builder makes a Spark Connect session, whose client configures no JVM. "
            f"On the Connect server, {CONF_WAY}"
        )


def _refuse_running() -> None:
    from pyspark import SparkContext

    sc = SparkContext._active_spark_context
    if sc is None or sc._jsc is None:
        return
    if PLUGIN not in sc.getConf().get("spark.plugins", ""):
        raise SessionError(
            "a Spark session is running already, and what configure sets is read when one starts; "
            "use spark_probe.enable(spark), or stop the session first"
        )


def enable(spark: SparkSession, *, timeout: str = "10s", **options: Any) -> Probe:
    """Starts profiling in a session that is running, or takes hold of the profiling that is on in it.

    Tasks that are running are known from now on: samples of them that lie before do not exist. An executor whose
    slots are all taken is attached when the first of them is free, and those that come later when they come.

    Args:
        spark: a session of classic Spark.
        timeout: how long to wait for executors that are busy, before this returns without them.
        options: the fields of `ProbeConfig`; they win over ``spark.probe.*`` keys of the session's configuration.

    Raises:
        ConfigError: a bad option, or one that cannot be changed while profiling is on.
        SessionError: a Spark Connect session, a stopped one, or one whose JVM cannot be reached.
    """
    timeout_ms = _timeout_ms(timeout)
    sc = context_of(spark)
    conf = {key: value for key, value in sc.getConf().getAll() if key.startswith(PREFIX)}
    config = ProbeConfig.from_conf(conf).with_options(options)
    with jvm_errors():
        attach = attach_object(spark, sc)
        control = attach.current()
        if control is not None:
            _refuse_changes(config, options, json.loads(control.confJson()))
            return Probe(sc, attach, control, owner=False)
        if config.mode == "off":
            raise ConfigError(f"{PREFIX}mode=off: there is nothing to enable; leave the key out")
        control = attach.start(sc._jsc, config.to_conf(), str(jar_path()), timeout_ms)
        probe = Probe(sc, attach, control, owner=True)
        probe._warn_of_missing(json.loads(attach.executorsJson()))
    return probe


def _timeout_ms(timeout: str) -> int:
    try:
        return parse_duration_ns(timeout) // 1_000_000
    except (ValueError, AttributeError):
        raise ConfigError(f"timeout={timeout}: it takes a duration such as 10s or 1m") from None


def _refuse_changes(config: ProbeConfig, options: dict[str, Any], running: dict[str, str]) -> None:
    wanted = config.to_conf()
    for name in flat_options(options):
        key = ProbeConfig.key(name)
        if running[key] != wanted[key]:
            raise ConfigError(
                f"{key}={wanted[key]}: profiling is on with {running[key]}, and this cannot be changed while it is on; "
                "call probe.stop(), then enable again"
            )


class Probe:
    """Profiling that is on. As a context manager it stops at the end what `enable` has started.

    A session that was configured with the plugin goes on recording after the ``with`` block; `stop` ends that too.
    """

    def __init__(self, sc: SparkContext, attach: Any, control: Any, owner: bool) -> None:
        self._sc = sc
        self._attach = attach
        self._control = control
        self._owner = owner
        self._running = True
        self._url = str(control.runFolder())
        self._copy: Path | None = None

    @property
    def path(self) -> str:
        """The run folder: a path where it is on this machine, else its Hadoop URL."""
        parsed = urlparse(self._url)
        return unquote(parsed.path) if parsed.scheme in ("", "file") else self._url

    def status(self) -> dict[str, dict[str, Any]]:
        """Each executor's last heartbeat, by executor id; the keys are those of ``status.json`` (FORMAT.md)."""
        with jvm_errors():
            status: dict[str, dict[str, Any]] = json.loads(self._control.statusJson())
        return status

    def triggers(self) -> pa.Table:
        """What has fired up to the last flush: the run folder's table ``trigger`` (FORMAT.md), one row a firing."""
        return self.profile().triggers

    def burst(self, stage: int | None = None, seconds: float = 20.0) -> None:
        """Has the executors that run tasks of a stage (of any, where it is None) record more for some seconds.

        Each executor records one burst at a time; the budget of bursts that rules start does not count here.
        """
        with jvm_errors():
            self._control.burst(-1 if stage is None else stage, float(seconds))

    def dump(self, task: int) -> None:
        """Has the executor that runs a task (by Spark's task id) write down its thread's stack and locks.

        It is in the table ``dumps`` of the next `profile`. Nothing happens where no executor runs the task.
        """
        with jvm_errors():
            self._control.dump(task)

    def profile(self, timeout: str = "10s") -> Profile:
        """What has been recorded up to now. While profiling is on, each live executor flushes first.

        Args:
            timeout: how long to wait for the flushes. Executors that are late are named in a `ProbeWarning`; what they
                recorded since their last flush is in a later profile.

        Raises:
            SessionError: the driver's JVM does not answer.
            RunError: the run folder cannot be read.
        """
        from spark_probe.profile import load

        timeout_ms = _timeout_ms(timeout)
        if self._running and self._sc._jsc is not None:
            with jvm_errors():
                late = json.loads(self._control.flushJson(timeout_ms))["late"]
                missing = json.loads(self._attach.executorsJson())
            if late:
                warnings.warn(
                    f"no flush within {timeout} from executor {', '.join(sorted(late))}; "
                    "the profile has what they sent before",
                    ProbeWarning,
                    stacklevel=2,
                )
            self._warn_of_missing(missing)
        return load(self._local_folder())

    def stop(self) -> None:
        """Ends profiling on the driver and all executors, after their last flush. Harmless when it has ended.

        What was attached is detached: the executors have the plugins that they had before.
        """
        if self._running and self._sc._jsc is not None:
            with jvm_errors():
                self._control.stop()
        self._running = False

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Names a part of the job: the jobs that this thread starts inside are grouped under it.

        Sections nest; inside an inner one its own name counts.
        """
        before = self._sc.getLocalProperty(SECTION)
        self._sc.setLocalProperty(SECTION, name)
        try:
            yield
        finally:
            self._sc.setLocalProperty(SECTION, before)  # type: ignore[arg-type]

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owner:
            self.stop()

    def __repr__(self) -> str:
        return f"<Probe {'on' if self._running else 'stopped'}: {self.path}>"

    def _warn_of_missing(self, executors: dict[str, Any]) -> None:
        if executors["waiting"]:
            warnings.warn(
                f"not attached yet: executor {', '.join(executors['waiting'])}, whose slots are all taken; "
                "it is when the first of them is free",
                ProbeWarning,
                stacklevel=3,
            )
        for executor, reason in executors["failed"].items():
            warnings.warn(
                f"executor {executor} is not profiled: {reason}", ProbeWarning, stacklevel=3
            )

    def _local_folder(self) -> str:
        """The run folder on this machine; one that is elsewhere is copied, each file once."""
        if self.path != self._url:
            return self.path
        if self._copy is None:
            # It lives as long as this process: profiles are read from it.
            parent = tempfile.mkdtemp(prefix="spark-probe-")
            atexit.register(shutil.rmtree, parent, ignore_errors=True)
            self._copy = Path(parent, self._url.rstrip("/").rpartition("/")[2])
        with jvm_errors():
            self._attach.copyRun(self._sc._jsc, self._url, str(self._copy))
        return str(self._copy)
