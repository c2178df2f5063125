package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.api.ReadSupport;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.Type;

/** Reads a file back with Parquet's own record reader: table -> rows, each column -> value, nulls left out. */
final class ParquetRows {
    private ParquetRows() {
    }

    static Map<String, List<Map<String, Object>>> read(byte[] file) throws IOException {
        Map<String, List<Map<String, Object>>> tables = new LinkedHashMap<>();
        for (Type table : schema(file).getFields()) {
            tables.put(table.getName(), new ArrayList<>());
        }
        try (ParquetReader<Group> reader = new Reader(new MemoryFile.Input(file)).build()) {
            for (Group row = reader.read(); row != null; row = reader.read()) {
                int set = 0;
                for (Type table : row.getType().getFields()) {
                    if (row.getFieldRepetitionCount(table.getName()) > 0) {
                        set++;
                        tables.get(table.getName()).add(values(row.getGroup(table.getName(), 0)));
                    }
                }
                if (set != 1) {
                    throw new AssertionError("a row of " + set + " tables: " + row);
                }
            }
        }
        return tables;
    }

    static GroupType schema(byte[] file) throws IOException {
        try (ParquetFileReader reader = ParquetFileReader.open(new MemoryFile.Input(file))) {
            return reader.getFileMetaData().getSchema();
        }
    }

    static Map<String, String> meta(byte[] file) throws IOException {
        try (ParquetFileReader reader = ParquetFileReader.open(new MemoryFile.Input(file))) {
            return reader.getFileMetaData().getKeyValueMetaData();
        }
    }

    static int rowGroups(byte[] file) throws IOException {
        try (ParquetFileReader reader = ParquetFileReader.open(new MemoryFile.Input(file))) {
            return reader.getRowGroups().size();
        }
    }

    private static Map<String, Object> values(Group group) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (Type field : group.getType().getFields()) {
            String name = field.getName();
            if (group.getFieldRepetitionCount(name) == 0) {
                continue;
            }
            values.put(name, field.isPrimitive() ? value(group, name) : list(group.getGroup(name, 0)));
        }
        return values;
    }

    private static Object value(Group group, String name) {
        switch (group.getType().getType(name).asPrimitiveType().getPrimitiveTypeName()) {
            case INT32:
                return group.getInteger(name, 0);
            case INT64:
                return group.getLong(name, 0);
            case BOOLEAN:
                return group.getBoolean(name, 0);
            case DOUBLE:
                return group.getDouble(name, 0);
            default:
                return group.getString(name, 0);
        }
    }

    private static List<Integer> list(Group list) {
        List<Integer> values = new ArrayList<>();
        for (int i = 0; i < list.getFieldRepetitionCount("list"); i++) {
            values.add(list.getGroup("list", i).getInteger("element", 0));
        }
        return values;
    }

    private static final class Reader extends ParquetReader.Builder<Group> {
        Reader(InputFile file) {
            super(file);
            withConf(new Configuration(false));
        }

        @Override
        protected ReadSupport<Group> getReadSupport() {
            return new GroupReadSupport();
        }
    }
}
