"""`spark-probe eventlog`: its JSON, its page, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spark_probe.cli import main
from tests.eventlogs.events import TOTALS, Json, event, lines, task_end, whole_log


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["eventlog", *map(str, args)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "app-1"
    file.write_bytes(lines(whole_log()))
    return file


def test_json_has_the_totals_under_their_documented_names(path: Path) -> None:
    result = run(path, "--json")
    assert result.exit_code == 0, result.output
    found: Json = json.loads(result.stdout)
    assert found.pop("file") == str(path)
    assert found.pop("problems") == []
    assert found == TOTALS
    described = run("--help").output
    for key in found:
        assert key in described.replace(",", " ").split(), key


def test_the_page_shows_stages_with_most_run_time_first(path: Path) -> None:
    result = run(path, "--top", "2")
    assert result.exit_code == 0, result.output
    assert "a job  app-1  Spark 3.5.9  1.0 s" in result.stdout
    assert "7 of 7 ended: 2 ok, 3 failed, 1 killed; 1 speculative" in result.stdout
    assert "2 of 3 stage attempts" in result.stdout
    assert result.stdout.index("0.0 ") < result.stdout.index("0.1 ")
    assert "not complete" not in result.stdout


def test_what_is_missing_is_said(path: Path) -> None:
    path.write_bytes(lines(whole_log())[:-40])
    result = run(path)
    assert result.exit_code == 0
    assert "1 of 29 lines are no events" in result.stdout
    assert "The log is not complete: the application's end is not in it." in result.stdout
    found = json.loads(run(path, "--json").stdout)
    assert (found["complete"], found["skipped_lines"], len(found["problems"])) == (False, 1, 1)


def test_markup_in_names_is_shown_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    start = event(
        "SparkListenerApplicationStart", App_Name="[red]x[/nope]", App_ID="[bold]", Timestamp=1
    )
    path.write_bytes(lines([start, task_end(0)]))
    result = run(path)
    assert result.exit_code == 0, result.output
    assert "[red]x[/nope]  [bold]" in result.stdout


@pytest.mark.parametrize("args", [("gone",), (), ("x", "--nope")])
def test_wrong_use_and_no_log_exit_with_2(args: tuple[str, ...]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert "Error: " in result.output
