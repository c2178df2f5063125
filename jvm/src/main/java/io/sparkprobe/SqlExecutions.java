package io.sparkprobe;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The driver's SQL executions, for {@link SqlTimeline}. While one is open, all of the driver's own work is filed under
 * it. Where they overlap, an execution is tied to its thread, which is the one inside
 * {@code SQLExecution.withNewExecutionId} that no other open execution has; if that cannot be told, the last one wins.
 * What Spark does before it announces an execution (its planning) is filed under none.
 */
final class SqlExecutions {
    private static final String ENTRY = "org.apache.spark.sql.execution.SQLExecution$";
    private static final int BOUND = 10_000;

    private static final Map<Long, SqlTimeline.Execution> OPEN = new HashMap<>();
    private static final List<SqlTimeline.Execution> ENDED = new ArrayList<>();

    private SqlExecutions() {
    }

    static synchronized void started(long executionId, long timeMs) {
        long thread = OPEN.isEmpty() ? SqlTimeline.ANY_THREAD : threadOfNewest();
        OPEN.put(executionId, new SqlTimeline.Execution(executionId, thread, monoNs(timeMs), Long.MAX_VALUE));
    }

    static synchronized void ended(long executionId, long timeMs) {
        SqlTimeline.Execution open = OPEN.remove(executionId);
        if (open != null) {
            ENDED.add(new SqlTimeline.Execution(executionId, open.javaThreadId, open.startNs, monoNs(timeMs)));
            if (ENDED.size() > BOUND) {
                ENDED.subList(0, BOUND / 2).clear();
            }
        }
    }

    /** Null where this JVM ran none. */
    static synchronized SqlTimeline timeline() {
        if (OPEN.isEmpty() && ENDED.isEmpty()) {
            return null;
        }
        List<SqlTimeline.Execution> all = new ArrayList<>(ENDED);
        all.addAll(OPEN.values());
        return SqlTimeline.of(all);
    }

    static synchronized void forgetBefore(long monoNs) {
        ENDED.removeIf(execution -> execution.endNs < monoNs);
    }

    static synchronized void clear() {
        OPEN.clear();
        ENDED.clear();
    }

    private static long monoNs(long timeMs) {
        return System.nanoTime() - (System.currentTimeMillis() - timeMs) * 1_000_000;
    }

    private static long threadOfNewest() {
        Set<Long> taken = new HashSet<>();
        for (SqlTimeline.Execution open : OPEN.values()) {
            taken.add(open.javaThreadId);
        }
        long found = SqlTimeline.ANY_THREAD;
        for (Map.Entry<Thread, StackTraceElement[]> thread : Thread.getAllStackTraces().entrySet()) {
            if (!taken.contains(thread.getKey().getId()) && isInside(thread.getValue())) {
                if (found != SqlTimeline.ANY_THREAD) {
                    return SqlTimeline.ANY_THREAD;
                }
                found = thread.getKey().getId();
            }
        }
        return found;
    }

    private static boolean isInside(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            if (frame.getClassName().equals(ENTRY) && frame.getMethodName().contains("withNewExecutionId")) {
                return true;
            }
        }
        return false;
    }
}
