package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import org.junit.Test;

public class ProbeConfTest {
    private static ProbeConf of(String... keysAndValues) {
        Map<String, String> conf = new HashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.put(ProbeConf.PREFIX + keysAndValues[i], keysAndValues[i + 1]);
        }
        return ProbeConf.of(conf);
    }

    private static void refuses(String key, String value, String takes) {
        IllegalArgumentException e = assertThrows(key + "=" + value, IllegalArgumentException.class,
                () -> of(key, value));
        assertTrue(e.getMessage(), e.getMessage().startsWith("spark.probe." + key + "=" + value + ": it takes "));
        assertTrue(e.getMessage(), e.getMessage().contains(takes));
    }

    @Test
    public void everyKeyHasATypeADefaultThatItTakesAndAMeaning() {
        ProbeConf conf = of();
        for (ProbeConf.Key key : ProbeConf.KEYS) {
            assertTrue(key.name, conf.isDefault(key.name));
            assertEquals(key.fallback, conf.resolved().get("spark.probe." + key.name));
            assertTrue(key.name, key.doc.length() > 10);
            assertTrue(key.name, key.since.matches("\\d+\\.\\d+\\.\\d+"));
        }
    }

    @Test
    public void durationsAndSizesHaveUnits() {
        assertEquals(10_000_000, of("interval", "10ms").durationNs("interval"));
        assertEquals(1_500_000, of("interval", "1500us").durationNs("interval"));
        assertEquals(90_000_000_000L, of("flush.interval", "90s").durationNs("flush.interval"));
        assertEquals(3_600_000_000_000L, of("flush.interval", "1h").durationNs("flush.interval"));
        assertEquals(512 << 10, of("alloc.interval", "512k").bytes("alloc.interval"));
        assertEquals(4 << 20, of("alloc.interval", "4mb").bytes("alloc.interval"));
        assertEquals(2L << 30, of("disk.limit", "2G").bytes("disk.limit"));
        assertEquals(4096, of("alloc.interval", "4096").bytes("alloc.interval"));
    }

    @Test
    public void aListIgnoresSpacesAndKeepsItsOrder() {
        assertEquals(new LinkedHashSet<>(Arrays.asList("lock", "cpu")), of("events", " lock , cpu,").list("events"));
        assertTrue(of("events", "cpu").records("cpu"));
        assertFalse(of("events", "cpu").records("wall"));
    }

    @Test
    public void aBadValueIsNamedWithWhatTheKeyTakes() {
        refuses("interval", "10", "a duration such as 10ms");
        refuses("interval", "-5ms", "a duration");
        refuses("interval", "1us", "at least 1ms");
        refuses("interval", "99999999999h", "a duration");
        refuses("alloc.interval", "4x", "a size such as");
        refuses("alloc.interval", "4", "at least 1k");
        refuses("driver", "yes", "true or false");
        refuses("stack.depth", "deep", "a whole number");
        refuses("stack.depth", "1", "at least 16");
        refuses("mode", "on", "one of [continuous");
        refuses("engine", "magic", "one of [auto, ctimer, perf, itimer]");
        refuses("events", "cpu,gpu", "a list of [cpu, wall, alloc, lock]");
        refuses("events", "", "a list of");
        refuses("methods", "gc", "full names such as java.lang.System.gc");
        refuses("methods", "java.lang.System.gc,file=/etc/x", "full names");
    }

    @Test
    public void anUnknownKeyIsAnError() {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> of("intervall", "10ms"));
        assertTrue(e.getMessage(), e.getMessage().startsWith("spark.probe.intervall is no option"));
        assertTrue(e.getMessage(), e.getMessage().contains("interval"));
    }

    @Test
    public void otherKeysAreNotOurs() {
        ProbeConf.of(Collections.singletonMap("spark.probed.by.others", "x"));
    }
}
