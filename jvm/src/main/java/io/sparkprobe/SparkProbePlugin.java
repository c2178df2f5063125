package io.sparkprobe;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/** {@code --conf spark.plugins=io.sparkprobe.SparkProbePlugin}. */
public final class SparkProbePlugin implements SparkPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(SparkProbePlugin.class);
    private static final String OFF = "off";
    private static final long DRIVER_STOP_MS = 30_000;

    @Override
    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    /** The job must not feel what goes wrong in here, an Error of ours included. */
    private static void guarded(Runnable work) {
        try {
            work.run();
        } catch (Throwable t) {
            LOG.warn("spark_probe: {}", t.toString());
        }
    }

    private static final class Driver implements DriverPlugin {
        private DriverProbe probe;

        @Override
        public Map<String, String> init(SparkContext sc, PluginContext context) {
            try {
                Map<String, String> all = new HashMap<>();
                for (Tuple2<String, String> entry : sc.conf().getAll()) {
                    all.put(entry._1(), entry._2());
                }
                ProbeConf conf = ProbeConf.of(all);
                if (!conf.text("mode").equals(OFF)) {
                    probe = DriverProbe.start(sc, conf, false);
                    return conf.resolved();
                }
            } catch (Throwable t) {
                LOG.error("spark_probe is off in this application: {}", t.getMessage());
            }
            return Collections.singletonMap(OFF, "true");
        }

        @Override
        public void registerMetrics(String appId, PluginContext context) {
            guarded(() -> {
                if (probe != null) {
                    probe.open();
                }
            });
        }

        @Override
        public void shutdown() {
            guarded(() -> {
                if (probe != null) {
                    ExecutorProbe own = ExecutorProbe.current();
                    if (own != null) {
                        own.stop(DRIVER_STOP_MS);
                    }
                    probe.stop(true, DRIVER_STOP_MS);
                }
            });
        }
    }

    private static final class Executor implements ExecutorPlugin {
        private ExecutorProbe probe;

        @Override
        public void init(PluginContext context, Map<String, String> extraConf) {
            guarded(() -> {
                if (!extraConf.containsKey(OFF)) {
                    probe = ExecutorProbe.start(context.executorID(), extraConf);
                }
            });
        }

        @Override
        public void onTaskStart() {
            if (probe != null) {
                probe.taskStarted();
            }
        }

        @Override
        public void onTaskSucceeded() {
            if (probe != null) {
                probe.taskSucceeded();
            }
        }

        @Override
        public void onTaskFailed(TaskFailedReason reason) {
            if (probe != null) {
                probe.taskFailed(reason);
            }
        }

        @Override
        public void shutdown() {
            guarded(() -> {
                if (probe != null) {
                    probe.stop(ExecutorProbe.LAST_FLUSH_MS);
                }
            });
        }
    }
}
