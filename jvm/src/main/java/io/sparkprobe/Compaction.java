package io.sparkprobe;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.OutputFile;

/** Joins the files of several flushes into one by copying their row groups: nothing is decoded. */
final class Compaction {
    private Compaction() {
    }

    /**
     * Writes the joined file, its row groups in the order of the inputs; the key-value metadata is the first one's.
     *
     * @throws IOException if an input cannot be read, or has other tables than the first; the output is then not whole
     */
    static void merge(List<? extends InputFile> inputs, OutputFile output) throws IOException {
        FileMetaData first;
        try (ParquetFileReader reader = ParquetFileReader.open(inputs.get(0))) {
            first = reader.getFileMetaData();
        }
        ParquetFileWriter writer = TablesWriter.open(output, first.getSchema());
        writer.start();
        for (InputFile input : inputs) {
            try {
                writer.appendFile(input);
            } catch (IllegalArgumentException e) {
                throw new IOException("cannot join files with different columns: " + e.getMessage(), e);
            }
        }
        writer.end(first.getKeyValueMetaData());
    }

    /** The same in memory, for files as {@link TablesWriter} returns them. */
    static byte[] merge(List<byte[]> files) throws IOException {
        List<InputFile> inputs = new ArrayList<>();
        for (byte[] file : files) {
            inputs.add(new MemoryFile.Input(file));
        }
        MemoryFile.Output output = new MemoryFile.Output();
        merge(inputs, output);
        return output.toByteArray();
    }
}
