package io.sparkprobe;

/** What a recording is to sample, and how often; -1 where an event is off. */
final class RecordingPlan {
    final String purpose;
    final long cpuIntervalNs;
    final long wallIntervalNs;
    final long allocIntervalBytes;
    final long lockIntervalNs;

    private RecordingPlan(String purpose, long cpuIntervalNs, long wallIntervalNs, long allocIntervalBytes,
                          long lockIntervalNs) {
        this.purpose = purpose;
        this.cpuIntervalNs = cpuIntervalNs;
        this.wallIntervalNs = wallIntervalNs;
        this.allocIntervalBytes = allocIntervalBytes;
        this.lockIntervalNs = lockIntervalNs;
    }

    /** What runs all the time. */
    static RecordingPlan base(ProbeConf conf) {
        return new RecordingPlan(RecordingInfo.BASE,
                conf.records(ProbeConf.CPU) ? conf.durationNs("interval") : RecordingInfo.OFF,
                conf.records(ProbeConf.WALL) ? conf.durationNs("wall.interval") : RecordingInfo.OFF,
                conf.records(ProbeConf.ALLOC) ? conf.bytes("alloc.interval") : RecordingInfo.OFF,
                conf.records(ProbeConf.LOCK) ? conf.durationNs("lock.interval") : RecordingInfo.OFF);
    }

    /** What a burst records: all events, finer. Allocation is finest where a rule of memory fired. */
    static RecordingPlan burst(ProbeConf conf, String rule) {
        boolean memory = TriggerRules.GC.equals(rule) || TriggerRules.SPILL.equals(rule);
        long alloc = conf.bytes("burst.alloc.interval");
        return new RecordingPlan(RecordingInfo.BURST, conf.durationNs("burst.interval"),
                conf.durationNs("burst.wall.interval"),
                memory ? alloc : Math.max(alloc, conf.bytes("alloc.interval")), conf.durationNs("lock.interval"));
    }

    RecordingInfo info(int recordingId, String engine) {
        return new RecordingInfo(recordingId, purpose, engine, cpuIntervalNs, wallIntervalNs, allocIntervalBytes,
                lockIntervalNs);
    }
}
