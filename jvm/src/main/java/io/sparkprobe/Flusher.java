package io.sparkprobe;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
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
    private static final long MOST_DIGEST_BYTES = 32L << 20;

    private final String executorId;
    private final ProbeConf conf;
    private final TaskSpans spans;
    private final Recorder recorder;
    private final Outbox outbox;
    private final ExecutorProbe probe;
    private final FlushSchedule schedule;
    private final GcWatch gc = new GcWatch();
    private final Triggers triggers;
    private final TriggerWatch watch;
    private final boolean triggered;
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
    private boolean stopped;
    private String engine;
    /** While a burst goes on: when it is over. */
    private long burstEndNs = Long.MAX_VALUE;
    private Firing burstFor;
    private long bursts;
    private long explicitCallsSeen;
    private volatile long wakeNs;

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
        this.engine = recorderOrNull == null ? "none" : recorderOrNull.engine();
        this.triggered = conf.text("mode").equals("triggered");
        this.triggers = new Triggers(conf, probe, this::wake);
        this.watch = new TriggerWatch(spans, new TriggerRules(conf), gc, triggers);
        this.schedule = new FlushSchedule(conf.durationNs("flush.interval"), System.nanoTime());
        this.thread = new Thread(this, "spark-probe-flush");
        this.thread.setDaemon(true);
    }

    void start() {
        gc.start();
        if (recorder != null) {
            pythonWriters.start();
            watch.start();
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
            long now = System.nanoTime();
            schedule.stageIdle(task.stageId, task.stageAttempt, now);
            // Waking costs more than it may bring, so only where the flush thread would sleep past its time.
            if (now + schedule.waitNs(now) < wakeNs) {
                wake();
            }
        }
    }

    /** A burst for a stage's task that runs here; any stage's where it is negative. */
    void burstByHand(int stageId, long durationNs) {
        for (TaskInfo task : spans.running()) {
            if (recorder != null && (stageId < 0 || task.stageId == stageId)) {
                triggers.burstByHand(task, durationNs);
                return;
            }
        }
    }

    void dumpByHand(long taskId) {
        if (watch.dumpByHand(taskId)) {
            schedule.ask();
            wake();
        }
    }

    private synchronized void wake() {
        notifyAll();
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
            next = Math.min(next, burstEndNs - now);
            if (triggers.wants()) {
                next = 0;
            }
        }
        wakeNs = now + next;
        return asked.isEmpty() ? next : 0;
    }

    private void turn(boolean last, List<Long> answers) {
        try {
            work(last, answers);
        } catch (Throwable t) {
            lastError = t.toString();
            nextHeartbeatNs = Math.max(nextHeartbeatNs, System.nanoTime() + RETRY_NS);
        }
        try {
            if (last) {
                end();
            }
            long now = System.nanoTime();
            if (last || !answers.isEmpty() || now >= nextHeartbeatNs) {
                nextHeartbeatNs = now + HEARTBEAT_NS;
                cpuNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime()
                        + Math.max(0, ManagementFactory.getThreadMXBean().getThreadCpuTime(watch.threadId()));
                probe.sendStatus(status(), last);
            }
        } catch (Throwable t) {
            lastError = t.toString();
        }
    }

    private void work(boolean last, List<Long> answers) throws IOException {
        if (!welcome) {
            greet(last ? 2_000 : TIMEOUT_MS);
        }
        if (recorder != null) {
            long now = System.nanoTime();
            if (gc.explicitCalls() != explicitCallsSeen && schedule.mayFlush(now)) {
                explicitCallsSeen = gc.explicitCalls();
                schedule.ask();
            }
            Triggers.Burst wanted = last ? null : triggers.takeWanted();
            if (wanted != null) {
                burst(wanted);
            } else if (now >= burstEndNs) {
                burstEndNs = Long.MAX_VALUE;
                burstFor = null;
                flush(triggered, triggered ? null : RecordingPlan.base(conf));
            } else if (last || !answers.isEmpty() || schedule.waitNs(now) <= 0) {
                flush(last, null);
            }
            outbox.deliver(last ? 5_000 : TIMEOUT_MS);
        }
        for (long id : answers) {
            probe.sendFlushed(id);
        }
    }

    private void greet(long timeoutMs) {
        String folder = probe.hello(timeoutMs);
        welcome = true;
        if (folder != null) {
            outbox.deliverTo(folder);
        }
    }

    private void burst(Triggers.Burst wanted) throws IOException {
        // The firing's own row goes out with the flush that makes room for the burst.
        wanted.firing.recordingId = recorder.nextRecordingId();
        flush(false, wanted.plan);
        RecordingInfo now = recorder.current();
        if (now == null || !now.purpose.equals(RecordingInfo.BURST)) {
            wanted.firing.action = "no burst: the heap is too full";
            wanted.firing.recordingId = -1;
            return;
        }
        burstFor = wanted.firing;
        burstEndNs = System.nanoTime() + wanted.durationNs;
        bursts++;
    }

    private void end() {
        if (recorder != null) {
            recorder.stop();
            recorder.discard();
            stopped = true;
            if (recorder.samples() > samplesSeen && lostReason == null) {
                // async-profiler counts what its signal handlers skip while a chunk is being ended.
                samplesLost = recorder.samples() - samplesSeen;
                lostReason = "skipped while chunks of the recording were ended";
            }
        }
        watch.stop();
        gc.stop();
        pythonWriters.stop();
        outbox.close();
    }

    /**
     * @param stop whether the recording ends with this flush
     * @param next the recording that takes its place, null where it goes on
     */
    private void flush(boolean stop, RecordingPlan next) throws IOException {
        if (!Heap.hasRoom(Math.min(conf.bytes("memory.limit"), MOST_DIGEST_BYTES), gc.heapAfterBytes())) {
            nextTryNs = System.nanoTime() + RETRY_NS;
            if (stop) {
                recorder.stop();
                samplesLost += recorder.samples() - samplesSeen;
                lostReason = "the heap was too full for the last digest";
            } else {
                note("The heap was too full for a digest at times: it was put off, and what was recorded waited on"
                        + " disk.");
            }
            return;
        }
        RecordingPlan successor = next;
        if (!stop && next == null && recorder.fileIsFull()) {
            successor = burstFor == null ? RecordingPlan.base(conf) : RecordingPlan.burst(conf, burstFor.rule);
            note("The recording was started anew when its file reached spark.probe.disk.limit="
                    + conf.text("disk.limit") + "; each time about 20 ms were not sampled.");
        }
        // Before the cut: what ends while the chunk is being ended may have samples in the next one.
        long cutNs = System.nanoTime();
        if (stop) {
            recorder.stop();
        } else if (successor != null) {
            recorder.switchTo(successor, watch.taskThreads());
        } else {
            recorder.cut();
        }
        // Before the digest: one that fails must not be tried without end.
        schedule.flushed(System.nanoTime());
        digest();
        spans.forgetBefore(cutNs);
        pythonWriters.forgetBefore(cutNs);
        SqlExecutions.forgetBefore(cutNs);
    }

    private void digest() throws IOException {
        List<TaskInfo> running = spans.running();
        List<TaskInfo> ended = spans.takeEnded();
        running.removeAll(new HashSet<>(ended));
        List<TaskTimeline.Interval> intervals = spans.intervals(running);
        intervals.addAll(pythonWriters.intervals());
        TaskTimeline timeline = TaskTimeline.of(intervals);
        SqlTimeline sql = SqlExecutions.timeline();
        Digest digest = new Digest(new DigestLimits(conf.durationNs("bucket") / 1_000_000,
                DigestLimits.defaults().maxRows, DigestLimits.defaults().maxStacks, conf.bytes("memory.limit")));
        boolean chunks = false;
        for (ByteBuffer chunk = recorder.nextChunk(); chunk != null; chunk = recorder.nextChunk()) {
            chunks = true;
            digest.add(chunk, recorder.recording(), timeline, kinds, sql);
            if (conf.flag("jfr.keep")) {
                keep(chunk);
            }
        }
        if (!chunks && !triggers.hasRows()) {
            // Nothing was recorded: the events have all that there is to know of these tasks.
            return;
        }
        Tables tables = digest.finish();
        List<TaskInfo> tasks = new ArrayList<>(ended);
        tasks.addAll(running);
        tasks.forEach(tables::addTask);
        gc.drainTo(tables);
        triggers.drainTo(tables, tasks);
        digest.notes().forEach(this::note);
        if (digest.engine() != null && !digest.engine().equals(engine)) {
            note("spark.probe.engine=" + conf.text("engine") + " is not allowed here; " + digest.engine()
                    + " was used instead.");
            engine = digest.engine();
        }
        samplesSeen += digest.samples();
        if (digest.damagedChunks() > 0) {
            samplesLost = Math.max(0, recorder.samples() - samplesSeen);
            lostReason = "a chunk of the recording could not be read";
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
        status.put("state", recorder == null ? "off" : stopped ? "stopped" : recorder.running() ? "recording" : "idle");
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
            RecordingInfo recording = recorder.running() ? recorder.current() : recorder.recording();
            if (recording != null) {
                event(events, ProbeConf.CPU, recording.cpuIntervalNs);
                event(events, ProbeConf.WALL, recording.wallIntervalNs);
                event(events, ProbeConf.ALLOC, recording.allocIntervalBytes);
                event(events, ProbeConf.LOCK, recording.lockIntervalNs);
            }
            status.put("bursts", bursts);
            status.put("bursts_skipped", triggers.skipped());
            status.put("engine", engine);
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
