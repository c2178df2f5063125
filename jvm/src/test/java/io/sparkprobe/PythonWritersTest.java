package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.python.BasePythonRunnerOfTest;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

public class PythonWritersTest {
    private final TaskSpans spans = new TaskSpans();
    private final PythonWriters writers = new PythonWriters(spans);

    @Before
    public void start() {
        writers.start();
    }

    @After
    public void stop() {
        writers.taskThread(false);
        writers.stop();
        TaskContext$.MODULE$.unset();
    }

    private List<TaskTimeline.Interval> seen(int count) throws InterruptedException {
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (writers.intervals().size() < count && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
        return writers.intervals();
    }

    @Test
    public void aWriterThatATaskStartsIsLentToIt() throws InterruptedException {
        TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
        TaskInfo task = spans.started();
        writers.taskThread(true);
        Thread plain = new Thread(() -> { });
        // An anonymous subclass, as Spark's runners make them.
        BasePythonRunnerOfTest writer = new BasePythonRunnerOfTest(TaskContext.get()) { };
        plain.start();
        writer.start();
        List<TaskTimeline.Interval> lent = seen(1);
        writer.end();
        assertEquals(1, lent.size());
        assertSame(task, lent.get(0).task);
        assertEquals(TaskTimeline.PYTHON_WRITER, lent.get(0).kind);
        assertEquals(writer.getId(), lent.get(0).javaThreadId);
        assertSame(task, TaskTimeline.of(writers.intervals()).find(writer.getId(), System.nanoTime()));
        spans.ended("succeeded", null);
        writers.forgetBefore(task.endNs);
        assertEquals("its last chunk is not read yet", 1, writers.intervals().size());
        writers.forgetBefore(task.endNs + 1);
        assertTrue(writers.intervals().isEmpty());
    }

    @Test
    public void threadsOutsideATaskAreNotLookedFor() throws InterruptedException {
        BasePythonRunnerOfTest unseen = new BasePythonRunnerOfTest(TaskContext$.MODULE$.empty());
        unseen.start();
        unseen.end();
        TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
        spans.started();
        writers.taskThread(true);
        BasePythonRunnerOfTest writer = new BasePythonRunnerOfTest(TaskContext.get());
        writer.start();
        assertEquals(writer.getId(), seen(1).get(0).javaThreadId);
        writer.end();
        spans.ended("succeeded", null);
    }
}
