package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import org.junit.Test;

public class SpanTagTest {
    private static final TaskInfo TASK = new TaskInfo(3, 1, 5, 17, 2, "worker", 7, 1, 100);

    private static void assertFields(SpanTag tag, String outcome) {
        assertEquals(3, tag.stageId);
        assertEquals(1, tag.stageAttempt);
        assertEquals(5, tag.partition);
        assertEquals(17, tag.taskId);
        assertEquals(2, tag.taskAttempt);
        assertEquals(outcome, tag.outcome);
    }

    @Test
    public void whatIsWrittenIsRead() {
        String text = SpanTag.of(TASK, SpanTag.KILLED);
        assertEquals("spark-probe;stage=3;attempt=1;partition=5;task=17;taskAttempt=2;outcome=killed", text);
        assertFields(SpanTag.parse(text), SpanTag.KILLED);
        assertFields(SpanTag.parse(SpanTag.of(TASK, SpanTag.START)), SpanTag.START);
    }

    @Test
    public void fieldsMayComeInAnyOrderAndMoreOfThem() {
        assertFields(SpanTag.parse("spark-probe;outcome=failed;new=thing;task=17;x;taskAttempt=2;partition=5;attempt=1;"
                + "stage=3"), SpanTag.FAILED);
    }

    @Test
    public void theTagThatSparkMayComeToWrite() {
        assertFields(SpanTag.parse("stageId=3,stageAttemptNumber=1,partitionId=5,taskAttemptId=17,attemptNumber=2,"
                + "status=succeeded"), SpanTag.SUCCEEDED);
        assertFields(SpanTag.parse("stage_id=3, stage_attempt_number=1, partition_id=5, task_attempt_id=17, "
                + "attempt_number=2, status=SUCCESS"), SpanTag.SUCCEEDED);
        assertFields(SpanTag.parse("stageId=3,stageAttemptNumber=1,partitionId=5,taskAttemptId=17,attemptNumber=2,"
                + "status=ExceptionFailure"), SpanTag.FAILED);
    }

    @Test
    public void whatIsNoTasksTagIsNone() {
        String[] tags = {
            null, "", "GET /api/orders", "spark-probe;", "spark-probe;stage=3", "a=1,b=2",
            "spark-probe;stage=3;attempt=1;partition=5;task=17;taskAttempt=2",
            "spark-probe;stage=x;attempt=1;partition=5;task=17;taskAttempt=2;outcome=failed",
            "stageId=3,partitionId=5,status=succeeded",
        };
        for (String tag : tags) {
            assertNull(tag, SpanTag.parse(tag));
        }
    }
}
