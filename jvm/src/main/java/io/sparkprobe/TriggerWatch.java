package io.sparkprobe;

import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryManager;

/**
 * Looks at the running tasks once a second and has the rules judge them. Decides on the executor, since only there the
 * thread's own state is known while the task is slow.
 */
final class TriggerWatch implements Runnable {
    private static final long TICK_NS = 1_000_000_000L;
    private static final long ASK_AGAIN_NS = 2_000_000_000L;
    /** Under this share of a core a thread counts as idle. */
    private static final double IDLE_SHARE = 0.01;
    private static final int DUMPS = 3;
    private static final String FETCH = "org.apache.spark.storage.ShuffleBlockFetcherIterator";
    private static final String PYTHON = "org.apache.spark.api.python.";

    private static final int SPILL = Tables.TASK_METRICS.indexOf("memory_spill_bytes");
    private static final int[] WORK = Stream.of("memory_spill_bytes", "input_records", "output_records",
            "shuffle_read_records", "shuffle_write_records", "shuffle_read_bytes", "input_bytes")
            .mapToInt(Tables.TASK_METRICS::indexOf).toArray();

    /** What the watch does when a rule fires. */
    interface Actions {
        /** Records the firing and starts what it asks for. */
        void fire(Firing firing);

        void dump(ThreadDumps.Dump dump);

        /** Figures of stage attempts, by {@link StageStats#key}; null where the driver did not answer. */
        Map<String, StageStats.Figures> askStages(Set<String> keys);
    }

    /** What is remembered of a task between two looks. */
    private static final class History {
        long cpuNs = -1;
        long metricsSum = -1;
        long lookedNs;
        long idleSinceNs;
        long allocatedBytes;
        final ArrayDeque<Boolean> fetching = new ArrayDeque<>();
        final Set<String> fired = new HashSet<>();
        int dumpsLeft;
        long dumpsForNs;
    }

    private final TaskSpans spans;
    private final TriggerRules rules;
    private final GcWatch gc;
    private final Actions actions;
    private final Thread thread = new Thread(this, "spark-probe-watch");
    private final Map<Long, History> histories = new HashMap<>();
    private Map<String, StageStats.Figures> stages = Collections.emptyMap();
    private long askedNs = Long.MIN_VALUE / 2;
    private long pythonTicks = -1;
    private boolean pythonMoved;
    private long pythonLookedNs;
    private volatile boolean stopped;

    TriggerWatch(TaskSpans spans, TriggerRules rules, GcWatch gc, Actions actions) {
        this.spans = spans;
        this.rules = rules;
        this.gc = gc;
        this.actions = actions;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void stop() {
        stopped = true;
        LockSupport.unpark(thread);
    }

    @Override
    public void run() {
        while (!stopped) {
            LockSupport.parkNanos(TICK_NS);
            try {
                if (!stopped) {
                    tick(System.nanoTime());
                }
            } catch (Throwable t) {
                // A task that ends in the middle of a look leaves it half done; the next look is whole again.
                LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
            }
        }
    }

    private void tick(long nowNs) {
        List<TaskInfo> tasks = spans.running();
        Set<Long> alive = new HashSet<>();
        for (TaskInfo task : tasks) {
            alive.add(task.taskId);
        }
        histories.keySet().retainAll(alive);
        if (tasks.isEmpty()) {
            return;
        }
        askStages(tasks, nowNs);
        TaskInfo busiest = null;
        long most = -1;
        for (TaskInfo task : tasks) {
            History history = histories.computeIfAbsent(task.taskId, id -> new History());
            TaskLook look = look(task, history, nowNs);
            for (Firing firing : rules.judge(look)) {
                fire(firing, history, nowNs);
            }
            dumps(task, history);
            long allocated = allocatedSince(task, history);
            if (allocated > most) {
                most = allocated;
                busiest = task;
            }
        }
        Firing collecting = rules.gc(gc.pauseShare(rules.gcWindowNs, nowNs), busiest);
        if (collecting != null) {
            fire(collecting, histories.get(busiest.taskId), nowNs);
        }
    }

    private void fire(Firing firing, History history, long nowNs) {
        if (history.fired.add(firing.rule)) {
            if (firing.rule.equals(TriggerRules.HUNG) || firing.rule.equals(TriggerRules.STRAGGLER)) {
                history.dumpsLeft = DUMPS;
                history.dumpsForNs = firing.timeNs;
            }
            actions.fire(firing);
        }
    }

    private void dumps(TaskInfo task, History history) {
        if (history.dumpsLeft > 0) {
            history.dumpsLeft--;
            ThreadDumps.Dump dump = ThreadDumps.of(task, history.dumpsForNs);
            if (dump != null) {
                actions.dump(dump);
            }
        }
    }

    private void askStages(List<TaskInfo> tasks, long nowNs) {
        Set<String> keys = new HashSet<>();
        for (TaskInfo task : tasks) {
            if (rules.asksForStage(nowNs - task.startNs)) {
                keys.add(StageStats.key(task.stageId, task.stageAttempt));
            }
        }
        if (keys.isEmpty()) {
            stages = Collections.emptyMap();
        } else if (nowNs - askedNs >= ASK_AGAIN_NS) {
            askedNs = nowNs;
            Map<String, StageStats.Figures> answer = actions.askStages(keys);
            stages = answer == null ? Collections.<String, StageStats.Figures>emptyMap() : answer;
        }
    }

    private TaskLook look(TaskInfo task, History history, long nowNs) {
        long[] metrics = task.metrics;
        long sum = 0;
        long spill = -1;
        if (metrics != null) {
            // Peak memory and run time move with the clock or not at all; the counters of work are what counts.
            for (int counter : WORK) {
                sum += metrics[counter];
            }
            spill = metrics[SPILL];
        }
        Thread thread = spans.thread(task.taskId);
        StackTraceElement[] stack =
                thread == null || nowNs - task.startNs < TICK_NS ? new StackTraceElement[0] : thread.getStackTrace();
        idle(task, history, sum, stack, nowNs);
        history.fetching.add(isFetching(thread, stack));
        long window = rules.fetchWaitWindowNs / TICK_NS;
        double fetchShare = Double.NaN;
        if (history.fetching.size() > window) {
            history.fetching.poll();
            fetchShare = Collections.frequency(history.fetching, Boolean.TRUE) / (double) history.fetching.size();
        }
        StageStats.Figures stage =
                stages.getOrDefault(StageStats.key(task.stageId, task.stageAttempt), StageStats.Figures.NONE);
        return new TaskLook(task, nowNs - task.startNs, stage, spill, memoryShare(task), fetchShare,
                nowNs - history.idleSinceNs);
    }

    private void idle(TaskInfo task, History history, long metricsSum, StackTraceElement[] stack, long nowNs) {
        boolean first = history.lookedNs == 0;
        double cpuShare = (task.threadCpuNs - history.cpuNs) / (double) Math.max(1, nowNs - history.lookedNs);
        boolean moved = first || cpuShare >= IDLE_SHARE || metricsSum != history.metricsSum
                || runs(stack, PYTHON) && pythonMoves(nowNs);
        if (moved) {
            history.idleSinceNs = nowNs;
        }
        history.cpuNs = task.threadCpuNs;
        history.metricsSum = metricsSum;
        history.lookedNs = nowNs;
    }

    /** A JVM thread that waits for its Python worker is not hung while the worker works. */
    private boolean pythonMoves(long nowNs) {
        if (nowNs != pythonLookedNs) {
            pythonLookedNs = nowNs;
            long ticks = PythonWorkers.cpuTicks();
            pythonMoved = ticks < 0 || ticks != pythonTicks;
            pythonTicks = ticks;
        }
        return pythonMoved;
    }

    private static boolean isFetching(Thread thread, StackTraceElement[] stack) {
        return thread != null && thread.getState() != Thread.State.RUNNABLE && runs(stack, FETCH);
    }

    private static boolean runs(StackTraceElement[] stack, String classPrefix) {
        for (StackTraceElement frame : stack) {
            if (frame.getClassName().startsWith(classPrefix)) {
                return true;
            }
        }
        return false;
    }

    private double memoryShare(TaskInfo task) {
        TaskContext context = rules.peakFraction > 0 ? spans.context(task.taskId) : null;
        SparkEnv env = SparkEnv.get();
        if (context == null || env == null) {
            return Double.NaN;
        }
        MemoryManager memory = env.memoryManager();
        long heap = memory.maxOnHeapStorageMemory() + memory.onHeapExecutionMemoryUsed();
        long offHeap = memory.maxOffHeapStorageMemory() + memory.offHeapExecutionMemoryUsed();
        long used = context.taskMemoryManager().getMemoryConsumptionForThisTask();
        return heap + offHeap <= 0 ? Double.NaN : used / (double) (heap + offHeap);
    }

    private static long allocatedSince(TaskInfo task, History history) {
        java.lang.management.ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        if (!(threads instanceof com.sun.management.ThreadMXBean)) {
            return 0;
        }
        long now = ((com.sun.management.ThreadMXBean) threads).getThreadAllocatedBytes(task.javaThreadId);
        long since = now - history.allocatedBytes;
        history.allocatedBytes = now;
        return since;
    }

    /** Dumps of a task by hand, one at each of the next looks; false where it does not run here. */
    boolean dumpByHand(long taskId) {
        TaskInfo task = spans.task(taskId);
        if (task == null) {
            return false;
        }
        ThreadDumps.Dump dump = ThreadDumps.of(task, System.nanoTime());
        if (dump != null) {
            actions.dump(dump);
        }
        return dump != null;
    }

    /** The watch's own CPU time is part of the probe's. */
    long threadId() {
        return thread.getId();
    }

    List<Thread> taskThreads() {
        List<Thread> threads = new ArrayList<>();
        for (TaskInfo task : spans.running()) {
            Thread running = spans.thread(task.taskId);
            if (running != null) {
                threads.add(running);
            }
        }
        return threads;
    }
}
