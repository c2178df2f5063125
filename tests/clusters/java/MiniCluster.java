import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * Runs YARN (one resource manager, two node managers) and HDFS (one data node) in this JVM, on loopback, until SIGTERM.
 *
 * <p>Usage: {@code java MiniCluster WORK_DIR SERVICES [KEY=VALUE]...} where SERVICES is {@code yarn}, {@code hdfs} or
 * {@code yarn,hdfs}. Client configuration is written to {@code WORK_DIR/conf}; the file {@code WORK_DIR/READY} appears
 * when the services answer.
 */
public final class MiniCluster {
  private static final int NODE_MANAGERS = 2;
  private static final int NODE_MEMORY_MB = 4096;
  private static final int NODE_CORES = 4;
  private static final long PORTS_TIMEOUT_MS = 20_000;

  /** What a client must know of the services; everything else in their configuration is for the servers. */
  private static final List<String> CLIENT_KEYS = Arrays.asList("fs.defaultFS", "yarn.resourcemanager.hostname",
      "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address", "yarn.resourcemanager.admin.address",
      "yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.webapp.address");

  public static void main(String[] args) {
    try {
      run(Paths.get(args[0]).toAbsolutePath(), Arrays.asList(args[1].split(",")), Arrays.asList(args).subList(2, args.length));
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1); // threads of services that did start would keep the JVM alive
    }
  }

  private static void run(Path work, List<String> services, List<String> settings) throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set("hadoop.tmp.dir", work.resolve("tmp").toString());
    conf.set("fs.defaultFS", "file:///");
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      conf.set(setting.substring(0, equals), setting.substring(equals + 1));
    }
    if (services.contains("hdfs")) {
      MiniDFSCluster hdfs = new MiniDFSCluster.Builder(conf, work.resolve("hdfs").toFile()).numDataNodes(1).build();
      Runtime.getRuntime().addShutdownHook(new Thread(hdfs::shutdown));
      hdfs.waitActive();
      conf.set("fs.defaultFS", hdfs.getURI().toString());
    }
    if (services.contains("yarn")) {
      conf = startYarn(conf);
    }
    Path clientConf = Files.createDirectories(work.resolve("conf"));
    Configuration client = new Configuration(false);
    for (String key : CLIENT_KEYS) {
      if (conf.get(key) != null) {
        client.set(key, conf.get(key));
      }
    }
    write(client, clientConf.resolve("core-site.xml"));
    write(client, clientConf.resolve("yarn-site.xml"));
    Path ready = work.resolve(".READY");
    Files.write(ready, new byte[0]);
    Files.move(ready, work.resolve("READY"), StandardCopyOption.ATOMIC_MOVE);
    new CountDownLatch(1).await();
  }

  private static Configuration startYarn(Configuration conf) throws Exception {
    conf.setBoolean("yarn.minicluster.fixed.ports", false);
    conf.set("yarn.resourcemanager.bind-host", "127.0.0.1");
    conf.set("yarn.nodemanager.bind-host", "127.0.0.1");
    conf.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", NODE_MEMORY_MB);
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", NODE_CORES);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 256);
    conf.setInt("yarn.scheduler.maximum-allocation-mb", NODE_MEMORY_MB);
    conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
    conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    // A test machine's disk may be nearly full; the default of 90 % would mark both nodes unhealthy.
    conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99.9");
    // capacity-scheduler.xml is not in the hadoop-client jars.
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.setInt("yarn.scheduler.capacity.root.default.capacity", 100);
    conf.set("yarn.scheduler.capacity.root.default.state", "RUNNING");
    conf.set("yarn.scheduler.capacity.root.default.acl_submit_applications", "*");
    conf.set("yarn.scheduler.capacity.root.default.acl_administer_jobs", "*");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
    conf.setInt("yarn.scheduler.capacity.node-locality-delay", -1);

    MiniYARNCluster yarn = new MiniYARNCluster("spark-probe-tests", NODE_MANAGERS, 1, 1);
    yarn.init(conf);
    Runtime.getRuntime().addShutdownHook(new Thread(yarn::stop));
    yarn.start();
    yarn.waitForNodeManagersToConnect(PORTS_TIMEOUT_MS);
    // The ports are in the configuration only once the resource manager has bound them.
    long deadline = System.currentTimeMillis() + PORTS_TIMEOUT_MS;
    while (yarn.getConfig().get("yarn.resourcemanager.address", ":0").endsWith(":0")) {
      if (System.currentTimeMillis() > deadline) {
        throw new IOException("the resource manager did not bind a port within " + PORTS_TIMEOUT_MS + " ms");
      }
      Thread.sleep(100);
    }
    return yarn.getConfig();
  }

  private static void write(Configuration conf, Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file)) {
      conf.writeXml(out);
    }
  }

  private MiniCluster() {}
}
