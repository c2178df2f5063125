package io.sparkprobe;

import java.util.Arrays;
import java.util.Collection;

/**
 * Which SQL execution the driver worked for when: what a sample of the driver's own threads is filed under.
 *
 * <p>An execution is known by its thread where the listener could tell it; else it covers all of the driver's threads.
 * Executions nest and overlap: the one on the very thread wins, then the one that started last.
 */
final class SqlTimeline {
    static final long ANY_THREAD = -1;
    static final long NONE = -1;

    /** One execution, half-open, in the clock of the recording; {@code endNs} Long.MAX_VALUE while it runs. */
    static final class Execution {
        final long executionId;
        final long javaThreadId;
        final long startNs;
        final long endNs;

        Execution(long executionId, long javaThreadId, long startNs, long endNs) {
            this.executionId = executionId;
            this.javaThreadId = javaThreadId;
            this.startNs = startNs;
            this.endNs = endNs;
        }
    }

    private final Execution[] byStart;
    /** The latest end among the executions up to an index: where it lies before a time, no earlier one can cover it. */
    private final long[] latestEnd;

    /** All starts and ends, ascending. */
    private final long[] changes;

    private SqlTimeline(Execution[] byStart) {
        this.byStart = byStart;
        this.changes = new long[byStart.length * 2];
        this.latestEnd = new long[byStart.length];
        long latest = Long.MIN_VALUE;
        for (int i = 0; i < byStart.length; i++) {
            latest = Math.max(latest, byStart[i].endNs);
            latestEnd[i] = latest;
            changes[2 * i] = byStart[i].startNs;
            changes[2 * i + 1] = byStart[i].endNs;
        }
        Arrays.sort(changes);
    }

    static SqlTimeline of(Collection<Execution> executions) {
        Execution[] sorted = executions.toArray(new Execution[0]);
        Arrays.sort(sorted, (a, b) -> Long.compare(a.startNs, b.startNs));
        return new SqlTimeline(sorted);
    }

    /** The execution's id, or {@link #NONE}. */
    long find(long javaThreadId, long timeNs) {
        int low = 0;
        int high = byStart.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (byStart[middle].startNs <= timeNs) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        long anyThread = NONE;
        for (int i = low - 1; i >= 0 && latestEnd[i] > timeNs; i--) {
            Execution e = byStart[i];
            if (timeNs < e.endNs) {
                if (e.javaThreadId == javaThreadId) {
                    return e.executionId;
                }
                if (e.javaThreadId == ANY_THREAD && anyThread == NONE) {
                    anyThread = e.executionId;
                }
            }
        }
        return anyThread;
    }

    /** The first time after a given one at which an answer may change. */
    long nextChange(long timeNs) {
        int low = 0;
        int high = changes.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (changes[middle] <= timeNs) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low < changes.length ? changes[low] : Long.MAX_VALUE;
    }
}
