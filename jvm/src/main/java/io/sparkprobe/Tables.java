package io.sparkprobe;

/** The tables of one flush (FORMAT.md), as column buffers. Not thread-safe. */
final class Tables {
    /** The task metrics in the order of {@link TaskInfo#metrics}; names and units are the columns' of FORMAT.md. */
    static final String[] TASK_METRICS = {
        "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_serialize_ms",
        "memory_spill_bytes", "disk_spill_bytes", "peak_memory_bytes", "result_bytes",
        "input_bytes", "input_records", "output_bytes", "output_records",
        "shuffle_read_bytes", "shuffle_read_records", "shuffle_write_bytes", "shuffle_write_records", "fetch_wait_ms",
    };

    /** The state of a task attempt as of now; call it once a flush for each task that changed or runs. */
    void addTask(TaskInfo task) {
    }

    void addTrigger(long timeMs, long timeMonoNs, String rule, int stageId, int stageAttempt, long taskId,
                    double threshold, double value, String unit, String action, int recordingId, String note) {
    }

    void addDump(long timeMs, long timeMonoNs, long taskId, int stageId, int stageAttempt, long triggerTimeMonoNs,
                 String thread, String threadState, String text) {
    }

    void addGc(long startMs, long startMonoNs, long durationNs, boolean pause, String collector, String action,
               String cause, long heapBeforeBytes, long heapAfterBytes, long heapMaxBytes) {
    }

    void addRecording(RecordingInfo recording, long chunkStartMs, long chunkStartMonoNs, long chunkEndMs,
                      long chunkEndMonoNs, long jfrBytes, long events, long samples) {
    }

    /** Whether no table has a row. */
    boolean isEmpty() {
        return true;
    }
}
