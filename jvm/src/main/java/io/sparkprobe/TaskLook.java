package io.sparkprobe;

/** One look at a running task: all that a rule may ask. Unknown figures are -1, or NaN for shares. */
final class TaskLook {
    final TaskInfo task;
    final long runningNs;
    final StageStats.Figures stage;
    final long memorySpillBytes;
    final double memoryShare;
    final double fetchBlockedShare;
    final long idleNs;

    /**
     * @param memoryShare the task's memory as a share of the executor's execution memory
     * @param fetchBlockedShare share of the window in which the task's thread waited for a shuffle fetch; NaN until the
     *                          window is full
     * @param idleNs since when neither the task's thread nor its Python worker used the CPU and no metric moved
     */
    TaskLook(TaskInfo task, long runningNs, StageStats.Figures stage, long memorySpillBytes, double memoryShare,
             double fetchBlockedShare, long idleNs) {
        this.task = task;
        this.runningNs = runningNs;
        this.stage = stage;
        this.memorySpillBytes = memorySpillBytes;
        this.memoryShare = memoryShare;
        this.fetchBlockedShare = fetchBlockedShare;
        this.idleNs = idleNs;
    }
}
