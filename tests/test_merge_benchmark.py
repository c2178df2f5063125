"""The merge benchmark's folder is a run as any other, of the size that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import spark_probe
from benchmarks.merge import MEAN_DEPTH, measured_apart, write_run


@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_the_generated_run_is_whole(tmp_path: Path, shared: float) -> None:
    write_run(tmp_path / "run", parts=3, rows=600, stacks=400, shared=shared)
    profile = spark_probe.load(tmp_path / "run")
    assert profile.samples.num_rows == 1_800
    assert profile.coverage.complete
    lists = profile.stacks["frames"].to_pylist()
    assert abs(sum(map(len, lists)) / len(lists) - MEAN_DEPTH) < 4
    assert (profile.stacks.num_rows == 1_200) == (shared == 0)
    for event in profile.event_names:
        total = sum(stage.flamegraph(event).total for stage in profile.stages)
        assert total == sum(profile.coverage.samples[event].values())


def test_it_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    write_run(tmp_path / "run", parts=2, rows=300, stacks=200, shared=0.5)
    result = measured_apart(str(tmp_path / "run"))
    assert (result.samples, result.graphs) == (600, 40)
    assert 200 < result.stacks < 400
    assert result.peak_bytes > 1 << 24
    assert result.nodes > 0 < result.load_s
