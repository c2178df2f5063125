package io.sparkprobe;

/**
 * The clocks of one chunk. Ticks are {@code System.nanoTime()} where the recording was made with
 * {@code clock=monotonic}, which is what the probe asks for. Where they are something else (a CPU's time-stamp counter),
 * they are brought to {@code nanoTime} by way of the wall clock if this JVM made the recording; in a file from elsewhere
 * nothing is known of its {@code nanoTime}, and the wall clock in ns takes its place.
 */
final class ChunkClock {
    private static final long NS_PER_SECOND = 1_000_000_000L;
    private static final long NS_PER_MS = 1_000_000L;

    private final boolean monotonic;
    private final long startTicks;
    private final double nsPerTick;
    private final long startMonoNs;
    private final long epochOffsetNs;

    /** @param ofThisJvm whether {@code System.nanoTime()} here is the clock of the recording's JVM */
    ChunkClock(JfrChunk chunk, boolean ofThisJvm) {
        this.monotonic = chunk.ticksPerSec == NS_PER_SECOND;
        this.startTicks = chunk.startTicks;
        this.nsPerTick = (double) NS_PER_SECOND / chunk.ticksPerSec;
        if (monotonic) {
            startMonoNs = startTicks;
        } else if (ofThisJvm) {
            startMonoNs = System.nanoTime() - (System.currentTimeMillis() * NS_PER_MS - chunk.startEpochNs);
        } else {
            startMonoNs = chunk.startEpochNs;
        }
        this.epochOffsetNs = chunk.startEpochNs - startMonoNs;
    }

    long monoNs(long ticks) {
        return monotonic ? ticks : startMonoNs + durationNs(ticks - startTicks);
    }

    long durationNs(long ticks) {
        return monotonic ? ticks : (long) (ticks * nsPerTick);
    }

    long epochNs(long monoNs) {
        return monoNs + epochOffsetNs;
    }

    long epochMs(long monoNs) {
        return Math.floorDiv(epochNs(monoNs), NS_PER_MS);
    }

    /** The start of the time bucket, in epoch ms, that a time lies in. */
    long bucketMs(long monoNs, long lengthMs) {
        long ms = epochMs(monoNs);
        return ms - Math.floorMod(ms, lengthMs);
    }

    /** The first time after a bucket, in mono ns. */
    long bucketEndNs(long bucketMs, long lengthMs) {
        return (bucketMs + lengthMs) * NS_PER_MS - epochOffsetNs;
    }
}
