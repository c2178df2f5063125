package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The order in which a flush is written: neighbours are alike, which makes the file small and the same samples the same
 * bytes. Frames go by name and are numbered so; stacks by their frames, root first; rows by context, then stack. Stacks
 * and frames that no row uses are left out.
 */
final class SampleOrder {
    private final int[] frames;
    private final int[] frameNumbers;
    private final int[] stacks;
    private final int[] stackRanks;
    private final List<SampleContext> contexts;

    SampleOrder(SampleTable samples, StackTable table) {
        boolean[] usedStacks = new boolean[table.stackCount()];
        boolean[] usedFrames = new boolean[table.frameCount()];
        for (SampleContext context : samples.contexts()) {
            for (int stack : context.stacks()) {
                usedStacks[stack] = true;
            }
        }
        for (int stack = 0; stack < usedStacks.length; stack++) {
            for (int i = table.start(stack); usedStacks[stack] && i < table.end(stack); i++) {
                usedFrames[table.frames()[i]] = true;
            }
        }
        frames = sorted(usedFrames.length, f -> usedFrames[f], (a, b) -> compareFrames(table, a, b));
        frameNumbers = ranks(frames, usedFrames.length);
        stacks = sorted(usedStacks.length, s -> usedStacks[s], (a, b) -> compareStacks(table, a, b));
        stackRanks = ranks(stacks, usedStacks.length);
        contexts = new ArrayList<>(samples.contexts());
        Collections.sort(contexts);
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

    private static int compareFrames(StackTable table, int a, int b) {
        int order = table.frameName(a).compareTo(table.frameName(b));
        order = order != 0 ? order : table.frameType(a).compareTo(table.frameType(b));
        return order != 0 ? order : Integer.compare(table.frameLine(a), table.frameLine(b));
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

    List<SampleContext> contexts() {
        return contexts;
    }

    /** The stacks of one context. */
    int[] stacks(SampleContext context) {
        return context.stacksByRank(stackRanks, stacks);
    }
}
