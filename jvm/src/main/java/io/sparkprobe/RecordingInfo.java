package io.sparkprobe;

/**
 * What a recording was started with. An interval of -1 means that the event is off. Of a recording that came in a file
 * from elsewhere ({@link #unknown}) all of it is read from the settings that async-profiler wrote into the file.
 */
final class RecordingInfo {
    static final long OFF = -1;
    static final String BASE = "base";
    static final String BURST = "burst";

    final int recordingId;
    final String purpose;
    /** ctimer, perf, itimer or none; null of a recording from elsewhere. */
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

    /** The same recording with the engine that really sampled: perf becomes ctimer where the kernel refuses it. */
    RecordingInfo withEngine(String really) {
        return new RecordingInfo(recordingId, purpose, really, cpuIntervalNs, wallIntervalNs, allocIntervalBytes,
                lockIntervalNs);
    }

    /** Whether this JVM did not make the recording: intervals and clock are then the file's own. */
    boolean fromElsewhere() {
        return engine == null;
    }

    /** A recording of which nothing is known but its chunks. */
    static RecordingInfo unknown(int recordingId) {
        return new RecordingInfo(recordingId, BASE, null, OFF, OFF, OFF, OFF);
    }
}
