package io.sparkprobe;

import static io.sparkprobe.Samples.is;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

/** At a bound the tables get coarser; no sample is lost, and it is said. */
public class DigestLimitsTest {
    private static final long START = 1_000_000_000_000L;
    private static final long SECOND = 1_000_000_000L;
    private static final int TASKS = 50;
    private static final int STACKS = 20;
    private static final RecordingInfo RECORDING =
            new RecordingInfo(0, RecordingInfo.BASE, "ctimer", 10_000_000, -1, -1, -1);

    /** For each task, one after the other and each 2 s long, a sample of each stack in both seconds. */
    private static Digest digest(DigestLimits limits) {
        JfrBuilder chunk = new JfrBuilder().thread(1, "worker", 7).classRef(1, "com/example/Job");
        for (int stack = 1; stack <= STACKS; stack++) {
            chunk.method(stack, 1, "m" + stack).stack(stack, stack, 0, 1, 1, 0, 1);
        }
        List<TaskTimeline.Interval> tasks = new ArrayList<>();
        for (int task = 0; task < TASKS; task++) {
            long start = START + task * 2 * SECOND;
            TaskInfo info = new TaskInfo(task % 5, 0, task, task, 0, "worker", 7, 1, start);
            info.endNs = start + 2 * SECOND;
            tasks.add(TaskTimeline.Interval.of(info));
            for (int stack = 1; stack <= STACKS; stack++) {
                chunk.add(JfrEvents.EXECUTION_SAMPLE, start, 1, stack, 0);
                chunk.add(JfrEvents.EXECUTION_SAMPLE, start + SECOND, 1, stack, 0);
            }
        }
        Digest digest = new Digest(limits);
        assertTrue(digest.add(ByteBuffer.wrap(chunk.build()), RECORDING, TaskTimeline.of(tasks),
                new ThreadKinds(false), null));
        return digest;
    }

    private static Samples samples(Digest digest) throws Exception {
        Samples samples = Samples.of(digest);
        assertEquals(2L * TASKS * STACKS, samples.samples(row -> true));
        assertEquals(20_000_000L * TASKS * STACKS, samples.value(row -> true));
        assertEquals("stages are never dropped", 2L * TASKS * STACKS / 5, samples.samples(is("stage_id", 3)));
        return samples;
    }

    @Test
    public void withinBoundsNothingIsDropped() throws Exception {
        Digest digest = digest(new DigestLimits(1000, 2 * TASKS * STACKS, 1000, 64 << 20));
        assertEquals(2 * TASKS * STACKS, samples(digest).rows().size());
        assertEquals("[]", digest.notes().toString());
    }

    @Test
    public void firstTheBucketGoes() throws Exception {
        Digest digest = digest(new DigestLimits(1000, TASKS * STACKS, 1000, 64 << 20));
        Samples samples = samples(digest);
        assertEquals(TASKS * STACKS, samples.rows().size());
        assertEquals(2L * TASKS * STACKS, samples.samples(is("bucket_ms", -1L)));
        assertEquals(2L * STACKS, samples.samples(is("task_id", 4L)));
        assertEquals("[More than 1000 rows or 67108864 bytes in one flush: the samples have no time bucket.]",
                digest.notes().toString());
    }

    @Test
    public void thenTheTask() throws Exception {
        Digest digest = digest(new DigestLimits(1000, 5 * STACKS, 1000, 64 << 20));
        Samples samples = samples(digest);
        assertEquals(5 * STACKS, samples.rows().size());
        assertEquals(2L * TASKS * STACKS, samples.samples(is("task_id", -2L)));
        assertTrue(digest.notes().get(0).endsWith("no time bucket and no task."));
    }

    @Test
    public void thenTheStack() throws Exception {
        Digest digest = digest(new DigestLimits(1000, 30, 1000, 64 << 20));
        Samples samples = samples(digest);
        assertTrue("" + samples.rows().size(), samples.rows().size() <= 30 + 5);
        assertTrue(samples.samples(row -> samples.stack(row).equals("[stack_limit]/native")) > 0);
        assertTrue(digest.notes().toString(), digest.notes().get(1).endsWith("has the stack [stack_limit]."));
    }

    @Test
    public void stacksHaveABoundOfTheirOwn() throws Exception {
        Digest digest = digest(new DigestLimits(1000, 100_000, 12, 64 << 20));
        Samples samples = samples(digest);
        assertEquals(13, samples.tables.get("stack").size());
        assertEquals(2L * TASKS * (STACKS - 12), samples.samples(row -> samples.stack(row).equals("[stack_limit]/native")));
        assertEquals("rows are not coarser for it", 4 * STACKS - 2 * (STACKS - 12 - 1) - 2 * STACKS,
                samples.rows().stream().filter(is("task_id", 4L)).count());
    }

    @Test
    public void heapIsBounded() throws Exception {
        Digest digest = digest(new DigestLimits(1000, 1_000_000, 1_000_000, 40_000));
        samples(digest);
        assertTrue(digest.notes().toString(), digest.notes().get(0).contains("40000 bytes"));
    }
}
