"""The commands that read a run folder: what they print, their JSON, their exit codes."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from spark_probe import FlameGraph, __version__, cli, load
from spark_probe.cli import main
from tests.builders import RunBuilder, damage, sample
from tests.test_profile import rich_run

ROOT = Path(__file__).parents[1]


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args], prog_name="spark-probe")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rich_run(tmp_path_factory.mktemp("runs") / "app-1").path


# --- the group


def test_help_names_every_command() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "Exit codes: 0, 1 a problem was found, 2 wrong usage or unreadable input." in done.output
    modules = [m.name for m in pkgutil.iter_modules(cli.__path__) if not m.name.startswith("_")]
    assert {"collapsed", "flamegraph", "report", "schema", "stages", "totals"} <= set(modules)
    for name in modules:
        assert f"\n  {name} " in done.output
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.help, f"{name} has no docstring"
        assert run(name, "--help").exit_code == 0


def test_a_command_that_is_none() -> None:
    done = run("stage")
    assert done.exit_code == 2
    assert "No such command 'stage'" in done.output
    assert run("_run").exit_code == 2
    assert f"spark-probe, version {__version__}" in run("--version").output


def test_a_command_loads_only_what_it_needs() -> None:
    code = (
        "import sys; from spark_probe.cli import main\n"
        "try: main(['schema'], prog_name='spark-probe')\n"
        "except SystemExit: pass\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'rich') if m in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout == (ROOT / "FORMAT.md").read_text(encoding="utf-8")


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spark_probe", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == f"spark-probe, version {__version__}"


# --- stages, totals


def test_stages(folder: Path) -> None:
    done = run("stages", folder)
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines() if "count at" in line]
    assert rows == [
        ["0.0", "count", "at", "job.py:0", "2", "0.4", "s", "0.1", "s", "17", "4", "4"],
        ["0.1", "count", "at", "job.py:0", "1", "0.1", "s", "0.1", "s", "7"],
        ["1.0", "count", "at", "job.py:1", "1", "6"],
    ]


def test_stages_json(folder: Path) -> None:
    done = run("stages", folder, "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert list(answer) == ["path", "stages", "notes"]
    assert answer["path"] == str(folder)
    stage = answer["stages"][0]
    assert list(stage) == [
        "id",
        "attempt",
        "name",
        "status",
        "submitted_ms",
        "completed_ms",
        "job_ids",
        "sql_execution_id",
        "tasks",
        "samples",
        "kinds",
        "metrics",
        "coverage",
    ]
    assert stage["samples"]["cpu"] == {"samples": 17, "value": 170_000_000, "unit": "ns"}
    assert stage["kinds"]["cpu"] == {"task": 15, "python-writer": 2}
    assert list(stage["metrics"]["run_ms"]) == [
        "unit",
        "tasks",
        "total",
        "min",
        "p25",
        "p50",
        "p75",
        "p95",
        "max",
    ]
    assert stage["coverage"] == {"executors": ["1"], "unprofiled": [], "partial": []}
    assert [(s["id"], s["attempt"], s["status"]) for s in answer["stages"]] == [
        (0, 0, "complete"),
        (0, 1, "complete"),
        (1, 0, "running"),
    ]


def test_totals(folder: Path) -> None:
    done = run("totals", folder)
    assert done.exit_code == 0
    assert "3 seen, 3 profiled, 0 partial" in done.stdout
    assert "59 samples, 0.6 s, 49.2% outside tasks" in done.stdout


def test_totals_json(folder: Path) -> None:
    answer = json.loads(run("totals", folder, "--json").stdout)
    assert list(answer) == [
        "path",
        "app_id",
        "app_name",
        "spark_version",
        "mode",
        "start_ms",
        "end_ms",
        "stages",
        "tasks",
        "events",
        "sample_rows",
        "stacks",
        "frames",
        "files",
        "bytes",
        "coverage",
    ]
    assert answer["events"]["cpu"] == {
        "samples": 59,
        "value": 590_000_000,
        "unit": "ns",
        "kinds": {"task": 28, "gc": 20, "driver": 9, "python-writer": 2},
    }
    cover = answer["coverage"]
    assert list(cover) == [
        "seen",
        "profiled",
        "partial",
        "samples_lost",
        "outside_tasks",
        "outside_share",
        "executors",
        "notes",
    ]
    assert list(cover["executors"][0]) == [
        "id",
        "host",
        "state",
        "reason",
        "engine",
        "samples",
        "samples_recorded",
        "samples_lost",
        "files",
        "bytes",
        "profiled",
        "partial",
        "missing",
        "notes",
    ]
    assert (answer["stages"], answer["tasks"], answer["stacks"], answer["frames"]) == (3, 4, 8, 10)


def test_documented_keys_are_those_that_are_there(folder: Path) -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in ("stages", "totals"):
        answer = json.loads(run(command, folder, "--json").stdout)
        section = text.split(f"### `{command}`")[1].split("###")[0]
        help_text = run(command, "--help").output
        for key in keys_of(answer):
            assert key in section, f"docs/cli.md: {command} has the key {key}"
            assert key in help_text, f"{command} --help: it has the key {key}"


def keys_of(answer: dict[str, Any]) -> set[str]:
    """Names of keys, but for those that the data chose (events, kinds, metrics)."""
    found = set(answer)
    for part in (answer.get("stages"), answer.get("coverage", {}).get("executors")):
        if isinstance(part, list):
            found |= set(part[0])
    return found | set(answer.get("coverage", {}))


# --- graphs


def test_collapsed_of_a_stage(folder: Path) -> None:
    assert run("collapsed", folder, "--stage", "0.0").stdout == (
        "run;scan 10\nrun;scan;hash 5\nrun;write 2\n"
    )
    assert run("collapsed", folder, "--stage", "0").stdout == "run;scan 7\n"
    assert run("collapsed", folder, "--stage", "0.0", "--event", "alloc").stdout == "run;byte[] 4\n"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--task", "1"), "run;scan;hash 5\nrun;write 2\n"),
        (("--task", "0", "--task", "1"), "run;scan 10\nrun;scan;hash 5\nrun;write 2\n"),
        (("--kind", "python-writer"), "run;write 2\n"),
        (("--include", "^hash$"), "run;scan;hash 5\n"),
        (("--exclude", "scan"), "run;write 2\n"),
        (("--types",), "run_[j];scan_[j] 10\nrun_[j];scan_[j];hash_[j] 5\nrun_[j];write_[j] 2\n"),
        (
            ("--value", "value"),
            "run;scan 100000000\nrun;scan;hash 50000000\nrun;write 20000000\n",
        ),
        (("--lines",), "run;scan 10\nrun;scan;hash 5\nrun;write 2\n"),
    ],
)
def test_collapsed_options(folder: Path, options: tuple[str, ...], text: str) -> None:
    assert run("collapsed", folder, "--stage", "0.0", *options).stdout == text


def test_collapsed_of_the_whole_run_is_read_back(folder: Path, tmp_path: Path) -> None:
    done = run("collapsed", folder, "-o", tmp_path / "all.collapsed")
    assert (done.exit_code, done.stdout) == (0, "")
    read = FlameGraph.from_collapsed((tmp_path / "all.collapsed").read_bytes())
    assert read.total == 59
    assert read.collapsed() == load(folder).flamegraph("cpu").collapsed()


def test_flamegraph(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "stage.html"
    done = run("flamegraph", folder, "--stage", "0.0", "-o", target)
    assert (done.exit_code, done.stdout) == (0, f"{target}\n")
    page = target.read_text(encoding="utf-8")
    assert "<title>cpu, stage 0.0: count at job.py:0</title>" in page
    assert run("flamegraph", folder).exit_code == 2


def test_report(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    assert run("report", folder, "-o", target).stdout == f"{target}\n"
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    monkeypatch.chdir(tmp_path)
    assert run("report", folder).exit_code == 0
    assert Path("report.html").is_file()


# --- what goes wrong


def test_no_such_sample_is_a_problem(folder: Path, tmp_path: Path) -> None:
    done = run("collapsed", folder, "--stage", "1", "--event", "lock")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "there are no lock samples; stage 1.0 has samples of cpu\n"
    done = run("collapsed", folder, "--stage", "1", "--task", "99")
    assert done.stderr == (
        "there are no cpu samples of that choice; stage 1.0 has samples of cpu\n"
    )
    target = tmp_path / "none.html"
    done = run("flamegraph", folder, "--event", "lock", "-o", target)
    assert done.exit_code == 1
    assert done.stderr == "there are no lock samples; the run has samples of cpu, wall, alloc\n"
    assert not target.exists()


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("collapsed", "RUN", "--stage", "9"), "there is no stage 9 in"),
        (("collapsed", "RUN", "--stage", "0.9"), "stage 0 has no attempt 9 in"),
        (("collapsed", "RUN", "--stage", "x"), "'x' is no stage; it takes a stage id as 3"),
        (("collapsed", "RUN", "--stage", "-1"), "'-1' is no stage"),
        (("collapsed", "RUN", "--include", "("), "'(' is no regular expression"),
        (("collapsed", "RUN", "--task", "x"), "'x' is not a valid integer"),
        (("collapsed", "RUN", "-o", "RUN/no/where"), "cannot be written: No such file"),
        (("report", "RUN", "-o", "RUN/no/where"), "cannot be written: No such file"),
        (("stages", "RUN/none"), "is not there; check the path"),
        (("totals",), "Missing argument 'RUN'"),
        (("totals", "RUN", "--jsn"), "No such option"),
    ],
)
def test_wrong_usage_and_unreadable_input(folder: Path, args: tuple[str, ...], error: str) -> None:
    done = run(*(arg.replace("RUN", str(folder)) for arg in args))
    assert done.exit_code == 2
    assert error in " ".join(done.stderr.split())


def test_a_format_that_is_too_new(tmp_path: Path) -> None:
    path = RunBuilder(tmp_path / "app-1").write(format=3)
    done = run("stages", path)
    assert done.exit_code == 2
    assert done.stderr == (
        "Error: run.json has format 3; this spark_probe reads 1 to 1; upgrade it.\n"
    )


def test_what_is_missing_is_said_beside_the_answer(tmp_path: Path) -> None:
    builder = rich_run(tmp_path / "app-1")
    damage(builder.path / "executors" / "2" / "000001.parquet", "cut")
    for command in ("stages", "totals", "collapsed"):
        done = run(command, builder.path)
        assert done.exit_code == 0
        assert "note: executor 2: 000001.parquet cannot be read: " in done.stderr
        assert "note:" not in done.stdout
    answer = json.loads(run("stages", builder.path, "--json").stdout)
    assert any(note.startswith("executor 2: 000001.parquet") for note in answer["notes"])
    assert answer["stages"][-1]["coverage"]["executors"] == ["2"]


def test_markup_in_a_name_is_text(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "app-1")
    builder.executor().flush([sample("[red]x[/red]", stage=0, task=1)])
    done = run("collapsed", builder.write(app_name="[bold]job[/]"), "--stage", "0")
    assert done.stdout == "[red]x[/red] 1\n"
    assert "[bold]job[/]" in run("totals", builder.path).stdout


def test_a_bar_only_where_a_terminal_looks_on(folder: Path) -> None:
    command = [sys.executable, "-m", "spark_probe", "totals", str(folder)]
    plain = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert plain.stderr == ""
    ours, theirs = os.openpty()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, cwd=ROOT)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "reading files" in shown
    assert done.stdout.decode() == plain.stdout
