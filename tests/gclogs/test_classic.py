"""The logs of JDK 1.3 to 8, each test one way in which a record is more than a line."""

from __future__ import annotations

import pytest

from spark_probe.gclog import EVENTS
from tests.gclogs.conftest import Reader

KIB = 1 << 10
MIB = 1 << 20

TIMES = " [Times: user=0.04 sys=0.01, real=0.01 secs] "
WHOLE_LINES = (
    "2024-03-01T10:00:01.000+0100: 1.000: [GC (Allocation Failure) 2024-03-01T10:00:01.000+0100: 1.000: "
    f"[ParNew: 800K->100K(900K), 0.0040000 secs] 800K->300K(2000K), 0.0042000 secs]{TIMES}",
    f"2.000: [GC (System.gc()) [PSYoungGen: 800K->100K(900K)] 900K->300K(2000K), 0.0050000 secs]{TIMES}",
    "2.010: [Full GC (System.gc()) [PSYoungGen: 100K->0K(900K)] [ParOldGen: 200K->150K(1100K)] "
    f"300K->150K(2000K), [Metaspace: 30K->30K(1056K)], 0.0310000 secs]{TIMES}",
    "3.000: [GC-- [PSYoungGen: 800K->800K(900K)] 1900K->1950K(2000K), 0.7650000 secs]",
    "3.500: [GC (Allocation Failure) --[PSYoungGen: 800K->800K(900K)] 1900K->1950K(2000K), 0.5000000 secs]",
    "4.000: #12: [GC (Allocation Failure) 4.001: #12: [DefNew: 800K->0K(900K), 0.0100000 secs] "
    "900K->300K(2000K) icms_dc=5 , 0.0110000 secs]",
    "5,500: [GC pause (G1 Evacuation Pause) (young) (to-space exhausted), 0,0398000 secs]",
    "6.000: [GC pause (mixed) 20M->15M(64M), 0.0090000 secs]",
    "7.000: [GC remark, 0.0010000 secs]",
    "8.000: [GC cleanup 24M->20M(45M), 0.0020000 secs]",
    "9.000: [Full GC (Metadata GC Threshold)  24M->20M(45M), 0.2000000 secs]",
    "10.000: [GC 511K->180K(1984K), 0.0095672 secs]",
    "11.000: [CMS-concurrent-mark: 0.010/0.250 secs]" + TIMES,
    "12.000: [GC concurrent-mark-end, 0.0128000 secs]",
)


@pytest.mark.parametrize("line", WHOLE_LINES)
def test_a_whole_line_and_its_pieces_give_the_same_event(read_text: Reader, line: str) -> None:
    """Whole lines are read by column, broken ones as a tree of brackets."""
    whole = read_text(f"{line}\n").events
    at = line.index(", 0", 1) if ", 0" in line else line.index(" 0.")
    broken = read_text(f"{line[:at]}\nDesired survivor size 1000 bytes\n{line[at:]}\n").events
    assert whole.num_rows == 1
    assert broken.drop_columns(["line"]).to_pylist() == whole.drop_columns(["line"]).to_pylist()


def test_what_whole_lines_say(read_text: Reader) -> None:
    log = read_text("\n".join(WHOLE_LINES))
    events = log.events.to_pylist()
    assert [event["type"] for event in events] == [
        "GC ParNew",
        "GC PSYoungGen",
        "Full GC PSYoungGen+ParOldGen",
        "GC PSYoungGen",
        "GC PSYoungGen",
        "GC DefNew",
        "GC pause (young)",
        "GC pause (mixed)",
        "GC remark",
        "GC cleanup",
        "Full GC",
        "GC",
        "CMS-concurrent-mark",
        "GC concurrent-mark",
    ]
    assert events[0]["start_ms"] == 1709283601000
    assert events[0]["old_after_bytes"] == 200 * KIB
    assert [event["cause"] for event in events[:3]] == [
        "Allocation Failure",
        "System.gc()",
        "System.gc()",
    ]
    assert events[3]["failure"] == "promotion failed"
    assert events[4]["failure"] == "promotion failed"
    assert events[6]["duration_ns"] == 39_800_000
    assert events[6]["failure"] == "to-space exhausted"
    assert events[12]["duration_ns"] == 250_000_000
    assert events[12]["start_s"] == pytest.approx(10.75)  # it is logged at its end
    assert not events[13]["pause"]
    assert log.summary()["full"] == 2


def test_a_pause_within_a_pause_counts_once(read_text: Reader) -> None:
    log = read_text(
        "1.157: [GC (CMS Final Remark) [YG occupancy: 451 K (936 K)]{Heap before GC invocations=22 (full 13):\n"
        " par new generation   total 936K, used 451K [0x00f6400000, 0x00f9800000, 0x00f9800000)\n"
        "1.158: [GC (CMS Final Remark) 1.158: [ParNew: 451K->451K(936K), 0.0000300 secs] "
        f"1291K->1291K(2432K), 0.0000800 secs]{TIMES}\n"
        "Heap after GC invocations=23 (full 13):\n"
        " par new generation   total 936K, used 451K [0x00f6400000, 0x00f9800000, 0x00f9800000)\n}\n"
        "1.158: [Rescan (parallel) , 0.0002000 secs]1.158: [weak refs processing, 0.0000100 secs]"
        f"[1 CMS-remark: 839K(1496K)] 1291K(2432K), 0.0019000 secs]{TIMES}\n"
    )
    inner, outer = log.events.to_pylist()
    assert (inner["type"], inner["duration_ns"]) == ("GC (CMS Final Remark) ParNew", 80_000)
    assert (outer["type"], outer["duration_ns"]) == ("GC (CMS Final Remark) CMS-remark", 1_820_000)
    assert outer["heap_before_bytes"] == outer["heap_after_bytes"] == 1291 * KIB
    assert (outer["old_before_bytes"], outer["young_before_bytes"]) == (839 * KIB, 452 * KIB)
    assert log.summary()["pause_ms"] == pytest.approx(1.9)


def test_durations_inside_a_pause_are_parts_of_it(read_text: Reader) -> None:
    log = read_text(
        "2024-01-11T05:13:23.505-0800: 100.690: [Full GC (Heap Dump) 100.690: [Heap Dump (before full gc): , "
        "177.2978460 secs]277.988: [CMS2024-01-11T05:16:23.938-0800: 281.123: [CMS-concurrent-mark: "
        "10.648/92.322 secs] [Times: user=387.39 sys=31.96, real=92.32 secs]\n"
        " (concurrent mode failure): 12450K->1828K(12582K), 17.6949841 secs] 16083K->1828K(16357K), "
        f"[Metaspace: 52813K->52813K(1099776K)], 218.6928810 secs]{TIMES}\n"
    )
    concurrent, pause = log.events.to_pylist()
    assert (concurrent["type"], concurrent["pause"]) == ("CMS-concurrent-mark", False)
    assert (pause["type"], pause["full"]) == ("Full GC CMS", True)
    assert pause["duration_ns"] == 218_692_881_000
    assert pause["failure"] == "concurrent mode failure"
    assert (pause["old_before_bytes"], pause["old_after_bytes"]) == (12450 * KIB, 1828 * KIB)
    assert pause["start_ms"] == 1704978803505


def test_a_failure_on_a_line_without_brackets(read_text: Reader) -> None:
    log = read_text(
        "0.545: [GC 0.545: [ParNew: 950K->950K(960K), 0.0000205 secs]0.545: [CMS0.545: "
        "[CMS-concurrent-abortable-preclean: 0.005/0.111 secs]\n"
        " (concurrent mode failure)CMS: Large block 0x00000000f8648448\n"
        ": 3511K->2817K(4032K), 0.0336464 secs] 4097K->2817K(5680K), [CMS Perm : 72K->71K(248K)]After GC:\n"
        "Statistics for BinaryTreeDictionary:\n"
        ", 0.0339000 secs]\n"
    )
    (pause,) = [event for event in log.events.to_pylist() if event["pause"]]
    assert (pause["failure"], pause["full"]) == ("concurrent mode failure", True)
    assert pause["type"] == "GC ParNew+CMS"


def test_another_threads_lines_in_the_middle(read_text: Reader) -> None:
    log = read_text(
        "8.775: [GC pause (young)8.776: [GC concurrent-mark-end, 0.0101638 sec]\n"
        ", 0.0083000 secs]\n"
        "   [Parallel Time:   7.7 ms]\n"
        "      [GC Worker Start Time (ms):8.777: [GC concurrent-count-start]\n"
        "  8775.1  8775.1]\n"
        "      [Update RS (ms):  0.0  0.0\n"
        "       Avg:   0.0, Min:   0.0, Max:   0.0]\n"
        "   [ 169M->162M(256M)]\n"
        f"{TIMES}\n"
        "9.000: [GC pause (young)9.001 (initial-mark), 0.0017000 secs]\n"
        ":    [GC concurrent-mark-start]\n"
        "[Parallel Time:   1.6 ms]\n"
        "   [[GC concurrent-mark-start]\n"
        " 68M->62M(126M)]\n"
    )
    first, second = [event for event in log.events.to_pylist() if event["pause"]]
    assert (first["duration_ns"], first["heap_after_bytes"]) == (8_300_000, 162 * MIB)
    assert (second["type"], second["duration_ns"]) == ("GC pause (young) (initial-mark)", 1_700_000)
    assert second["heap_before_bytes"] == 68 * MIB
    assert log.summary()["collector"] == "G1"


def test_g1_in_full_detail(read_text: Reader) -> None:
    log = read_text(
        "2661.447: [GC pause (System.gc()) (young) (initial-mark)\n"
        "Desired survivor size 826277888 bytes, new threshold 15 (max 15)\n"
        "- age   1:    3836312 bytes,    3836312 total\n"
        " 2661.448: [G1Ergonomics (CSet Construction) start choosing CSet, remaining time: 61,78 ms]\n"
        ", 0.2124664 secs]\n"
        "   [Parallel Time: 150.8 ms, GC Workers: 8]\n"
        "      [GC Worker Start (ms): Min: 2661451.7, Avg: 2661451.9, Max: 2661452.2, Diff: 0.5]\n"
        "      [Ref Proc: 50.6 ms]\n"
        "   [Eden: 8944,0M(12.1G)->0.0B(12.1G) Survivors: 144.0M->376.0M Heap: 22.7G(30.0G)->14.2G(30.0G)]\n"
        f"{TIMES}\n"
        "2662.000: [GC remark 2662.001: [GC ref-proc, 0.0066000 secs], 0.1005000 secs]\n"
    )
    pause, remark = log.events.to_pylist()
    summary = log.summary()
    assert (pause["cause"], pause["full"]) == ("System.gc()", False)
    assert (summary["system_gc"], summary["full"]) == (1, 0)  # ExplicitGCInvokesConcurrent
    assert pause["duration_ns"] == 212_466_400
    assert pause["young_before_bytes"] == (8944 + 144) * MIB
    assert pause["heap_after_bytes"] == round(14.2 * (1 << 30))
    assert (remark["type"], remark["duration_ns"]) == ("GC remark", 100_500_000)
    assert remark["heap_before_bytes"] is None


def test_class_histograms_are_not_brackets(read_text: Reader) -> None:
    log = read_text(
        "5.100: [Full GC (System.gc()) 5.100: [Class Histogram (before full gc): \n"
        " num     #instances         #bytes  class name\n"
        "   1:          4500         234000  [C\n"
        "   2:          1200          48000  [Ljava.lang.Object;\n"
        ", 0.0101000 secs]\n"
        "5.110: [Tenured: 500K->100K(1747K), 0.0300000 secs] 5000K->1000K(9440K), 0.0495000 secs]\n"
        "6.000: [GC 6.000: [DefNew: 700K->10K(786K), 0.0010000 secs] 1700K->1010K(9440K), 0.0011000 secs]\n"
    )
    assert log.events["duration_ns"].to_pylist() == [49_500_000, 1_100_000]
    assert log.summary()["collector"] == "Serial"


def test_the_events_are_believed_before_the_flags(read_text: Reader) -> None:
    log = read_text(
        "CommandLine flags: -XX:+PrintGC -XX:+PrintGCDetails -XX:+UseSerialGC \n"
        "2.998: [GC (System.gc()) [PSYoungGen: 428K->57K(112K)] 428K->61K(272K), 0.0103603 secs]\n"
    )
    assert log.summary()["collector"] == "Parallel"
    flags = "CommandLine flags: -XX:+PrintGC -XX:+UseParallelOldGC \n"
    assert (
        read_text(flags + "1.0: [GC 511K->180K(1984K), 0.0095672 secs]\n").collector == "Parallel"
    )


def test_jdk_1_3_without_times(read_text: Reader) -> None:
    log = read_text(
        "[GC 30463K->3108K(1571712K) eden 30463K->0K survivor 0K->1152K tenured 0K->1956K, 0.1282309 secs]\n"
        "[Full GC invoke=2 size=0 <System.gc()> 93589K->92458K(1571712K) new 7773K->0K(31616K) tenured "
        "85815K->92458K(1540096K) permanent 8019K->8019K(8192K), 1.9574394 secs]\n"
    )
    young, full = log.events.to_pylist()
    assert (young["young_before_bytes"], young["young_after_bytes"]) == (30463 * KIB, 1152 * KIB)
    assert (full["cause"], full["old_after_bytes"]) == ("System.gc()", 92458 * KIB)
    assert log.summary()["system_gc"] == 1
    assert log.summary()["throughput"] is None


def test_the_train_collector_of_jdk_1_4(read_text: Reader) -> None:
    log = read_text(
        "1.100: [GC 1.100: [DefNew: 800K->90K(900K), 0.0100000 secs]1.110: [Train: 500K->400K(1100K), "
        "0.0200000 secs] 1300K->490K(2000K), 0.0310000 secs]\n"
        "2.000: [Full GC 2.000: [Train MSC: 500K->400K(1100K), 0.0200000 secs] 900K->400K(2000K), 0.0210000 secs]\n"
    )
    assert log.events["type"].to_pylist() == ["GC DefNew+Train", "Full GC Train MSC"]
    assert log.events["old_after_bytes"].to_pylist() == [400 * KIB] * 2
    assert (log.collector, log.summary()["full"]) == ("Serial", 1)


def test_shenandoah_of_jdk_8(read_text: Reader) -> None:
    log = read_text(
        "Trigger: Explicit GC request (System.gc())\n"
        "2022-08-17T16:20:47.685+0800: 2.469: [Pause Init Mark (process weakrefs), start]\n"
        "    Using 2 of 2 workers for init marking\n"
        "2022-08-17T16:20:47.688+0800: 2.472: [Pause Init Mark (process weakrefs), 3.341 ms]\n"
        "2022-08-17T16:20:48.561+0800: 3.344: [Concurrent cleanup 1613M->1361M(1636M), 0.092 ms]\n"
        "2022-08-17T16:20:49.561+0800: 4.344: [Pause Degenerated GC (Update Refs) 90M->20M(96M), 10.5 ms]\n"
    )
    start, cleanup, degenerated = log.events.to_pylist()
    assert start["start_s"] == pytest.approx(2.472 - 0.003341)
    assert (start["pause"], cleanup["pause"]) == (True, False)
    assert cleanup["heap_after_bytes"] == 1361 * MIB
    assert degenerated["failure"] == "degenerated"
    assert (log.collector, log.summary()["pauses"]) == ("Shenandoah", 2)
    assert log.summary()["system_gc"] == 1


def test_a_cut_record_is_named_and_costs_nothing_else(read_text: Reader) -> None:
    whole = (
        "{}.000: [GC (Allocation Failure) [PSYoungGen: 8K->1K(9K)] 9K->3K(20K), 0.0050000 secs]\n"
    )
    log = read_text(
        whole.format(1)
        + "2.000: [GC (Allocation Failure) 2.000: [ParNew\n"
        + whole.format(3)
        + whole.format(4)
        + "5.000: [Full GC (Ergon"
    )
    assert log.summary()["pauses"] == 3
    assert [problem.line for problem in log.problems] == [2, 5]
    assert "cut" in log.problems[0].reason


def test_stopped_and_application_times_are_not_collections(read_text: Reader) -> None:
    log = read_text(
        "2024-03-01T10:00:01.000+0100: 319,347: Application time: 1,5116630 seconds\n"
        "2024-03-01T10:00:01.001+0100: 319,348: [GC (Allocation Failure)\n"
        "Desired survivor size 89128960 bytes, new threshold 1 (max 30)\n"
        f" [PSYoungGen: 359K->48K(437K)] 503K->97K(699K), 0,0278950 secs]{TIMES}\n"
        "2024-03-01T10:00:01.030+0100: 319,377: Total time for which application threads were stopped: "
        "0,0298220 seconds, Stopping threads took: 0,0003530 seconds\n"
    )
    summary = log.summary()
    assert (summary["pauses"], summary["pause_ms"]) == (1, 27.895)
    assert summary["safepoints"]["stopped_ms"] == pytest.approx(29.822)
    assert summary["safepoints"]["reaching_ms"] == pytest.approx(0.353)
    assert summary["span_s"] == pytest.approx(0.030)


def test_dates_without_uptimes(read_text: Reader) -> None:
    log = read_text(
        "2024-03-01T10:00:00.000+0100: [GC (Allocation Failure)  900K->300K(2000K), 0.5000000 secs]\n"
        "2024-03-01T10:00:10.000+0100: [GC (Allocation Failure)  900K->300K(2000K), 0.5000000 secs]\n"
    )
    summary = log.summary()
    assert summary["span_s"] == pytest.approx(10.5)
    assert summary["throughput"] == pytest.approx(1 - 1 / 10.5, abs=1e-6)
    assert summary["allocation_bytes_per_s"] == pytest.approx(600 * KIB / 10)
    assert summary["start"] == {"uptime_s": None, "time": "2024-03-01T09:00:00.000+00:00"}


def test_the_table_has_the_documented_columns(read_text: Reader) -> None:
    events = read_text(WHOLE_LINES[0]).events
    assert events.schema.equals(EVENTS, check_metadata=True)
    assert EVENTS.field("heap_before_bytes").metadata[b"unit"] == b"bytes"
