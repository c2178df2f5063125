"""Memory: garbage collection, explicit collections, spill."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from spark_probe.explain.evidence import Evidence, StageEvidence
from spark_probe.explain.finding import Finding
from spark_probe.explain.frames import top_frames

__all__ = ["explicit_gc", "gc_pressure", "spill"]

GC_SHARE = 0.10
DISK_BYTES_PER_MS = 200_000


def _pauses(evidence: Evidence, stage: StageEvidence) -> float | None:
    """Mean pause time (ms) of the stage's executors while it ran; None without their own records."""
    table, (start, end) = evidence.gc, stage.window_ms
    places = set(stage.executors.tolist())
    if table is None or not table.num_rows or not places or not stage.wall_ms:
        return None
    mine = pc.and_(
        pc.fill_null(table["pause"], False),
        pc.is_in(table["executor_id"], pc.unique(stage.tasks["executor_id"])),
    )
    rows = table.filter(mine)
    first = np.asarray(rows["start_ms"].to_numpy(), np.float64)
    last = first + np.asarray(rows["duration_ns"].to_numpy(), np.float64) / 1e6
    inside = np.minimum(last, end) - np.maximum(first, start)
    return float(np.maximum(inside, 0).sum()) / len(places)


def gc_pressure(evidence: Evidence) -> Iterator[Finding]:
    """Collections stop tasks for over 10 % of their time: the Spark UI's bar (GC time in red).

    From the pauses that JVMs told of, where there are any; else from the tasks' GC time, which is the
    whole JVM's and proves nothing above the run time. Cost: pauses a JVM, or share x wall time.
    """
    for stage in evidence.stages:
        run, task_gc = stage.total("run_ms"), stage.total("gc_ms")
        pauses = _pauses(evidence, stage)
        if pauses is not None:
            share = pauses / stage.wall_ms
        elif run and task_gc <= run:
            share = task_gc / run
        else:
            continue
        if share <= GC_SHARE:
            continue
        yield evidence.finding(
            "gc-pressure",
            f"Garbage collection takes {share:.0%} of the stage",
            share * stage.wall_ms,
            {"gc_share": round(share, 4), "task_gc_ms": task_gc, "run_ms": run},
            "Allocate less (the frames that allocate most come first), cache serialized or not at all, "
            "or give more heap a core: fewer cores or more memory an executor.",
            stage=stage,
            caveat="A larger heap does not help where nearly all dies young.",
            frames=top_frames(stage, "alloc"),
        )


def explicit_gc(evidence: Evidence) -> Iterator[Finding]:
    """Someone calls System.gc(): any collection of that cause, since each stops a whole JVM.

    Cost: their time, of the JVM that had most of it. The caller is seen where method events
    (spark.probe.methods) have it.
    """
    if evidence.gc is None:
        return
    rows = evidence.gc.filter(pc.equal(evidence.gc["cause"], "System.gc()"))
    if not rows.num_rows:
        return
    by = rows.group_by("executor_id").aggregate([("duration_ns", "sum")])
    worst = float(pc.max(by["duration_ns_sum"]).as_py() or 0) / 1e6
    callers = _callers(evidence)
    cleaner = any("ContextCleaner" in name for name, _ in callers)
    yield evidence.finding(
        "explicit-gc",
        f"System.gc() was called {rows.num_rows:,} times"
        + (f", by {callers[0][0]}" if callers else ""),
        worst,
        {"collections": rows.num_rows, "worst_jvm_ms": round(worst, 1), "jvms": by.num_rows},
        "It is Spark's own ContextCleaner: raise spark.cleaner.periodicGC.interval (30 min)."
        if cleaner
        else "Remove the call, or start the JVM with -XX:+ExplicitGCInvokesConcurrent.",
        caveat="-XX:+DisableExplicitGC lets direct buffers pile up: Netty and NIO rely on it.",
        frames=callers,
    )


def _callers(evidence: Evidence) -> tuple[tuple[str, float], ...]:
    if evidence.profile is None:
        return ()
    graph = evidence.profile.flamegraph("method")
    names = graph.names
    counts: dict[str, int] = {}
    for node in range(1, len(graph.parent)):
        parent = int(graph.parent[node])
        if names[graph.frame[node]] == "java.lang.System.gc" and parent > 0:
            caller = names[graph.frame[parent]]
            counts[caller] = counts.get(caller, 0) + int(graph.total_samples[node])
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: -item[1])[:5]
    return tuple((name, count / total) for name, count in ranked if total)


def spill(evidence: Evidence) -> Iterator[Finding]:
    """Tasks wrote to disk what did not fit into execution memory; any spill counts.

    Cost: bytes spilled, written and read again at 200 MB/s a task (a disk that several tasks share;
    an assumption), divided by slots.
    """
    for stage in evidence.stages:
        disk, memory = stage.total("disk_spill_bytes"), stage.total("memory_spill_bytes")
        if not disk:
            continue
        per_task = (
            "Divide the heavy keys first (see skew)" if stage.skewed else "Use more partitions"
        )
        yield evidence.finding(
            "spill",
            f"{disk / 2**20:,.0f} MiB spilled to disk, {memory / disk:.1f} times that in memory",
            2 * disk / DISK_BYTES_PER_MS / stage.slots,
            {
                "disk_spill_bytes": disk,
                "memory_spill_bytes": memory,
                "explosion_ratio": round(memory / disk, 2),
            },
            f"{per_task}, or give more execution memory a core: fewer cores an executor, more memory.",
            stage=stage,
            caveat="A sort of much data spills whatever one does: only its time counts.",
        )
