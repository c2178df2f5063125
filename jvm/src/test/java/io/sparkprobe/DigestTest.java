package io.sparkprobe;

import static io.sparkprobe.Samples.is;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** What each event counts as, on chunks of which every event is known. */
public class DigestTest {
    private static final long START = 1_000_000_000_000L;
    private static final long MS = 1_000_000L;
    private static final long WORKER = 101;
    private static final long WORKER_ID = 21;
    private static final int INTERPRETED = 0;
    private static final int JIT = 1;
    private static final int NATIVE = 3;
    private static final int CPP = 4;
    private static final RecordingInfo RECORDING =
            new RecordingInfo(4, RecordingInfo.BASE, "ctimer", 10 * MS, 100 * MS, 4 << 20, 10 * MS);
    private static final String STACK_1 = "java.lang.Thread.run/jit;com.example.Job.work:7/interpreted";
    private static final String STACK_2 = STACK_1 + ";memcpy/native";

    private final Digest digest = new Digest(new DigestLimits(0, 1000, 1000, 1 << 20));

    private static JfrBuilder chunk() {
        return new JfrBuilder()
                .thread(WORKER, "Executor task launch worker for task 1.0 in stage 0.0 (TID 1)", WORKER_ID)
                .thread(102, "C2 CompilerThre", 0)
                .classRef(1, "java/lang/Thread").classRef(2, "com/example/Job").classRef(3, "").classRef(4, "[B")
                .method(1, 1, "run").method(2, 2, "work").method(3, 3, "memcpy.isra.0")
                .stack(1, 2, 7, INTERPRETED, 1, 840, JIT)
                .stack(2, 3, 0, NATIVE, 2, 7, INTERPRETED, 1, 840, JIT);
    }

    private static TaskTimeline task(long id, long startNs, long endNs) {
        TaskInfo task = new TaskInfo(3, 1, 5, id, 0, "worker", WORKER_ID, 1, startNs);
        task.endNs = endNs;
        return TaskTimeline.of(Collections.singletonList(TaskTimeline.Interval.of(task)));
    }

    private boolean add(JfrBuilder chunk, RecordingInfo recording, TaskTimeline tasks) {
        return digest.add(ByteBuffer.wrap(chunk.build()), recording, tasks, new ThreadKinds(false), null);
    }

    private Map<String, String> digested(JfrBuilder chunk, RecordingInfo recording, TaskTimeline tasks)
            throws IOException {
        assertTrue(digest.notes().toString(), add(chunk, recording, tasks));
        return Samples.of(digest).byEverything();
    }

    private static void assertSamples(Map<String, String> samples, String... keysAndSums) {
        List<String> expected = new ArrayList<>();
        samples.forEach((key, sum) -> expected.add(key + " = " + sum));
        List<String> sorted = new ArrayList<>(Arrays.asList(keysAndSums));
        Collections.sort(sorted);
        assertEquals(String.join("\n", sorted), String.join("\n", expected));
    }

    @Test
    public void aCpuSampleIsItsTasksOnlyInsideTheTask() throws IOException {
        JfrBuilder chunk = chunk()
                .add(JfrEvents.EXECUTION_SAMPLE, START + 99, WORKER, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 100, WORKER, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 199, WORKER, 2, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 150, WORKER, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 200, WORKER, 1, JfrBuilder.DEFAULT)
                .cpuLoad();
        assertSamples(digested(chunk, RECORDING, task(17, START + 100, START + 200)),
                "cpu  task 17 task " + STACK_1 + " = 2 20000000",
                "cpu  task 17 task " + STACK_2 + " = 1 10000000",
                "cpu  task -1 spark-internal " + STACK_1 + " = 2 20000000");
        assertEquals(5, digest.samples());
        assertEquals(6, digest.events());
    }

    @Test
    public void stageAttemptAndRecordingStandInTheRow() throws IOException {
        JfrBuilder chunk = chunk().add(JfrEvents.EXECUTION_SAMPLE, START + 100, WORKER, 1, JfrBuilder.DEFAULT);
        add(chunk, RECORDING, task(17, START, START + 200));
        Map<String, Object> row = Samples.of(digest).rows().get(0);
        assertEquals(4, row.get("recording_id"));
        assertEquals(3, row.get("stage_id"));
        assertEquals(1, row.get("stage_attempt"));
        assertEquals(-1L, row.get("sql_execution_id"));
        assertEquals(-1L, row.get("bucket_ms"));
    }

    @Test
    public void aThreadLentToATaskKeepsItsKind() throws IOException {
        TaskInfo task = new TaskInfo(3, 0, 5, 17, 0, "worker", 999, 1, START);
        TaskTimeline lent = TaskTimeline.of(Collections.singletonList(new TaskTimeline.Interval(task,
                TaskTimeline.PYTHON_WRITER, WORKER_ID, START, TaskInfo.RUNNING_NS)));
        assertSamples(digested(chunk().add(JfrEvents.EXECUTION_SAMPLE, START + 5, WORKER, 1, JfrBuilder.DEFAULT),
                RECORDING, lent), "cpu  task 17 python-writer " + STACK_1 + " = 1 10000000");
    }

    @Test
    public void aBatchOfWallSamplesIsSpreadOverTasksAndBuckets() throws IOException {
        // Ten samples, 100 ms apart, from 50 ms on: at 50, 150, … 950 ms. The task covers 200 to 600 ms: four of them.
        Digest bucketed = new Digest(new DigestLimits(500, 1000, 1000, 1 << 20));
        JfrBuilder chunk = chunk().clock(START, 1_000_000_000L, 1_700_000_000_000L * MS, 30_000 * MS)
                .add(JfrEvents.WALL_CLOCK_SAMPLE, START + 50 * MS, WORKER, 1, JfrBuilder.SLEEPING, 10, 900 * MS);
        bucketed.add(ByteBuffer.wrap(chunk.build()), RECORDING, task(17, START + 200 * MS, START + 600 * MS),
                new ThreadKinds(false), null);
        Samples samples = Samples.of(bucketed);
        assertEquals(4, samples.samples(is("task_id", 17L)));
        assertEquals(6, samples.samples(is("task_id", -1L)));
        assertEquals(5, samples.samples(is("bucket_ms", 1_700_000_000_000L)));
        assertEquals(5, samples.samples(is("bucket_ms", 1_700_000_000_500L)));
        assertEquals(1000 * MS, samples.value(is("state", "sleeping")));
        assertEquals(10, bucketed.samples());
    }

    @Test
    public void aBatchWithoutATimeSpanIsOneIntervalApart() throws IOException {
        JfrBuilder chunk = chunk().wallWithSpan(false)
                .add(JfrEvents.WALL_CLOCK_SAMPLE, START, WORKER, 1, JfrBuilder.SLEEPING, 820)
                .add(JfrEvents.WALL_CLOCK_SAMPLE, START, WORKER, 2, JfrBuilder.RUNNABLE, 1);
        assertSamples(digested(chunk, RECORDING, task(17, START + 2000 * MS, START + 4000 * MS)),
                "wall sleeping task 17 task " + STACK_1 + " = 20 2000000000",
                "wall sleeping task -1 spark-internal " + STACK_1 + " = 800 80000000000",
                "wall runnable task -1 spark-internal " + STACK_2 + " = 1 100000000");
    }

    @Test
    public void allocationsCountBytesAndHaveTheClassAsLeaf() throws IOException {
        JfrBuilder chunk = chunk()
                .add(JfrEvents.ALLOC_IN_NEW_TLAB, START, WORKER, 1, 4, 24, 4096)
                .add(JfrEvents.ALLOC_IN_NEW_TLAB, START, WORKER, 1, 4, 24, 0)
                .add(JfrEvents.ALLOC_OUTSIDE_TLAB, START, WORKER, 1, 4, 1000)
                .add(JfrEvents.ALLOC_OUTSIDE_TLAB, START, WORKER, 1, 0, 500);
        assertSamples(digested(chunk, RECORDING, TaskTimeline.EMPTY),
                "alloc tlab task -1 spark-internal " + STACK_1 + ";byte[]/class = 2 4120",
                "alloc outside task -1 spark-internal " + STACK_1 + ";byte[]/class = 1 1000",
                "alloc outside task -1 spark-internal " + STACK_1 + " = 1 500");
    }

    @Test
    public void theSameBytesAreNotCountedTwice() throws IOException {
        JfrBuilder chunk = chunk()
                .add(JfrEvents.ALLOC_SAMPLE, START, WORKER, 1, 4, 9000)
                .add(JfrEvents.ALLOC_IN_NEW_TLAB, START, WORKER, 1, 4, 24, 4096);
        assertSamples(digested(chunk, RECORDING, TaskTimeline.EMPTY),
                "alloc tlab task -1 spark-internal " + STACK_1 + ";byte[]/class = 1 4096");
        assertTrue(digest.notes().toString(), digest.notes().get(0).contains("twice"));
    }

    @Test
    public void allocationSamplesAloneCount() throws IOException {
        assertSamples(digested(chunk().add(JfrEvents.ALLOC_SAMPLE, START, WORKER, 1, 4, 9000), RECORDING,
                TaskTimeline.EMPTY),
                "alloc sample task -1 spark-internal " + STACK_1 + ";byte[]/class = 1 9000");
    }

    @Test
    public void locksAndMethodsCountTheirDurationWhereTheyStart() throws IOException {
        JfrBuilder chunk = chunk()
                .add(JfrEvents.MONITOR_ENTER, START + 100, 50 * MS, WORKER, 1, 2, 0, 77)
                .add(JfrEvents.THREAD_PARK, START + 199, 5 * MS, WORKER, 1, 2, 0, 0, 77)
                .add(JfrEvents.THREAD_PARK, START + 200, 7 * MS, WORKER, 1, 2, 0, 0, 77)
                .add(JfrEvents.METHOD_TRACE, START + 100, 3 * MS, WORKER, 1, 0);
        assertSamples(digested(chunk, RECORDING, task(17, START + 100, START + 200)),
                "lock  task 17 task " + STACK_1 + ";com.example.Job/class = 2 55000000",
                "lock  task -1 spark-internal " + STACK_1 + ";com.example.Job/class = 1 7000000",
                "method  task 17 task " + STACK_1 + " = 1 3000000");
    }

    @Test
    public void oldFilesOfCpuOnlyCallItRunnable() throws IOException {
        JfrBuilder chunk = chunk().setting("jstackdepth", "2048").setting("event", "cpu").setting("interval", "0")
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE);
        assertSamples(digested(chunk, RecordingInfo.unknown(0), TaskTimeline.EMPTY),
                "cpu  task -1 spark-internal " + STACK_1 + " = 1 10000000");
    }

    @Test
    public void oldFilesOfCpuAndWallTellThemApartByState() throws IOException {
        JfrBuilder chunk = chunk().setting("jstackdepth", "2048").setting("event", "cpu")
                .setting("interval", "20000000").setting("wall", "200000000")
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE)
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.SLEEPING);
        assertSamples(digested(chunk, RecordingInfo.unknown(0), TaskTimeline.EMPTY),
                "cpu  task -1 spark-internal " + STACK_1 + " = 1 20000000",
                "wall runnable task -1 spark-internal " + STACK_1 + " = 1 200000000",
                "wall sleeping task -1 spark-internal " + STACK_1 + " = 1 200000000");
    }

    @Test
    public void oldFilesOfWallOnly() throws IOException {
        JfrBuilder chunk = chunk().setting("jstackdepth", "2048").setting("event", "wall").setting("interval", "0")
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE);
        assertSamples(digested(chunk, RecordingInfo.unknown(0), TaskTimeline.EMPTY),
                "wall runnable task -1 spark-internal " + STACK_1 + " = 1 50000000");
    }

    @Test
    public void settingsHoldForTheRecordingsLaterChunksAndNoOther() throws IOException {
        add(chunk().setting("jstackdepth", "2048").setting("event", "wall").setting("interval", "30000000")
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE), RecordingInfo.unknown(0),
                TaskTimeline.EMPTY);
        add(chunk().add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE), RecordingInfo.unknown(0),
                TaskTimeline.EMPTY);
        add(chunk().add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.RUNNABLE), RecordingInfo.unknown(1),
                TaskTimeline.EMPTY);
        assertSamples(Samples.of(digest).byEverything(),
                "wall runnable task -1 spark-internal " + STACK_1 + " = 2 60000000",
                "cpu  task -1 spark-internal " + STACK_1 + " = 1 10000000");
    }

    @Test
    public void idsMeanSomethingInTheirChunkOnly() throws IOException {
        JfrBuilder other = new JfrBuilder().thread(WORKER, "main", 1).classRef(2, "com/example/Other")
                .method(2, 2, "go").stack(1, 2, 9, JIT)
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.DEFAULT);
        add(chunk().add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 1, JfrBuilder.DEFAULT), RECORDING,
                TaskTimeline.EMPTY);
        add(other, RECORDING, TaskTimeline.EMPTY);
        assertSamples(Samples.of(digest).byEverything(),
                "cpu  task -1 spark-internal " + STACK_1 + " = 1 10000000",
                "cpu  task -1 other com.example.Other.go:9/jit = 1 10000000");
    }

    @Test
    public void samplesWithoutStackOrThreadAreKept() throws IOException {
        JfrBuilder chunk = chunk()
                .add(JfrEvents.EXECUTION_SAMPLE, START, WORKER, 0, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START, 555, 99, JfrBuilder.DEFAULT)
                .add(JfrEvents.ALLOC_OUTSIDE_TLAB, START, WORKER, 0, 4, 64);
        assertSamples(digested(chunk, RECORDING, TaskTimeline.EMPTY),
                "cpu  task -1 spark-internal [no_stack]/native = 1 10000000",
                "cpu  task -1 other [no_stack]/native = 1 10000000",
                "alloc outside task -1 spark-internal [no_stack]/native;byte[]/class = 1 64");
        assertTrue(digest.notes().toString(), digest.notes().get(0).startsWith("2 samples have no stack"));
    }

    @Test
    public void aChunkWithoutAnyPoolsIsNoFault() {
        assertTrue(add(new JfrBuilder(), RECORDING, TaskTimeline.EMPTY));
        assertEquals(0, digest.samples());
    }

    @Test
    public void compilersStacksAreCutToTheirRoots() throws IOException {
        JfrBuilder chunk = chunk();
        int[] deep = new int[3 * 14];
        for (int i = 0; i < 14; i++) {
            chunk.method(50 + i, 3, "f" + i);
            deep[3 * i] = 50 + i;
            deep[3 * i + 2] = CPP;
        }
        chunk.stack(9, deep).add(JfrEvents.EXECUTION_SAMPLE, START, 102, 9, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START, 102, 1, JfrBuilder.DEFAULT);
        assertSamples(digested(chunk, RECORDING, TaskTimeline.EMPTY),
                "cpu  task -1 jit f13/cpp;f12/cpp;f11/cpp;f10/cpp;f9/cpp;f8/cpp;f7/cpp;f6/cpp;f5/cpp;f4/cpp = 1 10000000",
                "cpu  task -1 jit " + STACK_1 + " = 1 10000000");
    }

    @Test
    public void theDriversOwnWorkIsFiledUnderItsSqlExecution() throws IOException {
        SqlTimeline sql = SqlTimeline.of(Collections.singletonList(
                new SqlTimeline.Execution(8, SqlTimeline.ANY_THREAD, START + 100, START + 200)));
        JfrBuilder chunk = chunk().thread(103, "Thread-4", 30)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 99, 103, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 100, 103, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 199, 103, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 200, 103, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.EXECUTION_SAMPLE, START + 150, 102, 1, JfrBuilder.DEFAULT);
        digest.add(ByteBuffer.wrap(chunk.build()), RECORDING, TaskTimeline.EMPTY, new ThreadKinds(true), sql);
        Samples samples = Samples.of(digest);
        assertEquals(2, samples.samples(is("sql_execution_id", 8L)));
        assertEquals("the compiler works for no execution", 3, samples.samples(is("sql_execution_id", -1L)));
        assertEquals(4, samples.samples(is("kind", "driver")));
    }

    @Test
    public void ticksOfAnotherClockAreBroughtToTheWallClock() throws IOException {
        long epochNs = 1_700_000_000_000L * MS;
        JfrBuilder chunk = chunk().clock(7_000_000, 2_800_000_000L, epochNs, 30_000 * MS)
                .setting("jstackdepth", "2048").setting("event", "cpu").setting("interval", "0")
                .add(JfrEvents.EXECUTION_SAMPLE, 7_000_000 + 2_800_000_000L, WORKER, 1, JfrBuilder.DEFAULT)
                .add(JfrEvents.MONITOR_ENTER, 7_000_000, 2_800_000, WORKER, 1, 2, 0, 77);
        assertSamples(digested(chunk, RecordingInfo.unknown(0), task(17, epochNs + 1000 * MS, epochNs + 1001 * MS)),
                "cpu  task 17 task " + STACK_1 + " = 1 10000000",
                "lock  task -1 spark-internal " + STACK_1 + ";com.example.Job/class = 1 1000000");
    }

    @Test
    public void theRecordingsRowHoldsItsClockAndCounts() throws IOException {
        JfrBuilder chunk = chunk().clock(START, 1_000_000_000L, 1_700_000_000_123L * MS, 30_000 * MS)
                .add(JfrEvents.WALL_CLOCK_SAMPLE, START, WORKER, 1, JfrBuilder.SLEEPING, 10, 900 * MS).cpuLoad();
        int bytes = chunk.build().length;
        add(chunk, RECORDING, TaskTimeline.EMPTY);
        Map<String, Object> row = Samples.of(digest).tables.get("recording").get(0);
        assertEquals("{recording_id=4, purpose=base, engine=ctimer, cpu_interval_ns=10000000, "
                + "wall_interval_ns=100000000, alloc_interval_bytes=4194304, lock_interval_ns=10000000, "
                + "chunk_start_ms=1700000000123, chunk_start_mono_ns=" + START + ", chunk_end_ms=1700000030123, "
                + "chunk_end_mono_ns=" + (START + 30_000 * MS) + ", jfr_bytes=" + bytes + ", events=2, samples=10}",
                row.toString());
    }

    @Test
    public void anUnknownChunkIsCountedAndSaid() {
        assertEquals(false, digest.add(ByteBuffer.wrap(new byte[100]), RECORDING, TaskTimeline.EMPTY,
                new ThreadKinds(false), null));
        assertEquals(1, digest.damagedChunks());
        assertEquals("[A JFR chunk of recording 4 is lost: no JFR chunk: 100 bytes that do not start with FLR.]",
                digest.notes().toString());
    }
}
