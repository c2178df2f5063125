package io.sparkprobe;

import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.plugin.PluginContainer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What live attach has changed in an executor's JVM, and how it is put back. */
final class ExecutorAttachment {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorAttachment.class);

    private static ExecutorAttachment current;

    private final ExecutorProbe probe;
    private final RunningExecutor executor;
    private final AttachedPlugins plugins;

    private ExecutorAttachment(ExecutorProbe probe, RunningExecutor executor, AttachedPlugins plugins) {
        this.probe = probe;
        this.executor = executor;
        this.plugins = plugins;
    }

    /**
     * Starts the probe in this JVM and makes its tasks call it, those that are running too. Calling it again changes
     * nothing.
     *
     * @throws ReflectiveOperationException this Spark cannot be attached to; nothing has been changed
     * @throws IllegalStateException the probe does not start here
     */
    static synchronized void attach(String executorId, Map<String, String> keys) throws ReflectiveOperationException {
        if (current != null && current.probe == ExecutorProbe.current()) {
            return;
        }
        RunningExecutor executor = RunningExecutor.find(SparkEnv.get());
        PluginContainer before = executor.plugins();
        ExecutorProbe probe = ExecutorProbe.start(executorId, keys);
        if (probe == null) {
            throw new IllegalStateException("the probe did not start; the executor's log has the reason");
        }
        AttachedPlugins plugins = new AttachedPlugins(probe, before);
        executor.plugins(plugins);
        current = new ExecutorAttachment(probe, executor, plugins);
        adopt(executor, probe, plugins);
    }

    /** Gives the probe the tasks that began before it: they are known from now to their end. */
    private static void adopt(RunningExecutor executor, ExecutorProbe probe, AttachedPlugins plugins) {
        try {
            for (RunningExecutor.Task task : executor.tasks()) {
                if (task.thread == Thread.currentThread()) {
                    continue;
                }
                probe.taskAdopted(task.context, task.thread);
                RunningExecutor.plugins(task, plugins);
                // One that has just run to its end may have called the container that it began with.
                if (task.context.isCompleted()) {
                    probe.taskForgotten(task.context);
                }
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.warn("spark_probe: tasks that were running when it was attached are not known: {}", e.toString());
        }
    }

    /**
     * Stops the probe, with its last flush, and puts back what was there.
     *
     * @return false where nothing is attached
     */
    static synchronized boolean detach(long timeoutMs) {
        ExecutorAttachment attachment = current;
        current = null;
        if (attachment == null) {
            return false;
        }
        try {
            // Whoever replaced us meanwhile calls us: our container then stays, and passes everything on.
            if (attachment.executor.plugins() == attachment.plugins) {
                attachment.executor.plugins(attachment.plugins.before());
            }
        } catch (IllegalAccessException e) {
            LOG.warn("spark_probe could not put back the executor's plugins: {}", e.toString());
        }
        attachment.probe.stop(timeoutMs);
        return true;
    }
}
