package io.sparkprobe;

import com.github.luben.zstd.ZstdCompressCtx;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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
final class ColumnEncoder implements AutoCloseable {
    /** A common flush is a few hundred kB; a far larger one is not to cost its executor far more CPU. */
    private static final int ZSTD_LEVEL = 6;
    private static final int ZSTD_LEVEL_LARGE = 3;
    private static final int LARGE_PAGE_BYTES = 4 << 20;
    private static final int SLAB_BYTES = 4096;
    private static final int MAX_SLAB_BYTES = 1 << 20;

    /** The smallest zstd frame is longer than what is in a page of nulls. */
    private static final int MIN_ZSTD_BYTES = 32;

    private final ParquetFileWriter file;
    private final int totalRows;
    private final ZstdCompressCtx zstd = new ZstdCompressCtx();

    ColumnEncoder(ParquetFileWriter file, int totalRows) {
        this.file = file;
        this.totalRows = totalRows;
    }

    @Override
    public void close() {
        zstd.close();
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
        byte[] packedPage = page;
        byte[] packedDictionary = dictionaryPage;
        CompressionCodecName codec = CompressionCodecName.UNCOMPRESSED;
        if (page.length + dictionaryPage.length >= MIN_ZSTD_BYTES) {
            packedPage = compress(page);
            packedDictionary = compress(dictionaryPage);
            codec = CompressionCodecName.ZSTD;
        }
        // Both pages of a chunk have one codec, and a small chunk can be smaller without any.
        if (packedPage.length + packedDictionary.length >= page.length + dictionaryPage.length) {
            packedPage = page;
            packedDictionary = dictionaryPage;
            codec = CompressionCodecName.UNCOMPRESSED;
        }
        int count = definition.count();
        file.startColumn(descriptor, count, codec);
        if (dictionary != null) {
            file.writeDictionaryPage(new DictionaryPage(BytesInput.from(packedDictionary), dictionaryPage.length,
                    dictionary.getDictionarySize(), Encoding.PLAIN));
        }
        Statistics<?> statistics = Statistics.createStats(descriptor.getPrimitiveType());
        statistics.incrementNumNulls(definition.belowMax());
        writePage(count, page.length, packedPage, statistics, encoding);
        file.endColumn();
    }

    /** The variant without a row count writes no page index, which a file of one page a column has no use for. */
    @SuppressWarnings("deprecation")
    private void writePage(int count, int length, byte[] page, Statistics<?> statistics, Encoding encoding)
            throws IOException {
        file.writeDataPage(count, length, BytesInput.from(page), statistics, Encoding.RLE, Encoding.RLE, encoding);
    }

    private byte[] compress(byte[] page) {
        zstd.setLevel(page.length < LARGE_PAGE_BYTES ? ZSTD_LEVEL : ZSTD_LEVEL_LARGE);
        return zstd.compress(page);
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
            if (column instanceof Table.Runs) {
                definition.add(max, column.size);
            }
            for (int row = 0; row < column.size && !(column instanceof Table.Runs); row++) {
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
        return Arrays.copyOf(out.array(), bytes);
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

    /** Repetition or definition levels of a column. */
    private static final class Levels {
        private final int max;
        private final RunLengths runs;
        private int belowMax;

        Levels(int max) {
            this.max = max;
            this.runs = new RunLengths(bitWidth(max + 1));
        }

        void add(int level, int times) {
            runs.add(level, times);
            belowMax += level < max ? Math.max(0, times) : 0;
        }

        int count() {
            return runs.count();
        }

        /** How many levels are not the highest: of definition levels, how many values are null. */
        int belowMax() {
            return belowMax;
        }

        /** With their length in front; nothing where a column has no such levels. */
        BytesInput bytes() {
            BytesInput levels = runs.bytes();
            return max == 0 ? BytesInput.empty()
                    : BytesInput.concat(BytesInput.fromInt((int) levels.size()), levels);
        }
    }

    /** Bits that numbers below a bound need. */
    private static int bitWidth(int bound) {
        return 32 - Integer.numberOfLeadingZeros(Math.max(0, bound - 1));
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
            if (column instanceof Table.Runs) {
                return of((Table.Runs) column);
            }
            return column instanceof Table.Strings ? of((Table.Strings) column) : of((Table.Longs) column);
        }

        private static Dictionary of(Table.Runs column) throws IOException {
            ByteArrayOutputStream values = new ByteArrayOutputStream();
            for (Object value : column.distinct()) {
                if (column.type == Table.Type.STRING) {
                    writeText(values, (String) value);
                } else {
                    boolean ints = column.type == Table.Type.INT32;
                    ByteBuffer number = buffer(ints ? 4 : 8);
                    values.write((ints ? number.putInt(((Long) value).intValue()) : number.putLong((Long) value)).array());
                }
            }
            int count = column.distinct().size();
            RunLengths indices = new RunLengths(bitWidth(count));
            for (int run = 0; run < column.runs(); run++) {
                indices.add(column.runCode(run), column.runLength(run));
            }
            return new Dictionary(values.toByteArray(), count, withBitWidth(count, indices.bytes()));
        }

        private static void writeText(ByteArrayOutputStream out, String text) throws IOException {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            out.write(BytesInput.fromInt(utf8.length).toByteArray());
            out.write(utf8);
        }

        private static BytesInput withBitWidth(int count, BytesInput indices) {
            return BytesInput.concat(BytesInput.from(new byte[] {(byte) bitWidth(count)}), indices);
        }

        private static Dictionary of(Table.Strings column) throws IOException {
            List<String> distinct = column.distinct();
            ByteArrayOutputStream values = new ByteArrayOutputStream();
            for (String text : distinct) {
                writeText(values, text);
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
            return new Dictionary(Arrays.copyOf(values.array(), values.position()), known.size(),
                    pack(codes, n, known.size()));
        }

        private static BytesInput pack(int[] codes, int n, int distinct) throws IOException {
            RunLengthBitPackingHybridEncoder encoder = new RunLengthBitPackingHybridEncoder(bitWidth(distinct),
                    SLAB_BYTES, MAX_SLAB_BYTES, new HeapByteBufferAllocator());
            for (int i = 0; i < n; i++) {
                encoder.writeInt(codes[i]);
            }
            return withBitWidth(distinct, encoder.toBytes());
        }
    }
}
