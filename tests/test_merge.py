"""Parts of many executors and flushes made one: sums stay, order does not matter, ids are local to a part."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import spark_probe
from spark_probe.frametable import unify
from spark_probe.merge import Merged, merge
from spark_probe.parts import Part, SeenStacks, read_parts
from tests.builders import RunBuilder, parse_frame, sample, stack_hash, stack_tables, write_part

FRAMES = ["run@jit", "run@interpreted", "a.B.work:7@c1", "a.B.work:8@inlined", "memcpy@native"]
SAMPLES = st.lists(
    st.builds(
        lambda frames, stage, event, samples, value: sample(
            ";".join(frames), stage=stage, task=stage, event=event, samples=samples, value=value
        ),
        st.lists(st.sampled_from(FRAMES), max_size=4),
        st.integers(-1, 2),
        st.sampled_from(["cpu", "alloc"]),
        st.integers(1, 1 << 40),
        st.integers(0, 1 << 45),
    ),
    min_size=1,
    max_size=8,
)
PARTS = st.lists(st.tuples(st.sampled_from("123"), SAMPLES), min_size=1, max_size=5)
Rows = list[dict[str, Any]]


def parts_of(flushes: list[tuple[str, Rows]], folder: Path) -> list[tuple[str, Part]]:
    """The flushes as the reader gives them."""
    seen, out = SeenStacks(), []
    for executor, rows in flushes:
        path = folder / "part.parquet"
        write_part(path, [stack_tables(rows)])
        for part in read_parts(path.read_bytes(), seen):
            assert isinstance(part, Part), part
            out.append((executor, part))
    return out


def whole_graph(merged: Merged, event: str) -> str:
    rows = np.flatnonzero(merged.samples["event"].to_numpy(zero_copy_only=False) == event)
    return merged.graph(rows, event).collapsed(types=True)


def expected(rows: Rows, event: str) -> str:
    suffix = {"jit": "_[j]", "interpreted": "_[0]", "c1": "_[1]", "inlined": "_[i]", "native": ""}
    sums: dict[str, int] = {}
    for row in rows:
        if row["event"] == event:
            frames = [parse_frame(f) for f in row["stack"].split(";")] if row["stack"] else []
            text = ";".join(name + suffix[kind] for name, kind, _ in frames) or "[no_stack]"
            sums[text] = sums.get(text, 0) + row["samples"]
    return "\n".join(sorted(f"{stack} {count}" for stack, count in sums.items()))


def lines(text: str) -> str:
    return "\n".join(sorted(text.splitlines()))


@given(PARTS)
def test_a_merge_has_the_sum_of_the_samples(
    tmp_path_factory: Any, flushes: list[tuple[str, Rows]]
) -> None:
    merged = merge(parts_of(flushes, tmp_path_factory.mktemp("parts")))
    rows = [row for _, flush in flushes for row in flush]
    assert merged.samples.num_rows == len(rows)
    assert merged.stackless == 0
    for event in ("cpu", "alloc"):
        assert lines(whole_graph(merged, event)) == expected(rows, event)
        picked = np.flatnonzero(merged.samples["event"].to_numpy(zero_copy_only=False) == event)
        graph = merged.graph(picked, event)
        assert graph.total == sum(row["samples"] for row in rows if row["event"] == event)
        assert graph.value == sum(row["value"] for row in rows if row["event"] == event)


@given(PARTS, st.randoms())
def test_the_order_of_parts_makes_no_difference(
    tmp_path_factory: Any, flushes: list[tuple[str, Rows]], dice: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    one = merge(parts_of(flushes, folder))
    dice.shuffle(flushes)
    other = merge(parts_of(flushes, folder))
    assert one.frames.equals(other.frames)
    assert one.stack_table().sort_by("stack_hash").equals(other.stack_table().sort_by("stack_hash"))
    for event in ("cpu", "alloc"):
        assert whole_graph(one, event) == whole_graph(other, event)


@given(PARTS)
def test_each_stack_is_there_once_with_its_frames(
    tmp_path_factory: Any, flushes: list[tuple[str, Rows]]
) -> None:
    merged = merge(parts_of(flushes, tmp_path_factory.mktemp("parts")))
    frames = merged.frames.to_pylist()
    assert [frame["id"] for frame in frames] == list(range(len(frames)))
    table = merged.stack_table()
    assert table.schema == pa.schema([("stack_hash", pa.int64()), ("frames", pa.list_(pa.int32()))])
    stacks = {
        row["stack_hash"]: [
            (frames[i]["name"], frames[i]["type"], frames[i]["line"]) for i in row["frames"]
        ]
        for row in table.to_pylist()
    }
    assert len(stacks) == table.num_rows
    assert all(stack_hash(stack) == key for key, stack in stacks.items())
    assert set(stacks) == set(merged.samples["stack_hash"].to_pylist())


def test_ids_of_frames_mean_something_only_in_their_part(tmp_path: Path) -> None:
    flushes = [("1", [sample("zebra;ant")]), ("2", [sample("ant;zebra"), sample("bee")])]
    merged = merge(parts_of(flushes, tmp_path))
    assert (
        lines(whole_graph(merged, "cpu")) == "ant_[j];zebra_[j] 1\nbee_[j] 1\nzebra_[j];ant_[j] 1"
    )
    assert merged.frames["name"].to_pylist() == ["ant", "bee", "zebra"]


def test_a_method_is_one_frame_however_it_ran_and_its_types_are_counted(tmp_path: Path) -> None:
    flushes = [
        ("1", [sample("run;a.B.work:7@c1", samples=1), sample("run;a.B.work:7", samples=2)]),
        ("2", [sample("run@interpreted;a.B.work:9@inlined", samples=4), sample("run", samples=8)]),
    ]
    merged = merge(parts_of(flushes, tmp_path))
    graph = merged.graph(np.arange(4), "cpu")
    assert graph.collapsed() == "run 8\nrun;a.B.work 7\n"
    assert graph.names == ["a.B.work", "run"]
    assert graph.total_samples.tolist() == [15, 15, 7]
    assert {kind: counts.tolist() for kind, counts in graph.compiled.items()} == {
        "interpreted": [0, 4, 0],
        "jit": [0, 11, 2],
        "inlined": [0, 0, 4],
        "c1": [0, 0, 1],
    }
    by_line = merged.graph(np.arange(4), "cpu", lines=True)
    assert by_line.collapsed() == "run 8\nrun;a.B.work:7 3\nrun;a.B.work:9 4\n"


def test_a_native_function_and_a_method_of_one_name_are_two_frames(tmp_path: Path) -> None:
    merged = merge(
        parts_of([("1", [sample("x"), sample("x@native"), sample("x@class")])], tmp_path)
    )
    graph = merged.graph(np.arange(3), "cpu")
    assert graph.names == ["x", "x", "x"]
    assert sorted(graph.kinds) == ["class", "java", "native"]


def test_a_sample_whose_stack_is_lost_stands_at_the_root(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    tables = stack_tables([sample("run;a", samples=2), sample("run;b", samples=3)])
    tables["stack"] = tables["stack"].slice(0, 1)
    path = run.write()
    write_part(path / "executors" / "1" / "000001.parquet", [tables])
    profile = spark_probe.load(path)
    assert profile.flamegraph("cpu").total == 5
    assert sorted(profile.flamegraph("cpu").collapsed().splitlines()) in (
        ["[no_stack] 3", "run;a 2"],
        ["[no_stack] 2", "run;b 3"],
    )
    assert any(
        note.startswith("the stacks of ") and note.endswith(" samples are not in the folder")
        for note in profile.notes
    )


def test_values_beyond_doubles_add_up_exactly(tmp_path: Path) -> None:
    big = (1 << 60) + 1
    rows = [sample("run", value=big), sample("run", value=3), sample("run;x", value=big)]
    graph = merge(parts_of([("1", rows)], tmp_path)).graph(np.arange(3), "cpu")
    assert graph.value == 2 * big + 3
    assert graph.collapsed(value="value") == f"run {big + 3}\nrun;x {big}\n"


def test_the_last_state_of_a_task_counts(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    row = {"stage_id": 1, "stage_attempt": 0, "partition": 0, "task_attempt": 0}
    executor.flush(task=[{**row, "task_id": 4, "outcome": "running", "run_ms": 10}])
    executor.flush(
        task=[
            {**row, "task_id": 5, "outcome": "running"},
            {**row, "task_id": 4, "outcome": "running", "run_ms": 20},
        ]
    )
    executor.flush(
        task=[{**row, "task_id": 4, "outcome": "failed", "run_ms": 30, "reason": "Boom"}]
    )
    profile = spark_probe.load(run.write())
    tasks = {task["task_id"]: task for task in profile.tasks.to_pylist()}
    assert tasks[4]["outcome"] == "failed"
    assert tasks[4]["run_ms"] == 30
    assert tasks[5]["outcome"] == "running"
    assert profile.tasks.num_rows == 2
    executor.compact()
    assert (
        spark_probe.load(run.path).tasks.sort_by("task_id").equals(profile.tasks.sort_by("task_id"))
    )


def test_frame_tables_become_one_sorted_table() -> None:
    schema = pa.schema([("name", pa.string()), ("type", pa.string()), ("line", pa.int32())])
    one = pa.table([["b", "a", "b"], ["jit", "jit", "c1"], [0, 3, 0]], schema=schema)
    two = pa.table([["a", "a"], ["jit", "jit"], [3, 2]], schema=schema)
    table, (first, second) = unify([one, two])
    assert table.to_pylist() == [
        {"name": "a", "type": "jit", "line": 2},
        {"name": "a", "type": "jit", "line": 3},
        {"name": "b", "type": "c1", "line": 0},
        {"name": "b", "type": "jit", "line": 0},
    ]
    assert (first.tolist(), second.tolist()) == ([3, 1, 2], [1, 0])
    empty, rows = unify([])
    assert (empty.num_rows, rows) == (0, [])
