package io.sparkprobe;

import java.util.HashMap;
import java.util.Map;

/**
 * Keeps a sick cluster from being made sicker: one burst at a time, a share of the executor's time in all (the first
 * burst is free), and a pause between two bursts of a stage. Times are of one monotonic clock.
 */
final class BurstBudget {
    private final double share;
    private final long coolDownNs;
    private final long startNs;
    private final Map<Integer, Long> lastOfStage = new HashMap<>();
    private long usedNs;
    private long busyUntilNs = Long.MIN_VALUE;
    private long skipped;

    BurstBudget(double share, long coolDownNs, long nowNs) {
        this.share = share;
        this.coolDownNs = coolDownNs;
        this.startNs = nowNs;
    }

    /** Takes a burst's time, or says in a few words why there is none. Null where it was taken. */
    synchronized String take(int stageId, long durationNs, long nowNs) {
        String refusal = null;
        Long last = lastOfStage.get(stageId);
        if (nowNs < busyUntilNs) {
            refusal = "a burst is going on";
        } else if (last != null && nowNs - last < coolDownNs) {
            refusal = "its stage is cooling down";
        } else if (usedNs > 0 && usedNs + durationNs > share * (nowNs - startNs)) {
            refusal = "the budget is used up";
        }
        if (refusal != null) {
            skipped++;
            return refusal;
        }
        usedNs += durationNs;
        busyUntilNs = nowNs + durationNs;
        lastOfStage.put(stageId, busyUntilNs);
        return null;
    }

    synchronized long skipped() {
        return skipped;
    }
}
