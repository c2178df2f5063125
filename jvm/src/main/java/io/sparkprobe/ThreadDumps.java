package io.sparkprobe;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;

/** The stack of a thread with the locks that it holds and waits for, and that of the thread it waits for. */
final class ThreadDumps {
    /** A dump: a row of the table {@code dump}. */
    static final class Dump {
        final long timeMs = System.currentTimeMillis();
        final long timeNs = System.nanoTime();
        final TaskInfo task;
        final long triggerTimeNs;
        final String thread;
        final String state;
        final String text;

        Dump(TaskInfo task, long triggerTimeNs, String thread, String state, String text) {
            this.task = task;
            this.triggerTimeNs = triggerTimeNs;
            this.thread = thread;
            this.state = state;
            this.text = text;
        }

        void addTo(Tables tables) {
            tables.addDump(timeMs, timeNs, task.taskId, task.stageId, task.stageAttempt, triggerTimeNs, thread, state,
                    text);
        }
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private ThreadDumps() {
    }

    /** Null where the thread has ended. */
    static Dump of(TaskInfo task, long triggerTimeNs) {
        ThreadInfo info = info(task.javaThreadId);
        if (info == null) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        write(info, text);
        ThreadInfo owner = info.getLockOwnerId() < 0 ? null : info(info.getLockOwnerId());
        if (owner != null) {
            text.append("\nowner of what it waits for:\n");
            write(owner, text);
        }
        return new Dump(task, triggerTimeNs, info.getThreadName(), info.getThreadState().name(), text.toString());
    }

    private static ThreadInfo info(long threadId) {
        return THREADS.getThreadInfo(new long[] {threadId}, THREADS.isObjectMonitorUsageSupported(),
                THREADS.isSynchronizerUsageSupported())[0];
    }

    private static void write(ThreadInfo info, StringBuilder text) {
        text.append('"').append(info.getThreadName()).append("\" ").append(info.getThreadState());
        if (info.getLockInfo() != null) {
            text.append(" waiting for ").append(name(info.getLockInfo()));
        }
        if (info.getLockOwnerName() != null) {
            text.append(" owned by \"").append(info.getLockOwnerName()).append('"');
        }
        text.append('\n');
        StackTraceElement[] stack = info.getStackTrace();
        for (int i = 0; i < stack.length; i++) {
            text.append("    at ").append(stack[i]).append('\n');
            for (MonitorInfo monitor : info.getLockedMonitors()) {
                if (monitor.getLockedStackDepth() == i) {
                    text.append("    - holds ").append(name(monitor)).append('\n');
                }
            }
        }
        for (LockInfo lock : info.getLockedSynchronizers()) {
            text.append("    - holds ").append(name(lock)).append('\n');
        }
    }

    private static String name(LockInfo lock) {
        return lock.getClassName() + "@" + Integer.toHexString(lock.getIdentityHashCode());
    }
}
