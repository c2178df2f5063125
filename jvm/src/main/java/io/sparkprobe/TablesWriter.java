package io.sparkprobe;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.RecordConsumer;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Types;

/** Writes the tables of one flush as a Parquet file of one row group, with the parquet-hadoop that Spark carries. */
final class TablesWriter {
    static final String META_FORMAT = "spark_probe.format";
    static final String META_NORMALIZER = "spark_probe.normalizer";
    static final String META_EXECUTOR = "spark_probe.executor";
    static final String META_UNITS = "spark_probe.units";

    /** One flush is one row group however large it is: frame ids mean something only inside it. */
    private static final long ROW_GROUP_BYTES = Integer.MAX_VALUE;
    private static final int PAGE_BYTES = 1 << 20;
    private static final int ZSTD_LEVEL = Integer.getInteger("zl", 6);

    private TablesWriter() {
    }

    /**
     * The whole file, in memory.
     *
     * @param meta the file's key-value metadata beside the format, normalizer and units, which are added here:
     *             {@code spark_probe.executor}
     */
    static byte[] write(Tables tables, Map<String, String> meta) throws IOException {
        // Without Hadoop's default resources: parsing them costs more than all the rest, and none is used.
        Configuration conf = new Configuration(false);
        conf.setInt("parquet.compression.codec.zstd.level", ZSTD_LEVEL);
        MemoryFile.Output file = new MemoryFile.Output();
        Support support = new Support(tables, meta);
        try (ParquetWriter<Row> writer = new Builder(file, support)
                .withConf(conf)
                .withCompressionCodec(CompressionCodecName.ZSTD)
                .withWriterVersion(ParquetProperties.WriterVersion.valueOf(System.getProperty("wv", "PARQUET_1_0")))
                .withRowGroupSize(ROW_GROUP_BYTES)
                .withPageSize(PAGE_BYTES)
                .withPageRowCountLimit(Integer.MAX_VALUE)
                .withDictionaryPageSize(PAGE_BYTES)
                .withPageWriteChecksumEnabled(false)
                .withDictionaryEncoding("stack.frames.list.element", Boolean.getBoolean("df"))
                .withDictionaryEncoding("stack.stack_hash", false)
                .build()) {
            Row row = new Row();
            for (row.table = 0; row.table < support.tables.size(); row.table++) {
                int rows = support.tables.get(row.table).rows();
                for (row.index = 0; row.index < rows; row.index++) {
                    writer.write(row);
                }
            }
        }
        return file.toByteArray();
    }

    /** A row to write; one object for all of them. */
    private static final class Row {
        int table;
        int index;
    }

    private static final class Builder extends ParquetWriter.Builder<Row, Builder> {
        private final Support support;

        Builder(OutputFile file, Support support) {
            super(file);
            this.support = support;
        }

        @Override
        protected Builder self() {
            return this;
        }

        @Override
        protected WriteSupport<Row> getWriteSupport(Configuration conf) {
            return support;
        }
    }

    private static final class Support extends WriteSupport<Row> {
        final List<Table> tables;
        private final Map<String, String> meta;
        private final Binary[][][] strings;
        private RecordConsumer out;

        Support(Tables tables, Map<String, String> meta) {
            this.tables = tables.all();
            this.meta = new HashMap<>(meta);
            this.meta.put(META_FORMAT, Integer.toString(Version.FORMAT));
            this.meta.put(META_NORMALIZER, Integer.toString(FrameNames.NORMALIZER));
            this.meta.put(META_UNITS, units(this.tables));
            this.strings = new Binary[this.tables.size()][][];
        }

        @Override
        public WriteContext init(Configuration conf) {
            return new WriteContext(schema(tables), meta);
        }

        @Override
        public void prepareForWrite(RecordConsumer consumer) {
            out = consumer;
            for (int t = 0; t < strings.length; t++) {
                List<Table.Column> columns = tables.get(t).columns;
                strings[t] = new Binary[columns.size()][];
                for (int c = 0; c < columns.size(); c++) {
                    if (columns.get(c) instanceof Table.Strings) {
                        strings[t][c] = binaries(((Table.Strings) columns.get(c)).distinct());
                    }
                }
            }
        }

        private static Binary[] binaries(List<String> texts) {
            Binary[] binaries = new Binary[texts.size()];
            for (int i = 0; i < binaries.length; i++) {
                binaries[i] = Binary.fromString(texts.get(i));
            }
            return binaries;
        }

        @Override
        public void write(Row row) {
            Table table = tables.get(row.table);
            out.startMessage();
            out.startField(table.name, row.table);
            out.startGroup();
            for (int c = 0; c < table.columns.size(); c++) {
                Table.Column column = table.columns.get(c);
                if (!column.isNull(row.index)) {
                    out.startField(column.name, c);
                    writeValue(column, row.index, strings[row.table][c]);
                    out.endField(column.name, c);
                }
            }
            out.endGroup();
            out.endField(table.name, row.table);
            out.endMessage();
        }

        private void writeValue(Table.Column column, int row, Binary[] texts) {
            switch (column.type) {
                case INT32:
                    out.addInteger((int) ((Table.Longs) column).get(row));
                    break;
                case INT64:
                    out.addLong(((Table.Longs) column).get(row));
                    break;
                case BOOLEAN:
                    out.addBoolean(((Table.Longs) column).get(row) != 0);
                    break;
                case DOUBLE:
                    out.addDouble(((Table.Doubles) column).get(row));
                    break;
                case STRING:
                    out.addBinary(texts[((Table.Strings) column).codeAt(row)]);
                    break;
                default:
                    writeList((Table.IntLists) column, row);
            }
        }

        private void writeList(Table.IntLists lists, int row) {
            out.startGroup();
            if (lists.end(row) > lists.start(row)) {
                out.startField("list", 0);
                for (int i = lists.start(row); i < lists.end(row); i++) {
                    out.startGroup();
                    out.startField("element", 0);
                    out.addInteger(lists.get(i));
                    out.endField("element", 0);
                    out.endGroup();
                }
                out.endField("list", 0);
            }
            out.endGroup();
        }
    }

    private static MessageType schema(List<Table> tables) {
        Types.MessageTypeBuilder message = Types.buildMessage();
        for (Table table : tables) {
            Types.GroupBuilder<GroupType> group = Types.optionalGroup();
            for (Table.Column column : table.columns) {
                group.addField(type(column));
            }
            message.addField(group.named(table.name));
        }
        return message.named("spark_probe");
    }

    private static Type type(Table.Column column) {
        switch (column.type) {
            case INT32:
                return Types.optional(PrimitiveTypeName.INT32).named(column.name);
            case INT64:
                return Types.optional(PrimitiveTypeName.INT64).named(column.name);
            case BOOLEAN:
                return Types.optional(PrimitiveTypeName.BOOLEAN).named(column.name);
            case DOUBLE:
                return Types.optional(PrimitiveTypeName.DOUBLE).named(column.name);
            case STRING:
                return Types.optional(PrimitiveTypeName.BINARY).as(LogicalTypeAnnotation.stringType())
                        .named(column.name);
            default:
                return Types.optionalList().requiredElement(PrimitiveTypeName.INT32).named(column.name);
        }
    }

    /** {@code {"sample.bucket_ms": "ms", …}}: names and units are ASCII without quotes. */
    private static String units(List<Table> tables) {
        Map<String, String> units = new TreeMap<>();
        for (Table table : tables) {
            for (Table.Column column : table.columns) {
                if (!column.unit.isEmpty()) {
                    units.put(table.name + '.' + column.name, column.unit);
                }
            }
        }
        StringBuilder json = new StringBuilder("{");
        for (Map.Entry<String, String> unit : units.entrySet()) {
            json.append(json.length() > 1 ? ", " : "").append('"').append(unit.getKey()).append("\": \"")
                    .append(unit.getValue()).append('"');
        }
        return json.append('}').toString();
    }
}
