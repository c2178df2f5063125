package io.sparkprobe;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What happens when a rule fires: a burst where the budget allows one, a row for the run folder, word to the driver.
 * The burst itself is the flush thread's work.
 */
final class Triggers implements TriggerWatch.Actions {
    static final String MANUAL = "manual";

    /** Asked of the flush thread: this plan from now on, until then. */
    static final class Burst {
        final Firing firing;
        final RecordingPlan plan;
        final long durationNs;

        Burst(Firing firing, RecordingPlan plan, long durationNs) {
            this.firing = firing;
            this.plan = plan;
            this.durationNs = durationNs;
        }
    }

    private final ProbeConf conf;
    private final ExecutorProbe probe;
    private final Runnable wake;
    private final BurstBudget budget;
    private final ConcurrentLinkedQueue<Firing> firings = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<ThreadDumps.Dump> dumps = new ConcurrentLinkedQueue<>();
    private Burst wanted;

    /** @param wake tells the flush thread that there is something for it */
    Triggers(ProbeConf conf, ExecutorProbe probe, Runnable wake) {
        this.conf = conf;
        this.probe = probe;
        this.wake = wake;
        this.budget = new BurstBudget(conf.number("burst.budget"), conf.durationNs("burst.cooldown"),
                System.nanoTime());
    }

    @Override
    public void fire(Firing firing) {
        if (!firing.rule.equals(TriggerRules.EXPLICIT_GC)) {
            long durationNs = conf.durationNs("burst.duration");
            String refusal = budget.take(firing.stageId(), durationNs, firing.timeNs);
            boolean dumped = firing.rule.equals(TriggerRules.HUNG) || firing.rule.equals(TriggerRules.STRAGGLER);
            firing.action = (refusal == null ? "burst" : "no burst: " + refusal) + (dumped ? ", dumps" : "");
            if (refusal == null) {
                want(new Burst(firing, RecordingPlan.burst(conf, firing.rule), durationNs));
            }
        } else {
            firing.action = "trace";
        }
        tell(firing);
    }

    /** A burst by hand: no budget, but still one at a time. */
    void burstByHand(TaskInfo task, long durationNs) {
        Firing firing = new Firing(MANUAL, task, Double.NaN, durationNs / 1e9, "s");
        firing.action = "burst";
        want(new Burst(firing, RecordingPlan.burst(conf, MANUAL), durationNs));
        tell(firing);
    }

    private void want(Burst burst) {
        synchronized (this) {
            wanted = burst;
        }
        wake.run();
    }

    private void tell(Firing firing) {
        firings.add(firing);
        HashMap<String, Object> row = new HashMap<>();
        row.put("time_ms", firing.timeMs);
        row.put("rule", firing.rule);
        row.put("stage_id", (long) firing.stageId());
        row.put("stage_attempt", (long) firing.stageAttempt());
        row.put("task_id", firing.taskId());
        row.put("threshold", Double.isNaN(firing.threshold) ? null : firing.threshold);
        row.put("value", firing.value);
        row.put("unit", firing.unit);
        row.put("action", firing.action);
        row.put("note", firing.note);
        probe.sendTrigger(row);
    }

    @Override
    public void dump(ThreadDumps.Dump dump) {
        dumps.add(dump);
    }

    @Override
    public Map<String, StageStats.Figures> askStages(Set<String> keys) {
        return probe.askStages(keys);
    }

    /** The burst that was asked for since the last call, or null. */
    synchronized Burst takeWanted() {
        Burst burst = wanted;
        wanted = null;
        return burst;
    }

    synchronized boolean wants() {
        return wanted != null;
    }

    boolean hasRows() {
        return !firings.isEmpty() || !dumps.isEmpty();
    }

    /** Files what came since the last flush; explicit collections are learnt from the flush's own calls. */
    void drainTo(Tables tables, List<TaskInfo> tasks) {
        if (conf.flag("trigger.explicitgc.on")) {
            for (ExplicitGcCalls.Call call : ExplicitGcCalls.in(tables)) {
                TaskInfo by = null;
                for (TaskInfo task : tasks) {
                    by = task.taskId == call.taskId ? task : by;
                }
                Firing firing = new Firing(TriggerRules.EXPLICIT_GC, by, 0, call.calls, "calls");
                firing.note = "called by " + call.caller;
                fire(firing);
            }
        }
        for (Firing firing = firings.poll(); firing != null; firing = firings.poll()) {
            firing.addTo(tables);
        }
        for (ThreadDumps.Dump dump = dumps.poll(); dump != null; dump = dumps.poll()) {
            dump.addTo(tables);
        }
    }

    long skipped() {
        return budget.skipped();
    }
}
