import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.Deflater;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import one.profiler.AsyncProfiler;
import one.profiler.Span;

/**
 * Makes a JFR file of a size: {@code java -cp spark-probe.jar DigestWorkload.java OUT.jfr MEGABYTES}.
 *
 * Threads run tasks, each in a span as the probe writes it, in stages of {@link #TASKS}. A stage's tasks do one of a
 * dozen things over and over: they compile Java, as Spark's planner and its code generator do, or group, sort, match and
 * compress rows. cpu, wall, alloc and lock are recorded at once as the probe does, but finer and in shorter chunks: a
 * chunk has as many samples and stacks as one of the probe's 30 s, and the size is reached in minutes instead of an hour.
 */
public class DigestWorkload {
    private static final int THREADS = 4;
    private static final int TASKS = 40;
    private static final int KINDS = 6;
    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();
    private static volatile boolean running = true;
    private static volatile Object sink;

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Methods as code generators write them; parsed and attributed, not written out. */
    private static void compile(Random random) {
        StringBuilder text = new StringBuilder("import java.util.*; class G {");
        for (int m = 0; m < 40; m++) {
            text.append("List<String> m").append(m).append("(Map<Integer, List<String>> a, int b) {")
                    .append("List<String> r = new ArrayList<>(); for (int i = 0; i < b; i++) {")
                    .append("final int k = i; a.computeIfAbsent(i % ").append(2 + random.nextInt(90))
                    .append(", x -> new ArrayList<>()).add(\"v\" + k * 31 + b);")
                    .append("switch (i & 3) { case 0: r.add(\"a\" + i); break; default: r.addAll(a.get(i)); } }")
                    .append("r.sort(Comparator.comparing(String::length).thenComparing(s -> s)); return r; }");
        }
        JavaFileObject source = new Source("G", text.append("}").toString());
        sink = COMPILER.getTask(null, null, d -> { }, Arrays.asList("-proc:none", "-implicit:none", "-Xlint:none", "-d",
                System.getProperty("java.io.tmpdir")), null, Collections.singletonList(source)).call();
    }

    private static void group(Random random) {
        Map<String, Double> groups = random.ints(200_000, 0, 5000).boxed().collect(
                Collectors.groupingBy(i -> "key-" + i, TreeMap::new, Collectors.averagingInt(i -> i)));
        sink = groups.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    private static void sort(Random random) {
        sink = random.longs(300_000).boxed().sorted((a, b) -> Long.compare(b, a)).limit(100)
                .collect(Collectors.toList());
    }

    private static void match(Random random) {
        Pattern pattern = Pattern.compile("(\\d+)-([a-z]*)(7|9)+$");
        sink = random.ints(100_000, 0, 1 << 20).mapToObj(i -> i + "-row" + i * 7)
                .filter(row -> pattern.matcher(row).find()).count();
    }

    private static void compress(Random random) {
        byte[] block = new byte[1 << 20];
        for (int i = 0; i < block.length; i++) {
            block[i] = (byte) random.nextInt(40);
        }
        Deflater deflater = new Deflater(6);
        deflater.setInput(block);
        deflater.finish();
        byte[] out = new byte[1 << 21];
        sink = deflater.deflate(out);
        deflater.end();
    }

    private static synchronized void waitInLine(Random random) {
        double[] values = random.doubles(200_000).toArray();
        Arrays.sort(values);
        sink = values;
    }

    private static void work(int kind, Random random) {
        switch (kind) {
            case 0:
                group(random);
                break;
            case 1:
                sort(random);
                break;
            case 2:
                match(random);
                break;
            case 3:
                compress(random);
                break;
            case 4:
                waitInLine(random);
                break;
            default:
                compile(random);
        }
    }

    private static void tasks(int thread) {
        for (long task = thread; running; task += THREADS) {
            Random random = new Random(task);
            int stage = (int) (task / TASKS);
            long start = Span.start();
            long end = System.nanoTime() + 300_000_000L + random.nextInt(1_000_000_000);
            while (running && System.nanoTime() < end) {
                work(stage % KINDS, random);
                compile(random);
            }
            Span.end(start, "spark-probe;stage=" + stage + ";attempt=0;partition=" + task % TASKS + ";task=" + task
                    + ";taskAttempt=0;outcome=succeeded");
        }
    }

    public static void main(String[] args) throws Exception {
        Path out = Paths.get(args[0]);
        long bytes = Long.parseLong(args[1]) << 20;
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        profiler.execute("start,event=ctimer,interval=4ms,wall=20ms,alloc=512k,lock=1ms,clock=monotonic,loglevel=error,"
                + "chunktime=5,filter=,file=" + out.toAbsolutePath() + ",jfr");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int thread = i;
            threads.add(new Thread(() -> tasks(thread), "Executor task launch worker-" + i));
            threads.get(i).start();
            profiler.addThread(threads.get(i));
        }
        while (Files.size(out) < bytes) {
            Thread.sleep(200);
        }
        running = false;
        for (Thread thread : threads) {
            thread.join();
        }
        profiler.stop();
    }
}
