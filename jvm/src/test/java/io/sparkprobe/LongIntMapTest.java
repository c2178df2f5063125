package io.sparkprobe;

import static org.junit.Assert.assertEquals;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.Test;

public class LongIntMapTest {
    @Test
    public void doesWhatAHashMapDoes() {
        Random random = new Random(1);
        LongIntMap map = new LongIntMap(4);
        Map<Long, Integer> expected = new HashMap<>();
        for (int i = 0; i < 100_000; i++) {
            long key = i % 3 == 0 ? random.nextInt(5000) : (long) random.nextInt(50) << 32 | random.nextInt(50);
            map.put(key, i);
            expected.put(key, i);
        }
        assertEquals(expected.size(), map.size());
        expected.forEach((key, value) -> assertEquals((int) value, map.get(key)));
        assertEquals(-1, map.get(7L << 40));
    }

    @Test
    public void anyLongIsAKey() {
        LongIntMap map = new LongIntMap(0);
        long[] keys = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE};
        for (int i = 0; i < keys.length; i++) {
            assertEquals(-1, map.get(keys[i]));
            map.put(keys[i], i);
        }
        for (int i = 0; i < keys.length; i++) {
            assertEquals(i, map.get(keys[i]));
        }
    }
}
