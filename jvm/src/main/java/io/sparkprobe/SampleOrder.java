package io.sparkprobe;

import java.util.Arrays;
import java.util.Comparator;
import java.util.function.IntPredicate;

/**
 * The order in which a flush is written: neighbours are alike, which makes the file small and the same samples the same
 * bytes. Frames go by name and are numbered so; stacks by their frames, root first; rows by context, then stack. Stacks
 * and frames that no row uses are left out.
 */
final class SampleOrder {
    private static final Comparator<SampleTable.Context> CONTEXTS =
            Comparator.<SampleTable.Context>comparingInt(c -> c.recordingId)
                    .thenComparingInt(c -> c.code)
                    .thenComparing(c -> c.kind)
                    .thenComparingInt(c -> c.stageId)
                    .thenComparingInt(c -> c.stageAttempt)
                    .thenComparingLong(c -> c.sqlExecutionId)
                    .thenComparingLong(c -> c.taskId)
                    .thenComparingLong(c -> c.bucketMs);

    private final int[] frames;
    private final int[] frameNumbers;
    private final int[] stacks;
    private final int[] rows;

    SampleOrder(SampleTable samples, StackTable table) {
        boolean[] usedStacks = new boolean[table.stackCount()];
        boolean[] usedFrames = new boolean[table.frameCount()];
        for (int row = 0; row < samples.size(); row++) {
            usedStacks[samples.rowStack(row)] = true;
        }
        for (int stack = 0; stack < usedStacks.length; stack++) {
            for (int i = table.start(stack); usedStacks[stack] && i < table.end(stack); i++) {
                usedFrames[table.frames()[i]] = true;
            }
        }
        frames = sorted(usedFrames.length, f -> usedFrames[f], Comparator.<Integer, String>comparing(table::frameName)
                .thenComparing(table::frameType).thenComparing(table::frameLine));
        frameNumbers = ranks(frames, usedFrames.length);
        stacks = sorted(usedStacks.length, s -> usedStacks[s], (a, b) -> compareStacks(table, a, b));
        rows = sortRows(samples, ranks(stacks, usedStacks.length));
    }

    private static int[] sorted(int count, IntPredicate used, Comparator<Integer> order) {
        Integer[] ids = new Integer[count];
        int n = 0;
        for (int id = 0; id < count; id++) {
            if (used.test(id)) {
                ids[n++] = id;
            }
        }
        Arrays.sort(ids, 0, n, order);
        int[] result = new int[n];
        for (int i = 0; i < n; i++) {
            result[i] = ids[i];
        }
        return result;
    }

    private static int[] ranks(int[] sorted, int count) {
        int[] ranks = new int[count];
        for (int i = 0; i < sorted.length; i++) {
            ranks[sorted[i]] = i;
        }
        return ranks;
    }

    private int compareStacks(StackTable table, int a, int b) {
        int[] all = table.frames();
        int endA = table.end(a);
        int endB = table.end(b);
        int i = table.start(a);
        int j = table.start(b);
        while (i < endA && j < endB && all[i] == all[j]) {
            i++;
            j++;
        }
        if (i < endA && j < endB) {
            return Integer.compare(frameNumbers[all[i]], frameNumbers[all[j]]);
        }
        return Boolean.compare(i < endA, j < endB);
    }

    /** Sorts numbers instead of objects: (rank of the context, rank of the stack) is a row's only such pair. */
    private static int[] sortRows(SampleTable samples, int[] stackRanks) {
        int count = samples.contextCount();
        int[] byRank = sorted(count, c -> true, Comparator.comparing(samples::context, CONTEXTS));
        int[] contextRanks = ranks(byRank, count);
        int[] stackOfRank = new int[stackRanks.length];
        long[] keys = new long[samples.size()];
        for (int row = 0; row < keys.length; row++) {
            int stackRank = stackRanks[samples.rowStack(row)];
            stackOfRank[stackRank] = samples.rowStack(row);
            keys[row] = (long) contextRanks[samples.rowContextId(row)] << 32 | stackRank;
        }
        Arrays.sort(keys);
        int[] rows = new int[keys.length];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = samples.row(byRank[(int) (keys[i] >>> 32)], stackOfRank[(int) keys[i]]);
        }
        return rows;
    }

    /** Frame ids of the {@link StackTable} in the order of their numbers. */
    int[] frames() {
        return frames;
    }

    /** Frame id -> number in the file. */
    int[] frameNumbers() {
        return frameNumbers;
    }

    int[] stacks() {
        return stacks;
    }

    int[] rows() {
        return rows;
    }
}
