package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Every key of {@code spark.probe.*}: its type, default and meaning. {@code spark_probe/config.py} is its twin; a test
 * holds the two equal through {@link #main}.
 */
public final class ProbeConf {
    static final String PREFIX = "spark.probe.";

    static final String CPU = "cpu";
    static final String WALL = "wall";
    static final String ALLOC = "alloc";
    static final String LOCK = "lock";

    enum Type {
        WORD, LIST, TEXT, FLAG, DURATION, SIZE, COUNT, NUMBER
    }

    /** One option. */
    static final class Key {
        final String name;
        final Type type;
        final String fallback;
        final String since;
        final String doc;

        Key(String name, Type type, String fallback, String since, String doc) {
            this.name = name;
            this.type = type;
            this.fallback = fallback;
            this.since = since;
            this.doc = doc;
        }
    }

    static final List<Key> KEYS = Collections.unmodifiableList(Arrays.asList(
        new Key("mode", Type.WORD, "continuous", "0.1.0", "continuous records always; triggered records nothing until"
            + " a rule fires; off does nothing"),
        new Key("dir", Type.TEXT, "spark-probe", "0.1.0", "where run folders go: a path or a Hadoop URL. A local path"
            + " is the driver's; executors then send what they have to the driver"),
        new Key("events", Type.LIST, "cpu,wall,alloc,lock", "0.1.0", "what is sampled: cpu, wall, alloc, lock"),
        new Key("engine", Type.WORD, "auto", "0.1.0", "cpu engine: ctimer, perf, itimer; auto takes ctimer, and itimer"
            + " where there is none"),
        new Key("interval", Type.DURATION, "10ms", "0.1.0", "CPU time between two cpu samples of a thread"),
        new Key("wall.interval", Type.DURATION, "100ms", "0.1.0", "time between two wall samples of a task's thread"),
        new Key("alloc.interval", Type.SIZE, "4m", "0.1.0", "bytes allocated between two alloc samples"),
        new Key("lock.interval", Type.DURATION, "10ms", "0.1.0", "total contention between two lock samples"),
        new Key("methods", Type.LIST, "", "0.1.0", "Java methods whose calls are traced beside java.lang.System.gc:"
            + " package.Class.method"),
        new Key("flush.interval", Type.DURATION, "30s", "0.1.0", "time between two flushes to the run folder"),
        new Key("bucket", Type.DURATION, "10s", "0.1.0", "length of the time buckets of samples; 0s for none"),
        new Key("driver", Type.FLAG, "true", "0.1.0", "whether the driver's own work is recorded as well"),
        new Key("jfr.keep", Type.FLAG, "false", "0.1.0", "whether the raw JFR chunks go to the run folder as well"),
        new Key("stack.depth", Type.COUNT, "1024", "0.1.0", "deepest stack that is recorded, in frames"),
        new Key("memory.limit", Type.SIZE, "64m", "0.1.0", "memory of the profiler's stack storage, and of the tables"
            + " of one flush"),
        new Key("disk.limit", Type.SIZE, "512m", "0.1.0", "size of the recording's file on the executor's disk at"
            + " which it is started anew"),
        new Key("trigger.straggler.factor", Type.NUMBER, "3", "0.1.0", "straggler: a task that runs this many times"
            + " the median of its stage's finished tasks; 0 for never"),
        new Key("trigger.straggler.min", Type.DURATION, "10s", "0.1.0", "straggler: and at least this long"),
        new Key("trigger.straggler.quorum", Type.NUMBER, "0.5", "0.1.0", "straggler: once this share of the stage's"
            + " tasks has finished"),
        new Key("trigger.duration.time", Type.DURATION, "0s", "0.1.0", "duration: a task that runs longer than this;"
            + " 0s for never"),
        new Key("trigger.gc.fraction", Type.NUMBER, "0.1", "0.1.0", "gc: the JVM paused for more than this share of"
            + " the window to collect; 0 for never"),
        new Key("trigger.gc.window", Type.DURATION, "10s", "0.1.0", "gc: length of the window"),
        new Key("trigger.spill.bytes", Type.SIZE, "256m", "0.1.0", "spill: a task has spilt more of its memory than"
            + " this; 0 for never"),
        new Key("trigger.fetchwait.fraction", Type.NUMBER, "0.5", "0.1.0", "fetchwait: a task waited for shuffle data"
            + " for more than this share of the window; 0 for never"),
        new Key("trigger.fetchwait.window", Type.DURATION, "10s", "0.1.0", "fetchwait: length of the window"),
        new Key("trigger.peak.fraction", Type.NUMBER, "0", "0.1.0", "peak: a task holds more than this share of the"
            + " executor's execution memory; 0 for never"),
        new Key("trigger.hung.time", Type.DURATION, "60s", "0.1.0", "hung: neither CPU used nor a metric moved for"
            + " this long; 0s for never"),
        new Key("trigger.explicitgc.on", Type.FLAG, "true", "0.1.0", "explicitgc: System.gc() was called"),
        new Key("burst.duration", Type.DURATION, "20s", "0.1.0", "how long a burst records more after a rule fired"),
        new Key("burst.budget", Type.NUMBER, "0.1", "0.1.0", "most of an executor's time that bursts may take; the"
            + " first is free"),
        new Key("burst.cooldown", Type.DURATION, "60s", "0.1.0", "least time between two bursts of a stage"),
        new Key("burst.interval", Type.DURATION, "5ms", "0.1.0", "as interval, in a burst"),
        new Key("burst.wall.interval", Type.DURATION, "20ms", "0.1.0", "as wall.interval, in a burst"),
        new Key("burst.alloc.interval", Type.SIZE, "512k", "0.1.0", "as alloc.interval, in a burst of gc or spill"),
        new Key("tmp.dir", Type.TEXT, "", "0.1.0", "directory for the native library and the recording; empty: the"
            + " first that allows it of Spark's local directories, the working directory, java.io.tmpdir")));

    private static final Pattern DURATION = Pattern.compile("(\\d+)(ns|us|ms|s|m|h)");
    private static final Pattern SIZE = Pattern.compile("(\\d+)([kmg]?)b?");
    private static final Set<String> EVENTS = new LinkedHashSet<>(Arrays.asList(CPU, WALL, ALLOC, LOCK));

    private final Map<String, String> values;

    private ProbeConf(Map<String, String> values) {
        this.values = values;
    }

    /**
     * The configuration out of all of Spark's; keys of others are ignored.
     *
     * @throws IllegalArgumentException names the key, the value, and what the key takes
     */
    static ProbeConf of(Map<String, String> conf) {
        Map<String, String> values = new LinkedHashMap<>();
        for (Key key : KEYS) {
            String value = conf.get(PREFIX + key.name);
            values.put(key.name, value == null ? key.fallback : value.trim());
        }
        for (String name : conf.keySet()) {
            if (name.startsWith(PREFIX) && !values.containsKey(name.substring(PREFIX.length()))) {
                throw new IllegalArgumentException(name + " is no option of spark_probe " + Version.jar()
                        + "; its options are " + values.keySet() + ", each after " + PREFIX);
            }
        }
        ProbeConf probe = new ProbeConf(Collections.unmodifiableMap(values));
        probe.check();
        return probe;
    }

    private void check() {
        for (Key key : KEYS) {
            switch (key.type) {
                case DURATION:
                    durationNs(key.name);
                    break;
                case SIZE:
                    bytes(key.name);
                    break;
                case COUNT:
                    count(key.name);
                    break;
                case FLAG:
                    flag(key.name);
                    break;
                case NUMBER:
                    number(key.name);
                    break;
                default:
                    break;
            }
        }
        oneOf("mode", "continuous", "triggered", "off");
        oneOf("engine", "auto", "ctimer", "perf", "itimer");
        Set<String> events = list("events");
        if (events.isEmpty() || !EVENTS.containsAll(events)) {
            throw bad("events", "a list of " + EVENTS);
        }
        atLeast("interval", durationNs("interval"), 1_000_000, "at least 1ms");
        atLeast("wall.interval", durationNs("wall.interval"), 1_000_000, "at least 1ms");
        atLeast("alloc.interval", bytes("alloc.interval"), 1024, "at least 1k");
        atLeast("flush.interval", durationNs("flush.interval"), 1_000_000_000L, "at least 1s");
        atLeast("stack.depth", count("stack.depth"), 16, "at least 16");
        atLeast("memory.limit", bytes("memory.limit"), 16L << 20, "at least 16m");
        atLeast("disk.limit", bytes("disk.limit"), 32L << 20, "at least 32m");
        for (String share : new String[] {"trigger.straggler.quorum", "trigger.gc.fraction",
            "trigger.fetchwait.fraction", "trigger.peak.fraction", "burst.budget"}) {
            if (number(share) > 1) {
                throw bad(share, "a number from 0 to 1");
            }
        }
        for (String window : new String[] {"trigger.gc.window", "trigger.fetchwait.window", "burst.duration"}) {
            atLeast(window, durationNs(window), 1_000_000_000L, "at least 1s");
        }
        atLeast("burst.interval", durationNs("burst.interval"), 1_000_000, "at least 1ms");
        atLeast("burst.wall.interval", durationNs("burst.wall.interval"), 1_000_000, "at least 1ms");
        atLeast("burst.alloc.interval", bytes("burst.alloc.interval"), 1024, "at least 1k");
        for (String method : list("methods")) {
            if (!method.matches("[\\w.$]+\\.[\\w$<>*]+")) {
                throw bad("methods", "full names such as java.lang.System.gc");
            }
        }
    }

    private void oneOf(String name, String... words) {
        if (!Arrays.asList(words).contains(values.get(name))) {
            throw bad(name, "one of " + Arrays.asList(words));
        }
    }

    private void atLeast(String name, long value, long least, String takes) {
        if (value < least) {
            throw bad(name, takes);
        }
    }

    private IllegalArgumentException bad(String name, String takes) {
        return new IllegalArgumentException(PREFIX + name + "=" + values.get(name) + ": it takes " + takes);
    }

    String text(String name) {
        return values.get(name);
    }

    boolean flag(String name) {
        String value = values.get(name).toLowerCase(Locale.ROOT);
        if (!value.equals("true") && !value.equals("false")) {
            throw bad(name, "true or false");
        }
        return value.equals("true");
    }

    int count(String name) {
        try {
            return Integer.parseInt(values.get(name));
        } catch (NumberFormatException e) {
            throw bad(name, "a whole number");
        }
    }

    double number(String name) {
        if (!values.get(name).matches("\\d{1,9}(\\.\\d{1,9})?")) {
            throw bad(name, "a number such as 0.5 or 3");
        }
        return Double.parseDouble(values.get(name));
    }

    Set<String> list(String name) {
        Set<String> items = new LinkedHashSet<>();
        for (String item : values.get(name).split(",")) {
            if (!item.trim().isEmpty()) {
                items.add(item.trim());
            }
        }
        return items;
    }

    boolean records(String event) {
        return list("events").contains(event);
    }

    long durationNs(String name) {
        Matcher m = DURATION.matcher(values.get(name).toLowerCase(Locale.ROOT));
        if (!m.matches() || m.group(1).length() > 9) {
            throw bad(name, "a duration such as 10ms, 30s or 1m");
        }
        return Long.parseLong(m.group(1)) * unitNs(m.group(2));
    }

    private static long unitNs(String unit) {
        switch (unit) {
            case "ns":
                return 1;
            case "us":
                return 1_000;
            case "ms":
                return 1_000_000;
            case "s":
                return 1_000_000_000L;
            case "m":
                return 60_000_000_000L;
            default:
                return 3_600_000_000_000L;
        }
    }

    long bytes(String name) {
        Matcher m = SIZE.matcher(values.get(name).toLowerCase(Locale.ROOT));
        if (!m.matches() || m.group(1).length() > 9) {
            throw bad(name, "a size such as 512k, 4m or 1g");
        }
        return Long.parseLong(m.group(1)) << (10 * (" kmg".indexOf(m.group(2).isEmpty() ? " " : m.group(2))));
    }

    boolean isDefault(String name) {
        for (Key key : KEYS) {
            if (key.name.equals(name)) {
                return key.fallback.equals(values.get(name));
            }
        }
        return false;
    }

    /** Every option with its value, by full key. */
    Map<String, String> resolved() {
        Map<String, String> all = new LinkedHashMap<>();
        values.forEach((name, value) -> all.put(PREFIX + name, value));
        return all;
    }

    /** Prints the options: name, type, default, since, meaning; tabs between, a line each. */
    public static void main(String[] args) {
        List<String> lines = new ArrayList<>();
        for (Key key : KEYS) {
            lines.add(String.join("\t", PREFIX + key.name, key.type.name().toLowerCase(Locale.ROOT), key.fallback,
                    key.since, key.doc));
        }
        System.out.println(String.join("\n", lines));
    }
}
