"""What stands in the tables: each kind of event, each oddity of a log, and bad lines that cost only themselves."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_probe import eventlog
from spark_probe.eventlog import EventLog
from spark_probe.eventlog import schemas as schemas_of
from spark_probe.eventlog.lines import blocks
from tests.eventlogs import events as ev
from tests.eventlogs.events import (
    START_MS,
    TOTALS,
    Json,
    event,
    lines,
    metrics,
    task_end,
    task_start,
)


def read(folder: Path, content: bytes | list[Json]) -> EventLog:
    path = folder / "app-1"
    path.write_bytes(content if isinstance(content, bytes) else lines(content))
    return eventlog.read(str(path))


def only(table: pa.Table) -> Json:
    (row,) = table.to_pylist()
    found: Json = row
    return found


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EventLog:
    return read(tmp_path_factory.mktemp("whole"), ev.whole_log())


def test_tables_have_their_schemas(log: EventLog) -> None:
    for name, table in log.tables.items():
        assert table.schema.names == getattr(schemas_of, name.upper()).names, name
        for field in table.schema:
            assert field.type == getattr(schemas_of, name.upper()).field(field.name).type, (
                field.name
            )
    assert log.tasks.schema.field("run_ms").metadata == {b"unit": b"ms"}
    assert log.tasks.schema.field("input_bytes").metadata == {b"unit": b"bytes"}


def test_jobs(log: EventLog) -> None:
    first, second = log.jobs.to_pylist()
    assert first["name"] == "count at job.py:1"  # that of its last stage
    assert (first["job_group"], first["section"], first["stage_ids"]) == ("g", "dedupe", [0, 1])
    assert (first["status"], first["error"]) == ("failed", "Job aborted")
    assert (first["submitted_ms"], first["completed_ms"]) == (START_MS, START_MS + 900)
    assert (second["status"], second["completed_ms"]) == ("running", None)


def test_stage_attempts(log: EventLog) -> None:
    rows = {(r["stage_id"], r["stage_attempt"]): r for r in log.stages.to_pylist()}
    assert [rows[key]["status"] for key in sorted(rows)] == ["complete", "failed", "running"]
    assert rows[0, 0]["section"] == "dedupe"
    assert rows[0, 0]["job_ids"] == [0]
    assert rows[1, 0]["job_ids"] == [1]  # job 0 had ended when it was submitted
    assert rows[0, 1]["failure"] == "fetch failed"
    assert rows[0, 0]["rdd_scopes"] == ["WholeStageCodegen (1)"]
    assert rows[0, 0]["details"] == "org.example.Job.main(Job.java:1)"
    assert rows[1, 0]["parent_ids"] == [0]


def test_attempts_of_tasks(log: EventLog) -> None:
    rows = log.tasks.to_pylist()
    assert [(r["task_id"], r["status"]) for r in rows] == [
        (0, "success"),
        (1, "failed"),
        (4, "killed"),
        (2, "failed"),
        (3, "success"),
        (0, "resubmitted"),
        (5, "failed"),
        (6, "running"),
    ]
    by_id = {r["task_id"]: r for r in rows}
    failed, killed, lost, fetch, running = (by_id[i] for i in (1, 4, 2, 5, 6))
    assert failed["error_class"] == "java.lang.IllegalStateException"
    assert failed["error"] == "no ☃ today"
    assert "B.java:1" in failed["stack"]
    assert killed["error"] == "another attempt succeeded"
    assert (killed["partition"], killed["index"], killed["attempt"]) == (1, 1, 1)
    assert killed["speculative"]
    assert lost["reason"] == "ExecutorLostFailure"
    assert lost["run_ms"] is lost["scheduler_delay_ms"] is None
    assert (fetch["fetch_executor_id"], fetch["fetch_host"]) == ("9", "host-9")
    assert (fetch["fetch_shuffle_id"], fetch["error"]) == (4, "connection refused")
    assert running["finish_ms"] is running["duration_ms"] is running["reason"] is None
    assert (running["stage_id"], running["launch_ms"]) == (1, START_MS)


def test_derived_times_are_those_of_spark(tmp_path: Path) -> None:
    # duration 1000, of which 600 run, 30 deserialize, 20 serialize; the result was fetched for 100
    times = {"Executor Deserialize Time": 30, "Result Serialization Time": 20}
    end = task_end(
        0,
        finish=START_MS + 1_000,
        task_metrics=metrics(600, times),
        Getting_Result_Time=START_MS + 900,
    )
    early = task_end(1, finish=START_MS + 50, task_metrics=metrics(600, times))
    first, second = read(tmp_path, [end, early]).tasks.to_pylist()
    assert first["duration_ms"] == 1_000
    assert first["getting_result_ms"] == 100
    assert first["scheduler_delay_ms"] == 1_000 - 600 - 30 - 20 - 100
    assert second["scheduler_delay_ms"] == 0  # never below
    assert second["getting_result_ms"] == 0


def test_metrics_of_old_and_new_sparks(tmp_path: Path) -> None:
    # Spark 1.3 has no CPU times and leaves out what a task did not do; 4.x knows the heap apart.
    old = {"Host Name": "h", "Executor Run Time": 9, "Result Size": 5}
    new = metrics(
        more={
            "Peak On Heap Execution Memory": 11,
            "Shuffle Read Metrics": {
                "Remote Bytes Read": 1,
                "Push Based Shuffle": {"Merged Fetch Fallback Count": 3},
            },
        }
    )
    # Spark's JsonProtocol writes "Push Based Shuffle" and reads "Shuffle Push Read Metrics".
    odd = metrics(
        more={"Shuffle Read Metrics": {"Shuffle Push Read Metrics": {"Merged Fallback Count": 4}}}
    )
    ends = [task_end(i, task_metrics=m) for i, m in enumerate((old, new, odd))]
    first, second, third = read(tmp_path, ends).tasks.to_pylist()
    assert (first["run_ms"], first["cpu_ns"], first["shuffle_read_bytes"]) == (9, 0, 0)
    assert (second["peak_on_heap_memory_bytes"], second["push_fetch_fallbacks"]) == (11, 3)
    assert (second["shuffle_read_bytes"], second["fetch_wait_ms"]) == (1, 0)
    assert third["push_fetch_fallbacks"] == 4


def test_a_partition_before_spark_3_3_is_the_index(tmp_path: Path) -> None:
    end = task_end(7, Index=3)
    del end["Task Info"]["Partition ID"]
    assert only(read(tmp_path, [end]).tasks)["partition"] == 3


def test_status_without_a_reason_comes_from_the_flags(tmp_path: Path) -> None:
    ends = [task_end(0), task_end(1, Failed=True), task_end(2, Killed=True)]
    for end in ends:
        del end["Task End Reason"]
    log = read(tmp_path, ends)
    assert log.tasks["status"].to_pylist() == ["success", "failed", "killed"]


def test_a_denied_commit_is_a_kill(tmp_path: Path) -> None:
    log = read(tmp_path, [task_end(0, reason="TaskCommitDenied")])
    assert log.totals()["killed"] == 1


def test_executors_whose_ids_come_again(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        [
            event(
                "SparkListenerBlockManagerAdded",
                Block_Manager_ID={"Executor ID": "driver", "Host": "d", "Port": 1},
                Maximum_Memory=5,
                Timestamp=START_MS,
            ),
            ev.executor_added("1", START_MS + 1),
            ev.executor_removed("1", START_MS + 2, "gone"),
            ev.executor_added("1", START_MS + 3),
            ev.executor_added("1", START_MS + 4),  # nobody saw the second one go
            ev.executor_removed("7", START_MS + 5, "never added"),
        ],
    )
    rows = [(r["executor_id"], r["added_ms"], r["removed_ms"]) for r in log.executors.to_pylist()]
    assert rows == [
        ("driver", None, None),
        ("1", START_MS + 1, START_MS + 2),
        ("1", START_MS + 3, None),
        ("1", START_MS + 4, None),
        ("7", None, START_MS + 5),
    ]
    totals = log.totals()
    assert (totals["exec_added"], totals["exec_removed"]) == (3, 2)


def test_ends_without_starts_are_taken(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        [
            ev.job_end(3),
            ev.completed(4),
            event(f"{ev.SQL}ExecutionEnd", executionId=5, time=START_MS, errorMessage=""),
            event(f"{ev.SQL}AdaptiveExecutionUpdate", executionId=6, sparkPlanInfo={}),
            event(f"{ev.STREAM}QueryTerminatedEvent", id="q", runId="r", exception="boom"),
        ],
    )
    assert only(log.jobs)["status"] == "succeeded"
    assert only(log.stages)["status"] == "complete"
    assert only(log.sql_executions)["execution_id"] == 5
    assert only(log.tables["streaming_queries"])["error"] == "boom"
    assert log.totals()["jobs"] == 0  # none was seen to start


def test_a_second_attempt_has_its_number_behind_its_id(tmp_path: Path) -> None:
    start = ev.application_start() | {"App Attempt ID": "2"}
    log = read(tmp_path, [start])
    assert log.totals()["app"] == "app-1_2"
    assert not log.complete  # no application end
    assert log.totals()["end"] is None


def plan_node(name: str, metrics: list[tuple[str, int, str]], *children: Json) -> Json:
    return {
        "nodeName": name,
        "simpleString": f"{name} [a#1]",
        "children": list(children),
        "metadata": {"Format": "Parquet"} if "Scan" in name else {},
        "metrics": [{"name": n, "accumulatorId": i, "metricType": kind} for n, i, kind in metrics],
    }


def sql_log() -> list[Json]:
    rows = "number of output rows"
    first = plan_node("AdaptiveSparkPlan", [], plan_node("Sort", [("spill size", 1, "size")]))
    scan = plan_node("Scan parquet", [(rows, 5, "sum"), ("number of files read", 6, "sum")])
    codegen = plan_node(
        "WholeStageCodegen (2)",
        [("duration", 2, "timing")],
        plan_node(
            "HashAggregate",
            [("avg hash probes per key", 3, "average"), ("spill size", 4, "size")],
            plan_node("Project", [], plan_node("InputAdapter", [], scan)),
        ),
    )
    accumulables = [
        {"ID": 2, "Name": "duration", "Value": "70", "Internal": True, "Metadata": "sql"},
        {"ID": 3, "Name": "avg hash probes per key", "Value": "15", "Metadata": "sql"},
        {"ID": 5, "Name": rows, "Value": "1000", "Internal": True, "Metadata": "sql"},
        {"ID": 90, "Name": "my counter", "Value": "7"},
        {"ID": 91, "Name": "my list", "Value": "[1, 2]"},
        {"ID": 92, "Name": "internal.metrics.executorRunTime", "Value": 5},
    ]
    later = [{"ID": 5, "Name": rows, "Value": "1500", "Internal": True, "Metadata": "sql"}]
    return [
        event(
            f"{ev.SQL}ExecutionStart",
            executionId=8,
            rootExecutionId=8,
            description="count",
            details="at job.py",
            physicalPlanDescription="x",
            sparkPlanInfo=first,
            time=START_MS,
        ),
        ev.job_start(0, [0, 1], spark_sql_execution_id="8"),
        ev.submitted(0, spark_sql_execution_id="8"),
        event(f"{ev.SQL}AdaptiveExecutionUpdate", executionId=8, sparkPlanInfo=codegen),
        event(
            "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates",
            executionId=8,
            accumUpdates=[[6, 12], [5, 1]],
        ),
        ev.completed(0, Accumulables=accumulables),
        ev.submitted(1, spark_sql_execution_id="8"),
        ev.completed(1, Accumulables=later),
        ev.job_end(0),
        event(f"{ev.SQL}ExecutionEnd", executionId=8, time=START_MS + 9, errorMessage=""),
    ]


def test_sql_plan_metrics_and_stages(tmp_path: Path) -> None:
    log = read(tmp_path, sql_log())
    execution = only(log.sql_executions)
    assert (execution["status"], execution["error"]) == ("succeeded", None)
    assert (execution["job_ids"], execution["stage_ids"]) == ([0], [0, 1])
    nodes = log.tables["sql_nodes"].to_pylist()
    assert [(n["name"], n["parent_id"], n["depth"], n["codegen_id"]) for n in nodes] == [
        ("WholeStageCodegen (2)", None, 0, 2),
        ("HashAggregate", 0, 1, 2),
        ("Project", 1, 2, 2),
        ("InputAdapter", 2, 3, None),
        ("Scan parquet", 3, 4, None),
    ]
    assert nodes[4]["metadata"] == [("Format", "Parquet")]
    values = {(m["node_id"], m["name"]): m["value"] for m in log.tables["sql_metrics"].to_pylist()}
    # The last of the stages' running totals, and what the driver sent on top. No sum of averages,
    # no row for what never got a value.
    assert values == {
        (0, "duration"): 70,
        (4, "number of output rows"): 1501,
        (4, "number of files read"): 12,
    }
    ran = {(s["node_id"], s["stage_id"]) for s in log.tables["sql_stages"].to_pylist()}
    # Aggregate and Project have no metric of their own here: they run where their codegen stage does.
    assert ran == {(0, 0), (1, 0), (2, 0), (4, 0), (4, 1)}


def test_accumulators(tmp_path: Path) -> None:
    rows = read(tmp_path, sql_log()).tables["accumulators"].to_pylist()
    found = {(r["stage_id"], r["name"]): (r["kind"], r["value"], r["text"]) for r in rows}
    assert found[0, "my counter"] == ("", 7, "7")
    assert found[0, "my list"] == ("", None, "[1, 2]")
    assert found[1, "number of output rows"] == ("sql", 1500, "1500")
    assert not [name for _, name in found if name.startswith("internal.")]


def test_failures_of_sql_executions(tmp_path: Path) -> None:
    def execution(number: int, end: Json | None) -> list[Json]:
        start = event(f"{ev.SQL}ExecutionStart", executionId=number, time=START_MS)
        job = ev.job_start(number, [], spark_sql_execution_id=str(number))
        ended = (
            [event(f"{ev.SQL}ExecutionEnd", executionId=number, time=START_MS, **end)]
            if end is not None
            else []
        )
        return [start, job, ev.job_end(number, "failed"), *ended]

    told = execution(0, {"errorMessage": "no such table"})
    untold = execution(1, {})  # Spark before 3.4: its job's failure is all there is
    retried = execution(2, {"errorMessage": ""})  # from 3.4 on an empty text is a success
    running = execution(3, None)
    log = read(tmp_path, [*told, *untold, *retried, *running])
    rows = [
        (r["status"], r["error"]) for r in log.sql_executions.sort_by("execution_id").to_pylist()
    ]
    assert rows == [
        ("failed", "no such table"),
        ("failed", None),
        ("succeeded", None),
        ("running", None),
    ]


def test_a_plan_thousands_of_nodes_deep(tmp_path: Path) -> None:
    def deep(levels: int) -> str:
        node = '{"nodeName":"Union","simpleString":"Union","metadata":{},"metrics":[],"children":['
        return node * levels + "]}" * levels

    name = f'{{"Event":"{ev.SQL}ExecutionStart","executionId":1,"time":5,"sparkPlanInfo":'
    log = read(tmp_path, f"{name}{deep(300)}}}\n".encode())
    assert log.tables["sql_nodes"]["depth"].to_pylist() == list(range(300))
    log = read(tmp_path, f"{name}{deep(200_000)}}}\n".encode() + lines([task_end(0)]))
    assert log.tasks.num_rows == 1  # too deep to read, and no harm to the rest


def test_streaming(tmp_path: Path) -> None:
    progress = {
        "id": "q",
        "runId": "r",
        "name": "my query",
        "timestamp": "2023-11-14T22:13:20.500Z",
        "batchId": 4,
        "batchDuration": 900,
        "durationMs": {"triggerExecution": 1_240, "addBatch": 1_120},
        "eventTime": {"watermark": "1970-01-01T00:00:01.000Z"},
        "stateOperators": [
            {"numRowsTotal": 5, "numRowsUpdated": 2, "memoryUsedBytes": 300, "commitTimeMs": 9}
        ]
        * 2,
        "sources": [
            {
                "description": "Rate",
                "numInputRows": 100,
                "inputRowsPerSecond": "NaN",
                "processedRowsPerSecond": 80.5,
            },
            {
                "description": "Kafka",
                "numInputRows": 11,
                "inputRowsPerSecond": 1.5,
                "processedRowsPerSecond": 0.5,
            },
        ],
        "sink": {"description": "Memory"},
    }
    log = read(
        tmp_path,
        [
            event(
                f"{ev.STREAM}QueryStartedEvent",
                id="q",
                runId="r",
                name="my query",
                timestamp="2023-11-14T22:13:20Z",
            ),
            event(f"{ev.STREAM}QueryProgressEvent", progress=progress),
            event(f"{ev.STREAM}QueryTerminatedEvent", id="q", runId="r", exception=None),
        ],
    )
    row = only(log.streaming)
    assert (row["timestamp_ms"], row["batch_id"], row["batch_ms"]) == (START_MS + 500, 4, 1_240)
    assert (row["input_rows"], row["input_rows_per_second"]) == (111, 1.5)
    assert row["processed_rows_per_second"] == 81.0
    assert dict(row["durations_ms"]) == {"triggerExecution": 1_240, "addBatch": 1_120}
    assert (row["state_rows"], row["state_bytes"], row["watermark_ms"]) == (10, 600, 1_000)
    assert (row["sources"], row["sink"]) == (["Rate", "Kafka"], "Memory")
    query = only(log.tables["streaming_queries"])
    assert (query["started_ms"], query["terminated"], query["error"]) == (START_MS, True, None)


LEVEL = {"Use Disk": False, "Use Memory": True, "Deserialized": True, "Replication": 1}


def test_blocks_peaks_and_unpersists(tmp_path: Path) -> None:
    updated = event(
        "SparkListenerBlockUpdated",
        Block_Updated_Info={
            "Block Manager ID": {"Executor ID": "2", "Host": "host-2", "Port": 7},
            "Block ID": "rdd_14_3",
            "Storage Level": LEVEL,
            "Memory Size": 4_096,
            "Disk Size": 0,
        },
    )
    status = {"Storage Level": LEVEL, "Memory Size": 77, "Disk Size": 0}
    by_task = task_end(
        5,
        task_metrics=metrics(
            more={
                "Updated Blocks": [
                    {"Block ID": "rdd_2_9", "Status": status},
                    {"Block ID": "broadcast_1_piece0", "Status": status},
                ]
            }
        ),
    )
    peaks = event(
        "SparkListenerStageExecutorMetrics",
        Executor_ID="2",
        Stage_ID=4,
        Stage_Attempt_ID=1,
        Executor_Metrics={"JVMHeapMemory": 123, "ProcessTreePythonRSSMemory": 456},
    )
    with_peaks = task_end(6) | {"Task Executor Metrics": {"JVMHeapMemory": 99, "TotalGCTime": 0}}
    without = task_end(7) | {"Task Executor Metrics": {"JVMHeapMemory": 0}}
    log = read(
        tmp_path,
        [
            ev.submitted(0),
            *(updated, by_task, peaks, with_peaks, without),
            event("SparkListenerUnpersistRDD", RDD_ID=14),
        ],
    )
    updates = log.tables["block_updates"].to_pylist()
    found = {(b["source"], b["block_id"], b["rdd_id"], b["partition"]) for b in updates}
    assert found == {
        ("task", "rdd_2_9", 2, 9),
        ("task", "broadcast_1_piece0", None, None),
        ("block_updated", "rdd_14_3", 14, 3),
    }
    by_name = {b["block_id"]: b for b in updates}
    assert (by_name["rdd_14_3"]["host"], by_name["rdd_14_3"]["memory_bytes"]) == ("host-2", 4_096)
    assert (by_name["rdd_2_9"]["task_id"], by_name["rdd_2_9"]["use_memory"]) == (5, True)
    peak = only(log.tables["executor_peaks"])
    assert (peak["stage_attempt"], peak["jvm_heap_bytes"], peak["python_rss_bytes"]) == (
        1,
        123,
        456,
    )
    task_peak = only(log.tables["task_peaks"])
    assert (task_peak["task_id"], task_peak["jvm_heap_bytes"]) == (6, 99)
    assert only(log.tables["unpersists"]) == {"rdd_id": 14, "after_ms": START_MS}
    rdd = only(log.tables["rdds"])
    assert (rdd["use_disk"], rdd["replication"], rdd["scope"]) == (True, 2, "WholeStageCodegen (1)")


def test_environment(log: EventLog) -> None:
    assert log.conf() == {"spark.executor.cores": "2"}
    assert {"section": "JVM Information", "key": "Java Version", "value": "17"} in (
        log.environment.to_pylist()
    )


NOISE = [
    b"",
    b"12345",
    b"[1,2]",
    b"null",
    b'"text"',
    b'{"NoEvent":1}',
    b'{"Event":7}',
    b"INFO log4j",
    b"\r",
]


def test_noise_is_counted_and_costs_nothing(tmp_path: Path) -> None:
    out = []
    for number, line in enumerate(lines(ev.whole_log()).splitlines()):
        out += [line, NOISE[number % len(NOISE)]]
    unknown = [b'{"Event":"com.vendor.SomethingNew","x":1}', b'{"Event":"SparkListenerTaskNew"}']
    log = read(tmp_path, b"\n".join([*out, *unknown]) + b"\n")
    count = len(ev.whole_log())
    changed = {"lines": 2 * count + 2, "bad_lines": count, "skipped_lines": count}
    assert {k: v for k, v in log.totals().items() if k != "file"} == TOTALS | changed
    assert log.events["SomethingNew"] == log.events["SparkListenerTaskNew"] == 1
    assert log.complete  # nothing of the application's own is missing


BROKEN_ENDS = [
    b'{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage At',
    b'{"Event":"SparkListenerTaskEnd"}{"Event":"SparkListenerTaskEnd"}',
    b'{"Event":"SparkListenerTaskEnd",}',
    b'{"Event":"SparkListenerTaskEnd","Stage ID":0} trailing',
    b'{"Event":"SparkListenerTaskEnd","x":"\x00"}',
    b'{"Event":"SparkListenerJobStart","Job ID":"no number"}',
    b'{"Event":"SparkListenerJobStart"',
    b'some prefix {"Event":"SparkListenerTaskEnd","Stage ID":0}',
]


@pytest.mark.parametrize("line", BROKEN_ENDS)
def test_a_broken_event_costs_itself_and_is_told(tmp_path: Path, line: bytes) -> None:
    good = lines(ev.whole_log())
    cut = good.index(b"\n", len(good) // 2) + 1
    log = read(tmp_path, good[:cut] + line + b"\n" + good[cut:])
    changed = {"lines": 30, "bad_lines": 1, "skipped_lines": 1, "complete": False}
    assert {k: v for k, v in log.totals().items() if k != "file"} == TOTALS | changed
    assert "1 events are cut or damaged" in str(log.problems[0])


def test_odd_values_cost_only_themselves(tmp_path: Path) -> None:
    end = task_end(1, Index="17", Launch_Time=float(START_MS), Attempt=1 << 40)
    end["Task Metrics"]["Executor Run Time"] = 1e2
    end["Task Metrics"]["JVM GC Time"] = "x"
    end["Task Metrics"]["Input Metrics"] = []
    end["Task End Reason"]["Description"] = 5
    end["Task Info"]["Speculative"] = "true"
    log = read(tmp_path, [task_end(0), end, task_end(2)])
    rows = {r["task_id"]: r for r in log.tasks.to_pylist()}
    odd = rows[1]
    assert (odd["index"], odd["launch_ms"], odd["run_ms"], odd["gc_ms"]) == (17, START_MS, 100, 0)
    assert (odd["attempt"], odd["input_bytes"], odd["error"], odd["speculative"]) == (
        0,
        0,
        "5",
        True,
    )
    assert rows[0]["run_ms"] == rows[2]["run_ms"] == 100
    assert log.bad_lines == 0


def test_odd_fields_of_other_events_cost_only_themselves(tmp_path: Path) -> None:
    start = ev.job_start(1, [0])
    start["Properties"] = [["spark.job.description", "x"]]
    done = ev.completed(0)
    done["Stage Info"]["RDD Info"] = "none"
    done["Stage Info"]["Number of Tasks"] = {"is": "no number"}
    sql = sql_log()[0] | {"description": 7, "rootExecutionId": "no number"}
    log = read(tmp_path, [start, ev.submitted(0), done, sql])
    assert only(log.jobs)["stage_ids"] == [0]
    stage = only(log.stages)
    assert (stage["status"], stage["tasks"], stage["rdd_ids"]) == ("complete", None, [])
    execution = only(log.sql_executions)
    assert (execution["description"], execution["root_execution_id"]) == (None, 8)
    assert log.tables["sql_nodes"].num_rows == 2
    assert log.bad_lines == 0


def test_bytes_that_are_no_utf8_and_lone_surrogates(tmp_path: Path) -> None:
    ends = lines([task_end(0, Host="HOST")])
    log = read(
        tmp_path,
        ends.replace(b"HOST", b"h\xff")
        + ends.replace(b"HOST", b"h\\ud800")
        + lines([ev.job_start(0, [], spark_job_description="DESC")]).replace(
            b"DESC", b"d\xff\\ud800"
        ),
    )
    assert log.tasks["host"].to_pylist() == ["h\ufffd", "h?"]
    assert only(log.jobs)["description"].startswith("d")
    assert log.bad_lines == 0


def test_other_spellings_of_the_same_json(tmp_path: Path) -> None:
    def reordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reordered(value[key]) for key in sorted(value, reverse=True)}
        return [reordered(v) for v in value] if isinstance(value, list) else value

    spaced = b"".join(json.dumps(e).encode() + b"\n" for e in ev.whole_log())
    backwards = b"".join(b"  " + json.dumps(reordered(e)).encode() + b"\n" for e in ev.whole_log())
    crlf = b"\xef\xbb\xbf" + lines(ev.whole_log()).replace(b"\n", b"\r\n")
    no_end = lines(ev.whole_log()).rstrip(b"\n")
    for text in (spaced, backwards, crlf, no_end):
        found = read(tmp_path, text).totals()
        del found["file"]
        assert found == TOTALS


def test_blocks_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_probe.eventlog.reader._OpenStarts._PRUNE_AT", 2)
    for size in (1, 300, 5_000):
        monkeypatch.setattr("spark_probe.eventlog.reader.blocks", partial(blocks, size=size))
        found = read(tmp_path, ev.whole_log()).totals()
        del found["file"]
        assert found == TOTALS


def test_a_start_after_its_end_is_not_running(tmp_path: Path) -> None:
    log = read(tmp_path, [task_end(0), task_start(0), task_start(1)])
    assert [(r["task_id"], r["status"]) for r in log.tasks.to_pylist()] == [
        (0, "success"),
        (1, "running"),
    ]


def test_numbers_beyond_their_columns_cost_only_themselves(tmp_path: Path) -> None:
    far = ev.job_start(1 << 40, [0, 1 << 50], spark_sql_execution_id=str(1 << 70))
    odd = ev.submitted(0)
    odd["Stage Info"]["Number of Tasks"] = 1 << 80
    odd["Stage Info"]["RDD Info"][0]["Scope"] = '{"name":"\\ud800"}'
    log = read(tmp_path, [far, odd, ev.job_start(1, [0])])
    assert log.jobs["job_id"].to_pylist() == [1, None]
    assert log.jobs["stage_ids"].to_pylist() == [[0], [0, None]]
    stage = only(log.stages)
    assert (stage["tasks"], stage["rdd_scopes"]) == (None, ["?"])


def test_long_errors_are_kept_short(tmp_path: Path) -> None:
    fields = {"Description": "x" * 1_000_000, "Full Stack Trace": "at a.b\n" * 1_000_000}
    log = read(tmp_path, [task_end(0, reason="ExceptionFailure", reason_fields=fields)])
    row = only(log.tasks)
    assert len(row["error"]) == 4_000
    assert len(row["stack"]) == 20_000
