package io.sparkprobe;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Live attach: starts the probe in a session that began without it. Python makes an object of this class in whichever
 * class loader has the jar, and calls it through py4j.
 */
public final class Attach {
    private static final int MOST_LOOKS = 5;

    private static ExecutorAttacher attacher;
    /** Application that has our jar already: Spark warns of one that is added again. */
    private static String jarAddedTo;

    /** The control of the probe that is on in this driver, or null. */
    public ProbeControl current() {
        return ProbeControl.current();
    }

    /** The version of the jar that these classes came from. */
    public String version() {
        return Version.jar();
    }

    /**
     * Starts the driver half, then the executors.
     *
     * @param conf every {@code spark.probe.*} option
     * @param jar path of our jar on this machine; executors get it from the driver
     * @param timeoutMs how long to wait for the executors that are alive; the others are attached later
     * @throws IllegalArgumentException names the key, the value, and what the key takes
     */
    public ProbeControl start(JavaSparkContext jsc, Map<String, String> conf, String jar, long timeoutMs)
            throws Exception {
        synchronized (Attach.class) {
            SparkContext sc = jsc.sc();
            Map<String, String> keys = ProbeConf.of(conf).resolved();
            ProbeControl control = ProbeControl.start(jsc, keys);
            try {
                if (sc.isLocal()) {
                    ExecutorAttachment.attach("driver", keys);
                } else {
                    giveJar(jsc, jar);
                    attacher = new ExecutorAttacher(sc, DriverProbe.current(), keys);
                    attacher.start();
                    attacher.await(timeoutMs);
                }
            } catch (Exception | Error e) {
                control.stop();
                throw e;
            }
            return control;
        }
    }

    /** {@code {"waiting": [ids], "failed": {id: reason}}}: executors that are alive and not attached. */
    public String executorsJson() {
        synchronized (Attach.class) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("waiting", attacher == null ? new HashMap<>().keySet() : attacher.waiting());
            answer.put("failed", attacher == null ? new HashMap<>() : attacher.errors());
            return Json.of(answer);
        }
    }

    /**
     * Copies a run folder to this machine; of what is there already only what has changed.
     *
     * @return the number of files copied
     */
    public int copyRun(JavaSparkContext jsc, String url, String to) throws IOException {
        Path root = new Path(url);
        FileSystem fs = root.getFileSystem(jsc.hadoopConfiguration());
        root = fs.makeQualified(root);
        int copied = 0;
        boolean vanished = true;
        // A file that goes while we copy has been joined with others, into one that was not listed.
        for (int look = 0; vanished && look < MOST_LOOKS; look++) {
            vanished = false;
            RemoteIterator<LocatedFileStatus> files = fs.listFiles(root, true);
            while (files.hasNext()) {
                FileStatus file = files.next();
                File target = new File(to, root.toUri().relativize(file.getPath().toUri()).getPath());
                // Files that are being written have names with a dot.
                if (target.getName().startsWith(".") || (target.length() == file.getLen()
                        && target.lastModified() == file.getModificationTime())) {
                    continue;
                }
                Files.createDirectories(target.getParentFile().toPath());
                try (InputStream in = fs.open(file.getPath())) {
                    Files.copy(in, target.toPath(), StandardCopyOption.REPLACE_EXISTING);
                    Files.setLastModifiedTime(target.toPath(), FileTime.fromMillis(file.getModificationTime()));
                    copied++;
                } catch (FileNotFoundException e) {
                    vanished = true;
                }
            }
        }
        return copied;
    }

    /**
     * Looks at the driver's JVM and at each executor's.
     *
     * @param timeoutMs how long to wait for executors; those whose slots are taken do not answer in time
     * @return one text for each that answered: its id, then a fact a line, name and value with a tab between; and for
     *         each that did not, its id alone
     */
    public List<String> doctor(JavaSparkContext jsc, Map<String, String> conf, String jar, long timeoutMs)
            throws Exception {
        SparkContext sc = jsc.sc();
        Map<String, String> keys = ProbeConf.of(conf).resolved();
        List<String> answers = new ArrayList<>();
        String base = null;
        boolean shared = false;
        try {
            Path folder = RunLocation.base(ProbeConf.of(conf), sc.conf(), sc.hadoopConfiguration());
            base = folder.toString();
            shared = !"file".equals(folder.toUri().getScheme());
        } catch (ProbeOffException e) {
            answers.add("driver\nfolder_writable\t" + e.getMessage() + "\n");
        }
        answers.add(new DoctorFunction(keys, base).call("driver"));
        if (!sc.isLocal()) {
            synchronized (Attach.class) {
                giveJar(jsc, jar);
            }
            answers.addAll(onExecutors(sc, new DoctorFunction(keys, shared ? base : null), timeoutMs));
        }
        return answers;
    }

    /** On a thread of its own: a boot job replaces its thread's local properties. */
    private static List<String> onExecutors(SparkContext sc, DoctorFunction function, long timeoutMs)
            throws Exception {
        FutureTask<List<String>> task = new FutureTask<>(() -> {
            Map<String, String> hosts = BootJob.liveExecutors(sc);
            long deadline = System.nanoTime() + timeoutMs * 1_000_000;
            List<BootJob> jobs = new ArrayList<>();
            for (Map.Entry<String, String> host : hosts.entrySet()) {
                jobs.add(BootJob.submit(sc, "doctor of " + host.getKey(),
                        Collections.singletonMap(host.getKey(), host.getValue()), function));
            }
            Map<String, String> answers = new TreeMap<>();
            hosts.keySet().forEach(id -> answers.put(id, id));
            for (BootJob job : jobs) {
                while (!job.done() && System.nanoTime() < deadline) {
                    job.hurry();
                    Thread.sleep(20);
                }
                if (job.done()) {
                    job.answers().forEach(answer -> answers.put(answer.split("\n", 2)[0], answer));
                } else {
                    job.cancel();
                }
            }
            return new ArrayList<>(answers.values());
        });
        Thread thread = new Thread(task, "spark-probe-doctor");
        thread.setDaemon(true);
        thread.setContextClassLoader(Attach.class.getClassLoader());
        thread.start();
        return task.get();
    }

    private static void giveJar(JavaSparkContext jsc, String jar) {
        if (!jsc.sc().applicationId().equals(jarAddedTo)) {
            jsc.addJar(jar);
            jarAddedTo = jsc.sc().applicationId();
        }
    }

    /** No executor is attached from now on. */
    static void stop() throws InterruptedException {
        synchronized (Attach.class) {
            if (attacher != null) {
                attacher.stop();
                attacher = null;
            }
        }
    }
}
