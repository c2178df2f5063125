package io.sparkprobe;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A position in the bytes of a JFR chunk, and the primitives that the format is made of.
 *
 * <p>It reads through a small window on the heap: byte for byte, a mapped buffer is slow until it is compiled, and a
 * chunk is digested in less time than that takes. Lengths and counts are checked against the bytes that are left before
 * anything is allocated: in a damaged chunk any of them may be any number, and an OutOfMemoryError would cost the executor
 * its life.
 */
final class JfrCursor {
    private static final int WINDOW_BYTES = 4096;
    private static final int MAX_VARINT_BYTES = 9;

    private final ByteBuffer bytes;
    private final int limit;
    private final byte[] window = new byte[WINDOW_BYTES];
    private int windowStart;
    private int windowLength;
    int position;

    /** @param bytes the chunk, from index 0 to its limit */
    JfrCursor(ByteBuffer bytes) {
        this.bytes = bytes.duplicate();
        this.limit = bytes.limit();
    }

    int limit() {
        return limit;
    }

    /** Index in the window of the byte at the position, with so many after it, or all that the chunk has. */
    private int index(int ahead) {
        int index = position - windowStart;
        if (index >= 0 && index + ahead <= windowLength) {
            return index;
        }
        if (position < 0 || position >= limit) {
            throw new JfrFormatException("the chunk's " + limit + " bytes end before byte " + position);
        }
        windowStart = position;
        windowLength = Math.min(WINDOW_BYTES, limit - position);
        bytes.position(position);
        bytes.get(window, 0, windowLength);
        return 0;
    }

    byte readByte() {
        byte b = window[index(1)];
        position++;
        return b;
    }

    int readVarInt() {
        return (int) readVarLong();
    }

    /** A LEB128 number of at most nine bytes, the ninth whole: what JFR calls a compressed long. */
    long readVarLong() {
        int start = index(MAX_VARINT_BYTES);
        int at = start;
        long b = window[at++];
        if (b >= 0) {
            position++;
            return b;
        }
        long result = b & 0x7f;
        for (int shift = 7; shift < 56; shift += 7) {
            b = byteAt(at++);
            result |= (b & 0x7f) << shift;
            if (b >= 0) {
                position += at - start;
                return result;
            }
        }
        b = byteAt(at++);
        position += at - start;
        return result | (b & 0xff) << 56;
    }

    private byte byteAt(int index) {
        if (index >= windowLength) {
            throw new JfrFormatException("the chunk's " + limit + " bytes end in a number");
        }
        return window[index];
    }

    void skipVarLong() {
        int start = index(MAX_VARINT_BYTES);
        int at = start;
        int last = start + MAX_VARINT_BYTES - 1;
        while (at < last && byteAt(at) < 0) {
            at++;
        }
        position += at + 1 - start;
    }

    /** Skips so many numbers in one go: most of a chunk is the numbers of its stacks. */
    void skipVarLongs(int count) {
        int left = count;
        int length = 0; // of the number so far
        while (left > 0) {
            int start = index(1);
            int at = start;
            while (at < windowLength && left > 0) {
                length++;
                if (window[at++] >= 0 || length == MAX_VARINT_BYTES) {
                    left--;
                    length = 0;
                }
            }
            position += at - start;
        }
    }

    void skip(int count) {
        if (count < 0 || count > limit - position) {
            throw new JfrFormatException("a length of " + count + " at byte " + position + " of " + limit);
        }
        position += count;
    }

    /** The bytes between two positions, as they lie there. */
    ByteBuffer slice(int from, int to) {
        if (from > to || to > limit) {
            throw new JfrFormatException("a length of " + (to - from) + " at byte " + from + " of " + limit);
        }
        bytes.limit(to);
        bytes.position(from);
        ByteBuffer slice = bytes.slice();
        bytes.limit(limit);
        return slice;
    }

    /** A number of things that take at least so many bytes each. */
    int readCount(int minBytesEach) {
        int count = readVarInt();
        if (count < 0 || count > (limit - position) / minBytesEach) {
            throw new JfrFormatException("a count of " + count + " at byte " + position + " of " + limit);
        }
        return count;
    }

    void skipString() {
        switch (readByte()) {
            case 0:
            case 1:
                break;
            case 2:
                skipVarLong();
                break;
            case 3:
            case 5:
                skip(readVarInt());
                break;
            case 4:
                for (int n = readCount(1); n > 0; n--) {
                    skipVarLong();
                }
                break;
            default:
                throw new JfrFormatException("an unknown string encoding before byte " + position);
        }
    }

    /** The string here, null where it is null; one that is a reference is looked up in the given pool. */
    String readString(JfrChunk pools) {
        switch (readByte()) {
            case 0:
                return null;
            case 1:
                return "";
            case 2:
                long id = readVarLong();
                return pools == null ? null : pools.string(id);
            case 3:
                return new String(readBytes(), StandardCharsets.UTF_8);
            case 4:
                char[] chars = new char[readCount(1)];
                for (int i = 0; i < chars.length; i++) {
                    chars[i] = (char) readVarInt();
                }
                return new String(chars);
            case 5:
                return new String(readBytes(), StandardCharsets.ISO_8859_1);
            default:
                throw new JfrFormatException("an unknown string encoding before byte " + position);
        }
    }

    private byte[] readBytes() {
        byte[] copy = new byte[readCount(1)];
        bytes.position(position);
        bytes.get(copy);
        position += copy.length;
        return copy;
    }
}
