"""The data of a report, before a browser sees it: columns, categories, rows, stages."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark_probe.calltree import build_tree
from spark_probe.explain.finding import severity_of
from spark_probe.report import report_html
from spark_probe.report.categories import CategoryRuleError, load_categories
from spark_probe.report.encode import Delta, Text, pack
from spark_probe.report.samples import Samples, collect
from spark_probe.report.source import RunTables, burst_rows, task_table
from spark_probe.report.stages import collect_stages, collect_tasks
from tests.report_runs import big_run, small_run

JS = Path(__file__).parent / "js"
ASSETS = Path(__file__).parents[1] / "spark_probe" / "report" / "assets"


def node(*arguments: str, text: str = "") -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [found, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_pages_modules_pass_their_own_tests() -> None:
    out = node("--test", *(str(path) for path in sorted(JS.glob("*.test.mjs"))))
    assert "# fail 0" in out


def test_columns_come_back_from_the_block() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "small": np.array([0, 255, 7]),
        "wide": np.array([0, 65_536, 4_294_967_295]),
        "flags": np.array([True, False]),
        "real": np.array([0.5, -2.25, 1e300]),
        "huge": np.array([1 << 40, 1 << 50, 3]),
        "repeated": rng.choice([1 << 40, -5, 12], 1000),
        "delta": Delta(np.array([5, 4, 100_000, -7, -7])),
        "text": Text(["é<", "", "a\nb", "\ud800x"]),
        "one": Text([""]),
        "none": Text([]),
        "empty": np.array([], dtype=np.int64),
    }
    block = pack(columns)
    script = f"""
        import {{ decodeColumns, inflate }} from "{ASSETS.as_uri()}/codec.js";
        const out = decodeColumns(await inflate("{block.data}"), {json.dumps(block.layout)});
        console.log(JSON.stringify(Object.fromEntries(Object.entries(out).map(([k, v]) => [k, Array.from(v)]))));
    """
    out = json.loads(node("--input-type=module", "-", text=script))
    for name in ("small", "wide", "flags", "real", "huge", "repeated", "empty"):
        assert out[name] == columns[name].tolist(), name
    assert out["delta"] == columns["delta"].values.tolist()
    assert out["text"] == ["é<", "", "a b", "?x"]
    assert out["one"] == [""]
    assert out["none"] == []
    encodings = {entry["name"]: entry["encoding"] for entry in block.layout}
    assert encodings["repeated"] == "dict"


def test_a_block_that_is_cut_says_so() -> None:
    block = pack({"x": np.arange(10)})
    cut = base64.b64encode(
        zlib.compress(zlib.decompress(base64.b64decode(block.data))[:-3])
    ).decode()
    script = f"""
        import {{ decodeColumns, inflate }} from "{ASSETS.as_uri()}/codec.js";
        try {{ decodeColumns(await inflate("{cut}"), {json.dumps(block.layout)}); }}
        catch (error) {{ console.log(error.message); }}
    """
    assert "7 bytes, columns take 10" in node("--input-type=module", "-", text=script)


CATEGORY_CASES = [
    # stack, root first, as (name, type); category
    ([("com.acme.Job.run", "jit"), ("java.util.HashMap.get", "jit")], "business"),
    ([("com.acme.Job.run", "jit"), ("net.jpountz.lz4.LZ4Factory.x", "jit")], "compression"),
    ([("org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write", "jit")], "shuffle_write"),
    (
        [
            ("org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write", "jit"),
            ("java.io.FileOutputStream.write", "jit"),
            ("__x64_sys_write", "kernel"),
        ],
        "shuffle_write",
    ),
    (
        [
            ("org.apache.spark.storage.ShuffleBlockFetcherIterator.next", "jit"),
            ("java.util.concurrent.LinkedBlockingQueue.take", "jit"),
            ("jdk.internal.misc.Unsafe.park", "native"),
        ],
        "shuffle_read",
    ),
    ([("com.acme.Job.run", "jit"), ("java.io.FileInputStream.read", "native")], "io_network"),
    ([("com.acme.Cache.get", "jit"), ("java.lang.Object.wait", "native")], "lock"),
    ([("com.esotericsoftware.kryo.Kryo.writeObject", "jit")], "serialization"),
    (
        [
            ("org.apache.spark.sql.execution.aggregate.HashAggregateExec.x", "jit"),
            ("java.lang.Long.hashCode", "inlined"),
        ],
        "sort_aggregate",
    ),
    ([("org.codehaus.janino.Parser.parse", "jit")], "codegen_jit"),
    ([("[jit]", "kind"), ("C2Compiler::compile_method", "cpp")], "codegen_jit"),
    ([("[gc]", "kind"), ("start_thread", "native")], "gc"),
    ([("G1ParScanThreadState::copy", "cpp")], "gc"),
    ([("transform (job.py)", "python")], "python"),
    (
        [
            ("org.apache.spark.api.python.BasePythonRunner.compute", "jit"),
            ("java.net.SocketInputStream.read", "native"),
        ],
        "python",
    ),
    ([("org.apache.spark.scheduler.DAGScheduler.handle", "jit")], "scheduling"),
    ([("org.apache.spark.sql.catalyst.optimizer.Rule.apply", "jit")], "scheduling"),
    (
        [
            ("java.lang.Thread.run", "jit"),
            ("org.apache.spark.executor.Executor$TaskRunner.run", "jit"),
            ("org.apache.spark.scheduler.ResultTask.runTask", "jit"),
            ("scala.collection.Iterator$$anon.next", "jit"),
        ],
        "other",
    ),
    (
        [
            (
                "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage3.next",
                "jit",
            ),
            ("org.apache.spark.unsafe.types.UTF8String.compareTo", "jit"),
        ],
        "business",
    ),
    ([("[unknown]", "native")], "other"),
    ([("[gc]", "kind"), ("G1CMTask::step", "cpp"), ("SpinPause", "cpp")], "gc"),
    (
        [
            ("org.apache.spark.sql.execution.UnsafeRowSerializerInstance.next", "jit"),
            ("java.io.BufferedInputStream.read", "jit"),
        ],
        "serialization",
    ),
]


@pytest.mark.parametrize(("stack", "category"), CATEGORY_CASES)
def test_a_stack_has_the_category_of_what_it_did(
    stack: list[tuple[str, str]], category: str
) -> None:
    rules = load_categories()
    names = sorted({name for name, _ in stack})
    types = dict(stack)
    codes = rules.of_frames(names, [types[name] for name in names])
    flat = np.array([names.index(name) for name, _ in stack])
    depth = np.arange(len(stack) + 1)
    tree, place = build_tree(depth, np.concatenate(([-1], flat)))
    assert rules.keys[rules.of_nodes(tree, codes)[place[-1]]] == category


def test_every_rule_has_a_source_and_every_category_a_rule() -> None:
    path = Path(__file__).parents[1] / "spark_probe" / "report" / "categories.json"
    document = json.loads(path.read_text())
    assert all(rule["source"] for rule in document["rules"])
    used = {rule["category"] for rule in document["rules"]} - {None}
    assert used | {"other"} == {entry["key"] for entry in document["categories"]}


def test_a_users_rules_come_first_and_may_add_categories(tmp_path: Path) -> None:
    extra = tmp_path / "rules.json"
    extra.write_text(
        json.dumps(
            {
                "categories": [{"key": "pricing", "label": "Pricing"}],
                "rules": [{"category": "pricing", "pattern": "^com\\.acme\\.pricing\\."}],
            }
        )
    )
    rules = load_categories(extra)
    codes = rules.of_frames(["com.acme.pricing.P.x", "com.acme.Other.y"], ["jit", "jit"])
    assert [rules.keys[code] for code in codes] == ["pricing", "business"]
    assert rules.keys[-1] == "other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "not an object"),
        ('{"rules": [{"category": "gcc", "pattern": "x"}]}', "rule 0: unknown category 'gcc'"),
        ('{"rules": [{"category": "gc", "pattern": "("}]}', "rule 0: bad pattern"),
        ('{"rules": [{"category": "gc"}]}', "rule 0: needs a text 'pattern'"),
        ('{"categories": [{"key": "gc"}]}', "distinct"),
    ],
)
def test_a_bad_rule_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    extra = tmp_path / "rules.json"
    extra.write_text(text)
    with pytest.raises(CategoryRuleError, match=message):
        load_categories(extra)


def gather(run: RunTables, **budgets: int) -> Samples:
    tasks = task_table(run)
    stages = collect_stages(run, tasks)
    listed = collect_tasks(tasks, stages)
    ids = [run.samples[c].to_numpy().astype(np.int64) for c in ("stage_id", "stage_attempt")]
    stage = stages.of(*ids)
    task = listed.of(run.samples["task_id"].to_numpy())
    return collect(run.samples, run.stacks, run.frames, stage, task, burst_rows(run), **budgets)


def sums(samples: Samples) -> dict[tuple[int, str], tuple[int, int]]:
    out: dict[tuple[int, str], tuple[int, int]] = {}
    for stage, event, count, value in zip(
        *(samples.rows[c].tolist() for c in ("stage", "event", "samples", "value")), strict=True
    ):
        key = (stage, samples.event_names[event])
        old = out.get(key, (0, 0))
        out[key] = (old[0] + count, old[1] + value)
    return out


def expected_sums(run: RunTables) -> dict[tuple[int, str], tuple[int, int]]:
    grouped = run.samples.group_by(["stage_id", "event"]).aggregate(
        [("samples", "sum"), ("value", "sum")]
    )
    last = len(set(run.samples["stage_id"].to_pylist())) - 1
    return {
        (row["stage_id"] if row["stage_id"] >= 0 else last, row["event"]): (
            row["samples_sum"],
            row["value_sum"],
        )
        for row in grouped.to_pylist()
    }


def test_rows_hold_every_sample_of_every_stage_and_event() -> None:
    run = small_run()
    samples = gather(run)
    assert sums(samples) == expected_sums(run)
    assert samples.notes == []
    assert samples.bucket_ms == 10_000
    assert set(samples.rows["task"].tolist()) == {-1, *range(36)}


def test_lines_and_kinds_of_threads_are_frames() -> None:
    samples = gather(small_run())
    assert "com.acme.Pricing.price:42" in samples.names
    assert samples.types[samples.names.index("[gc]")] == "kind"
    assert samples.types[samples.names.index("byte[]")] == "class"
    outside = [i for i, p in enumerate(samples.tree.parent) if p == 0]
    assert samples.names.index("[gc]") in samples.tree.frame[outside]


def test_a_stack_that_is_gone_keeps_its_samples() -> None:
    run = small_run(1, 4)
    fewer = RunTables(
        samples=run.samples, stacks=run.stacks.slice(1), frames=run.frames, events=run.events
    )
    samples = gather(fewer)
    assert sums(samples) == expected_sums(run)
    assert "[unknown]" in samples.names


def test_over_the_budget_time_then_tasks_are_dropped_and_named() -> None:
    run = big_run(stages=4, tasks=50, rows=6_000, nodes=2_000)
    want = sums(gather(run))
    coarse = gather(run, row_budget=5_500)
    assert coarse.bucket_ms > 10_000
    assert coarse.rows["node"].size <= 5_500
    assert sums(coarse) == want
    assert "buckets" in coarse.notes[0]
    bare = gather(run, row_budget=1_000)
    assert set(bare.rows["task"].tolist()) == {-1}
    assert sums(bare) == want
    assert any("without their task" in note for note in bare.notes)


def test_over_the_budget_rare_ends_of_stacks_are_cut_and_the_sums_whole() -> None:
    run = big_run(stages=2, tasks=20, rows=4_000, nodes=8_000)
    whole = gather(run)
    cut = gather(run, node_budget=len(whole.tree) // 3)
    assert len(cut.tree) <= len(whole.tree) // 3
    assert sums(cut) == sums(whole)
    assert "are cut" in cut.notes[0]
    assert (cut.tree.depth[1:] == cut.tree.depth[cut.tree.parent[1:]] + 1).all()


def test_quantiles_are_sparks_and_over_successful_tasks() -> None:
    run = small_run(1, 12)
    tasks = task_table(run)
    stages = collect_stages(run, tasks)
    collect_tasks(tasks, stages)
    entry = stages.entries[0]
    metrics = {label: (quantiles, total) for label, _, quantiles, total, _ in entry["metrics"]}
    durations = sorted(tasks["duration_ms"].to_pylist())
    at = [durations[min(11, int(q * 12))] for q in (0, 0.25, 0.5, 0.75, 1)]
    assert metrics["Duration"] == (at, sum(durations))
    assert entry["tasks"] == 12
    assert entry["success"] == 12
    assert "Input" not in metrics


def test_tasks_that_only_the_probe_saw_are_added() -> None:
    own = pa.table(
        {
            "stage_id": pa.array([0, 0], pa.int32()),
            "stage_attempt": pa.array([0, 0], pa.int32()),
            "partition": pa.array([0, 1], pa.int32()),
            "task_attempt": pa.array([0, 0], pa.int32()),
            "task_id": pa.array([0, 900], pa.int64()),
            "start_ms": pa.array([1, 5], pa.int64()),
            "end_ms": pa.array([2, None], pa.int64()),
            "outcome": ["succeeded", "running"],
            "reason": pa.array([None, None], pa.string()),
        }
    )
    run = small_run(1, 3)
    both = task_table(RunTables(tasks=own, events=run.events)).to_pylist()
    assert [row["task_id"] for row in both] == [0, 1, 2, 900]
    assert both[3]["status"] == "running"
    alone = task_table(RunTables(tasks=own)).to_pylist()
    assert [row["status"] for row in alone] == ["success", "running"]
    assert alone[0]["duration_ms"] == 1


def test_stages_of_one_call_site_fold_when_there_are_many() -> None:
    run = big_run(stages=30, tasks=5, rows=500, nodes=400)
    tasks = task_table(run)
    assert len(collect_stages(run, tasks).entries) == 30
    folded = collect_stages(run, tasks, fold_over=20)
    collect_tasks(tasks, folded)
    assert len(folded.entries) == 7
    assert folded.entries[0]["folded"] == 5
    assert "30 stage attempts are shown as 7 stages" in folded.notes[0]
    assert sum(entry["tasks"] for entry in folded.entries) == 150


def test_a_stage_without_a_name_of_its_own_is_told_by_its_query_and_plan() -> None:
    run = small_run(1, 3)
    stage = {
        **run.events["stages"].to_pylist()[0],
        "name": "$anonfun$withThreadLocalCaptured$1 at F.java:1",
    }
    nodes = [
        {"execution_id": 0, "node_id": i, "name": name, "description": ""}
        for i, name in enumerate(
            ["Exchange", "WholeStageCodegen (2)", "HashAggregate", "Project", "Scan parquet x"]
        )
    ]
    places = [
        {"execution_id": 0, "node_id": i, "stage_id": 0, "stage_attempt": 0} for i in range(5)
    ]
    events = {
        **run.events,
        "stages": pa.Table.from_pylist([stage]),
        "sql_nodes": pa.Table.from_pylist(nodes),
        "sql_stages": pa.Table.from_pylist(places),
    }
    (entry,) = collect_stages(RunTables(events=events), task_table(run)).entries
    assert entry["name"] == "SELECT price FROM t"
    assert entry["operators"] == "Exchange ← HashAggregate ← Scan parquet x"


def test_too_many_tasks_keep_the_slowest_of_each_stage() -> None:
    run = big_run(stages=5, tasks=400, rows=100, nodes=100)
    tasks = task_table(run)
    stages = collect_stages(run, tasks)
    listed = collect_tasks(tasks, stages, budget=500)
    assert listed.count == 500
    assert "500 of 2,000 tasks are listed" in listed.notes[0]
    rows = [r for r in tasks.to_pylist() if r["stage_id"] == 2]
    worst = max(rows, key=lambda row: row["duration_ms"])["task_id"]
    assert listed.of(np.array([worst]))[0] >= 0


def test_pages_stay_small() -> None:
    usual = report_html(big_run(stages=60, tasks=200, rows=400_000, nodes=100_000))
    assert len(usual) < 5_000_000
    streaming = report_html(big_run(stages=3_000, tasks=40, rows=600_000, nodes=200_000))
    assert len(streaming) < 10_000_000


def test_the_page_colours_the_severities_that_findings_have() -> None:
    page = report_html(small_run())
    severities = {severity_of(cost_ms, 100_000.0) for cost_ms in (0.0, 10_000.0, 90_000.0)}
    assert severities == {"info", "warning", "critical"}
    for severity in severities - {"info"}:
        assert f".finding.{severity} {{" in page
        assert f".chip.{severity} {{" in page
