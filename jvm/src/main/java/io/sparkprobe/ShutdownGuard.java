package io.sparkprobe;

/**
 * Lets the last flush out when the JVM ends: Spark's own hook does not wait for a plugin's shutdown. A cluster manager
 * gives from 250 ms (YARN) to 10 s (standalone) before it kills.
 */
final class ShutdownGuard {
    private final Thread hook;

    ShutdownGuard(ExecutorProbe probe) {
        hook = new Thread(() -> probe.stop(ExecutorProbe.LAST_FLUSH_MS), "spark-probe-shutdown");
    }

    void install() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    void remove() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook is running, or is about to and finds nothing to do.
            return;
        }
    }
}
