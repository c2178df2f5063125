package io.sparkprobe;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.TaskMetrics;

/**
 * The intervals of this JVM's tasks, in {@code System.nanoTime()}, which is the recording's clock.
 *
 * <p>{@link #started} and {@link #ended} run on the task's own thread; at the end Spark has already taken the
 * TaskContext off it, so the task is kept in a thread-local from its start.
 */
final class TaskSpans {
    /** A task with what is needed to look at it while it runs. */
    private static final class Live {
        final TaskInfo info;
        final TaskContext context;
        final Thread thread;
        final long cpuAtStartNs;

        Live(TaskInfo info, TaskContext context, Thread thread, long cpuAtStartNs) {
            this.info = info;
            this.context = context;
            this.thread = thread;
            this.cpuAtStartNs = cpuAtStartNs;
        }
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final ThreadLocal<Live> current = new ThreadLocal<>();
    private final ConcurrentHashMap<Long, Live> running = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<TaskInfo> ended = new ConcurrentLinkedQueue<>();
    /** Ended tasks whose samples may still lie in a chunk that was not read; the flush thread's own. */
    private final List<TaskInfo> kept = new ArrayList<>();

    /** The task that begins on this thread, or null outside a task. */
    TaskInfo started() {
        TaskContext context = TaskContext.get();
        if (context == null) {
            return null;
        }
        Thread thread = Thread.currentThread();
        Live live = begin(context, thread, true);
        current.set(live);
        return live.info;
    }

    /** A task that began before anybody looked: its interval begins now. */
    TaskInfo adopted(TaskContext context, Thread thread) {
        return begin(context, thread, false).info;
    }

    /** Forgets an adopted task; returns its thread, or null where it was not known. */
    Thread forgotten(TaskContext context) {
        Live live = running.remove(context.taskAttemptId());
        return live == null ? null : live.thread;
    }

    private Live begin(TaskContext context, Thread thread, boolean onItsThread) {
        TaskInfo info = new TaskInfo(context.stageId(), context.stageAttemptNumber(), context.partitionId(),
                context.taskAttemptId(), context.attemptNumber(), thread.getName(), thread.getId(),
                System.currentTimeMillis(), System.nanoTime());
        Live live = new Live(info, context, thread, cpuNs(thread.getId(), onItsThread));
        running.put(info.taskId, live);
        return live;
    }

    private Live ofThisThread() {
        Live live = current.get();
        if (live != null) {
            current.remove();
            return live;
        }
        for (Live adopted : running.values()) {
            if (adopted.thread == Thread.currentThread()) {
                return adopted;
            }
        }
        return null;
    }

    /** Ends this thread's task and returns it, or null where none had begun. */
    TaskInfo ended(String outcome, String reason) {
        Live live = ofThisThread();
        if (live == null) {
            return null;
        }
        TaskInfo info = live.info;
        look(live, true);
        info.reason = reason;
        info.outcome = outcome;
        info.endMs = System.currentTimeMillis();
        info.endNs = System.nanoTime();
        // In this order, so that a flush that looks at the running ones first finds it in one of the two.
        ended.add(info);
        running.remove(info.taskId, live);
        return info;
    }

    /** Whether any task of a stage attempt is running here. */
    boolean runs(int stageId, int stageAttempt) {
        for (Live live : running.values()) {
            if (live.info.stageId == stageId && live.info.stageAttempt == stageAttempt) {
                return true;
            }
        }
        return false;
    }

    /** The tasks that are running, with their metrics as of now. */
    List<TaskInfo> running() {
        List<TaskInfo> tasks = new ArrayList<>();
        for (Live live : running.values()) {
            look(live, false);
            tasks.add(live.info);
        }
        return tasks;
    }

    /** The thread of a running task, or null. */
    Thread thread(long taskId) {
        Live live = running.get(taskId);
        return live == null ? null : live.thread;
    }

    /** The context of a running task, or null; it gives live metrics. */
    TaskContext context(long taskId) {
        Live live = running.get(taskId);
        return live == null ? null : live.context;
    }

    /** A running task by its id, or null. */
    TaskInfo task(long taskId) {
        Live live = running.get(taskId);
        return live == null ? null : live.info;
    }

    /** Tasks that ended since the last call. They stay in {@link #intervals} until {@link #forgetBefore}. */
    List<TaskInfo> takeEnded() {
        List<TaskInfo> fresh = new ArrayList<>();
        for (TaskInfo info = ended.poll(); info != null; info = ended.poll()) {
            fresh.add(info);
        }
        kept.addAll(fresh);
        return fresh;
    }

    /** All intervals that a chunk not yet read may need: the kept ones and those of running tasks. */
    List<TaskTimeline.Interval> intervals(Collection<TaskInfo> stillRunning) {
        List<TaskTimeline.Interval> intervals = new ArrayList<>(kept.size() + stillRunning.size());
        for (TaskInfo info : kept) {
            intervals.add(TaskTimeline.Interval.of(info));
        }
        for (TaskInfo info : stillRunning) {
            intervals.add(TaskTimeline.Interval.of(info));
        }
        return intervals;
    }

    /** Drops what ended before a time up to which all chunks have been read. */
    void forgetBefore(long monoNs) {
        kept.removeIf(info -> info.endNs < monoNs);
    }

    private static void look(Live live, boolean onItsThread) {
        long now = cpuNs(live.info.javaThreadId, onItsThread);
        live.info.threadCpuNs = now < 0 || live.cpuAtStartNs < 0 ? -1 : now - live.cpuAtStartNs;
        TaskMetrics metrics = live.context.taskMetrics();
        if (metrics != null) {
            live.info.metrics = new long[] {
                metrics.executorRunTime(), metrics.executorCpuTime(), metrics.jvmGCTime(),
                metrics.executorDeserializeTime(), metrics.resultSerializationTime(),
                metrics.memoryBytesSpilled(), metrics.diskBytesSpilled(), metrics.peakExecutionMemory(),
                metrics.resultSize(), metrics.inputMetrics().bytesRead(), metrics.inputMetrics().recordsRead(),
                metrics.outputMetrics().bytesWritten(), metrics.outputMetrics().recordsWritten(),
                metrics.shuffleReadMetrics().totalBytesRead(), metrics.shuffleReadMetrics().recordsRead(),
                metrics.shuffleWriteMetrics().bytesWritten(), metrics.shuffleWriteMetrics().recordsWritten(),
                metrics.shuffleReadMetrics().fetchWaitTime(),
            };
        }
    }

    private static long cpuNs(long javaThreadId, boolean current) {
        try {
            return current ? THREADS.getCurrentThreadCpuTime() : THREADS.getThreadCpuTime(javaThreadId);
        } catch (UnsupportedOperationException e) {
            return -1;
        }
    }
}
