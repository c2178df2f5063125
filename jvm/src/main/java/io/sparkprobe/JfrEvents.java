package io.sparkprobe;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Walks over the events of a chunk. {@link #next} stops at those that are wanted and leaves their numbers in fields, so
 * that no object is made an event.
 */
final class JfrEvents {
    static final String EXECUTION_SAMPLE = "jdk.ExecutionSample";
    static final String WALL_CLOCK_SAMPLE = "profiler.WallClockSample";
    static final String ALLOC_IN_NEW_TLAB = "jdk.ObjectAllocationInNewTLAB";
    static final String ALLOC_OUTSIDE_TLAB = "jdk.ObjectAllocationOutsideTLAB";
    static final String ALLOC_SAMPLE = "jdk.ObjectAllocationSample";
    static final String MONITOR_ENTER = "jdk.JavaMonitorEnter";
    static final String THREAD_PARK = "jdk.ThreadPark";
    static final String METHOD_TRACE = "jdk.MethodTrace";
    static final String SPAN = "profiler.Span";
    private static final String ACTIVE_SETTING = "jdk.ActiveSetting";

    /** Numbers of an event that the digest reads; a field that an event has not reads as {@link #ABSENT}. */
    static final int TIME = 0;
    static final int DURATION = 1;
    static final int THREAD = 2;
    static final int STACK = 3;
    static final int STATE = 4;
    static final int SAMPLES = 5;
    static final int TIME_SPAN = 6;
    static final int CLASS = 7;
    static final int SIZE = 8;
    static final int TLAB_SIZE = 9;
    static final int TAG = 10;
    private static final int FIELDS = 11;
    static final long ABSENT = -1;
    private static final int SKIP = -1;

    private static final Map<String, Integer> FIELD_NAMES = new HashMap<>();

    static {
        FIELD_NAMES.put("startTime", TIME);
        FIELD_NAMES.put("duration", DURATION);
        FIELD_NAMES.put("eventThread", THREAD);
        FIELD_NAMES.put("sampledThread", THREAD);
        FIELD_NAMES.put("stackTrace", STACK);
        FIELD_NAMES.put("state", STATE);
        FIELD_NAMES.put("samples", SAMPLES);
        FIELD_NAMES.put("timeSpan", TIME_SPAN);
        FIELD_NAMES.put("objectClass", CLASS);
        FIELD_NAMES.put("monitorClass", CLASS);
        FIELD_NAMES.put("parkedClass", CLASS);
        FIELD_NAMES.put("allocationSize", SIZE);
        FIELD_NAMES.put("weight", SIZE);
        FIELD_NAMES.put("tlabSize", TLAB_SIZE);
        FIELD_NAMES.put("tag", TAG);
    }

    private final JfrChunk chunk;
    private final JfrCursor at;
    /** Type id -> code of a wanted event, or one of the codes below. */
    private final LongIntMap codes = new LongIntMap(256);
    private static final int SETTING = 16;
    private static final int IGNORED = 17;
    private final int[][] layouts = new int[SETTING][];
    private final JfrTypes.Type[] layoutTypes = new JfrTypes.Type[SETTING];
    private final JfrTypes.Type settingType;
    private final Map<String, String> settings = new LinkedHashMap<>();
    private final long[] fields = new long[FIELDS];
    private int nextPosition = JfrChunk.HEADER_BYTES;
    private long count;

    JfrEvents(JfrChunk chunk) {
        this.chunk = chunk;
        this.at = chunk.cursor(0);
        for (long id : chunk.types.ids()) {
            codes.put(id, IGNORED);
        }
        this.settingType = chunk.types.byName(ACTIVE_SETTING);
        if (settingType != null) {
            codes.put(settingType.id, SETTING);
        }
    }

    /** Asks for the events of a type; {@link #next} returns the code, 0 to 15. */
    void want(String eventName, int code) {
        JfrTypes.Type type = chunk.types.byName(eventName);
        if (type == null) {
            return;
        }
        int last = -1;
        int[] layout = new int[type.fields.size()];
        for (int i = 0; i < layout.length; i++) {
            JfrTypes.Field field = type.fields.get(i);
            Integer role = FIELD_NAMES.get(field.name);
            boolean number = field.constant || isVarLong(chunk.types.byId(field.type));
            layout[i] = role == null || !number || field.array ? SKIP : role;
            if (layout[i] != SKIP) {
                last = i;
            }
        }
        layouts[code] = Arrays.copyOf(layout, last + 1);
        layoutTypes[code] = type;
        codes.put(type.id, code);
    }

    private static boolean isVarLong(JfrTypes.Type type) {
        return type != null && ("long".equals(type.name) || "int".equals(type.name));
    }

    /**
     * The code of the next wanted event, -1 at the end of the chunk.
     *
     * @throws JfrFormatException if there is no event where one should be; the rest of the chunk is lost
     */
    int next() {
        int limit = at.limit();
        while (nextPosition < limit) {
            int position = nextPosition;
            at.position = position;
            int size = at.readVarInt();
            long type = at.readVarLong();
            if (size <= 0 || size > limit - position) {
                throw new JfrFormatException("an event of " + size + " bytes at " + position + " of " + limit);
            }
            nextPosition = position + size;
            if (type <= 1) {
                continue; // metadata and constants
            }
            count++;
            int code = codes.get(type);
            if (code == SETTING) {
                readSetting();
            } else if (code < 0) {
                throw new JfrFormatException("an event of the undeclared type " + type + " at " + position);
            } else if (code != IGNORED) {
                decode(code);
                return code;
            }
        }
        return -1;
    }

    private void decode(int code) {
        int[] layout = layouts[code];
        Arrays.fill(fields, ABSENT);
        for (int i = 0; i < layout.length; i++) {
            int role = layout[i];
            if (role >= 0) {
                fields[role] = at.readVarLong();
            } else {
                chunk.types.skip(at, layoutTypes[code].fields.get(i), 0);
            }
        }
    }

    private void readSetting() {
        String name = null;
        String value = null;
        for (JfrTypes.Field field : settingType.fields) {
            if ("name".equals(field.name)) {
                name = at.readString(chunk);
            } else if ("value".equals(field.name)) {
                value = at.readString(chunk);
            } else {
                chunk.types.skip(at, field, 0);
            }
        }
        if (name != null && value != null) {
            settings.put(name, value);
        }
    }

    long field(int field) {
        return fields[field];
    }

    /** The recording's settings that were passed so far. async-profiler writes them at a recording's start only. */
    Map<String, String> settings() {
        return settings;
    }

    /** Events passed so far, wanted or not. */
    long count() {
        return count;
    }
}
