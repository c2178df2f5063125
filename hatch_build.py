"""Build hook: a wheel holds exactly one jar, of the wheel's own version, built with Gradle where it is not there.

An editable install uses the jar in the checkout, where this hook (or ``make jar``) puts it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What the jar is made of: a jar older than any of these is built again.
_SOURCES = (
    "jvm/src/main",
    "build.gradle",
    "settings.gradle",
    "gradle.properties",
    "LICENSE",
    "NOTICE",
)

_NO_GRADLE = (
    "spark_probe: the jar has to be built, and {missing} is not on the PATH.\n"
    "Install Gradle 4.4 or later and a JDK from 9 on (Debian, Ubuntu: `apt-get install gradle "
    "openjdk-17-jdk-headless`; macOS: `brew install gradle openjdk@17`) and try again,\n"
    "or install a released wheel (`pip install --only-binary :all: spark-probe`), which has the jar in it."
)


class JarHook(BuildHookInterface[Any]):
    """Called by hatchling before it collects a wheel's files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        jar = root / "spark_probe" / "jars" / f"spark-probe-{self.metadata.version}.jar"
        if not _is_fresh(jar, root):
            _build(jar, root)
        if version != "editable":
            build_data["force_include"][str(jar)] = f"spark_probe/jars/{jar.name}"
            # Printed by `spark-probe schema`; a checkout has it at the top.
            build_data["force_include"][str(root / "FORMAT.md")] = "spark_probe/FORMAT.md"


def _files(path: Path) -> Iterable[Path]:
    return path.rglob("*") if path.is_dir() else [path]


def _is_fresh(jar: Path, root: Path) -> bool:
    if not jar.is_file():
        return False
    built = jar.stat().st_mtime
    return all(
        file.stat().st_mtime <= built
        for name in _SOURCES
        for file in _files(root / name)
        if file.is_file()
    )


def _build(jar: Path, root: Path) -> None:
    for tool in ("gradle", "javac"):
        if shutil.which(tool) is None:
            raise SystemExit(_NO_GRADLE.format(missing=tool))
    built = root / "build" / "libs" / jar.name
    command = ["gradle", "--no-daemon", "--console=plain", "-q", "jar"]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True, check=False)
    if done.returncode != 0 or not built.is_file():
        raise SystemExit(
            f"spark_probe: `{' '.join(command)}` in {root} failed with exit code {done.returncode}:\n"
            f"{done.stdout}{done.stderr}"
        )
    jar.parent.mkdir(exist_ok=True)
    for other in jar.parent.glob("*.jar"):
        other.unlink()
    shutil.copyfile(built, jar)
