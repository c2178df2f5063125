"""What stacks show: serialization, compression, JIT, locks, waiting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spark_probe.calltree import tree_of
from spark_probe.explain.evidence import Evidence, StageEvidence
from spark_probe.explain.finding import Finding
from spark_probe.flamegraph import FlameGraph
from spark_probe.report.categories import load_categories

__all__ = ["compression", "java_serialization", "jit", "lock_contention", "top_frames", "waiting"]

SHARE = 0.10
JIT_SHARE = 0.15
LOCK_SHARE = 0.05
WAIT_SHARE = 0.5
LEAST_SAMPLES = 100


def top_frames(
    stage: StageEvidence, event: str, n: int = 5, **where: Any
) -> tuple[tuple[str, float], ...]:
    """The stage's hottest frames and their share of its samples' value; empty without samples."""
    if stage.sampled is None or event not in stage.sampled.samples:
        return ()
    return _top(stage.sampled.flamegraph(event, **where), n)


def _top(graph: FlameGraph, n: int = 5) -> tuple[tuple[str, float], ...]:
    whole = graph.value
    hot = graph.top(n)
    return tuple((f.name, round(f.self_value / whole, 4)) for f in hot if whole and f.self_value)


def _cpu(stage: StageEvidence) -> FlameGraph | None:
    """Its CPU graph; None under 100 samples, where a 10 % share has an error of 3 %."""
    if stage.sampled is None or "cpu" not in stage.sampled.samples:
        return None
    graph = stage.sampled.flamegraph("cpu")
    return graph if graph.total >= LEAST_SAMPLES else None


def _busy_ms(stage: StageEvidence) -> float:
    """The part of the stage's wall time in which its tasks are on CPU."""
    run, cpu = stage.total("run_ms"), stage.total("cpu_ns") / 1e6
    return stage.wall_ms * min(cpu / run, 1.0) if run and cpu else stage.wall_ms


def java_serialization(evidence: Evidence) -> Iterator[Finding]:
    """Java's object streams have over 10 % of a stage's CPU (our bar, as for GC).

    Cost: share x the stage's time on CPU; Kryo saves most, not all of it.
    """
    for stage in evidence.stages:
        graph = _cpu(stage)
        if graph is None:
            continue
        part = graph.filter(include=r"java\.io\.Object(In|Out)putStream")
        share = part.value / graph.value if graph.value else 0
        if share > SHARE:
            yield evidence.finding(
                "java-serialization",
                f"Java serialization takes {share:.0%} of the stage's CPU",
                share * _busy_ms(stage),
                {"cpu_share": round(share, 4), "cpu_samples": graph.total},
                "Set spark.serializer=org.apache.spark.serializer.KryoSerializer and register the "
                "classes, or use DataFrames, which need no serializer.",
                stage=stage,
                caveat="Closures are always written by Java serialization.",
                frames=_top(part),
            )


def compression(evidence: Evidence) -> Iterator[Finding]:
    """Codecs have over 10 % of a stage's CPU, by the report's categories. Cost: as for the serializer."""
    rules = load_categories()
    for stage in evidence.stages:
        graph = _cpu(stage)
        if graph is None:
            continue
        codes = rules.of_frames(graph.frames["name"].to_pylist(), graph.frames["type"].to_pylist())
        nodes = rules.of_nodes(tree_of(graph.typed_depth, graph.typed_frame), codes)
        inside = nodes == rules.keys.index("compression")
        value = int(graph.typed_value[inside].sum())
        share = value / graph.value if graph.value else 0
        if share > SHARE:
            yield evidence.finding(
                "compression",
                f"Compression takes {share:.0%} of the stage's CPU",
                share * _busy_ms(stage),
                {"cpu_share": round(share, 4), "cpu_samples": graph.total},
                "Take a faster codec: lz4 for spark.io.compression.codec, snappy or zstd at a low level "
                "for files.",
                stage=stage,
                caveat="Not where the network or the store is the limit: larger data cost more there.",
                frames=_top(graph),
            )


def jit(evidence: Evidence) -> Iterator[Finding]:
    """Compiler threads have over 15 % of the application's CPU samples (10-15 % is usual at the start).

    Cost: share x duration, an upper bound, as compilers may run on idle cores.
    """
    if evidence.profile is None or "cpu" not in evidence.profile.event_names:
        return
    kinds = evidence.profile.coverage.samples["cpu"]
    whole, part = sum(kinds.values()), kinds.get("jit", 0)
    if whole >= LEAST_SAMPLES and part > JIT_SHARE * whole:
        yield evidence.finding(
            "jit",
            f"JIT compilation takes {part / whole:.0%} of the CPU",
            part / whole * evidence.duration_ms,
            {"jit_samples": part, "cpu_samples": whole},
            "Reuse executors instead of starting new ones for short jobs; split generated code less "
            "(fewer distinct plans), and see that the code cache is large enough.",
            caveat="Short applications are always so: it ends when code is warm.",
        )


def lock_contention(evidence: Evidence) -> Iterator[Finding]:
    """A stage's tasks are blocked on monitors or locks for over 5 % of their run time (our bar).

    Cost: blocked time / slots. The class of the lock is the stack's innermost class frame.
    """
    for stage in evidence.stages:
        run = stage.total("run_ms")
        if stage.sampled is None or "lock" not in stage.sampled.samples or not run:
            continue
        graph = stage.sampled.flamegraph("lock", kinds=["task"])
        blocked = graph.value / 1e6
        if blocked <= LOCK_SHARE * run:
            continue
        hot = graph.top(50)
        locks = [f.name for f in hot if f.kind == "class" and f.self_value]
        yield evidence.finding(
            "lock-contention",
            f"Tasks wait {blocked / run:.0%} of their time for a lock"
            + (f" of {locks[0]}" if locks else ""),
            blocked / stage.slots,
            {
                "blocked_ms": round(blocked, 1),
                "run_ms": run,
                "lock_class": locks[0] if locks else "",
            },
            "Take the lock out of the row path: one object a task (mapPartitions) instead of one a JVM, "
            "or a concurrent structure; else fewer cores an executor.",
            stage=stage,
            frames=_top(graph),
        )


def waiting(evidence: Evidence) -> Iterator[Finding]:
    """Tasks are off CPU for over half of their run time, GC and fetch wait not counted (our bar).

    Silent without CPU times (Spark before 2.1). Cost: that time / slots; info without wall samples that
    prove it, as the time of a Python worker is no CPU time of the task.
    """
    for stage in evidence.stages:
        run, cpu = stage.total("run_ms"), stage.total("cpu_ns") / 1e6
        idle = run - cpu - stage.total("gc_ms") - stage.total("fetch_wait_ms")
        if not cpu or idle <= WAIT_SHARE * run:
            continue
        frames = top_frames(stage, "wall", kinds=["task"], states=["sleeping"])
        yield evidence.finding(
            "waiting",
            f"Tasks are not on CPU for {idle / run:.0%} of their time"
            + (f", most in {frames[0][0]}" if frames else ""),
            idle / stage.slots,
            {"run_ms": run, "cpu_ms": round(cpu, 1), "waiting_ms": round(idle, 1)},
            "See what the frames wait for: batch or parallelize calls to outside systems, read fewer and "
            "larger files, take sleeps out, vectorize Python (pandas UDFs).",
            stage=stage,
            caveat="Time in a Python worker is waiting here: the work may be useful.",
            frames=frames,
            at_most_info=not frames,
        )
