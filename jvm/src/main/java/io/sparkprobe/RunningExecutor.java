package io.sparkprobe;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.Executor;
import org.apache.spark.internal.plugin.PluginContainer;
import scala.Option;

/**
 * Spark's Executor in this JVM and its plugin container. Spark keeps both in private fields: the RPC environment knows
 * the endpoint of the executor's backend (of any cluster manager, and of local mode), that the Executor, and that the
 * container whose methods each task calls. The names are looked up by type where they can be.
 */
final class RunningExecutor {
    /** A task that was running when we looked, with the thread that runs it. */
    static final class Task {
        final TaskContext context;
        final Thread thread;
        private final Object runner;

        Task(TaskContext context, Thread thread, Object runner) {
            this.context = context;
            this.thread = thread;
            this.runner = runner;
        }
    }

    private final Executor executor;
    private final Field container;

    private RunningExecutor(Executor executor, Field container) {
        this.executor = executor;
        this.container = container;
    }

    /**
     * The executor of this JVM.
     *
     * @throws ReflectiveOperationException this Spark keeps it elsewhere; the message says what is missing
     */
    static RunningExecutor find(SparkEnv env) throws ReflectiveOperationException {
        Object dispatcher = field(env.rpcEnv(), "dispatcher");
        Map<?, ?> endpoints = (Map<?, ?>) field(dispatcher, "endpointRefs");
        for (Object endpoint : endpoints.keySet()) {
            Executor executor = (Executor) fieldOfType(endpoint, Executor.class);
            if (executor != null) {
                Field container = declared(Executor.class, "plugins");
                if (container == null || container.getType() != Option.class) {
                    throw new NoSuchFieldException("Executor has no field `plugins` in Spark " + sparkVersion());
                }
                return new RunningExecutor(executor, container);
            }
        }
        throw new NoSuchFieldException("none of " + endpoints.size() + " RPC endpoints has an Executor in Spark "
                + sparkVersion());
    }

    private static String sparkVersion() {
        return org.apache.spark.package$.MODULE$.SPARK_VERSION();
    }

    /** The container that tasks call, or null where there is none. */
    PluginContainer plugins() throws IllegalAccessException {
        Option<?> option = (Option<?>) container.get(executor);
        return option.isEmpty() ? null : (PluginContainer) option.get();
    }

    /** Replaces the container for tasks that start from now on; null for none. */
    void plugins(PluginContainer replacement) throws IllegalAccessException {
        container.set(executor, Option.apply(replacement));
    }

    /** The tasks that are running now; those that are still being deserialized are left out. */
    List<Task> tasks() throws ReflectiveOperationException {
        Collection<?> runners = ((Map<?, ?>) field(executor, "runningTasks")).values();
        List<Task> tasks = new ArrayList<>();
        Map<Long, Thread> threads = threadsById();
        for (Object runner : runners) {
            Object task = field(runner, "task");
            Thread thread = threads.get((Long) field(runner, "threadId"));
            TaskContext context = task == null ? null : (TaskContext) field(task, "context");
            if (context != null && thread != null) {
                tasks.add(new Task(context, thread, runner));
            }
        }
        return tasks;
    }

    /** Makes a running task call this container at its end; a task keeps the container that it began with. */
    static void plugins(Task task, PluginContainer replacement) throws ReflectiveOperationException {
        Field field = declared(task.runner.getClass(), "plugins");
        if (field == null) {
            throw new NoSuchFieldException("TaskRunner has no field `plugins` in Spark " + sparkVersion());
        }
        field.set(task.runner, Option.apply(replacement));
    }

    private static Map<Long, Thread> threadsById() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] all = new Thread[root.activeCount() + 64];
        Map<Long, Thread> threads = new HashMap<>();
        for (int i = root.enumerate(all) - 1; i >= 0; i--) {
            threads.put(all[i].getId(), all[i]);
        }
        return threads;
    }

    private static Object field(Object target, String name) throws ReflectiveOperationException {
        Field field = declared(target.getClass(), name);
        if (field == null) {
            throw new NoSuchFieldException(target.getClass().getSimpleName() + " has no field `" + name
                    + "` in Spark " + sparkVersion());
        }
        return field.get(target);
    }

    /** An accessible field of a class or of one it extends, or null. */
    private static Field declared(Class<?> type, String name) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }

    private static Object fieldOfType(Object target, Class<?> type) throws IllegalAccessException {
        for (Class<?> c = target.getClass(); c != null; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (field.getType() == type) {
                    field.setAccessible(true);
                    Object value = field.get(target);
                    if (value != null) {
                        return value;
                    }
                }
            }
        }
        return null;
    }
}
