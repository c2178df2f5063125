package io.sparkprobe;

/** Whether the heap has room for a digest: the probe must never be the one that runs an executor out of memory. */
final class Heap {
    private static final long FLOOR_BYTES = 48L << 20;
    /** Above this share of the heap in use after a collection there is nothing that a collection could free. */
    private static final double FULL = 0.85;

    private Heap() {
    }

    /**
     * @param neededBytes what the work will allocate
     * @param afterLastGcBytes heap used after the last collection, -1 where there was none
     */
    static boolean hasRoom(long neededBytes, long afterLastGcBytes) {
        Runtime runtime = Runtime.getRuntime();
        long max = runtime.maxMemory();
        return hasRoom(neededBytes, max, runtime.totalMemory() - runtime.freeMemory(), afterLastGcBytes);
    }

    static boolean hasRoom(long neededBytes, long maxBytes, long usedBytes, long afterLastGcBytes) {
        long needed = neededBytes + FLOOR_BYTES;
        if (maxBytes - usedBytes >= needed) {
            return true;
        }
        return afterLastGcBytes >= 0 && afterLastGcBytes < maxBytes * FULL && maxBytes - afterLastGcBytes >= needed;
    }
}
