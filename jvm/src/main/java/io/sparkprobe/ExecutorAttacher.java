package io.sparkprobe;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerBlockManagerAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/**
 * Attaches the probe to a cluster's executors, those that are there and those that come, on a thread of its own: an
 * executor whose slots are all taken is attached when the first of them is free.
 */
final class ExecutorAttacher implements Runnable {
    private static final long TURN_MS = 50;
    private static final long IDLE_MS = 1_000;
    private static final long RETRY_NS = 3_000_000_000L;
    private static final int MOST_FAILURES = 5;

    private final SparkContext sc;
    private final DriverProbe driver;
    private final AttachFunction function;
    private final Thread thread = new Thread(this, "spark-probe-attach");
    private final Arrivals arrivals = new Arrivals();
    /** Executor id to host, for those that are alive and not attached. */
    private final Map<String, String> waiting = new TreeMap<>();
    private final Map<String, Integer> failures = new HashMap<>();
    private final Map<String, String> errors = new TreeMap<>();
    private final List<BootJob> jobs = new ArrayList<>();
    private long nextJobNs = System.nanoTime();
    private int submitted;
    private boolean stopped;

    ExecutorAttacher(SparkContext sc, DriverProbe driver, Map<String, String> keys) {
        this.sc = sc;
        this.driver = driver;
        this.function = new AttachFunction(keys);
        this.thread.setDaemon(true);
        // Whoever calls us may hold a class loader or properties of the user's; the thread must not inherit them.
        this.thread.setContextClassLoader(ExecutorAttacher.class.getClassLoader());
    }

    void start() {
        sc.addSparkListener(arrivals);
        synchronized (this) {
            waiting.putAll(BootJob.liveExecutors(sc));
        }
        thread.start();
    }

    /** Waits until each executor that is alive is attached or has failed; true if so within the time. */
    synchronized boolean await(long timeoutMs) throws InterruptedException {
        long deadline = System.nanoTime() + timeoutMs * 1_000_000;
        while (!waiting.isEmpty()) {
            long leftMs = (deadline - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return false;
            }
            wait(leftMs);
        }
        return true;
    }

    /** Executors that are not attached yet. */
    synchronized List<String> waiting() {
        return new ArrayList<>(waiting.keySet());
    }

    /** Executors that could not be attached, with the reason. */
    synchronized Map<String, String> errors() {
        return new TreeMap<>(errors);
    }

    void stop() throws InterruptedException {
        sc.removeSparkListener(arrivals);
        synchronized (this) {
            stopped = true;
            notifyAll();
        }
        thread.join(5_000);
    }

    @Override
    public void run() {
        try {
            while (true) {
                synchronized (this) {
                    if (!stopped) {
                        wait(jobs.isEmpty() && waiting.isEmpty() ? IDLE_MS : TURN_MS);
                    }
                    if (stopped || sc.isStopped()) {
                        jobs.forEach(BootJob::cancel);
                        return;
                    }
                }
                turn();
            }
        } catch (InterruptedException e) {
            jobs.forEach(BootJob::cancel);
        } catch (Throwable t) {
            driver.failed("executors that come from now on are not attached", t);
        }
    }

    private void turn() throws InterruptedException {
        for (Iterator<BootJob> it = jobs.iterator(); it.hasNext();) {
            BootJob job = it.next();
            if (job.done()) {
                it.remove();
                done(job);
            } else {
                job.hurry();
            }
        }
        Map<String, String> next = due();
        if (!next.isEmpty()) {
            nextJobNs = System.nanoTime() + RETRY_NS;
            try {
                jobs.add(BootJob.submit(sc, "attach " + ++submitted, next, function));
            } catch (ReflectiveOperationException | RuntimeException e) {
                next.keySet().forEach(id -> failed(id, e.toString()));
            }
        }
    }

    /** Executors that wait and have no job on its way. */
    private synchronized Map<String, String> due() {
        Map<String, String> due = new TreeMap<>(waiting);
        for (BootJob job : jobs) {
            due.keySet().removeAll(job.executors());
        }
        // The first of a group is not kept waiting; what failed is.
        boolean early = System.nanoTime() < nextJobNs;
        due.keySet().removeIf(id -> early && failures.containsKey(id));
        return due;
    }

    private void done(BootJob job) throws InterruptedException {
        Set<String> missed = new HashSet<>(job.executors());
        try {
            for (String answer : job.answers()) {
                int tab = answer.indexOf(AttachFunction.SEPARATOR);
                String id = tab < 0 ? answer : answer.substring(0, tab);
                missed.remove(id);
                if (tab < 0) {
                    attached(id);
                } else {
                    failed(id, answer.substring(tab + 1));
                }
            }
            // Their tasks ran elsewhere: the executor has gone, or is being excluded by Spark.
            missed.forEach(id -> failed(id, "Spark ran its attach task on another executor"));
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            missed.forEach(id -> failed(id, String.valueOf(e.getMessage()).split("\n")[0]));
        }
    }

    private synchronized void attached(String executor) {
        waiting.remove(executor);
        failures.remove(executor);
        notifyAll();
    }

    private synchronized void failed(String executor, String why) {
        if (!waiting.containsKey(executor)) {
            return;
        }
        if (failures.merge(executor, 1, Integer::sum) >= MOST_FAILURES) {
            waiting.remove(executor);
            errors.put(executor, why);
            driver.executorOff(executor, "profiling is off on executor " + executor + ": it could not be attached ("
                    + why + "). Start the session with spark_probe.configure, or --conf spark.plugins");
            notifyAll();
        }
    }

    private synchronized void came(String executor, String host) {
        waiting.put(executor, host);
        notifyAll();
    }

    private synchronized void went(String executor) {
        waiting.remove(executor);
        failures.remove(executor);
        notifyAll();
    }

    /** Executors that come and go. */
    private final class Arrivals extends SparkListener {
        @Override
        public void onBlockManagerAdded(SparkListenerBlockManagerAdded event) {
            if (!event.blockManagerId().isDriver()) {
                came(event.blockManagerId().executorId(), event.blockManagerId().host());
            }
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            went(event.executorId());
        }
    }
}
