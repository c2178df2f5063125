package io.sparkprobe;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns chunks of a JFR recording and the tasks' intervals into the tables of one flush. One pass over each chunk does
 * all stages, tasks and events. Not thread-safe; one Digest a flush.
 */
final class Digest {
    private final List<String> notes = new ArrayList<>();

    Digest(DigestLimits limits) {
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
        return false;
    }

    /** The tables; the digest takes no more chunks after that. */
    Tables finish() {
        return new Tables();
    }

    /** JFR events read. */
    long events() {
        return 0;
    }

    /** Samples that went into the tables: a batched wall event counts its samples. */
    long samples() {
        return 0;
    }

    /** Chunks that could not be read whole. */
    int damagedChunks() {
        return 0;
    }

    /** Sentences for status.json: bounds hit, coarsening, damage. */
    List<String> notes() {
        return notes;
    }
}
