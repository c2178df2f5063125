package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * One executor's numbered files in the run folder, joined eight to one as they grow in number, so that an executor-hour
 * leaves at most twenty. Not thread-safe.
 */
final class SeqFiles {
    static final int FAN_OUT = 8;
    /** What is larger stays as it is: it is joined in memory. */
    private static final long MOST_BYTES = 64L << 20;

    private static final class Part {
        final long first;
        final long last;
        final long bytes;

        Part(long first, long last, long bytes) {
            this.first = first;
            this.last = last;
            this.bytes = bytes;
        }

        String name() {
            return first == last ? String.format("%06d.parquet", first)
                    : String.format("%06d-%06d.parquet", first, last);
        }
    }

    private final RunFolder folder;
    private final String path;
    private final List<List<Part>> levels = new ArrayList<>();
    private boolean created;

    SeqFiles(RunFolder folder, String executorId) {
        this.folder = folder;
        this.path = RunFolder.executorFolder(executorId);
    }

    String path() {
        return path;
    }

    /** Makes the executor's folder, once. */
    void create() throws IOException {
        if (!created) {
            folder.createFolder(path);
            created = true;
        }
    }

    /** Writes a flush; joins files where there are enough of them. */
    void add(long seq, byte[] content) throws IOException {
        create();
        Part part = new Part(seq, seq, content.length);
        folder.write(path + "/" + part.name(), content);
        put(0, part);
    }

    private void put(int level, Part part) throws IOException {
        if (levels.size() == level) {
            levels.add(new ArrayList<Part>());
        }
        List<Part> parts = levels.get(level);
        parts.add(part);
        if (parts.size() < FAN_OUT) {
            return;
        }
        long bytes = 0;
        for (Part p : parts) {
            bytes += p.bytes;
        }
        if (bytes > MOST_BYTES) {
            parts.clear();
            return;
        }
        List<byte[]> contents = new ArrayList<>();
        for (Part p : parts) {
            contents.add(folder.read(path + "/" + p.name()));
        }
        byte[] joined = Compaction.merge(contents);
        Part wide = new Part(parts.get(0).first, part.last, joined.length);
        folder.write(path + "/" + wide.name(), joined);
        for (Part p : parts) {
            folder.delete(path + "/" + p.name());
        }
        parts.clear();
        put(level + 1, wide);
    }
}
