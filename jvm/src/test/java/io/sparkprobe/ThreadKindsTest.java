package io.sparkprobe;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class ThreadKindsTest {
    /** A thread's name, its kind on an executor, its kind on the driver. */
    private static final String[][] KINDS = {
        {"GC Thread#0", "gc", "gc"},
        {"G1 Conc#0", "gc", "gc"},
        {"VM Thread", "gc", "gc"},
        {"ZDriverMinor", "gc", "gc"},
        {"C2 CompilerThre", "jit", "jit"},
        {"C1 CompilerThread0", "jit", "jit"},
        {"stdout writer for python3", "python-writer", "python-writer"},
        {"shuffle-server-5-1", "shuffle-server", "shuffle-server"},
        {"rpc-client-1-1", "netty", "netty"},
        {"netty-rpc-env-timeout", "netty", "netty"},
        {"dispatcher-event-loop-0", "spark-internal", "spark-internal"},
        {"executor-heartbeater", "spark-internal", "spark-internal"},
        {"Executor task launch worker for task 0.0 in stage 1.0 (TID 4)", "spark-internal", "spark-internal"},
        {"dag-scheduler-event-loop", "spark-internal", "spark-internal"},
        {"spark-probe-flush", "probe", "probe"},
        {"main", "other", "driver"},
        {"Thread-4", "other", "driver"},
        {"broadcast-exchange-0", "other", "driver"},
        {"Signal Dispatcher", "other", "other"},
        {"[tid=4711]", "other", "other"},
        {null, "other", "other"},
    };

    @Test
    public void byName() {
        for (String[] row : KINDS) {
            assertEquals(row[0], row[1], new ThreadKinds(false).of(row[0]));
            assertEquals(row[0], row[2], new ThreadKinds(true).of(row[0]));
        }
    }
}
