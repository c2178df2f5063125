package io.sparkprobe;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.PositionOutputStream;
import org.apache.parquet.io.SeekableInputStream;

/** Files in memory, for Parquet: the executor writes nothing to a disk that it does not own. */
final class MemoryFile {
    private MemoryFile() {
    }

    static final class Output implements OutputFile {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(64 * 1024);

        byte[] toByteArray() {
            return bytes.toByteArray();
        }

        @Override
        public PositionOutputStream create(long blockSizeHint) {
            return new PositionOutputStream() {
                @Override
                public long getPos() {
                    return bytes.size();
                }

                @Override
                public void write(int b) {
                    bytes.write(b);
                }

                @Override
                public void write(byte[] source, int offset, int length) {
                    bytes.write(source, offset, length);
                }
            };
        }

        @Override
        public PositionOutputStream createOrOverwrite(long blockSizeHint) {
            bytes.reset();
            return create(blockSizeHint);
        }

        @Override
        public boolean supportsBlockSize() {
            return false;
        }

        @Override
        public long defaultBlockSize() {
            return 0;
        }
    }

    static final class Input implements InputFile {
        private final byte[] bytes;

        Input(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public long getLength() {
            return bytes.length;
        }

        @Override
        public SeekableInputStream newStream() {
            return new Stream(new Bytes(bytes));
        }
    }

    /** A ByteArrayInputStream whose position can be told and set. */
    private static final class Bytes extends ByteArrayInputStream {
        Bytes(byte[] bytes) {
            super(bytes);
        }

        int position() {
            return pos;
        }

        void seek(long position) throws IOException {
            if (position < 0 || position > count) {
                throw new IOException("position " + position + " of " + count + " bytes");
            }
            pos = (int) position;
        }
    }

    private static final class Stream extends DelegatingSeekableInputStream {
        private final Bytes bytes;

        Stream(Bytes bytes) {
            super(bytes);
            this.bytes = bytes;
        }

        @Override
        public long getPos() {
            return bytes.position();
        }

        @Override
        public void seek(long position) throws IOException {
            bytes.seek(position);
        }
    }
}
