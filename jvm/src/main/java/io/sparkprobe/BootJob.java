package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.JavaConverters;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List$;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A small Spark job that has one task for each of some executors. It must neither wait behind the user's tasks nor be
 * taken to another executor, so its task set is given the first place and all the patience there is.
 */
final class BootJob {
    /** Local property of the job, by which its task set is found and its events are told from the user's. */
    static final String MARK = "spark.probe.boot";

    private static final long PATIENCE_MS = TimeUnit.DAYS.toMillis(7);

    private final SparkContext sc;
    private final String mark;
    private final List<String> executors;
    private final JavaFutureAction<List<String>> action;

    private BootJob(SparkContext sc, String mark, List<String> executors, JavaFutureAction<List<String>> action) {
        this.sc = sc;
        this.mark = mark;
        this.executors = executors;
        this.action = action;
    }

    /**
     * Submits the job; must be called on a thread of our own, whose local properties are replaced.
     *
     * @param mark name of the job, unlike that of any other
     * @param function is called on each executor with its id; it may run on another
     * @param hosts executor id to host
     */
    static BootJob submit(SparkContext sc, String mark, Map<String, String> hosts,
            Function<String, String> function) throws ReflectiveOperationException {
        Properties properties = new Properties();
        properties.setProperty(MARK, mark);
        properties.setProperty("spark.job.description", "spark_probe: " + mark);
        sc.setLocalProperties(properties);
        List<String> executors = new ArrayList<>(hosts.keySet());
        JavaRDD<String> rdd = JavaRDD.fromRDD(located(sc, executors, hosts), tag());
        return new BootJob(sc, mark, executors, rdd.map(function).collectAsync());
    }

    private static ClassTag<String> tag() {
        return ClassTag$.MODULE$.apply(String.class);
    }

    /** One partition an executor, which prefers that executor. By reflection: Seq is another type in Scala 2.13. */
    @SuppressWarnings("unchecked")
    private static RDD<String> located(SparkContext sc, List<String> executors, Map<String, String> hosts)
            throws ReflectiveOperationException {
        scala.collection.immutable.List<Object> data = List$.MODULE$.empty();
        Map<Object, Object> places = new HashMap<>();
        for (int i = executors.size() - 1; i >= 0; i--) {
            String id = executors.get(i);
            data = new $colon$colon<>(id, data);
            scala.collection.immutable.List<Object> nowhere = List$.MODULE$.empty();
            places.put(i, new $colon$colon<>("executor_" + hosts.get(id) + "_" + id, nowhere));
        }
        return (RDD<String>) ParallelCollectionRDD.class.getConstructors()[0]
                .newInstance(sc, data, executors.size(), JavaConverters.mapAsScalaMap(places), tag());
    }

    List<String> executors() {
        return executors;
    }

    boolean done() {
        return action.isDone();
    }

    /** The tasks' answers; only when done. */
    List<String> answers() throws Exception {
        return action.get();
    }

    void cancel() {
        action.cancel(true);
    }

    /** Puts our tasks first in the scheduler's queue, and keeps them waiting for their executor. Again and again. */
    void hurry() {
        if (sc.taskScheduler() instanceof TaskSchedulerImpl) {
            hurry(((TaskSchedulerImpl) sc.taskScheduler()).rootPool());
        }
    }

    private void hurry(Pool pool) {
        for (Schedulable schedulable : pool.schedulableQueue()) {
            if (schedulable instanceof Pool) {
                hurry((Pool) schedulable);
            } else if (schedulable instanceof TaskSetManager) {
                TaskSetManager tasks = (TaskSetManager) schedulable;
                Properties properties = tasks.taskSet().properties();
                if (properties != null && mark.equals(properties.getProperty(MARK))) {
                    tasks.priority_$eq(Integer.MIN_VALUE);
                    // The array itself: Spark makes a new one when an executor comes or goes.
                    Arrays.fill(tasks.localityWaits(), PATIENCE_MS);
                }
            }
        }
    }

    /** Executors with a block manager, as id to host; the driver is none. */
    static Map<String, String> liveExecutors(SparkContext sc) {
        Map<String, String> hosts = new HashMap<>();
        JavaConverters.mapAsJavaMap(sc.env().blockManager().master().getMemoryStatus()).keySet().forEach(id -> {
            if (!id.isDriver()) {
                hosts.put(id.executorId(), id.host());
            }
        });
        return hosts;
    }
}
