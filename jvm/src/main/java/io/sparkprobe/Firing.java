package io.sparkprobe;

/** A rule that has fired: a row of the table {@code trigger}. */
final class Firing {
    final String rule;
    final TaskInfo task;
    final double threshold;
    final double value;
    final String unit;
    final long timeMs = System.currentTimeMillis();
    final long timeNs = System.nanoTime();
    /** What was done, and what it recorded; set by who does it. */
    volatile String action = "none";
    volatile int recordingId = -1;
    volatile String note;

    /** @param task null where the rule is about the JVM and no task is to blame */
    Firing(String rule, TaskInfo task, double threshold, double value, String unit) {
        this.rule = rule;
        this.task = task;
        this.threshold = threshold;
        this.value = value;
        this.unit = unit;
    }

    int stageId() {
        return task == null ? -1 : task.stageId;
    }

    int stageAttempt() {
        return task == null ? -1 : task.stageAttempt;
    }

    long taskId() {
        return task == null ? -1 : task.taskId;
    }

    void addTo(Tables tables) {
        tables.addTrigger(timeMs, timeNs, rule, stageId(), stageAttempt(), taskId(), threshold, value, unit, action,
                recordingId, note);
    }
}
