package io.sparkprobe;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import one.profiler.AsyncProfiler;
import one.profiler.Span;

/**
 * The only user of async-profiler: one recording at a time, in one growing file whose finished chunks are read while it
 * runs. Another recording takes its place only for a burst, and when the file has reached its bound. Not thread-safe but
 * for the span and thread calls, which the tasks' threads make.
 */
final class Recorder {
    /** The caller of an explicit collection comes with the base recording: it costs nothing until one happens. */
    private static final String EXPLICIT_GC = "java.lang.System.gc";

    /** One recording's file and what has been read of it. */
    private static final class Take {
        final RecordingInfo info;
        final Path file;
        final Chunks chunks;

        Take(RecordingInfo info, Path file, Chunks chunks) {
            this.info = info;
            this.file = file;
            this.chunks = chunks;
        }
    }

    private final ProbeConf conf;
    private final AsyncProfiler profiler;
    private final String engine;
    /** Recordings whose chunks are not all read, oldest first; while one runs it is the last. */
    private final ArrayDeque<Take> takes = new ArrayDeque<>();
    private RecordingInfo lastRead;
    private volatile RecordingInfo current;
    private int recordings;
    private long finishedBytes;
    private long finishedSamples;

    private Recorder(ProbeConf conf, AsyncProfiler profiler, String engine) {
        this.conf = conf;
        this.profiler = profiler;
        this.engine = engine;
    }

    /** Starts a recording as the configuration says; in triggered mode only the profiler is loaded. */
    static Recorder start(ProbeConf conf, List<String> directories) throws ProbeOffException {
        AsyncProfiler profiler = NativeLibrary.load(directories);
        List<String> failures = new ArrayList<>();
        for (String engine : engines(conf)) {
            Recorder recorder = new Recorder(conf, profiler, engine);
            if (conf.text("mode").equals("triggered")) {
                return recorder;
            }
            try {
                recorder.begin(RecordingPlan.base(conf), Collections.<Thread>emptyList());
                return recorder;
            } catch (IOException | RuntimeException e) {
                failures.add(engine + ": " + e.getMessage());
            }
        }
        throw new ProbeOffException("async-profiler does not start in this JVM (" + String.join("; ", failures)
                + "); another profiler may be active, or spark.probe.engine may not be allowed here");
    }

    private static List<String> engines(ProbeConf conf) {
        List<String> engines = new ArrayList<>();
        if (!conf.text("engine").equals("auto")) {
            engines.add(conf.text("engine"));
        } else {
            // Signals of a thread's own CPU timer cost least and need no kernel permission; only Linux has them.
            if (System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
                engines.add("ctimer");
            }
            engines.add("itimer");
        }
        return engines;
    }

    private void begin(RecordingPlan plan, Collection<Thread> taskThreads) throws IOException {
        Path file = NativeLibrary.directory().resolve("recording-" + recordings + ".jfr");
        RecordingInfo info = plan.info(recordings, plan.cpuIntervalNs < 0 ? "none" : engine);
        profiler.execute(command(info, file));
        recordings++;
        takes.add(new Take(info, file, new Chunks(file)));
        current = info;
        // async-profiler forgets its filter when a recording starts.
        for (Thread thread : taskThreads) {
            threadBegins(thread);
        }
    }

    private String command(RecordingInfo info, Path file) {
        StringBuilder command = new StringBuilder("start,jfr,clock=monotonic,loglevel=error");
        if (info.cpuIntervalNs >= 0) {
            command.append(",event=").append(engine.equals("perf") ? "cpu" : engine)
                    .append(",interval=").append(info.cpuIntervalNs);
        }
        if (info.wallIntervalNs >= 0) {
            // Only threads that are added, which are those that run a task: idle ones cost and say nothing.
            command.append(",wall=").append(info.wallIntervalNs).append(",filter");
        }
        if (info.allocIntervalBytes >= 0) {
            command.append(",alloc=").append(info.allocIntervalBytes);
        }
        if (info.lockIntervalNs >= 0) {
            command.append(",lock=").append(info.lockIntervalNs);
        }
        command.append(",trace=").append(EXPLICIT_GC);
        for (String method : conf.list("methods")) {
            command.append(",trace=").append(method);
        }
        // Chunks end with a flush; this is for the time when none comes. async-profiler takes 5 s at least.
        long chunkSeconds = Math.max(5, 2 * conf.durationNs("flush.interval") / 1_000_000_000L);
        return command.append(",chunktime=").append(chunkSeconds)
                .append(",jstackdepth=").append(conf.count("stack.depth"))
                .append(",memlimit=").append(conf.bytes("memory.limit"))
                .append(",file=").append(file).toString();
    }

    /** Ends the open chunk, so that all that was sampled up to now can be read. Skips about one sample a thread. */
    void cut() throws IOException {
        if (running()) {
            profiler.execute("dump,jfr,file=" + takes.getLast().file);
        }
    }

    /** Ends the recording and starts another at once, 12 to 19 ms later; the chunks of both can be read. */
    void switchTo(RecordingPlan plan, Collection<Thread> taskThreads) throws IOException {
        stop();
        begin(plan, taskThreads);
    }

    /** The next finished chunk, oldest recording first, or null. It belongs to {@link #recording()}. */
    ByteBuffer nextChunk() throws IOException {
        while (!takes.isEmpty()) {
            Take oldest = takes.getFirst();
            ByteBuffer chunk = oldest.chunks.next();
            if (chunk != null) {
                lastRead = oldest.info;
                return chunk;
            }
            if (oldest.info == current) {
                return null;
            }
            discard(takes.removeFirst());
        }
        return null;
    }

    /** The recording of the chunk that was read last; before the first, the one that runs. */
    RecordingInfo recording() {
        return lastRead == null ? current : lastRead;
    }

    /** The recording that runs, or null. */
    RecordingInfo current() {
        return current;
    }

    int nextRecordingId() {
        return recordings;
    }

    boolean running() {
        return current != null;
    }

    String engine() {
        return engine;
    }

    /** Bytes of JFR that the recordings of this JVM made. */
    long bytes() {
        long bytes = finishedBytes;
        try {
            for (Take take : takes) {
                bytes += take.chunks.fileBytes();
            }
        } catch (IOException e) {
            return bytes;
        }
        return bytes;
    }

    /** Samples that the profiler counted, over all recordings. */
    long samples() {
        return finishedSamples + (running() ? profiler.getSamples() : 0);
    }

    boolean fileIsFull() throws IOException {
        return running() && takes.getLast().chunks.fileBytes() >= conf.bytes("disk.limit");
    }

    /** Ends the recording, if one runs; its last chunks can still be read. */
    void stop() {
        if (running()) {
            profiler.stop();
            finishedSamples += profiler.getSamples();
            current = null;
        }
    }

    /** Forgets the files of the recordings that were stopped, read or not. */
    void discard() {
        while (!takes.isEmpty() && takes.getFirst().info != current) {
            discard(takes.removeFirst());
        }
    }

    private void discard(Take take) {
        try {
            finishedBytes += take.chunks.fileBytes();
            take.chunks.close();
        } catch (IOException e) {
            // Only its size is lost.
            finishedBytes += take.chunks.consumedBytes();
        }
        NativeLibrary.delete(take.file);
        if (takes.isEmpty()) {
            NativeLibrary.delete(take.file.getParent());
        }
    }

    void threadBegins(Thread thread) {
        RecordingInfo running = current;
        if (running != null && running.wallIntervalNs >= 0) {
            profiler.addThread(thread);
        }
    }

    void threadEnds(Thread thread) {
        RecordingInfo running = current;
        if (running != null && running.wallIntervalNs >= 0) {
            profiler.removeThread(thread);
        }
    }

    /** Writes a span of the calling thread; start and end are {@code System.nanoTime()}. */
    void span(long startNs, long endNs, String tag) {
        Span.emit(startNs, endNs, tag);
    }
}
