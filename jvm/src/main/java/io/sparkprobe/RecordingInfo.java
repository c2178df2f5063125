package io.sparkprobe;

/**
 * What a recording was started with. An interval of -1 means that the event is off, or that it is not known: then the
 * digest reads it from the settings that async-profiler wrote into the chunk.
 */
final class RecordingInfo {
    static final long OFF = -1;
    static final String BASE = "base";
    static final String BURST = "burst";

    final int recordingId;
    final String purpose;
    /** ctimer, perf, itimer or none; null where it is to be read from the chunk. */
    final String engine;
    final long cpuIntervalNs;
    final long wallIntervalNs;
    final long allocIntervalBytes;
    final long lockIntervalNs;

    RecordingInfo(int recordingId, String purpose, String engine, long cpuIntervalNs, long wallIntervalNs,
                  long allocIntervalBytes, long lockIntervalNs) {
        this.recordingId = recordingId;
        this.purpose = purpose;
        this.engine = engine;
        this.cpuIntervalNs = cpuIntervalNs;
        this.wallIntervalNs = wallIntervalNs;
        this.allocIntervalBytes = allocIntervalBytes;
        this.lockIntervalNs = lockIntervalNs;
    }

    /** A recording of which nothing is known but its chunks. */
    static RecordingInfo unknown(int recordingId) {
        return new RecordingInfo(recordingId, BASE, null, OFF, OFF, OFF, OFF);
    }
}
