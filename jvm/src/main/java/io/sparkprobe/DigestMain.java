package io.sparkprobe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Digests JFR files of async-profiler on the command line: {@code DigestMain FILE.jfr... OUT.parquet}.
 *
 * <p>Tasks are taken from the spans in the files ({@link SpanTag}); a file without them gives samples without tasks.
 * What cannot be read is reported on stderr, and the rest is written.
 */
public final class DigestMain {
    private static final long BUCKET_MS = 10_000;
    private static final int MAX_ROWS = 10_000_000;
    private static final int MAX_STACKS = 4_000_000;

    private DigestMain() {
    }

    public static void main(String[] args) throws IOException {
        if (args.length < 2) {
            System.err.println("usage: io.sparkprobe.DigestMain FILE.jfr... OUT.parquet");
            System.exit(2);
        }
        // Parquet's classes take a quarter of a second to load: that goes on while the chunks are read.
        Thread loader = new Thread(DigestMain::loadParquet, "load-parquet");
        loader.setDaemon(true);
        loader.start();
        // Bounds for a machine that does nothing else; an executor's are far lower.
        Digest digest = new Digest(new DigestLimits(BUCKET_MS, MAX_ROWS, MAX_STACKS, Runtime.getRuntime().maxMemory() / 2));
        List<TaskInfo> tasks = new ArrayList<>();
        for (int i = 0; i < args.length - 1; i++) {
            tasks.addAll(digest(Paths.get(args[i]), digest, RecordingInfo.unknown(i)));
        }
        Tables tables = digest.finish();
        for (TaskInfo task : tasks) {
            tables.addTask(task);
        }
        Files.write(Paths.get(args[args.length - 1]), TablesWriter.write(tables, Collections.emptyMap()));
        for (String note : digest.notes()) {
            System.err.println(note);
        }
    }

    private static void loadParquet() {
        Tables one = new Tables();
        one.addGc(0, 0, 0, false, "", "", "", 0, 0, 0);
        try {
            TablesWriter.write(one, Collections.emptyMap());
        } catch (IOException e) {
            throw new UncheckedIOException(e); // the real file will meet it too
        }
    }

    /** Digests one file; the tasks that its spans name. */
    private static List<TaskInfo> digest(Path path, Digest digest, RecordingInfo recording) throws IOException {
        List<JfrChunk> chunks = new ArrayList<>();
        SpanTimeline spans = new SpanTimeline();
        for (ByteBuffer bytes : map(path)) {
            JfrChunk chunk = digest.open(bytes, recording);
            if (chunk != null) {
                chunks.add(chunk);
                spans.add(chunk);
            }
        }
        TaskTimeline timeline = spans.timeline();
        for (JfrChunk chunk : chunks) {
            digest.add(chunk, recording, timeline, new ThreadKinds(false), null);
        }
        return spans.tasks();
    }

    /** The chunks of a file, mapped; the last one is all that is left where no chunk starts. */
    private static List<ByteBuffer> map(Path path) throws IOException {
        List<ByteBuffer> chunks = new ArrayList<>();
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            long left = file.size();
            while (left > 0) {
                ByteBuffer rest = file.map(FileChannel.MapMode.READ_ONLY, file.size() - left,
                        Math.min(left, Integer.MAX_VALUE));
                long size = JfrChunk.size(rest, 0);
                chunks.add(rest);
                left = size > 0 ? left - size : 0;
            }
        }
        return chunks;
    }
}
