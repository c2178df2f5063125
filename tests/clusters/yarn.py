"""YARN and HDFS on loopback, in one JVM: MiniCluster.java with Hadoop's own mini clusters from Maven."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

from tests.clusters.processes import Process, run, wait_until
from tests.clusters.spark import LOOPBACK, SPARK_HOME

HERE = Path(__file__).parent

LOG4J = """\
log4j.rootLogger=WARN,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n
"""


def classpath(build_dir: Path, log_dir: Path) -> str:
    """Compiles MiniCluster.java if need be and returns the class path to run it with."""
    command = ["gradle", "--no-daemon", "-q", "-p", str(HERE), f"-PoutputDir={build_dir}"]
    command += ["--project-cache-dir", str(build_dir / ".gradle"), "writeClasspath"]
    run(command, log_dir, timeout_s=600).check()
    return (build_dir / "classpath.txt").read_text()


@final
class MiniCluster:
    """``services`` is "yarn", "hdfs" or "yarn,hdfs". Use as a context manager; it takes 10 to 30 s to start."""

    def __init__(
        self, folder: Path, build_dir: Path, services: str = "yarn", settings: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.conf_dir = folder / "conf"
        self._build_dir, self._services, self._settings = build_dir, services, settings
        self._process: Process | None = None

    def __enter__(self) -> MiniCluster:
        jars = classpath(self._build_dir, self.folder)
        log4j = self.folder / "log4j.properties"
        log4j.write_text(LOG4J)
        # Hadoop opens JDK internals by reflection, and the container scripts find Java by JAVA_HOME.
        command = [
            "java",
            "-Xmx1g",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            f"-Dlog4j.configuration=file:{log4j}",
        ]
        command += ["-cp", jars, "MiniCluster", str(self.folder), self._services, *self._settings]
        process = Process(
            command,
            self.folder,
            {"SPARK_LOCAL_IP": LOOPBACK, "JAVA_HOME": _java_home()},
            self.folder,
        )
        self._process = process

        def ready() -> bool:
            assert process.running, process.describe()
            return (self.folder / "READY").exists()

        try:
            wait_until(ready, 120, f"mini cluster ({self._services})", 0.5)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self._process is not None:
            # An orderly stop waits 30 s for threads that are of no use to a test.
            self._process.stop(grace_s=5)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def env(self) -> dict[str, str]:
        """What a driver's environment needs besides `spark_env`."""
        return {"HADOOP_CONF_DIR": str(self.conf_dir), "YARN_CONF_DIR": str(self.conf_dir)}

    def conf(self, env: Mapping[str, str]) -> dict[str, str]:
        """Spark conf for ``--master yarn``; ``env`` (as `spark_env` gives it) is passed on to the containers."""
        conf = {
            "spark.yarn.jars": f"local:{SPARK_HOME / 'jars'}/*",
            "spark.yarn.stagingDir": f"file://{self.folder / 'staging'}",
            "spark.yarn.maxAppAttempts": "1",
            "spark.yarn.am.memory": "512m",
            "spark.executor.memory": "600m",
            "spark.executor.instances": "2",
        }
        for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYTHONPATH"):
            conf[f"spark.yarn.appMasterEnv.{name}"] = env[name]
            conf[f"spark.executorEnv.{name}"] = env[name]
        return conf


def _java_home() -> str:
    shown = subprocess.run(
        ["java", "-XshowSettings:properties", "-version"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    return next(
        line.split("=", 1)[1].strip()
        for line in shown.splitlines()
        if line.strip().startswith("java.home")
    )
