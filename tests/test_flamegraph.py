"""Flame graphs: folded text in and out, sums, recursion, filters, combination, types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_probe import FlameGraph
from spark_probe.folded import FAULTS

JOB = """\
java.lang.Thread.run;com.acme.Job.work;java.util.HashMap.get 5
java.lang.Thread.run;com.acme.Job.work 3
start_thread;GCTaskThread::run 2
"""


def graph(text: str) -> FlameGraph:
    return FlameGraph.from_collapsed(text)


def node(of: FlameGraph, *path: str) -> int:
    """The node of a call path."""
    at = 0
    for name in path:
        children = np.flatnonzero(of.parent == at)
        (at,) = [int(child) for child in children if of.names[of.frame[child]] == name]
    return at


# --- reading folded text


def test_columns() -> None:
    read = graph(JOB)
    assert (read.total, read.value, read.unit, len(read)) == (10, 10, "samples", 5)
    work = node(read, "java.lang.Thread.run", "com.acme.Job.work")
    assert (read.self_samples[work], read.total_samples[work]) == (3, 8)
    assert (read.self_value[work], read.total_value[work]) == (3, 8)
    assert read.depth.tolist() == [0, 1, 2, 3, 1, 2]
    assert read.parent[0] == read.frame[0] == -1
    assert read.kinds[read.frame[work]] == "java"
    table = read.table()
    assert table.num_rows == 6
    assert table["name"].to_pylist()[:2] == [None, "java.lang.Thread.run"]
    assert table["total_samples"].to_pylist()[0] == 10


@pytest.mark.parametrize(
    ("line", "fault", "counted"),
    [
        ("a;b", "no_count", None),
        ("THIS IS A BAD LINE", "no_count", None),
        ("this too 12V.43", "no_count", None),
        ("// comment", "no_count", None),
        ("17", "no_count", None),
        ("   17", "no_stack", None),
        ("neg -3", "negative", None),
        ("neg -3.5", "negative", None),
        ("sci 1e3", "exponent", None),
        ("big 9007199254740993", "too_large", None),
        ("big 9223372036854775807", "too_large", None),
        ("huge 99999999999999999999999", "too_large", None),
        ("cut 31.99", "fraction", 31),
        ("cut 6.", "fraction", 6),
        ("cut 0.4", "fraction", 0),
    ],
)
def test_a_line_that_cannot_be_counted_costs_only_itself(
    line: str, fault: str, counted: int | None
) -> None:
    read = graph(f"a;b 4\n{line}\nc 2\n")
    assert dict(read.faults) == {fault: 1}
    assert fault in FAULTS
    assert read.total == 6 + (counted or 0)
    assert read.skipped == (counted is None)


@pytest.mark.parametrize(
    ("line", "path", "count"),
    [
        ("largest 9007199254740992", ("largest",), 1 << 53),
        ("leading-zero 007", ("leading-zero",), 7),
        ("zero 0", ("zero",), 0),
        ("trailing-space 17 ", ("trailing-space",), 17),
        ("trailing-return 18\r", ("trailing-return",), 18),
        ("two  spaces   19", ("two  spaces",), 19),
        ("tab-before\t20", ("tab-before",), 20),
        ("tabs\tinside 16", ("tabs\tinside",), 16),
        ("a number inside 2 15", ("a number inside 2",), 15),
        ("a;;b 12", ("a", "", "b"), 12),
        ("a; 13", ("a", ""), 13),
        (";b 14", ("", "b"), 14),
        ("Überraschung.größe;日本語.メソッド;emoji💩.x 10", ("Überraschung.größe",), 10),
        (
            "rustc;<Vec<T> as SpecExtend<T, I>>::from_iter;memcpy@GLIBC_2.2.5 3",
            ("rustc", "<Vec<T> as SpecExtend<T, I>>::from_iter", "memcpy@GLIBC_2.2.5"),
            3,
        ),
        (
            "[Executor task launch worker for task 3.0 in stage 1.0 (TID 13) tid=771];x 11",
            ("[Executor task launch worker for task 3.0 in stage 1.0 (TID 13) tid=771]", "x"),
            11,
        ),
    ],
)
def test_odd_lines_that_are_right(line: str, path: tuple[str, ...], count: int) -> None:
    read = graph(f"{line}\n")
    assert (read.total, dict(read.faults)) == (count, {})
    assert read.total_samples[node(read, *path)] == count


def test_metadata_and_blank_lines_are_no_faults() -> None:
    read = graph("# austin: 3.3.0\n# mode: wall\n\n   \nmain;f 105\nmain;g 186\n\n# duration: 9")
    assert (read.total, dict(read.faults), read.skipped) == (291, {}, 0)


def test_sums_never_overflow() -> None:
    read = graph("a 9007199254740992\n" * 600)
    assert read.total == 511 << 53
    assert dict(read.faults) == {"too_large": 600 - 511}


def test_of_two_counts_on_every_line_the_second_is_taken() -> None:
    two = "main;f 31 56\nmain;g 6 2\n"
    assert graph(two).total == 58
    assert graph(two).names == ["f", "g", "main"]
    assert FlameGraph.from_collapsed(two, counts=1).names == ["f 31", "g 6", "main"]
    mixed = graph(two + "main;h 7\n")
    assert (mixed.total, mixed.names) == (65, ["f 31", "g 6", "h", "main"])
    read = FlameGraph.from_collapsed(two + "main;h 7\n", counts=2)
    assert (read.total, dict(read.faults)) == (58, {"no_count": 1})
    with pytest.raises(ValueError, match="1 or 2 counts"):
        FlameGraph.from_collapsed(two, counts=3)


def test_bytes_that_are_no_text() -> None:
    read = FlameGraph.from_collapsed(b"caf\xe9;x 3\n\x00\xff 4\n")
    assert read.total == 7
    assert "caf\ufffd" in read.names


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "no stack at all\n"])
def test_nothing_in_gives_an_empty_graph(text: str) -> None:
    read = graph(text)
    assert (read.total, len(read), read.collapsed(), read.top()) == (0, 0, "", [])
    assert read.filter("x").merge(read).without_recursion().total == 0
    assert "<html" in read.html()


def test_line_order_makes_no_difference() -> None:
    lines = JOB.splitlines()
    assert graph("\n".join(reversed(lines))).collapsed() == graph(JOB).collapsed()


def test_equal_stacks_add_up_and_none_vanishes() -> None:
    read = graph("a;b 1\na;b 100000\nc 1\na 60000\n")
    assert read.collapsed() == "a 60000\na;b 100001\nc 1\n"


# --- types


def test_suffixes_are_types() -> None:
    text = "run_[0];f_[j];g_[i];sys_read_[k] 1\nrun_[1];f_[j] 2\nrun_[j];h 4\n"
    read = graph(text)
    assert read.collapsed() == "run;f 2\nrun;f;g;sys_read 1\nrun;h 4\n"
    assert sorted(read.collapsed(types=True).splitlines()) == sorted(text.splitlines())
    run = node(read, "run")
    assert {kind: int(counts[run]) for kind, counts in read.compiled.items()} == {
        "interpreted": 1,
        "jit": 4,
        "inlined": 0,
        "c1": 2,
    }
    assert read.kinds[read.frame[node(read, "run", "f", "g", "sys_read")]] == "kernel"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("java.lang.Thread.run", "java"),
        ("java/lang/Thread.run", "java"),
        ("org.apache.spark.Foo$$anonfun$1.apply", "java"),
        ("Job.main", "java"),
        ("byte[]", "class"),
        ("java.lang.String[][]", "class"),
        ("Compile::Optimize()", "cpp"),
        ("void std::vector<int>::emplace_back<int>(int&&)", "cpp"),
        ("-[NSString init]", "cpp"),
        ("start_thread", "native"),
        ("java_start(Thread*)", "native"),
        ("libc.so.6", "native"),
        ("[unknown]", "native"),
        ("[tid=771]", "native"),
        ("memcpy@GLIBC_2.2.5", "native"),
        ("", "native"),
    ],
)
def test_types_are_guessed_where_none_is_given(name: str, kind: str) -> None:
    read = graph(f"root;{name} 1\n")
    assert read.kinds[read.frame[node(read, "root", name)]] == kind


def test_a_method_and_a_class_of_one_name_are_two_frames() -> None:
    one = graph("main;X_[j] 1\nmain;X 2\n")
    assert len(one) == 3
    assert one.collapsed() == "main;X 3\n"


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("com.acme.Job$$Lambda$1234/0x00000008012a3c40.apply", "com.acme.Job$$Lambda.apply"),
        ("com.acme.Job$$Lambda$987/0x00007f02d8123456.apply", "com.acme.Job$$Lambda.apply"),
        ("com.acme.Job$$Lambda.0x00007f8177090218.apply", "com.acme.Job$$Lambda.apply"),
        ("com.acme.Job$$Lambda/0x00007f8177090218.apply", "com.acme.Job$$Lambda.apply"),
        ("com.acme.Job$$Lambda$12/873456123.apply", "com.acme.Job$$Lambda.apply"),
        ("com/acme/Job$$Lambda$lambda$wrap$2$26300.0x000100dd.call", "com.acme.Job$$Lambda.call"),
        ("com.acme.Hidden/0x0000000801234000.run", "com.acme.Hidden.run"),
        ("com.acme.Hidden+0x0000000801234000.run", "com.acme.Hidden.run"),
        (
            "jdk.internal.reflect.GeneratedMethodAccessor12.invoke",
            "jdk.internal.reflect.GeneratedMethodAccessor.invoke",
        ),
        (
            "sun.reflect.GeneratedSerializationConstructorAccessor3.newInstance",
            "sun.reflect.GeneratedSerializationConstructorAccessor.newInstance",
        ),
        ("java.lang.invoke.LambdaForm$DMH/0x123.invoke", "java.lang.invoke.LambdaForm$DMH.invoke"),
        ("java.lang.invoke.LambdaForm$MH45.invoke", "java.lang.invoke.LambdaForm$MH.invoke"),
        ("com.sun.proxy.$Proxy17.close", "com.sun.proxy.$Proxy.close"),
        ("jdk.proxy2.$Proxy17.close", "jdk.proxy.$Proxy.close"),
        ("java/util/HashMap.get", "java.util.HashMap.get"),
        (
            "org.apache.spark.X$GeneratedClass$GeneratedIteratorForCodegenStage3.processNext",
            "org.apache.spark.X$GeneratedClass$GeneratedIteratorForCodegenStage3.processNext",
        ),
        ("memmove+0x1f", "memmove"),
        ("do_work.isra.0", "do_work"),
        ("do_work.constprop.2.cold", "do_work"),
        ("PhaseIdealLoop::split(Node*) [clone .part.114]", "PhaseIdealLoop::split(Node*)"),
    ],
)
def test_names_are_made_equal_over_jvms(name: str, same: str) -> None:
    assert FlameGraph.from_collapsed(f"{name} 1", normalize=True).names == [same]
    assert FlameGraph.from_collapsed(f"{name} 1").names == [name]


def test_normalised_frames_are_one() -> None:
    text = "r;J$$Lambda$1/0x1f.apply 3\nr;J$$Lambda$9/0x2f.apply 4\nr;J$$Lambda.0x3f.apply 2\n"
    assert FlameGraph.from_collapsed(text, normalize=True).collapsed() == "r;J$$Lambda.apply 9\n"


# --- sums, filters, combination


def test_recursion_counts_no_sample_twice() -> None:
    read = graph("main;f;f;f;g 1\nmain;f;g;f 2\nmain;h 4\n")
    by_name = {frame.name: frame for frame in read.top(10, by="total")}
    assert (by_name["f"].total_samples, by_name["f"].self_samples) == (3, 2)
    assert (by_name["g"].total_samples, by_name["g"].self_samples) == (3, 1)
    assert by_name["main"].total_samples == 7
    assert [frame.name for frame in read.top(2)] == ["h", "f"]
    assert [frame.name for frame in read.top(1, by="total")] == ["main"]
    with pytest.raises(ValueError, match="'self' or 'total'"):
        read.top(by="hot")


def test_direct_recursion_made_one_frame() -> None:
    text = "main;recursive;recursive;recursive;helper 1\nmain;recursive;recursive;helper 2\n"
    merged = graph(text + "main;not;recursive 4\n").without_recursion()
    assert merged.collapsed() == "main;not;recursive 4\nmain;recursive;helper 3\n"
    indirect = "main;f;g;f;g 1\n"
    assert graph(indirect).without_recursion().collapsed() == indirect


def test_direct_recursion_is_one_frame_however_it_was_compiled() -> None:
    merged = graph("main_[j];f_[0];f_[j];f_[i];g_[j] 2\nmain_[j];f_[j] 1\n").without_recursion()
    assert merged.collapsed() == "main;f 1\nmain;f;g 2\n"


def test_filters_take_whole_stacks() -> None:
    read = graph(JOB)
    assert read.filter(include=r"^com\.acme\.").total == 8
    assert read.filter(exclude="HashMap").collapsed() == (
        "java.lang.Thread.run;com.acme.Job.work 3\nstart_thread;GCTaskThread::run 2\n"
    )
    assert read.filter(include="Job", exclude="HashMap").total == 3
    assert read.filter(include="nowhere").total == 0
    with pytest.raises(ValueError, match=r"'\(' is no regular expression"):
        read.filter(include="(")


def test_graphs_add_up() -> None:
    other = graph("java.lang.Thread.run;com.acme.Job.work 7\nnew 1\n")
    both = graph(JOB).merge(other)
    assert both.total == 18
    assert "java.lang.Thread.run;com.acme.Job.work 10\n" in both.collapsed()
    assert both.collapsed() == other.merge(graph(JOB)).collapsed()
    with pytest.raises(ValueError, match="bytes, samples do not add up"):
        both.merge(FlameGraph.from_collapsed("a 1", unit="bytes"))


def test_faults_add_up() -> None:
    both = graph("a 1\nbad\n").merge(graph("a 1.5\nworse\n"))
    assert dict(both.faults) == {"no_count": 2, "fraction": 1}


def test_a_differential_file_has_every_stack_of_both() -> None:
    before, after = graph("a;b 3\na;old_[k] 4\n"), graph("a;b 7\na;new 12\n")
    assert after.differential(before) == "a;b 3 7\na;new 0 12\na;old 4 0\n"
    assert after.differential(before, types=True) == "a;b 3 7\na;new 0 12\na;old_[k] 4 0\n"
    assert graph(after.differential(before)).total == after.total


def test_value_is_counted_apart_from_samples() -> None:
    with pytest.raises(ValueError, match="'samples' or 'value'"):
        graph(JOB).collapsed(value="ns")
    assert graph(JOB).collapsed(value="value") == graph(JOB).collapsed()


# --- round trips

_NAMES = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters=";#"), max_size=6
).map(str.strip)
_TEXTS = st.lists(
    st.tuples(st.lists(_NAMES, min_size=1, max_size=5), st.integers(0, 1 << 40)), max_size=12
)


def text_of(rows: list[tuple[list[str], int]]) -> str:
    # A stack of one empty frame has no text.
    return "".join(f"{';'.join(names)} {count}\n" for names, count in rows if names != [""])


@given(_TEXTS)
def test_what_is_written_reads_back(rows: list[tuple[list[str], int]]) -> None:
    read = graph(text_of(rows))
    for types in (False, True):
        text = read.collapsed(types=types)
        again = FlameGraph.from_collapsed(text, counts=1)
        assert again.total == read.total
        assert again.collapsed(types=types) == text


@given(_TEXTS, _TEXTS)
def test_a_sum_is_the_sum(
    one: list[tuple[list[str], int]], two: list[tuple[list[str], int]]
) -> None:
    a = FlameGraph.from_collapsed(text_of(one), counts=1)
    b = FlameGraph.from_collapsed(text_of(two), counts=1)
    whole = FlameGraph.from_collapsed(text_of(one) + text_of(two), counts=1)
    assert a.merge(b).collapsed() == whole.collapsed()


@given(_TEXTS)
def test_totals_are_sums_of_selves(rows: list[tuple[list[str], int]]) -> None:
    read = graph(text_of(rows))
    assert read.total == int(read.self_samples.sum()) == int(read.total_samples[0])
    assert sum(frame.self_samples for frame in read.top(1_000)) == read.total
    assert read.without_recursion().total == read.total
    assert sum(int(line.rsplit(" ", 1)[1]) for line in read.collapsed().splitlines()) == read.total


# --- the page


def test_html(tmp_path: Path) -> None:
    page = graph(JOB).html(tmp_path / "graph.html", title="A <b>job</b>")
    assert (tmp_path / "graph.html").read_text(encoding="utf-8") == page
    assert "A &lt;b&gt;job&lt;/b&gt;" in page


def test_names_in_a_page_are_no_markup() -> None:
    page = graph('<script>alert(1)</script>;"><img src=x onerror=alert(2)> 18\n').html()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
