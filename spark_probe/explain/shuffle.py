"""Shuffle: waiting for blocks."""

from __future__ import annotations

from collections.abc import Iterator

from spark_probe.explain.evidence import Evidence
from spark_probe.explain.finding import Finding

__all__ = ["fetch_wait"]

SHARE = 0.10


def fetch_wait(evidence: Evidence) -> Iterator[Finding]:
    """Tasks wait for shuffle blocks for over 10 % of their run time (our bar, as for GC).

    Cost: fetch wait / slots.
    """
    for stage in evidence.stages:
        wait, run = stage.total("fetch_wait_ms"), stage.total("run_ms")
        if not run or wait <= SHARE * run:
            continue
        blocks = stage.total("shuffle_remote_blocks")
        remote = stage.total("shuffle_remote_read_bytes")
        yield evidence.finding(
            "fetch-wait",
            f"Tasks wait for shuffle blocks for {wait / run:.0%} of their time",
            wait / stage.slots,
            {
                "fetch_wait_ms": wait,
                "run_ms": run,
                "remote_blocks": blocks,
                "mean_remote_block_bytes": round(remote / blocks, 1) if blocks else 0,
            },
            "Shuffle less (filter and aggregate first, broadcast small sides); look at network and disks "
            "of the serving executors, and at their GC.",
            stage=stage,
        )
