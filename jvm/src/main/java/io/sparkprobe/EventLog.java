package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.EventLoggingListener;
import org.apache.spark.scheduler.ReplayListenerBus;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEnvironmentUpdate;
import org.apache.spark.scheduler.SparkListenerEvent;
import scala.Option;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List$;

/**
 * The run's events in Spark's own event-log form: written, rolled, compressed and redacted by Spark's own listener.
 * What comes before the run folder is known waits in memory.
 */
final class EventLog {
    private static final int MOST_WAITING = 10_000;

    private List<SparkListenerEvent> waiting = new ArrayList<>();
    private ReplayListenerBus bus;
    private EventLoggingListener log;
    private boolean closed;

    /** Opens the log in {@code <run>/events} and writes what waited. */
    synchronized void open(SparkContext sc, RunFolder folder, boolean late) throws IOException {
        folder.createFolder("events");
        SparkConf conf = sc.conf().clone();
        conf.set("spark.eventLog.rolling.enabled", "true");
        conf.set("spark.eventLog.compress", "true");
        conf.set("spark.eventLog.compression.codec", "zstd");
        conf.set("spark.eventLog.overwrite", "true");
        log = new EventLoggingListener(sc.applicationId(), sc.applicationAttemptId(),
                new Path(folder.root(), "events").toUri(), conf, sc.hadoopConfiguration());
        log.start();
        bus = new ReplayListenerBus();
        bus.addListener(log);
        if (late) {
            begin(sc);
        }
        for (SparkListenerEvent event : waiting) {
            bus.postToAll(event);
        }
        waiting = new ArrayList<>();
    }

    synchronized void add(SparkListenerEvent event) {
        if (closed) {
            return;
        }
        if (bus != null) {
            bus.postToAll(event);
        } else if (waiting.size() < MOST_WAITING) {
            waiting.add(event);
        }
    }

    synchronized void close() {
        if (!closed && log != null) {
            log.stop();
        }
        closed = true;
        waiting = new ArrayList<>();
    }

    /** What a log begins with and a session that runs already has announced before. */
    private void begin(SparkContext sc) {
        bus.postToAll(new SparkListenerApplicationStart(sc.appName(), Option.apply(sc.applicationId()), sc.startTime(),
                sc.sparkUser(), sc.applicationAttemptId(), Option.empty(), Option.empty()));
        Map<String, scala.collection.immutable.List<Tuple2<String, String>>> details = new HashMap<>();
        for (String part : new String[] {"JVM Information", "Hadoop Properties", "System Properties",
            "Metrics Properties", "Classpath Entries"}) {
            details.put(part, none());
        }
        scala.collection.immutable.List<Tuple2<String, String>> properties = none();
        for (Tuple2<String, String> property : sc.conf().getAll()) {
            properties = new $colon$colon<>(property, properties);
        }
        details.put("Spark Properties", properties);
        bus.postToAll(environment(JavaConverters.mapAsScalaMap(details)));
    }

    private static scala.collection.immutable.List<Tuple2<String, String>> none() {
        return List$.MODULE$.empty();
    }

    /** The map's value type is another Seq in Scala 2.12 than in 2.13; in bytecode it is only a Map. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static SparkListenerEnvironmentUpdate environment(scala.collection.Map details) {
        return new SparkListenerEnvironmentUpdate(details);
    }
}
