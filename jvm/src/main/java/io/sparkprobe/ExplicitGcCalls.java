package io.sparkprobe;

import java.util.ArrayList;
import java.util.List;

/**
 * Who called {@code System.gc()}, from the calls that the base recording traces. Spark's ContextCleaner does it on the
 * driver every 30 minutes, on purpose: its calls are left out.
 */
final class ExplicitGcCalls {
    private static final String CALL = "java.lang.System.gc";
    private static final String CLEANER = "org.apache.spark.ContextCleaner";

    /** Calls of one task from one place. */
    static final class Call {
        final long taskId;
        final long calls;
        final String caller;

        Call(long taskId, long calls, String caller) {
            this.taskId = taskId;
            this.calls = calls;
            this.caller = caller;
        }
    }

    private ExplicitGcCalls() {
    }

    static List<Call> in(Tables tables) {
        Table samples = table(tables, "sample");
        List<Call> calls = new ArrayList<>();
        Table.Runs event = (Table.Runs) column(samples, "event");
        if (!event.distinct().contains("method")) {
            return calls;
        }
        Object[] events = event.values();
        Object[] tasks = ((Table.Runs) column(samples, "task_id")).values();
        for (int row = 0; row < samples.rows(); row++) {
            if ("method".equals(events[row])) {
                String caller = caller(tables, longs(samples, "stack_hash").get(row));
                if (caller != null && !caller.startsWith(CLEANER)) {
                    calls.add(new Call((Long) tasks[row], longs(samples, "samples").get(row), caller));
                }
            }
        }
        return calls;
    }

    /** The frame that called System.gc() in a stack, or null where the stack has no such call. */
    private static String caller(Tables tables, long hash) {
        Table stacks = table(tables, "stack");
        Table.Longs hashes = longs(stacks, "stack_hash");
        Table.IntLists frames = (Table.IntLists) column(stacks, "frames");
        Table.Strings names = (Table.Strings) column(table(tables, "frame"), "name");
        for (int row = 0; row < stacks.rows(); row++) {
            if (hashes.get(row) == hash) {
                for (int i = frames.end(row) - 1; i > frames.start(row); i--) {
                    if (CALL.equals(names.get(frames.get(i)))) {
                        return names.get(frames.get(i - 1));
                    }
                }
            }
        }
        return null;
    }

    private static Table table(Tables tables, String name) {
        for (Table table : tables.all()) {
            if (table.name.equals(name)) {
                return table;
            }
        }
        throw new IllegalArgumentException(name);
    }

    private static Table.Column column(Table table, String name) {
        for (Table.Column column : table.columns) {
            if (column.name.equals(name)) {
                return column;
            }
        }
        throw new IllegalArgumentException(name);
    }

    private static Table.Longs longs(Table table, String name) {
        return (Table.Longs) column(table, name);
    }
}
