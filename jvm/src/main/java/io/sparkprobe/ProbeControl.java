package io.sparkprobe;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;

/** What Python calls on the driver, through py4j: JDK types only. */
public final class ProbeControl {
    private static final long STOP_MS = 15_000;

    private final DriverProbe driver;

    private ProbeControl(DriverProbe driver) {
        this.driver = driver;
    }

    /** The control of the probe that is on in this driver, or null. */
    public static ProbeControl current() {
        DriverProbe driver = DriverProbe.current();
        return driver == null ? null : new ProbeControl(driver);
    }

    /**
     * Starts the driver half in a session that is running; executors are another matter.
     *
     * @throws IllegalArgumentException names the key, the value, and what the key takes
     */
    public static ProbeControl start(JavaSparkContext sc, Map<String, String> conf) {
        DriverProbe driver = DriverProbe.start(sc.sc(), ProbeConf.of(conf), true);
        driver.open();
        return new ProbeControl(driver);
    }

    /** Each executor's last status, by executor id. */
    public String statusJson() {
        return Json.of(driver.statuses());
    }

    /** Has each live executor flush: {@code {"flushed": [...], "late": [...]}}. */
    public String flushJson(long timeoutMs) throws InterruptedException {
        return Json.of(driver.flush(timeoutMs));
    }

    /** The firings so far, oldest first. */
    public String triggersJson() {
        return Json.of(driver.triggers());
    }

    /** Has each executor that runs tasks of a stage (any stage: -1) record a burst. */
    public void burst(int stageId, double seconds) {
        HashMap<String, Object> message = Rpc.message(Rpc.BURST);
        message.put("stage", stageId);
        message.put("duration_ns", (long) (seconds * 1e9));
        driver.tellAll(message);
    }

    /** Has the executor that runs a task write down its thread's stack and locks. */
    public void dump(long taskId) {
        HashMap<String, Object> message = Rpc.message(Rpc.DUMP);
        message.put("task", taskId);
        driver.tellAll(message);
    }

    /** The run folder's URI. */
    public String runFolder() throws IOException {
        return driver.runFolder();
    }

    /** Every option with its value. */
    public String confJson() {
        return Json.of(driver.conf().resolved());
    }

    /** Ends the recording everywhere; executors and this JVM first, so that their last flush is in the folder. */
    public void stop() {
        try {
            Attach.stop();
            driver.stopExecutors(STOP_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        ExecutorProbe own = ExecutorProbe.current();
        if (own != null) {
            own.stop(STOP_MS);
        }
        driver.stop(false, STOP_MS);
    }
}
