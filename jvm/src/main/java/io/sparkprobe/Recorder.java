package io.sparkprobe;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import one.profiler.AsyncProfiler;
import one.profiler.Span;

/**
 * The only user of async-profiler: one recording a JVM, one growing file whose finished chunks are read while it runs.
 * A recording is started anew only when its file has reached its bound. Not thread-safe but for the span and thread
 * calls, which the tasks' threads make.
 */
final class Recorder {
    /** The caller of an explicit collection comes with the base recording: it costs nothing until one happens. */
    private static final String EXPLICIT_GC = "java.lang.System.gc";

    private final ProbeConf conf;
    private final AsyncProfiler profiler;
    private final String engine;
    private RecordingInfo recording;
    private Path file;
    private Chunks chunks;
    private int recordings;
    private long finishedBytes;
    private long finishedSamples;
    private boolean running;

    private Recorder(ProbeConf conf, AsyncProfiler profiler, String engine) {
        this.conf = conf;
        this.profiler = profiler;
        this.engine = engine;
    }

    /** Starts a recording as the configuration says. */
    static Recorder start(ProbeConf conf, List<String> directories) throws ProbeOffException {
        AsyncProfiler profiler = NativeLibrary.load(directories);
        List<String> failures = new ArrayList<>();
        for (String engine : engines(conf)) {
            Recorder recorder = new Recorder(conf, profiler, engine);
            try {
                recorder.begin();
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
        if (!conf.records(ProbeConf.CPU)) {
            engines.add("none");
        } else if (!conf.text("engine").equals("auto")) {
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

    private void begin() throws IOException {
        file = NativeLibrary.directory().resolve("recording-" + recordings + ".jfr");
        recording = new RecordingInfo(recordings, RecordingInfo.BASE, engine,
                interval(ProbeConf.CPU, conf.durationNs("interval")),
                interval(ProbeConf.WALL, conf.durationNs("wall.interval")),
                interval(ProbeConf.ALLOC, conf.bytes("alloc.interval")),
                interval(ProbeConf.LOCK, conf.durationNs("lock.interval")));
        profiler.execute(command());
        running = true;
        chunks = new Chunks(file);
        recordings++;
    }

    private long interval(String event, long value) {
        return conf.records(event) ? value : RecordingInfo.OFF;
    }

    private String command() {
        StringBuilder command = new StringBuilder("start,jfr,clock=monotonic,loglevel=error");
        if (conf.records(ProbeConf.CPU)) {
            command.append(",event=").append(engine.equals("perf") ? "cpu" : engine)
                    .append(",interval=").append(recording.cpuIntervalNs);
        }
        if (conf.records(ProbeConf.WALL)) {
            // Only threads that are added, which are those that run a task: idle ones cost and say nothing.
            command.append(",wall=").append(recording.wallIntervalNs).append(",filter");
        }
        if (conf.records(ProbeConf.ALLOC)) {
            command.append(",alloc=").append(recording.allocIntervalBytes);
        }
        if (conf.records(ProbeConf.LOCK)) {
            command.append(",lock=").append(recording.lockIntervalNs);
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
        profiler.execute("dump,jfr,file=" + file);
    }

    /** The next finished chunk, or null. It belongs to {@link #recording()}. */
    ByteBuffer nextChunk() throws IOException {
        return chunks.next();
    }

    RecordingInfo recording() {
        return recording;
    }

    String engine() {
        return engine;
    }

    /** Bytes of JFR that the recordings of this JVM made. */
    long bytes() {
        try {
            return finishedBytes + (chunks == null ? 0 : chunks.fileBytes());
        } catch (IOException e) {
            return finishedBytes;
        }
    }

    /** Samples that the profiler counted, over all recordings. */
    long samples() {
        return finishedSamples + (running ? profiler.getSamples() : 0);
    }

    boolean fileIsFull() throws IOException {
        return chunks.fileBytes() >= conf.bytes("disk.limit");
    }

    /** Ends the recording; its last chunks can still be read. */
    void stop() {
        profiler.stop();
        finishedSamples += profiler.getSamples();
        running = false;
    }

    /** Forgets the file of the recording that was stopped. */
    void discard() {
        try {
            finishedBytes += chunks.fileBytes();
            chunks.close();
        } catch (IOException e) {
            // Only its size is lost.
        }
        chunks = null;
        NativeLibrary.delete(file);
        NativeLibrary.delete(file.getParent());
    }

    /** Starts the next recording, after {@link #stop} and {@link #discard}. */
    void restart() throws IOException {
        begin();
    }

    void threadBegins(Thread thread) {
        if (recording.wallIntervalNs >= 0) {
            profiler.addThread(thread);
        }
    }

    void threadEnds(Thread thread) {
        if (recording.wallIntervalNs >= 0) {
            profiler.removeThread(thread);
        }
    }

    /** Writes a span of the calling thread; start and end are {@code System.nanoTime()}. */
    void span(long startNs, long endNs, String tag) {
        Span.emit(startNs, endNs, tag);
    }
}
