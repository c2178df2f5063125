package io.sparkprobe;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.GZIPOutputStream;

/**
 * The probe's thread in a JVM: ends the open chunk, digests the finished ones with the tasks' intervals, and delivers
 * the tables. It also sends the heartbeat.
 */
final class Flusher implements Runnable {
    private static final long HEARTBEAT_NS = 10_000_000_000L;
    private static final long RETRY_NS = 1_000_000_000L;
    private static final long TIMEOUT_MS = 30_000;
    private static final int MOST_NOTES = 20;

    private final String executorId;
    private final ProbeConf conf;
    private final TaskSpans spans;
    private final Recorder recorder;
    private final Outbox outbox;
    private final ExecutorProbe probe;
    private final FlushSchedule schedule;
    private final GcWatch gc = new GcWatch();
    private final PythonWriters pythonWriters;
    private final ThreadKinds kinds;
    private final Thread thread;
    private final List<Long> asked = new ArrayList<>();
    private final Set<String> notes = new LinkedHashSet<>();

    private boolean finishing;
    private boolean welcome;
    private long nextHeartbeatNs;
    private long nextTryNs;
    private long nextSeq;
    private long flushes;
    private long samplesSeen;
    private long samplesLost;
    private String lostReason;
    private String lastError;
    private long cpuNs;
    private String state;

    Flusher(String executorId, ProbeConf conf, TaskSpans spans, Recorder recorderOrNull, Outbox outbox,
            ExecutorProbe probe) {
        this.executorId = executorId;
        this.conf = conf;
        this.spans = spans;
        this.recorder = recorderOrNull;
        this.outbox = outbox;
        this.probe = probe;
        this.pythonWriters = new PythonWriters(spans);
        this.kinds = new ThreadKinds("driver".equals(executorId));
        this.state = recorderOrNull == null ? "off" : "recording";
        this.schedule = new FlushSchedule(conf.durationNs("flush.interval"), System.nanoTime());
        this.thread = new Thread(this, "spark-probe-flush");
        this.thread.setDaemon(true);
    }

    void start() {
        gc.start();
        if (recorder != null) {
            pythonWriters.start();
        }
        thread.start();
    }

    /** On the task's thread. */
    void taskBegins(TaskInfo task) {
        pythonWriters.taskThread(true);
        schedule.stageBusy(task.stageId, task.stageAttempt);
    }

    /** On the task's thread. */
    void taskEnds(TaskInfo task) {
        pythonWriters.taskThread(false);
        if (!spans.runs(task.stageId, task.stageAttempt)) {
            schedule.stageIdle(task.stageId, task.stageAttempt, System.nanoTime());
        }
    }

    /** Flush now and tell the driver, under the id of its request. */
    synchronized void ask(long id) {
        asked.add(id);
        schedule.ask();
        notifyAll();
    }

    /** The last flush; returns when it is delivered, or at the time limit. */
    void finish(long timeoutMs) throws InterruptedException {
        synchronized (this) {
            finishing = true;
            notifyAll();
        }
        thread.join(timeoutMs);
    }

    @Override
    public void run() {
        while (true) {
            List<Long> answers;
            boolean last;
            try {
                synchronized (this) {
                    long waitNs = waitNs();
                    if (!finishing && waitNs > 0) {
                        wait(waitNs / 1_000_000 + 1);
                    }
                    last = finishing;
                    answers = new ArrayList<>(asked);
                    asked.clear();
                }
            } catch (InterruptedException e) {
                last = true;
                answers = Collections.emptyList();
            }
            turn(last, answers);
            if (last) {
                return;
            }
        }
    }

    private long waitNs() {
        long now = System.nanoTime();
        long next = nextHeartbeatNs - now;
        if (recorder != null) {
            next = Math.min(next, Math.max(schedule.waitNs(now), nextTryNs - now));
        }
        return asked.isEmpty() ? next : 0;
    }

    private void turn(boolean last, List<Long> answers) {
        try {
            if (!welcome) {
                greet(last ? 2_000 : TIMEOUT_MS);
            }
            long now = System.nanoTime();
            if (recorder != null && (last || !answers.isEmpty() || schedule.waitNs(now) <= 0)) {
                flush(last);
                outbox.deliver(last ? 5_000 : TIMEOUT_MS);
            }
            if (last) {
                end();
            }
            if (last || !answers.isEmpty() || now >= nextHeartbeatNs) {
                nextHeartbeatNs = now + HEARTBEAT_NS;
                cpuNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                probe.sendStatus(status(), last);
            }
            // After the state, so that whoever waited for the flush finds what belongs to it.
            for (long id : answers) {
                probe.sendFlushed(id);
            }
        } catch (Throwable t) {
            lastError = t.toString();
            nextHeartbeatNs = Math.max(nextHeartbeatNs, System.nanoTime() + RETRY_NS);
        }
    }

    private void greet(long timeoutMs) {
        String folder = probe.hello(timeoutMs);
        welcome = true;
        if (folder != null) {
            outbox.deliverTo(folder);
        }
    }

    private void end() {
        if (recorder != null) {
            recorder.discard();
            state = "stopped";
            if (recorder.samples() > samplesSeen && lostReason == null) {
                // async-profiler counts what its signal handlers skip while a chunk is being ended.
                samplesLost = recorder.samples() - samplesSeen;
                lostReason = "skipped while chunks of the recording were ended";
            }
        }
        gc.stop();
        pythonWriters.stop();
        outbox.close();
    }

    private void flush(boolean last) throws IOException {
        long need = 4 * conf.bytes("memory.limit") / 3;
        if (!Heap.hasRoom(Math.min(need, 32L << 20), gc.heapAfterBytes())) {
            nextTryNs = System.nanoTime() + RETRY_NS;
            if (last) {
                recorder.stop();
                samplesLost += recorder.samples() - samplesSeen;
                lostReason = "the heap was too full for the last digest";
            } else {
                note("The heap was too full for a digest at times: it was put off, and what was recorded waited on"
                        + " disk.");
            }
            return;
        }
        boolean full = !last && recorder.fileIsFull();
        if (last || full) {
            recorder.stop();
        } else {
            recorder.cut();
        }
        long cutNs = System.nanoTime();
        digest();
        spans.forgetBefore(cutNs);
        pythonWriters.forgetBefore(cutNs);
        SqlExecutions.forgetBefore(cutNs);
        if (full) {
            recorder.discard();
            recorder.restart();
            note("The recording was started anew when its file reached spark.probe.disk.limit="
                    + conf.text("disk.limit") + "; each time about 20 ms were not sampled.");
        }
        schedule.flushed(System.nanoTime());
    }

    private void digest() throws IOException {
        List<TaskInfo> ended = spans.takeEnded();
        List<TaskInfo> running = spans.running();
        List<TaskTimeline.Interval> intervals = spans.intervals(running);
        intervals.addAll(pythonWriters.intervals());
        TaskTimeline timeline = TaskTimeline.of(intervals);
        SqlTimeline sql = SqlExecutions.timeline();
        Digest digest = new Digest(new DigestLimits(conf.durationNs("bucket") / 1_000_000,
                DigestLimits.defaults().maxRows, DigestLimits.defaults().maxStacks, conf.bytes("memory.limit")));
        for (ByteBuffer chunk = recorder.nextChunk(); chunk != null; chunk = recorder.nextChunk()) {
            digest.add(chunk, recorder.recording(), timeline, kinds, sql);
            if (conf.flag("jfr.keep")) {
                keep(chunk);
            }
        }
        Tables tables = digest.finish();
        for (TaskInfo task : ended) {
            tables.addTask(task);
        }
        for (TaskInfo task : running) {
            tables.addTask(task);
        }
        gc.drainTo(tables);
        digest.notes().forEach(this::note);
        samplesSeen += digest.samples();
        if (digest.damagedChunks() > 0) {
            samplesLost = Math.max(0, recorder.samples() - samplesSeen);
            lostReason = "a chunk of the recording could not be read";
        }
        if (digest.events() == 0 && ended.isEmpty() && running.isEmpty()) {
            return;
        }
        byte[] file = TablesWriter.write(tables, Collections.singletonMap("spark_probe.executor", executorId));
        long seq = nextSeq++;
        outbox.add(seq, String.format("%06d.parquet", seq), file, digest.samples());
        flushes++;
    }

    private void keep(ByteBuffer chunk) throws IOException {
        ByteBuffer copy = chunk.duplicate();
        copy.rewind();
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        byte[] block = new byte[64 * 1024];
        try (GZIPOutputStream gzip = new GZIPOutputStream(zipped)) {
            while (copy.hasRemaining()) {
                int n = Math.min(block.length, copy.remaining());
                copy.get(block, 0, n);
                gzip.write(block, 0, n);
            }
        }
        outbox.add(-1, String.format("jfr/%06d.jfr.gz", nextSeq), zipped.toByteArray(), 0);
    }

    private void note(String note) {
        if (notes.size() < MOST_NOTES) {
            notes.add(note);
        }
    }

    private Map<String, Object> status() {
        Map<String, Object> status = new HashMap<>();
        status.put("state", state);
        status.put("reason", null);
        status.put("updated_ms", System.currentTimeMillis());
        status.put("last_flush_ms", outbox.lastDeliveryMs == 0 ? null : outbox.lastDeliveryMs);
        status.put("last_seq", outbox.lastSeq < 0 ? null : outbox.lastSeq);
        status.put("flushes", flushes);
        status.put("samples", outbox.deliveredSamples);
        status.put("bytes_shipped", outbox.deliveredBytes);
        status.put("samples_lost", outbox.droppedSamples + samplesLost);
        status.put("lost_reason", outbox.droppedSamples > 0
                ? "flushes could not be delivered for so long that the oldest were dropped"
                : lostReason);
        status.put("probe_cpu_ns", cpuNs);
        status.put("notes", new ArrayList<>(notes));
        status.put("last_error", lastError != null ? lastError : outbox.lastError);
        HashMap<String, Object> events = new HashMap<>();
        if (recorder != null) {
            RecordingInfo recording = recorder.recording();
            event(events, ProbeConf.CPU, recording.cpuIntervalNs);
            event(events, ProbeConf.WALL, recording.wallIntervalNs);
            event(events, ProbeConf.ALLOC, recording.allocIntervalBytes);
            event(events, ProbeConf.LOCK, recording.lockIntervalNs);
            status.put("engine", recorder.engine());
            status.put("bytes_jfr", recorder.bytes());
            status.put("samples_recorded", recorder.samples());
        } else {
            status.put("engine", "none");
            status.put("bytes_jfr", 0L);
            status.put("samples_recorded", 0L);
        }
        status.put("events", events);
        return status;
    }

    private static void event(Map<String, Object> events, String name, long interval) {
        if (interval >= 0) {
            events.put(name, interval);
        }
    }
}
