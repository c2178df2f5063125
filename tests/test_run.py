"""Run folders read as they are found: compacted, damaged, growing, from later versions, by URL."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spark_probe
from spark_probe import Profile, RunError
from spark_probe.folder import Folder
from spark_probe.parts import PartFile, choose
from spark_probe.tables import FRAME_TYPES, TABLES
from tests.builders import (
    START_MS,
    ExecutorBuilder,
    RunBuilder,
    damage,
    part_table,
    rows_of,
    sample,
    stack_tables,
    write_part,
)


def task_row(task: int, outcome: str = "succeeded", **more: Any) -> dict[str, Any]:
    return {
        "stage_id": 1,
        "stage_attempt": 0,
        "partition": task,
        "task_attempt": 0,
        "task_id": task,
        "thread": f"Executor task launch worker for task {task}",
        "start_ms": START_MS,
        "outcome": outcome,
        **more,
    }


def three_flushes(executor: ExecutorBuilder) -> None:
    """Samples 1, 2, 4: which of the flushes were read can be told from the sum."""
    for number, count in enumerate((1, 2, 4)):
        executor.flush([sample(f"run;work{number}", stage=1, task=number, samples=count)])


def total(profile: Profile) -> int:
    return sum(sum(kinds.values()) for kinds in profile.coverage.samples.values())


# --- which folder, which format


def test_a_whole_run(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    three_flushes(run.executor("driver"))
    profile = spark_probe.load(run.write())
    assert profile.path == str(tmp_path / "app-1")
    assert profile.run["app_name"] == "a job"
    assert total(profile) == 14
    assert profile.flamegraph("cpu").collapsed() == "run;work0 2\nrun;work1 4\nrun;work2 8\n"
    assert [status["executor_id"] for status in profile.executors] == ["1", "driver"]
    assert profile.coverage.complete
    assert repr(profile).endswith("a job, 2 of 2 executors profiled, 0 partial>")


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (3, "run.json has format 3; this spark_probe reads 1 to 1; upgrade it."),
        (2, "run.json has format 2; this spark_probe reads 1 to 1; upgrade it."),
        (0, "run.json has format 0; this spark_probe reads 1 to 1; was the file changed by hand?"),
        (
            "1",
            "run.json has format '1'; this spark_probe reads 1 to 1; was the file changed by hand?",
        ),
        (
            None,
            "run.json has format None; this spark_probe reads 1 to 1; was the file changed by hand?",
        ),
        (
            True,
            "run.json has format True; this spark_probe reads 1 to 1; was the file changed by hand?",
        ),
    ],
)
def test_the_format_is_looked_at_first(tmp_path: Path, found: object, error: str) -> None:
    run = RunBuilder(tmp_path / "app-1")
    damage(run.executor().flush([sample("a")]), "text")
    with pytest.raises(RunError) as raised:
        spark_probe.load(run.write(format=found))
    assert str(raised.value) == error


def test_without_run_json_what_is_there_is_read(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    profile = spark_probe.load(run.write(run_json=False))
    assert total(profile) == 7
    assert dict(profile.run) == {}
    assert profile.notes[0].startswith("run.json is missing: what is known of the application")


@pytest.mark.parametrize("content", ["", "{", "[1]", "\ufeff", '"text"', '{"format": 1'])
def test_a_run_json_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    (run.write() / "run.json").write_text(content, encoding="utf-8")
    profile = spark_probe.load(run.path)
    assert total(profile) == 7
    assert profile.notes[0].startswith("run.json cannot be read: ")


def test_where_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere is not there; check the path"):
        spark_probe.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="file is a file; name the run folder that it lies in"):
        spark_probe.load(tmp_path / "file")
    with pytest.raises(RunError, match=r"is no run folder: it has neither run.json nor executors/"):
        spark_probe.load(tmp_path)
    with pytest.raises(RunError, match="nosuch://x: cannot be opened: "):
        spark_probe.load("nosuch://x")


def test_a_folder_of_runs(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    RunBuilder(tmp_path / "app-1").write()
    assert spark_probe.load(tmp_path).path == f"{tmp_path}/app-1"
    RunBuilder(tmp_path / "app-2").write()
    with pytest.raises(RunError, match="holds 2 runs; name one of them: app-1, app-2"):
        spark_probe.load(tmp_path)


def test_a_run_that_has_only_begun(tmp_path: Path) -> None:
    profile = spark_probe.load(RunBuilder(tmp_path / "app-1").write(end_ms=None))
    assert profile.samples.num_rows == profile.stacks.num_rows == profile.frames.num_rows == 0
    assert (profile.stages, profile.coverage.seen, profile.event_names) == ([], 0, [])
    assert profile.flamegraph("cpu").total == 0
    for name, table in {
        "task": profile.tasks,
        "trigger": profile.triggers,
        "dump": profile.dumps,
        "gc": profile.gc,
        "recording": profile.recordings,
    }.items():
        assert table.schema.names == ["executor_id", *TABLES[name].names]


def test_by_url(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    run.write()
    memory = fsspec.filesystem("memory")
    memory.put(str(run.path), "/probe/app-1", recursive=True)
    for url in (
        "memory://probe/app-1",
        "memory://probe",
        f"file://{run.path}",
        f"file:{run.path}",
    ):
        assert total(spark_probe.load(url)) == 7, url
    memory.rm("/probe", recursive=True)
    with pytest.raises(RunError, match="memory://probe/app-1 is not there"):
        spark_probe.load("memory://probe/app-1")


def test_executor_ids_that_a_file_system_would_refuse(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    odd = ExecutorBuilder(run.path / "executors" / "a%2Fb%3A1", "a/b:1")
    odd.flush([sample("x", samples=3)])
    odd.write_status()
    profile = spark_probe.load(run.write())
    assert [executor.id for executor in profile.coverage.executors] == ["a/b:1"]
    assert set(profile.samples["executor_id"].to_pylist()) == {"a/b:1"}


def test_progress_counts_files(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    three_flushes(run.executor("2"))
    seen: list[tuple[int, int]] = []
    spark_probe.load(run.write(), progress=lambda done, of: seen.append((done, of)))
    assert seen == [(i, 6) for i in range(1, 7)]


# --- which files


def test_of_files_that_cover_each_other_the_widest_counts() -> None:
    names = [
        "000004-000006.parquet",
        "000001.parquet",
        "000002.parquet",
        "000001-000003.parquet",
        "000005.parquet",
        "000007.parquet",
        "000008-000008.parquet",
        "000008.parquet",
        "1000000.parquet",
        "status.json",
        "00001.parquet",
        "000009.parquet.crc",
        "x-000009.parquet",
    ]
    chosen = choose(names)
    assert [(file.name, len(file.replaces)) for file in chosen] == [
        ("000001-000003.parquet", 2),
        ("000004-000006.parquet", 1),
        ("000007.parquet", 0),
        ("000008-000008.parquet", 1),
        ("1000000.parquet", 0),
    ]
    assert choose(reversed(names)) == chosen
    wide = choose(["000001-000009.parquet", "000001-000003.parquet", "000004.parquet"])
    assert [file.name for file in wide] == ["000001-000009.parquet"]
    assert wide[0].replaces[1] == PartFile("000004.parquet", 4, 4)


def test_a_compacted_file_replaces_those_it_covers(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    three_flushes(executor)
    executor.compact(1, 2, keep=True)
    profile = spark_probe.load(run.write())
    assert total(profile) == 7
    assert profile.coverage.executors[0].files == 2
    assert profile.flamegraph("cpu").collapsed() == "run;work0 1\nrun;work1 2\nrun;work2 4\n"


def test_names_that_start_with_a_dot_are_not_there(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    folder = run.write() / "executors"
    shutil.copy(folder / "1" / "000003.parquet", folder / "1" / ".000004.parquet")
    (folder / "1" / ".000004.parquet.tmp").write_bytes(b"PAR1")
    shutil.copytree(folder / "1", folder / ".2.tmp")
    profile = spark_probe.load(run.path)
    assert total(profile) == 7
    assert profile.coverage.complete


def test_a_damaged_compacted_file_while_the_small_ones_are_there(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    three_flushes(executor)
    damage(executor.compact(keep=True), "cut")
    profile = spark_probe.load(run.write())
    assert total(profile) == 7
    assert "000001-000003.parquet cannot be read" in profile.coverage.executors[0].missing[0]


def test_files_that_go_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    three_flushes(executor)
    path = run.write()
    read = Folder.read
    calls: list[str] = []

    def compacting(folder: Folder, *names: str) -> bytes:
        calls.append(names[-1])
        if calls.count("000002.parquet") == 1 and names[-1] == "000002.parquet":
            executor.compact()
        return read(folder, *names)

    monkeypatch.setattr(Folder, "read", compacting)
    profile = spark_probe.load(path)
    assert total(profile) == 7
    assert profile.coverage.complete


def test_files_that_go_every_time_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    path = run.write()
    read = Folder.read

    def losing(folder: Folder, *names: str) -> bytes:
        if names[-1] == "000002.parquet":
            raise FileNotFoundError(names[-1])
        return read(folder, *names)

    monkeypatch.setattr(Folder, "read", losing)
    profile = spark_probe.load(path)
    assert total(profile) == 5
    assert "files went while they were read, 3 times: executors/1/000002.parquet" in profile.notes
    assert "000002.parquet was listed and is gone" in profile.coverage.executors[0].missing


# --- damage


@pytest.mark.parametrize("how", ["cut", "empty", "footer", "text"])
def test_a_damaged_file_costs_only_itself(tmp_path: Path, how: str) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    three_flushes(run.executor("2"))
    path = run.write()
    damage(path / "executors" / "1" / "000002.parquet", how)
    profile = spark_probe.load(path)
    assert total(profile) == 12
    one, two = profile.coverage.executors
    assert (one.partial, two.partial) == (True, False)
    assert one.missing[0].startswith("000002.parquet cannot be read: ")
    assert one.missing[1] == ("status.json counts 7 samples in the folder, and 5 could be read")
    assert profile.notes[-2:] == [f"executor 1: {why}" for why in one.missing]


def test_a_damaged_row_group_costs_only_itself(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    three_flushes(executor)
    damage(executor.compact(), "middle")
    profile = spark_probe.load(run.write())
    assert total(profile) == 6
    why = profile.coverage.executors[0].missing[0]
    assert why.startswith("000001-000003.parquet: row group 0 of 3 cannot be read: ")


def test_any_byte_may_be_wrong(tmp_path: Path) -> None:
    """Whatever stands in a file, the rest is read; nothing but what a file holds is added."""
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    three_flushes(run.executor("2"))
    path = run.write()
    victim = path / "executors" / "1" / "000003.parquet"
    whole, dice = victim.read_bytes(), random.Random(5)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 1, 4, 30))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        victim.write_bytes(bytes(data))
        profile = spark_probe.load(path)
        assert {r["task_id"] for r in profile.samples.to_pylist()} >= {0, 1}
        assert profile.flamegraph("cpu", executors=["2"]).total == 7
        assert profile.stacks.num_rows >= 2


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "status.json cannot be read: "), ("[]", "status.json cannot be read: it holds no JSON")],
)
def test_a_status_that_cannot_be_read(tmp_path: Path, content: str, why: str) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    (run.write() / "executors" / "1" / "status.json").write_text(content)
    profile = spark_probe.load(run.path)
    (executor,) = profile.coverage.executors
    assert executor.profiled
    assert executor.missing[0].startswith(why)


def test_a_status_with_words_where_numbers_belong(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    three_flushes(executor)
    executor.write_status(samples="many", samples_lost=None, state=5, notes="none", last_seq=[1])
    profile = spark_probe.load(run.write())
    assert total(profile) == 7
    assert profile.coverage.executors[0].state == ""


def broken(change: Callable[[dict[str, pa.Table]], None]) -> dict[str, pa.Table]:
    tables = stack_tables([sample("run;work", stage=1, task=1, samples=8)])
    change(tables)
    return tables


def set_column(table: str, column: str, values: Any) -> Callable[[dict[str, pa.Table]], None]:
    def change(tables: dict[str, pa.Table]) -> None:
        place = tables[table].schema.get_field_index(column)
        tables[table] = tables[table].set_column(place, column, values)

    return change


def drop_column(table: str, column: str) -> Callable[[dict[str, pa.Table]], None]:
    def change(tables: dict[str, pa.Table]) -> None:
        tables[table] = tables[table].drop_columns([column])

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            set_column("stack", "frames", pa.array([[0, 7]], pa.list_(pa.int32()))),
            "a stack has a frame that is not in the row group",
        ),
        (
            set_column("stack", "frames", pa.array([[0, -1]], pa.list_(pa.int32()))),
            "a stack has a frame that is not in the row group",
        ),
        (
            set_column("stack", "stack_hash", pa.array([None], pa.int64())),
            "a stack has no hash or a frame no id",
        ),
        (drop_column("stack", "frames"), "table stack has no column frames"),
        (drop_column("sample", "stack_hash"), "table sample has no column stack_hash"),
        (drop_column("sample", "samples"), "table sample has no column samples"),
        (drop_column("frame", "name"), "table frame has no column name"),
        (set_column("sample", "samples", pa.array(["many"])), "Failed to parse string"),
    ],
)
def test_tables_that_make_no_sense(
    tmp_path: Path, change: Callable[[dict[str, pa.Table]], None], why: str
) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    path = run.write()
    write_part(path / "executors" / "1" / "000004.parquet", [broken(change)])
    profile = spark_probe.load(path)
    assert total(profile) == 7
    (found,) = profile.coverage.executors[0].missing
    assert found.startswith(f"000004.parquet: row group 0 of 1 cannot be read: {why}")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor("1"))
    path = run.write()
    tables = broken(lambda _: None)
    schema = pa.schema([("id", pa.int32()), ("name", pa.binary()), ("type", pa.string())])
    tables["frame"] = pa.table([[0, 1], [b"\xff\xfe", b"ok"], ["jit", "jit"]], schema=schema)
    write_part(path / "executors" / "1" / "000004.parquet", [tables])
    profile = spark_probe.load(path)
    assert total(profile) == 7
    assert "row group 0 of 1 cannot be read" in profile.coverage.executors[0].missing[0]


# --- later versions


def test_what_is_not_known_is_ignored(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    executor = run.executor()
    executor.flush([sample("run", samples=1)])
    tables = stack_tables([sample("run;new@jit", samples=2)])
    tables["sample"] = tables["sample"].append_column("colour", pa.array(["red"]))
    tables["frame"] = tables["frame"].append_column("column", pa.array([1, 2]))
    tables["weather"] = pa.table({"sky": ["blue", "grey"], "parts": [[1], [2, 3]]})
    path = run.write(colour="red", conf={"spark.probe.new": "1"})
    write_part(path / "executors" / "1" / "000002.parquet", [tables])
    flat = part_table(stack_tables([sample("run", samples=4)])).append_column(
        "version", pa.array([1, 1, 1])
    )
    pq.write_table(flat, path / "executors" / "1" / "000003.parquet")
    (path / "new.bin").write_bytes(b"x")
    (path / "executors" / "README").write_text("x")
    executor.write_status(colour="red", samples=7, last_seq=3)
    profile = spark_probe.load(path)
    assert total(profile) == 7
    assert profile.samples.column_names == ["executor_id", *TABLES["sample"].names]
    assert profile.coverage.complete


def test_a_frame_type_of_a_later_version_is_a_frame(tmp_path: Path) -> None:
    assert "wasm" not in FRAME_TYPES
    tables = stack_tables([sample("run;work", samples=2)])
    set_column("frame", "type", pa.array(["jit", "wasm"]))(tables)
    run = RunBuilder(tmp_path / "app-1")
    path = run.write()
    write_part(path / "executors" / "1" / "000001.parquet", [tables])
    graph = spark_probe.load(path).flamegraph("cpu")
    assert graph.collapsed(types=True) == "run_[j];work 2\n"
    assert graph.kinds == ["java", "other"]


def test_columns_of_an_earlier_version_may_be_missing(tmp_path: Path) -> None:
    tables = stack_tables([sample("run;work:12", stage=1, task=5, samples=2)])
    for column in ("recording_id", "sql_execution_id", "state", "bucket_ms", "task_id"):
        drop_column("sample", column)(tables)
    for column in ("line", "id"):
        drop_column("frame", column)(tables)
    run = RunBuilder(tmp_path / "app-1")
    path = run.write()
    write_part(path / "executors" / "1" / "000001.parquet", [tables])
    profile = spark_probe.load(path)
    (row,) = profile.samples.to_pylist()
    assert (row["task_id"], row["bucket_ms"], row["state"], row["samples"]) == (-1, -1, "", 2)
    assert profile.flamegraph("cpu").collapsed() == "run;work 2\n"


def test_a_part_of_a_later_format_is_named(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "app-1")
    three_flushes(run.executor())
    path = run.write()
    tables = stack_tables([sample("run", samples=8)])
    write_part(path / "executors" / "1" / "000004.parquet", [tables], format=2)
    profile = spark_probe.load(path)
    assert total(profile) == 7
    assert profile.coverage.executors[0].missing == (
        "000004.parquet cannot be read: it has format 2; this spark_probe reads 1 to 1; upgrade it",
    )


def test_rows_of_the_tables_in_any_order(tmp_path: Path) -> None:
    tables = stack_tables([sample("run;a", samples=1), sample("run;b", samples=2)])
    tables["task"] = rows_of("task", [task_row(1)])
    whole = part_table(tables)
    for seed in range(5):
        order = list(range(whole.num_rows))
        random.Random(seed).shuffle(order)
        path = tmp_path / f"app-{seed}"
        RunBuilder(path).write()
        target = path / "executors" / "1" / "000001.parquet"
        target.parent.mkdir(parents=True)
        pq.write_table(whole.take(order), target)
        profile = spark_probe.load(path)
        assert profile.flamegraph("cpu").collapsed() == "run;a 1\nrun;b 2\n"
        assert profile.tasks["task_id"].to_pylist() == [1]


def test_ids_of_frames_may_have_gaps(tmp_path: Path) -> None:
    tables = stack_tables([sample("run;a", samples=1), sample("run;b", samples=2)])
    set_column("frame", "id", pa.array([900, 5, 70_000], pa.int32()))(tables)
    named = dict(
        zip(tables["frame"]["name"].to_pylist(), tables["frame"]["id"].to_pylist(), strict=True)
    )
    lists = [[named["run"], named["a"]], [named["run"], named["b"]]]
    set_column("stack", "frames", pa.array(lists, pa.list_(pa.int32())))(tables)
    path = RunBuilder(tmp_path / "app-1").write()
    write_part(path / "executors" / "1" / "000001.parquet", [tables])
    assert spark_probe.load(path).flamegraph("cpu").collapsed() == "run;a 1\nrun;b 2\n"


def test_run_json_is_kept_as_it_is(tmp_path: Path) -> None:
    path = RunBuilder(tmp_path / "app-1").write(extra={"a": [1]})
    assert spark_probe.load(path).run == json.loads((path / "run.json").read_text())
