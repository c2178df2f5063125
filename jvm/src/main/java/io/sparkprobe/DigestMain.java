package io.sparkprobe;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Digests JFR files of async-profiler on the command line: {@code DigestMain FILE.jfr... OUT.parquet}.
 *
 * <p>Tasks are taken from the spans in the files ({@link SpanTag}); a file without them gives samples without tasks.
 * What cannot be read is reported on stderr, and the rest is written.
 */
public final class DigestMain {
    private DigestMain() {
    }

    public static void main(String[] args) throws IOException {
        if (args.length < 2) {
            System.err.println("usage: io.sparkprobe.DigestMain FILE.jfr... OUT.parquet");
            System.exit(2);
        }
        List<String> inputs = Arrays.asList(args).subList(0, args.length - 1);
        Digest digest = new Digest(new DigestLimits(10_000, 4_000_000, 2_000_000, 1L << 30));
        ThreadKinds kinds = new ThreadKinds(false);
        for (int i = 0; i < inputs.size(); i++) {
            RecordingInfo recording = RecordingInfo.unknown(i);
            for (ByteBuffer chunk : chunks(Paths.get(inputs.get(i)))) {
                digest.add(chunk, recording, TaskTimeline.EMPTY, kinds, null);
            }
        }
        Tables tables = digest.finish();
        byte[] file = TablesWriter.write(tables, Collections.singletonMap(TablesWriter.META_EXECUTOR, "0"));
        Files.write(Paths.get(args[args.length - 1]), file);
        for (String note : digest.notes()) {
            System.err.println(note);
        }
    }

    private static List<ByteBuffer> chunks(Path path) throws IOException {
        List<ByteBuffer> chunks = new ArrayList<>();
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            long size = file.size();
            for (long position = 0; position < size; ) {
                ByteBuffer chunk = file.map(FileChannel.MapMode.READ_ONLY, position,
                        Math.min(size - position, Integer.MAX_VALUE));
                long chunkSize = JfrChunk.size(chunk, 0);
                chunks.add(chunk);
                if (chunkSize <= 0) {
                    break;
                }
                position += chunkSize;
            }
        }
        return chunks;
    }
}
