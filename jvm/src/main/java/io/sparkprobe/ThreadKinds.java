package io.sparkprobe;

/** Names the kind of a thread that works for no task, from its name. */
final class ThreadKinds {
    private final boolean driver;

    /** @param driver whether this JVM is the driver: its own threads are then of kind {@code driver} */
    ThreadKinds(boolean driver) {
        this.driver = driver;
    }

    String of(String threadName) {
        return driver ? "driver" : "other";
    }
}
