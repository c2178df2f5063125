package io.sparkprobe;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** How long a stage attempt's finished tasks took: kept on the driver, asked for by executors with a slow task. */
final class StageStats {
    /** What an executor gets of one stage attempt. */
    static final class Figures {
        static final Figures NONE = new Figures(0, 0, 0);

        final int finished;
        final int total;
        final long medianMs;

        Figures(int finished, int total, long medianMs) {
            this.finished = finished;
            this.total = total;
            this.medianMs = medianMs;
        }

        double share() {
            return total <= 0 ? 0 : (double) finished / total;
        }
    }

    private static final class Stage {
        final int total;
        long[] durationsMs = new long[16];
        int finished;

        Stage(int total) {
            this.total = total;
        }
    }

    private final Map<String, Stage> stages = new HashMap<>();

    static String key(int stageId, int stageAttempt) {
        return stageId + "." + stageAttempt;
    }

    synchronized void submitted(int stageId, int stageAttempt, int tasks) {
        stages.put(key(stageId, stageAttempt), new Stage(tasks));
    }

    synchronized void taskSucceeded(int stageId, int stageAttempt, long durationMs) {
        Stage stage = stages.get(key(stageId, stageAttempt));
        if (stage != null) {
            if (stage.finished == stage.durationsMs.length) {
                stage.durationsMs = Arrays.copyOf(stage.durationsMs, stage.finished * 2);
            }
            stage.durationsMs[stage.finished++] = durationMs;
        }
    }

    synchronized void completed(int stageId, int stageAttempt) {
        stages.remove(key(stageId, stageAttempt));
    }

    /** The figures of a stage attempt; the median is the element at floor(n/2), as Spark's own speculation takes it. */
    synchronized Figures figures(String key) {
        Stage stage = stages.get(key);
        if (stage == null || stage.finished == 0) {
            return stage == null ? Figures.NONE : new Figures(0, stage.total, 0);
        }
        long[] sorted = Arrays.copyOf(stage.durationsMs, stage.finished);
        Arrays.sort(sorted);
        return new Figures(stage.finished, stage.total, sorted[stage.finished / 2]);
    }
}
