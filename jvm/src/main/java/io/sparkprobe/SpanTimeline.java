package io.sparkprobe;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tasks of a JFR file from the spans in it, for a file whose executor is not there to ask. A span is written when
 * its task ends, so that all chunks must have been looked at before the first one is digested.
 */
final class SpanTimeline {
    private static final int SPAN = 0;

    private final Map<Long, TaskInfo> tasks = new LinkedHashMap<>();

    /** Adds the spans of one chunk. What comes after damage is passed over: the digest of the chunk reports it. */
    void add(JfrChunk chunk) {
        JfrEvents events = new JfrEvents(chunk);
        events.want(JfrEvents.SPAN, SPAN);
        ChunkClock clock = new ChunkClock(chunk, false);
        try {
            while (events.next() == SPAN) {
                add(chunk, clock, events);
            }
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            return;
        }
    }

    private void add(JfrChunk chunk, ChunkClock clock, JfrEvents events) {
        int thread = chunk.thread(events.field(JfrEvents.THREAD));
        SpanTag tag = SpanTag.parse(chunk.string(events.field(JfrEvents.TAG)));
        if (tag == null || thread < 0) {
            return;
        }
        boolean start = tag.outcome.equals(SpanTag.START);
        if (start && tasks.containsKey(tag.taskId)) {
            return;
        }
        long startNs = clock.monoNs(events.field(JfrEvents.TIME));
        TaskInfo task = new TaskInfo(tag.stageId, tag.stageAttempt, tag.partition, tag.taskId, tag.taskAttempt,
                chunk.threadName(thread), chunk.javaThreadId(thread), clock.epochMs(startNs), startNs);
        if (!start) {
            task.endNs = startNs + clock.durationNs(events.field(JfrEvents.DURATION));
            task.endMs = clock.epochMs(task.endNs);
            task.outcome = tag.outcome;
        }
        tasks.put(tag.taskId, task);
    }

    List<TaskInfo> tasks() {
        return new ArrayList<>(tasks.values());
    }

    TaskTimeline timeline() {
        List<TaskTimeline.Interval> intervals = new ArrayList<>();
        for (TaskInfo task : tasks.values()) {
            intervals.add(TaskTimeline.Interval.of(task));
        }
        return TaskTimeline.of(intervals);
    }
}
