package io.sparkprobe;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The types of a chunk as its metadata event declares them: how to walk over values and events. */
final class JfrTypes {
    /** A class of the metadata: of events, of pool constants, or a primitive. */
    static final class Type {
        final long id;
        final String name;
        final List<Field> fields = new ArrayList<>();

        Type(long id, String name) {
            this.id = id;
            this.name = name;
        }

        int field(String fieldName) {
            for (int i = 0; i < fields.size(); i++) {
                if (fields.get(i).name.equals(fieldName)) {
                    return i;
                }
            }
            return -1;
        }
    }

    static final class Field {
        final String name;
        final long type;
        final boolean constant;
        final boolean array;
        /** How its value is written; of the kinds below. */
        private int kind = UNDECLARED;

        Field(String name, long type, boolean constant, boolean array) {
            this.name = name;
            this.type = type;
            this.constant = constant;
            this.array = array;
        }
    }

    private static final int UNDECLARED = 0;
    private static final int VARLONG = 1;
    private static final int BYTE = 2;
    private static final int FLOAT = 3;
    private static final int DOUBLE = 4;
    private static final int STRING = 5;
    private static final int STRUCT = 6;

    /** Deeper than any real metadata (root, metadata, class, field, annotation) or value. */
    private static final int MAX_DEPTH = 32;

    private final Map<Long, Type> byId = new HashMap<>();
    private final Map<String, Type> byName = new HashMap<>();
    private ByteBuffer source;

    /**
     * Reads the metadata event at the cursor.
     *
     * @param before the types of another chunk, or null; they are the result if this chunk declares the same, as the
     *               chunks of a file do
     */
    static JfrTypes read(JfrCursor in, JfrTypes before) {
        int start = in.position;
        int end = start + in.readVarInt();
        in.readVarInt(); // type of the event
        in.skipVarLong(); // start time
        in.skipVarLong(); // duration
        in.skipVarLong(); // metadata id
        JfrTypes types = new JfrTypes();
        types.source = in.slice(in.position, end);
        if (before != null && before.source.equals(types.source)) {
            return before;
        }
        String[] strings = new String[in.readCount(1)];
        for (int i = 0; i < strings.length; i++) {
            strings[i] = in.readString(null);
        }
        types.readElement(in, strings, null, 0);
        for (Type type : types.byId.values()) {
            for (Field field : type.fields) {
                field.kind = types.kind(field);
            }
        }
        return types;
    }

    private int kind(Field field) {
        Type type = byId.get(field.type);
        if (field.constant || type == null) {
            return field.constant ? VARLONG : UNDECLARED;
        }
        switch (type.name) {
            case "boolean":
            case "byte":
                return BYTE;
            case "char":
            case "short":
            case "int":
            case "long":
                return VARLONG;
            case "float":
                return FLOAT;
            case "double":
                return DOUBLE;
            case "java.lang.String":
                return STRING;
            default:
                return STRUCT;
        }
    }

    private void readElement(JfrCursor in, String[] strings, Type parent, int depth) {
        if (depth > MAX_DEPTH) {
            throw new JfrFormatException("metadata nested too deep at byte " + in.position);
        }
        String element = readName(in, strings);
        Map<String, String> attributes = new HashMap<>();
        for (int n = in.readCount(2); n > 0; n--) {
            String key = readName(in, strings);
            attributes.put(key, readName(in, strings));
        }
        Type type = parent;
        if ("class".equals(element)) {
            type = new Type(id(attributes.get("id")), attributes.get("name"));
            byId.put(type.id, type);
            byName.put(type.name, type);
        } else if ("field".equals(element) && parent != null) {
            parent.fields.add(new Field(String.valueOf(attributes.get("name")), id(attributes.get("class")),
                    "true".equals(attributes.get("constantPool")), attributes.containsKey("dimension")));
        }
        for (int n = in.readCount(3); n > 0; n--) {
            readElement(in, strings, type, depth + 1);
        }
    }

    private static String readName(JfrCursor in, String[] strings) {
        int index = in.readVarInt();
        if (index < 0 || index >= strings.length) {
            throw new JfrFormatException("metadata refers to a string that is not there, at byte " + in.position);
        }
        return strings[index];
    }

    private static long id(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new JfrFormatException("metadata has the type id " + text);
        }
    }

    Type byId(long id) {
        return byId.get(id);
    }

    Iterable<Long> ids() {
        return byId.keySet();
    }

    Type byName(String name) {
        return byName.get(name);
    }

    /** Moves the cursor over one value of a type. */
    void skip(JfrCursor in, Type type, int depth) {
        if (depth > MAX_DEPTH) {
            throw new JfrFormatException("values nested too deep at byte " + in.position);
        }
        for (int i = 0; i < type.fields.size(); i++) {
            skip(in, type.fields.get(i), depth);
        }
    }

    void skip(JfrCursor in, Field field, int depth) {
        for (int n = field.array ? in.readCount(1) : 1; n > 0; n--) {
            switch (field.kind) {
                case VARLONG:
                    in.skipVarLong();
                    break;
                case BYTE:
                    in.skip(1);
                    break;
                case FLOAT:
                    in.skip(4);
                    break;
                case DOUBLE:
                    in.skip(8);
                    break;
                case STRING:
                    in.skipString();
                    break;
                case STRUCT:
                    skip(in, byId.get(field.type), depth + 1);
                    break;
                default:
                    throw new JfrFormatException("the field " + field.name + " has a type that is not declared");
            }
        }
    }
}
