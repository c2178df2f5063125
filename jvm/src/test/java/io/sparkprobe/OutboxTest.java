package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import scala.concurrent.Future;
import scala.concurrent.Future$;
import scala.reflect.ClassTag;

public class OutboxTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    /** The driver as an executor sees it. */
    private static final class Driver extends RpcEndpointRef {
        private static final long serialVersionUID = 1;
        final transient List<String> received = new ArrayList<>();
        String error;
        boolean down;

        Driver() {
            super(new SparkConf(false));
        }

        @Override
        public RpcAddress address() {
            return new RpcAddress("driver", 1);
        }

        @Override
        public String name() {
            return "driver";
        }

        @Override
        public void send(Object message) {
            throw new AssertionError("a bundle must be answered");
        }

        @Override
        @SuppressWarnings("unchecked")
        public <T> Future<T> ask(Object message, RpcTimeout timeout, ClassTag<T> tag) {
            if (down) {
                return Future$.MODULE$.failed(new IOException("connection reset"));
            }
            Map<String, Object> answer = new HashMap<>();
            if (error == null) {
                received.add((String) ((Map<?, ?>) message).get("name"));
            } else {
                answer.put("error", error);
            }
            return (Future<T>) Future$.MODULE$.successful(answer);
        }
    }

    private final Driver driver = new Driver();
    private final Outbox outbox = new Outbox("7", driver, new Configuration());

    private static byte[] bytes(int count) {
        return new byte[count];
    }

    @Test
    public void flushesGoToTheDriverInTheirOrder() {
        outbox.add(0, "000000.parquet", bytes(10), 5);
        outbox.add(1, "000001.parquet", bytes(20), 6);
        assertTrue(outbox.deliver(1000));
        assertEquals(Arrays.asList("000000.parquet", "000001.parquet"), driver.received);
        assertEquals(30, outbox.deliveredBytes);
        assertEquals(11, outbox.deliveredSamples);
        assertEquals(1, outbox.lastSeq);
        assertNull(outbox.lastError);
    }

    @Test
    public void whatCannotBeDeliveredIsTriedAgain() {
        driver.down = true;
        outbox.add(0, "000000.parquet", bytes(10), 5);
        assertFalse(outbox.deliver(1000));
        assertTrue(outbox.lastError, outbox.lastError.contains("000000.parquet"));
        assertEquals(0, outbox.deliveredSamples);
        driver.down = false;
        driver.error = "disk full";
        assertFalse(outbox.deliver(1000));
        assertTrue(outbox.lastError, outbox.lastError.contains("disk full"));
        driver.error = null;
        outbox.add(1, "000001.parquet", bytes(10), 5);
        assertTrue(outbox.deliver(1000));
        assertEquals(Arrays.asList("000000.parquet", "000001.parquet"), driver.received);
    }

    @Test
    public void whatWaitsIsBoundedAndTheLossIsCounted() {
        driver.down = true;
        for (int seq = 0; seq < 5; seq++) {
            outbox.add(seq, seq + ".parquet", bytes(20 << 20), 100);
            outbox.deliver(1000);
        }
        assertEquals(200, outbox.droppedSamples);
        driver.down = false;
        assertTrue(outbox.deliver(1000));
        assertEquals(Arrays.asList("2.parquet", "3.parquet", "4.parquet"), driver.received);
    }

    @Test
    public void aSharedFolderIsWrittenWithoutTheDriver() {
        outbox.deliverTo(folder.getRoot().toURI().toString());
        outbox.add(0, "000000.parquet", bytes(10), 5);
        outbox.add(-1, "jfr/000000.jfr.gz", bytes(10), 0);
        assertTrue(outbox.deliver(1000));
        outbox.close();
        assertTrue(driver.received.isEmpty());
        assertTrue(folder.getRoot().toPath().resolve("executors/7/000000.parquet").toFile().isFile());
        assertTrue(folder.getRoot().toPath().resolve("executors/7/jfr/000000.jfr.gz").toFile().isFile());
        assertEquals(0, outbox.lastSeq);
    }

    @Test
    public void aSharedFolderThatCannotBeWrittenLeavesTheDriver() throws IOException {
        String inFile = folder.newFile("plain").toURI().toString() + "/run";
        outbox.deliverTo(inFile);
        assertTrue(outbox.lastError, outbox.lastError.contains("flushes go to the driver instead"));
        outbox.add(0, "000000.parquet", bytes(10), 5);
        assertTrue(outbox.deliver(1000));
        assertEquals(1, driver.received.size());
    }
}
