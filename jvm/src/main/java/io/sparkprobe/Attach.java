package io.sparkprobe;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Live attach: starts the probe in a session that began without it. Python makes an object of this class in whichever
 * class loader has the jar, and calls it through py4j.
 */
public final class Attach {
    private static ExecutorAttacher attacher;

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
                    jsc.addJar(jar);
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
