"""`python -m spark_probe` is the command `spark-probe`."""

from __future__ import annotations

from spark_probe.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main(prog_name="spark-probe")
