package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;

import java.util.Arrays;
import java.util.Collections;
import org.junit.Test;

public class TimelinesTest {
    private static TaskInfo task(long id, long threadId, long startNs, long endNs) {
        TaskInfo task = new TaskInfo(3, 0, 5, id, 0, "worker", threadId, 1, startNs);
        task.endNs = endNs;
        return task;
    }

    @Test
    public void intervalsAreHalfOpen() {
        TaskInfo first = task(1, 7, 100, 200);
        TaskInfo second = task(2, 7, 200, 300);
        TaskTimeline timeline = TaskTimeline.of(Arrays.asList(TaskTimeline.Interval.of(second),
                TaskTimeline.Interval.of(first)));
        assertNull(timeline.find(7, 99));
        assertSame(first, timeline.find(7, 100));
        assertSame(first, timeline.find(7, 199));
        assertSame(second, timeline.find(7, 200));
        assertNull(timeline.find(7, 300));
        assertNull("another thread", timeline.find(8, 150));
    }

    @Test
    public void aRunningTaskCoversAllThatFollows() {
        TaskInfo running = new TaskInfo(3, 0, 5, 1, 0, "worker", 7, 1, 100);
        TaskTimeline timeline = TaskTimeline.of(Collections.singletonList(TaskTimeline.Interval.of(running)));
        assertSame(running, timeline.find(7, Long.MAX_VALUE - 1));
        assertNull(timeline.find(7, 99));
    }

    @Test
    public void anEmptyTaskCoversNothing() {
        TaskInfo empty = task(1, 7, 100, 100);
        TaskInfo real = task(2, 7, 100, 101);
        TaskTimeline timeline = TaskTimeline.of(Arrays.asList(TaskTimeline.Interval.of(empty),
                TaskTimeline.Interval.of(real)));
        assertSame(real, timeline.find(7, 100));
    }

    @Test
    public void nanoTimeMayBeNegative() {
        TaskInfo task = task(1, 7, -500, -100);
        TaskTimeline timeline = TaskTimeline.of(Collections.singletonList(TaskTimeline.Interval.of(task)));
        assertSame(task, timeline.find(7, -500));
        assertNull(timeline.find(7, -100));
    }

    @Test
    public void theThreadsOwnExecutionWinsThenTheLatest() {
        SqlTimeline sql = SqlTimeline.of(Arrays.asList(
                new SqlTimeline.Execution(1, SqlTimeline.ANY_THREAD, 0, 1000),
                new SqlTimeline.Execution(2, SqlTimeline.ANY_THREAD, 100, 200),
                new SqlTimeline.Execution(3, 7, 50, 150)));
        assertEquals(1, sql.find(9, 0));
        assertEquals(1, sql.find(9, 99));
        assertEquals(2, sql.find(9, 100));
        assertEquals("its own thread's", 3, sql.find(7, 120));
        assertEquals(2, sql.find(7, 150));
        assertEquals("the outer one again", 1, sql.find(7, 200));
        assertEquals(SqlTimeline.NONE, sql.find(7, 1000));
        assertEquals(SqlTimeline.NONE, sql.find(7, -1));
    }

    @Test
    public void theNextChangeIsTheNextStartOrEnd() {
        SqlTimeline sql = SqlTimeline.of(Arrays.asList(
                new SqlTimeline.Execution(1, SqlTimeline.ANY_THREAD, 0, 1000),
                new SqlTimeline.Execution(2, SqlTimeline.ANY_THREAD, 100, Long.MAX_VALUE)));
        assertEquals(0, sql.nextChange(-5));
        assertEquals(100, sql.nextChange(0));
        assertEquals(1000, sql.nextChange(100));
        assertEquals(Long.MAX_VALUE, sql.nextChange(1000));
    }
}
