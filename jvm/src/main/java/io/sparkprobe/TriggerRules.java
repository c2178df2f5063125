package io.sparkprobe;

import java.util.ArrayList;
import java.util.List;

/** When a task is sick: pure rules on one look. A rule is off where its threshold is 0. */
final class TriggerRules {
    static final String STRAGGLER = "straggler";
    static final String DURATION = "duration";
    static final String GC = "gc";
    static final String SPILL = "spill";
    static final String FETCH_WAIT = "fetchwait";
    static final String PEAK = "peak";
    static final String HUNG = "hung";
    static final String EXPLICIT_GC = "explicitgc";

    private static final double NS_PER_S = 1e9;

    final long stragglerMinNs;
    final double stragglerFactor;
    final double stragglerQuorum;
    final long durationNs;
    final double gcFraction;
    final long gcWindowNs;
    final long spillBytes;
    final double fetchWaitFraction;
    final long fetchWaitWindowNs;
    final double peakFraction;
    final long hungNs;
    final boolean explicitGc;

    TriggerRules(ProbeConf conf) {
        stragglerMinNs = conf.durationNs("trigger.straggler.min");
        stragglerFactor = conf.number("trigger.straggler.factor");
        stragglerQuorum = conf.number("trigger.straggler.quorum");
        durationNs = conf.durationNs("trigger.duration.time");
        gcFraction = conf.number("trigger.gc.fraction");
        gcWindowNs = conf.durationNs("trigger.gc.window");
        spillBytes = conf.bytes("trigger.spill.bytes");
        fetchWaitFraction = conf.number("trigger.fetchwait.fraction");
        fetchWaitWindowNs = conf.durationNs("trigger.fetchwait.window");
        peakFraction = conf.number("trigger.peak.fraction");
        hungNs = conf.durationNs("trigger.hung.time");
        explicitGc = conf.flag("trigger.explicitgc.on");
    }

    /** Whether the stage's figures are needed to judge a task. */
    boolean asksForStage(long runningNs) {
        return stragglerFactor > 0 && runningNs >= stragglerMinNs;
    }

    List<Firing> judge(TaskLook look) {
        List<Firing> firings = new ArrayList<>();
        straggler(look, firings);
        if (durationNs > 0 && look.runningNs > durationNs) {
            firings.add(new Firing(DURATION, look.task, durationNs / NS_PER_S, look.runningNs / NS_PER_S, "s"));
        }
        if (spillBytes > 0 && look.memorySpillBytes > spillBytes) {
            firings.add(new Firing(SPILL, look.task, spillBytes, look.memorySpillBytes, "bytes"));
        }
        if (fetchWaitFraction > 0 && look.fetchBlockedShare > fetchWaitFraction) {
            firings.add(new Firing(FETCH_WAIT, look.task, fetchWaitFraction, look.fetchBlockedShare, "share"));
        }
        if (peakFraction > 0 && look.memoryShare > peakFraction) {
            firings.add(new Firing(PEAK, look.task, peakFraction, look.memoryShare, "share"));
        }
        if (hungNs > 0 && look.idleNs >= hungNs) {
            firings.add(new Firing(HUNG, look.task, hungNs / NS_PER_S, look.idleNs / NS_PER_S, "s"));
        }
        return firings;
    }

    private void straggler(TaskLook look, List<Firing> firings) {
        StageStats.Figures stage = look.stage;
        if (stragglerFactor <= 0 || stage.finished == 0 || stage.share() < stragglerQuorum) {
            return;
        }
        long thresholdNs = Math.max(stragglerMinNs, (long) (stragglerFactor * stage.medianMs * 1e6));
        if (look.runningNs > thresholdNs) {
            firings.add(new Firing(STRAGGLER, look.task, thresholdNs / NS_PER_S, look.runningNs / NS_PER_S, "s"));
        }
    }

    /**
     * The JVM's share of pauses in the last window.
     *
     * @param culprit the task that allocated most in it, null where none ran
     * @return null where the rule does not fire
     */
    Firing gc(double share, TaskInfo culprit) {
        return gcFraction > 0 && culprit != null && share > gcFraction
                ? new Firing(GC, culprit, gcFraction, share, "share") : null;
    }
}
