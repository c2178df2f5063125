package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rpc.RpcEndpointRef;

/**
 * What an executor still has to deliver. It goes to the run folder itself where that is a shared file system, and to the
 * driver over RPC where it is not. What cannot be delivered waits, up to a bound. Used by the flush thread alone.
 */
final class Outbox {
    private static final long BOUND_BYTES = 64L << 20;

    /** A file to deliver: {@code seq} of a flush, or -1 of one that is delivered under its name only. */
    private static final class Item {
        final long seq;
        final String name;
        final byte[] content;
        final long samples;

        Item(long seq, String name, byte[] content, long samples) {
            this.seq = seq;
            this.name = name;
            this.content = content;
            this.samples = samples;
        }
    }

    private final String executorId;
    private final RpcEndpointRef driver;
    private final Configuration hadoop;
    private final ArrayDeque<Item> waiting = new ArrayDeque<>();
    private long waitingBytes;
    /** Null until the driver said where the run folder is, and where it is the driver's own. */
    private RunFolder folder;
    private SeqFiles files;

    long deliveredBytes;
    long deliveredSamples;
    long lastSeq = -1;
    long lastDeliveryMs;
    long droppedSamples;
    String lastError;

    Outbox(String executorId, RpcEndpointRef driver, Configuration hadoop) {
        this.executorId = executorId;
        this.driver = driver;
        this.hadoop = hadoop;
    }

    /** The run folder is on a file system that this executor reaches: opens it now, since that can take a second. */
    void deliverTo(String folderUri) {
        try {
            folder = RunFolder.open(new Path(folderUri), hadoop);
            files = new SeqFiles(folder, executorId);
            files.create();
        } catch (IOException | RuntimeException e) {
            folder = null;
            files = null;
            lastError = "cannot write to " + folderUri + " (" + e + "): flushes go to the driver instead";
        }
    }

    void add(long seq, String name, byte[] content, long samples) {
        waiting.add(new Item(seq, name, content, samples));
        waitingBytes += content.length;
        while (waitingBytes > BOUND_BYTES && waiting.size() > 1) {
            Item oldest = waiting.poll();
            waitingBytes -= oldest.content.length;
            droppedSamples += oldest.samples;
        }
    }

    /** Delivers what waits, oldest first; stops at the first that fails and keeps it. */
    boolean deliver(long timeoutMs) {
        while (!waiting.isEmpty()) {
            Item item = waiting.peek();
            try {
                deliver(item, timeoutMs);
            } catch (Exception e) {
                lastError = "flush " + item.name + " could not be delivered and is tried again: " + e;
                return false;
            }
            waiting.poll();
            waitingBytes -= item.content.length;
            deliveredBytes += item.content.length;
            deliveredSamples += item.samples;
            if (item.seq >= 0) {
                lastSeq = item.seq;
                lastDeliveryMs = System.currentTimeMillis();
            }
        }
        return true;
    }

    private void deliver(Item item, long timeoutMs) throws IOException {
        if (files != null) {
            if (item.seq >= 0) {
                files.add(item.seq, item.content);
            } else {
                folder.createFolder(files.path() + "/jfr");
                folder.write(files.path() + "/" + item.name, item.content);
            }
            return;
        }
        HashMap<String, Object> message = Rpc.message(Rpc.BUNDLE);
        message.put("executor", executorId);
        message.put("seq", item.seq);
        message.put("name", item.name);
        message.put("content", item.content);
        Object answer = Rpc.ask(driver, message, timeoutMs);
        Object error = answer instanceof Map ? ((Map<?, ?>) answer).get("error") : null;
        if (error != null) {
            throw new IOException("the driver could not write it: " + error);
        }
    }

    void close() {
        try {
            if (folder != null) {
                folder.close();
            }
        } catch (IOException e) {
            lastError = e.toString();
        }
    }
}
