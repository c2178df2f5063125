package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.junit.After;
import org.junit.Test;

public class TaskSpansTest {
    private final TaskSpans spans = new TaskSpans();

    @After
    public void noTask() {
        TaskContext$.MODULE$.unset();
    }

    private TaskInfo start() {
        TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
        return spans.started();
    }

    @Test
    public void outsideATaskNothingStartsOrEnds() {
        assertNull(spans.started());
        assertNull(spans.ended("succeeded", null));
    }

    @Test
    public void aTaskIsKnownAtItsEndThoughItsContextIsGone() {
        TaskInfo task = start();
        assertTrue(task.running());
        assertEquals("running", task.outcome);
        assertEquals(Thread.currentThread().getId(), task.javaThreadId);
        assertTrue(spans.runs(task.stageId, task.stageAttempt));
        assertFalse(spans.runs(task.stageId, task.stageAttempt + 1));
        TaskContext$.MODULE$.unset();
        assertSame(task, spans.ended("failed", "FetchFailed"));
        assertFalse(task.running());
        assertEquals("failed", task.outcome);
        assertEquals("FetchFailed", task.reason);
        assertTrue(task.endNs >= task.startNs);
        assertFalse(spans.runs(task.stageId, task.stageAttempt));
        assertNull("it ends once", spans.ended("failed", null));
    }

    @Test
    public void aRunningTaskHasItsMetricsAndCpuTimeAsOfNow() {
        TaskInfo task = start();
        TaskContext.get().taskMetrics().incMemoryBytesSpilled(42);
        burn(30_000_000);
        List<TaskInfo> running = spans.running();
        assertEquals(Collections.singletonList(task), running);
        assertEquals(Tables.TASK_METRICS.size(), task.metrics.length);
        assertEquals(42, task.metrics[Tables.TASK_METRICS.indexOf("memory_spill_bytes")]);
        assertTrue("thread CPU time " + task.threadCpuNs, task.threadCpuNs >= 20_000_000);
        spans.ended("succeeded", null);
        assertTrue(spans.running().isEmpty());
    }

    @Test
    public void anEndedTaskIsTakenOnceAndItsIntervalKeptUntilItsChunkIsRead() {
        TaskInfo task = start();
        spans.ended("succeeded", null);
        assertEquals(Collections.singletonList(task), spans.takeEnded());
        assertTrue(spans.takeEnded().isEmpty());
        assertEquals(1, spans.intervals(Collections.<TaskInfo>emptyList()).size());
        spans.forgetBefore(task.endNs);
        assertEquals(1, spans.intervals(Collections.<TaskInfo>emptyList()).size());
        spans.forgetBefore(task.endNs + 1);
        assertTrue(spans.intervals(Collections.<TaskInfo>emptyList()).isEmpty());
    }

    @Test
    public void aRunningTasksIntervalIsOpen() {
        TaskInfo task = start();
        TaskTimeline timeline = TaskTimeline.of(spans.intervals(spans.running()));
        assertSame(task, timeline.find(task.javaThreadId, System.nanoTime()));
        assertNull(timeline.find(task.javaThreadId, task.startNs - 1));
        assertNotNull(spans.thread(task.taskId));
        spans.ended("succeeded", null);
        assertNull(spans.thread(task.taskId));
    }

    private static void burn(long cpuNs) {
        java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + cpuNs;
        while (threads.getCurrentThreadCpuTime() < end) {
            Thread.yield();
        }
    }
}
