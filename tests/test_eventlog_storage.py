"""Where a log lies and how it is stored: every codec, directory and zip gives the same tables; damage is told."""

from __future__ import annotations

import gzip
import random
import time
from pathlib import Path

import fsspec
import pytest

from spark_probe import eventlog
from spark_probe.errors import RunError
from spark_probe.eventlog import EventLogError
from tests.eventlogs.events import TOTALS, event, lines, task_end, task_start, whole_log
from tests.eventlogs.store import CODECS, java_zip, pieces

TEXT = lines(whole_log())
APP = "app-1"


def totals(path: Path | str) -> dict[str, object]:
    log = eventlog.read(str(path))
    found = log.totals()
    assert found.pop("file") == str(path)
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_seen_by_its_bytes(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "log.of.no.telling.name"
    path.write_bytes(CODECS[codec](TEXT))
    assert totals(path) == TOTALS


@pytest.mark.parametrize("codec", CODECS)
def test_a_cut_file_gives_what_is_there(tmp_path: Path, codec: str) -> None:
    text = lines([task_end(i) for i in range(200)])
    stored = CODECS[codec](text)
    path = tmp_path / "log"
    path.write_bytes(stored[: len(stored) * 3 // 4])
    log = eventlog.read(str(path))
    # At most what one frame, block or chunk holds is lost with the cut, and a line at its end.
    assert 135 <= log.tasks.num_rows < 155
    assert not log.complete
    if codec != "plain":
        assert any("cut" in p.message or "ends in the middle" in p.message for p in log.problems)


@pytest.mark.parametrize("codec", [c for c in CODECS if c != "plain"])
def test_a_damaged_stretch_costs_only_itself(tmp_path: Path, codec: str) -> None:
    text = lines(
        [*(task_end(i) for i in range(300)), event("SparkListenerApplicationEnd", Timestamp=9)]
    )
    stored = bytearray(CODECS[codec](text))
    middle = len(stored) // 2
    stored[middle : middle + 60] = bytes(60)
    path = tmp_path / "log"
    path.write_bytes(stored)
    log = eventlog.read(str(path))
    assert not log.complete
    assert log.problems
    if codec == "snappy-hadoop":  # nothing marks the next block: only what lies before it is left
        assert log.tasks.num_rows > 130
    else:
        assert log.tasks.num_rows > 280
        assert log.app.end_ms == 9
        assert 0 < log.skipped_bytes < len(stored) // 8
    assert all(str(path.name) in str(problem) for problem in log.problems)


@pytest.mark.parametrize("codec", CODECS)
def test_no_damage_raises_or_hangs(tmp_path: Path, codec: str) -> None:
    rng = random.Random(codec)
    stored = CODECS[codec](TEXT)
    path = tmp_path / "log"
    begin = time.monotonic()
    for _ in range(25):
        bad = bytearray(stored)
        at, size = rng.randrange(len(bad)), rng.randrange(1, 400)
        kind = rng.choice(["flip", "zero", "insert", "drop", "cut"])
        if kind == "flip":
            bad[at] ^= 1 << rng.randrange(8)
        elif kind == "zero":
            bad[at : at + size] = bytes(len(bad[at : at + size]))
        elif kind == "insert":
            bad[at:at] = rng.randbytes(size)
        elif kind == "drop":
            del bad[at : at + size]
        else:
            del bad[at:]
        path.write_bytes(bad)
        try:
            log = eventlog.read(str(path))
        except EventLogError:
            continue  # nothing of it was left
        assert log.tasks.num_rows <= 9
        log.totals(), log.stage_metrics(), log.stage_summary()
    assert time.monotonic() - begin < 60


def test_a_name_helps_only_where_the_first_bytes_are_gone(tmp_path: Path) -> None:
    stored = CODECS["zstd"](TEXT)
    path = tmp_path / "app-1.zstd"
    path.write_bytes(b"\x00\x01\x02\x03" + stored[4:])
    assert eventlog.read(str(path)).tasks.num_rows > 0
    path.write_bytes(TEXT)
    assert totals(path) == TOTALS


def test_an_lz4_frame_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "app-1.lz4"
    path.write_bytes(b"\x04\x22\x4d\x18" + b"x" * 100)
    with pytest.raises(EventLogError, match=r"lz4 frame file.*decompress it"):
        eventlog.read(str(path))


def rolling(folder: Path, parts: list[bytes], first: int = 1) -> Path:
    """A rolling directory with these parts, zstd."""
    folder.mkdir()
    for number, part in enumerate(parts, first):
        (folder / f"events_{number}_{APP}.zstd").write_bytes(CODECS["zstd"](part))
        (folder / f".events_{number}_{APP}.zstd.crc").write_bytes(b"crc")
    (folder / f"appstatus_{APP}").touch()
    return folder


def by_lines(count: int) -> list[bytes]:
    """The log's text in so many parts of whole lines."""
    all_lines = TEXT.splitlines(keepends=True)
    size = -(-len(all_lines) // count)
    return [b"".join(all_lines[i : i + size]) for i in range(0, len(all_lines), size)]


def test_parts_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    parts = by_lines(15)
    assert len(parts) > 10  # so that part 10 sorts before part 2 by name
    assert totals(rolling(tmp_path / f"eventlog_v2_{APP}", parts)) == TOTALS


def test_a_compact_file_replaces_what_it_covers(tmp_path: Path) -> None:
    folder = rolling(tmp_path / f"eventlog_v2_{APP}", by_lines(3))
    (folder / f"events_2_{APP}.zstd.compact").write_bytes(CODECS["zstd"](by_lines(3)[0]))
    log = eventlog.read(str(folder))
    lines_read = len(by_lines(3)[0].splitlines()) + len(by_lines(3)[2].splitlines())
    assert log.lines == lines_read
    assert log.complete
    assert "compacted this log up to part 2" in log.problems[0].message


def test_a_missing_part_is_told(tmp_path: Path) -> None:
    folder = rolling(tmp_path / f"eventlog_v2_{APP}", by_lines(4))
    (folder / f"events_2_{APP}.zstd").unlink()
    log = eventlog.read(str(folder))
    assert not log.complete
    assert "part 2 is missing" in log.problems[0].message
    assert log.app.end_ms == TOTALS["end"]


def test_a_part_that_cannot_be_opened_costs_itself(tmp_path: Path) -> None:
    folder = rolling(tmp_path / f"eventlog_v2_{APP}", by_lines(4))
    (folder / f"events_3_{APP}.zstd").unlink()
    (folder / f"events_3_{APP}.zstd").symlink_to(tmp_path / "gone")
    log = eventlog.read(str(folder))
    assert log.app.end_ms == TOTALS["end"]
    assert any("cannot be opened" in p.message or "is missing" in p.message for p in log.problems)


def test_databricks_segments_end_with_the_plain_one(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog" / "0101-cluster_10_0_0_1" / "77001"
    folder.mkdir(parents=True)
    first, second, last = by_lines(3)
    (folder / "eventlog-2026-01-01--10-10.gz").write_bytes(gzip.compress(second))
    (folder / "eventlog-2026-01-01--09-50.gz").write_bytes(gzip.compress(first))
    (folder / "eventlog").write_bytes(last)
    assert totals(folder) == TOTALS
    assert totals(tmp_path / "eventlog") == TOTALS  # down through folders that hold nothing else


def test_a_run_folder_and_its_events_folder(tmp_path: Path) -> None:
    run = tmp_path / "app-1"
    (run / "events").mkdir(parents=True)
    (run / "executors" / "1").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    rolling(run / "events" / f"eventlog_v2_{APP}", by_lines(2))
    assert totals(run) == TOTALS
    assert totals(run / "events") == TOTALS


def test_zip_of_the_history_server(tmp_path: Path) -> None:
    single = tmp_path / "eventLogs-app-1.zip"
    single.write_bytes(java_zip({"app-1.lz4": CODECS["lz4"](TEXT)}))
    assert totals(single) == TOTALS
    folder = f"eventlog_v2_{APP}/"
    parts = {
        f"{folder}events_{i}_{APP}.zstd": CODECS["zstd"](p) for i, p in enumerate(by_lines(12), 1)
    }
    names = sorted(parts)  # events_10_… before events_2_…
    rolled = tmp_path / "rolled.zip"
    rolled.write_bytes(java_zip({f"{folder}appstatus_{APP}": b"", **{n: parts[n] for n in names}}))
    assert totals(rolled) == TOTALS


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_cut_zip_gives_the_entries_before_the_cut(tmp_path: Path, keep: float) -> None:
    folder = f"eventlog_v2_{APP}/"
    parts = {f"{folder}events_{i}_{APP}": p for i, p in enumerate(by_lines(4), 1)}
    whole = java_zip(parts)
    path = tmp_path / "cut.zip"
    path.write_bytes(whole[: int(len(whole) * keep)])
    log = eventlog.read(str(path))
    assert not log.complete
    assert "the zip is cut" in log.problems[0].message
    assert len(by_lines(4)[0].splitlines()) <= log.lines < 29 or keep > 0.9


def test_a_zip_of_two_logs_names_them(tmp_path: Path) -> None:
    path = tmp_path / "both.zip"
    path.write_bytes(java_zip({"app-1_1": TEXT, "app-1_2": TEXT}))
    with pytest.raises(EventLogError, match="2 event logs: app-1_1, app-1_2"):
        eventlog.read(str(path))


def test_an_fsspec_url() -> None:
    fs = fsspec.filesystem("memory")
    fs.pipe(f"/logs/eventlog_v2_{APP}/events_1_{APP}", TEXT)
    fs.pipe(f"/logs/eventlog_v2_{APP}/appstatus_{APP}", b"")
    try:
        assert totals(f"memory://logs/eventlog_v2_{APP}") == TOTALS
        assert totals("memory://logs") == TOTALS
        assert totals(f"memory://logs/eventlog_v2_{APP}/events_1_{APP}") == TOTALS
        assert eventlog.find_logs("memory://logs") == [f"memory:///logs/eventlog_v2_{APP}"]
    finally:
        fs.rm("/logs", recursive=True)


def test_hadoops_way_to_write_a_local_path(tmp_path: Path) -> None:
    (tmp_path / "app-1").write_bytes(TEXT)
    assert totals(f"file:{tmp_path}/app-1") == TOTALS
    assert totals(f"file://{tmp_path}/app-1") == TOTALS


def test_several_logs_in_a_directory(tmp_path: Path) -> None:
    for name in ("app-1.lz4", "app-2.inprogress", "local-3"):
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "README.md").write_text("no log")
    rolling(tmp_path / "eventlog_v2_app-4", by_lines(2))
    with pytest.raises(EventLogError, match=r"4 event logs; name one of them: app-1\.lz4"):
        eventlog.read(str(tmp_path))
    found = [Path(p).name for p in eventlog.find_logs(str(tmp_path))]
    assert found == ["app-1.lz4", "app-2.inprogress", "eventlog_v2_app-4", "local-3"]
    assert eventlog.find_logs(str(tmp_path / "local-3")) == [str(tmp_path / "local-3")]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone", None, "no such file or directory"),
        ("text", b"hello\nworld\n", r"no Spark event log: none of its 2 lines"),
        ("binary", bytes(range(256)) * 50, "no Spark event log"),
        ("json", b'{"a": 1}\n', "no Spark event log"),
    ],
    ids=["nothing", "text", "binary", "json"],
)
def test_what_is_no_log_is_refused(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EventLogError, match=says) as refused:
        eventlog.read(str(path))
    assert str(path) in str(refused.value)
    assert isinstance(refused.value, RunError)


def test_an_empty_directory_and_an_unknown_scheme(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match="holds no event log"):
        eventlog.read(str(tmp_path))
    with pytest.raises(EventLogError, match="cannot be opened"):
        eventlog.read("noscheme://bucket/log")


def test_an_empty_file_is_a_log_that_has_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "app-1.inprogress"
    path.touch()
    log = eventlog.read(str(path))
    assert (log.lines, log.tasks.num_rows, log.complete) == (0, 0, False)
    assert log.totals()["app"] == "app-1.inprogress"
    assert log.stage_metrics().num_rows == log.stage_summary().num_rows == 0
    assert "is empty" in str(log.problems[0])


def test_progress_goes_up_to_the_size(tmp_path: Path) -> None:
    path = tmp_path / "log"
    text = lines([task_start(i) for i in range(20_000)])
    path.write_bytes(text)
    seen: list[tuple[int, int]] = []
    eventlog.read(str(path), lambda done, total: seen.append((done, total)))
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == (len(text), len(text))


def test_a_line_without_end_is_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_probe.eventlog.lines._MAX_LINE", 1 << 20)
    monkeypatch.setattr("spark_probe.eventlog.lines.BLOCK_BYTES", 1 << 16)
    path = tmp_path / "log"
    path.write_bytes(TEXT + b"x" * (40 << 20) + b"\n" + lines([task_end(77)]))
    log = eventlog.read(str(path))
    assert log.bad_lines == 1
    assert not log.complete
    assert 77 in log.tasks["task_id"].to_pylist()


def test_a_file_in_pieces_of_any_size_is_the_same(tmp_path: Path) -> None:
    from spark_probe.eventlog.lines import blocks

    for size in (1, 7, 100, 4_096):
        joined = list(blocks(pieces(TEXT, size), 500))
        assert b"".join(b for b in joined if b) == TEXT
        assert all(b is not None and b.endswith(b"\n") for b in joined)
