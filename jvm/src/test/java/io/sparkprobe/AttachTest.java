package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.internal.plugin.PluginContainer;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Live attach in a real local session, from inside its JVM: what is swapped, called, and put back. */
public class AttachTest {
    /** A plugin of the user's, which counts. */
    public static final class Counting implements SparkPlugin {
        static final AtomicInteger STARTED = new AtomicInteger();
        static final AtomicInteger SUCCEEDED = new AtomicInteger();
        static final AtomicInteger FAILED = new AtomicInteger();

        @Override
        public DriverPlugin driverPlugin() {
            return null;
        }

        @Override
        public ExecutorPlugin executorPlugin() {
            return new ExecutorPlugin() {
                @Override
                public void onTaskStart() {
                    STARTED.incrementAndGet();
                }

                @Override
                public void onTaskSucceeded() {
                    SUCCEEDED.incrementAndGet();
                }

                @Override
                public void onTaskFailed(TaskFailedReason reason) {
                    FAILED.incrementAndGet();
                }
            };
        }
    }

    private static final CountDownLatch[] GATE = new CountDownLatch[2];

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private JavaSparkContext sc;
    private Map<String, String> conf;

    @Before
    public void start() {
        Counting.STARTED.set(0);
        Counting.SUCCEEDED.set(0);
        Counting.FAILED.set(0);
        conf = new HashMap<>();
        conf.put("spark.probe.dir", folder.getRoot().toURI().toString());
    }

    private void session(boolean plugin) {
        SparkConf spark = new SparkConf().setMaster("local[2]").setAppName("attach").set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1");
        if (plugin) {
            spark.set("spark.plugins", Counting.class.getName());
        }
        sc = new JavaSparkContext(spark);
    }

    @After
    public void stop() {
        ProbeControl control = ProbeControl.current();
        if (control != null) {
            control.stop();
        }
        sc.stop();
    }

    private PluginContainer container() throws Exception {
        return RunningExecutor.find(SparkEnv.get()).plugins();
    }

    private void job() {
        assertEquals(6, sc.parallelize(Arrays.asList(1, 2, 3), 3).map(x -> x).reduce(Integer::sum).intValue());
    }

    @Test
    public void withoutPluginsNoneIsLeft() throws Exception {
        session(false);
        assertNull(container());
        ProbeControl control = new Attach().start(sc, conf, "none.jar", 1_000);
        assertTrue(container() instanceof AttachedPlugins);
        job();
        control.stop();
        assertNull(container());
        assertNull(ProbeControl.current());
    }

    @Test
    public void theUsersPluginIsCalledOnceATaskAndPutBack() throws Exception {
        session(true);
        PluginContainer before = container();
        ProbeControl control = new Attach().start(sc, conf, "none.jar", 1_000);
        job();
        assertEquals(3, Counting.STARTED.get());
        assertEquals(3, Counting.SUCCEEDED.get());
        try {
            sc.parallelize(Collections.singletonList(1), 1).foreach(x -> {
                throw new IllegalStateException("on purpose");
            });
        } catch (Exception expected) {
            assertTrue(expected.getMessage().contains("on purpose"));
        }
        assertEquals(1, Counting.FAILED.get());
        control.stop();
        assertSame(before, container());
        job();
        assertEquals(7, Counting.STARTED.get());
    }

    @Test
    public void whoCameAfterUsStays() throws Exception {
        session(false);
        ProbeControl control = new Attach().start(sc, conf, "none.jar", 1_000);
        PluginContainer later = new AttachedPlugins(ExecutorProbe.current(), container());
        RunningExecutor.find(SparkEnv.get()).plugins(later);
        control.stop();
        assertSame(later, container());
        job();
        RunningExecutor.find(SparkEnv.get()).plugins((PluginContainer) null);
    }

    @Test
    public void aRunningTaskIsAdoptedAndEndsThroughBothContainers() throws Exception {
        session(true);
        GATE[0] = new CountDownLatch(1);
        GATE[1] = new CountDownLatch(1);
        JavaFutureAction<Void> job = sc.parallelize(Collections.singletonList(1), 1).foreachAsync(x -> {
            GATE[0].countDown();
            GATE[1].await(30, TimeUnit.SECONDS);
        });
        assertTrue(GATE[0].await(30, TimeUnit.SECONDS));
        ProbeControl control = new Attach().start(sc, conf, "none.jar", 1_000);
        GATE[1].countDown();
        job.get(30, TimeUnit.SECONDS);
        // The container is called before the task's result is sent.
        assertEquals(1, Counting.STARTED.get());
        assertEquals(1, Counting.SUCCEEDED.get());
        control.stop();
    }

    @Test
    public void startedTwiceIsAnError() throws Exception {
        session(false);
        new Attach().start(sc, conf, "none.jar", 1_000);
        try {
            new Attach().start(sc, conf, "none.jar", 1_000);
        } catch (IllegalStateException e) {
            assertTrue(e.getMessage(), e.getMessage().contains("is on already"));
            assertTrue(container() instanceof AttachedPlugins);
            return;
        }
        throw new AssertionError("no error");
    }

    @Test
    public void aRunFolderIsCopiedOnceAndAsItChanges() throws Exception {
        session(false);
        File from = folder.newFolder("far", "executors", "1");
        File run = from.getParentFile().getParentFile();
        Files.write(new File(from, "status.json").toPath(), new byte[] {1, 2});
        Files.write(new File(from, ".000001.parquet.tmp").toPath(), new byte[] {3});
        File to = new File(folder.getRoot(), "near");
        Attach attach = new Attach();
        assertEquals(1, attach.copyRun(sc, run.toURI().toString(), to.toString()));
        assertEquals(0, attach.copyRun(sc, run.toURI().toString(), to.toString()));
        Files.write(new File(from, "status.json").toPath(), new byte[] {5, 6});
        assertTrue(new File(from, "status.json").setLastModified(1_000));
        Files.write(new File(from, "000002.parquet").toPath(), new byte[] {7});
        assertEquals(2, attach.copyRun(sc, run.toURI().toString(), to.toString()));
        assertEquals(5, Files.readAllBytes(new File(to, "executors/1/status.json").toPath())[0]);
        assertFalse(new File(to, "executors/1/.000001.parquet.tmp").exists());
    }
}
