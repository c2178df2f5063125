"""What is exported, what an import costs, and that jar, wheel and package have one version."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import spark_probe
from spark_probe.jar import jar_path

ROOT = Path(__file__).parents[1]


def test_the_public_names() -> None:
    assert spark_probe.__all__ == [
        "ConfigError",
        "FlameGraph",
        "Probe",
        "ProbeConfig",
        "ProbeWarning",
        "Profile",
        "RunError",
        "SessionError",
        "SparkProbeError",
        "Stage",
        "__version__",
        "configure",
        "enable",
        "load",
    ]
    for name in spark_probe.__all__:
        assert getattr(spark_probe, name) is not None
    assert set(spark_probe.__all__) <= set(dir(spark_probe))
    with pytest.raises(AttributeError, match="no attribute 'enabel'"):
        spark_probe.enabel  # noqa: B018


def test_importing_it_imports_neither_spark_nor_arrow() -> None:
    code = (
        "import sys, spark_probe, spark_probe.config\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_one_version() -> None:
    text = (ROOT / "gradle.properties").read_text()
    found = re.search(r"^version=(.+)$", text, re.MULTILINE)
    assert found is not None
    assert spark_probe.__version__ == found[1]
    with zipfile.ZipFile(jar_path()) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    assert f"Implementation-Version: {found[1]}\r\n" in manifest


def test_the_jar_holds_what_it_should_and_nothing_else() -> None:
    with zipfile.ZipFile(jar_path()) as jar:
        names = [name for name in jar.namelist() if not name.endswith("/")]
    tops = {name.split("/")[0] for name in names}
    assert tops <= {"META-INF", "io", "one", "linux-x64", "linux-arm64", "macos"}
    assert {"META-INF/LICENSE", "META-INF/NOTICE"} <= set(names)
    assert len(names) == len(set(names))
    assert sum(name.endswith("libasyncProfiler.so") for name in names) >= 2


@pytest.mark.slow
def test_a_wheel_has_one_jar_and_an_sdist_can_make_it(tmp_path: Path) -> None:
    """Builds the sdist, and the wheel from it: so the jar is built with Gradle from what the sdist carries."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "-o", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,) = tmp_path.glob("*.tar.gz")
    (wheel,) = tmp_path.glob("*.whl")
    version = spark_probe.__version__
    assert sdist.name == f"spark_probe-{version}.tar.gz"
    assert wheel.name == f"spark_probe-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"spark_probe-{version}.dist-info/METADATA").decode()
    assert [name for name in names if name.endswith(".jar")] == [
        f"spark_probe/jars/spark-probe-{version}.jar"
    ]
    assert {"spark_probe/FORMAT.md", "spark_probe/py.typed"} <= set(names)
    assert not [name for name in names if not name.startswith("spark_probe")]
    assert f"\nVersion: {version}\n" in metadata


def test_without_gradle_the_build_says_what_to_install(tmp_path: Path) -> None:
    """The hook itself, in a copy of the tree without a jar, on a PATH with nothing on it."""
    for name in ("build.gradle", "gradle.properties", "settings.gradle", "hatch_build.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    code = (
        "from pathlib import Path; import hatch_build\n"
        "hatch_build._build(Path('spark_probe/jars/x.jar'), Path('.'))"
    )
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": ""},
    )
    assert done.returncode == 1
    assert "gradle is not on the PATH" in done.stderr
    assert "apt-get install gradle openjdk-17-jdk-headless" in done.stderr
