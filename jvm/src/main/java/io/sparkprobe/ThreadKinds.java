package io.sparkprobe;

/**
 * Names the kind of a thread that works for no task, from its name. Names of native threads are cut at 15 characters
 * by Linux ({@code C2 CompilerThre}); Spark's and Netty's are those of Spark 3.5 to 4.x.
 */
final class ThreadKinds {
    static final String DRIVER = "driver";
    private static final String OTHER = "other";
    private static final String GC = "gc";
    static final String JIT = "jit";
    private static final String SHUFFLE_SERVER = "shuffle-server";
    private static final String NETTY = "netty";
    private static final String SPARK_INTERNAL = "spark-internal";
    private static final String PROBE = "probe";

    /** Prefix of a thread's name, its kind; the first that fits decides. */
    private static final String[][] KINDS = {
        {"spark-probe-", PROBE},
        {"Async-profiler", PROBE},
        // HotSpot. The VM thread runs stop-the-world operations, which are collections but for a few; with the serial
        // collector it is the collector.
        {"GC Thread", GC},
        {"G1 ", GC},
        {"VM Thread", GC},
        {"ParGC", GC},
        {"Gang worker", GC},
        {"Concurrent Mark", GC},
        {"CMS ", GC},
        {"Shenandoah", GC},
        {"ZWorker", GC},
        {"ZDriver", GC},
        {"ZDirector", GC},
        {"ZStat", GC},
        {"ZUncommit", GC},
        {"ZUnmap", GC},
        {"XWorker", GC},
        {"XDriver", GC},
        {"C1 Compiler", JIT},
        {"C2 Compiler", JIT},
        {"JVMCI", JIT},
        {"Sweeper thread", JIT},
        {"stdout writer for ", TaskTimeline.PYTHON_WRITER},
        {"shuffle-", SHUFFLE_SERVER},
        {"rpc-", NETTY},
        {"files-client-", NETTY},
        {"netty-", NETTY},
        {"nioEventLoop", NETTY},
        {"epollEventLoop", NETTY},
        {"Executor task launch worker", SPARK_INTERNAL},
        {"task-result-getter", SPARK_INTERNAL},
        {"task-", SPARK_INTERNAL},
        {"dispatcher-", SPARK_INTERNAL},
        {"dag-scheduler-event-loop", SPARK_INTERNAL},
        {"spark-listener-group-", SPARK_INTERNAL},
        {"executor-", SPARK_INTERNAL},
        {"driver-", SPARK_INTERNAL},
        {"heartbeat", SPARK_INTERNAL},
        {"block-manager-", SPARK_INTERNAL},
        {"map-output-", SPARK_INTERNAL},
        {"MapOutputTracker", SPARK_INTERNAL},
        {"kill-executor-thread", SPARK_INTERNAL},
        {"Task reaper", SPARK_INTERNAL},
        {"Spark Context Cleaner", SPARK_INTERNAL},
        {"context-cleaner-", SPARK_INTERNAL},
        {"element-tracking-store-worker", SPARK_INTERNAL},
        {"appStatus", SPARK_INTERNAL},
        {"SparkUI", SPARK_INTERNAL},
        {"globalEventExecutor", SPARK_INTERNAL},
        {"metrics-", SPARK_INTERNAL},
        {"push-", SPARK_INTERNAL},
        {"python-", SPARK_INTERNAL},
        {"Monitor for python", SPARK_INTERNAL},
        {"Worker Monitor for python", SPARK_INTERNAL},
        {"Idle Worker Monitor for python", SPARK_INTERNAL},
        {"Reader for python", SPARK_INTERNAL},
        {"stdout reader for ", SPARK_INTERNAL},
        {"stderr reader for ", SPARK_INTERNAL},
        {"shutdown-hook-", SPARK_INTERNAL},
    };
    /** What in a driver is the JVM's own rather than its work. */
    private static final String[] JVM_THREADS = {
        "Attach Listener", "Common-Cleaner", "Finalizer", "Notification Thread", "Reference Handler",
        "Service Thread", "Signal Dispatcher", "SIG", "VM Periodic Tas", "Monitor Deflati", "DestroyJavaVM", "[tid=",
    };

    private final boolean driver;

    /** @param driver whether this JVM is the driver: what is none of the above is then the driver's own work */
    ThreadKinds(boolean driver) {
        this.driver = driver;
    }

    /** The kind of a thread by its name, which is null where it is not known. */
    String of(String threadName) {
        if (threadName == null) {
            return OTHER;
        }
        for (String[] kind : KINDS) {
            if (threadName.startsWith(kind[0])) {
                return kind[1];
            }
        }
        return driver && !startsWithAny(threadName, JVM_THREADS) ? DRIVER : OTHER;
    }

    private static boolean startsWithAny(String name, String[] prefixes) {
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }
}
