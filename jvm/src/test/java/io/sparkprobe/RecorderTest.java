package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import one.profiler.AsyncProfiler;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** With the real async-profiler, where the platform has one. */
public class RecorderTest {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long INTERVAL_NS = 10_000_000;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private List<String> directories;
    private Recorder recorder;
    private Digest digest;

    @Before
    public void platform() {
        try {
            NativeLibrary.platform();
        } catch (ProbeOffException e) {
            assumeTrue(e.getMessage(), false);
        }
        // The first of these keeps the library's directory for the life of the JVM.
        directories = Collections.singletonList(System.getProperty("java.io.tmpdir"));
    }

    private static ProbeConf conf(String... keysAndValues) {
        Map<String, String> conf = new HashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.put(ProbeConf.PREFIX + keysAndValues[i], keysAndValues[i + 1]);
        }
        return ProbeConf.of(conf);
    }

    /** Burns CPU on threads of its own until the flag is set; returns their CPU time after they ended. */
    private static final class Burners {
        volatile boolean end;
        final AtomicLong cpuNs = new AtomicLong();
        final List<Thread> threads = new ArrayList<>();

        Burners(int count) {
            for (int i = 0; i < count; i++) {
                Thread thread = new Thread(this::burn, "burner-" + i);
                thread.start();
                threads.add(thread);
            }
        }

        private void burn() {
            long start = THREADS.getCurrentThreadCpuTime();
            long x = 1;
            while (!end) {
                for (int i = 0; i < 1_000; i++) {
                    x = x * 6364136223846793005L + 1442695040888963407L;
                }
            }
            cpuNs.addAndGet(THREADS.getCurrentThreadCpuTime() - start + (x & 1));
        }

        void end() throws InterruptedException {
            end = true;
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private void digestFinished() throws IOException {
        for (ByteBuffer chunk = recorder.nextChunk(); chunk != null; chunk = recorder.nextChunk()) {
            assertTrue(digest.add(chunk, recorder.recording(), TaskTimeline.EMPTY, new ThreadKinds(false), null));
        }
    }

    private static void waitNs(long ns) {
        java.util.concurrent.locks.LockSupport.parkNanos(ns);
    }

    @Test
    public void nothingIsLostOverTwentyFlushes() throws Exception {
        recorder = Recorder.start(conf("events", "cpu"), directories);
        digest = new Digest(DigestLimits.defaults());
        Burners burners = new Burners(2);
        for (int flush = 0; flush < 20; flush++) {
            waitNs(300_000_000);
            recorder.cut();
            digestFinished();
        }
        burners.end();
        recorder.stop();
        digestFinished();
        long counted = recorder.samples();
        long skipped = metric("samples_skipped_total");
        recorder.discard();
        assertEquals("samples that the profiler took, and samples in the tables", counted - skipped, digest.samples());
        assertTrue(skipped + " of " + counted + " skipped", skipped <= 3 * 20);
        Tables tables = digest.finish();
        long value = 0;
        Table.Longs values = (Table.Longs) column(tables, "value");
        Object[] kinds = ((Table.Runs) column(tables, "kind")).values();
        for (int row = 0; row < kinds.length; row++) {
            value += kinds[row].equals("other") ? values.get(row) : 0;
        }
        double covered = (double) value / burners.cpuNs.get();
        assertTrue("samples cover " + covered + " of the burners' CPU time", covered >= 0.97);
        assertEquals("one row a chunk", 21, tables.all().get(4).rows());
    }

    @Test
    public void aSwitchToABurstAndBackLosesNoChunk() throws Exception {
        ProbeConf conf = conf("events", "cpu,wall,alloc,lock");
        recorder = Recorder.start(conf, directories);
        digest = new Digest(DigestLimits.defaults());
        int first = recorder.current().recordingId;
        recorder.switchTo(RecordingPlan.burst(conf, "gc"), Collections.singleton(Thread.currentThread()));
        recorder.switchTo(RecordingPlan.base(conf), Collections.singleton(Thread.currentThread()));
        recorder.stop();
        digestFinished();
        recorder.discard();
        Table recordings = digest.finish().all().get(4);
        assertEquals(3, recordings.rows());
        for (int row = 0; row < 3; row++) {
            assertEquals(first + row, ((Table.Longs) recordings.columns.get(0)).get(row));
            assertEquals(row == 1 ? RecordingInfo.BURST : RecordingInfo.BASE,
                    ((Table.Strings) recordings.columns.get(1)).get(row));
        }
    }

    @Test
    public void tenTimesOnAndOffLeavesNoThreadAndNoFile() throws Exception {
        long before = profilerThreads();
        for (int i = 0; i < 10; i++) {
            recorder = Recorder.start(conf("events", "cpu,wall"), directories);
            File file = newest(NativeLibrary.directory().toFile());
            assertTrue(file.getName(), file.getName().endsWith(".jfr"));
            recorder.stop();
            recorder.discard();
            assertFalse(file.exists());
        }
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (profilerThreads() > before && System.nanoTime() < deadline) {
            waitNs(10_000_000);
        }
        assertEquals(before, profilerThreads());
    }

    @Test
    public void aProfilerThatAlreadyRecordsIsNamed() throws Exception {
        recorder = Recorder.start(conf("events", "cpu"), directories);
        try {
            ProbeOffException e = assertThrows(ProbeOffException.class,
                    () -> Recorder.start(conf("events", "cpu"), directories));
            assertTrue(e.getMessage(), e.getMessage().contains("already started"));
        } finally {
            recorder.stop();
            recorder.discard();
        }
    }

    private static long metric(String name) throws IOException {
        for (String line : AsyncProfiler.getInstance().execute("metrics").split("\n")) {
            if (line.startsWith(name + " ")) {
                return Long.parseLong(line.substring(name.length() + 1));
            }
        }
        throw new AssertionError("async-profiler has no metric " + name);
    }

    private static File newest(File directory) {
        File[] files = directory.listFiles();
        Arrays.sort(files, (a, b) -> Long.compare(b.lastModified(), a.lastModified()));
        return files[0];
    }

    private static long profilerThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("Async-profiler")).count();
    }

    private static Table.Column column(Tables tables, String name) {
        for (Table.Column column : tables.all().get(0).columns) {
            if (column.name.equals(name)) {
                return column;
            }
        }
        throw new AssertionError("no column " + name);
    }
}
