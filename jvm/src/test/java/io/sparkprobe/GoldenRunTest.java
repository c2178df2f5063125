package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;

/** What is written today is what tests/golden/format-1 holds: a change of it is a change of the format. */
public class GoldenRunTest {
    private static final Path GOLDEN = Paths.get("tests", "golden", "format-1");

    @Test
    public void todaysTablesAreThoseOfTheGoldenRun() throws IOException {
        Map<String, byte[]> files = GoldenRun.files();
        try (Stream<Path> golden = Files.walk(GOLDEN)) {
            Set<String> names = golden.filter(Files::isRegularFile)
                    .map(path -> GOLDEN.relativize(path).toString().replace('\\', '/'))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertEquals(files.keySet(), names);
        }
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            byte[] golden = Files.readAllBytes(GOLDEN.resolve(file.getKey()));
            if (file.getKey().endsWith(".json")) {
                assertEquals(file.getKey(), new String(golden, StandardCharsets.UTF_8),
                        new String(file.getValue(), StandardCharsets.UTF_8));
            } else {
                assertEquals(file.getKey(), ParquetRows.schema(golden), ParquetRows.schema(file.getValue()));
                assertEquals(file.getKey(), ParquetRows.rowGroups(golden), ParquetRows.rowGroups(file.getValue()));
                assertEquals(file.getKey(), ParquetRows.read(golden), ParquetRows.read(file.getValue()));
            }
        }
    }

    @Test
    public void everyTableAndColumnHasSomething() throws IOException {
        Map<String, Set<String>> seen = new HashMap<>();
        Map<String, byte[]> files = GoldenRun.files();
        int bytes = 0;
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            bytes += file.getValue().length;
            if (file.getKey().endsWith(".parquet")) {
                for (Map.Entry<String, List<Map<String, Object>>> table : ParquetRows.read(file.getValue()).entrySet()) {
                    table.getValue().forEach(row ->
                            seen.computeIfAbsent(table.getKey(), t -> new TreeSet<>()).addAll(row.keySet()));
                }
            }
        }
        for (Table table : new Tables().all()) {
            for (Table.Column column : table.columns) {
                assertTrue(table.name + "." + column.name, seen.get(table.name).contains(column.name));
            }
        }
        assertTrue(bytes + " bytes", bytes < 100_000);
        assertFalse(files.isEmpty());
    }
}
