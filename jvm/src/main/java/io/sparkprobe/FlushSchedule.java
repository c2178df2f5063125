package io.sparkprobe;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * When the next flush is due: at each interval, when a stage has had no running task here for 2 s, or when asked for.
 * Stage ends never flush twice within 10 s. Times are of one monotonic clock, in ns.
 */
final class FlushSchedule {
    static final long STAGE_IDLE_NS = 2_000_000_000L;
    static final long LEAST_DISTANCE_NS = 10_000_000_000L;

    private final long intervalNs;
    private long lastNs;
    private boolean asked;
    /** Stage attempts without a running task, with the time since when. */
    private final Map<Long, Long> idle = new HashMap<>();

    FlushSchedule(long intervalNs, long nowNs) {
        this.intervalNs = intervalNs;
        this.lastNs = nowNs;
    }

    private static long stage(int stageId, int stageAttempt) {
        return ((long) stageId << 32) | stageAttempt;
    }

    synchronized void stageBusy(int stageId, int stageAttempt) {
        if (!idle.isEmpty()) {
            idle.remove(stage(stageId, stageAttempt));
        }
    }

    synchronized void stageIdle(int stageId, int stageAttempt, long nowNs) {
        idle.put(stage(stageId, stageAttempt), nowNs);
    }

    synchronized void ask() {
        asked = true;
    }

    /** Whether a flush that nobody waits for may come now: no two within 10 s. */
    synchronized boolean mayFlush(long nowNs) {
        return nowNs - lastNs >= LEAST_DISTANCE_NS;
    }

    /** How long until the next flush; 0 or less when it is due. */
    synchronized long waitNs(long nowNs) {
        if (asked) {
            return 0;
        }
        long due = lastNs + intervalNs;
        for (long since : idle.values()) {
            due = Math.min(due, Math.max(since + STAGE_IDLE_NS, lastNs + LEAST_DISTANCE_NS));
        }
        return due - nowNs;
    }

    synchronized void flushed(long nowNs) {
        asked = false;
        lastNs = nowNs;
        for (Iterator<Long> since = idle.values().iterator(); since.hasNext();) {
            if (nowNs - since.next() >= STAGE_IDLE_NS) {
                since.remove();
            }
        }
    }
}
