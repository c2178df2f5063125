package io.sparkprobe;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The one pass over the events of one chunk that counts them into the flush's tables. */
final class ChunkDigest {
    private static final int EXECUTION = 0;
    private static final int WALL = 1;
    private static final int ALLOC_TLAB = 2;
    private static final int ALLOC_OUTSIDE = 3;
    private static final int ALLOC_SAMPLE = 4;
    private static final int MONITOR = 5;
    private static final int PARK = 6;
    private static final int METHOD = 7;
    /** More than async-profiler ever puts into one event (1,000): the number is damaged. */
    private static final long MAX_BATCH = 1_000_000;

    private final JfrChunk chunk;
    private final JfrEvents events;
    private final RecordingInfo known;
    private final Map<String, String> settings;
    private final long bucketMs;
    private final ChunkClock clock;
    private final ChunkStacks stacks;
    private final SampleTable samples;
    private final ThreadContexts[] threads;
    private final WallStacks wallStacks;
    private final List<String> notes = new ArrayList<>();
    private RecordingSettings means;
    private int settingsSeen;
    /** Thread state -> code of a jdk.ExecutionSample, of a profiler.WallClockSample. */
    private LongIntMap executionCodes = new LongIntMap(8);
    private LongIntMap wallCodes = new LongIntMap(8);
    private TaskTimeline tasks;
    private ThreadKinds kinds;
    private SqlTimeline sql;
    private long sampleCount;
    private long withoutStack;
    private long unreadable;

    /** @param settings of the recording as far as they are known from earlier chunks; this chunk's replace them */
    ChunkDigest(JfrChunk chunk, RecordingInfo known, Map<String, String> settings, long bucketMs, StackTable stacks,
                SampleTable samples) {
        this.chunk = chunk;
        this.events = new JfrEvents(chunk);
        this.known = known;
        this.settings = settings;
        this.bucketMs = bucketMs;
        this.clock = new ChunkClock(chunk, !known.fromElsewhere());
        this.stacks = new ChunkStacks(chunk, stacks);
        this.samples = samples;
        // The last one is for threads that the chunk does not name.
        this.threads = new ThreadContexts[chunk.threadCount() + 1];
        this.wallStacks = new WallStacks(threads.length);
        this.means = new RecordingSettings(known, settings);
    }

    void run(TaskTimeline taskTimeline, ThreadKinds threadKinds, SqlTimeline sqlOrNull) {
        this.tasks = taskTimeline;
        this.kinds = threadKinds;
        this.sql = sqlOrNull;
        events.want(JfrEvents.EXECUTION_SAMPLE, EXECUTION);
        events.want(JfrEvents.WALL_CLOCK_SAMPLE, WALL);
        events.want(JfrEvents.ALLOC_IN_NEW_TLAB, ALLOC_TLAB);
        events.want(JfrEvents.ALLOC_OUTSIDE_TLAB, ALLOC_OUTSIDE);
        events.want(JfrEvents.MONITOR_ENTER, MONITOR);
        events.want(JfrEvents.THREAD_PARK, PARK);
        events.want(JfrEvents.METHOD_TRACE, METHOD);
        if (describesAllocationsTwice()) {
            notes.add("The recording describes its allocations twice; " + JfrEvents.ALLOC_SAMPLE
                    + " events are not counted.");
        } else {
            events.want(JfrEvents.ALLOC_SAMPLE, ALLOC_SAMPLE);
        }
        try {
            for (int event = events.next(); event >= 0; event = events.next()) {
                count(event);
            }
        } finally {
            countLate();
            learnSettings();
            if (unreadable > 0) {
                notes.add(unreadable + " events or stacks of a damaged chunk made no sense.");
            }
        }
    }

    /** Whether the chunk has the JDK's sampled allocation events beside those of the TLABs, for the same bytes. */
    private boolean describesAllocationsTwice() {
        if (chunk.types.byName(JfrEvents.ALLOC_SAMPLE) == null) {
            return false; // as in async-profiler's own chunks: nothing to look for
        }
        JfrEvents ahead = new JfrEvents(chunk);
        ahead.want(JfrEvents.ALLOC_IN_NEW_TLAB, ALLOC_TLAB);
        ahead.want(JfrEvents.ALLOC_OUTSIDE_TLAB, ALLOC_OUTSIDE);
        ahead.want(JfrEvents.ALLOC_SAMPLE, ALLOC_SAMPLE);
        boolean tlab = false;
        boolean sampled = false;
        try {
            for (int event = ahead.next(); event >= 0 && !(tlab && sampled); event = ahead.next()) {
                sampled |= event == ALLOC_SAMPLE;
                tlab |= event != ALLOC_SAMPLE;
            }
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            return tlab && sampled; // the pass itself meets the same damage and reports it
        }
        return tlab && sampled;
    }

    private void count(int event) {
        if (events.settings().size() != settingsSeen) {
            learnSettings();
        }
        switch (event) {
            case EXECUTION:
                countExecution();
                break;
            case WALL:
                countBatch();
                break;
            case ALLOC_TLAB:
                // What an allocation in a new TLAB stands for is the TLAB.
                long tlab = events.field(JfrEvents.TLAB_SIZE);
                count(SampleContext.ALLOC_TLAB, stackWithClass(), tlab > 0 ? tlab : events.field(JfrEvents.SIZE));
                break;
            case ALLOC_OUTSIDE:
                count(SampleContext.ALLOC_OUTSIDE, stackWithClass(), events.field(JfrEvents.SIZE));
                break;
            case ALLOC_SAMPLE:
                count(SampleContext.ALLOC_SAMPLE, stackWithClass(), events.field(JfrEvents.SIZE));
                break;
            case MONITOR:
            case PARK:
                count(SampleContext.LOCK, stackWithClass(), clock.durationNs(events.field(JfrEvents.DURATION)));
                break;
            default:
                count(SampleContext.METHOD, stack(), clock.durationNs(events.field(JfrEvents.DURATION)));
        }
    }

    private void countExecution() {
        int code = executionCode();
        if (code != SampleContext.CPU) {
            count(code, stack(), means.wallIntervalNs);
            return;
        }
        int stack = cpuStack();
        if (stack == StackTable.IN_HANDLER) {
            thread();
            wallStacks.await(slot(), clock.monoNs(events.field(JfrEvents.TIME)));
        } else {
            count(code, stack, means.cpuIntervalNs);
        }
    }

    /** Counts the cpu samples that have no stack but their thread's wall sample of that moment. */
    private void countLate() {
        for (int i = 0; i < wallStacks.waiting(); i++) {
            int slot = wallStacks.thread(i);
            long timeNs = wallStacks.timeNs(i);
            int stack = wallStacks.nearest(slot, timeNs, means.wallIntervalNs / 2);
            if (stack == WallStacks.NONE) {
                stack = stacks.noStack();
            }
            samples.add(threads[slot].at(SampleContext.CPU, timeNs), stack, 1, means.cpuIntervalNs);
            sampleCount++;
            withoutStack += stacks.isNoStack(stack) ? 1 : 0;
        }
    }

    private void count(int code, int stack, long value) {
        ThreadContexts thread = thread();
        samples.add(thread.at(code, clock.monoNs(events.field(JfrEvents.TIME))), stack, 1, value);
        sampleCount++;
        withoutStack += stacks.isNoStack(stack) ? 1 : 0;
    }

    /**
     * Spreads a batch over the times of its samples. async-profiler writes the time of the first one and the span from
     * there to the last (src/wallClock.cpp); before 4.3 it wrote no span; they are one interval apart.
     */
    private void countBatch() {
        long count = events.field(JfrEvents.SAMPLES);
        if (count < 0 || count > MAX_BATCH) {
            unreadable++;
            return;
        }
        long span = events.field(JfrEvents.TIME_SPAN);
        span = span == JfrEvents.ABSENT ? (count - 1) * means.wallIntervalNs : clock.durationNs(span);
        double step = count > 1 ? (double) span / (count - 1) : 0;
        long start = clock.monoNs(events.field(JfrEvents.TIME));
        int code = wallCode();
        int stack = stack();
        ThreadContexts thread = thread();
        if (count == 1) {
            wallStacks.add(slot(), start, stack);
        }
        for (long i = 0; i < count; ) {
            SampleContext context = thread.at(code, start + (long) (i * step));
            long until = thread.until(code);
            long first = i++;
            while (i < count && start + (long) (i * step) < until) {
                i++;
            }
            samples.add(context, stack, i - first, (i - first) * means.wallIntervalNs);
        }
        sampleCount += count;
        withoutStack += stacks.isNoStack(stack) ? count : 0;
    }

    private int executionCode() {
        long state = events.field(JfrEvents.STATE);
        int code = executionCodes.get(state);
        if (code < 0) {
            code = means.executionCode(chunk.threadState(state));
            executionCodes.put(state, code);
        }
        return code;
    }

    private int wallCode() {
        long state = events.field(JfrEvents.STATE);
        int code = wallCodes.get(state);
        if (code < 0) {
            code = means.wallCode(chunk.threadState(state));
            wallCodes.put(state, code);
        }
        return code;
    }

    private int stack() {
        try {
            long id = events.field(JfrEvents.STACK);
            return thread().isJit() ? stacks.jitStack(id) : stacks.stack(id);
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            unreadable++;
            return stacks.noStack();
        }
    }

    private int cpuStack() {
        try {
            long id = events.field(JfrEvents.STACK);
            return thread().isJit() ? stacks.jitStack(id) : stacks.cpuStack(id);
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            unreadable++;
            return stacks.noStack();
        }
    }

    private int stackWithClass() {
        try {
            return stacks.stack(events.field(JfrEvents.STACK), events.field(JfrEvents.CLASS));
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            unreadable++;
            return stacks.noStack();
        }
    }

    private ThreadContexts thread() {
        int index = chunk.thread(events.field(JfrEvents.THREAD));
        int slot = slot(index);
        ThreadContexts thread = threads[slot];
        if (thread == null) {
            long javaThreadId = index < 0 ? 0 : chunk.javaThreadId(index);
            String kind = kinds.of(index < 0 ? null : chunk.threadName(index));
            thread = new ThreadContexts(samples, clock, known.recordingId, bucketMs,
                    javaThreadId == 0 ? null : tasks.thread(javaThreadId),
                    ThreadKinds.DRIVER.equals(kind) ? sql : null, javaThreadId, kind);
            threads[slot] = thread;
        }
        return thread;
    }

    private int slot() {
        return slot(chunk.thread(events.field(JfrEvents.THREAD)));
    }

    private int slot(int index) {
        return index < 0 ? threads.length - 1 : index;
    }

    /** async-profiler writes settings at a recording's start, before the first sample; the JDK writes its own. */
    private void learnSettings() {
        settingsSeen = events.settings().size();
        if (events.settings().containsKey("jstackdepth")) {
            settings.clear();
            settings.putAll(events.settings());
            means = new RecordingSettings(known, settings);
            executionCodes = new LongIntMap(8);
            wallCodes = new LongIntMap(8);
        }
    }

    /** The recording as the chunk's settings tell it. */
    RecordingInfo recording() {
        return means.recording;
    }

    long startMonoNs() {
        return clock.monoNs(chunk.startTicks);
    }

    long endMonoNs() {
        return startMonoNs() + chunk.durationNs;
    }

    long startMs() {
        return clock.epochMs(startMonoNs());
    }

    long endMs() {
        return clock.epochMs(endMonoNs());
    }

    long eventCount() {
        return events.count();
    }

    long sampleCount() {
        return sampleCount;
    }

    /** Samples under {@link StackTable#NO_STACK}. */
    long withoutStack() {
        return withoutStack;
    }

    /** Sentences for status.json. */
    List<String> notes() {
        return notes;
    }
}
