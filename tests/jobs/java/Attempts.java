package probetest;

import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.sql.api.java.UDF1;

/** Work that runs under another method's name in a stage's second attempt, or in a task's. */
public final class Attempts {
  /** Burns in {@code firstStageAttempt}, where partition 0 ends in a failed fetch, and then in {@code secondStageAttempt}. */
  public static final class Retried implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      TaskContext task = TaskContext.get();
      if (task.stageAttemptNumber() > 0) {
        Work.sink = secondStageAttempt(micros);
        return micros;
      }
      Work.sink = firstStageAttempt(micros);
      if (task.partitionId() == 0) {
        // The context notes the failure, so that Spark takes it for a fetch failure whatever wraps the exception.
        throw new IllegalStateException(new FetchFailedException(null, 0, 0L, 0, 0, "made by a test", null));
      }
      return micros;
    }

    static long firstStageAttempt(long micros) {
      return Work.burn(micros, micros);
    }

    static long secondStageAttempt(long micros) {
      return Work.burn(micros, micros);
    }
  }

  /** Burns in {@code firstCopy}, forty times as long in partition 0, and in {@code secondCopy} in a speculative copy. */
  public static final class Speculated implements UDF1<Long, Long> {
    @Override
    public Long call(Long micros) {
      TaskContext task = TaskContext.get();
      if (task.attemptNumber() > 0) {
        Work.sink = secondCopy(micros);
      } else {
        Work.sink = firstCopy(task.partitionId() == 0 ? 40 * micros : micros);
      }
      return micros;
    }

    static long firstCopy(long micros) {
      long value = 0;
      for (long done = 0; done < micros && !Thread.currentThread().isInterrupted(); done += 1000) {
        value = Work.burn(value, 1000);
      }
      return value;
    }

    static long secondCopy(long micros) {
      return Work.burn(micros, micros);
    }
  }

  private Attempts() {}
}
