package io.sparkprobe;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The samples of one flush, counted by context and stack.
 *
 * <p>When there are more rows than allowed, all contexts lose their time bucket, then their task; after that, what would
 * be a new row is counted under {@link StackTable#STACK_LIMIT}. So no sample is dropped.
 */
final class SampleTable {
    static final int WITHOUT_BUCKET = 1;
    static final int WITHOUT_TASK = 2;

    private final DigestLimits limits;
    private final StackTable stacks;
    private final Map<SampleContext, SampleContext> contexts = new HashMap<>();
    private int level;
    private boolean full;
    private int rows;
    /** Estimate of the heap that the contexts take. */
    private long bytes;

    SampleTable(DigestLimits limits, StackTable stacks) {
        this.limits = limits;
        this.stacks = stacks;
    }

    /** 0, {@link #WITHOUT_BUCKET} or {@link #WITHOUT_TASK}. */
    int level() {
        return level;
    }

    /** Whether rows were counted under {@link StackTable#STACK_LIMIT}. */
    boolean full() {
        return full;
    }

    int rows() {
        return rows;
    }

    /** The table's own context that equals a new one; it stays good for {@link #add} when the table coarsens. */
    SampleContext context(SampleContext fresh) {
        SampleContext wanted = level > 0 ? fresh.coarser(level >= WITHOUT_TASK) : fresh;
        SampleContext known = contexts.putIfAbsent(wanted, wanted);
        if (known != null) {
            return known;
        }
        bytes += wanted.bytes();
        return wanted;
    }

    void add(SampleContext found, int stack, long samples, long value) {
        SampleContext context = current(found);
        if (!atLimit() || context.has(stack)) {
            count(context, stack, samples, value);
            return;
        }
        while (level < WITHOUT_TASK && atLimit()) {
            coarsen();
        }
        context = current(found);
        if (atLimit() && !context.has(stack)) {
            full = true;
            count(context, stacks.limitStack(), samples, value);
        } else {
            count(context, stack, samples, value);
        }
    }

    private static SampleContext current(SampleContext found) {
        SampleContext context = found;
        while (context.coarsened != null) {
            context = context.coarsened;
        }
        return context;
    }

    private void count(SampleContext context, int stack, long samples, long value) {
        long before = context.bytes();
        if (context.add(stack, samples, value)) {
            rows++;
            bytes += context.bytes() - before;
        }
    }

    private boolean atLimit() {
        return rows >= limits.maxRows || bytes > limits.maxBytes / 2;
    }

    /** Goes one level up: the contexts that have become alike are one. */
    private void coarsen() {
        level++;
        List<SampleContext> old = new ArrayList<>(contexts.values());
        contexts.clear();
        for (SampleContext context : old) {
            context(context).take(context);
        }
        rows = 0;
        bytes = 0;
        for (SampleContext context : contexts.values()) {
            rows += context.size();
            bytes += context.bytes();
        }
    }

    Collection<SampleContext> contexts() {
        return Collections.unmodifiableCollection(contexts.values());
    }
}
