"""The report of a run: one page that says what the application did, where its time went, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_probe.report.categories import Categories, load_categories
from spark_probe.report.compare import join_runs, match_stages
from spark_probe.report.encode import Block, Delta, pack
from spark_probe.report.findings import finding_rows
from spark_probe.report.flamepage import FRAME_TYPES, frame_block, integers, tree_columns
from spark_probe.report.page import assemble
from spark_probe.report.samples import Samples, collect
from spark_probe.report.source import RunTables, burst_rows, tables_of, task_table
from spark_probe.report.stages import METRICS, QUANTILES, Stages, collect_stages, collect_tasks
from spark_probe.report.timeline import coverage, dumps_of, timeline, triggers_of
from spark_probe.tables import EVENT_UNITS

__all__ = ["comparison_html", "report_html"]

Ints = npt.NDArray[np.int64]

# The order in which a person looks at them; others follow by name.
EVENT_ORDER = ("cpu", "wall", "alloc", "lock", "python", "method")
HOT_FRAMES = 3


def report_html(profile: Any, *, categories: Categories | None = None) -> str:
    """The report of a :class:`~spark_probe.profile.Profile` (or of :class:`RunTables`): one page of HTML.

    ``categories``: rules other than the built-in ones.
    """
    run = tables_of(profile)
    title = _name(run)
    document, blocks, stages = _contents(run, categories or load_categories())
    document |= {
        "title": title,
        "timeline": timeline(run, stages.entries),
        "coverage": coverage(run),
        "triggers": triggers_of(run, stages),
        "dumps": dumps_of(run, stages),
        "findings": finding_rows(run.findings, stages),
    }
    return assemble(document, blocks)


def comparison_html(before: Any, after: Any, *, categories: Categories | None = None) -> str:
    """A page that holds two runs against each other: stages matched by plan or call site, not by number.

    Any stage, task or event of one can be compared with any of the other in the page.
    """
    runs = [tables_of(before), tables_of(after)]
    both = join_runs(*runs)
    document, blocks, stages = _contents(both, categories or load_categories())
    document |= {
        "title": f"{_name(runs[0])} against {_name(runs[1])}",
        "comparison": {
            "names": [str(run.run.get("app_id") or _name(run)) for run in runs],
            "runs": [_run_facts(run) for run in runs],
            "pairs": match_stages(stages.entries),
        },
        "timeline": {"start_ms": document["buckets"]["origin_ms"], "end_ms": None},
        "triggers": [],
        "dumps": [],
        "findings": [],
    }
    return assemble(document, blocks)


def _name(run: RunTables) -> str:
    return str(run.run.get("app_name") or run.run.get("app_id") or "Spark application")


def _contents(run: RunTables, rules: Categories) -> tuple[dict[str, Any], dict[str, Block], Stages]:
    """What both kinds of page have: the stages, and the data of every graph."""
    tasks = task_table(run)
    stages = collect_stages(run, tasks)
    listed = collect_tasks(tasks, stages)
    stage = stages.of(_ints(run.samples, "stage_id"), _ints(run.samples, "stage_attempt"))
    task = listed.of(_ints(run.samples, "task_id"))
    samples = collect(run.samples, run.stacks, run.frames, stage, task, burst_rows(run))
    _sum_stages(stages, samples, rules)
    events = sorted(samples.event_names, key=_event_rank)
    blocks = {
        "frames": frame_block(samples.names, samples.types, rules),
        "tree": pack(tree_columns(samples.tree)),
        "rows": _row_block(samples),
        "tasks": listed.block,
    }
    document = {
        "kind": "report",
        "run": _run_facts(run),
        "frame_types": FRAME_TYPES,
        "categories": list(zip(rules.keys, rules.labels, strict=True)),
        "events": [{"key": e, "unit": EVENT_UNITS.get(e, "samples")} for e in events],
        "event_names": samples.event_names,
        "state_names": samples.state_names,
        "bursts": bool(samples.rows["burst"].any()),
        "buckets": {"origin_ms": samples.origin_ms, "width_ms": samples.bucket_ms},
        "tasks": {
            "executors": listed.executors,
            "origin_ms": listed.origin_ms,
            "metrics": METRICS,
            "quantiles": QUANTILES,
        },
        "stages": stages.entries,
        "jobs": _jobs(run),
        "sql": _sql(run),
        "notes": [*run.notes, *stages.notes, *listed.notes, *samples.notes],
    }
    return document, blocks, stages


def _ints(table: pa.Table, name: str) -> Ints:
    return np.asarray(table[name].fill_null(-1).to_numpy(), dtype=np.int64)


def _event_rank(event: str) -> tuple[int, str]:
    known = EVENT_ORDER.index(event) if event in EVENT_ORDER else len(EVENT_ORDER)
    return known, event


def _row_block(samples: Samples) -> Block:
    rows = samples.rows
    return pack(
        {
            "stage": Delta(rows["stage"]),
            "event": Delta(rows["event"]),
            "state": rows["state"],
            "burst": rows["burst"],
            "node": Delta(rows["node"]),
            "task": Delta(rows["task"]),
            "bucket": Delta(rows["bucket"]),
            "samples": rows["samples"],
            "value": integers(rows["value"].astype(np.float64)),
        }
    )


def _sum_stages(stages: Stages, samples: Samples, rules: Categories) -> None:
    """Into each entry: samples and value by event, value by category, the hottest frames."""
    rows, tree = samples.rows, samples.tree
    count = len(stages.entries)
    of_node = rules.of_nodes(tree, rules.of_frames(samples.names, samples.types))
    width = len(rules.keys)
    for entry in stages.entries:
        entry["samples"], entry["categories"], entry["hot"] = {}, {}, {}
    for code, event in enumerate(samples.event_names):
        mine = (rows["event"] == code) & (rows["stage"] >= 0)
        stage, node, value = rows["stage"][mine], rows["node"][mine], rows["value"][mine]
        sampled = np.bincount(stage, weights=rows["samples"][mine], minlength=count)
        valued = np.bincount(stage, weights=value, minlength=count)
        cells = np.bincount(stage * width + of_node[node], weights=value, minlength=count * width)
        cells = cells.reshape(count, width)
        hottest = _hottest(stage, tree.frame[node], value, samples.names)
        for i in np.flatnonzero(sampled):
            entry = stages.entries[int(i)]
            entry["samples"][event] = [int(sampled[i]), int(valued[i])]
            entry["categories"][event] = [int(v) for v in cells[i]]
            entry["hot"][event] = hottest.get(int(i), [])


def _hottest(
    stage: Ints, frame: Ints, value: Ints, names: Sequence[str]
) -> dict[int, list[list[Any]]]:
    """The frames with the most self value of each stage: [name, value]."""
    width = len(names) + 1
    keys, place = np.unique(stage * width + frame + 1, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=value, minlength=keys.size)
    order = np.lexsort([-sums, keys // width])
    keys, sums = keys[order], sums[order]
    mine = keys // width
    first = np.searchsorted(mine, mine)
    top = np.flatnonzero(np.arange(keys.size) - first < HOT_FRAMES)
    out: dict[int, list[list[Any]]] = {}
    for i in top.tolist():
        index = int(keys[i] % width) - 1
        out.setdefault(int(mine[i]), []).append([names[index] if index >= 0 else "", int(sums[i])])
    return out


def _run_facts(run: RunTables) -> dict[str, Any]:
    keys = (
        "app_id app_name app_attempt user spark_version scala_version java_version master deploy_mode "
        "mode start_ms end_ms attached_ms detached_ms probe_version conf"
    )
    return {key: run.run.get(key) for key in keys.split()}


def _jobs(run: RunTables) -> list[dict[str, Any]]:
    keys = "job_id name description job_group section sql_execution_id submitted_ms completed_ms status"
    jobs = [{key: row.get(key) for key in keys.split()} for row in run.rows("jobs")]
    return jobs[:5_000]


def _sql(run: RunTables) -> list[dict[str, Any]]:
    keys = "execution_id description submitted_ms completed_ms status"
    rows = [{key: row.get(key) for key in keys.split()} for row in run.rows("sql_executions")]
    return rows[:5_000]
