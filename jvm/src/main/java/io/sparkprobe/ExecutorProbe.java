package io.sparkprobe;

import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.rpc.RpcEndpointRef;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The probe in one JVM: the tasks' intervals, the recorder, and the thread that flushes them. There is one a JVM; in
 * local mode it is the driver's and the executor's at once. Nothing here throws into Spark.
 */
final class ExecutorProbe implements Rpc.Handler {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorProbe.class);
    /** Time for the last flush: what standalone gives, less some for Spark's own end. */
    static final long LAST_FLUSH_MS = 8_000;
    private static final long STAGES_MS = 1_000;
    private static final long LAST_STATUS_MS = 2_000;
    private static final AtomicLong ENDPOINTS = new AtomicLong();

    private static ExecutorProbe current;

    private final String executorId;
    private final ProbeConf conf;
    private final TaskSpans spans = new TaskSpans();
    private final ShutdownGuard guard = new ShutdownGuard(this);
    private final Map<String, Object> jvm = describeJvm();
    private final long attachedMs = System.currentTimeMillis();
    private RpcEndpointRef driver;
    private RpcEndpointRef self;
    private volatile Recorder recorder;
    private volatile Flusher flusher;
    private volatile String offReason;
    private boolean stopped;

    private ExecutorProbe(String executorId, ProbeConf conf) {
        this.executorId = executorId;
        this.conf = conf;
    }

    /** The probe of this JVM, or null. */
    static synchronized ExecutorProbe current() {
        return current;
    }

    /**
     * Starts the probe of this JVM, or returns the one that runs.
     *
     * @param keys the resolved {@code spark.probe.*} of the driver
     */
    static synchronized ExecutorProbe start(String executorId, Map<String, String> keys) {
        if (current == null) {
            try {
                ExecutorProbe probe = new ExecutorProbe(executorId, ProbeConf.of(keys));
                current = probe;
                probe.begin();
            } catch (Throwable t) {
                LOG.warn("spark_probe is off on executor {}: {}", executorId, t.toString());
            }
        }
        return current;
    }

    private void begin() {
        SparkEnv env = SparkEnv.get();
        SparkConf sparkConf = env.conf();
        driver = Rpc.driver(env, sparkConf);
        self = Rpc.register(env.rpcEnv(), "spark-probe-" + executorId + "-" + ENDPOINTS.incrementAndGet(), this);
        Configuration hadoop = SparkHadoopUtil.get().newConfiguration(sparkConf);
        try {
            recorder = Recorder.start(conf, directories(sparkConf, conf));
        } catch (ProbeOffException e) {
            offReason = "profiling is off on executor " + executorId + ": " + e.getMessage() + ".";
        } catch (Throwable t) {
            offReason = "profiling is off on executor " + executorId + ": async-profiler could not be started (" + t
                    + "); run `spark-probe doctor` there.";
        }
        flusher = new Flusher(executorId, conf, spans, recorder, new Outbox(executorId, driver, hadoop), this);
        flusher.start();
        guard.install();
    }

    /** Where the native library and the recording may be put, best first. */
    static List<String> directories(SparkConf sparkConf, ProbeConf conf) {
        List<String> directories = new ArrayList<>();
        if (!conf.text("tmp.dir").isEmpty()) {
            directories.add(conf.text("tmp.dir"));
            return directories;
        }
        // YARN gives a container its directories by variable, Spark otherwise by configuration.
        for (String list : new String[] {System.getenv("LOCAL_DIRS"), System.getenv("SPARK_LOCAL_DIRS"),
            sparkConf.get("spark.local.dir", null)}) {
            if (list != null && !list.isEmpty()) {
                directories.addAll(Arrays.asList(list.split(",")));
            }
        }
        directories.add(System.getProperty("java.io.tmpdir"));
        directories.add(System.getProperty("user.dir"));
        return directories;
    }

    /** On the task's thread, as it begins. */
    void taskStarted() {
        guarded(() -> {
            TaskInfo task = spans.started();
            if (task != null && recorder != null) {
                recorder.threadBegins(Thread.currentThread());
                recorder.span(task.startNs, task.startNs, SpanTag.of(task, SpanTag.START));
                flusher.taskBegins(task);
            }
        });
    }

    /** On the task's thread, when it has succeeded. */
    void taskSucceeded() {
        guarded(() -> ended(spans.ended("succeeded", null)));
    }

    /** On the task's thread, when it has failed or was killed. */
    void taskFailed(TaskFailedReason reason) {
        String outcome = reason instanceof TaskKilled ? "killed" : "failed";
        guarded(() -> ended(spans.ended(outcome, reason.getClass().getSimpleName())));
    }

    private void ended(TaskInfo task) {
        if (task != null && recorder != null) {
            recorder.threadEnds(Thread.currentThread());
            recorder.span(task.startNs, task.endNs, SpanTag.of(task, task.outcome));
            flusher.taskEnds(task);
        }
    }

    /** A task that began before the probe did, on a thread of its own: it is known from now on. */
    void taskAdopted(TaskContext context, Thread thread) {
        guarded(() -> {
            spans.adopted(context, thread);
            if (recorder != null) {
                recorder.threadBegins(thread);
            }
        });
    }

    /** An adopted task that had ended already, unseen. */
    void taskForgotten(TaskContext context) {
        guarded(() -> {
            Thread thread = spans.forgotten(context);
            if (thread != null && recorder != null) {
                recorder.threadEnds(thread);
            }
        });
    }

    /** Whatever goes wrong in here is ours alone. */
    private static void guarded(Runnable work) {
        try {
            work.run();
        } catch (Throwable t) {
            LOG.debug("spark_probe could not note a task's start or end", t);
        }
    }

    @Override
    public void receive(Map<String, Object> message) {
        if (Rpc.FLUSH.equals(message.get(Rpc.TYPE))) {
            flusher.ask((Long) message.get("id"));
        } else if (Rpc.STOP.equals(message.get(Rpc.TYPE))) {
            long timeoutMs = (Long) message.get("timeout");
            // Not on Spark's thread: the last flush is an upload.
            Thread thread = new Thread(() -> {
                if (!ExecutorAttachment.detach(timeoutMs)) {
                    stop(timeoutMs);
                }
            }, "spark-probe-stop");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Says hello to the driver: where the run folder is, and how to reach us. Null while the driver cannot say. */
    String hello(long timeoutMs) {
        HashMap<String, Object> message = Rpc.message(Rpc.HELLO);
        message.put("executor", executorId);
        message.put("endpoint", self);
        Object answer = Rpc.ask(driver, message, timeoutMs);
        return answer instanceof Map ? (String) ((Map<?, ?>) answer).get("folder") : null;
    }

    /** Who this JVM is. Once: the host's name may be a look-up in the network. */
    private static Map<String, Object> describeJvm() {
        Map<String, Object> jvm = new HashMap<>();
        jvm.put("jvm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        jvm.put("os", System.getProperty("os.name"));
        jvm.put("arch", System.getProperty("os.arch"));
        jvm.put("cores", (long) Runtime.getRuntime().availableProcessors());
        String name = ManagementFactory.getRuntimeMXBean().getName();
        int at = name.indexOf('@');
        try {
            jvm.put("pid", Long.parseLong(name.substring(0, at)));
        } catch (RuntimeException e) {
            jvm.put("pid", -1L);
        }
        try {
            jvm.put("host", InetAddress.getLocalHost().getHostName());
        } catch (java.net.UnknownHostException e) {
            jvm.put("host", name.substring(at + 1));
        }
        return jvm;
    }

    /** @param last waits for the driver to have it: this JVM may end in the next moment */
    void sendStatus(Map<String, Object> figures, boolean last) {
        HashMap<String, Object> status = new HashMap<>(figures);
        status.putAll(jvm);
        status.put("executor_id", executorId);
        status.put("attached_ms", attachedMs);
        if (offReason != null) {
            status.put("state", "off");
            status.put("reason", offReason);
        }
        HashMap<String, Object> message = Rpc.message(Rpc.STATUS);
        message.put("executor", executorId);
        message.put("status", status);
        if (last) {
            Rpc.ask(driver, message, LAST_STATUS_MS);
        } else {
            driver.send(message);
        }
    }

    void sendTrigger(HashMap<String, Object> row) {
        HashMap<String, Object> message = Rpc.message(Rpc.TRIGGER);
        message.put("executor", executorId);
        message.put("row", row);
        driver.send(message);
    }

    /** Figures of stage attempts from the driver; null where it does not answer at once. */
    Map<String, StageStats.Figures> askStages(Set<String> keys) {
        HashMap<String, Object> message = Rpc.message(Rpc.STAGES);
        message.put("keys", new ArrayList<>(keys));
        Map<String, StageStats.Figures> figures = new HashMap<>();
        try {
            Map<?, ?> answer = (Map<?, ?>) Rpc.ask(driver, message, STAGES_MS);
            for (Map.Entry<?, ?> entry : answer.entrySet()) {
                long[] f = (long[]) entry.getValue();
                figures.put((String) entry.getKey(), new StageStats.Figures((int) f[0], (int) f[1], f[2]));
            }
            return figures;
        } catch (Exception e) {
            LOG.debug("the driver gave no figures of stages", e);
            return null;
        }
    }

    void sendFlushed(long id) {
        HashMap<String, Object> message = Rpc.message(Rpc.FLUSHED);
        message.put("executor", executorId);
        message.put("id", id);
        driver.send(message);
    }

    String offReason() {
        return offReason;
    }

    /** Ends the recording, delivers the last flush and leaves no thread behind. May be called again. */
    void stop(long timeoutMs) {
        synchronized (ExecutorProbe.class) {
            if (current == this) {
                current = null;
            }
        }
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
            try {
                if (flusher != null) {
                    flusher.finish(timeoutMs);
                }
                recorder = null;
                if (self != null) {
                    SparkEnv env = SparkEnv.get();
                    if (env != null) {
                        env.rpcEnv().stop(self);
                    }
                }
            } catch (Throwable t) {
                LOG.warn("spark_probe could not end in order on executor {}: {}", executorId, t.toString());
            }
            guard.remove();
        }
    }
}
