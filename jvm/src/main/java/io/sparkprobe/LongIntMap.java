package io.sparkprobe;

import java.util.Arrays;

/** A map from long to non-negative int with open addressing: the digest's hot paths allocate nothing an event. */
final class LongIntMap {
    private long[] keys;
    private int[] values;
    private int size;

    LongIntMap(int expected) {
        int capacity = Integer.highestOneBit(Math.max(16, expected * 2 - 1)) * 2;
        keys = new long[capacity];
        values = new int[capacity];
        Arrays.fill(values, -1);
    }

    int size() {
        return size;
    }

    /** The value, or -1. */
    int get(long key) {
        return values[slot(key)];
    }

    void put(long key, int value) {
        int slot = slot(key);
        if (values[slot] < 0) {
            keys[slot] = key;
            if (++size * 2 > keys.length) {
                grow();
                slot = slot(key);
                keys[slot] = key;
            }
        }
        values[slot] = value;
    }

    private int slot(long key) {
        int mask = keys.length - 1;
        int slot = mix(key) & mask;
        while (values[slot] >= 0 && keys[slot] != key) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    static int mix(long key) {
        long h = key * 0x9E3779B97F4A7C15L;
        return (int) (h ^ (h >>> 32));
    }

    private void grow() {
        long[] oldKeys = keys;
        int[] oldValues = values;
        keys = new long[oldKeys.length * 2];
        values = new int[oldValues.length * 2];
        Arrays.fill(values, -1);
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldValues[i] >= 0) {
                int slot = slot(oldKeys[i]);
                keys[slot] = oldKeys[i];
                values[slot] = oldValues[i];
            }
        }
    }
}
