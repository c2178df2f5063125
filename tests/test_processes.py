"""The helpers that start and end processes for the slow tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.clusters.processes import Process, leftovers, mark_this_run, run, wait_until

WITH_GRANDCHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
sys.stdin.close()
child.wait()
"""


def test_wait_until_returns_what_the_check_returned() -> None:
    answers = iter([None, 0, "", "here"])
    assert wait_until(lambda: next(answers), 5, "an answer", every_s=0) == "here"


def test_wait_until_says_what_did_not_come_and_what_was_there_instead() -> None:
    with pytest.raises(AssertionError, match=r"two executors: not within 0 s \(last seen: \[\]\)"):
        wait_until(list, 0, "two executors")


def test_run_keeps_output_and_error_apart(tmp_path: Path) -> None:
    code = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(3)"
    finished = run([sys.executable, "-c", code], tmp_path, 30)
    assert (finished.code, finished.out, finished.err) == (3, "to out\n", "to err\n")
    with pytest.raises(AssertionError, match=r"exit code 3(.|\n)*to out(.|\n)*to err"):
        finished.check()


def test_a_command_that_hangs_is_ended_and_fails_with_its_output(tmp_path: Path) -> None:
    code = "import time; print('started', flush=True); time.sleep(60)"
    start = time.monotonic()
    with pytest.raises(AssertionError, match=r"not finished within 1 s(.|\n)*started"):
        run([sys.executable, "-c", code], tmp_path, 1)
    assert time.monotonic() - start < 20


def test_stop_also_ends_a_grandchild_in_a_session_of_its_own(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", WITH_GRANDCHILD], tmp_path)
    try:
        grandchild = int(wait_until(lambda: process.out().strip(), 30, "the grandchild's pid"))
        assert psutil.pid_exists(grandchild)
    finally:
        process.stop()
    wait_until(lambda: not psutil.pid_exists(grandchild), 10, "the grandchild's end")
    assert not process.running


def test_leftovers_are_the_processes_that_carry_this_runs_mark() -> None:
    mark = mark_this_run()
    ours = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    without = {key: value for key, value in os.environ.items() if value != mark}
    others = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=without)
    try:
        wait_until(
            lambda: ours.pid in {process.pid for process in leftovers(mark)},
            10,
            "the marked process",
        )
        assert not {os.getpid(), others.pid} & {process.pid for process in leftovers(mark)}
    finally:
        for process in (ours, others):
            process.kill()
            process.communicate()
