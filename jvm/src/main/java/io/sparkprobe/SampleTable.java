package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts samples by context and stack. A context is everything that a row says beside its stack and its numbers.
 *
 * <p>When there are more rows than allowed, all contexts lose their time bucket, then their task; after that, what would
 * be a new row is counted under {@link StackTable#STACK_LIMIT}. So no sample is dropped.
 */
final class SampleTable {
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

    /** Immutable, a map's key. */
    static final class Context {
        final int recordingId;
        final int stageId;
        final int stageAttempt;
        final long taskId;
        final long sqlExecutionId;
        final String kind;
        final int code;
        final long bucketMs;

        Context(int recordingId, int stageId, int stageAttempt, long taskId, long sqlExecutionId, String kind,
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

        String event() {
            return EVENTS[code];
        }

        String state() {
            return STATES[code];
        }

        private Context coarser(int level) {
            long task = level >= WITHOUT_TASK && taskId != NO_TASK ? TASK_DROPPED : taskId;
            return new Context(recordingId, stageId, stageAttempt, task, sqlExecutionId, kind, code, NO_BUCKET);
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof Context)) {
                return false;
            }
            Context c = (Context) other;
            return recordingId == c.recordingId && stageId == c.stageId && stageAttempt == c.stageAttempt
                    && taskId == c.taskId && sqlExecutionId == c.sqlExecutionId && kind.equals(c.kind)
                    && code == c.code && bucketMs == c.bucketMs;
        }

        @Override
        public int hashCode() {
            long h = 31L * (31L * (31L * recordingId + stageId) + stageAttempt) + code;
            return LongIntMap.mix(h * 31 + taskId) ^ LongIntMap.mix(bucketMs * 31 + sqlExecutionId) ^ kind.hashCode();
        }
    }

    static final int WITHOUT_BUCKET = 1;
    static final int WITHOUT_TASK = 2;

    private final DigestLimits limits;
    private final StackTable stacks;
    private final Map<Context, Integer> contextIds = new HashMap<>();
    private final List<Context> contexts = new ArrayList<>();
    /** Context id -> the id of what it was coarsened to; itself where it was not. */
    private int[] canonical = new int[64];
    private int level;
    private boolean full;

    private LongIntMap rows = new LongIntMap(1024);
    private int[] rowContexts = new int[1024];
    private int[] rowStacks = new int[1024];
    private long[] rowSamples = new long[1024];
    private long[] rowValues = new long[1024];

    SampleTable(DigestLimits limits, StackTable stacks) {
        this.limits = limits;
        this.stacks = stacks;
    }

    /** Whether rows were counted under {@link StackTable#STACK_LIMIT}. */
    boolean full() {
        return full;
    }

    /** 0, {@link #WITHOUT_BUCKET} or {@link #WITHOUT_TASK}. */
    int level() {
        return level;
    }

    /** Id of a context, for {@link #add}; it stays valid when the table coarsens. */
    int context(Context wanted) {
        Context context = level > 0 ? wanted.coarser(level) : wanted;
        Integer known = contextIds.get(context);
        if (known != null) {
            return known;
        }
        int id = contexts.size();
        contexts.add(context);
        contextIds.put(context, id);
        if (id == canonical.length) {
            canonical = Arrays.copyOf(canonical, id * 2);
        }
        canonical[id] = id;
        return id;
    }

    void add(int contextId, int stack, long samples, long value) {
        int context = canonical[contextId];
        int row = row(context, stack);
        while (row < 0 && atLimit() && level < WITHOUT_TASK) {
            coarsen();
            context = canonical[contextId];
            row = row(context, stack);
        }
        if (row < 0 && atLimit()) {
            full = true;
            row = rowOrNew(context, stacks.limitStack());
        } else if (row < 0) {
            row = newRow(context, stack);
        }
        rowSamples[row] += samples;
        rowValues[row] += value;
    }

    private static long key(int context, int stack) {
        return (long) context << 32 | stack;
    }

    private boolean atLimit() {
        return rows.size() >= limits.maxRows || (rows.size() & 255) == 0 && bytes() > limits.maxBytes / 2;
    }

    private int rowOrNew(int context, int stack) {
        int row = row(context, stack);
        return row < 0 ? newRow(context, stack) : row;
    }

    private int newRow(int context, int stack) {
        int row = rows.size();
        rows.put(key(context, stack), row);
        if (row == rowContexts.length) {
            rowContexts = Arrays.copyOf(rowContexts, row * 2);
            rowStacks = Arrays.copyOf(rowStacks, row * 2);
            rowSamples = Arrays.copyOf(rowSamples, row * 2);
            rowValues = Arrays.copyOf(rowValues, row * 2);
        }
        rowContexts[row] = context;
        rowStacks[row] = stack;
        return row;
    }

    /** Goes one level up: the rows that have become alike are added up, in place. */
    private void coarsen() {
        level++;
        int oldContexts = contexts.size();
        for (int id = 0; id < oldContexts; id++) {
            if (canonical[id] == id) {
                canonical[id] = context(contexts.get(id));
            }
        }
        for (int id = 0; id < oldContexts; id++) {
            canonical[id] = canonical[canonical[id]];
        }
        int oldRows = rows.size();
        rows = new LongIntMap(oldRows / 2);
        for (int old = 0; old < oldRows; old++) {
            int context = canonical[rowContexts[old]];
            int stack = rowStacks[old];
            long samples = rowSamples[old];
            long value = rowValues[old];
            rowSamples[old] = 0;
            rowValues[old] = 0;
            int row = rowOrNew(context, stack);
            rowSamples[row] += samples;
            rowValues[row] += value;
        }
    }

    int size() {
        return rows.size();
    }

    /** The row of a context and a stack, or -1. */
    int row(int contextId, int stack) {
        return rows.get(key(contextId, stack));
    }

    int contextCount() {
        return contexts.size();
    }

    Context context(int contextId) {
        return contexts.get(contextId);
    }

    int rowContextId(int row) {
        return rowContexts[row];
    }

    int rowStack(int row) {
        return rowStacks[row];
    }

    long rowSamples(int row) {
        return rowSamples[row];
    }

    long rowValue(int row) {
        return rowValues[row];
    }

    /** Estimate of the heap taken. */
    long bytes() {
        return 48L * rowContexts.length + 160L * contexts.size();
    }
}
