package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class SeqFilesTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private SeqFiles files(String executor) throws IOException {
        RunFolder run = RunFolder.open(new Path(folder.getRoot().toURI()), new Configuration());
        return new SeqFiles(run, executor);
    }

    private static byte[] flush(long ms) throws IOException {
        Tables tables = new Tables();
        tables.addGc(ms, ms, 1, true, "Copy", "end of minor GC", "Allocation Failure", 2, 1, 3);
        return TablesWriter.write(tables, Collections.singletonMap(TablesWriter.META_EXECUTOR, "7"));
    }

    private TreeSet<String> names(String executor) {
        return new TreeSet<>(Arrays.asList(new File(folder.getRoot(), "executors/" + executor).list()));
    }

    @Test
    public void eightFlushesBecomeOneFileNamedByItsRange() throws IOException {
        SeqFiles files = files("7");
        for (int seq = 0; seq < 10; seq++) {
            files.add(seq, flush(seq));
        }
        assertEquals(new TreeSet<>(Arrays.asList("000000-000007.parquet", "000008.parquet", "000009.parquet")),
                names("7"));
    }

    @Test
    public void anHourOfFlushesEveryTenSecondsLeavesAtMostTwentyFiles() throws IOException {
        SeqFiles files = files("7");
        int most = 0;
        for (int seq = 0; seq < 360; seq++) {
            files.add(seq, flush(seq));
            most = Math.max(most, names("7").size());
        }
        assertTrue(most + " files", most <= 20);
        assertTrue(names("7").contains("000000-000063.parquet"));
        assertTrue("nothing half written is left", names("7").stream().noneMatch(name -> name.startsWith(".")));
    }

    @Test
    public void anExecutorsNameCannotLeaveItsFolder() throws IOException {
        files("../../x").add(0, flush(0));
        assertEquals(Collections.singleton("000000.parquet"), names("..%2F..%2Fx"));
    }
}
