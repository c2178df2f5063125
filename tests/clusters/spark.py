"""Spark itself: sessions in this process, drivers in another, and a standalone master with a worker."""

from __future__ import annotations

import os
import re
import shlex
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import pyspark
from pyspark.sql import SparkSession

from tests.clusters.processes import Finished, Process, free_port, wait_until

SPARK_HOME = Path(pyspark.__file__).parent
SPARK_VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])

LOOPBACK = "127.0.0.1"

#: What every test's Spark has: loopback only, no web page, few partitions.
BASE_CONF: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
    # Else the tracker's numbers of running tasks stand still for as long as no further event comes.
    "spark.ui.liveUpdate.period": "0s",
}

LOCAL = "local[4]"
LOCAL_CLUSTER = "local-cluster[2,1,1024]"


def spark_env(java_home: Path | None = None) -> dict[str, str]:
    """The environment of a driver: loopback, this interpreter for its workers, and this checkout importable."""
    root = Path(__file__).parents[2]
    env = {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # C2 gives an inlined loop no debug information of its own, whatever the flags: samples in it are its caller's.
        "JAVA_TOOL_OPTIONS": "-XX:CompileCommand=quiet -XX:CompileCommand=dontinline,probetest.*::burn*",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")])),
    }
    if java_home is not None:
        env["JAVA_HOME"] = str(java_home)
    return env


def _conf_words(master: str, conf: Mapping[str, str]) -> list[str]:
    words = ["--master", master]
    for key, value in {**BASE_CONF, **conf}.items():
        words += ["--conf", f"{key}={value}"]
    return words


class Drivers:
    """Starts driver programs as processes of their own, under spark-submit or as ``python SCRIPT``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(
        self,
        script: Path,
        args: Sequence[str] = (),
        master: str = LOCAL,
        conf: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        java_home: Path | None = None,
        submit: bool = True,
    ) -> Process:
        """Starts ``script`` in this object's folder; the caller stops it (`Process.stop`) or waits (`Process.wait`).

        Without ``submit`` it is plain Python whose session, when it builds one, gets the same master and conf.
        """
        words = _conf_words(master, conf or {})
        wanted = {**spark_env(java_home), **(env or {})}
        if submit:
            command = [str(SPARK_HOME / "bin" / "spark-submit"), *words, str(script), *args]
        else:
            command = [sys.executable, str(script), *args]
            wanted["PYSPARK_SUBMIT_ARGS"] = shlex.join([*words, "pyspark-shell"])
        return Process(command, self.folder, wanted, self.folder)

    def run(
        self, script: Path, args: Sequence[str] = (), timeout_s: float = 180, **options: Any
    ) -> Finished:
        """`start` with the same options, to its end; the exit code is the caller's to check."""
        return self.start(script, args, **options).wait(timeout_s)


class Sessions:
    """SparkSessions in this process, where there can be but one at a time: another master or conf ends the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key: tuple[str, tuple[tuple[str, str], ...]] | None = None
        self._session: SparkSession | None = None

    def get(self, master: str = LOCAL, conf: Mapping[str, str] | None = None) -> SparkSession:
        """The running session if it is of this master and conf, else a new one."""
        wanted = {
            **BASE_CONF,
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
            "spark.local.dir": str(self._folder / "local"),
            **(conf or {}),
        }
        key = (master, tuple(sorted(wanted.items())))
        if self._session is not None and self._key == key:
            return self._session
        self.stop()
        builder = SparkSession.builder.master(master).appName("spark-probe tests")
        for name, value in wanted.items():
            builder = builder.config(name, value)
        self._session, self._key = builder.getOrCreate(), key
        self._session.sparkContext.setLogLevel("WARN")
        return self._session

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()
        self._session = self._key = None

    def close(self) -> None:
        """Ends the session and its JVM."""
        self.stop()
        from pyspark import SparkContext

        gateway = SparkContext._gateway
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(30)
            SparkContext._gateway = SparkContext._jvm = None


@final
class Standalone:
    """A standalone master and one worker, on loopback. Use as a context manager; ``url`` is the master's."""

    def __init__(
        self, folder: Path, cores: int = 4, memory: str = "3g", java_home: Path | None = None
    ) -> None:
        self.folder = folder
        self.work_dir = folder / "work"
        self._cores, self._memory, self._java_home = cores, memory, java_home
        self._port, self._web_port = free_port(), free_port()
        self._processes: list[Process] = []

    @property
    def url(self) -> str:
        return f"spark://{LOOPBACK}:{self._port}"

    def _start(self, name: str, *words: str) -> None:
        command = [
            str(SPARK_HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{name}",
            *words,
        ]
        self._processes.append(
            Process(command, self.folder, spark_env(self._java_home), self.folder)
        )

    def _workers_alive(self) -> bool:
        for process in self._processes:
            assert process.running, process.describe()
        try:
            with urllib.request.urlopen(
                f"http://{LOOPBACK}:{self._web_port}/json/", timeout=5
            ) as answer:
                return re.search(rb'"aliveworkers"\s*:\s*1\b', answer.read()) is not None
        except OSError:
            return False

    def __enter__(self) -> Standalone:
        try:
            self._start(
                "master.Master",
                "--host",
                LOOPBACK,
                "--port",
                str(self._port),
                "--webui-port",
                str(self._web_port),
            )
            self._start(
                "worker.Worker",
                *(
                    "--host",
                    LOOPBACK,
                    "--webui-port",
                    str(free_port()),
                    "--cores",
                    str(self._cores),
                ),
                *("--memory", self._memory, "--work-dir", str(self.work_dir), self.url),
            )
            wait_until(self._workers_alive, 90, "standalone master with a worker", 0.5)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()

    def __exit__(self, *_: object) -> None:
        self.stop()


def java_home(major: int) -> Path | None:
    """A JDK of this major version among those installed on the machine, or None."""
    for release in sorted(Path("/usr/lib/jvm").glob("*/release")):
        if re.search(
            rf'^JAVA_VERSION="{major}[."]', release.read_text(errors="replace"), re.MULTILINE
        ):
            return release.parent
    return None
