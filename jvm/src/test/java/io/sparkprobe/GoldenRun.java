package io.sparkprobe;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The golden run folder of format 1: what the jar writes, kept in {@code tests/golden/format-1} so that every later
 * reader is held to it. {@code GoldenRun DIR} writes it anew.
 *
 * <p>Two executors and a driver. Executor 0 has a file of three flushes and one of a fourth, executor 1 was lost with
 * its tasks running, the driver planned SQL execution 0. Stage 0 maps and spills, stage 1 attempt 0 failed its fetch and
 * attempt 1 ran again with a straggler that fired a trigger, a burst and a dump.
 */
final class GoldenRun {
    static final String APP = "app-20261201000000-0001";

    private static final long START_MS = 1_796_083_200_000L;
    private static final long START_NS = 5_000_000_000_000L;
    private static final long MS = 1_000_000L;
    private static final long FLUSH_MS = 30_000;
    private static final long LEFT_MS = START_MS + 4 * FLUSH_MS;
    private static final int INTERPRETED = 0;
    private static final int JIT = 1;
    private static final int INLINED = 2;
    private static final int NATIVE = 3;
    private static final int CPP = 4;
    private static final int KERNEL = 5;
    private static final int C1 = 6;
    private static final long WORKER = 201;
    private static final long SECOND_WORKER = 202;
    private static final long WRITER = 203;
    private static final long MAIN = 204;
    private static final RecordingInfo BASE =
            new RecordingInfo(0, RecordingInfo.BASE, "ctimer", 10 * MS, 100 * MS, 4 << 20, 10 * MS);
    private static final RecordingInfo BURST =
            new RecordingInfo(1, RecordingInfo.BURST, "ctimer", 5 * MS, 20 * MS, 512 << 10, MS);

    private GoldenRun() {
    }

    public static void main(String[] args) throws IOException {
        for (Map.Entry<String, byte[]> file : files().entrySet()) {
            Path path = Paths.get(args[0], file.getKey());
            Files.createDirectories(path.getParent());
            Files.write(path, file.getValue());
        }
    }

    /** Path in the run's parent folder -> content. */
    static Map<String, byte[]> files() throws IOException {
        Map<String, byte[]> files = new TreeMap<>();
        String run = APP + "/";
        files.put(run + "run.json", json(run()));
        files.put(run + "executors/driver/status.json", json(status("driver", "stopped", null, 1, 40)));
        files.put(run + "executors/driver/000000.parquet", flush("driver", 0));
        files.put(run + "executors/0/status.json", json(status("0", "stopped", null, 4, 665)));
        files.put(run + "executors/0/000000-000002.parquet",
                Compaction.merge(Arrays.asList(flush("0", 0), flush("0", 1), flush("0", 2))));
        files.put(run + "executors/0/000003.parquet", flush("0", 3));
        files.put(run + "executors/1/status.json", json(status("1", "lost",
                "Executor 1 on worker-2 was killed (exit code 137): what it sampled after its last flush is lost.", 1, 133)));
        files.put(run + "executors/1/000000.parquet", flush("1", 0));
        return files;
    }

    private static byte[] json(Map<String, Object> object) {
        return (Json.of(object) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    private static Map<String, Object> run() {
        Map<String, Object> run = new LinkedHashMap<>();
        run.put("format", 1L);
        run.put("normalizer", 1L);
        run.put("probe_version", "0.1.0");
        run.put("app_id", APP);
        run.put("app_name", "golden");
        run.put("app_attempt", null);
        run.put("user", "someone");
        run.put("spark_version", "3.5.9");
        run.put("scala_version", "2.12.18");
        run.put("java_version", "17.0.15");
        run.put("master", "spark://master:7077");
        run.put("deploy_mode", "client");
        run.put("mode", "plugin");
        Map<String, Object> conf = new LinkedHashMap<>();
        conf.put("spark.probe.mode", "continuous");
        conf.put("spark.probe.events", "cpu,wall,alloc,lock");
        conf.put("spark.probe.interval", "10ms");
        conf.put("spark.probe.wall.interval", "100ms");
        conf.put("spark.probe.alloc.interval", "4m");
        conf.put("spark.probe.lock.interval", "10ms");
        conf.put("spark.probe.flush.interval", "30s");
        conf.put("spark.probe.bucket", "10s");
        run.put("conf", conf);
        run.put("start_ms", START_MS);
        run.put("end_ms", LEFT_MS);
        return run;
    }

    private static Map<String, Object> status(String id, String state, String reason, long flushes, long samples) {
        boolean lost = state.equals("lost");
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("executor_id", id);
        status.put("host", id.equals("1") ? "worker-2" : "worker-1");
        status.put("pid", 4000L + id.length());
        status.put("jvm", "OpenJDK 64-Bit Server VM 17.0.15");
        status.put("os", "Linux");
        status.put("arch", "amd64");
        status.put("cores", 2L);
        status.put("state", state);
        status.put("reason", reason);
        status.put("engine", "ctimer");
        Map<String, Object> events = new LinkedHashMap<>();
        events.put("cpu", BASE.cpuIntervalNs);
        events.put("wall", BASE.wallIntervalNs);
        events.put("alloc", BASE.allocIntervalBytes);
        events.put("lock", BASE.lockIntervalNs);
        status.put("events", events);
        status.put("attached_ms", START_MS);
        status.put("updated_ms", lost ? START_MS + FLUSH_MS + 5000 : LEFT_MS);
        status.put("last_flush_ms", START_MS + flushes * FLUSH_MS);
        status.put("last_seq", flushes - 1);
        status.put("flushes", flushes);
        status.put("bursts", id.equals("0") ? 1L : 0L);
        status.put("bursts_skipped", 0L);
        status.put("samples", samples);
        status.put("samples_recorded", lost ? samples + 50 : samples);
        status.put("samples_lost", 0L);
        status.put("lost_reason", null);
        status.put("bytes_jfr", 1_000_000L * flushes);
        status.put("bytes_shipped", 80_000L * flushes);
        status.put("probe_cpu_ns", 90 * MS * flushes);
        status.put("notes", id.equals("0")
                ? Collections.singletonList("perf_event_paranoid is 4: ctimer was used instead of perf.")
                : Collections.emptyList());
        status.put("last_error", null);
        return status;
    }

    private static byte[] flush(String executor, int flush) throws IOException {
        Digest digest = new Digest(new DigestLimits(10_000, 10_000, 10_000, 16 << 20));
        List<TaskInfo> tasks = tasks(executor, flush);
        List<TaskTimeline.Interval> intervals = new ArrayList<>();
        for (TaskInfo task : tasks) {
            intervals.add(TaskTimeline.Interval.of(task));
            intervals.add(new TaskTimeline.Interval(task, TaskTimeline.DESERIALIZATION, task.javaThreadId,
                    task.startNs - 200 * MS, task.startNs));
        }
        if (executor.equals("0")) {
            intervals.add(new TaskTimeline.Interval(tasks.get(0), TaskTimeline.PYTHON_WRITER, WRITER,
                    tasks.get(0).startNs, tasks.get(0).endNs));
        }
        SqlTimeline sql = SqlTimeline.of(Collections.singletonList(
                new SqlTimeline.Execution(0, SqlTimeline.ANY_THREAD, START_NS + 1000 * MS, START_NS + 20_000 * MS)));
        ThreadKinds kinds = new ThreadKinds(executor.equals("driver"));
        digest.add(ByteBuffer.wrap(chunk(executor, flush, false)), BASE, TaskTimeline.of(intervals), kinds, sql);
        if (executor.equals("0") && flush == 2) {
            digest.add(ByteBuffer.wrap(chunk(executor, flush, true)), BURST, TaskTimeline.of(intervals), kinds, sql);
        }
        Tables tables = digest.finish();
        tasks.forEach(tables::addTask);
        addIncidents(tables, executor, flush);
        return TablesWriter.write(tables, Collections.singletonMap(TablesWriter.META_EXECUTOR, executor));
    }

    /** The tasks that a flush tells of. */
    private static List<TaskInfo> tasks(String executor, int flush) {
        switch (executor + flush) {
            case "00":
                return Arrays.asList(task(0, 0, 0, 0, WORKER, 1000, 18_000, "succeeded", null),
                        task(0, 0, 1, 1, SECOND_WORKER, 1000, 25_000, "succeeded", null));
            case "01":
                return Arrays.asList(task(1, 0, 0, 4, WORKER, 31_000, 40_000, "failed", "FetchFailed"),
                        task(1, 1, 0, 6, WORKER, 45_000, -1, "running", null));
            case "02":
                return Arrays.asList(task(1, 1, 0, 6, WORKER, 45_000, -1, "running", null),
                        task(1, 1, 1, 7, SECOND_WORKER, 61_000, 70_000, "killed", "TaskKilled"));
            case "03":
                return Collections.singletonList(task(1, 1, 0, 6, WORKER, 45_000, 115_000, "succeeded", null));
            case "10":
                return Arrays.asList(task(0, 0, 2, 2, WORKER, 1000, 20_000, "succeeded", null),
                        task(0, 0, 3, 3, SECOND_WORKER, 2000, -1, "running", null));
            default:
                return Collections.emptyList();
        }
    }

    private static TaskInfo task(int stage, int attempt, int partition, long id, long thread, long fromMs, long toMs,
                                 String outcome, String reason) {
        TaskInfo task = new TaskInfo(stage, attempt, partition, id, 0, "Executor task launch worker for task "
                + partition + "." + attempt + " in stage " + stage + "." + attempt + " (TID " + id + ")", thread,
                START_MS + fromMs, START_NS + fromMs * MS);
        task.threadCpuNs = 900 * MS;
        task.outcome = outcome;
        task.reason = reason;
        task.metrics = new long[Tables.TASK_METRICS.size()];
        for (int i = 0; i < task.metrics.length; i++) {
            task.metrics[i] = (id + 1) * 1000 + i;
        }
        if (toMs >= 0) {
            task.endMs = START_MS + toMs;
            task.endNs = START_NS + toMs * MS;
        }
        return task;
    }

    private static void addIncidents(Tables tables, String executor, int flush) {
        long ms = START_MS + flush * FLUSH_MS;
        long ns = START_NS + flush * FLUSH_MS * MS;
        tables.addGc(ms + 500, ns + 500 * MS, 12 * MS, true, "G1 Young Generation", "end of minor GC",
                "G1 Evacuation Pause", 400 << 20, 120 << 20, 1L << 30);
        if (executor.equals("0") && flush == 2) {
            tables.addTrigger(ms + 1000, ns + 1000 * MS, "straggler", 1, 1, 6, 10, 16, "s", "burst", BURST.recordingId,
                    "3 x the median of 5 s");
            tables.addTrigger(ms + 2000, ns + 2000 * MS, "explicitgc", -1, -1, -1, Double.NaN, 1, "collections", "none",
                    -1, null);
            tables.addDump(ms + 1000, ns + 1000 * MS, 6, 1, 1, ns + 1000 * MS, "Executor task launch worker-0",
                    "BLOCKED", "\"Executor task launch worker-0\" BLOCKED on com.example.Cache@1f\n"
                            + "\tat com.example.Cache.get(Cache.java:17)\n\tat com.example.Job.map(Job.java:31)\n");
        }
    }

    private static byte[] chunk(String executor, int flush, boolean burst) {
        long startMs = flush * FLUSH_MS + (burst ? 1000 : 0);
        long ns = START_NS + startMs * MS;
        JfrBuilder chunk = new JfrBuilder()
                .clock(ns, 1_000_000_000L, (START_MS + startMs) * MS, (burst ? 20_000 : FLUSH_MS) * MS);
        names(chunk);
        if (executor.equals("driver")) {
            every(chunk, ns, 30, 1000, MAIN, 7);
            every(chunk, ns, 10, 500, 103, 6);
            return chunk.build();
        }
        every(chunk, ns + 900 * MS, 40, 500, WORKER, 1);
        every(chunk, ns + 1000 * MS, 20, 1000, WORKER, 2);
        every(chunk, ns + 1010 * MS, 20, 1000, SECOND_WORKER, 3);
        every(chunk, ns + 1005 * MS, 8, 2000, WRITER, 4);
        every(chunk, ns, 5, 3000, 101, 5);
        every(chunk, ns, 5, 3000, 102, 6);
        chunk.add(JfrEvents.WALL_CLOCK_SAMPLE, ns + 500 * MS, WORKER, 8, JfrBuilder.SLEEPING, 30, 29_000 * MS);
        chunk.add(JfrEvents.WALL_CLOCK_SAMPLE, ns + 1500 * MS, SECOND_WORKER, 3, JfrBuilder.RUNNABLE, 1, 0);
        chunk.add(JfrEvents.ALLOC_IN_NEW_TLAB, ns + 1500 * MS, WORKER, 1, 4, 24, 4 << 20);
        chunk.add(JfrEvents.ALLOC_OUTSIDE_TLAB, ns + 2500 * MS, WORKER, 2, 5, 8 << 20);
        chunk.add(JfrEvents.MONITOR_ENTER, ns + 3000 * MS, 700 * MS, WORKER, 8, 2, 0, 77);
        chunk.add(JfrEvents.METHOD_TRACE, ns + 4000 * MS, 40 * MS, WORKER, 1, 0);
        return chunk.build();
    }

    private static void every(JfrBuilder chunk, long fromNs, int count, long stepMs, long thread, long stack) {
        for (int i = 0; i < count; i++) {
            chunk.add(JfrEvents.EXECUTION_SAMPLE, fromNs + i * stepMs * MS, thread, stack, JfrBuilder.DEFAULT);
        }
    }

    private static void names(JfrBuilder chunk) {
        chunk.thread(WORKER, "Executor task launch worker-0", WORKER)
                .thread(SECOND_WORKER, "Executor task launch worker-1", SECOND_WORKER)
                .thread(WRITER, "stdout writer for python3", WRITER)
                .thread(MAIN, "Thread-4", MAIN)
                .thread(101, "GC Thread#0", 0)
                .thread(102, "C2 CompilerThre", 0)
                .thread(103, "C1 CompilerThre", 0);
        chunk.classRef(1, "java/lang/Thread").classRef(2, "com/example/Cache").classRef(3, "com/example/Job")
                .classRef(4, "[B").classRef(5, "[Ljava/lang/String;").classRef(6, "org/apache/spark/rdd/RDD")
                .classRef(7, "com/example/Job$$Lambda$123/0x0000000800c03000").classRef(8, "")
                .classRef(9, "org/apache/spark/sql/catalyst/expressions/GeneratedClass$GeneratedIteratorForCodegenStage3");
        chunk.method(1, 1, "run").method(2, 2, "get").method(3, 3, "map").method(4, 6, "iterator")
                .method(5, 7, "apply").method(6, 8, "memcpy.isra.0").method(7, 8, "G1ParScanThreadState::trim_queue")
                .method(8, 8, "Compile::Optimize").method(9, 8, "start_thread").method(10, 9, "processNext")
                .method(11, 8, "do_syscall_64").method(12, 3, "plan");
        chunk.stack(1, 3, 31, INLINED, 5, 0, JIT, 4, 334, JIT, 1, 840, INTERPRETED)
                .stack(2, 6, 0, NATIVE, 10, 55, JIT, 4, 334, JIT, 1, 840, INTERPRETED)
                .stack(3, 3, 47, C1, 5, 0, JIT, 4, 334, JIT, 1, 840, INTERPRETED)
                .stack(4, 4, 334, JIT, 1, 840, INTERPRETED)
                .stack(5, 7, 0, CPP, 9, 0, NATIVE)
                .stack(6, 8, 0, CPP, 9, 0, NATIVE)
                .stack(7, 12, 5, INTERPRETED, 1, 840, INTERPRETED)
                .stack(8, 11, 0, KERNEL, 2, 17, INTERPRETED, 3, 31, JIT, 4, 334, JIT, 1, 840, INTERPRETED);
    }
}
