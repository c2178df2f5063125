package io.sparkprobe;

import java.util.Arrays;

/**
 * Finds the contexts of one thread's samples. The last answer for each kind of sample is kept with the time until which
 * it holds, so that most samples need two comparisons.
 */
final class ThreadContexts {
    private final SampleTable samples;
    private final ChunkClock clock;
    private final int recordingId;
    private final long bucketLengthMs;
    private final TaskTimeline.OfThread tasks;
    private final SqlTimeline sql;
    private final long javaThreadId;
    private final String kind;
    private final boolean jit;

    private final SampleContext[] contexts = new SampleContext[SampleContext.CODES];
    private final long[] from = new long[SampleContext.CODES];
    private final long[] until = new long[SampleContext.CODES];

    /**
     * @param tasks the tasks that the thread worked for, or null
     * @param sql the SQL executions that its own work is filed under, or null
     * @param kind of the thread while it works for no task
     */
    ThreadContexts(SampleTable samples, ChunkClock clock, int recordingId, long bucketLengthMs,
                   TaskTimeline.OfThread tasks, SqlTimeline sql, long javaThreadId, String kind) {
        this.samples = samples;
        this.clock = clock;
        this.recordingId = recordingId;
        this.bucketLengthMs = bucketLengthMs;
        this.tasks = tasks;
        this.sql = sql;
        this.javaThreadId = javaThreadId;
        this.kind = kind;
        this.jit = ThreadKinds.JIT.equals(kind);
        Arrays.fill(from, Long.MAX_VALUE);
    }

    boolean isJit() {
        return jit;
    }

    /** The context of a sample at a time. */
    SampleContext at(int code, long monoNs) {
        if (monoNs < from[code] || monoNs >= until[code]) {
            find(code, monoNs);
        }
        return contexts[code];
    }

    /** The first time at which the last answer for a code may not hold any more. */
    long until(int code) {
        return until[code];
    }

    private void find(int code, long monoNs) {
        long end = Long.MAX_VALUE;
        TaskTimeline.Interval work = null;
        if (tasks != null) {
            int index = tasks.floor(monoNs);
            if (index >= 0 && monoNs < tasks.get(index).endNs) {
                work = tasks.get(index);
                end = work.endNs;
            }
            if (index + 1 < tasks.size()) {
                end = Math.min(end, tasks.get(index + 1).startNs);
            }
        }
        long bucketMs = SampleContext.NO_BUCKET;
        if (bucketLengthMs > 0) {
            bucketMs = clock.bucketMs(monoNs, bucketLengthMs);
            end = Math.min(end, clock.bucketEndNs(bucketMs, bucketLengthMs));
        }
        SampleContext context;
        if (work != null) {
            TaskInfo task = work.task;
            context = new SampleContext(recordingId, task.stageId, task.stageAttempt, task.taskId,
                    SqlTimeline.NONE, work.kind, code, bucketMs);
        } else {
            long execution = SqlTimeline.NONE;
            if (sql != null) {
                execution = sql.find(javaThreadId, monoNs);
                end = Math.min(end, sql.nextChange(monoNs));
            }
            context = new SampleContext(recordingId, -1, -1, SampleContext.NO_TASK, execution, kind, code,
                    bucketMs);
        }
        contexts[code] = samples.context(context);
        from[code] = monoNs;
        until[code] = end;
    }
}
