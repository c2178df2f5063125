package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.Test;

public class TablesWriterTest {
    private static TaskInfo task(long id, boolean running) {
        TaskInfo task = new TaskInfo(3, 1, 5, id, 2, "worker " + id, 40 + id, 1000 + id, 2000 + id);
        if (!running) {
            task.endMs = 1100 + id;
            task.endNs = 2100 + id;
            task.outcome = "failed";
            task.reason = "FetchFailed";
            task.threadCpuNs = 77;
            task.metrics = new long[Tables.TASK_METRICS.size()];
            for (int i = 0; i < task.metrics.length; i++) {
                task.metrics[i] = id * 100 + i;
            }
        }
        return task;
    }

    private static Tables some() {
        Tables tables = new Tables();
        tables.addTask(task(1, false));
        tables.addTask(task(2, true));
        tables.addTask(task(3, false));
        tables.addTrigger(1, 2, "straggler", 3, 1, 17, 10.5, 31.25, "s", "burst", 1, null);
        tables.addTrigger(1, 2, "explicitgc", -1, -1, -1, Double.NaN, 1, "count", "none", -1, "from \u00dcber.gc()");
        tables.addDump(5, 6, 17, 3, 1, 2, "worker", "BLOCKED", "\"worker\"\n\tat a.B.c(B.java:7)\n");
        tables.addGc(7, 8, 9, true, "G1 Young Generation", "end of minor GC", "G1 Evacuation Pause", 100, 50, 200);
        tables.addGc(7, 8, 9, false, "G1 Young Generation", "end of minor GC", "G1 Evacuation Pause", 100, 50, 200);
        tables.addRecording(new RecordingInfo(1, RecordingInfo.BURST, "ctimer", 5_000_000, 20_000_000, -1, -1), 1, 2, 3,
                4, 5, 6, 7);
        return tables;
    }

    private static byte[] write(Tables tables) throws IOException {
        return TablesWriter.write(tables, Collections.singletonMap(TablesWriter.META_EXECUTOR, "7"));
    }

    @Test
    public void everyValueComesBack() throws IOException {
        Map<String, List<Map<String, Object>>> read = ParquetRows.read(write(some()));
        assertEquals("[sample, stack, frame, task, recording, trigger, dump, gc]", read.keySet().toString());
        Map<String, Object> failed = read.get("task").get(2);
        assertEquals("{stage_id=3, stage_attempt=1, partition=5, task_attempt=2, task_id=3, thread=worker 3, "
                + "java_thread_id=43, start_ms=1003, start_mono_ns=2003, end_ms=1103, end_mono_ns=2103, "
                + "outcome=failed, reason=FetchFailed, thread_cpu_ns=77, run_ms=300, cpu_ns=301, gc_ms=302, "
                + "deserialize_ms=303, result_serialize_ms=304, memory_spill_bytes=305, disk_spill_bytes=306, "
                + "peak_memory_bytes=307, result_bytes=308, input_bytes=309, input_records=310, output_bytes=311, "
                + "output_records=312, shuffle_read_bytes=313, shuffle_read_records=314, shuffle_write_bytes=315, "
                + "shuffle_write_records=316, fetch_wait_ms=317}", failed.toString());
        assertEquals("{stage_id=3, stage_attempt=1, partition=5, task_attempt=2, task_id=2, thread=worker 2, "
                + "java_thread_id=42, start_ms=1002, start_mono_ns=2002, outcome=running, thread_cpu_ns=-1}",
                read.get("task").get(1).toString());
        assertEquals("[{time_ms=1, time_mono_ns=2, rule=straggler, stage_id=3, stage_attempt=1, task_id=17, "
                + "threshold=10.5, value=31.25, unit=s, action=burst, recording_id=1}, "
                + "{time_ms=1, time_mono_ns=2, rule=explicitgc, stage_id=-1, stage_attempt=-1, task_id=-1, value=1.0, "
                + "unit=count, action=none, recording_id=-1, note=from \u00dcber.gc()}]", read.get("trigger").toString());
        assertEquals("[{time_ms=5, time_mono_ns=6, task_id=17, stage_id=3, stage_attempt=1, trigger_time_mono_ns=2, "
                + "thread=worker, thread_state=BLOCKED, text=\"worker\"\n\tat a.B.c(B.java:7)\n}]",
                read.get("dump").toString());
        assertEquals("[true, false]", Arrays.asList(read.get("gc").get(0).get("pause"),
                read.get("gc").get(1).get("pause")).toString());
        assertEquals("{start_ms=7, start_mono_ns=8, duration_ns=9, pause=true, collector=G1 Young Generation, "
                + "action=end of minor GC, cause=G1 Evacuation Pause, heap_before_bytes=100, heap_after_bytes=50, "
                + "heap_max_bytes=200}", read.get("gc").get(0).toString());
        assertEquals("{recording_id=1, purpose=burst, engine=ctimer, cpu_interval_ns=5000000, "
                + "wall_interval_ns=20000000, alloc_interval_bytes=-1, lock_interval_ns=-1, chunk_start_ms=1, "
                + "chunk_start_mono_ns=2, chunk_end_ms=3, chunk_end_mono_ns=4, jfr_bytes=5, events=6, samples=7}",
                read.get("recording").get(0).toString());
    }

    @Test
    public void manyRowsOfAllShapes() throws IOException {
        Tables tables = new Tables();
        for (int i = 0; i < 5000; i++) {
            tables.addTask(task(i, i % 7 == 0));
            tables.addGc(i, i * 1000L, Long.MAX_VALUE - i, i % 3 == 0, "c" + i % 5, "action", "cause " + i, -i, i, 0);
        }
        Map<String, List<Map<String, Object>>> read = ParquetRows.read(write(tables));
        assertEquals(5000, read.get("task").size());
        for (int i = 0; i < 5000; i++) {
            Map<String, Object> task = read.get("task").get(i);
            assertEquals((long) i, task.get("task_id"));
            assertEquals(i % 7 == 0 ? null : 2100L + i, task.get("end_mono_ns"));
            assertEquals(i % 7 == 0 ? null : i * 100L + 17, task.get("fetch_wait_ms"));
            Map<String, Object> gc = read.get("gc").get(i);
            assertEquals(Long.MAX_VALUE - i, gc.get("duration_ns"));
            assertEquals(i % 3 == 0, gc.get("pause"));
            assertEquals("cause " + i, gc.get("cause"));
        }
    }

    @Test
    public void emptyTablesAreAFileToo() throws IOException {
        Tables tables = new Tables();
        assertTrue(tables.isEmpty());
        byte[] file = write(tables);
        ParquetRows.read(file).values().forEach(rows -> assertEquals(0, rows.size()));
        tables.addTask(task(1, true));
        assertFalse(tables.isEmpty());
    }

    @Test
    public void metadataNamesFormatNormalizerExecutorAndUnits() throws IOException {
        Map<String, String> meta = ParquetRows.meta(write(some()));
        assertEquals("1", meta.get("spark_probe.format"));
        assertEquals("1", meta.get("spark_probe.normalizer"));
        assertEquals("7", meta.get("spark_probe.executor"));
        assertEquals("{\"sample.value\": \"ns; bytes where event is alloc\"}", meta.get("spark_probe.units"));
    }

    /** Readers skip what the statistics say is null, so these must be right. */
    @Test
    public void nullsAreCounted() throws IOException {
        try (ParquetFileReader reader = ParquetFileReader.open(new MemoryFile.Input(write(some())))) {
            assertEquals(1, reader.getRowGroups().size());
            long rows = reader.getRecordCount();
            assertEquals(9, rows);
            for (ColumnChunkMetaData column : reader.getRowGroups().get(0).getColumns()) {
                String path = column.getPath().toDotString();
                long expected = path.equals("task.end_ms") || path.startsWith("task.fetch") ? rows - 2
                        : path.equals("task.reason") ? rows - 2
                        : path.startsWith("task.") && Tables.TASK_METRICS.contains(path.substring(5)) ? rows - 2
                        : path.equals("task.end_mono_ns") ? rows - 2
                        : path.equals("trigger.threshold") || path.equals("trigger.note") ? rows - 1
                        : path.startsWith("task.") ? rows - 3
                        : path.startsWith("trigger.") || path.startsWith("gc.") ? rows - 2
                        : path.startsWith("dump.") || path.startsWith("recording.") ? rows - 1 : rows;
                assertEquals(path, expected, column.getStatistics().getNumNulls());
                assertTrue(path, column.getCodec() == CompressionCodecName.ZSTD
                        || column.getCodec() == CompressionCodecName.UNCOMPRESSED);
            }
        }
    }

    @Test
    public void theSameTablesAreTheSameBytes() throws IOException {
        assertTrue(Arrays.equals(write(some()), write(some())));
    }

    @Test
    public void filesAreJoinedByRowGroups() throws IOException {
        List<byte[]> files = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Tables tables = new Tables();
            tables.addTask(task(i, false));
            files.add(TablesWriter.write(tables, Collections.singletonMap(TablesWriter.META_EXECUTOR, "7")));
        }
        byte[] joined = Compaction.merge(files);
        assertEquals(3, ParquetRows.rowGroups(joined));
        assertEquals("7", ParquetRows.meta(joined).get(TablesWriter.META_EXECUTOR));
        List<Map<String, Object>> tasks = ParquetRows.read(joined).get("task");
        assertEquals(3, tasks.size());
        for (int i = 0; i < 3; i++) {
            assertEquals((long) i, tasks.get(i).get("task_id"));
        }
        byte[] again = Compaction.merge(Arrays.asList(joined, files.get(0)));
        assertEquals(4, ParquetRows.rowGroups(again));
    }

    @Test
    public void whatIsNoFileIsNotJoined() throws IOException {
        byte[] good = write(some());
        try {
            Compaction.merge(Arrays.asList(good, Arrays.copyOf(good, good.length / 2)));
            fail("half a file was joined");
        } catch (IOException | RuntimeException e) {
            assertTrue(String.valueOf(e.getMessage()), e.getMessage().contains("Parquet"));
        }
    }
}
