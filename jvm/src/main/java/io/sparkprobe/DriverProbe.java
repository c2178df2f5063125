package io.sparkprobe;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The probe's driver half: keeps the run folder, the run's events and each executor's state, takes in what executors
 * cannot write themselves, and passes commands on. Nothing here throws into Spark.
 */
final class DriverProbe implements Rpc.Handler {
    private static final Logger LOG = LoggerFactory.getLogger(DriverProbe.class);

    private static final int MOST_TRIGGERS = 100_000;

    private static DriverProbe current;

    private final SparkContext sc;
    private final ProbeConf conf;
    private final boolean attached;
    private final long startMs = System.currentTimeMillis();
    private final EventLog events = new EventLog();
    private final DriverListener listener = new DriverListener(this);
    /** Writes to the run folder, in order; only one thread ever does. */
    private final ExecutorService writer = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "spark-probe-driver");
        thread.setDaemon(true);
        return thread;
    });
    private final CompletableFuture<RunFolder> opened = new CompletableFuture<>();
    private final Map<String, RpcEndpointRef> executors = new HashMap<>();
    private final Map<String, Map<String, Object>> statuses = new TreeMap<>();
    private final Map<String, SeqFiles> files = new HashMap<>();
    private final Set<String> reasonsLogged = new HashSet<>();
    private final StageStats stages = new StageStats();
    private final List<Map<String, Object>> triggers = new ArrayList<>();
    private final AtomicLong requests = new AtomicLong();
    private final Map<Long, Set<String>> flushed = new HashMap<>();
    private RpcEndpointRef endpoint;
    private boolean stopped;

    private DriverProbe(SparkContext sc, ProbeConf conf, boolean attached) {
        this.sc = sc;
        this.conf = conf;
        this.attached = attached;
    }

    /** The probe of this driver, or null. */
    static synchronized DriverProbe current() {
        return current;
    }

    /**
     * Starts the driver half.
     *
     * @param attached whether the session was running before
     */
    static synchronized DriverProbe start(SparkContext sc, ProbeConf conf, boolean attached) {
        if (current != null) {
            throw new IllegalStateException("spark_probe is on already in this driver; stop it first");
        }
        DriverProbe probe = new DriverProbe(sc, conf, attached);
        probe.endpoint = Rpc.register(sc.env().rpcEnv(), Rpc.DRIVER, probe);
        sc.listenerBus().addToQueue(probe.listener, "spark-probe");
        current = probe;
        return probe;
    }

    /** Opens the run folder, once the application's id is known. */
    void open() {
        String appId = sc.applicationId();
        Option<String> attempt = sc.applicationAttemptId();
        try {
            Configuration hadoop = sc.hadoopConfiguration();
            Path base = RunLocation.base(conf, sc.conf(), hadoop);
            Path root = RunLocation.run(base, appId, attempt.isDefined() ? attempt.get() : null);
            RunFolder folder = RunFolder.open(root, hadoop);
            // Started again in the same application: a run of its own.
            for (int n = 2; attached && folder.exists("run.json"); n++) {
                folder.close();
                folder = RunFolder.open(root.suffix("." + n), hadoop);
            }
            folder.createFolder("executors");
            folder.write("run.json", runJson(null));
            opened.complete(folder);
            events.open(sc, folder, attached);
            LOG.info("spark_probe records into {}", folder.root());
            if (conf.flag("driver") && !sc.isLocal()) {
                ExecutorProbe.start("driver", conf.resolved());
            }
        } catch (Throwable t) {
            String reason = "the run folder cannot be opened: "
                    + (t instanceof ProbeOffException ? t.getMessage() : t.toString())
                    + "; set spark.probe.dir to a folder that the driver can write to";
            opened.completeExceptionally(new IOException(reason, t));
            events.close();
            logOnce("spark_probe is off: " + reason);
        }
    }

    void event(SparkListenerEvent event) {
        events.add(event);
    }

    void failed(String what, Throwable t) {
        logOnce("spark_probe: " + what + ": " + t);
    }

    private synchronized void logOnce(String sentence) {
        if (reasonsLogged.add(sentence)) {
            LOG.warn(sentence);
        }
    }

    @Override
    public void receive(Map<String, Object> message) {
        String executor = (String) message.get("executor");
        if (Rpc.STATUS.equals(message.get(Rpc.TYPE))) {
            status(executor, message);
        } else if (Rpc.TRIGGER.equals(message.get(Rpc.TYPE))) {
            trigger(executor, message);
        } else if (Rpc.FLUSHED.equals(message.get(Rpc.TYPE))) {
            synchronized (this) {
                Set<String> done = flushed.get((Long) message.get("id"));
                if (done != null) {
                    done.add(executor);
                }
                notifyAll();
            }
        }
    }

    @SuppressWarnings("unchecked")
    private synchronized void trigger(String executor, Map<String, Object> message) {
        Map<String, Object> row = (Map<String, Object>) message.get("row");
        row.put("executor_id", executor);
        if (triggers.size() < MOST_TRIGGERS) {
            triggers.add(row);
        }
    }

    /** The firings so far, oldest first. */
    synchronized List<Map<String, Object>> triggers() {
        return new ArrayList<>(triggers);
    }

    StageStats stages() {
        return stages;
    }

    /** Tells every executor; those that it is not about do nothing. */
    synchronized void tellAll(HashMap<String, Object> message) {
        for (RpcEndpointRef executor : executors.values()) {
            executor.send(message);
        }
    }

    @Override
    public void receiveAndReply(Map<String, Object> message, RpcCallContext context) {
        String executor = (String) message.get("executor");
        if (Rpc.HELLO.equals(message.get(Rpc.TYPE))) {
            synchronized (this) {
                executors.put(executor, (RpcEndpointRef) message.get("endpoint"));
            }
            opened.whenComplete((folder, error) -> {
                HashMap<String, Object> answer = new HashMap<>();
                // A local folder is the driver's own: executors send what they have to the driver.
                answer.put("folder", folder == null || folder.isLocal() ? null : folder.root().toString());
                context.reply(answer);
            });
        } else if (Rpc.BUNDLE.equals(message.get(Rpc.TYPE))) {
            writer.execute(() -> {
                HashMap<String, Object> answer = new HashMap<>();
                try {
                    write(executor, (Long) message.get("seq"), (String) message.get("name"),
                            (byte[]) message.get("content"));
                } catch (Throwable t) {
                    answer.put("error", String.valueOf(t.getMessage() == null ? t : t.getMessage()));
                    failed("a flush of executor " + executor + " could not be written", t);
                }
                context.reply(answer);
            });
        } else if (Rpc.STAGES.equals(message.get(Rpc.TYPE))) {
            HashMap<String, Object> answer = new HashMap<>();
            for (Object key : (List<?>) message.get("keys")) {
                StageStats.Figures figures = stages.figures((String) key);
                answer.put((String) key, new long[] {figures.finished, figures.total, figures.medianMs});
            }
            context.reply(answer);
        } else if (Rpc.STATUS.equals(message.get(Rpc.TYPE))) {
            status(executor, message);
            context.reply(new HashMap<String, Object>());
        } else {
            context.sendFailure(new IllegalArgumentException("unknown message " + message.get(Rpc.TYPE)));
        }
    }

    private void write(String executor, long seq, String name, byte[] content) throws Exception {
        RunFolder folder = opened.get(60, TimeUnit.SECONDS);
        SeqFiles parts = files.get(executor);
        if (parts == null) {
            parts = new SeqFiles(folder, executor);
            files.put(executor, parts);
        }
        parts.create();
        if (seq >= 0) {
            parts.add(seq, content);
        } else {
            folder.createFolder(parts.path() + "/jfr");
            folder.write(parts.path() + "/" + name, content);
        }
    }

    @SuppressWarnings("unchecked")
    private void status(String executor, Map<String, Object> message) {
        Map<String, Object> status = (Map<String, Object>) message.get("status");
        synchronized (this) {
            statuses.put(executor, status);
            notifyAll();
        }
        if ("off".equals(status.get("state"))) {
            logOnce("spark_probe: " + status.get("reason"));
        }
        writeStatus(executor, status);
    }

    private void writeStatus(String executor, Map<String, Object> status) {
        byte[] json = Json.of(new TreeMap<>(status)).getBytes(StandardCharsets.UTF_8);
        writer.execute(() -> {
            try {
                RunFolder folder = opened.get(60, TimeUnit.SECONDS);
                String path = RunFolder.executorFolder(executor);
                folder.createFolder(path);
                folder.write(path + "/status.json", json);
            } catch (Throwable t) {
                failed("the state of executor " + executor + " could not be written", t);
            }
        });
    }

    /** An executor that the probe could not be brought to. */
    void executorOff(String executor, String reason) {
        Map<String, Object> status = new HashMap<>();
        status.put("executor_id", executor);
        status.put("state", "off");
        status.put("reason", reason);
        status.put("updated_ms", System.currentTimeMillis());
        status(executor, status);
    }

    /** Has all executors end their recording, with its last flush; waits for them up to a time limit. */
    void stopExecutors(long timeoutMs) throws InterruptedException {
        HashMap<String, Object> message = Rpc.message(Rpc.STOP);
        message.put("timeout", timeoutMs);
        synchronized (this) {
            executors.values().forEach(executor -> executor.send(message));
        }
        awaitLeaving(timeoutMs);
    }

    /** An executor that went without saying so is lost: what came before its last flush is what remains. */
    void executorRemoved(String executor, String why) {
        Map<String, Object> status;
        synchronized (this) {
            executors.remove(executor);
            Map<String, Object> last = statuses.get(executor);
            if (last != null && ("stopped".equals(last.get("state")) || "off".equals(last.get("state")))) {
                return;
            }
            status = last == null ? new HashMap<>() : new HashMap<>(last);
            status.put("executor_id", executor);
            status.put("state", "lost");
            status.put("reason", last == null
                    ? "executor " + executor + " went before it sent anything: " + why
                    : "executor " + executor + " went without its last flush: " + why);
            status.put("updated_ms", System.currentTimeMillis());
            statuses.put(executor, status);
            notifyAll();
        }
        writeStatus(executor, status);
    }

    void applicationEnds(long timeMs) {
        events.close();
        writer.execute(() -> {
            try {
                opened.get(1, TimeUnit.SECONDS).write("run.json", runJson(timeMs));
            } catch (Exception e) {
                failed("run.json could not be written at the end", e);
            }
        });
    }

    /**
     * Has each live executor flush.
     *
     * @return the executors that did in time, and those that are late
     */
    Map<String, Object> flush(long timeoutMs) throws InterruptedException {
        long id = requests.incrementAndGet();
        Set<String> expected;
        synchronized (this) {
            expected = new HashSet<>(executors.keySet());
            flushed.put(id, new HashSet<String>());
            for (RpcEndpointRef executor : executors.values()) {
                HashMap<String, Object> message = Rpc.message(Rpc.FLUSH);
                message.put("id", id);
                executor.send(message);
            }
        }
        long deadline = System.nanoTime() + timeoutMs * 1_000_000;
        synchronized (this) {
            while (true) {
                expected.retainAll(executors.keySet());
                Set<String> done = flushed.get(id);
                long leftMs = (deadline - System.nanoTime()) / 1_000_000;
                if (done.containsAll(expected) || leftMs <= 0) {
                    flushed.remove(id);
                    Set<String> late = new HashSet<>(expected);
                    late.removeAll(done);
                    Map<String, Object> answer = new LinkedHashMap<>();
                    answer.put("flushed", new ArrayList<>(done));
                    answer.put("late", new ArrayList<>(late));
                    return answer;
                }
                wait(leftMs);
            }
        }
    }

    synchronized Map<String, Map<String, Object>> statuses() {
        return new TreeMap<>(statuses);
    }

    /** The run folder's URI; waits until it is open. */
    String runFolder() throws IOException {
        try {
            return opened.get(60, TimeUnit.SECONDS).root().toString();
        } catch (Exception e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException(cause.getMessage(), cause);
        }
    }

    ProbeConf conf() {
        return conf;
    }

    /**
     * Ends the driver half: waits a little for the executors' last flushes, then closes the run folder.
     *
     * @param executorsLeave whether the application ends, so that executors are flushing by themselves
     */
    void stop(boolean executorsLeave, long timeoutMs) {
        synchronized (DriverProbe.class) {
            if (current == this) {
                current = null;
            }
        }
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
        }
        try {
            if (executorsLeave) {
                awaitLeaving(timeoutMs);
            }
            sc.listenerBus().removeListener(listener);
            events.close();
            sc.env().rpcEnv().stop(endpoint);
            applicationEnds(System.currentTimeMillis());
            writer.shutdown();
            if (!writer.awaitTermination(timeoutMs, TimeUnit.MILLISECONDS)) {
                failed("the run folder's last files were not written in time", new IOException(timeoutMs + " ms"));
            }
            if (opened.isDone() && !opened.isCompletedExceptionally()) {
                opened.get().close();
            }
        } catch (Throwable t) {
            failed("the run could not be closed in order", t);
        }
        SqlExecutions.clear();
    }

    private synchronized void awaitLeaving(long timeoutMs) throws InterruptedException {
        long deadline = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            boolean all = true;
            for (String executor : executors.keySet()) {
                Map<String, Object> status = statuses.get(executor);
                all &= status != null && !"recording".equals(status.get("state")) && !"idle".equals(status.get("state"));
            }
            long leftMs = (deadline - System.nanoTime()) / 1_000_000;
            if (all || leftMs <= 0) {
                return;
            }
            wait(Math.min(leftMs, 100));
        }
    }

    private byte[] runJson(Long endMs) {
        Map<String, Object> run = new LinkedHashMap<>();
        Option<String> attempt = sc.applicationAttemptId();
        run.put("format", (long) Version.FORMAT);
        run.put("normalizer", (long) FrameNames.NORMALIZER);
        run.put("probe_version", Version.jar());
        run.put("app_id", sc.applicationId());
        run.put("app_name", sc.appName());
        run.put("app_attempt", attempt.isDefined() ? attempt.get() : null);
        run.put("user", sc.sparkUser());
        run.put("spark_version", sc.version());
        run.put("scala_version", scala.util.Properties.versionNumberString());
        run.put("java_version", System.getProperty("java.version"));
        run.put("master", sc.master());
        run.put("deploy_mode", sc.deployMode());
        run.put("mode", attached ? "attach" : "plugin");
        run.put("conf", conf.resolved());
        run.put("start_ms", sc.startTime());
        run.put("end_ms", endMs);
        if (attached) {
            run.put("attached_ms", startMs);
            run.put("detached_ms", endMs);
        }
        return Json.of(run).getBytes(StandardCharsets.UTF_8);
    }

    /** Executors that have said hello. */
    synchronized List<String> executors() {
        return new ArrayList<>(executors.keySet());
    }
}
