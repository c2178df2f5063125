"""Unified logging, each test one way in which its lines mislead."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from tests.gclogs.conftest import Reader

MIB = 1 << 20


def test_a_pause_counts_once_whatever_other_tags_say_of_it(read_text: Reader) -> None:
    log = read_text(
        "[0.010s][info][gc           ] Using Serial\n"
        '[1.000s][info][safepoint    ] Safepoint "GenCollectForAllocation", Time since last: 900 ns, '
        "Reaching safepoint: 2000 ns, At safepoint: 7000000 ns, Total: 7002000 ns\n"
        "[1.000s][info][gc,start     ] GC(0) Pause Young (Allocation Failure)\n"
        "[1.004s][info][gc,heap      ] GC(0) DefNew: 2048K->512K(3072K)\n"
        "[1.004s][info][gc,heap      ] GC(0) Tenured: 0K->1024K(7168K)\n"
        "[1.004s][info][gc,metaspace ] GC(0) Metaspace: 100K->100K(1056768K)\n"
        "[1.004s][info][gc           ] GC(0) Pause Young (Allocation Failure) 2M->1M(10M) 4.250ms\n"
        "[1.004s][info][gc,cpu       ] GC(0) User=0.00s Sys=0.00s Real=0.01s\n"
        "[1.004s][info][safepoint    ] Total time for which application threads were stopped: "
        "0.0043000 seconds, Stopping threads took: 0.0000100 seconds\n"
    )
    (event,) = log.events.to_pylist()
    assert event["type"] == "Pause Young"
    assert event["cause"] == "Allocation Failure"
    assert event["pause"] is True
    assert event["full"] is False
    assert event["duration_ns"] == 4_250_000
    assert event["start_s"] == pytest.approx(1.004 - 0.00425)
    assert (event["heap_before_bytes"], event["heap_after_bytes"]) == (2 * MIB, MIB)
    assert event["heap_committed_bytes"] == 10 * MIB
    assert (event["young_before_bytes"], event["young_after_bytes"]) == (2 * MIB, MIB // 2)
    assert (event["old_before_bytes"], event["old_after_bytes"]) == (0, MIB)
    assert event["line"] == 7
    assert log.summary()["safepoints"]["count"] == 2
    assert log.summary()["safepoints"]["stopped_ms"] == pytest.approx(7.002 + 4.3)


def test_a_full_collection_within_a_young_one_keeps_its_own_line_and_sizes(
    read_text: Reader,
) -> None:
    log = read_text(
        "[2.000s][info][gc,start] GC(2) Pause Young (Allocation Failure)\n"
        "[2.000s][info][gc,start] GC(3) Pause Full (Allocation Failure)\n"
        "[2.009s][info][gc      ] GC(3) Pause Full (Allocation Failure) 70M->10M(90M) 9.000ms\n"
        "[2.010s][info][gc,heap ] GC(2) DefNew: 20480K->0K(30720K)\n"
        "[2.010s][info][gc,heap ] GC(2) Tenured: 51200K->10240K(61440K)\n"
        "[2.010s][info][gc      ] GC(2) Pause Young (Allocation Failure) 70M->10M(90M) 10.000ms\n"
        "[4.000s][info][gc,heap,exit] Heap\n"
    )
    summary = log.summary()
    assert (summary["pauses"], summary["full"]) == (2, 1)
    assert summary["pause_ms"] == 19.0
    # In the 2.000 s that the log covers the application stood still for 10 ms, not for 19.
    assert summary["span_s"] == pytest.approx(2.0)
    assert summary["throughput"] == pytest.approx(1 - 0.010 / 2.0)
    assert log.events["old_before_bytes"].to_pylist() == [None, 50 * MIB]


def test_a_decimal_comma_is_not_a_thousand(read_text: Reader) -> None:
    log = read_text(
        "[1,474s][info][gc] Cancelling concurrent GC: System.gc()\n"
        "[1,481s][info][gc] GC(0) Pause Full (System.gc()) 10M->1M(128M) 6,572ms\n"
        "[1,481s][info][safepoint] Total time for which application threads were stopped: "
        "0,0067930 seconds, Stopping threads took: 0,0000270 seconds\n"
    )
    summary = log.summary()
    assert summary["collector"] == "Shenandoah"
    assert summary["pause_ms"] == 6.572
    assert (summary["full"], summary["system_gc"]) == (1, 1)
    assert summary["safepoints"]["stopped_ms"] == pytest.approx(6.793)
    assert summary["start"]["uptime_s"] == pytest.approx(1.474)


@pytest.mark.parametrize(
    ("decorations", "start_s", "start_ms"),
    [
        ("[2024-03-01T10:00:05.500+0100][5.500s][info][gc]", 5.497, 1709283605497),
        ("[2024-03-01T09:00:05.500+0000][5500ms][info][gc  ]", 5.497, 1709283605497),
        ("[1709283605500ms][5500000000ns][host][12][34][info][gc]", 5.497, 1709283605497),
        ("[5500ms][info ][gc    ]", 5.497, None),
        ("[1709283605500ms]", None, 1709283605497),
        ("[  5,500s][info]", 5.497, None),
        ("", None, None),
    ],
)
def test_decorations_in_any_choice(
    read_text: Reader, decorations: str, start_s: float | None, start_ms: int | None
) -> None:
    log = read_text(
        f"{decorations} GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(64M) 3.000ms\n"
    )
    (event,) = log.events.to_pylist()
    assert event["gc_id"] == 7
    assert event["start_s"] == (pytest.approx(start_s) if start_s else None)
    assert event["start_ms"] == start_ms
    assert (event["type"], event["cause"]) == ("Pause Young (Normal)", "G1 Evacuation Pause")


def test_lines_behind_a_container_runtimes_prefix(read_text: Reader) -> None:
    log = read_text(
        "2024-03-01T09:00:01.1Z stdout F [1.000s][info][gc] Using G1\n"
        "2024-03-01T09:00:02.1Z stdout F [2.000s][info][gc] GC(0) Pause Remark 9M->9M(64M) 0.500ms\n"
    )
    assert log.summary()["span_s"] == pytest.approx(1.0)
    assert log.events["start_s"].to_pylist() == [pytest.approx(1.9995)]


def test_g1_sizes_are_regions_and_to_space_exhausted_is_a_line_of_the_same_pause(
    read_text: Reader,
) -> None:
    log = read_text(
        "[0.010s][info][gc,init] Heap Region Size: 2M\n"
        "[0.010s][info][gc     ] Using G1\n"
        "[0.300s][info][gc,start] GC(4) Pause Young (Normal) (G1 Evacuation Pause)\n"
        "[0.303s][info][gc      ] GC(4) To-space exhausted\n"
        "[0.303s][info][gc,heap ] GC(4) Eden regions: 10->0(8)\n"
        "[0.303s][info][gc,heap ] GC(4) Survivor regions: 1->2(2)\n"
        "[0.303s][info][gc,heap ] GC(4) Old regions: 3->7\n"
        "[0.303s][info][gc,heap ] GC(4) Humongous regions: 5->5\n"
        "[0.303s][info][gc      ] GC(4) Pause Young (Normal) (G1 Evacuation Pause) 38M->28M(64M) 2.7ms\n"
        "[0.310s][info][gc      ] GC(5) Pause Full (G1 Compaction Pause) 28M->20M(64M) 6.0ms\n"
        "[0.320s][info][gc      ] GC(6) Pause Young (Concurrent Start) (Evacuation Failure: Allocation) "
        "(G1 Humongous Allocation) 28M->20M(64M) 1.0ms\n"
    )
    young, _full, failed = log.events.to_pylist()
    assert young["failure"] == "to-space exhausted"
    assert (young["young_before_bytes"], young["young_after_bytes"]) == (22 * MIB, 4 * MIB)
    assert (young["old_before_bytes"], young["old_after_bytes"]) == (6 * MIB, 14 * MIB)
    assert failed["failure"] == "evacuation failure"
    assert failed["cause"] == "G1 Humongous Allocation"
    assert log.summary()["failures"] == {"evacuation failure": 1, "to-space exhausted": 1}
    assert log.summary()["pauses"] == 3


def test_the_time_of_a_concurrent_cycle_is_no_pause(read_text: Reader) -> None:
    log = read_text(
        "[1.000s][info][gc] GC(6) Concurrent Cycle\n"
        "[1.001s][info][gc,marking] GC(6) Concurrent Mark (1.001s)\n"
        "[1.030s][info][gc,marking] GC(6) Concurrent Mark (1.001s, 1.030s) 29.000ms\n"
        "[1.031s][info][gc] GC(6) Pause Remark 20M->20M(64M) 0.900ms\n"
        "[1.040s][info][gc] GC(6) Pause Cleanup 20M->20M(64M) 0.100ms\n"
        "[1.042s][info][gc] GC(6) Concurrent Cycle 42.000ms\n"
    )
    summary = log.summary()
    assert (summary["collector"], summary["pauses"], summary["pause_ms"]) == ("G1", 2, 1.0)
    assert summary["types"]["Concurrent Mark"] == {
        "count": 1,
        "total_ms": 29.0,
        "max_ms": 29.0,
        "pause": False,
    }


def test_a_zgc_cycle_is_not_a_pause_and_its_pauses_are_phases(read_text: Reader) -> None:
    log = read_text(
        "[0.5s][info][gc,init] Initializing The Z Garbage Collector\n"
        "[1.000s][info][gc,start ] GC(0) Garbage Collection (System.gc())\n"
        "[1.001s][info][gc,phases] GC(0) Pause Mark Start 0.020ms\n"
        "[1.100s][info][gc       ] Allocation Stall (worker {1}) 12.500ms\n"
        "[1.200s][info][gc,phases] GC(0) Concurrent Mark 199.000ms\n"
        "[1.201s][info][gc,phases] GC(0) Pause Mark End 0.030ms\n"
        "[1.250s][info][gc,phases] GC(0) Pause Relocate Start 0.010ms\n"
        "[1.300s][info][gc,heap  ] GC(0)      Used:      900M (90%)      950M (95%)\n"
        "[1.300s][info][gc       ] GC(0) Garbage Collection (System.gc()) 900M(90%)->100M(10%)\n"
    )
    summary = log.summary()
    assert summary["collector"] == "ZGC"
    assert (summary["pauses"], summary["cycles"], summary["full"]) == (3, 1, 0)
    assert summary["pause_ms"] == 0.06
    assert (summary["system_gc"], summary["causes"]) == (1, {"System.gc()": 1})
    assert summary["failures"] == {"allocation stall": 1}
    (cycle,) = log.events.filter(pc.equal(log.events["type"], "Garbage Collection")).to_pylist()
    assert cycle["pause"] is False
    assert cycle["duration_ns"] == 300_000_000  # from its start line: it states none
    assert (cycle["heap_before_bytes"], cycle["heap_after_bytes"]) == (900 * MIB, 100 * MIB)
    assert cycle["heap_committed_bytes"] is None


def test_zgc_without_its_phases_has_no_throughput(read_text: Reader) -> None:
    log = read_text(
        "[1.000s][info][gc] Using The Z Garbage Collector\n"
        "[1,221s][info][gc] GC(0) Garbage Collection (Warmup) 106M(10%)->188M(18%)\n"
        "[3.000s][info][gc] GC(1) Garbage Collection (Proactive) 208M(20%)->64M(6%)"
    )
    summary = log.summary()
    assert (summary["cycles"], summary["pauses"], summary["throughput"]) == (2, 0, None)
    assert summary["heap_after_bytes"] == {"first": 188 * MIB, "max": 188 * MIB, "last": 64 * MIB}
    assert summary["allocation_bytes_per_s"] == pytest.approx(20 * MIB / 1.779, rel=1e-4)


def test_generational_zgc(read_text: Reader) -> None:
    log = read_text(
        "[1.000s][info][gc       ] GC(3) Minor Collection (Allocation Rate)\n"
        "[1.001s][info][gc,phases] GC(3) y: Pause Mark Start 0.023ms\n"
        "[1.009s][info][gc,phases] GC(3) y: Young Generation 94M(98%)->28M(29%) 0.008s\n"
        "[1.009s][info][gc       ] GC(3) Minor Collection (Allocation Rate) 94M(98%)->28M(29%) 0.009s\n"
        "[2.000s][info][gc,phases] GC(4) Y: Pause Mark Start (Major) 0.050ms\n"
        "[2.001s][info][gc,phases] GC(4) O: Pause Mark End 0.010ms\n"
        "[2.030s][info][gc       ] GC(4) Major Collection (System.gc()) 60M(60%)->20M(20%) 0.030s\n"
    )
    summary = log.summary()
    assert (summary["collector"], summary["pauses"], summary["cycles"]) == ("ZGC", 3, 2)
    assert summary["causes"] == {"Allocation Rate": 1, "System.gc()": 1}
    assert "Y: Pause Mark Start (Major)" in summary["types"]
    assert summary["types"]["Minor Collection"]["total_ms"] == 9.0


def test_shenandoah_names_the_cause_at_its_trigger(read_text: Reader) -> None:
    log = read_text(
        "[1.000s][info][gc] Trigger: Explicit GC request (System.gc())\n"
        "[1.001s][info][gc] GC(0) Concurrent reset 0.300ms\n"
        "[1.002s][info][gc] GC(0) Pause Init Mark (unload classes) 0.400ms\n"
        "[1.010s][info][gc] GC(0) Pause Final Mark (unload classes) 0.600ms\n"
        "[1.020s][info][gc] GC(0) Concurrent cleanup 40M->25M(96M) 0.020ms\n"
        "[1.040s][info][gc] GC(1) Pause Degenerated GC (Update Refs) 60M->30M(96M) 11.000ms\n"
    )
    summary = log.summary()
    assert (summary["collector"], summary["system_gc"], summary["pauses"]) == ("Shenandoah", 1, 3)
    assert summary["full"] == 0
    assert summary["failures"] == {"degenerated": 1}
    assert summary["longest"]["type"] == "Pause Degenerated GC (Update Refs)"


def test_parallel_answers_one_call_with_two_pauses(read_text: Reader) -> None:
    log = read_text(
        "[1.004s][info][gc] GC(0) Pause Young (System.gc()) 20M->5M(123M) 4.000ms\n"
        "[1.014s][info][gc] GC(1) Pause Full (System.gc()) 5M->4M(123M) 10.000ms\n"
        "[2.004s][info][gc] GC(2) Pause Full (System.gc()) 9M->4M(123M) 10.000ms\n"
    )
    summary = log.summary()
    assert summary["system_gc"] == 2
    assert summary["causes"] == {"System.gc()": 3}


def test_a_line_cut_before_its_duration_is_no_pause(read_text: Reader) -> None:
    line = "[1.004s][info][gc] GC(0) Pause Young (Allocation Failure) 20M->5M(123M) 4.000ms\n"
    for end in (3, 8, 20):
        log = read_text(line + line.replace("GC(0)", "GC(1)")[:-end])
        assert log.summary()["pauses"] == 1, end


def test_a_native_image_logs_like_it(read_text: Reader) -> None:
    log = read_text(
        "[0.132s] GC(0) Pause Incremental GC (Collect on allocation) 256.00M->2.50M 3.021ms\n"
        "[0.240s] GC(1) Pause Full GC (Collect on allocation) 256.00M->2.50M 30.000ms\n"
    )
    summary = log.summary()
    assert (summary["collector"], summary["pauses"], summary["full"]) == ("Serial", 2, 1)
    assert log.events["heap_after_bytes"].to_pylist() == [int(2.5 * MIB)] * 2
