package io.sparkprobe;

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

        Field(String name, long type, boolean constant, boolean array) {
            this.name = name;
            this.type = type;
            this.constant = constant;
            this.array = array;
        }
    }

    /** Deeper than any real metadata (root, metadata, class, field, annotation) or value. */
    private static final int MAX_DEPTH = 32;

    private final Map<Long, Type> byId = new HashMap<>();
    private final Map<String, Type> byName = new HashMap<>();

    /** Reads the metadata event at the cursor. */
    static JfrTypes read(JfrCursor in) {
        JfrTypes types = new JfrTypes();
        in.readVarInt(); // size of the event
        in.readVarInt(); // its type
        in.skipVarLong(); // start time
        in.skipVarLong(); // duration
        in.skipVarLong(); // metadata id
        String[] strings = new String[in.readCount(1)];
        for (int i = 0; i < strings.length; i++) {
            strings[i] = in.readString(null);
        }
        types.readElement(in, strings, null, 0);
        return types;
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
            if (field.constant) {
                in.skipVarLong();
                continue;
            }
            Type type = byId.get(field.type);
            if (type == null) {
                throw new JfrFormatException("the field " + field.name + " has a type that is not declared");
            }
            switch (type.name) {
                case "boolean":
                case "byte":
                    in.skip(1);
                    break;
                case "char":
                case "short":
                case "int":
                case "long":
                    in.skipVarLong();
                    break;
                case "float":
                    in.skip(4);
                    break;
                case "double":
                    in.skip(8);
                    break;
                case "java.lang.String":
                    in.skipString();
                    break;
                default:
                    skip(in, type, depth + 1);
            }
        }
    }
}
