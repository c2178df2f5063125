package io.sparkprobe;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Types;

/**
 * Writes the tables of one flush as a Parquet file of one row group, with the parquet-hadoop that Spark carries.
 *
 * <p>Column by column with {@link ParquetFileWriter}, and not record by record with {@code ParquetWriter}: a record sets
 * a dozen of a hundred columns, and the executor's first flush would spend a second in code that is not compiled yet.
 */
final class TablesWriter {
    static final String META_FORMAT = "spark_probe.format";
    static final String META_NORMALIZER = "spark_probe.normalizer";
    static final String META_EXECUTOR = "spark_probe.executor";
    static final String META_UNITS = "spark_probe.units";

    private TablesWriter() {
    }

    /**
     * The whole file, in memory.
     *
     * @param meta the file's key-value metadata beside the format, normalizer and units, which are added here:
     *             {@code spark_probe.executor}
     */
    static byte[] write(Tables tables, Map<String, String> meta) throws IOException {
        List<Table> all = tables.all();
        int rows = 0;
        for (Table table : all) {
            rows += table.rows();
        }
        MessageType schema = schema(all);
        MemoryFile.Output out = new MemoryFile.Output();
        ParquetFileWriter file = open(out, schema);
        file.start();
        if (rows > 0) {
            writeRowGroup(file, schema, all, rows);
        }
        Map<String, String> allMeta = new HashMap<>(meta);
        allMeta.put(META_FORMAT, Integer.toString(Version.FORMAT));
        allMeta.put(META_NORMALIZER, Integer.toString(FrameNames.NORMALIZER));
        allMeta.put(META_UNITS, Tables.UNITS);
        file.end(allMeta);
        return out.toByteArray();
    }

    private static void writeRowGroup(ParquetFileWriter file, MessageType schema, List<Table> tables, int rows)
            throws IOException {
        file.startBlock(rows);
        try (ColumnEncoder encoder = new ColumnEncoder(file, rows)) {
            int firstRow = 0;
            int column = 0;
            for (Table table : tables) {
                for (Table.Column values : table.columns) {
                    encoder.write(schema.getColumns().get(column++), values, firstRow);
                }
                firstRow += table.rows();
            }
        }
        file.endBlock();
    }

    /** A file of whole row groups that come as they are: neither padded, nor with checksums or page indexes. */
    static ParquetFileWriter open(OutputFile out, MessageType schema) throws IOException {
        return new ParquetFileWriter(out, schema, ParquetFileWriter.Mode.CREATE, ParquetWriter.DEFAULT_BLOCK_SIZE, 0,
                Integer.MAX_VALUE, Integer.MAX_VALUE, false);
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
}
