package io.sparkprobe;

import org.apache.spark.SparkFirehoseListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** Hears all of the driver's events, on a queue of its own, so that a slow listener of others makes us lose none. */
final class DriverListener extends SparkFirehoseListener {
    private static final String SQL_START = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart";
    private static final String SQL_END = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd";

    private final DriverProbe probe;

    DriverListener(DriverProbe probe) {
        this.probe = probe;
    }

    @Override
    public void onEvent(SparkListenerEvent event) {
        try {
            if (event instanceof SparkListenerExecutorRemoved) {
                SparkListenerExecutorRemoved removed = (SparkListenerExecutorRemoved) event;
                probe.executorRemoved(removed.executorId(), removed.reason());
            } else if (event instanceof SparkListenerTaskEnd) {
                taskEnded((SparkListenerTaskEnd) event);
            } else if (event instanceof SparkListenerStageSubmitted) {
                StageInfo stage = ((SparkListenerStageSubmitted) event).stageInfo();
                probe.stages().submitted(stage.stageId(), stage.attemptNumber(), stage.numTasks());
            } else if (event instanceof SparkListenerStageCompleted) {
                StageInfo stage = ((SparkListenerStageCompleted) event).stageInfo();
                probe.stages().completed(stage.stageId(), stage.attemptNumber());
            } else if (event.getClass().getName().equals(SQL_START)) {
                Sql.started(event);
            } else if (event.getClass().getName().equals(SQL_END)) {
                Sql.ended(event);
            }
            probe.event(event);
            if (event instanceof SparkListenerApplicationEnd) {
                probe.applicationEnds(((SparkListenerApplicationEnd) event).time());
            }
        } catch (Throwable t) {
            probe.failed("an event of type " + event.getClass().getSimpleName() + " could not be handled", t);
        }
    }

    private void taskEnded(SparkListenerTaskEnd end) {
        if (end.taskInfo() != null && end.taskInfo().successful()) {
            probe.stages().taskSucceeded(end.stageId(), end.stageAttemptId(), end.taskInfo().duration());
        }
    }

    /** Apart, so that an application without spark-sql never loads these classes. */
    private static final class Sql {
        static void started(SparkListenerEvent event) {
            SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
            SqlExecutions.started(start.executionId(), start.time());
        }

        static void ended(SparkListenerEvent event) {
            SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
            SqlExecutions.ended(end.executionId(), end.time());
        }
    }
}
