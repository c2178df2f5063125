package io.sparkprobe;

import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.ListenerNotFoundException;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This JVM's collections, from its own notifications: no flag, no restart. Concurrent cycles come as such and are told
 * apart from pauses. The JVM gives whole milliseconds.
 */
final class GcWatch implements NotificationListener {
    private static final Logger LOG = LoggerFactory.getLogger(GcWatch.class);
    /** At this many collections between two flushes the oldest are dropped. */
    private static final int BOUND = 20_000;
    private static final long RECENT_NS = 120_000_000_000L;

    /** One collection or concurrent cycle. */
    static final class Collection {
        final long startMs;
        final long startNs;
        final long durationNs;
        final boolean pause;
        final String collector;
        final String action;
        final String cause;
        final long heapBeforeBytes;
        final long heapAfterBytes;
        final long heapMaxBytes;

        Collection(long startMs, long startNs, long durationNs, boolean pause, String collector, String action,
                   String cause, long heapBeforeBytes, long heapAfterBytes, long heapMaxBytes) {
            this.startMs = startMs;
            this.startNs = startNs;
            this.durationNs = durationNs;
            this.pause = pause;
            this.collector = collector;
            this.action = action;
            this.cause = cause;
            this.heapBeforeBytes = heapBeforeBytes;
            this.heapAfterBytes = heapAfterBytes;
            this.heapMaxBytes = heapMaxBytes;
        }
    }

    private final ConcurrentLinkedQueue<Collection> collections = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private volatile long heapAfterBytes = -1;
    private volatile long explicitCalls;
    /** Start and end of the pauses of the last minute. */
    private final ArrayDeque<long[]> pauses = new ArrayDeque<>();

    void start() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (bean instanceof NotificationEmitter) {
                ((NotificationEmitter) bean).addNotificationListener(this, null, null);
            }
        }
    }

    void stop() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (bean instanceof NotificationEmitter) {
                try {
                    ((NotificationEmitter) bean).removeNotificationListener(this);
                } catch (ListenerNotFoundException e) {
                    // It was never added to this one.
                    continue;
                }
            }
        }
    }

    /** Heap used after the last collection, or -1 before the first. */
    long heapAfterBytes() {
        return heapAfterBytes;
    }

    /** Collections that {@code System.gc()} caused. */
    long explicitCalls() {
        return explicitCalls;
    }

    /** Share of the window before a time that was spent in pauses. */
    double pauseShare(long windowNs, long nowNs) {
        long paused = 0;
        synchronized (pauses) {
            for (long[] pause : pauses) {
                paused += Math.max(0, Math.min(pause[1], nowNs) - Math.max(pause[0], nowNs - windowNs));
            }
        }
        return paused / (double) windowNs;
    }

    /** Moves what came since the last call into the flush's tables. */
    void drainTo(Tables tables) {
        for (Collection c = collections.poll(); c != null; c = collections.poll()) {
            waiting.decrementAndGet();
            tables.addGc(c.startMs, c.startNs, c.durationNs, c.pause, c.collector, c.action, c.cause,
                    c.heapBeforeBytes, c.heapAfterBytes, c.heapMaxBytes);
        }
    }

    @Override
    public void handleNotification(Notification notification, Object handback) {
        try {
            if (GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION.equals(notification.getType())) {
                add(GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData()));
            }
        } catch (RuntimeException e) {
            // An exception here would end the JVM's notification thread.
            LOG.debug("spark_probe could not read a collection", e);
        }
    }

    private void add(GarbageCollectionNotificationInfo info) {
        GcInfo gc = info.getGcInfo();
        long agoMs = ManagementFactory.getRuntimeMXBean().getUptime() - gc.getStartTime();
        heapAfterBytes = heap(gc.getMemoryUsageAfterGc());
        long startNs = System.nanoTime() - agoMs * 1_000_000;
        long durationNs = gc.getDuration() * 1_000_000;
        boolean pause = isPause(info.getGcName(), info.getGcCause());
        if ("System.gc()".equals(info.getGcCause())) {
            explicitCalls++;
        }
        if (pause) {
            synchronized (pauses) {
                pauses.add(new long[] {startNs, startNs + durationNs});
                while (startNs - pauses.getFirst()[0] > RECENT_NS) {
                    pauses.removeFirst();
                }
            }
        }
        collections.add(new Collection(System.currentTimeMillis() - agoMs, startNs, durationNs, pause,
                info.getGcName(),
                info.getGcAction(), info.getGcCause(), heap(gc.getMemoryUsageBeforeGc()), heapAfterBytes,
                Runtime.getRuntime().maxMemory()));
        if (waiting.incrementAndGet() > BOUND && collections.poll() != null) {
            waiting.decrementAndGet();
        }
    }

    /**
     * ZGC and Shenandoah have a bean for cycles beside one for pauses; CMS reports a concurrent cycle with the cause
     * "No GC". All else stops the application.
     */
    static boolean isPause(String collector, String cause) {
        return !collector.endsWith("Cycles") && !(collector.equals("ConcurrentMarkSweep") && cause.equals("No GC"));
    }

    private static long heap(Map<String, MemoryUsage> pools) {
        long used = 0;
        for (Map.Entry<String, MemoryUsage> pool : pools.entrySet()) {
            String name = pool.getKey();
            if (!name.contains("Metaspace") && !name.contains("Code") && !name.contains("Class Space")) {
                used += pool.getValue().getUsed();
            }
        }
        return used;
    }
}
