package io.sparkprobe;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Turns chunks of a JFR recording and the tasks' intervals into the tables of one flush. One pass over each chunk does
 * all stages, tasks and events. Not thread-safe; one Digest a flush.
 *
 * <p>A sample belongs to the task that its thread worked for at the sample's time. A batch of wall-clock samples is
 * spread over the times at which they were taken; a lock or a traced method counts, with its whole duration, where it
 * started.
 */
final class Digest {
    private final DigestLimits limits;
    private final StackTable stacks;
    private final SampleTable samples;
    private final Tables tables = new Tables();
    private final List<String> notes = new ArrayList<>();
    /** Settings by recording: only the first chunk of a recording has them. */
    private final Map<Integer, Map<String, String>> settings = new HashMap<>();
    private String engine;
    private JfrChunk lastOpened;
    private long eventCount;
    private long sampleCount;
    private int damagedChunks;
    private long withoutStack;

    Digest(DigestLimits limits) {
        this.limits = limits;
        this.stacks = new StackTable(limits);
        this.samples = new SampleTable(limits, stacks);
    }

    /**
     * Adds one chunk, from its header to its end. A chunk that cannot be read is counted and noted, never thrown; what
     * was read of it before the fault is kept.
     *
     * @param sqlOrNull the driver's SQL executions, null on executors
     * @return whether the chunk was read whole
     */
    boolean add(ByteBuffer chunk, RecordingInfo recording, TaskTimeline tasks, ThreadKinds kinds,
                SqlTimeline sqlOrNull) {
        JfrChunk opened = open(chunk, recording);
        return opened != null && add(opened, recording, tasks, kinds, sqlOrNull);
    }

    /** Reads a chunk's pools for {@link #add}; null, counted and noted, where that cannot be. */
    JfrChunk open(ByteBuffer chunk, RecordingInfo recording) {
        try {
            lastOpened = new JfrChunk(chunk, lastOpened);
            return lastOpened;
        } catch (RuntimeException e) {
            damaged(recording, "is lost", e.getMessage());
            return null;
        }
    }

    /** The same as the other for a chunk that was opened. */
    boolean add(JfrChunk chunk, RecordingInfo recording, TaskTimeline tasks, ThreadKinds kinds,
                SqlTimeline sqlOrNull) {
        Map<String, String> known = settings.computeIfAbsent(recording.recordingId, id -> new HashMap<>());
        ChunkDigest digest = new ChunkDigest(chunk, recording, known, limits.bucketMs, stacks, samples);
        String fault = chunk.damage;
        try {
            digest.run(tasks, kinds, sqlOrNull);
        } catch (RuntimeException e) {
            fault = fault == null ? e.getMessage() : fault + "; " + e.getMessage();
        }
        eventCount += digest.eventCount();
        sampleCount += digest.sampleCount();
        withoutStack += digest.withoutStack();
        for (String note : digest.notes()) {
            note(note);
        }
        engine = digest.recording().engine;
        tables.addRecording(digest.recording(), digest.startMs(), digest.startMonoNs(), digest.endMs(),
                digest.endMonoNs(), chunk.bytes.limit(), digest.eventCount(), digest.sampleCount());
        if (fault != null) {
            damaged(recording, "was read in part", fault);
        }
        return fault == null;
    }

    private void damaged(RecordingInfo recording, String fate, String fault) {
        damagedChunks++;
        note("A JFR chunk of recording " + recording.recordingId + " " + fate + ": " + fault + ".");
    }

    private void note(String note) {
        if (!notes.contains(note)) {
            notes.add(note);
        }
    }

    /** The tables; the digest takes no more chunks after that. */
    Tables finish() {
        lastOpened = null;
        if (samples.level() >= SampleTable.WITHOUT_BUCKET) {
            note("More than " + limits.maxRows + " rows or " + limits.maxBytes + " bytes in one flush: the samples have"
                    + " no time bucket" + (samples.level() >= SampleTable.WITHOUT_TASK ? " and no task." : "."));
        }
        if (samples.full() || stacks.full()) {
            note("More than " + limits.maxStacks + " stacks, " + limits.maxRows + " rows or " + limits.maxBytes
                    + " bytes in one flush: what came later has the stack " + StackTable.STACK_LIMIT + ".");
        }
        if (withoutStack > 0) {
            note(withoutStack + " samples have no stack in the recording: they stand under " + StackTable.NO_STACK
                    + ".");
        }
        tables.addSamples(samples, stacks);
        return tables;
    }

    /** The cpu engine that the last chunk's recording really used; null before the first. */
    String engine() {
        return engine;
    }

    /** JFR events read. */
    long events() {
        return eventCount;
    }

    /** Samples that went into the tables: a batched wall event counts its samples. */
    long samples() {
        return sampleCount;
    }

    /** Chunks that could not be read whole. */
    int damagedChunks() {
        return damagedChunks;
    }

    /** Sentences for status.json: bounds hit, coarsening, damage. */
    List<String> notes() {
        return notes;
    }
}
