package io.sparkprobe;

import java.util.Arrays;

/**
 * The stacks of one chunk's wall samples, by thread and time, for the cpu samples that lost theirs.
 *
 * <p>When both signals of async-profiler are due as a thread returns to user mode, the kernel puts the cpu signal's
 * handler on top of the wall signal's, and the stack cannot be walked past that. No code of the thread runs between the
 * two handlers, so the wall sample next to such a cpu sample has the stack of both.
 */
final class WallStacks {
    static final int NONE = -1;

    private static final class Series {
        long[] times = new long[64];
        int[] stacks = new int[64];
        int size;
        boolean sorted = true;

        void add(long time, int stack) {
            if (size == times.length) {
                times = Arrays.copyOf(times, size * 2);
                stacks = Arrays.copyOf(stacks, size * 2);
            }
            sorted &= size == 0 || times[size - 1] <= time;
            times[size] = time;
            stacks[size++] = stack;
        }

        /** By insertion: events come in order but for the buffers that they were written through. */
        void sort() {
            for (int i = 1; i < size; i++) {
                long time = times[i];
                int stack = stacks[i];
                int at = i;
                for (; at > 0 && times[at - 1] > time; at--) {
                    times[at] = times[at - 1];
                    stacks[at] = stacks[at - 1];
                }
                times[at] = time;
                stacks[at] = stack;
            }
            sorted = true;
        }
    }

    private final Series[] byThread;
    private long[] waitingTimes = new long[16];
    private int[] waitingThreads = new int[16];
    private int waiting;

    WallStacks(int threads) {
        byThread = new Series[threads];
    }

    void add(int thread, long timeNs, int stack) {
        if (byThread[thread] == null) {
            byThread[thread] = new Series();
        }
        byThread[thread].add(timeNs, stack);
    }

    /** Keeps a cpu sample that needs a stack until all wall samples are known. */
    void await(int thread, long timeNs) {
        if (waiting == waitingTimes.length) {
            waitingTimes = Arrays.copyOf(waitingTimes, waiting * 2);
            waitingThreads = Arrays.copyOf(waitingThreads, waiting * 2);
        }
        waitingTimes[waiting] = timeNs;
        waitingThreads[waiting++] = thread;
    }

    /** Cpu samples that wait; {@link #thread} and {@link #timeNs} tell of each. */
    int waiting() {
        return waiting;
    }

    int thread(int index) {
        return waitingThreads[index];
    }

    long timeNs(int index) {
        return waitingTimes[index];
    }

    /** The stack of a thread's sample that is nearest to a time and not further from it than asked, or {@link #NONE}. */
    int nearest(int thread, long timeNs, long withinNs) {
        Series series = byThread[thread];
        if (series == null) {
            return NONE;
        }
        if (!series.sorted) {
            series.sort();
        }
        int at = Arrays.binarySearch(series.times, 0, series.size, timeNs);
        int after = at < 0 ? -at - 1 : at;
        int best = NONE;
        long distance = withinNs;
        if (after < series.size && series.times[after] - timeNs <= distance) {
            distance = series.times[after] - timeNs;
            best = series.stacks[after];
        }
        if (after > 0 && timeNs - series.times[after - 1] < distance) {
            best = series.stacks[after - 1];
        }
        return best;
    }
}
