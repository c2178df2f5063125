package io.sparkprobe;

/**
 * The tag of a task's {@code profiler.Span}: what makes a raw JFR file readable without a run folder.
 *
 * <p>{@code spark-probe;stage=3;attempt=0;partition=5;task=17;taskAttempt=0;outcome=succeeded}. A zero-length span with
 * outcome {@code start} is written when the task starts, so that the tasks of a killed executor are still known.
 */
final class SpanTag {
    static final String PREFIX = "spark-probe;";
    static final String START = "start";

    final int stageId;
    final int stageAttempt;
    final int partition;
    final long taskId;
    final int taskAttempt;
    final String outcome;

    private SpanTag(int stageId, int stageAttempt, int partition, long taskId, int taskAttempt, String outcome) {
        this.stageId = stageId;
        this.stageAttempt = stageAttempt;
        this.partition = partition;
        this.taskId = taskId;
        this.taskAttempt = taskAttempt;
        this.outcome = outcome;
    }

    static String of(TaskInfo task, String outcome) {
        return PREFIX + "stage=" + task.stageId + ";attempt=" + task.stageAttempt + ";partition=" + task.partition
                + ";task=" + task.taskId + ";taskAttempt=" + task.taskAttempt + ";outcome=" + outcome;
    }

    /** The tag's fields, or null where the span is not a task's. */
    static SpanTag parse(String tag) {
        if (tag == null || !tag.startsWith(PREFIX)) {
            return null;
        }
        long[] numbers = new long[5];
        int seen = 0;
        String outcome = null;
        for (String field : tag.substring(PREFIX.length()).split(";")) {
            int eq = field.indexOf('=');
            if (eq < 0) {
                continue;
            }
            String value = field.substring(eq + 1);
            int slot = slot(field.substring(0, eq));
            if (slot == 5) {
                outcome = value;
            } else if (slot >= 0) {
                try {
                    numbers[slot] = Long.parseLong(value);
                } catch (NumberFormatException e) {
                    return null;
                }
                seen |= 1 << slot;
            }
        }
        return seen == 31 && outcome != null
                ? new SpanTag((int) numbers[0], (int) numbers[1], (int) numbers[2], numbers[3], (int) numbers[4], outcome)
                : null;
    }

    private static int slot(String field) {
        switch (field) {
            case "stage":
                return 0;
            case "attempt":
                return 1;
            case "partition":
                return 2;
            case "task":
                return 3;
            case "taskAttempt":
                return 4;
            case "outcome":
                return 5;
            default:
                return -1;
        }
    }
}
