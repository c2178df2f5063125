package io.sparkprobe;

import java.util.Arrays;

/**
 * All that a row of samples says beside its stack and its numbers, and the numbers for each stack.
 *
 * <p>The stacks are counted in a hash table of the context's own: a thread stays in one context for many samples, so
 * that what is touched is small and near.
 */
final class SampleContext implements Comparable<SampleContext> {
    static final long NO_TASK = -1;
    static final long TASK_DROPPED = -2;
    static final long NO_BUCKET = -1;

    /** The kinds of sample: event and state of the {@code sample} table. */
    static final int CPU = 0;
    static final int WALL_RUNNABLE = 1;
    static final int WALL_SLEEPING = 2;
    static final int ALLOC_TLAB = 3;
    static final int ALLOC_OUTSIDE = 4;
    static final int ALLOC_SAMPLE = 5;
    static final int LOCK = 6;
    static final int METHOD = 7;
    static final int CODES = 8;
    private static final String[] EVENTS = {"cpu", "wall", "wall", "alloc", "alloc", "alloc", "lock", "method"};
    private static final String[] STATES = {"", "runnable", "sleeping", "tlab", "outside", "sample", "", ""};

    final int recordingId;
    final int stageId;
    final int stageAttempt;
    final long taskId;
    final long sqlExecutionId;
    final String kind;
    final int code;
    final long bucketMs;

    /** The context that this one was coarsened to; null where it was not. */
    SampleContext coarsened;
    private int size;
    /** Open addressing: stack + 1, 0 where a slot is free. */
    private int[] slots = new int[8];
    private long[] samples = new long[8];
    private long[] values = new long[8];

    SampleContext(int recordingId, int stageId, int stageAttempt, long taskId, long sqlExecutionId, String kind,
                  int code, long bucketMs) {
        this.recordingId = recordingId;
        this.stageId = stageId;
        this.stageAttempt = stageAttempt;
        this.taskId = taskId;
        this.sqlExecutionId = sqlExecutionId;
        this.kind = kind;
        this.code = code;
        this.bucketMs = bucketMs;
    }

    /** The same without its time bucket and, if asked, its task; empty. */
    SampleContext coarser(boolean withoutTask) {
        long task = withoutTask && taskId != NO_TASK ? TASK_DROPPED : taskId;
        return new SampleContext(recordingId, stageId, stageAttempt, task, sqlExecutionId, kind, code, NO_BUCKET);
    }

    String event() {
        return EVENTS[code];
    }

    String state() {
        return STATES[code];
    }

    /** Rows: stacks that have samples. */
    int size() {
        return size;
    }

    boolean has(int stack) {
        return slots[slot(stack)] != 0;
    }

    /** Whether the stack is a new one here. */
    boolean add(int stack, long moreSamples, long moreValue) {
        int slot = slot(stack);
        boolean fresh = slots[slot] == 0;
        slots[slot] = stack + 1;
        samples[slot] += moreSamples;
        values[slot] += moreValue;
        if (fresh && ++size * 4 > slots.length * 3) {
            grow();
        }
        return fresh;
    }

    private int slot(int stack) {
        int mask = slots.length - 1;
        int slot = LongIntMap.mix(stack) & mask;
        while (slots[slot] != 0 && slots[slot] != stack + 1) {
            slot = slot + 1 & mask;
        }
        return slot;
    }

    private void grow() {
        int[] oldSlots = slots;
        long[] oldSamples = samples;
        long[] oldValues = values;
        slots = new int[oldSlots.length * 2];
        samples = new long[oldSlots.length * 2];
        values = new long[oldSlots.length * 2];
        for (int old = 0; old < oldSlots.length; old++) {
            if (oldSlots[old] != 0) {
                int slot = slot(oldSlots[old] - 1);
                slots[slot] = oldSlots[old];
                samples[slot] = oldSamples[old];
                values[slot] = oldValues[old];
            }
        }
    }

    /** The stacks that have samples, in no order. */
    int[] stacks() {
        int[] stacks = new int[size];
        int n = 0;
        for (int slot : slots) {
            if (slot != 0) {
                stacks[n++] = slot - 1;
            }
        }
        return stacks;
    }

    long samples(int stack) {
        return samples[slot(stack)];
    }

    long value(int stack) {
        return values[slot(stack)];
    }

    /** Moves the counts of another context here. */
    void take(SampleContext other) {
        for (int stack : other.stacks()) {
            add(stack, other.samples(stack), other.value(stack));
        }
        other.coarsened = this;
        other.size = 0;
        other.slots = null;
        other.samples = null;
        other.values = null;
    }

    /** What is alike comes together. */
    @Override
    public int compareTo(SampleContext other) {
        int order = Integer.compare(recordingId, other.recordingId);
        order = order != 0 ? order : Integer.compare(code, other.code);
        order = order != 0 ? order : kind.compareTo(other.kind);
        order = order != 0 ? order : Integer.compare(stageId, other.stageId);
        order = order != 0 ? order : Integer.compare(stageAttempt, other.stageAttempt);
        order = order != 0 ? order : Long.compare(sqlExecutionId, other.sqlExecutionId);
        order = order != 0 ? order : Long.compare(taskId, other.taskId);
        return order != 0 ? order : Long.compare(bucketMs, other.bucketMs);
    }

    /** Estimate of the heap taken. */
    long bytes() {
        return 160 + 20L * slots.length;
    }

    @Override
    public boolean equals(Object object) {
        if (!(object instanceof SampleContext)) {
            return false;
        }
        SampleContext c = (SampleContext) object;
        return recordingId == c.recordingId && stageId == c.stageId && stageAttempt == c.stageAttempt
                && taskId == c.taskId && sqlExecutionId == c.sqlExecutionId && kind.equals(c.kind) && code == c.code
                && bucketMs == c.bucketMs;
    }

    @Override
    public int hashCode() {
        long h = 31L * (31L * (31L * recordingId + stageId) + stageAttempt) + code;
        return LongIntMap.mix(h * 31 + taskId) ^ LongIntMap.mix(bucketMs * 31 + sqlExecutionId) ^ kind.hashCode();
    }

    /** The context's stacks in the order of their ranks. */
    int[] stacksByRank(int[] ranks, int[] stackOfRank) {
        int[] stacks = stacks();
        for (int i = 0; i < stacks.length; i++) {
            stacks[i] = ranks[stacks[i]];
        }
        Arrays.sort(stacks);
        for (int i = 0; i < stacks.length; i++) {
            stacks[i] = stackOfRank[stacks[i]];
        }
        return stacks;
    }
}
