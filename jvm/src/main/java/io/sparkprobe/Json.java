package io.sparkprobe;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.util.Collection;
import java.util.Map;

/** Writes maps, collections, strings, numbers and booleans as JSON, with the generator that Spark carries. */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {
    }

    static String of(Object value) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = FACTORY.createGenerator(text)) {
            write(json, value);
        } catch (IOException e) {
            throw new IllegalStateException("a StringWriter does not fail", e);
        }
        return text.toString();
    }

    private static void write(JsonGenerator json, Object value) throws IOException {
        if (value instanceof Map) {
            json.writeStartObject();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                json.writeFieldName(String.valueOf(entry.getKey()));
                write(json, entry.getValue());
            }
            json.writeEndObject();
        } else if (value instanceof Collection) {
            json.writeStartArray();
            for (Object item : (Collection<?>) value) {
                write(json, item);
            }
            json.writeEndArray();
        } else if (value == null) {
            json.writeNull();
        } else if (value instanceof Boolean) {
            json.writeBoolean((Boolean) value);
        } else if (value instanceof Double) {
            json.writeNumber((Double) value);
        } else if (value instanceof Number) {
            json.writeNumber(((Number) value).longValue());
        } else {
            json.writeString(value.toString());
        }
    }
}
