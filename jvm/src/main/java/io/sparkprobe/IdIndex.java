package io.sparkprobe;

import java.util.Arrays;

/**
 * Ids of a chunk's pool -> non-negative int. async-profiler counts most ids up from one, and for those it is an array;
 * the rest (the JDK's ids are 64-bit) are in a hash table.
 */
final class IdIndex {
    private static final int MAX_SMALL = 1 << 18;

    /** Value + 1, 0 where there is none. */
    private int[] small = new int[256];
    private final LongIntMap large = new LongIntMap(16);
    private int size;

    int size() {
        return size;
    }

    /** The value, or -1. */
    int get(long id) {
        return id >= 0 && id < small.length ? small[(int) id] - 1 : id >= 0 && id < MAX_SMALL ? -1 : large.get(id);
    }

    /** Sets the value of an id that has none. */
    void put(long id, int value) {
        size++;
        if (id < 0 || id >= MAX_SMALL) {
            large.put(id, value);
            return;
        }
        if (id >= small.length) {
            small = Arrays.copyOf(small, (int) Math.min(MAX_SMALL, Math.max(id + 1, small.length * 2L)));
        }
        small[(int) id] = value + 1;
    }
}
