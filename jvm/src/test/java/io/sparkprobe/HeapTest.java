package io.sparkprobe;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class HeapTest {
    private static final long M = 1L << 20;

    @Test
    public void freeHeapIsRoom() {
        assertTrue(Heap.hasRoom(32 * M, 1024 * M, 500 * M, -1));
    }

    @Test
    public void garbageIsRoomOnceACollectionHasShownIt() {
        assertFalse(Heap.hasRoom(32 * M, 1024 * M, 1000 * M, -1));
        assertTrue(Heap.hasRoom(32 * M, 1024 * M, 1000 * M, 300 * M));
    }

    @Test
    public void aHeapThatStaysFullIsNoRoom() {
        assertFalse(Heap.hasRoom(32 * M, 1024 * M, 1000 * M, 972 * M));
        assertFalse("little would be left after the work", Heap.hasRoom(400 * M, 1024 * M, 1000 * M, 700 * M));
    }

    @Test
    public void aSmallHeapCountsInBytesNotInShares() {
        assertFalse(Heap.hasRoom(32 * M, 256 * M, 200 * M, 190 * M));
        assertTrue(Heap.hasRoom(32 * M, 256 * M, 200 * M, 150 * M));
    }
}
