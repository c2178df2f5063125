package io.sparkprobe;

import static io.sparkprobe.Samples.is;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import one.jfr.JfrReader;
import one.jfr.event.AllocationSample;
import one.jfr.event.ContendedLock;
import one.jfr.event.Event;
import one.jfr.event.ExecutionSample;
import one.profiler.AsyncProfiler;
import one.profiler.Span;
import org.junit.Assume;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Recordings that async-profiler makes of this JVM, against what its own reader finds in them. */
public class RecordedTest {
    @ClassRule
    public static final TemporaryFolder FOLDER = new TemporaryFolder();

    private static final long INTERVAL_NS = 5_000_000;
    private static final Object LOCK = new Object();
    private static final List<TaskInfo> TASKS = new ArrayList<>();
    private static File file;
    private static volatile Object sink;

    @BeforeClass
    public static void record() throws Exception {
        Assume.assumeTrue("async-profiler has no Windows", File.separatorChar == '/');
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        file = new File(FOLDER.getRoot(), "recorded.jfr");
        profiler.execute("start,event=ctimer,interval=5ms,wall=10ms,alloc=64k,lock=10us,clock=monotonic,loglevel=error,"
                + "jfr,file=" + file);
        try {
            CountDownLatch locked = new CountDownLatch(1);
            Thread one = new Thread(() -> {
                task(1, RecordedTest::burnOne);
                task(2, RecordedTest::burnTwo);
                task(3, () -> holdLock(locked));
            }, "worker one");
            Thread two = new Thread(() -> {
                task(4, RecordedTest::allocate);
                task(5, () -> waitForLock(locked));
            }, "worker two");
            one.start();
            two.start();
            one.join();
            two.join();
        } finally {
            profiler.execute("stop,file=" + file);
        }
    }

    private static void task(long id, Runnable work) {
        Thread thread = Thread.currentThread();
        TaskInfo task = new TaskInfo((int) id / 3, 0, (int) id, id, 0, thread.getName(), thread.getId(),
                System.currentTimeMillis(), System.nanoTime());
        long span = Span.start();
        work.run();
        Span.end(span, SpanTag.of(task, SpanTag.SUCCEEDED));
        task.endNs = System.nanoTime();
        synchronized (TASKS) {
            TASKS.add(task);
        }
    }

    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void burnOne() {
        for (long end = cpuNs() + 60 * INTERVAL_NS; cpuNs() < end; ) {
            spin();
        }
    }

    private static void burnTwo() {
        for (long end = cpuNs() + 60 * INTERVAL_NS; cpuNs() < end; ) {
            spin();
        }
    }

    private static void spin() {
        double x = 1;
        for (int i = 0; i < 20_000; i++) {
            x += Math.sin(x + i);
        }
        sink = x;
    }

    private static void allocate() {
        for (long bytes = 0; bytes < 64 << 20; bytes += 10_000) {
            sink = new byte[10_000];
        }
    }

    private static void holdLock(CountDownLatch locked) {
        synchronized (LOCK) {
            locked.countDown();
            for (long end = System.nanoTime() + 50_000_000; System.nanoTime() < end; ) {
                Thread.yield();
            }
        }
    }

    private static void waitForLock(CountDownLatch locked) {
        try {
            locked.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        synchronized (LOCK) {
            sink = "got it";
        }
    }

    private static Samples digest(TaskTimeline tasks) throws IOException {
        Digest digest = new Digest(new DigestLimits(1000, 100_000, 100_000, 64 << 20));
        byte[] bytes = Files.readAllBytes(file.toPath());
        RecordingInfo recording =
                new RecordingInfo(0, RecordingInfo.BASE, "ctimer", INTERVAL_NS, 2 * INTERVAL_NS, 64 << 10, 10_000);
        assertTrue(digest.add(ByteBuffer.wrap(bytes), recording, tasks, new ThreadKinds(true), null));
        assertEquals(0, digest.damagedChunks());
        return Samples.of(digest);
    }

    private static TaskTimeline ownIntervals() {
        List<TaskTimeline.Interval> intervals = new ArrayList<>();
        TASKS.forEach(task -> intervals.add(TaskTimeline.Interval.of(task)));
        return TaskTimeline.of(intervals);
    }

    private static SpanTimeline spans() throws IOException {
        SpanTimeline spans = new SpanTimeline();
        spans.add(new JfrChunk(ByteBuffer.wrap(Files.readAllBytes(file.toPath())), null));
        return spans;
    }

    @Test
    public void countsWhatTheReaderCounts() throws IOException {
        Map<String, long[]> expected = new TreeMap<>();
        try (JfrReader reader = new JfrReader(file.getPath())) {
            for (Event event = reader.readEvent(); event != null; event = reader.readEvent()) {
                String name = event instanceof ContendedLock ? "lock" : event instanceof AllocationSample ? "alloc"
                        : event instanceof ExecutionSample ? isCpu(reader, event) ? "cpu" : "wall" : null;
                if (name != null) {
                    long[] sums = expected.computeIfAbsent(name, n -> new long[2]);
                    sums[0] += event.samples();
                    sums[1] += name.equals("cpu") ? INTERVAL_NS
                            : name.equals("wall") ? 2 * INTERVAL_NS * event.samples() : event.value();
                }
            }
        }
        assertEquals("[alloc, cpu, lock, wall]", expected.keySet().toString());
        Samples samples = digest(TaskTimeline.EMPTY);
        expected.forEach((event, sums) -> {
            assertEquals(event, sums[0], samples.samples(is("event", event)));
            assertEquals(event, sums[1], samples.value(is("event", event)));
        });
    }

    private static boolean isCpu(JfrReader reader, Event event) {
        return "STATE_DEFAULT".equals(reader.getEnumValue("jdk.types.ThreadState", ((ExecutionSample) event).threadState));
    }

    @Test
    public void eachMethodsSamplesAreItsTasksAndNoOthers() throws IOException {
        assertAttributed(digest(ownIntervals()));
        assertAttributed(digest(spans().timeline()));
    }

    private static void assertAttributed(Samples samples) {
        String[] methods = {"burnOne", "burnTwo", "holdLock", "allocate", "waitForLock"};
        for (int i = 0; i < methods.length; i++) {
            Set<Object> tasks = new HashSet<>();
            Set<Object> kinds = new HashSet<>();
            for (Map<String, Object> row : samples.rows()) {
                if (samples.stack(row).contains("io.sparkprobe.RecordedTest." + methods[i] + ":")) {
                    tasks.add(row.get("task_id"));
                    kinds.add(row.get("kind"));
                }
            }
            assertEquals(methods[i], "[" + (i + 1) + "]", tasks.toString());
            assertEquals(methods[i], "[task]", kinds.toString());
        }
        assertEquals(1.0, samples.value(row -> row.get("event").equals("cpu") && row.get("task_id").equals(1L))
                / (60.0 * INTERVAL_NS), 0.25);
        assertTrue("arrays are their allocation's leaf", samples.value(row -> row.get("event").equals("alloc")
                && row.get("task_id").equals(4L) && samples.stack(row).endsWith(";byte[]/class")) > 32 << 20);
        assertTrue("the lock's class is its leaf", samples.value(row -> row.get("event").equals("lock")
                && row.get("task_id").equals(5L) && samples.stack(row).endsWith(";java.lang.Object/class")) > 10_000_000);
    }

    @Test
    public void spansNameTheTasks() throws IOException {
        List<TaskInfo> tasks = spans().tasks();
        assertEquals(TASKS.size(), tasks.size());
        for (TaskInfo task : tasks) {
            TaskInfo known = TASKS.stream().filter(t -> t.taskId == task.taskId).findFirst().get();
            assertEquals(known.stageId, task.stageId);
            assertEquals(known.javaThreadId, task.javaThreadId);
            assertEquals(known.thread, task.thread);
            assertEquals(SpanTag.SUCCEEDED, task.outcome);
            assertTrue("the same clock", task.startNs >= known.startNs && task.endNs <= known.endNs);
            assertEquals("the wall clock", known.startMs, task.startMs, 1000);
        }
    }

    @Test
    public void theCommandLineWritesItAll() throws IOException {
        File out = new File(FOLDER.getRoot(), "out.parquet");
        DigestMain.main(new String[] {file.getPath(), out.getPath()});
        Map<String, List<Map<String, Object>>> tables = ParquetRows.read(Files.readAllBytes(out.toPath()));
        assertEquals(TASKS.size(), tables.get("task").size());
        Map<String, Object> recording = tables.get("recording").get(0);
        assertEquals("ctimer", recording.get("engine"));
        assertEquals(INTERVAL_NS, recording.get("cpu_interval_ns"));
        assertEquals(2 * INTERVAL_NS, recording.get("wall_interval_ns"));
        assertEquals(64L << 10, recording.get("alloc_interval_bytes"));
        assertEquals(10_000L, recording.get("lock_interval_ns"));
        Set<Object> tasks = new HashSet<>();
        tables.get("sample").forEach(row -> tasks.add(row.get("task_id")));
        assertTrue(tasks.toString(), tasks.containsAll(java.util.Arrays.asList(1L, 2L, 3L, 4L, 5L)));
    }
}
