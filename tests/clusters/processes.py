"""Child processes with deadlines: what is started here is ended here, by pid, and its log is kept for the failure."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")

#: Set in this process and so inherited by everything that the tests start: how `leftovers` tells ours from others'.
RUN_MARK = "SPARK_PROBE_TEST_RUN"

TAIL_LINES = 60


def wait_until(check: Callable[[], T], timeout_s: float, what: str, every_s: float = 0.1) -> T:
    """Calls ``check`` until it returns something true, and returns that.

    Raises:
        AssertionError: nothing true within ``timeout_s`` seconds; the message names ``what``.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout_s:g} s (last seen: {value!r})")
        time.sleep(every_s)


def free_port() -> int:
    """A TCP port that nothing on loopback listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Finished:
    """A process that ended: its exit code, and what it wrote (standard output and error apart)."""

    command: str
    code: int
    out: str
    err: str

    def check(self) -> Finished:
        """Returns itself, or fails the test with the end of the output."""
        assert self.code == 0, (
            f"{self.command}: exit code {self.code}\n{_tail(self.out)}\n{_tail(self.err)}"
        )
        return self


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-TAIL_LINES:])


class Process:
    """A running child, leader of its own process group, with its output in two files."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        log_dir.mkdir(parents=True, exist_ok=True)
        self.command = [str(word) for word in command]
        stem = f"{Path(self.command[0]).name}-{uuid.uuid4().hex[:8]}"
        self.out_file, self.err_file = log_dir / f"{stem}.out", log_dir / f"{stem}.err"
        with self.out_file.open("wb") as out, self.err_file.open("wb") as err:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        self.pid = self._child.pid

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    def out(self) -> str:
        return self.out_file.read_text(errors="replace")

    def err(self) -> str:
        return self.err_file.read_text(errors="replace")

    def describe(self) -> str:
        """The command and the end of its output, for a failure's message."""
        words = " ".join(self.command)
        return f"{words[:300]}\n{_tail(self.out())}\n{_tail(self.err())}"

    def descendants(self) -> list[psutil.Process]:
        """The processes below this one that are alive now."""
        try:
            return psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def wait(self, timeout_s: float) -> Finished:
        """Waits for the end; at the deadline ends the whole group and fails the test."""
        try:
            code = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            text = self.describe()
            self.stop(grace_s=5)
            raise AssertionError(f"not finished within {timeout_s:g} s: {text}") from None
        finally:
            if not self.running:
                self._signal_group(signal.SIGKILL)
        return Finished(" ".join(self.command)[:300], code, self.out(), self.err())

    def stop(self, grace_s: float = 20) -> None:
        """SIGTERM to the child, SIGKILL to what is left of its group after ``grace_s``. Harmless when it has ended."""
        # Children in sessions of their own (YARN containers) are not in the group: note them before they are orphans.
        below = self.descendants()
        if self.running:
            self._child.terminate()
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                pass
        self._signal_group(signal.SIGKILL)
        self._child.wait(10)
        _, alive = psutil.wait_procs(below, timeout=2)
        for process in alive:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def run(
    command: Sequence[str | Path],
    log_dir: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Runs a command to its end within ``timeout_s`` seconds; whatever it leaves in its process group is killed."""
    return Process(command, log_dir, env, cwd).wait(timeout_s)


def mark_this_run() -> str:
    """Marks this process's environment, and so its children's; returns the mark."""
    return os.environ.setdefault(RUN_MARK, uuid.uuid4().hex)


def leftovers(mark: str) -> list[psutil.Process]:
    """Processes with our mark that are neither this one nor its living ancestors."""
    own = psutil.Process()
    kept = {own.pid, *(parent.pid for parent in own.parents())}
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid not in kept and process.environ().get(RUN_MARK) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found
