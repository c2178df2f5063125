package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.Test;

/** No bytes make a digest throw, hang or take heap without bound; what can be read is kept, what cannot is said. */
public class DamagedChunkTest {
    private static final long START = 1_000_000_000_000L;
    private static final int SAMPLES = 400;
    private static final RecordingInfo RECORDING =
            new RecordingInfo(0, RecordingInfo.BASE, "ctimer", 10_000_000, 100_000_000, 4 << 20, 10_000_000);

    private static byte[] chunk() {
        JfrBuilder chunk = new JfrBuilder().setting("jstackdepth", "2048").setting("event", "cpu");
        for (int i = 1; i <= 40; i++) {
            chunk.classRef(i, "com/example/Class" + i).method(i, i, "method" + i);
            chunk.stack(i, i, i, 1, i / 2 + 1, 3, 0, 1, 1, 1).thread(i, "thread-" + i, i).string(i, "text" + i);
        }
        for (int i = 0; i < SAMPLES / 4; i++) {
            chunk.add(JfrEvents.EXECUTION_SAMPLE, START + i, i % 40 + 1, i % 40 + 1, JfrBuilder.DEFAULT);
            chunk.add(JfrEvents.WALL_CLOCK_SAMPLE, START + i, i % 40 + 1, i % 40 + 1, JfrBuilder.RUNNABLE, 1, 0);
            chunk.add(JfrEvents.ALLOC_IN_NEW_TLAB, START + i, i % 40 + 1, i % 40 + 1, i % 40 + 1, 16, 4096);
            chunk.add(JfrEvents.MONITOR_ENTER, START + i, 5, i % 40 + 1, i % 40 + 1, i % 40 + 1, 0, 9);
            chunk.add(JfrEvents.SPAN, START, 100, i % 40 + 1, i % 40 + 1);
        }
        return chunk.build();
    }

    private static Digest digest(byte[] bytes) {
        Digest digest = new Digest(new DigestLimits(10_000, 10_000, 10_000, 8 << 20));
        boolean whole = digest.add(ByteBuffer.wrap(bytes), RECORDING, TaskTimeline.EMPTY, new ThreadKinds(false), null);
        assertEquals(whole ? 0 : 1, digest.damagedChunks());
        assertTrue("what is lost is said", whole || !digest.notes().isEmpty());
        assertEquals("each sample is in the tables", digest.samples(), samplesIn(digest.finish()));
        return digest;
    }

    private static long samplesIn(Tables tables) {
        long sum = 0;
        for (Table.Column column : tables.all().get(0).columns) {
            for (int row = 0; column.name.equals("samples") && row < column.size; row++) {
                sum += ((Table.Longs) column).get(row);
            }
        }
        return sum;
    }

    @Test
    public void theWholeChunk() {
        Digest digest = digest(chunk());
        assertEquals(SAMPLES, digest.samples());
        assertEquals(0, digest.damagedChunks());
        assertEquals("[]", digest.notes().toString());
    }

    @Test
    public void cutAnywhere() {
        byte[] whole = chunk();
        for (int length = 0; length < whole.length; length += length < 200 ? 1 : 97) {
            Digest digest = digest(Arrays.copyOf(whole, length));
            assertEquals(1, digest.damagedChunks());
            assertEquals(0, digest.samples());
        }
    }

    @Test
    public void cutAnywhereWithAHeaderThatSaysSo() {
        byte[] whole = chunk();
        for (int length = JfrChunk.HEADER_BYTES; length < whole.length; length += 83) {
            byte[] cut = Arrays.copyOf(whole, length);
            ByteBuffer.wrap(cut).putLong(8, length);
            digest(cut);
        }
    }

    /** The pools at a chunk's end are what a full disk takes first: the samples stay, without their stacks. */
    @Test
    public void samplesOutliveTheirPools() {
        byte[] whole = chunk();
        int pools = (int) ByteBuffer.wrap(whole).getLong(16);
        Arrays.fill(whole, pools, whole.length, (byte) 0x7f);
        Digest digest = digest(whole);
        assertEquals(1, digest.damagedChunks());
        assertEquals(SAMPLES, digest.samples());
        assertTrue(digest.notes().toString(), digest.notes().get(0).contains("constant pool"));
    }

    @Test
    public void eventsBeforeADamagedOneAreKept() {
        byte[] whole = chunk();
        int pools = (int) ByteBuffer.wrap(whole).getLong(16);
        Arrays.fill(whole, pools - 300, pools, (byte) 0xff);
        Digest digest = digest(whole);
        assertEquals(1, digest.damagedChunks());
        assertTrue(digest.samples() > SAMPLES / 2 && digest.samples() < SAMPLES);
    }

    @Test(timeout = 120_000)
    public void anyBitsMayBeWrong() {
        byte[] whole = chunk();
        Random random = new Random(5);
        int damaged = 0;
        for (int i = 0; i < 1500; i++) {
            byte[] flipped = whole.clone();
            for (int n = random.nextInt(3); n >= 0; n--) {
                flipped[random.nextInt(flipped.length)] ^= 1 << random.nextInt(8);
            }
            damaged += digest(flipped).damagedChunks();
        }
        assertTrue("bits do matter: " + damaged, damaged > 100);
    }

    /** A length or a count of two billion must not become an array: an OutOfMemoryError would end the executor. */
    @Test(timeout = 120_000)
    public void noNumberIsBelieved() {
        byte[] whole = chunk();
        byte[] huge = {(byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x07};
        for (int position = 24; position + huge.length < whole.length; position += 7) {
            byte[] bytes = whole.clone();
            System.arraycopy(huge, 0, bytes, position, huge.length);
            digest(bytes);
        }
    }

    @Test
    public void otherBytes() {
        byte[] random = new byte[5000];
        new Random(9).nextBytes(random);
        assertEquals(1, digest(random).damagedChunks());
        assertEquals(1, digest(new byte[0]).damagedChunks());
        byte[] zeros = Arrays.copyOf(new byte[] {'F', 'L', 'R', 0, 0, 2, 0, 0}, 500);
        assertEquals(1, digest(zeros).damagedChunks());
        byte[] old = chunk();
        old[5] = 1;
        Digest digest = digest(old);
        assertTrue(digest.notes().toString(), digest.notes().get(0).contains("JFR version 1"));
    }

    @Test
    public void theOpenChunkOfARunningRecordingIsNotWhole() {
        byte[] open = chunk();
        ByteBuffer.wrap(open).putLong(8, 1 << 30).putLong(16, 0).putLong(24, 0);
        Digest digest = digest(open);
        assertTrue(digest.notes().toString(), digest.notes().get(0).contains("incomplete chunk"));
        assertFalse(digest.notes().get(0).contains("null"));
    }
}
