package io.sparkprobe;

import java.io.IOException;
import java.util.Map;

/** Writes the tables of one flush as a Parquet file of one row group. */
final class TablesWriter {
    private TablesWriter() {
    }

    /**
     * The whole file, in memory.
     *
     * @param meta the file's key-value metadata beside the format, normalizer and units, which are added here:
     *             {@code spark_probe.executor}
     */
    static byte[] write(Tables tables, Map<String, String> meta) throws IOException {
        return new byte[0];
    }
}
