package io.sparkprobe;

import java.util.Locale;

/**
 * The tag of a task's {@code profiler.Span}: what makes a raw JFR file readable without a run folder.
 *
 * <p>{@code spark-probe;stage=3;attempt=0;partition=5;task=17;taskAttempt=0;outcome=succeeded}. A zero-length span with
 * outcome {@code start} is written when the task starts, so that the tasks of a killed executor are still known.
 *
 * <p>Spark's own profiler may come to write spans too (apache/spark pull request 58770, SPARK-59487): comma-separated,
 * with stage id, stage attempt number, partition id, task attempt id, attempt number and status. That is not released;
 * such a tag is read as {@code key=value} pairs in any order, the keys in any case and with or without {@code _}, as
 * {@code TaskContext} names them: stageId, stageAttemptNumber, partitionId, taskAttemptId, attemptNumber, status.
 */
final class SpanTag {
    static final String PREFIX = "spark-probe;";
    static final String START = "start";
    static final String SUCCEEDED = "succeeded";
    static final String FAILED = "failed";
    static final String KILLED = "killed";

    private static final String[] KEYS = {"stage", "attempt", "partition", "task", "taskattempt", "outcome"};
    private static final String[] SPARK_KEYS = {
        "stageid", "stageattemptnumber", "partitionid", "taskattemptid", "attemptnumber", "status",
    };
    private static final int OUTCOME = 5;

    final int stageId;
    final int stageAttempt;
    final int partition;
    final long taskId;
    final int taskAttempt;
    /** {@link #START}, {@link #SUCCEEDED}, {@link #FAILED} or {@link #KILLED}. */
    final String outcome;

    private SpanTag(long[] numbers, String outcome) {
        this.stageId = (int) numbers[0];
        this.stageAttempt = (int) numbers[1];
        this.partition = (int) numbers[2];
        this.taskId = numbers[3];
        this.taskAttempt = (int) numbers[4];
        this.outcome = outcome;
    }

    static String of(TaskInfo task, String outcome) {
        return PREFIX + "stage=" + task.stageId + ";attempt=" + task.stageAttempt + ";partition=" + task.partition
                + ";task=" + task.taskId + ";taskAttempt=" + task.taskAttempt + ";outcome=" + outcome;
    }

    /** The tag's fields, or null where the span is not a task's. Fields that are not known are passed over. */
    static SpanTag parse(String tag) {
        if (tag == null) {
            return null;
        }
        return tag.startsWith(PREFIX) ? parse(tag.substring(PREFIX.length()), ';', KEYS) : parse(tag, ',', SPARK_KEYS);
    }

    private static SpanTag parse(String fields, char separator, String[] keys) {
        long[] numbers = new long[OUTCOME];
        int seen = 0;
        String outcome = null;
        for (int start = 0; start < fields.length(); ) {
            int end = fields.indexOf(separator, start);
            end = end < 0 ? fields.length() : end;
            int eq = fields.indexOf('=', start);
            if (eq > start && eq < end) {
                int key = key(fields.substring(start, eq), keys);
                String value = fields.substring(eq + 1, end).trim();
                if (key == OUTCOME) {
                    outcome = outcome(value);
                } else if (key >= 0) {
                    try {
                        numbers[key] = Long.parseLong(value);
                    } catch (NumberFormatException e) {
                        return null;
                    }
                    seen |= 1 << key;
                }
            }
            start = end + 1;
        }
        return seen == (1 << OUTCOME) - 1 && outcome != null ? new SpanTag(numbers, outcome) : null;
    }

    private static int key(String text, String[] keys) {
        String key = text.trim().replace("_", "").toLowerCase(Locale.ROOT);
        for (int i = 0; i < keys.length; i++) {
            if (keys[i].equals(key)) {
                return i;
            }
        }
        return -1;
    }

    private static String outcome(String value) {
        String word = value.toLowerCase(Locale.ROOT);
        if (word.startsWith("succe")) {
            return SUCCEEDED;
        }
        return word.equals(START) || word.equals(KILLED) ? word : FAILED;
    }
}
