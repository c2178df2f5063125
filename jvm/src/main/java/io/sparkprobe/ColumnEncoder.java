package io.sparkprobe;

import com.github.luben.zstd.Zstd;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForInteger;
import org.apache.parquet.column.values.delta.DeltaBinaryPackingValuesWriterForLong;
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.api.Binary;

/**
 * Writes one column of one table as a column chunk of one page. The rows of a file are those of all its tables, one
 * table after the other, so that a column is null before and after its own table's rows.
 */
final class ColumnEncoder {
    private static final int ZSTD_LEVEL = 9;
    private static final int SLAB_BYTES = 4096;
    private static final int MAX_SLAB_BYTES = 1 << 20;

    private final ParquetFileWriter file;
    private final int totalRows;

    ColumnEncoder(ParquetFileWriter file, int totalRows) {
        this.file = file;
        this.totalRows = totalRows;
    }

    /** @param firstRow row of the file that is the table's first */
    void write(ColumnDescriptor descriptor, Table.Column column, int firstRow) throws IOException {
        Levels definition = new Levels(descriptor.getMaxDefinitionLevel());
        Levels repetition = new Levels(descriptor.getMaxRepetitionLevel());
        writeLevels(column, firstRow, descriptor.getMaxDefinitionLevel(), repetition, definition);
        DictionaryPage dictionary = null;
        Encoding encoding;
        BytesInput values;
        if (column.size == 0 || column.packing == Table.Packing.PLAIN) {
            encoding = Encoding.PLAIN;
            values = BytesInput.from(plain(column));
        } else if (column.packing == Table.Packing.DICTIONARY) {
            Dictionary codes = Dictionary.of(column);
            encoding = Encoding.RLE_DICTIONARY;
            values = codes.indices;
            dictionary = new DictionaryPage(BytesInput.from(codes.values), codes.count, Encoding.PLAIN);
        } else {
            ValuesWriter delta = delta(column);
            encoding = delta.getEncoding();
            values = delta.getBytes();
        }
        byte[] page = BytesInput.concat(repetition.bytes(), definition.bytes(), values).toByteArray();
        byte[] dictionaryPage = dictionary == null ? new byte[0] : dictionary.getBytes().toByteArray();
        byte[] packedPage = Zstd.compress(page, ZSTD_LEVEL);
        byte[] packedDictionary = Zstd.compress(dictionaryPage, ZSTD_LEVEL);
        // Both pages of a chunk have one codec, and a small chunk can be smaller without any.
        boolean zstd = packedPage.length + packedDictionary.length < page.length + dictionaryPage.length;
        int count = definition.count();
        file.startColumn(descriptor, count, zstd ? CompressionCodecName.ZSTD : CompressionCodecName.UNCOMPRESSED);
        if (dictionary != null) {
            file.writeDictionaryPage(new DictionaryPage(BytesInput.from(zstd ? packedDictionary : dictionaryPage),
                    dictionaryPage.length, dictionary.getDictionarySize(), Encoding.PLAIN));
        }
        Statistics<?> statistics = Statistics.createStats(descriptor.getPrimitiveType());
        statistics.incrementNumNulls(definition.belowMax());
        writePage(count, page.length, zstd ? packedPage : page, statistics, encoding);
        file.endColumn();
    }

    /** The variant without a row count writes no page index, which a file of one page a column has no use for. */
    @SuppressWarnings("deprecation")
    private void writePage(int count, int length, byte[] page, Statistics<?> statistics, Encoding encoding)
            throws IOException {
        file.writeDataPage(count, length, BytesInput.from(page), statistics, Encoding.RLE, Encoding.RLE, encoding);
    }

    private void writeLevels(Table.Column column, int firstRow, int max, Levels repetition, Levels definition) {
        repetition.add(0, firstRow);
        definition.add(0, firstRow);
        if (column instanceof Table.IntLists) {
            Table.IntLists lists = (Table.IntLists) column;
            for (int row = 0; row < lists.size; row++) {
                int length = lists.end(row) - lists.start(row);
                repetition.add(0, 1);
                repetition.add(1, length - 1);
                definition.add(length == 0 ? max - 1 : max, Math.max(1, length));
            }
        } else {
            repetition.add(0, column.size);
            for (int row = 0; row < column.size; row++) {
                definition.add(column.isNull(row) ? max - 1 : max, 1);
            }
        }
        int after = totalRows - firstRow - column.size;
        repetition.add(0, after);
        definition.add(0, after);
    }

    private static byte[] plain(Table.Column column) {
        switch (column.type) {
            case INT32_LIST:
                Table.IntLists lists = (Table.IntLists) column;
                int elements = lists.size == 0 ? 0 : lists.end(lists.size - 1);
                ByteBuffer ints = buffer(elements * 4);
                for (int i = 0; i < elements; i++) {
                    ints.putInt(lists.get(i));
                }
                return ints.array();
            case STRING:
                return new byte[0]; // only empty columns come here
            default:
                return plainFixed(column);
        }
    }

    private static byte[] plainFixed(Table.Column column) {
        int width = column.type == Table.Type.BOOLEAN ? 0 : column.type == Table.Type.INT32 ? 4 : 8;
        ByteBuffer out = buffer(width == 0 ? (column.size + 7) / 8 : column.size * width);
        int written = 0;
        for (int row = 0; row < column.size; row++) {
            if (column.isNull(row)) {
                continue;
            }
            switch (column.type) {
                case DOUBLE:
                    out.putDouble(written * width, ((Table.Doubles) column).get(row));
                    break;
                case INT32:
                    out.putInt(written * width, (int) ((Table.Longs) column).get(row));
                    break;
                case INT64:
                    out.putLong(written * width, ((Table.Longs) column).get(row));
                    break;
                default:
                    int bit = ((Table.Longs) column).get(row) == 0 ? 0 : 1;
                    out.put(written / 8, (byte) (out.get(written / 8) | bit << written % 8));
            }
            written++;
        }
        int bytes = width == 0 ? (written + 7) / 8 : written * width;
        return java.util.Arrays.copyOf(out.array(), bytes);
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ValuesWriter delta(Table.Column column) {
        HeapByteBufferAllocator heap = new HeapByteBufferAllocator();
        if (column instanceof Table.Strings) {
            Table.Strings strings = (Table.Strings) column;
            ValuesWriter writer = new DeltaByteArrayWriter(SLAB_BYTES, MAX_SLAB_BYTES, heap);
            for (int row = 0; row < strings.size; row++) {
                if (!strings.isNull(row)) {
                    writer.writeBytes(Binary.fromString(strings.get(row)));
                }
            }
            return writer;
        }
        Table.Longs longs = (Table.Longs) column;
        boolean ints = column.type == Table.Type.INT32;
        ValuesWriter writer = ints ? new DeltaBinaryPackingValuesWriterForInteger(SLAB_BYTES, MAX_SLAB_BYTES, heap)
                : new DeltaBinaryPackingValuesWriterForLong(SLAB_BYTES, MAX_SLAB_BYTES, heap);
        for (int row = 0; row < longs.size; row++) {
            if (longs.isNull(row)) {
                continue;
            }
            if (ints) {
                writer.writeInteger((int) longs.get(row));
            } else {
                writer.writeLong(longs.get(row));
            }
        }
        return writer;
    }

    /** Repetition or definition levels as runs: Parquet's hybrid encoding, of which levels need the run-length half. */
    private static final class Levels {
        private final int max;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private int count;
        private int belowMax;
        private int level;
        private int run;

        Levels(int max) {
            this.max = max;
        }

        void add(int newLevel, int times) {
            if (times <= 0) {
                return;
            }
            count += times;
            belowMax += newLevel < max ? times : 0;
            if (newLevel != level) {
                flush();
                level = newLevel;
            }
            run += times;
        }

        private void flush() {
            if (run > 0) {
                for (int header = run << 1; ; header >>>= 7) {
                    boolean last = header >>> 7 == 0;
                    out.write(last ? header : header & 0x7f | 0x80);
                    if (last) {
                        break;
                    }
                }
                out.write(level);
            }
            run = 0;
        }

        int count() {
            return count;
        }

        /** How many levels are not the highest: of definition levels, how many values are null. */
        int belowMax() {
            return belowMax;
        }

        /** With their length in front; nothing where a column has no such levels. */
        BytesInput bytes() {
            flush();
            return max == 0 ? BytesInput.empty()
                    : BytesInput.concat(BytesInput.fromInt(out.size()), BytesInput.from(out.toByteArray()));
        }
    }

    /** The distinct values of a column and where they stand. */
    private static final class Dictionary {
        final byte[] values;
        final int count;
        final BytesInput indices;

        private Dictionary(byte[] values, int count, BytesInput indices) {
            this.values = values;
            this.count = count;
            this.indices = indices;
        }

        static Dictionary of(Table.Column column) throws IOException {
            return column instanceof Table.Strings ? of((Table.Strings) column) : of((Table.Longs) column);
        }

        private static Dictionary of(Table.Strings column) throws IOException {
            List<String> distinct = column.distinct();
            ByteArrayOutputStream values = new ByteArrayOutputStream();
            for (String text : distinct) {
                byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
                values.write(BytesInput.fromInt(utf8.length).toByteArray());
                values.write(utf8);
            }
            int[] codes = new int[column.size];
            int n = 0;
            for (int row = 0; row < column.size; row++) {
                if (!column.isNull(row)) {
                    codes[n++] = column.codeAt(row);
                }
            }
            return new Dictionary(values.toByteArray(), distinct.size(), pack(codes, n, distinct.size()));
        }

        private static Dictionary of(Table.Longs column) throws IOException {
            LongIntMap known = new LongIntMap(1024);
            ByteBuffer values = buffer(column.size * 8);
            int[] codes = new int[column.size];
            int n = 0;
            for (int row = 0; row < column.size; row++) {
                if (column.isNull(row)) {
                    continue;
                }
                long value = column.get(row);
                int code = known.get(value);
                if (code < 0) {
                    code = known.size();
                    known.put(value, code);
                    values.putLong(value);
                }
                codes[n++] = code;
            }
            return new Dictionary(java.util.Arrays.copyOf(values.array(), values.position()), known.size(),
                    pack(codes, n, known.size()));
        }

        private static BytesInput pack(int[] codes, int n, int distinct) throws IOException {
            int bitWidth = 32 - Integer.numberOfLeadingZeros(Math.max(0, distinct - 1));
            RunLengthBitPackingHybridEncoder encoder = new RunLengthBitPackingHybridEncoder(bitWidth, SLAB_BYTES,
                    MAX_SLAB_BYTES, new HeapByteBufferAllocator());
            for (int i = 0; i < n; i++) {
                encoder.writeInt(codes[i]);
            }
            return BytesInput.concat(BytesInput.from(new byte[] {(byte) bitWidth}), encoder.toBytes());
        }
    }
}
