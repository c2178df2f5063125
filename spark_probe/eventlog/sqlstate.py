"""SQL executions: start, adaptive plans, driver's metric values, end -> rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from spark_probe.eventlog import events as ev
from spark_probe.eventlog import schemas
from spark_probe.eventlog.plans import walk
from spark_probe.eventlog.rows import Rows

__all__ = ["SqlState", "sql_tables"]

_EXECUTIONS = pa.schema([f for f in schemas.SQL_EXECUTIONS if not f.name.endswith("_ids")])
_METRICS = pa.schema([f for f in schemas.SQL_METRICS if f.name != "value"])
_VALUES = pa.schema([("accumulator_id", pa.int64()), ("value", pa.int64())])


@dataclass
class _Execution:
    start: ev.SqlStart
    plan: msgspec.Raw


class SqlState:
    """Holds each execution until its end, its plan undecoded, since each update replaces it."""

    def __init__(self) -> None:
        self.executions = Rows(_EXECUTIONS)
        self.nodes = Rows(schemas.SQL_NODES)
        self.metrics = Rows(_METRICS)
        self.driver_values = Rows(_VALUES)
        self.unreadable_plans = 0
        self._live: dict[int, _Execution] = {}

    def start(self, event: ev.SqlStart) -> None:
        """SparkListenerSQLExecutionStart."""
        # A copy: Raw points into the whole block that the line came from.
        self._live[event.execution_id] = _Execution(event, event.spark_plan_info.copy())
        event.spark_plan_info = msgspec.Raw(b"null")

    def adaptive(self, event: ev.SqlAdaptiveUpdate) -> None:
        """SparkListenerSQLAdaptiveExecutionUpdate: the plan as it is from now on."""
        if execution := self._live.get(event.execution_id):
            execution.plan = event.spark_plan_info.copy()

    def driver_updates(self, event: ev.DriverAccumUpdates) -> None:
        """SparkListenerDriverAccumUpdates: metric values that no task has."""
        for accumulator_id, value in event.accum_updates:
            self.driver_values.add(accumulator_id, value)

    def end(self, event: ev.SqlEnd) -> None:
        """SparkListenerSQLExecutionEnd."""
        execution = self._live.pop(event.execution_id, None)
        if execution is None:  # its start was lost
            execution = _Execution(ev.SqlStart(event.execution_id), msgspec.Raw(b"null"))
        self._row(execution, event)

    def finish(self) -> None:
        """What still runs."""
        for execution in self._live.values():
            self._row(execution, None)
        self._live.clear()

    def _row(self, execution: _Execution, end: ev.SqlEnd | None) -> None:
        start = execution.start
        status = "running" if end is None else "failed" if end.error_message else "succeeded"
        self.executions.add(
            start.execution_id,
            start.execution_id if start.root_execution_id is None else start.root_execution_id,
            start.description,
            start.details,
            start.time,
            end.time if end else None,
            status,
            end.error_message if end else None,
        )
        plan = ev.decode_plan(execution.plan)
        if plan is None:
            self.unreadable_plans += bytes(execution.plan) != b"null"
            return
        for node, row in walk(plan):
            self.nodes.add(start.execution_id, *row)
            for metric in node.metrics:
                self.metrics.add(
                    start.execution_id,
                    row[0],
                    metric.name,
                    metric.metric_type,
                    metric.accumulator_id,
                )


def sql_tables(
    state: SqlState, jobs: pa.Table, stages: pa.Table, accumulators: pa.Table
) -> dict[str, pa.Table]:
    """`sql_executions`, `sql_nodes`, `sql_metrics`, `sql_stages` from what was collected.

    A metric's value is what the stages' accumulators said last, plus what the driver sent. Spark
    adds the same (SQLAppStatusListener.aggregateMetrics); for type `average` a sum means nothing
    and is left out.
    """
    metrics, nodes = state.metrics.table(), state.nodes.table()
    metrics = _with_values(metrics, accumulators, state.driver_values.table())
    return {
        "sql_executions": _with_ids(state.executions.table(), jobs, stages),
        "sql_nodes": nodes,
        "sql_metrics": metrics,
        "sql_stages": _node_stages(nodes, metrics, accumulators),
    }


def _with_values(metrics: pa.Table, accumulators: pa.Table, driver: pa.Table) -> pa.Table:
    known = accumulators.select(["accumulator_id", "value"]).filter(
        pc.is_valid(accumulators["value"])
    )
    last = known.group_by("accumulator_id", use_threads=False).aggregate([("value", "last")])
    last = last.rename_columns(["accumulator_id", "value"])
    sums = pa.concat_tables([last, driver.cast(last.schema)])
    sums = sums.group_by("accumulator_id").aggregate([("value", "sum")])
    where = pc.index_in(metrics["accumulator_id"], sums["accumulator_id"].combine_chunks())
    value = sums["value_sum"].combine_chunks().take(pc.cast(where, pa.int64()))
    metrics = metrics.append_column(schemas.SQL_METRICS.field("value"), value)
    keep = pc.and_(
        pc.is_valid(metrics["value"]),
        pc.not_equal(metrics["metric_type"].cast(pa.string()), "average"),
    )
    return metrics.filter(keep).select(schemas.SQL_METRICS.names).cast(schemas.SQL_METRICS)


def _with_ids(executions: pa.Table, jobs: pa.Table, stages: pa.Table) -> pa.Table:
    """Executions with the jobs and the submitted stages that carry their id."""
    for name, table, ids in (("job_ids", jobs, "job_id"), ("stage_ids", stages, "stage_id")):
        own = table.select(["sql_execution_id", ids])
        own = own.filter(pc.is_valid(own["sql_execution_id"]))
        lists = own.group_by("sql_execution_id").aggregate([(ids, "distinct")])
        where = pc.index_in(executions["execution_id"], lists["sql_execution_id"].combine_chunks())
        column = lists[f"{ids}_distinct"].combine_chunks().take(pc.cast(where, pa.int64()))
        field = schemas.SQL_EXECUTIONS.field(name)
        executions = executions.append_column(field, _sorted_lists(column, field.type))
    executions = _failed_by_jobs(executions, jobs)
    return executions.select(schemas.SQL_EXECUTIONS.names)


def _sorted_lists(lists: Any, kind: pa.DataType) -> pa.Array:
    values = [sorted(v) if v else [] for v in lists.to_pylist()]
    return pa.array(values, kind)


def _failed_by_jobs(executions: pa.Table, jobs: pa.Table) -> pa.Table:
    """Before Spark 3.4 an execution's end does not tell a failure: its jobs do.

    Since then no failure is an empty text.
    """
    failed = jobs.filter(pc.equal(jobs["status"], "failed"))["sql_execution_id"].drop_null()
    silent = pc.and_(pc.equal(executions["status"], "succeeded"), pc.is_null(executions["error"]))
    by_job = pc.is_in(executions["execution_id"], failed.combine_chunks().unique())
    status = pc.if_else(pc.and_(silent, by_job), "failed", executions["status"])
    error = executions["error"].cast(pa.string())
    error = pc.dictionary_encode(pc.if_else(pc.equal(error, ""), None, error))
    for name, values in (("status", status), ("error", error)):
        field = schemas.SQL_EXECUTIONS.field(name)
        executions = executions.set_column(executions.schema.get_field_index(name), field, values)
    return executions


def _node_stages(nodes: pa.Table, metrics: pa.Table, accumulators: pa.Table) -> pa.Table:
    """Which stage attempts ran a node: those whose accumulators are its metrics.

    A node compiled into a codegen stage runs where the rest of that codegen stage runs.
    """
    key = ["execution_id", "node_id"]
    ran = metrics.select([*key, "accumulator_id"]).join(
        accumulators.select(["accumulator_id", "stage_id", "stage_attempt"]),
        "accumulator_id",
        join_type="inner",
    )
    compiled = nodes.select([*key, "codegen_id"]).filter(pc.is_valid(nodes["codegen_id"]))
    by_codegen = (
        ran.join(compiled, key, join_type="inner")
        .select(["execution_id", "codegen_id", "stage_id", "stage_attempt"])
        .group_by(["execution_id", "codegen_id", "stage_id", "stage_attempt"])
        .aggregate([])
    )
    inherited = compiled.join(by_codegen, ["execution_id", "codegen_id"], join_type="inner")
    names = schemas.SQL_STAGES.names
    both = pa.concat_tables([ran.select(names), inherited.select(names)])
    both = both.group_by(names).aggregate([]).select(names)
    return both.sort_by([(name, "ascending") for name in names]).cast(schemas.SQL_STAGES)
