package io.sparkprobe;

/** The bounds of one flush. At a bound the digest coarsens, first by time and then by task, and says so in a note. */
final class DigestLimits {
    /** Length of a time bucket in ms; 0 for none. */
    final long bucketMs;
    final int maxRows;
    final int maxStacks;
    /** Heap that the digest's tables may take, in bytes. */
    final long maxBytes;

    DigestLimits(long bucketMs, int maxRows, int maxStacks, long maxBytes) {
        this.bucketMs = bucketMs;
        this.maxRows = maxRows;
        this.maxStacks = maxStacks;
        this.maxBytes = maxBytes;
    }

    static DigestLimits defaults() {
        return new DigestLimits(10_000, 200_000, 100_000, 64L << 20);
    }
}
