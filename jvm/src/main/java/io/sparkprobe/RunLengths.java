package io.sparkprobe;

import java.io.ByteArrayOutputStream;
import org.apache.parquet.bytes.BytesInput;

/** Small numbers as runs: the run-length half of Parquet's hybrid encoding, without length or bit width in front. */
final class RunLengths {
    private final int valueBytes;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private int count;
    private int value;
    private int run;

    RunLengths(int bitWidth) {
        this.valueBytes = (bitWidth + 7) / 8;
    }

    void add(int next, int times) {
        if (times <= 0) {
            return;
        }
        if (next != value) {
            flush();
            value = next;
        }
        count += times;
        run += times;
    }

    private void flush() {
        if (run == 0) {
            return;
        }
        int header = run << 1;
        for (; header > 0x7f; header >>>= 7) {
            out.write(header & 0x7f | 0x80);
        }
        out.write(header);
        for (int i = 0; i < valueBytes; i++) {
            out.write(value >>> 8 * i);
        }
        run = 0;
    }

    int count() {
        return count;
    }

    BytesInput bytes() {
        flush();
        return BytesInput.from(out.toByteArray());
    }
}
