"""Files together: order, JVMs one after another, what cannot be read; the numbers; the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from spark_probe.cli import main
from spark_probe.gclog import GcLogError, files, read
from spark_probe.gclog.summary import merged
from tests.gclogs.conftest import Reader

MIB = 1 << 20


def pause(at_s: float, number: int = 0, *, ms: float = 10.0, heap: str = "24M->4M(64M)") -> str:
    return f"[{at_s:.3f}s][info][gc] GC({number}) Pause Young (Normal) (G1 Evacuation Pause) {heap} {ms:.3f}ms\n"


def classic(at_s: float) -> str:
    date = f"2024-03-01T10:{int(at_s) // 60:02d}:{int(at_s) % 60:02d}.000+0000"
    return f"{date}: {at_s:.3f}: [GC (Allocation Failure)  900K->300K(2000K), 0.0100000 secs]\n"


def test_rotated_files_are_ordered_by_their_times_not_their_names(tmp_path: Path) -> None:
    """The numbers run in circles: file 0 may be the newest."""
    header = (
        "2024-03-01 10:00:00 GC log file created gc.log.1\nCommandLine flags: -XX:+UseParallelGC \n"
    )
    (tmp_path / "gc.log.0").write_text(classic(500) + classic(510))
    (tmp_path / "gc.log.1.current").write_text(header + classic(600))
    (tmp_path / "gc.log.2").write_text(classic(1) + classic(400))
    (tmp_path / "gc.log.3").write_text(header)
    log = read(tmp_path)
    assert [Path(file).name for file in log.files] == [
        "gc.log.2",
        "gc.log.0",
        "gc.log.1.current",
        "gc.log.3",
    ]
    assert log.events["start_s"].to_pylist() == [1, 400, 500, 510, 600]
    summary = log.summary()
    assert (summary["jvm_runs"], summary["collector"]) == (1, "Parallel")
    assert summary["span_s"] == pytest.approx(599.01)
    assert summary["throughput"] == pytest.approx(1 - 0.05 / 599.01, abs=1e-6)


def test_a_region_size_stated_in_the_first_file_counts_in_all(tmp_path: Path) -> None:
    (tmp_path / "gc.log.0").write_text("[0.001s][info][gc,init] Heap Region Size: 4M\n" + pause(1))
    sizes = "[2.000s][info][gc,heap] GC(1) Old regions: 1->3\n"
    (tmp_path / "gc.log").write_text(sizes + pause(2, 1))
    log = read([tmp_path / "gc.log", tmp_path / "gc.log.0"])
    assert log.events["old_after_bytes"].to_pylist() == [None, 12 * MIB]


def test_jvms_one_after_another_are_runs_of_their_own(read_text: Reader) -> None:
    log = read_text(pause(1) + pause(90, 1) + pause(0.5) + pause(0.4, 1) + pause(10, 2))
    assert log.events["run"].to_pylist() == [0, 0, 1, 1, 1]  # 0.1 s back: threads, not a JVM
    summary = log.summary()
    assert summary["jvm_runs"] == 2
    assert summary["span_s"] == pytest.approx((90 - 0.99) + (10 - 0.39))
    # Nothing is allocated from one JVM to the next.
    assert summary["allocation_bytes_per_s"] == pytest.approx(60 * MIB / (89 + 9.6), rel=1e-3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "is empty"),
        ("24/03/01 INFO Executor: [task 1]\n", "no line of a GC log"),
        ('<verbosegc version="x">\n<gc-start id="1"/>\n', "OpenJ9"),
        ("[INFO ][memory ] [YC#1] 1.028-1.077: YC 233624KB->156402KB, 0.049 s\n", "JRockit"),
        ("<GC: 1 4 0.3 1 6528 1 0 0 0 >\n", "HP-UX"),
        ("<AF[3]: Allocation Failure. need 528 bytes, 0 ms since last AF>\n", "IBM JDK 1.2"),
        ("[1234:0x5a6]      41 ms: Scavenge 2.3 (3.0) -> 2.0 (4.0) MB\n", "V8"),
        ("gc 1 @0.013s 1%: 0.02+0.3+0.01 ms clock\n", "Go"),
    ],
)
def test_what_is_no_hotspot_log_is_named(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "other.log"
    path.write_text(text)
    with pytest.raises(GcLogError, match=name) as error:
        read(path)
    assert str(path) in str(error.value)


def test_files_of_another_kind_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(GcLogError, match="zip archive; unpack"):
        read(tmp_path / "a.zip")
    with pytest.raises(GcLogError, match="does not exist"):
        read(tmp_path / "none.log")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GcLogError, match="directory without files"):
        read(tmp_path / "empty")
    with pytest.raises(GcLogError, match="at least one"):
        read([])


def test_one_bad_file_never_costs_the_rest(tmp_path: Path) -> None:
    (tmp_path / "gc.log").write_text(pause(1))
    (tmp_path / "notes.txt").write_text("hello\n")
    log = read(tmp_path)
    assert log.summary()["pauses"] == 1
    (problem,) = log.problems
    assert (problem.file, problem.line) == (str(tmp_path / "notes.txt"), 0)


def test_gzip_whole_and_cut(tmp_path: Path) -> None:
    text = "".join(pause(at, at) for at in range(1, 5000)).encode()
    packed = gzip.compress(text)
    path = tmp_path / "gc.log.gz"
    path.write_bytes(packed)
    assert read(path).summary()["pauses"] == 4999
    path.write_bytes(packed[: len(packed) // 2])
    cut = read(path)
    assert 0 < cut.summary()["pauses"] < 4999
    assert "cut or damaged" in cut.problems[0].reason


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_windows_line_ends_and_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "gc.log"
    path.write_bytes((pause(1) + pause(2, 1)).replace("\n", "\r\n").encode(encoding))
    log = read(path)
    assert log.events["duration_ns"].to_pylist() == [10_000_000] * 2
    assert log.events["line"].to_pylist() == [1, 2]


@pytest.mark.parametrize("block_bytes", [37, 200, 1 << 20])
def test_blocks_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", block_bytes)
    path = tmp_path / "gc.log"
    record = (
        "{0}.000: [GC pause (young)\nDesired survivor size 1000 bytes\n, 0.0100000 secs]\n"
        "   [Parallel Time: 5.2 ms, GC Workers: 4]\n"
        "   [Eden: 5.0M(5.0M)->0.0B(8.0M) Survivors: 0.0B->1.0M Heap: 5.0M(64.0M)->{0}.0M(64.0M)]\n"
    )
    path.write_text("".join(record.format(at) for at in range(1, 9)))
    log = read(path)
    assert log.events["heap_after_bytes"].to_pylist() == [at * MIB for at in range(1, 9)]
    assert log.events["line"].to_pylist() == [1 + 5 * at for at in range(8)]
    assert not log.problems
    sizes = "[{0}.000s][info][gc,heap] GC({0}) Tenured: 0K->{0}K(7168K)\n"
    path.write_text("".join(sizes.format(at) + pause(at, at) for at in range(1, 9)))
    assert read(path).events["old_after_bytes"].to_pylist() == [at * 1024 for at in range(1, 9)]


def test_the_formulas(read_text: Reader) -> None:
    log = read_text(
        "[0.000s][info][gc] Using Serial\n"
        "[1.000s][info][gc,heap] GC(0) Tenured: 0K->1024K(7168K)\n"
        + pause(1, 0, ms=100, heap="20M->5M(64M)")
        + "[3.000s][info][gc,heap] GC(1) Tenured: 1024K->3072K(7168K)\n"
        + pause(3, 1, ms=300, heap="25M->7M(64M)")
        + "[5.000s][info][gc] GC(2) Pause Full (System.gc()) 9M->6M(64M) 200.000ms\n"
        + "[10.000s][info][gc,heap,exit] Heap\n"
    )
    summary = log.summary()
    assert summary["pause_ms"] == 600.0
    assert summary["longest_ms"] == 300.0
    assert (summary["median_pause_ms"], summary["p99_pause_ms"]) == (200.0, 300.0)
    assert summary["mean_pause_ms"] == 200.0
    assert summary["throughput"] == pytest.approx(1 - 0.6 / 10)
    # 20 and 2 MiB between collections that start 3.9 s apart; 1 and 2 MiB grew old in young ones.
    assert summary["allocation_bytes_per_s"] == pytest.approx(22 * MIB / 3.9, rel=1e-6)
    assert summary["promotion_bytes_per_s"] == pytest.approx(3 * MIB / 3.9, rel=1e-6)
    assert summary["heap_before_bytes"] == {"first": 20 * MIB, "max": 25 * MIB, "last": 9 * MIB}
    assert (summary["live_bytes"], summary["heap_committed_bytes"]) == (6 * MIB, 64 * MIB)
    assert summary["longest"]["line"] == 5


def test_a_pause_over_a_windows_edge_counts_in_both(read_text: Reader) -> None:
    log = read_text(
        "[2024-03-01T10:00:00.000+0000][0.000s][info][gc] Using G1\n"
        "[2024-03-01T10:00:12.000+0000][12.000s][info][gc] GC(0) Pause Remark 9M->9M(64M) 4000.000ms\n"
        "[2024-03-01T10:00:12.000+0000][12.000s][info][gc] GC(1) Pause Cleanup 9M->9M(64M) 1000.000ms\n"
        "[2024-03-01T10:00:25.000+0000][25.000s][info][gc,heap,exit] Heap\n"
    )
    windows = log.pause_fractions(window_s=10).to_pylist()
    assert [window["start_s"] for window in windows] == [0, 10, 20]
    assert [window["pause_ns"] for window in windows] == [2_000_000_000, 2_000_000_000, 0]
    assert [window["fraction"] for window in windows] == [0.2, 0.2, 0.0]
    assert windows[1]["start_ms"] == 1709287210000
    with pytest.raises(GcLogError, match="window_s is 0"):
        log.pause_fractions(window_s=0)


def test_intervals_merge_whatever_their_order() -> None:
    start, end = merged(np.array([5.0, 0.0, 1.0, 9.0]), np.array([6.0, 3.0, 2.0, 9.5]))
    assert start.tolist() == [0.0, 5.0, 9.0]
    assert end.tolist() == [3.0, 6.0, 9.5]


def test_a_log_without_a_collection_is_a_log(read_text: Reader) -> None:
    log = read_text("[0.005s][info][gc] Using Epsilon\n[1.005s][info][gc] Heap: 64M reserved\n")
    summary = log.summary()
    assert (summary["collector"], summary["pauses"], summary["throughput"]) == ("Epsilon", 0, 1.0)
    assert summary["longest"] is None
    assert log.events.num_rows == 0
    assert log.pause_fractions().column("fraction").to_pylist() == [0.0]


def test_damaged_numbers_cost_no_more_than_their_line(read_text: Reader) -> None:
    log = read_text(
        "2024-00-00T10:00:00.000+0100: 1.000: [GC (Allocation Failure)  900K->300K(2000K), 0.5000000 secs]\n"
        "2024-00-00T10:00:00.000+0100: 1.500: [GC (Allocation Failure)\n  900K->300K(2000K), 0.1000000 secs]\n"
        "2024-03-01T10:00:02.000+0100: 2.000: [GC (Allocation Failure)  99999999999999999G->300K(2000K), "
        "0.2500000 secs]\n"
    )
    assert log.events["start_ms"].to_pylist() == [None, None, 1709283602000]
    assert log.events["heap_before_bytes"].to_pylist() == [900 << 10, 900 << 10, None]
    assert log.summary()["pause_ms"] == 850.0


def test_the_command_prints_json_and_a_page(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text(pause(1) + pause(2, 1))
    (tmp_path / "notes.txt").write_text("hello\n")
    result = CliRunner().invoke(main, ["gclog", str(path), str(tmp_path / "notes.txt"), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert (found["collector"], found["pauses"], found["pause_ms"]) == ("G1", 2, 20.0)
    assert found["files"] == [str(path)]
    assert found["problems"][0]["file"] == str(tmp_path / "notes.txt")
    page = CliRunner().invoke(main, ["gclog", str(tmp_path)])
    assert page.exit_code == 0, page.output
    for words in ("G1", "2, 0 full", "20.000 ms in all", "Pause Young (Normal)", "left out"):
        assert words in page.output


def test_the_help_names_every_key(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text(pause(1))
    output = CliRunner().invoke(main, ["gclog", "--json", str(path)]).output
    text = CliRunner().invoke(main, ["gclog", "--help"]).output
    for key in json.loads(output):
        assert (
            key in text or f"{key.removesuffix('pause_ms')}," in text or "p99_pause_ms" in text
        ), key


def test_the_command_fails_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text("")
    result = CliRunner().invoke(main, ["gclog", str(path)])
    assert result.exit_code == 2
    assert "is empty" in result.output
