package io.sparkprobe;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A position in the bytes of a JFR chunk, and the primitives that the format is made of.
 *
 * <p>Lengths and counts are checked against the bytes that are left before anything is allocated: in a damaged chunk
 * any of them may be any number, and an OutOfMemoryError would cost the executor its life.
 */
final class JfrCursor {
    private final ByteBuffer bytes;
    private final int limit;
    int position;

    /** @param bytes the chunk, from index 0 to its limit */
    JfrCursor(ByteBuffer bytes) {
        this.bytes = bytes;
        this.limit = bytes.limit();
    }

    int limit() {
        return limit;
    }

    byte readByte() {
        return bytes.get(position++);
    }

    int readVarInt() {
        return (int) readVarLong();
    }

    /** A LEB128 number of at most nine bytes, the ninth whole: what JFR calls a compressed long. */
    long readVarLong() {
        int at = position;
        long b = bytes.get(at++);
        if (b >= 0) {
            position = at;
            return b;
        }
        long result = b & 0x7f;
        for (int shift = 7; shift < 56; shift += 7) {
            b = bytes.get(at++);
            result |= (b & 0x7f) << shift;
            if (b >= 0) {
                position = at;
                return result;
            }
        }
        b = bytes.get(at++);
        position = at;
        return result | (b & 0xff) << 56;
    }

    void skipVarLong() {
        int at = position;
        int end = at + 8;
        while (at < end && bytes.get(at) < 0) {
            at++;
        }
        position = at + 1;
    }

    void skip(int count) {
        if (count < 0 || count > limit - position) {
            throw new JfrFormatException("a length of " + count + " at byte " + position + " of " + limit);
        }
        position += count;
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
        for (int i = 0; i < copy.length; i++) {
            copy[i] = bytes.get(position + i);
        }
        position += copy.length;
        return copy;
    }
}
