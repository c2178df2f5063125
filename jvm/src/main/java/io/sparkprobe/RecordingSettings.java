package io.sparkprobe;

import java.util.Map;

/**
 * What a chunk's samples mean: their intervals, and which of them are CPU and which are wall-clock.
 *
 * <p>What the probe started a recording with is in its {@link RecordingInfo}; of a file from elsewhere it is read from
 * the settings that async-profiler writes at the start of a recording.
 */
final class RecordingSettings {
    // async-profiler's defaults (src/arguments.h, src/wallClock.cpp): it writes 0 for an interval that was not given.
    private static final long DEFAULT_CPU_INTERVAL_NS = 10_000_000;
    private static final long DEFAULT_WALL_INTERVAL_NS = 5 * DEFAULT_CPU_INTERVAL_NS;
    private static final long DEFAULT_ALLOC_INTERVAL_BYTES = 524_287;

    private static final String DEFAULT_STATE = "STATE_DEFAULT";
    private static final String RUNNABLE_STATE = "STATE_RUNNABLE";

    /** The recording with its intervals and its engine filled in. */
    final RecordingInfo recording;
    final long cpuIntervalNs;
    final long wallIntervalNs;
    private final boolean cpu;
    private final boolean wall;

    RecordingSettings(RecordingInfo known, Map<String, String> settings) {
        if (known.fromElsewhere()) {
            recording = fromSettings(known, settings);
        } else if (known.cpuIntervalNs >= 0 && settings.containsKey("engine")) {
            recording = known.withEngine(engine(settings.get("event"), settings.get("engine")));
        } else {
            recording = known;
        }
        cpu = recording.cpuIntervalNs >= 0;
        wall = recording.wallIntervalNs >= 0;
        cpuIntervalNs = cpu ? recording.cpuIntervalNs : DEFAULT_CPU_INTERVAL_NS;
        wallIntervalNs = wall ? recording.wallIntervalNs : DEFAULT_WALL_INTERVAL_NS;
    }

    private static RecordingInfo fromSettings(RecordingInfo known, Map<String, String> settings) {
        String event = settings.get("event");
        boolean wallOnly = "wall".equals(event);
        long interval = number(settings, "interval");
        return new RecordingInfo(known.recordingId, known.purpose, engine(event, settings.get("engine")),
                event == null || wallOnly ? RecordingInfo.OFF : orDefault(interval, DEFAULT_CPU_INTERVAL_NS),
                wallOnly ? orDefault(interval, DEFAULT_WALL_INTERVAL_NS)
                        : orDefault(number(settings, "wall"), DEFAULT_WALL_INTERVAL_NS),
                orDefault(number(settings, "alloc"), DEFAULT_ALLOC_INTERVAL_BYTES), number(settings, "lock"));
    }

    private static String engine(String event, String engine) {
        String word = engine == null ? event : engine;
        if ("ctimer".equals(word) || "itimer".equals(word)) {
            return word;
        }
        return "cpu".equals(word) || "perf_events".equals(word) ? "perf" : "none";
    }

    private static long number(Map<String, String> settings, String key) {
        try {
            return Long.parseLong(settings.getOrDefault(key, "-1"));
        } catch (NumberFormatException e) {
            return RecordingInfo.OFF;
        }
    }

    private static long orDefault(long interval, long ifZero) {
        return interval == 0 ? ifZero : interval;
    }

    /**
     * The code of a jdk.ExecutionSample. Where a recording holds both cpu and wall, its state tells them apart; where
     * it holds one, all are that one: async-profiler 2.9 wrote cpu samples as STATE_RUNNABLE. Without settings (they
     * stand in a recording's first chunk, which may be lost), what runs or says nothing is cpu.
     */
    int executionCode(String state) {
        boolean isWall = cpu && wall ? !DEFAULT_STATE.equals(state)
                : wall || !cpu && !DEFAULT_STATE.equals(state) && !RUNNABLE_STATE.equals(state);
        return isWall ? wallCode(state) : SampleContext.CPU;
    }

    int wallCode(String state) {
        return DEFAULT_STATE.equals(state) || RUNNABLE_STATE.equals(state) ? SampleContext.WALL_RUNNABLE
                : SampleContext.WALL_SLEEPING;
    }
}
