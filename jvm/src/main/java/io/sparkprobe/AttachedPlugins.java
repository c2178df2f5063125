package io.sparkprobe;

import org.apache.spark.TaskFailedReason;
import org.apache.spark.internal.plugin.PluginContainer;

/** Stands where the executor's plugin container was, and calls the probe and the container that was there. */
final class AttachedPlugins extends PluginContainer {
    private final ExecutorProbe probe;
    private final PluginContainer before;

    AttachedPlugins(ExecutorProbe probe, PluginContainer beforeOrNull) {
        this.probe = probe;
        this.before = beforeOrNull;
    }

    PluginContainer before() {
        return before;
    }

    @Override
    public void onTaskStart() {
        probe.taskStarted();
        if (before != null) {
            before.onTaskStart();
        }
    }

    @Override
    public void onTaskSucceeded() {
        probe.taskSucceeded();
        if (before != null) {
            before.onTaskSucceeded();
        }
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        probe.taskFailed(reason);
        if (before != null) {
            before.onTaskFailed(reason);
        }
    }

    @Override
    public void registerMetrics(String appId) {
        if (before != null) {
            before.registerMetrics(appId);
        }
    }

    /** The executor ends with us attached. */
    @Override
    public void shutdown() {
        probe.stop(ExecutorProbe.LAST_FLUSH_MS);
        if (before != null) {
            before.shutdown();
        }
    }
}
