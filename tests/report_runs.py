"""Runs made by hand for the report's tests: small, deterministic, with every table that a page shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from spark_probe.report import RunTables

START_MS = 1_760_000_000_000
BUCKET_MS = 10_000

TASK = ["java.lang.Thread.run", "org.apache.spark.executor.Executor$TaskRunner.run"]
WRITE = [*TASK, "org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write"]
CODE = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1.next"
FETCH = [*TASK, "org.apache.spark.storage.ShuffleBlockFetcherIterator.next"]
# (event, kind, state, stack, samples of a typical task, of a straggler)
STACKS: list[tuple[str, str, str, list[str], int, int]] = [
    (
        "cpu",
        "task",
        "",
        [*WRITE, CODE, "com.acme.Pricing.price:42", "java.util.HashMap.get"],
        40,
        300,
    ),
    ("cpu", "task", "", [*WRITE, CODE], 25, 30),
    (
        "cpu",
        "task",
        "",
        [*WRITE, "net.jpountz.lz4.LZ4JNICompressor.compress", "LZ4_compress_fast"],
        12,
        12,
    ),
    (
        "cpu",
        "task",
        "",
        [*TASK, "com.acme.Tree.walk:7", "com.acme.Tree.walk:7", "com.acme.Tree.walk:7"],
        9,
        9,
    ),
    ("cpu", "gc", "", ["G1ParScanThreadState::copy_to_survivor_space"], 4, 4),
    ("wall", "task", "runnable", [*WRITE, CODE, "com.acme.Pricing.price:42"], 8, 60),
    ("wall", "task", "sleeping", [*FETCH, "java.util.concurrent.LinkedBlockingQueue.take"], 6, 7),
    ("alloc", "task", "tlab", [*WRITE, CODE, "byte[]"], 5, 20),
    ("lock", "task", "", [*TASK, "com.acme.Cache.get:19", "com.acme.Cache"], 2, 2),
]
INTERVAL = {"cpu": 10_000_000, "wall": 100_000_000, "alloc": 4_194_304, "lock": 3_000_000}
TYPES = {"byte[]": "class", "com.acme.Cache": "class", "LZ4_compress_fast": "native"}


def small_run(stages: int = 3, tasks: int = 12, rename: Any = None) -> RunTables:
    """A run of ``stages`` stages with ``tasks`` tasks each; the last task of each is a straggler.

    ``rename`` is applied to every name that a person, a job or a file chose.
    """
    say = rename or (lambda text: text)
    names = sorted({frame for _, _, _, stack, _, _ in STACKS for frame in stack})
    place = {name: i for i, name in enumerate(names)}
    samples: list[dict[str, Any]] = []
    task_rows: list[dict[str, Any]] = []
    for stage in range(stages):
        for t in range(tasks):
            slow = t == tasks - 1
            task_id = stage * tasks + t
            launch = START_MS + stage * 60_000 + (t % 4) * 500
            duration = 40_000 if slow else 8_000 + 100 * t
            task_rows.append(task_row(stage, t, task_id, launch, duration, slow, say))
            for s, (event, kind, state, _, typical, straggler) in enumerate(STACKS):
                count = (straggler if slow else typical) + (stage if event == "cpu" else 0)
                samples.append(
                    {
                        "executor_id": say(str(1 + t % 2)),
                        "recording_id": 1 if slow and event == "cpu" else 0,
                        "stage_id": stage if kind == "task" else -1,
                        "stage_attempt": 0 if kind == "task" else -1,
                        "task_id": task_id if kind == "task" else -1,
                        "kind": kind,
                        "event": event,
                        "state": state,
                        "bucket_ms": launch // BUCKET_MS * BUCKET_MS + BUCKET_MS * (s % 3),
                        "stack_hash": 1000 + s,
                        "samples": count,
                        "value": count * INTERVAL[event],
                    }
                )
    stacks = [
        {"stack_hash": 1000 + s, "frames": [place[f] for f in stack]}
        for s, (_, _, _, stack, _, _) in enumerate(STACKS)
    ]
    frames = [frame_row(i, name, say) for name, i in place.items()]
    return RunTables(
        run={
            "app_id": say("app-20260101000000-0001"),
            "app_name": say("nightly-pricing"),
            "spark_version": "4.0.1",
            "master": say("yarn"),
            "start_ms": START_MS,
            "end_ms": START_MS + stages * 60_000 + 5_000,
        },
        executors=[executor(str(e), say) for e in (1, 2)],
        samples=pa.Table.from_pylist(samples),
        stacks=pa.table(
            {
                "stack_hash": pa.array([s["stack_hash"] for s in stacks], pa.int64()),
                "frames": pa.array([s["frames"] for s in stacks], pa.list_(pa.int32())),
            }
        ),
        frames=pa.Table.from_pylist(frames),
        triggers=pa.Table.from_pylist([trigger(tasks - 1, say)]),
        dumps=pa.Table.from_pylist([dump(tasks - 1, say)]),
        gc=pa.Table.from_pylist([pause(i, say) for i in range(20)]),
        recordings=pa.Table.from_pylist(
            [
                {"executor_id": say(e), "recording_id": i, "purpose": ["base", "burst"][i]}
                for e in ("1", "2")
                for i in (0, 1)
            ]
        ),
        events={
            "tasks": pa.Table.from_pylist(task_rows),
            "stages": pa.Table.from_pylist([stage_row(s, say) for s in range(stages)]),
            "jobs": pa.Table.from_pylist([job_row(s, say) for s in range(stages)]),
            "executors": pa.Table.from_pylist([executor_row(e, say) for e in ("1", "2")]),
            "sql_executions": pa.Table.from_pylist([sql_row(say)]),
            "sql_nodes": pa.Table.from_pylist([node_row(say)]),
            "sql_stages": pa.Table.from_pylist(
                [{"execution_id": 0, "node_id": 0, "stage_id": 0, "stage_attempt": 0}]
            ),
        },
        findings=[finding(say)],
        notes=[say("a note")],
    )


def frame_row(i: int, name: str, say: Any) -> dict[str, Any]:
    head, _, line = name.partition(":") if not name.startswith("G1") else (name, "", "")
    kind = "cpp" if name.startswith("G1") else TYPES.get(name, "jit")
    return {"id": i, "name": say(head), "type": kind, "line": int(line) if line else 0}


def task_row(
    stage: int, t: int, task_id: int, launch: int, duration: int, slow: bool, say: Any
) -> dict[str, Any]:
    return {
        "stage_id": stage,
        "stage_attempt": 0,
        "task_id": task_id,
        "partition": t,
        "attempt": 0,
        "executor_id": say(str(1 + t % 2)),
        "host": say("worker"),
        "speculative": False,
        "launch_ms": launch,
        "finish_ms": launch + duration,
        "status": "success",
        "error": None,
        "duration_ms": duration,
        "run_ms": duration - 50,
        "cpu_ns": duration * 700_000,
        "gc_ms": duration // 20,
        "shuffle_read_bytes": (40 if slow else 4) << 20,
        "shuffle_write_bytes": 1 << 20,
        "disk_spill_bytes": (64 << 20) if slow else 0,
    }


def stage_row(stage: int, say: Any) -> dict[str, Any]:
    return {
        "stage_id": stage,
        "stage_attempt": 0,
        "name": say(f"collect at job.py:{stage}"),
        "details": say("org.apache.spark.sql.Dataset.collect(Dataset.scala:1)\njob.py:12"),
        "description": say("prices of all"),
        "job_group": say("group-a" if stage % 2 else "group-b"),
        "section": say("dedupe" if stage == 0 else ""),
        "sql_execution_id": 0,
        "job_ids": [stage],
        "submitted_ms": START_MS + stage * 60_000,
        "completed_ms": START_MS + stage * 60_000 + 45_000,
        "status": "complete",
        "failure": say("") or None,
    }


def job_row(job: int, say: Any) -> dict[str, Any]:
    return {
        "job_id": job,
        "name": say("collect at job.py"),
        "description": say("job of prices"),
        "job_group": say("group-a"),
        "section": None,
        "sql_execution_id": 0,
        "submitted_ms": START_MS + job * 60_000,
        "completed_ms": START_MS + job * 60_000 + 46_000,
        "status": "succeeded",
    }


def executor_row(name: str, say: Any) -> dict[str, Any]:
    return {
        "executor_id": say(name),
        "host": say("worker"),
        "cores": 4,
        "added_ms": START_MS + 1_000,
        "block_manager_ms": START_MS + 1_100,
        "removed_ms": START_MS + 90_000 if name == "2" else None,
        "removed_reason": say("Container killed by YARN") if name == "2" else None,
    }


def executor(name: str, say: Any) -> dict[str, Any]:
    lost = name == "2"
    return {
        "executor_id": say(name),
        "host": say("worker"),
        "state": "lost" if lost else "stopped",
        "reason": say("went without its last flush") if lost else None,
        "engine": "ctimer",
        "samples": 4_000,
        "samples_lost": 12 if lost else 0,
        "lost_reason": say("a chunk could not be read") if lost else None,
        "notes": [say("perf_event_open is blocked: ctimer is used")],
        "last_error": None,
        "attached_ms": START_MS + 900,
        "updated_ms": START_MS + 90_000,
    }


def trigger(task_id: int, say: Any) -> dict[str, Any]:
    return {
        "time_ms": START_MS + 20_000,
        "rule": say("straggler"),
        "stage_id": 0,
        "stage_attempt": 0,
        "task_id": task_id,
        "threshold": 12_000.0,
        "value": 16_000.0,
        "unit": "ms",
        "action": say("burst"),
        "note": say("twice the median"),
        "executor_id": say("1"),
    }


def dump(task_id: int, say: Any) -> dict[str, Any]:
    return {
        "time_ms": START_MS + 20_500,
        "task_id": task_id,
        "stage_id": 0,
        "stage_attempt": 0,
        "thread": say("Executor task launch worker"),
        "thread_state": "RUNNABLE",
        "text": say("at com.acme.Pricing.price(Pricing.java:42)"),
        "executor_id": say("1"),
    }


def pause(i: int, say: Any) -> dict[str, Any]:
    return {
        "start_ms": START_MS + 3_000 * i,
        "duration_ns": 30_000_000 + 1_000_000 * i,
        "pause": True,
        "action": say("end of minor GC"),
        "cause": say("G1 Evacuation Pause"),
        "executor_id": say("1"),
    }


def sql_row(say: Any) -> dict[str, Any]:
    return {
        "execution_id": 0,
        "description": say("SELECT price FROM t"),
        "submitted_ms": START_MS,
        "completed_ms": START_MS + 60_000,
        "status": "succeeded",
    }


def node_row(say: Any) -> dict[str, Any]:
    return {
        "execution_id": 0,
        "node_id": 0,
        "name": say("HashAggregate"),
        "description": say("HashAggregate(keys=[id])"),
    }


def finding(say: Any) -> dict[str, Any]:
    return {
        "rule": say("skew"),
        "severity": "critical",
        "title": say("One task of stage 0 takes 4.6 times as long as the others"),
        "stage_id": 0,
        "stage_attempt": 0,
        "cost_ms": 31_000,
        "numbers": {say("max / p75"): say("4.6"), say("data of it"): say("40 MiB against 4 MiB")},
        "frames": [(say("java.util.HashMap.get"), 0.55)],
        "code": say("job.py:12"),
        "advice": say(
            "Salt the key, or let AQE split the partition: spark.sql.adaptive.skewJoin.enabled."
        ),
        "caveat": say("Not where the key is needed whole."),
    }


def big_run(
    stages: int, tasks: int, rows: int, nodes: int, depth: int = 60, seed: int = 3
) -> RunTables:
    """Random samples at scale: ``rows`` sample rows over ``nodes / 4`` stacks of about ``depth``."""
    rng = np.random.default_rng(seed)
    n_stacks = max(10, nodes // 8)
    names = [f"com.acme.p{i % 40}.Service{i % 900}.method{i}" for i in range(6_000)]
    # Stacks share prefixes: each is an earlier one cut somewhere, with a few new frames.
    stacks = [rng.integers(0, 6_000, depth)]
    for _ in range(n_stacks - 1):
        base = stacks[int(rng.integers(0, len(stacks)))]
        cut = int(rng.integers(depth // 2, base.size))
        stacks.append(
            np.concatenate([base[:cut], rng.integers(0, 6_000, int(rng.integers(1, 16)))])[
                : depth * 2
            ]
        )
    task = rng.integers(0, stages * tasks, rows)
    stack = (rng.random(rows) ** 2 * n_stacks).astype(np.int64)
    count = rng.geometric(0.6, rows)
    samples = pa.table(
        {
            "stage_id": pa.array(task // tasks, pa.int32()),
            "stage_attempt": pa.array(np.zeros(rows), pa.int32()),
            "task_id": pa.array(task, pa.int64()),
            "kind": pa.array(["task"] * rows),
            "event": pa.array(rng.choice(["cpu", "wall"], rows)),
            "state": pa.array([""] * rows),
            "bucket_ms": pa.array(START_MS + (task // 16 + rng.integers(0, 6, rows)) * BUCKET_MS),
            "stack_hash": pa.array(stack, pa.int64()),
            "samples": pa.array(count, pa.int64()),
            "value": pa.array(count * 10_000_000, pa.int64()),
        }
    )
    every = np.arange(stages * tasks)
    duration = rng.gamma(3, 2000, every.size).astype(np.int64) + 20
    launch = START_MS + every // 16 * BUCKET_MS
    events = {
        "tasks": pa.table(
            {
                "stage_id": pa.array(every // tasks, pa.int32()),
                "stage_attempt": pa.array(np.zeros(every.size), pa.int32()),
                "task_id": pa.array(every, pa.int64()),
                "partition": pa.array(every % tasks, pa.int32()),
                "attempt": pa.array(np.zeros(every.size), pa.int32()),
                "executor_id": pa.array([str(e % 20) for e in every]),
                "status": pa.array(["success"] * every.size),
                "launch_ms": launch,
                "finish_ms": launch + duration,
                "duration_ms": duration,
                "run_ms": duration,
                "cpu_ns": duration * 800_000,
                "gc_ms": duration // 30,
                "shuffle_read_bytes": rng.integers(0, 1 << 27, every.size),
            }
        ),
        "stages": pa.Table.from_pylist(
            [
                {
                    **stage_row(s, str),
                    "name": f"start at Stream.scala:{s % 7}",
                    "description": "batch",
                }
                for s in range(stages)
            ]
        ),
    }
    return RunTables(
        run={
            "app_name": "big",
            "app_id": "app-big",
            "start_ms": START_MS,
            "end_ms": START_MS + 10**7,
        },
        samples=samples,
        stacks=pa.table(
            {
                "stack_hash": pa.array(range(n_stacks), pa.int64()),
                "frames": pa.array([s.tolist() for s in stacks], pa.list_(pa.int32())),
            }
        ),
        frames=pa.table(
            {
                "id": pa.array(range(6_000), pa.int32()),
                "name": names,
                "type": ["jit"] * 6_000,
                "line": pa.array([0] * 6_000, pa.int32()),
            }
        ),
        events=events,
    )
