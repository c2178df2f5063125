package io.sparkprobe;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class WallStacksTest {
    private final WallStacks stacks = new WallStacks(3);

    @Test
    public void theNearestSampleOfTheThreadIsTaken() {
        stacks.add(1, 1_000, 10);
        stacks.add(1, 2_000, 20);
        stacks.add(2, 1_400, 99);
        assertEquals(10, stacks.nearest(1, 1_400, 500));
        assertEquals(20, stacks.nearest(1, 1_600, 500));
        assertEquals(20, stacks.nearest(1, 2_000, 0));
        assertEquals("the later of two as near: its handler was the one below", 20, stacks.nearest(1, 1_500, 500));
    }

    @Test
    public void whatIsTooFarIsNotTaken() {
        assertEquals(WallStacks.NONE, stacks.nearest(0, 1_000, 500));
        stacks.add(0, 1_000, 10);
        assertEquals(10, stacks.nearest(0, 500, 500));
        assertEquals(WallStacks.NONE, stacks.nearest(0, 499, 500));
        assertEquals(WallStacks.NONE, stacks.nearest(0, 1_501, 500));
    }

    @Test
    public void samplesComeInTheOrderOfTheirBuffers() {
        for (int i = 0; i < 200; i++) {
            int time = i % 2 == 0 ? i : 400 - i;
            stacks.add(0, time, time);
        }
        for (int i = 0; i < 200; i += 2) {
            assertEquals(i, stacks.nearest(0, i, 1));
        }
        assertEquals(399, stacks.nearest(0, 1_000, 1_000));
    }

    @Test
    public void cpuSamplesWait() {
        for (int i = 0; i < 40; i++) {
            stacks.await(i % 3, i);
        }
        assertEquals(40, stacks.waiting());
        assertEquals(39, stacks.timeNs(39));
        assertEquals(0, stacks.thread(39));
    }
}
