package io.sparkprobe;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;

/** What a boot task does on its executor: attaches the probe there, and says where it was. */
final class AttachFunction implements Function<String, String> {
    /** Between the executor's id and the error in an answer. */
    static final char SEPARATOR = '\t';

    private static final long serialVersionUID = 1L;

    private final HashMap<String, String> keys;

    AttachFunction(Map<String, String> keys) {
        this.keys = new HashMap<>(keys);
    }

    /**
     * @param wanted the executor that the task was meant for; locality is a wish, so it may run on another
     * @return the executor that it ran on, and after a tab what went wrong
     */
    @Override
    public String call(String wanted) {
        String here = SparkEnv.get().executorId();
        try {
            ExecutorAttachment.attach(here, keys);
            return here;
        } catch (Throwable t) {
            return here + SEPARATOR + (t.getMessage() == null ? t.toString() : t.getMessage());
        }
    }
}
