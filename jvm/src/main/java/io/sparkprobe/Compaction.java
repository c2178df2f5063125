package io.sparkprobe;

import java.io.IOException;
import java.util.List;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.OutputFile;

/** Joins the files of several flushes into one by copying their row groups: nothing is decoded. */
final class Compaction {
    private Compaction() {
    }

    /** Writes the joined file; the key-value metadata is the first input's. */
    static void merge(List<? extends InputFile> inputs, OutputFile output) throws IOException {
    }

    /** The same in memory, for files as {@link TablesWriter} returns them. */
    static byte[] merge(List<byte[]> files) throws IOException {
        return new byte[0];
    }
}
