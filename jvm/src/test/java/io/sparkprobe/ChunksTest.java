package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class ChunksTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private Path file;

    private void append(long sizeField, int bytes) throws IOException {
        if (file == null) {
            file = folder.newFile("r.jfr").toPath();
        }
        ByteBuffer chunk = ByteBuffer.allocate(bytes);
        chunk.putInt(0, Chunks.SIGNATURE);
        chunk.putLong(8, sizeField);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
            channel.write(chunk);
        }
    }

    private void close(long at, long size) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer field = ByteBuffer.allocate(8);
            field.putLong(0, size);
            channel.write(field, at + 8);
        }
    }

    @Test
    public void onlyFinishedChunksAreGiven() throws IOException {
        append(200, 200);
        append(300, 300);
        append(Chunks.OPEN_SIZE, 100);
        try (Chunks chunks = new Chunks(file)) {
            assertEquals(200, chunks.next().remaining());
            assertEquals(300, chunks.next().remaining());
            assertNull(chunks.next());
            assertEquals(500, chunks.consumedBytes());
            close(500, 100);
            assertEquals(100, chunks.next().remaining());
            append(Chunks.OPEN_SIZE, 20);
            assertNull("a header that is not whole yet", chunks.next());
        }
    }

    @Test
    public void aSizeBeyondTheFilesEndIsNotFinished() throws IOException {
        append(4096, 100);
        try (Chunks chunks = new Chunks(file)) {
            assertNull(chunks.next());
        }
    }

    @Test
    public void whatIsNoChunkIsAnError() throws IOException {
        append(200, 200);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
            channel.write(ByteBuffer.allocate(100));
        }
        try (Chunks chunks = new Chunks(file)) {
            chunks.next();
            IOException e = assertThrows(IOException.class, chunks::next);
            assertTrue(e.getMessage(), e.getMessage().contains("200"));
        }
    }
}
