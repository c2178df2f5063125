package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which task was on which thread when: an immutable snapshot of intervals, sorted by start for each Java thread.
 *
 * <p>An interval is half-open, {@code [startNs, endNs)}, in the clock of the recording. A thread that works for a task
 * without being the task's own thread is lent to it, with the kind of work as {@code kind}. Intervals of one thread do
 * not overlap, but for a hand-over of a few nanoseconds: there the one that started later wins.
 */
final class TaskTimeline {
    static final String TASK = "task";
    static final String DESERIALIZATION = "task-deserialization";
    static final String PYTHON_WRITER = "python-writer";

    /** A stretch of one thread's time that belongs to one task. */
    static final class Interval {
        final TaskInfo task;
        final String kind;
        final long javaThreadId;
        final long startNs;
        final long endNs;

        /** {@code endNs} is {@link TaskInfo#RUNNING_NS} while the work goes on. */
        Interval(TaskInfo task, String kind, long javaThreadId, long startNs, long endNs) {
            this.task = task;
            this.kind = kind;
            this.javaThreadId = javaThreadId;
            this.startNs = startNs;
            this.endNs = endNs;
        }

        /** The task's own interval on its own thread. */
        static Interval of(TaskInfo task) {
            return new Interval(task, TASK, task.javaThreadId, task.startNs, task.endNs);
        }
    }

    /** One thread's intervals: parallel arrays, ascending by start. */
    static final class OfThread {
        private final Interval[] intervals;
        private final long[] starts;

        private OfThread(Interval[] sorted) {
            this.intervals = sorted;
            this.starts = new long[sorted.length];
            for (int i = 0; i < sorted.length; i++) {
                starts[i] = sorted[i].startNs;
            }
        }

        /** Index of the last interval that starts at or before the time; -1 where all start later. */
        int floor(long timeNs) {
            int at = Arrays.binarySearch(starts, timeNs);
            if (at < 0) {
                return -at - 2;
            }
            while (at + 1 < starts.length && starts[at + 1] == timeNs) {
                at++;
            }
            return at;
        }

        int size() {
            return starts.length;
        }

        Interval get(int index) {
            return intervals[index];
        }

        /** The interval that covers the time, or null. */
        Interval find(long timeNs) {
            int at = floor(timeNs);
            return at >= 0 && timeNs < intervals[at].endNs ? intervals[at] : null;
        }
    }

    static final TaskTimeline EMPTY = new TaskTimeline(new HashMap<Long, OfThread>());

    private final Map<Long, OfThread> byThread;

    private TaskTimeline(Map<Long, OfThread> byThread) {
        this.byThread = byThread;
    }

    static TaskTimeline of(Collection<Interval> intervals) {
        Map<Long, List<Interval>> lists = new HashMap<>();
        for (Interval interval : intervals) {
            lists.computeIfAbsent(interval.javaThreadId, id -> new ArrayList<>()).add(interval);
        }
        Map<Long, OfThread> byThread = new HashMap<>();
        lists.forEach((id, list) -> {
            Interval[] sorted = list.toArray(new Interval[0]);
            Arrays.sort(sorted, (a, b) -> Long.compare(a.startNs, b.startNs));
            byThread.put(id, new OfThread(sorted));
        });
        return new TaskTimeline(byThread);
    }

    /** The intervals of a thread, or null where it never worked for a task. */
    OfThread thread(long javaThreadId) {
        return byThread.get(javaThreadId);
    }

    /** The task that a thread worked for at a time, or null. */
    TaskInfo find(long javaThreadId, long timeNs) {
        OfThread thread = thread(javaThreadId);
        Interval hit = thread == null ? null : thread.find(timeNs);
        return hit == null ? null : hit.task;
    }
}
