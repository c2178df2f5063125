package io.sparkprobe;

/** One task attempt on one thread. Times are of this JVM: epoch milliseconds and {@code System.nanoTime()}. */
final class TaskInfo {
    static final long RUNNING_NS = Long.MAX_VALUE;

    final int stageId;
    final int stageAttempt;
    final int partition;
    final long taskId;
    final int taskAttempt;
    final String thread;
    final long javaThreadId;
    final long startMs;
    final long startNs;

    volatile long endMs;
    volatile long endNs = RUNNING_NS;
    volatile String outcome = "running";
    volatile String reason;
    volatile long threadCpuNs = -1;
    /** Task metrics as last seen, in the order of {@link Tables#TASK_METRICS}; null before the first look. */
    volatile long[] metrics;

    TaskInfo(int stageId, int stageAttempt, int partition, long taskId, int taskAttempt, String thread,
             long javaThreadId, long startMs, long startNs) {
        this.stageId = stageId;
        this.stageAttempt = stageAttempt;
        this.partition = partition;
        this.taskId = taskId;
        this.taskAttempt = taskAttempt;
        this.thread = thread;
        this.javaThreadId = javaThreadId;
        this.startMs = startMs;
        this.startNs = startNs;
    }

    boolean running() {
        return endNs == RUNNING_NS;
    }
}
