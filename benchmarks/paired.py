"""CPU time of processes, and ratios of paired measurements with their bootstrap interval."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import psutil

RESAMPLES = 20_000


def cpu_seconds(root: psutil.Process) -> float:
    """User and system time of a process, its living descendants, and those that it has already waited for."""
    total = 0.0
    for process in [root, *root.children(recursive=True)]:
        try:
            used = process.cpu_times()
        except psutil.Error:
            continue  # ended in between: its parent's children_* hold it from now on
        total += used.user + used.system + used.children_user + used.children_system
    return total


def settle(
    root: psutil.Process, timeout_s: float = 30, busy: float = 0.05, window_s: float = 0.5
) -> None:
    """Waits until the processes use less than ``busy`` of one core (JIT and GC of the pass before have ended)."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        before = cpu_seconds(root)
        time.sleep(window_s)
        if cpu_seconds(root) - before < busy * window_s:
            return


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of paired ratios and its 95 % interval."""

    mean: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}]"


def ratio(measured: Sequence[float], base: Sequence[float], seed: int = 0) -> Ratio:
    """``measured`` against ``base``, pair by pair: percentile bootstrap over the pairs."""
    logs = np.log(np.asarray(measured, dtype=float) / np.asarray(base, dtype=float))
    draws = np.random.default_rng(seed).integers(0, len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.percentile(logs[draws].mean(axis=1), [2.5, 97.5])
    return Ratio(float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high)), len(logs))
