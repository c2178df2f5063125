"""TPC-H: the 22 queries with the specification's validation parameters, and the data by tpchgen-cli."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES = tuple(range(1, 23))


def generate(folder: Path, scale: float) -> Path:
    """The eight tables as Parquet in ``folder`` (made by tpchgen-cli where they are not there yet)."""
    if not (folder / "supplier.parquet").exists():
        tool = Path(sys.executable).with_name("tpchgen-cli")
        if not tool.exists():
            sys.exit("TPC-H data: tpchgen-cli is missing; run: pip install tpchgen-cli")
        part = folder.with_name(folder.name + ".part")
        part.mkdir(parents=True, exist_ok=True)
        words = ["parquet", "-s", str(scale), "--overwrite", "--output-dir", str(part)]
        subprocess.run(
            [str(tool), *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        part.rename(folder)
    return folder


def register(spark: SparkSession, folder: Path) -> None:
    """Makes the tables known to ``spark`` as temporary views."""
    for table in TABLES:
        spark.read.parquet(str((folder / f"{table}.parquet").resolve())).createOrReplaceTempView(
            table
        )


def query(number: int, scale: float) -> str:
    """The SQL text of a query; Q11's fraction depends on the scale (specification, 2.4.11.3)."""
    text = (Path(__file__).parent / f"q{number:02}.sql").read_text()
    return text.replace("{fraction}", f"{0.0001 / scale:.10f}")
