package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.file.Paths;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.junit.Test;

public class RunLocationTest {
    private final SparkConf spark = new SparkConf(false);
    private final Configuration hadoop = new Configuration(false);

    private Path base(String dirOrNull) throws Exception {
        return RunLocation.base(ProbeConf.of(dirOrNull == null ? Collections.<String, String>emptyMap()
                : Collections.singletonMap("spark.probe.dir", dirOrNull)), spark, hadoop);
    }

    @Test
    public void theDefaultIsUnderTheDriversWorkingDirectory() throws Exception {
        assertEquals(Paths.get("spark-probe").toAbsolutePath().toUri().getPath(), base(null).toUri().getPath());
        assertEquals("file", base(null).toUri().getScheme());
    }

    @Test
    public void aUrlStaysAsItIs() throws Exception {
        assertEquals("hdfs://name/probe", base("hdfs://name/probe").toString());
        assertEquals("/data/probe", base("/data/probe").toUri().getPath());
    }

    @Test
    public void inClusterModeTheDefaultIsBesideTheEventLogs() throws Exception {
        spark.set("spark.submit.deployMode", "cluster").set("spark.eventLog.dir", "hdfs://name/logs/spark");
        assertEquals("hdfs://name/logs/spark-probe", base(null).toString());
    }

    @Test
    public void inClusterModeWithoutASharedFolderTheReasonSaysWhatToDo() {
        spark.set("spark.submit.deployMode", "cluster").set("spark.eventLog.dir", "file:///tmp/logs");
        ProbeOffException e = assertThrows(ProbeOffException.class, () -> base(null));
        assertTrue(e.getMessage(), e.getMessage().contains("set spark.probe.dir"));
    }

    @Test
    public void theRunsFolderHasApplicationAndAttempt() {
        assertEquals("app-1", RunLocation.run(new Path("/x"), "app-1", null).getName());
        assertEquals("app-1_2", RunLocation.run(new Path("/x"), "app-1", "2").getName());
    }
}
