import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import one.profiler.AsyncProfiler;
import one.profiler.Span;

/**
 * Makes a JFR file of a size: {@code java -cp async-profiler.jar DigestWorkload.java OUT.jfr MEGABYTES}.
 *
 * Threads run short tasks, each in a span as the probe writes it, 50 of them to a stage. A stage is a random tree of
 * operators that sort, hash, compress and allocate, so that stacks are deep and a stage's are its own, as those of a
 * query's plan are; tasks also wait for a lock and sleep. cpu, wall, alloc and lock are recorded at once, finer than
 * the probe does but in shorter chunks: a chunk has as many samples, stacks and tasks as one of the probe's 30 s, and
 * the size is reached in minutes instead of an hour.
 */
public class DigestWorkload {
    private static final int THREADS = 16;
    private static final int TASKS = 50;
    private static final Object LOCK = new Object();
    private static volatile boolean running = true;

    /** One operator of a tree; each subclass is a frame of its own name. */
    abstract static class Op {
        final List<Op> children = new ArrayList<>();

        abstract long eval(long x);

        long all(long x) {
            long sum = x;
            for (Op child : children) {
                sum = sum * 31 + child.eval(sum);
            }
            return sum;
        }
    }

    static final class Project extends Op {
        @Override
        long eval(long x) {
            return all(x + 1);
        }
    }

    static final class Filter extends Op {
        @Override
        long eval(long x) {
            return (x & 3) == 0 ? x : all(x);
        }
    }

    static final class Join extends Op {
        @Override
        long eval(long x) {
            Map<Long, Long> built = new HashMap<>();
            for (long i = 0; i < 64; i++) {
                built.merge(x * i % 37, i, Long::sum);
            }
            return all(built.values().stream().mapToLong(Long::longValue).sum());
        }
    }

    static final class Sort extends Op {
        @Override
        long eval(long x) {
            long[] values = new Random(x).longs(256).toArray();
            Arrays.sort(values);
            return all(values[128]);
        }
    }

    static final class Aggregate extends Op {
        @Override
        long eval(long x) {
            Map<String, Long> groups = new Random(x).ints(128, 0, 32).boxed()
                    .collect(Collectors.groupingBy(i -> "key-" + i, TreeMap::new, Collectors.counting()));
            return all(groups.hashCode());
        }
    }

    static final class Exchange extends Op {
        @Override
        long eval(long x) {
            byte[] block = new byte[2048];
            new Random(x).nextBytes(block);
            Deflater deflater = new Deflater(1);
            deflater.setInput(block);
            deflater.finish();
            byte[] out = new byte[4096];
            int n = deflater.deflate(out);
            deflater.end();
            CRC32 crc = new CRC32();
            crc.update(out, 0, n);
            return all(crc.getValue());
        }
    }

    static final class Scan extends Op {
        @Override
        long eval(long x) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 32; i++) {
                text.append(x + i).append(',');
            }
            return all(Arrays.stream(text.toString().split(",")).mapToLong(Long::parseLong).sum());
        }
    }

    /** A chain of operators with short branches, so that a tree is deep but not large. */
    private static Op tree(Random random, int depth) {
        Op[] kinds = {new Project(), new Filter(), new Join(), new Sort(), new Aggregate(), new Exchange(), new Scan()};
        Op op = kinds[random.nextInt(kinds.length)];
        if (depth > 0) {
            op.children.add(tree(random, depth - 1));
        }
        if (depth > 3 && random.nextInt(4) == 0) {
            op.children.add(tree(random, random.nextInt(3)));
        }
        return op;
    }

    private static void work(int thread) {
        Random random = new Random(thread);
        for (long task = thread; running; task += THREADS) {
            long start = Span.start();
            Random stage = new Random(task / TASKS);
            Op plan = tree(stage, 8 + stage.nextInt(24));
            long end = System.nanoTime() + 200_000_000L + random.nextInt(1_000_000_000);
            long result = task;
            while (running && System.nanoTime() < end) {
                result = plan.eval(result);
                if ((result & 7) == 0) {
                    synchronized (LOCK) {
                        result += new Sort().eval(result);
                    }
                }
                if ((result & 31) == 1) {
                    pause();
                }
            }
            Span.end(start, "spark-probe;stage=" + task / TASKS + ";attempt=0;partition=" + task % TASKS + ";task=" + task
                    + ";taskAttempt=0;outcome=" + (result == 42 ? "failed" : "succeeded"));
        }
    }

    private static void pause() {
        try {
            Thread.sleep(ThreadLocalRandom.current().nextInt(5));
        } catch (InterruptedException e) {
            running = false;
        }
    }

    public static void main(String[] args) throws Exception {
        Path out = Paths.get(args[0]);
        long bytes = Long.parseLong(args[1]) << 20;
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        profiler.execute("start,event=ctimer,interval=4ms,wall=50ms,alloc=512k,lock=1ms,clock=monotonic,loglevel=error,"
                + "chunktime=5,file=" + out.toAbsolutePath() + ",jfr");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int thread = i;
            threads.add(new Thread(() -> work(thread), "Executor task launch worker-" + i));
            threads.get(i).start();
        }
        while (Files.size(out) < bytes) {
            Thread.sleep(200);
        }
        running = false;
        for (Thread thread : threads) {
            thread.join();
        }
        profiler.execute("stop,file=" + out.toAbsolutePath());
    }
}
