package io.sparkprobe;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.TaskContext;

/**
 * The threads that feed Python workers. Up to Spark 3.5 what feeds a Python UDF (its scan, its hashing) runs on a thread
 * "stdout writer for python" of its own, which holds the task's TaskContext; it is lent to that task. Spark 4 has none.
 *
 * <p>That a task made a thread is learnt from an inheritable thread-local, which Java asks for the child's value in the
 * moment it makes the thread. The threads are then looked through within a few milliseconds, so that nothing is polled
 * while no task makes any. A Java thread's id is never used again, so an interval needs no end.
 */
final class PythonWriters {
    private static final String WRITER = "org.apache.spark.api.python.BasePythonRunner";
    private static final long DEBOUNCE_MS = 3;
    /** A thread is made before it is started, and may not be seen at the first look. */
    private static final int LOOKS = 3;

    private final TaskSpans spans;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition made = lock.newCondition();
    private final Map<Long, TaskTimeline.Interval> known = new HashMap<>();
    private final Map<Class<?>, Field> contextFields = new HashMap<>();
    private final InheritableThreadLocal<Boolean> inTask = new InheritableThreadLocal<Boolean>() {
        @Override
        protected Boolean childValue(Boolean parent) {
            if (parent != null) {
                threadMade();
            }
            return null;
        }
    };
    private Thread watcher;
    private ThreadGroup root;
    private int looks;
    private boolean stopped;

    PythonWriters(TaskSpans spans) {
        this.spans = spans;
    }

    void start() {
        root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        watcher = new Thread(this::watch, "spark-probe-threads");
        watcher.setDaemon(true);
        watcher.start();
    }

    void stop() {
        lock.lock();
        try {
            stopped = true;
            made.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** On the task's thread, at its start and end. */
    void taskThread(boolean begins) {
        if (begins) {
            inTask.set(Boolean.TRUE);
        } else {
            inTask.remove();
        }
    }

    /** The writers seen up to now, each lent to its task. */
    List<TaskTimeline.Interval> intervals() {
        lock.lock();
        try {
            return new ArrayList<>(known.values());
        } finally {
            lock.unlock();
        }
    }

    /** Drops the writers of tasks that ended before a time up to which all chunks have been read. */
    void forgetBefore(long monoNs) {
        lock.lock();
        try {
            known.values().removeIf(interval -> interval.task.endNs < monoNs);
        } finally {
            lock.unlock();
        }
    }

    private void threadMade() {
        lock.lock();
        try {
            looks = LOOKS;
            made.signal();
        } finally {
            lock.unlock();
        }
    }

    private void watch() {
        try {
            while (true) {
                lock.lock();
                try {
                    while (looks == 0 && !stopped) {
                        made.await();
                    }
                    if (stopped) {
                        return;
                    }
                    looks--;
                } finally {
                    lock.unlock();
                }
                TimeUnit.MILLISECONDS.sleep(DEBOUNCE_MS);
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void look() {
        Thread[] threads = new Thread[root.activeCount() + 64];
        int count = root.enumerate(threads, true);
        for (int i = 0; i < count; i++) {
            Thread thread = threads[i];
            if (!isWriter(thread.getClass())) {
                continue;
            }
            lock.lock();
            try {
                if (!known.containsKey(thread.getId())) {
                    TaskInfo task = taskOf(thread);
                    if (task != null) {
                        known.put(thread.getId(), new TaskTimeline.Interval(task, TaskTimeline.PYTHON_WRITER,
                                thread.getId(), task.startNs, TaskInfo.RUNNING_NS));
                    }
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** Spark's writers are anonymous subclasses, named after the runner that they belong to. */
    private static boolean isWriter(Class<?> type) {
        for (Class<?> c = type; c != null && c != Thread.class; c = c.getSuperclass()) {
            if (c.getName().startsWith(WRITER)) {
                return true;
            }
        }
        return false;
    }

    private TaskInfo taskOf(Thread writer) {
        Field field = contextFields.computeIfAbsent(writer.getClass(), PythonWriters::contextField);
        try {
            TaskContext context = field == null ? null : (TaskContext) field.get(writer);
            return context == null ? null : spans.task(context.taskAttemptId());
        } catch (IllegalAccessException e) {
            return null;
        }
    }

    /** The field that holds the TaskContext, by its type: its name is the Scala compiler's. */
    private static Field contextField(Class<?> type) {
        for (Class<?> c = type; c != null && c != Thread.class; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (field.getType() == TaskContext.class) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }
}
