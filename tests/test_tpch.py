"""The benchmark's TPC-H data and queries, at a hundredth of the scale."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks import tpch
from tests.clusters.spark import Sessions

SCALE = 0.01


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tpch.generate(tmp_path_factory.mktemp("tpch") / "data", SCALE)


def test_every_query_has_its_number_and_no_open_parameter() -> None:
    for number in tpch.QUERIES:
        text = tpch.query(number, SCALE)
        assert text.startswith(f"-- Q{number}:")
        assert "{" not in text
    assert "0.0100000000" in tpch.query(11, SCALE)


@pytest.mark.slow
def test_all_queries_run_and_q6_is_right(sessions: Sessions, data: Path) -> None:
    spark = sessions.get()
    tpch.register(spark, data)
    answers = {number: spark.sql(tpch.query(number, SCALE)).collect() for number in tpch.QUERIES}
    assert len(answers[1]) == 4
    assert [row.cntrycode for row in answers[22]] == sorted(row.cntrycode for row in answers[22])

    columns = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"]
    lines = pq.read_table(data / "lineitem.parquet", columns=columns)
    shipped, discount = lines["l_shipdate"], lines["l_discount"]
    chosen = lines.filter(
        pc.and_(
            pc.and_(
                pc.greater_equal(shipped, date(1994, 1, 1)), pc.less(shipped, date(1995, 1, 1))
            ),
            pc.and_(
                pc.and_(
                    pc.greater_equal(discount, Decimal("0.05")),
                    pc.less_equal(discount, Decimal("0.07")),
                ),
                pc.less(lines["l_quantity"], Decimal(24)),
            ),
        )
    )
    expected = pc.sum(pc.multiply(chosen["l_extendedprice"], chosen["l_discount"])).as_py()
    assert answers[6][0].revenue == expected
