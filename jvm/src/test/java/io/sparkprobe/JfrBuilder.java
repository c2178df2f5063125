package io.sparkprobe;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes a JFR chunk as async-profiler does, event by event, so that a test knows what is in it. */
final class JfrBuilder {
    static final int DEFAULT = 0;
    static final int RUNNABLE = 1;
    static final int SLEEPING = 2;

    private static final String LONG = "long";
    private static final String STRING = "java.lang.String";
    private static final String THREAD = "java.lang.Thread";
    private static final String CLASS = "java.lang.Class";
    private static final String SYMBOL = "jdk.types.Symbol";
    private static final String METHOD = "jdk.types.Method";
    private static final String STACK = "jdk.types.StackTrace";
    private static final String STATE = "jdk.types.ThreadState";
    private static final String FRAME_TYPE = "jdk.types.FrameType";
    private static final int CHECKPOINT = 1;

    /** Type -> its fields, each "name:type", with a * where the field is a constant's id. */
    private final Map<String, String[]> types = new LinkedHashMap<>();
    private final List<String> typeIds = new ArrayList<>();
    private final Map<String, List<byte[]>> pools = new LinkedHashMap<>();
    private final Map<String, Long> symbols = new LinkedHashMap<>();
    private final Bytes events = new Bytes();

    private long startTicks = 1_000_000_000_000L;
    private long ticksPerSec = 1_000_000_000L;
    private long startEpochNs = 1_700_000_000_000_000_000L;
    private long durationNs = 30_000_000_000L;

    JfrBuilder() {
        for (String primitive : new String[] {"boolean", "int", LONG, "float", STRING}) {
            type(primitive);
        }
        type(CLASS, "classLoader:*" + CLASS, "name:*" + SYMBOL, "package:*" + SYMBOL, "modifiers:int");
        type(THREAD, "osName:" + STRING, "osThreadId:long", "javaName:" + STRING, "javaThreadId:long");
        type(SYMBOL, "string:" + STRING);
        type(METHOD, "type:*" + CLASS, "name:*" + SYMBOL, "descriptor:*" + SYMBOL, "modifiers:int", "hidden:boolean");
        type(STACK, "truncated:boolean", "frames:[]jdk.types.StackFrame");
        type("jdk.types.StackFrame", "method:*" + METHOD, "lineNumber:int", "bytecodeIndex:int", "type:*" + FRAME_TYPE);
        type(STATE, "name:" + STRING);
        type(FRAME_TYPE, "description:" + STRING);
        event("jdk.ActiveSetting", "id:long", "name:" + STRING, "value:" + STRING);
        event("jdk.CPULoad", "jvmUser:float", "jvmSystem:float", "machineTotal:float");
        event(JfrEvents.EXECUTION_SAMPLE, "sampledThread:*" + THREAD, "stackTrace:*" + STACK, "state:*" + STATE);
        wallWithSpan(true);
        event(JfrEvents.ALLOC_IN_NEW_TLAB, "eventThread:*" + THREAD, "stackTrace:*" + STACK, "objectClass:*" + CLASS,
                "allocationSize:long", "tlabSize:long");
        event(JfrEvents.ALLOC_OUTSIDE_TLAB, "eventThread:*" + THREAD, "stackTrace:*" + STACK, "objectClass:*" + CLASS,
                "allocationSize:long");
        event(JfrEvents.ALLOC_SAMPLE, "eventThread:*" + THREAD, "stackTrace:*" + STACK, "objectClass:*" + CLASS,
                "weight:long");
        event(JfrEvents.MONITOR_ENTER, "duration:long", "eventThread:*" + THREAD, "stackTrace:*" + STACK,
                "monitorClass:*" + CLASS, "previousOwner:*" + THREAD, "address:long");
        event(JfrEvents.THREAD_PARK, "duration:long", "eventThread:*" + THREAD, "stackTrace:*" + STACK,
                "parkedClass:*" + CLASS, "timeout:long", "until:long", "address:long");
        event(JfrEvents.METHOD_TRACE, "duration:long", "eventThread:*" + THREAD, "stackTrace:*" + STACK,
                "method:*" + METHOD);
        event(JfrEvents.SPAN, "duration:long", "eventThread:*" + THREAD, "tag:*" + STRING);
        names(STATE, "STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING");
        names(FRAME_TYPE, "Interpreted", "JIT compiled", "Inlined", "Native", "C++", "Kernel", "C1 compiled");
    }

    private void type(String name, String... fields) {
        if (!types.containsKey(name)) {
            typeIds.add(name);
        }
        types.put(name, fields);
    }

    private void event(String name, String... fields) {
        List<String> all = new ArrayList<>(Arrays.asList(fields));
        all.add(0, "startTime:long");
        type(name, all.toArray(new String[0]));
    }

    private int typeId(String name) {
        return 20 + typeIds.indexOf(name);
    }

    /** Whether wall samples have a timeSpan, as from async-profiler 4.3 on. */
    JfrBuilder wallWithSpan(boolean withSpan) {
        List<String> fields = new ArrayList<>(Arrays.asList("sampledThread:*" + THREAD, "stackTrace:*" + STACK,
                "state:*" + STATE, "samples:int"));
        if (withSpan) {
            fields.add("timeSpan:long");
        }
        event(JfrEvents.WALL_CLOCK_SAMPLE, fields.toArray(new String[0]));
        return this;
    }

    JfrBuilder clock(long ticks, long perSec, long epochNs, long lengthNs) {
        startTicks = ticks;
        ticksPerSec = perSec;
        startEpochNs = epochNs;
        durationNs = lengthNs;
        return this;
    }

    JfrBuilder setting(String name, String value) {
        return raw("jdk.ActiveSetting", new Bytes().varint(startTicks).varint(typeId("jdk.ActiveSetting")).text(name)
                .text(value));
    }

    /** An event of numbers, in the order of its fields. */
    JfrBuilder add(String event, long... numbers) {
        Bytes body = new Bytes();
        for (long number : numbers) {
            body.varint(number);
        }
        return raw(event, body);
    }

    JfrBuilder cpuLoad() {
        return raw("jdk.CPULoad", new Bytes().varint(startTicks).raw(new byte[12]));
    }

    private JfrBuilder raw(String event, Bytes body) {
        Bytes typed = new Bytes().varint(typeId(event)).raw(body.toByteArray());
        events.varint(typed.size() + (typed.size() + 1 < 128 ? 1 : 2)).raw(typed.toByteArray());
        return this;
    }

    JfrBuilder thread(long id, String name, long javaId) {
        return constant(THREAD, id, new Bytes().text(name).varint(id).text(javaId == 0 ? null : name).varint(javaId));
    }

    JfrBuilder classRef(long id, String internalName) {
        return constant(CLASS, id, new Bytes().varint(0).varint(symbol(internalName)).varint(0).varint(1));
    }

    JfrBuilder method(long id, long classId, String name) {
        return constant(METHOD, id,
                new Bytes().varint(classId).varint(symbol(name)).varint(symbol("()V")).varint(1).raw(new byte[1]));
    }

    /** @param frames leaf first: method id, line and type of each */
    JfrBuilder stack(long id, int... frames) {
        Bytes body = new Bytes().raw(new byte[1]).varint(frames.length / 3);
        for (int i = 0; i < frames.length; i += 3) {
            body.varint(frames[i]).varint(frames[i + 1]).varint(7).varint(frames[i + 2]);
        }
        return constant(STACK, id, body);
    }

    JfrBuilder string(long id, String text) {
        return constant(STRING, id, new Bytes().text(text));
    }

    private long symbol(String text) {
        Long known = symbols.get(text);
        if (known == null) {
            known = 1L + symbols.size();
            symbols.put(text, known);
            constant(SYMBOL, known, new Bytes().text(text));
        }
        return known;
    }

    private void names(String type, String... labels) {
        for (int i = 0; i < labels.length; i++) {
            constant(type, i, new Bytes().text(labels[i]));
        }
    }

    private JfrBuilder constant(String type, long id, Bytes body) {
        pools.computeIfAbsent(type, t -> new ArrayList<>())
                .add(new Bytes().varint(id).raw(body.toByteArray()).toByteArray());
        return this;
    }

    byte[] build() {
        Bytes metadata = metadata();
        Bytes constants = new Bytes().varint(CHECKPOINT).varint(startTicks).varint(0).varint(0).varint(1)
                .varint(pools.size());
        pools.forEach((type, entries) -> {
            constants.varint(typeId(type)).varint(entries.size());
            entries.forEach(constants::raw);
        });
        byte[] checkpoint = sized(constants);
        byte[] meta = sized(metadata);
        int poolPosition = JfrChunk.HEADER_BYTES + meta.length + events.size();
        ByteBuffer chunk = ByteBuffer.allocate(poolPosition + checkpoint.length);
        chunk.put(new byte[] {'F', 'L', 'R', 0}).putShort((short) 2).putShort((short) 0);
        chunk.putLong(chunk.capacity()).putLong(poolPosition).putLong(JfrChunk.HEADER_BYTES);
        chunk.putLong(startEpochNs).putLong(durationNs).putLong(startTicks).putLong(ticksPerSec).putInt(1);
        chunk.put(meta).put(events.toByteArray()).put(checkpoint);
        return chunk.array();
    }

    private Bytes metadata() {
        List<String> strings = new ArrayList<>();
        Bytes elements = new Bytes();
        elements.varint(index(strings, "root")).varint(0).varint(1);
        elements.varint(index(strings, "metadata")).varint(0).varint(types.size());
        for (Map.Entry<String, String[]> type : types.entrySet()) {
            elements.varint(index(strings, "class")).varint(2);
            elements.varint(index(strings, "id")).varint(index(strings, "" + typeId(type.getKey())));
            elements.varint(index(strings, "name")).varint(index(strings, type.getKey()));
            elements.varint(type.getValue().length);
            for (String field : type.getValue()) {
                addField(elements, strings, field.split(":"));
            }
        }
        Bytes event = new Bytes().varint(0).varint(startTicks).varint(0).varint(1).varint(strings.size());
        strings.forEach(event::text);
        return event.raw(elements.toByteArray());
    }

    private void addField(Bytes elements, List<String> strings, String[] nameAndType) {
        String type = nameAndType[1];
        boolean constant = type.startsWith("*");
        boolean array = type.startsWith("[]");
        elements.varint(index(strings, "field")).varint(constant || array ? 3 : 2);
        elements.varint(index(strings, "name")).varint(index(strings, nameAndType[0]));
        String plain = type.substring(constant ? 1 : array ? 2 : 0);
        elements.varint(index(strings, "class")).varint(index(strings, "" + typeId(plain)));
        if (constant) {
            elements.varint(index(strings, "constantPool")).varint(index(strings, "true"));
        } else if (array) {
            elements.varint(index(strings, "dimension")).varint(index(strings, "1"));
        }
        elements.varint(0);
    }

    private static int index(List<String> strings, String text) {
        if (!strings.contains(text)) {
            strings.add(text);
        }
        return strings.indexOf(text);
    }

    /** An event's size counts itself; async-profiler writes it in five bytes here. */
    private static byte[] sized(Bytes body) {
        int size = body.size() + 5;
        Bytes out = new Bytes();
        for (int i = 0; i < 4; i++) {
            out.raw(new byte[] {(byte) (size >>> 7 * i & 0x7f | 0x80)});
        }
        return out.raw(new byte[] {(byte) (size >>> 28)}).raw(body.toByteArray()).toByteArray();
    }

    private static final class Bytes extends ByteArrayOutputStream {
        Bytes varint(long value) {
            long left = value;
            for (int i = 0; i < 8 && (left & ~0x7fL) != 0; i++, left >>>= 7) {
                write((int) (left & 0x7f | 0x80));
            }
            write((int) left);
            return this;
        }

        Bytes text(String text) {
            if (text == null) {
                write(0);
                return this;
            }
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            write(3);
            return varint(utf8.length).raw(utf8);
        }

        Bytes raw(byte[] bytes) {
            write(bytes, 0, bytes.length);
            return this;
        }
    }
}
