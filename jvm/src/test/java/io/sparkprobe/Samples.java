package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/** What a digest counted, read back through the file that it becomes. */
final class Samples {
    final Map<String, List<Map<String, Object>>> tables;
    private final Map<Object, String> stacks = new HashMap<>();

    private Samples(Map<String, List<Map<String, Object>>> tables) {
        this.tables = tables;
        Map<Object, String> frames = new HashMap<>();
        for (Map<String, Object> frame : tables.get("frame")) {
            Object line = frame.get("line");
            frames.put(frame.get("id"), frame.get("name") + (line.equals(0) ? "" : ":" + line) + "/" + frame.get("type"));
        }
        for (Map<String, Object> stack : tables.get("stack")) {
            List<String> names = new ArrayList<>();
            for (Object id : (List<?>) stack.get("frames")) {
                names.add(frames.get(id));
            }
            stacks.put(stack.get("stack_hash"), String.join(";", names));
        }
    }

    static Samples of(Digest digest) throws IOException {
        return of(digest.finish());
    }

    static Samples of(Tables tables) throws IOException {
        return new Samples(ParquetRows.read(TablesWriter.write(tables, Collections.emptyMap())));
    }

    List<Map<String, Object>> rows() {
        return tables.get("sample");
    }

    /** Root first, {@code name:line/type;…}. */
    String stack(Map<String, Object> row) {
        String stack = stacks.get(row.get("stack_hash"));
        if (stack == null) {
            throw new AssertionError("a sample's stack is not in the file: " + row);
        }
        return stack;
    }

    long samples(Predicate<Map<String, Object>> which) {
        return sum("samples", which);
    }

    long value(Predicate<Map<String, Object>> which) {
        return sum("value", which);
    }

    private long sum(String column, Predicate<Map<String, Object>> which) {
        long sum = 0;
        for (Map<String, Object> row : rows()) {
            sum += which.test(row) ? (Long) row.get(column) : 0;
        }
        return sum;
    }

    static Predicate<Map<String, Object>> is(String column, Object value) {
        return row -> value.equals(row.get(column));
    }

    /** "event state task kind stack = samples value", summed over what is not named, sorted. */
    Map<String, String> byEverything() {
        Map<String, long[]> sums = new TreeMap<>();
        for (Map<String, Object> row : rows()) {
            String key = row.get("event") + " " + row.get("state") + " task " + row.get("task_id") + " "
                    + row.get("kind") + " " + stack(row);
            long[] sum = sums.computeIfAbsent(key, k -> new long[2]);
            sum[0] += (Long) row.get("samples");
            sum[1] += (Long) row.get("value");
        }
        Map<String, String> texts = new TreeMap<>();
        sums.forEach((key, sum) -> texts.put(key, sum[0] + " " + sum[1]));
        return texts;
    }
}
