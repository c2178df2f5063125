package io.sparkprobe;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The finished chunks of a JFR file that async-profiler still writes to. A chunk is finished when its header holds its
 * size; while it is open the header says 1 GiB.
 */
final class Chunks implements Closeable {
    static final int SIGNATURE = 0x464c5200;
    static final long OPEN_SIZE = 0x40000000L;
    private static final int HEADER_BYTES = 68;

    private final FileChannel channel;
    private long offset;

    Chunks(Path file) throws IOException {
        channel = FileChannel.open(file, StandardOpenOption.READ);
    }

    /** The next finished chunk, mapped, or null where none is. */
    ByteBuffer next() throws IOException {
        long size = finishedSize();
        if (size == 0) {
            return null;
        }
        ByteBuffer chunk = channel.map(FileChannel.MapMode.READ_ONLY, offset, size);
        offset += size;
        return chunk;
    }

    /** Bytes of the chunks that were handed out. */
    long consumedBytes() {
        return offset;
    }

    long fileBytes() throws IOException {
        return channel.size();
    }

    private long finishedSize() throws IOException {
        if (channel.size() < offset + HEADER_BYTES) {
            return 0;
        }
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
        if (channel.read(header, offset) < HEADER_BYTES) {
            return 0;
        }
        if (header.getInt(0) != SIGNATURE) {
            throw new IOException("no chunk begins at byte " + offset + " of the recording");
        }
        long size = header.getLong(8);
        return size == OPEN_SIZE || size < HEADER_BYTES || offset + size > channel.size() ? 0 : size;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
