package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class FlushScheduleTest {
    private static final long S = 1_000_000_000L;

    private final FlushSchedule schedule = new FlushSchedule(30 * S, 100 * S);

    @Test
    public void aFlushIsDueAtEachInterval() {
        assertEquals(30 * S, schedule.waitNs(100 * S));
        assertEquals(0, schedule.waitNs(130 * S));
        schedule.flushed(131 * S);
        assertEquals(29 * S, schedule.waitNs(132 * S));
    }

    @Test
    public void aStageWithoutRunningTasksForTwoSecondsIsFlushed() {
        schedule.stageIdle(3, 0, 115 * S);
        assertEquals(S, schedule.waitNs(116 * S));
        assertEquals(0, schedule.waitNs(117 * S));
        schedule.flushed(117 * S);
        assertEquals("once", 30 * S, schedule.waitNs(117 * S));
    }

    @Test
    public void aStageThatGoesOnIsNotFlushed() {
        schedule.stageIdle(3, 0, 115 * S);
        schedule.stageBusy(3, 0);
        assertEquals(15 * S, schedule.waitNs(115 * S));
    }

    @Test
    public void theStagesAttemptsAreApart() {
        schedule.stageIdle(3, 0, 115 * S);
        schedule.stageBusy(3, 1);
        assertEquals(0, schedule.waitNs(117 * S));
    }

    @Test
    public void stageEndsNeverFlushTwiceWithinTenSeconds() {
        schedule.stageIdle(3, 0, 101 * S);
        assertEquals(7 * S, schedule.waitNs(103 * S));
        assertEquals(0, schedule.waitNs(110 * S));
        schedule.flushed(110 * S);
        schedule.stageIdle(4, 0, 112 * S);
        assertEquals(6 * S, schedule.waitNs(114 * S));
    }

    @Test
    public void aStageThatFellIdleJustBeforeAFlushIsFlushedAgain() {
        schedule.stageIdle(3, 0, 129 * S);
        schedule.flushed(130 * S);
        assertEquals(10 * S, schedule.waitNs(130 * S));
    }

    @Test
    public void whenAskedForItIsDueAtOnce() {
        schedule.ask();
        assertTrue(schedule.waitNs(100 * S) <= 0);
        schedule.flushed(100 * S);
        assertEquals(30 * S, schedule.waitNs(100 * S));
    }

    @Test
    public void thousandsOfStagesLeaveNothingBehind() {
        for (int stage = 0; stage < 5_000; stage++) {
            schedule.stageIdle(stage, 0, 120 * S);
        }
        schedule.flushed(123 * S);
        assertEquals(30 * S, schedule.waitNs(123 * S));
    }
}
