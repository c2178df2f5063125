package io.sparkprobe;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import org.apache.spark.util.RpcUtils;
import scala.PartialFunction;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Messages between driver and executors over Spark's own RPC, so that no port is opened. A message is a HashMap of JDK
 * types (and endpoint references), so that reading it never depends on which class loader has our jar.
 */
final class Rpc {
    /** Name of the driver's endpoint. */
    static final String DRIVER = "spark-probe";

    static final String TYPE = "type";
    // Executor to driver.
    static final String HELLO = "hello";
    static final String STATUS = "status";
    static final String BUNDLE = "bundle";
    static final String FLUSHED = "flushed";
    static final String TRIGGER = "trigger";
    static final String STAGES = "stages";
    // Driver to executor.
    static final String FLUSH = "flush";
    static final String BURST = "burst";
    static final String DUMP = "dump";
    static final String STOP = "stop";
    static final String STAGE_ENDED = "stageEnded";

    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    /** What an endpoint does with its messages. */
    interface Handler {
        void receive(Map<String, Object> message);

        /** Must answer through {@code context}, now or later. */
        default void receiveAndReply(Map<String, Object> message, RpcCallContext context) {
            context.sendFailure(new IllegalStateException("spark_probe expected no question here"));
        }
    }

    private Rpc() {
    }

    static HashMap<String, Object> message(String type) {
        HashMap<String, Object> message = new HashMap<>();
        message.put(TYPE, type);
        return message;
    }

    static RpcEndpointRef register(RpcEnv env, String name, Handler handler) {
        return env.setupEndpoint(name, new Endpoint(env, handler));
    }

    /** The driver's endpoint as seen from an executor; fails where the driver has none. */
    static RpcEndpointRef driver(SparkEnv env, SparkConf conf) {
        return RpcUtils.makeDriverRef(DRIVER, conf, env.rpcEnv());
    }

    static Object ask(RpcEndpointRef ref, Object message, long timeoutMs) {
        RpcTimeout timeout =
                new RpcTimeout(new FiniteDuration(timeoutMs, TimeUnit.MILLISECONDS), "spark_probe's own time limit");
        return ref.askSync(message, timeout, ANY);
    }

    private static final class Endpoint implements ThreadSafeRpcEndpoint {
        private final RpcEnv env;
        private final Handler handler;

        Endpoint(RpcEnv env, Handler handler) {
            this.env = env;
            this.handler = handler;
        }

        @Override
        public RpcEnv rpcEnv() {
            return env;
        }

        @Override
        public PartialFunction<Object, BoxedUnit> receive() {
            return new Receive(handler, null);
        }

        @Override
        public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
            return new Receive(handler, context);
        }
    }

    private static final class Receive extends AbstractPartialFunction<Object, BoxedUnit> {
        private final Handler handler;
        private final RpcCallContext context;

        Receive(Handler handler, RpcCallContext context) {
            this.handler = handler;
            this.context = context;
        }

        @Override
        public boolean isDefinedAt(Object message) {
            return message instanceof Map;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A, B> B applyOrElse(A message, scala.Function1<A, B> fallback) {
            if (!isDefinedAt(message)) {
                return fallback.apply(message);
            }
            try {
                if (context == null) {
                    handler.receive((Map<String, Object>) message);
                } else {
                    handler.receiveAndReply((Map<String, Object>) message, context);
                }
            } catch (Throwable t) {
                // An endpoint that throws would be a fault of Spark's dispatcher, not of ours alone.
                if (context != null) {
                    context.sendFailure(t);
                }
            }
            return (B) BoxedUnit.UNIT;
        }
    }
}
