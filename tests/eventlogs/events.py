"""Events with the fields that Spark writes, and a log of them whose sums are known.

Every kind of thing that a log can hold is in `whole_log`: a failed job, a stage retry, failed, killed, resubmitted and
speculative attempts, a task without metrics, one that never ends, an end after its stage's completion.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = [
    "START_MS",
    "TOTALS",
    "Json",
    "event",
    "lines",
    "metrics",
    "task_end",
    "task_start",
    "whole_log",
]

Json = dict[str, Any]
START_MS = 1_700_000_000_000
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
STREAM = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def event(name: str, /, **fields: Any) -> Json:
    """An event; underscores in a field's name stand for the spaces that Spark has there."""
    return {"Event": name, **{key.replace("_", " "): value for key, value in fields.items()}}


def lines(events: list[Json]) -> bytes:
    """The events as Spark writes them: a line each, no spaces."""
    return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in events)


def info(task_id: int, launch: int, **fields: Any) -> Json:
    return {
        "Task ID": task_id,
        "Index": task_id,
        "Attempt": 0,
        "Partition ID": task_id,
        "Launch Time": launch,
        "Executor ID": "1",
        "Host": "host-1",
        "Locality": "NODE_LOCAL",
        "Speculative": False,
        "Getting Result Time": 0,
        "Finish Time": 0,
        "Failed": False,
        "Killed": False,
        "Accumulables": [],
        **{key.replace("_", " "): value for key, value in fields.items()},
    }


def metrics(run: int = 100, more: Json | None = None) -> Json:
    """Task metrics as of Spark 3.5, with numbers that can be told apart."""
    return {
        "Executor Deserialize Time": 3,
        "Executor Deserialize CPU Time": 2_000_000,
        "Executor Run Time": run,
        "Executor CPU Time": run * 900_000,
        "Peak Execution Memory": 1 << 20,
        "Result Size": 1_000,
        "JVM GC Time": 5,
        "Result Serialization Time": 1,
        "Memory Bytes Spilled": 400,
        "Disk Bytes Spilled": 100,
        "Shuffle Read Metrics": {
            "Remote Blocks Fetched": 2,
            "Local Blocks Fetched": 1,
            "Fetch Wait Time": 7,
            "Remote Bytes Read": 20,
            "Remote Bytes Read To Disk": 0,
            "Local Bytes Read": 10,
            "Total Records Read": 3,
            "Remote Requests Duration": 4,
        },
        "Shuffle Write Metrics": {
            "Shuffle Bytes Written": 50,
            "Shuffle Write Time": 6_000,
            "Shuffle Records Written": 5,
        },
        "Input Metrics": {"Bytes Read": 1_000, "Records Read": 10},
        "Output Metrics": {"Bytes Written": 70, "Records Written": 7},
        "Updated Blocks": [],
        **(more or {}),
    }


def task_start(
    task_id: int, launch: int = START_MS, stage: int = 0, attempt: int = 0, **more: Any
) -> Json:
    return event(
        "SparkListenerTaskStart",
        Stage_ID=stage,
        Stage_Attempt_ID=attempt,
        Task_Info=info(task_id, launch, **more),
    )


def task_end(
    task_id: int,
    launch: int = START_MS,
    finish: int = START_MS + 120,
    stage: int = 0,
    attempt: int = 0,
    reason: str = "Success",
    reason_fields: Json | None = None,
    task_metrics: Json | None = None,
    **more: Any,
) -> Json:
    """A task's end, with `metrics()` unless others are given; `task_metrics={}` leaves them out."""
    ended = event(
        "SparkListenerTaskEnd",
        Stage_ID=stage,
        Stage_Attempt_ID=attempt,
        Task_Type="ShuffleMapTask",
        Task_End_Reason={"Reason": reason, **(reason_fields or {})},
        Task_Info=info(task_id, launch, Finish_Time=finish, **more),
        Task_Metrics=metrics() if task_metrics is None else task_metrics,
    )
    if task_metrics == {}:
        del ended["Task Metrics"]
    return ended


def stage_info(stage: int, attempt: int = 0, tasks: int = 4, **fields: Any) -> Json:
    return {
        "Stage ID": stage,
        "Stage Attempt ID": attempt,
        "Stage Name": f"count at job.py:{stage}",
        "Number of Tasks": tasks,
        "RDD Info": [
            {
                "RDD ID": 10 * stage + 1,
                "Name": "MapPartitionsRDD",
                "Scope": '{"id":"1","name":"WholeStageCodegen (1)"}',
                "Callsite": f"count at job.py:{stage}",
                "Parent IDs": [10 * stage],
                "Storage Level": {
                    "Use Disk": True,
                    "Use Memory": True,
                    "Deserialized": False,
                    "Replication": 2,
                },
                "Number of Partitions": tasks,
                "Number of Cached Partitions": 0,
                "Memory Size": 0,
                "Disk Size": 0,
            }
        ],
        "Parent IDs": [stage - 1] if stage else [],
        "Details": "org.example.Job.main(Job.java:1)",
        "Accumulables": [],
        **fields,
    }


def submitted(stage: int, attempt: int = 0, **properties: str) -> Json:
    return event(
        "SparkListenerStageSubmitted",
        Stage_Info=stage_info(stage, attempt, **{"Submission Time": START_MS + stage}),
        Properties={name.replace("_", "."): value for name, value in properties.items()},
    )


def completed(stage: int, attempt: int = 0, **fields: Any) -> Json:
    times = {"Submission Time": START_MS + stage, "Completion Time": START_MS + 500 + stage}
    return event(
        "SparkListenerStageCompleted", Stage_Info=stage_info(stage, attempt, **times, **fields)
    )


def job_start(job: int, stages: list[int], **properties: str) -> Json:
    return event(
        "SparkListenerJobStart",
        Job_ID=job,
        Submission_Time=START_MS + job,
        Stage_Infos=[stage_info(s) for s in stages],
        Stage_IDs=stages,
        Properties={name.replace("_", "."): value for name, value in properties.items()},
    )


def job_end(job: int, failure: str | None = None) -> Json:
    result: Json = {"Result": "JobSucceeded"}
    if failure:
        result = {"Result": "JobFailed", "Exception": {"Message": failure, "Stack Trace": []}}
    return event(
        "SparkListenerJobEnd", Job_ID=job, Completion_Time=START_MS + 900, Job_Result=result
    )


def application_start() -> Json:
    return event(
        "SparkListenerApplicationStart",
        App_Name="a job",
        App_ID="app-1",
        Timestamp=START_MS,
        User="someone",
    )


def executor_added(executor: str, at: int) -> Json:
    return event(
        "SparkListenerExecutorAdded",
        Timestamp=at,
        Executor_ID=executor,
        Executor_Info={"Host": f"host-{executor}", "Total Cores": 2, "Log Urls": {}},
    )


def executor_removed(executor: str, at: int, reason: str) -> Json:
    return event(
        "SparkListenerExecutorRemoved", Timestamp=at, Executor_ID=executor, Removed_Reason=reason
    )


def whole_log() -> list[Json]:
    """See the module's docstring; `TOTALS` is what it adds up to."""
    late = task_end(3, finish=START_MS + 700)
    return [
        event("SparkListenerLogStart", Spark_Version="3.5.9"),
        executor_added("1", START_MS + 1),
        event(
            "SparkListenerBlockManagerAdded",
            Block_Manager_ID={"Executor ID": "1", "Host": "host-1", "Port": 1},
            Maximum_Memory=1 << 30,
            Timestamp=START_MS + 2,
        ),
        event(
            "SparkListenerEnvironmentUpdate",
            JVM_Information={"Java Version": "17"},
            Spark_Properties={"spark.executor.cores": "2"},
        ),
        application_start(),
        job_start(0, [0, 1], spark_jobGroup_id="g", spark_probe_section="dedupe"),
        submitted(0, spark_probe_section="dedupe"),
        task_start(0),
        task_start(1),
        task_start(2),
        task_start(3),
        task_end(0),
        task_end(
            1,
            reason="ExceptionFailure",
            reason_fields={
                "Class Name": "java.lang.IllegalStateException",
                "Description": "no ☃ today",
                "Full Stack Trace": "java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)",
            },
            Failed=True,
        ),
        task_start(4, Index=1, Attempt=1, Partition_ID=1),
        task_end(
            4,
            Index=1,
            Attempt=1,
            Partition_ID=1,
            reason="TaskKilled",
            reason_fields={"Kill Reason": "another attempt succeeded"},
            Killed=True,
            Speculative=True,
        ),
        task_end(2, reason="ExecutorLostFailure", task_metrics={}, Failed=True),
        completed(0),
        late,
        task_end(0, reason="Resubmitted", Failed=True),
        submitted(0, 1),
        task_start(5, attempt=1),
        task_end(
            5,
            attempt=1,
            reason="FetchFailed",
            reason_fields={
                "Block Manager Address": {"Executor ID": "9", "Host": "host-9", "Port": 7337},
                "Shuffle ID": 4,
                "Map ID": 0,
                "Reduce ID": 0,
                "Message": "connection refused",
            },
            Failed=True,
        ),
        completed(0, 1, **{"Failure Reason": "fetch failed"}),
        job_end(0, "Job aborted"),
        job_start(1, [1]),
        submitted(1),
        task_start(6, stage=1),
        executor_removed("1", START_MS + 800, "lost"),
        event("SparkListenerApplicationEnd", Timestamp=START_MS + 1_000),
    ]


# Five of the six attempts that ended carry metrics; the resubmitted one is no attempt and is not added.
TOTALS = {
    "spark": "3.5.9",
    "app": "app-1",
    "start": START_MS,
    "end": START_MS + 1_000,
    "lines": 29,
    "bad_lines": 0,
    "jobs": 2,
    "jobs_ok": 0,
    "jobs_failed": 1,
    "stages": 3,
    "stages_failed": 1,
    "stages_open": 1,
    "task_starts": 7,
    "task_ends": 7,
    "ok": 2,
    "failed": 3,
    "killed": 1,
    "resubmitted": 1,
    "speculative": 1,
    "no_metrics": 1,
    "exec_added": 1,
    "exec_removed": 1,
    "run_ms": 500,
    "cpu_ns": 450_000_000,
    "gc_ms": 25,
    "deser_ms": 15,
    "ser_ms": 5,
    "mem_spill": 2_000,
    "disk_spill": 500,
    "shuf_read": 150,
    "shuf_write": 250,
    "fetch_wait_ms": 35,
    "input": 5_000,
    "output": 350,
    "skipped_lines": 0,
    "skipped_bytes": 0,
    "complete": True,
}
