"""Two runs as one: ids kept apart, stages matched by what they are, every sample there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.report.compare import join_runs, match_stages
from spark_probe.report.source import RunTables, task_table
from spark_probe.report.stages import collect_stages, collect_tasks
from tests.report_runs import START_MS, small_run
from tests.test_report_data import gather, sums


def entry(run: int, number: int, name: str, details: str = "", *nodes: str) -> dict[str, Any]:
    return {
        "run": run,
        "id": number,
        "name": name,
        "details": details,
        "nodes": [[n, ""] for n in nodes],
    }


def test_stages_match_by_call_site_and_plan_not_by_number() -> None:
    entries = [
        entry(0, 0, "collect at a.py:10", "a.py:10", "Scan", "Exchange"),
        entry(0, 1, "collect at a.py:20", "a.py:20", "Sort"),
        entry(0, 2, "gone at a.py:1"),
        entry(1, 5, "collect at a.py:23", "a.py:23", "Sort"),
        entry(1, 6, "collect at a.py:11", "a.py:11", "Scan", "Exchange"),
        entry(1, 7, "new at b.py:1"),
        entry(1, -1, "Outside tasks"),
    ]
    assert match_stages(entries) == [(0, 4), (1, 3), (2, None), (None, 5)]


def test_a_stage_whose_plan_changed_matches_by_its_name() -> None:
    entries = [
        entry(0, 0, "save at j.py:1", "", "SortMergeJoin"),
        entry(1, 0, "save at j.py:1", "", "BroadcastHashJoin"),
    ]
    assert match_stages(entries) == [(0, 1)]


def test_stages_alike_match_in_their_order() -> None:
    entries = [entry(run, number, "foreachBatch") for run in (0, 1) for number in range(3)]
    assert match_stages(entries) == [(0, 3), (1, 4), (2, 5)]


def moved(run: RunTables, ms: int) -> RunTables:
    """The run as if it had started ``ms`` later."""
    samples = run.samples
    place = samples.column_names.index("bucket_ms")
    later = pa.array(np.asarray(samples["bucket_ms"].to_numpy()) + ms)
    return replace(
        run,
        run={**run.run, "start_ms": START_MS + ms},
        samples=samples.set_column(place, "bucket_ms", later),
    )


def test_joined_runs_keep_every_sample_of_each() -> None:
    one, two = small_run(2, 6), small_run(3, 8)
    both = join_runs(one, moved(two, 86_400_000))
    tasks = task_table(both)
    stages = collect_stages(both, tasks)
    listed = collect_tasks(tasks, stages)
    names = [e["key"] for e in stages.entries]
    assert names == ["0.0", "1.0", "B0.0", "B1.0", "B2.0", "outside", "Boutside"]
    assert listed.count == 2 * 6 + 3 * 8
    samples = gather(both)
    found = sums(samples)
    for run, first, outside, count in ((one, 0, 5, 2), (two, 2, 6, 3)):
        expected = sums(gather(run))
        places = {**{i: first + i for i in range(count)}, count: outside}
        for (stage, event), value in expected.items():
            assert found[places[stage], event] == value
    assert samples.rows["bucket"].max() < 100  # the later run's time is moved to the first one's
