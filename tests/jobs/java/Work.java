package probetest;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.sql.api.java.UDF1;

/** Java functions for SQL whose work is in a method of a known name, so that a test can say which stage it belongs to. */
public final class Work {
  private static final Object LOCK = new Object();
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** Where the results go, so that no work is optimised away. */
  public static volatile long sink;

  /** Burns CPU time, not time: what is sampled of it is the same on a busy machine. */
  static long burn(long seed, long micros) {
    long end = THREADS.getCurrentThreadCpuTime() + micros * 1000;
    long value = seed | 1;
    while (THREADS.getCurrentThreadCpuTime() < end) {
      for (int i = 0; i < 10_000; i++) {
        value ^= value << 13;
        value ^= value >>> 7;
        value ^= value << 17;
      }
    }
    return value;
  }

  /** Burns the given number of microseconds of CPU in {@code burnAlpha}. */
  public static final class Alpha implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      sink = burnAlpha(micros);
      return micros;
    }

    static long burnAlpha(long micros) {
      return burn(micros, micros);
    }
  }

  /** Burns the given number of microseconds of CPU in {@code burnBeta}. */
  public static final class Beta implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      sink = burnBeta(micros);
      return micros;
    }

    static long burnBeta(long micros) {
      return burn(micros, micros);
    }
  }

  /** Allocates the given number of KiB in {@code allocateGamma}. */
  public static final class Gamma implements UDF1<Long, Long> {
    @Override
    public Long call(Long kib) {
      sink = allocateGamma(kib);
      return kib;
    }

    static long allocateGamma(long kib) {
      long total = 0;
      for (long i = 0; i < kib; i++) {
        byte[] block = new byte[1024];
        block[ThreadLocalRandom.current().nextInt(1024)] = 1;
        total += block[(int) (i & 1023)] + block.length;
      }
      return total;
    }
  }

  /** Holds the one lock of this JVM for the given number of microseconds in {@code contendDelta}. */
  public static final class Delta implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      sink = contendDelta(micros);
      return micros;
    }

    static long contendDelta(long micros) {
      synchronized (LOCK) {
        return burn(micros, micros);
      }
    }
  }

  /** Sleeps for the given number of microseconds in {@code sleepEpsilon}. */
  public static final class Epsilon implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      sink = sleepEpsilon(micros);
      return micros;
    }

    static long sleepEpsilon(long micros) {
      long end = System.nanoTime() + micros * 1000;
      for (long left = micros * 1000; left > 0; left = end - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      return end;
    }
  }

  private Work() {}
}
