package io.sparkprobe;

import java.io.IOException;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;

/** Where a run's folder goes. */
final class RunLocation {
    private RunLocation() {
    }

    /**
     * The folder that holds the run folders: {@code spark.probe.dir}, where a relative path is under the driver's
     * working directory. In cluster deploy mode that directory goes with the container; there the default is a folder
     * beside the event logs, or in the home on the default file system.
     */
    static Path base(ProbeConf conf, SparkConf spark, Configuration hadoop) throws ProbeOffException, IOException {
        String dir = conf.text("dir");
        boolean cluster = "cluster".equals(spark.get("spark.submit.deployMode", "client"));
        Path path = new Path(dir);
        if (path.toUri().getScheme() != null) {
            return path;
        }
        if (!cluster || !conf.isDefault("dir")) {
            return new Path(Paths.get(dir).toAbsolutePath().toUri());
        }
        String eventLogs = spark.get("spark.eventLog.dir", "");
        if (!eventLogs.isEmpty()) {
            Path logs = new Path(eventLogs);
            String scheme = logs.toUri().getScheme();
            if (scheme != null && !scheme.equals("file") && logs.getParent() != null) {
                return new Path(logs.getParent(), dir);
            }
        }
        if (!FileSystem.getDefaultUri(hadoop).getScheme().equals("file")) {
            return new Path(FileSystem.get(hadoop).getHomeDirectory(), dir);
        }
        throw new ProbeOffException("in cluster deploy mode the driver's working directory goes with its container,"
                + " and there is neither spark.eventLog.dir nor a shared default file system; set spark.probe.dir to"
                + " a folder on a shared file system");
    }

    /** {@code <app id>[_<attempt>]}. */
    static Path run(Path base, String appId, String attemptOrNull) {
        return new Path(base, attemptOrNull == null ? appId : appId + "_" + attemptOrNull);
    }
}
