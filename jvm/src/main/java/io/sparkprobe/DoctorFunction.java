package io.sparkprobe;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.deploy.SparkHadoopUtil;

/** Looks at one JVM of a running application: the facts of {@link Doctor} and the way to the run folder. */
final class DoctorFunction implements Function<String, String> {
    private static final long serialVersionUID = 1L;

    private final HashMap<String, String> keys;
    private final String base;

    /**
     * @param baseOrNull the folder of run folders that this JVM must be able to write to; null where it need not
     */
    DoctorFunction(Map<String, String> keys, String baseOrNull) {
        this.keys = new HashMap<>(keys);
        this.base = baseOrNull;
    }

    @Override
    public String call(String wanted) {
        SparkConf spark = SparkEnv.get().conf();
        Map<String, String> facts = Doctor.facts(ExecutorProbe.directories(spark, ProbeConf.of(keys)),
                ExecutorProbe.current() != null);
        facts.put("folder", base == null ? "" : base);
        facts.put("folder_writable", base == null ? "not needed" : writable(base, spark));
        return SparkEnv.get().executorId() + "\n" + Doctor.text(facts);
    }

    /** "ok", or what hinders. */
    private static String writable(String base, SparkConf spark) {
        String aside = ".spark-probe-doctor-" + System.nanoTime();
        try {
            RunFolder folder = RunFolder.open(new Path(base), SparkHadoopUtil.get().newConfiguration(spark));
            try {
                folder.createFolder(aside);
                folder.write(aside + "/file", new byte[] {1});
                folder.delete(aside + "/file");
                folder.delete(aside);
            } finally {
                folder.close();
            }
            return "ok";
        } catch (Throwable t) {
            return String.valueOf(t.getMessage() == null ? t : t.getMessage());
        }
    }
}
