package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class TriggerRulesTest {
    private static final long S = 1_000_000_000L;

    private static TriggerRules rules(String... keysAndValues) {
        Map<String, String> conf = new HashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.put(ProbeConf.PREFIX + "trigger." + keysAndValues[i], keysAndValues[i + 1]);
        }
        return new TriggerRules(ProbeConf.of(conf));
    }

    private static TaskInfo task() {
        return new TaskInfo(3, 1, 5, 17, 0, "worker", 42, 0, 0);
    }

    private static TaskLook look(long runningS, StageStats.Figures stage, long spill, double memory, double fetch,
                                 long idleS) {
        return new TaskLook(task(), runningS * S, stage, spill, memory, fetch, idleS * S);
    }

    private static TaskLook healthy(long runningS) {
        return look(runningS, StageStats.Figures.NONE, 0, Double.NaN, Double.NaN, 0);
    }

    private static List<String> names(List<Firing> firings) {
        List<String> names = new ArrayList<>();
        for (Firing firing : firings) {
            names.add(firing.rule);
        }
        return names;
    }

    private static List<String> stragglers(long runningS, int finished, int total, long medianMs) {
        return names(rules().judge(look(runningS, new StageStats.Figures(finished, total, medianMs), 0, Double.NaN,
                Double.NaN, 0)));
    }

    @Test
    public void aHealthyTaskFiresNothing() {
        assertTrue(rules().judge(healthy(3_600)).isEmpty());
    }

    @Test
    public void aStragglerIsBeyondBothTheFactorAndTheMinimum() {
        assertEquals("3 x 5 s", java.util.Collections.singletonList("straggler"), stragglers(16, 5, 10, 5_000));
        assertTrue("exactly at the threshold", stragglers(15, 5, 10, 5_000).isEmpty());
        assertTrue("3 x 1 s, but not yet 10 s", stragglers(9, 5, 10, 1_000).isEmpty());
        assertEquals(1, stragglers(11, 5, 10, 1_000).size());
    }

    @Test
    public void thereIsNoStragglerBeforeTheQuorum() {
        assertTrue(stragglers(1_000, 4, 10, 1_000).isEmpty());
        assertTrue("no finished task", stragglers(1_000, 0, 10, 0).isEmpty());
        assertTrue("a stage of one task", stragglers(1_000, 0, 1, 0).isEmpty());
        assertTrue("a stage that the driver does not know", stragglers(1_000, 0, 0, 0).isEmpty());
    }

    @Test
    public void theThresholdIsInTheFiring() {
        Firing firing = rules().judge(look(40, new StageStats.Figures(9, 10, 10_000), 0, Double.NaN, Double.NaN, 0))
                .get(0);
        assertEquals(30.0, firing.threshold, 1e-9);
        assertEquals(40.0, firing.value, 1e-9);
        assertEquals("s", firing.unit);
        assertEquals(17, firing.taskId());
        assertEquals(3, firing.stageId());
        assertEquals(1, firing.stageAttempt());
    }

    @Test
    public void aFixedDurationIsOffUnlessSet() {
        assertTrue(rules().judge(healthy(100_000)).isEmpty());
        assertEquals(java.util.Collections.singletonList("duration"),
                names(rules("duration.time", "5s").judge(healthy(6))));
        assertTrue(rules("duration.time", "5s").judge(healthy(5)).isEmpty());
    }

    @Test
    public void spillPeakFetchWaitAndHungFireAboveTheirThresholds() {
        StageStats.Figures none = StageStats.Figures.NONE;
        assertEquals(java.util.Collections.singletonList("spill"),
                names(rules().judge(look(5, none, (256L << 20) + 1, Double.NaN, Double.NaN, 0))));
        assertTrue(rules().judge(look(5, none, 256L << 20, Double.NaN, Double.NaN, 0)).isEmpty());
        assertEquals(java.util.Collections.singletonList("fetchwait"),
                names(rules().judge(look(20, none, 0, Double.NaN, 0.6, 0))));
        assertTrue("the window is not full", rules().judge(look(5, none, 0, Double.NaN, Double.NaN, 0)).isEmpty());
        assertTrue("peak is off", rules().judge(look(5, none, 0, 0.99, Double.NaN, 0)).isEmpty());
        assertEquals(java.util.Collections.singletonList("peak"),
                names(rules("peak.fraction", "0.8").judge(look(5, none, 0, 0.9, Double.NaN, 0))));
        assertEquals(java.util.Collections.singletonList("hung"),
                names(rules().judge(look(100, none, 0, Double.NaN, Double.NaN, 60))));
        assertTrue(rules().judge(look(100, none, 0, Double.NaN, Double.NaN, 59)).isEmpty());
        assertTrue("hung is off", rules("hung.time", "0s").judge(look(100, none, 0, Double.NaN, Double.NaN, 90))
                .isEmpty());
    }

    @Test
    public void collectionsAreHeldAgainstTheTaskThatAllocates() {
        assertNotNull(rules().gc(0.11, task()));
        assertNull(rules().gc(0.1, task()));
        assertNull("no task runs", rules().gc(0.9, null));
        assertNull(rules("gc.fraction", "0").gc(0.9, task()));
    }

    @Test
    public void medianIsTheElementAtHalf() {
        StageStats stats = new StageStats();
        stats.submitted(1, 0, 8);
        assertEquals(0, stats.figures("1.0").finished);
        for (long ms : new long[] {40, 10, 30, 20}) {
            stats.taskSucceeded(1, 0, ms);
        }
        assertEquals(30, stats.figures("1.0").medianMs);
        assertEquals(0.5, stats.figures("1.0").share(), 0);
        stats.taskSucceeded(1, 1, 5);
        assertEquals("another attempt is another stage", 4, stats.figures("1.0").finished);
        stats.completed(1, 0);
        assertEquals(0, stats.figures("1.0").total);
        for (int i = 0; i < 10_000; i++) {
            stats.taskSucceeded(9, 9, 5);
        }
        assertEquals("tasks of an unknown stage are not kept", 0, stats.figures("9.9").finished);
    }

    @Test
    public void burstsKeepToTheirBudget() {
        BurstBudget budget = new BurstBudget(0.1, 60 * S, 0);
        assertNull("the first is free", budget.take(1, 20 * S, 5 * S));
        assertEquals("a burst is going on", budget.take(2, 20 * S, 10 * S));
        assertEquals("its stage is cooling down", budget.take(1, 20 * S, 50 * S));
        assertEquals("40 s of 100", "the budget is used up", budget.take(2, 20 * S, 100 * S));
        assertNull("40 s of 400", budget.take(2, 20 * S, 400 * S));
        assertEquals(3, budget.skipped());
        assertEquals("a clock that goes back gives no second burst", "a burst is going on",
                budget.take(3, 20 * S, 300 * S));
    }
}
