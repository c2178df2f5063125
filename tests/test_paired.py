"""The arithmetic of the overhead benchmark."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import psutil
import pytest

from benchmarks.overhead import (
    OFF,
    OFF_AGAIN,
    PROBE,
    Pass,
    parse_queries,
    parse_variants,
    summarize,
)
from benchmarks.paired import cpu_seconds, ratio

BURN = "import time\nwhile time.process_time() < 0.5: pass\n"


def test_a_ratio_is_the_geometric_mean_of_the_pairs() -> None:
    found = ratio([2.0, 8.0], [1.0, 1.0])
    assert found.mean == pytest.approx(4.0)
    assert found.pairs == 2
    assert found.low == pytest.approx(2.0)
    assert found.high == pytest.approx(8.0)


def test_what_both_of_a_pair_share_cancels() -> None:
    drift = np.linspace(1, 3, 20)
    found = ratio(list(1.01 * drift), list(drift))
    assert (found.low, found.mean, found.high) == pytest.approx((1.01, 1.01, 1.01))


def test_the_interval_covers_the_true_ratio_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(100):
        noise = random.normal(0, 0.02, (2, 30))
        found = ratio(list(1.05 * np.exp(noise[0])), list(np.exp(noise[1])))
        covered += found.low <= 1.05 <= found.high
    assert 86 <= covered <= 100


def test_cpu_time_of_children_counts_while_they_run_and_after() -> None:
    own = psutil.Process()
    before = cpu_seconds(own)
    child = subprocess.Popen(
        [sys.executable, "-c", BURN + "print(flush=True); input()"], stdin=-1, stdout=-1
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert cpu_seconds(own) - before >= 0.45
    child.communicate(b"\n")
    assert cpu_seconds(own) - before >= 0.45


def _passes(*cpu_s: float) -> list[Pass]:
    return [Pass(one, one, 0.0) for one in cpu_s]


def test_a_condition_is_set_against_the_mean_of_both_off_passes_of_its_round() -> None:
    passes = {OFF: _passes(9, 18), OFF_AGAIN: _passes(11, 22), PROBE: _passes(10.1, 20.2)}
    ratios = summarize(passes)
    assert ratios[PROBE].mean == pytest.approx(1.01)
    assert ratios["A/A"].mean == pytest.approx(22 / 18)
    assert set(ratios) == {"A/A", PROBE}


def test_variants_are_options_of_enable() -> None:
    found = parse_variants(None, None, ("cpu:events=cpu,lock;interval=20ms", "as-is:"))  # type: ignore[arg-type]
    assert found == {"cpu": {"events": ["cpu", "lock"], "interval": "20ms"}, "as-is": {}}


@pytest.mark.parametrize("text", ["cpu", ":events=cpu", "cpu:events"])
def test_a_malformed_variant_is_named(text: str) -> None:
    with pytest.raises(Exception, match=f"{text}.*NAME:OPTION=VALUE"):
        parse_variants(None, None, (text,))  # type: ignore[arg-type]


def test_queries_are_all_22_or_those_given() -> None:
    assert parse_queries(None, None, None) == list(range(1, 23))  # type: ignore[arg-type]
    assert parse_queries(None, None, "1,22") == [1, 22]  # type: ignore[arg-type]
    for wrong in ("0", "23", "q1"):
        with pytest.raises(Exception, match="from 1 to 22"):
            parse_queries(None, None, wrong)  # type: ignore[arg-type]
