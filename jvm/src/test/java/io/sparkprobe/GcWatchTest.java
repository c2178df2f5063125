package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class GcWatchTest {
    @Test
    public void concurrentCyclesAreNoPauses() {
        assertTrue(GcWatch.isPause("G1 Young Generation", "G1 Evacuation Pause"));
        assertTrue(GcWatch.isPause("G1 Old Generation", "System.gc()"));
        assertTrue(GcWatch.isPause("PS MarkSweep", "Ergonomics"));
        assertTrue(GcWatch.isPause("ZGC Minor Pauses", "Allocation Rate"));
        assertTrue(GcWatch.isPause("Shenandoah Pauses", "Concurrent GC"));
        assertTrue(GcWatch.isPause("ConcurrentMarkSweep", "System.gc()"));
        assertFalse(GcWatch.isPause("ZGC Major Cycles", "Proactive"));
        assertFalse(GcWatch.isPause("Shenandoah Cycles", "Concurrent GC"));
        assertFalse(GcWatch.isPause("ConcurrentMarkSweep", "No GC"));
    }

    @Test
    public void aCollectionOfThisJvmIsSeenWithItsCauseAndHeap() throws InterruptedException {
        GcWatch watch = new GcWatch();
        long beforeNs = System.nanoTime();
        long beforeMs = System.currentTimeMillis();
        watch.start();
        Tables tables = new Tables();
        try {
            System.gc();
            long deadline = System.nanoTime() + 10_000_000_000L;
            while (gc(tables).rows() == 0 && System.nanoTime() < deadline) {
                Thread.sleep(5);
                watch.drainTo(tables);
            }
        } finally {
            watch.stop();
        }
        Table gc = gc(tables);
        assertTrue("no collection was seen", gc.rows() > 0);
        assertTrue(text(gc, "cause").contains("System.gc()"));
        assertTrue(number(gc, "pause") == 1);
        assertTrue(number(gc, "heap_max_bytes") >= number(gc, "heap_after_bytes"));
        assertTrue(number(gc, "heap_after_bytes") > 0);
        assertEquals(number(gc, "heap_after_bytes"), watch.heapAfterBytes());
        // Whole milliseconds of two clocks, and the notification's way.
        assertTrue(Math.abs(number(gc, "start_mono_ns") - beforeNs) < 5_000_000_000L);
        assertTrue(Math.abs(number(gc, "start_ms") - beforeMs) < 5_000);
    }

    @Test
    public void aStoppedWatchSeesNothing() throws InterruptedException {
        GcWatch stopped = new GcWatch();
        stopped.start();
        stopped.stop();
        GcWatch other = new GcWatch();
        other.start();
        Tables seen = new Tables();
        try {
            System.gc();
            long deadline = System.nanoTime() + 10_000_000_000L;
            while (gc(seen).rows() == 0 && System.nanoTime() < deadline) {
                Thread.sleep(5);
                other.drainTo(seen);
            }
        } finally {
            other.stop();
        }
        assertTrue(gc(seen).rows() > 0);
        Tables none = new Tables();
        stopped.drainTo(none);
        assertEquals(0, gc(none).rows());
    }

    private static Table gc(Tables tables) {
        return tables.all().get(7);
    }

    private static long number(Table table, String column) {
        return ((Table.Longs) column(table, column)).get(table.rows() - 1);
    }

    private static String text(Table table, String column) {
        return ((Table.Strings) column(table, column)).get(table.rows() - 1);
    }

    private static Table.Column column(Table table, String name) {
        for (Table.Column column : table.columns) {
            if (column.name.equals(name)) {
                return column;
            }
        }
        throw new AssertionError("no column " + name);
    }
}
