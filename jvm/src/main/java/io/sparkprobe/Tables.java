package io.sparkprobe;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The tables of one flush (FORMAT.md), as column buffers. Not thread-safe. */
final class Tables {
    /** The task metrics in the order of {@link TaskInfo#metrics}; names and units are the columns' of FORMAT.md. */
    static final List<String> TASK_METRICS = Collections.unmodifiableList(Arrays.asList(
            "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_serialize_ms",
            "memory_spill_bytes", "disk_spill_bytes", "peak_memory_bytes", "result_bytes",
            "input_bytes", "input_records", "output_bytes", "output_records",
            "shuffle_read_bytes", "shuffle_read_records", "shuffle_write_bytes", "shuffle_write_records",
            "fetch_wait_ms"));
    /** The units that the names of columns do not say, as JSON: column -> unit. */
    static final String UNITS = "{\"sample.value\": \"ns; bytes where event is alloc\"}";

    private final Table sample = new Table("sample");
    private final Table.Runs sampleRecording = sample.intRuns("recording_id");
    private final Table.Runs sampleStage = sample.intRuns("stage_id");
    private final Table.Runs sampleStageAttempt = sample.intRuns("stage_attempt");
    private final Table.Runs sampleTask = sample.longRuns("task_id");
    private final Table.Runs sampleSql = sample.longRuns("sql_execution_id");
    private final Table.Runs sampleKind = sample.stringRuns("kind");
    private final Table.Runs sampleEvent = sample.stringRuns("event");
    private final Table.Runs sampleState = sample.stringRuns("state");
    private final Table.Runs sampleBucket = sample.longRuns("bucket_ms");
    private final Table.Longs sampleStack = sample.longs("stack_hash", Table.Packing.DICTIONARY);
    private final Table.Longs sampleSamples = sample.longs("samples");
    private final Table.Longs sampleValue = sample.longs("value");

    private final Table stack = new Table("stack");
    private final Table.Longs stackHash = stack.longs("stack_hash");
    private final Table.IntLists stackFrames = stack.intLists("frames");

    private final Table frame = new Table("frame");
    private final Table.Longs frameId = frame.sequence("id");
    private final Table.Strings frameName = frame.sortedStrings("name");
    private final Table.Strings frameType = frame.strings("type");
    private final Table.Longs frameLine = frame.ints("line");

    private final Table task = new Table("task");
    private final Table.Longs taskStage = task.ints("stage_id");
    private final Table.Longs taskStageAttempt = task.ints("stage_attempt");
    private final Table.Longs taskPartition = task.ints("partition");
    private final Table.Longs taskAttempt = task.ints("task_attempt");
    private final Table.Longs taskId = task.longs("task_id");
    private final Table.Strings taskThread = task.strings("thread");
    private final Table.Longs taskThreadId = task.longs("java_thread_id");
    private final Table.Longs taskStartMs = task.longs("start_ms", Table.Packing.DELTA);
    private final Table.Longs taskStartNs = task.longs("start_mono_ns", Table.Packing.DELTA);
    private final Table.Longs taskEndMs = task.longs("end_ms", Table.Packing.DELTA);
    private final Table.Longs taskEndNs = task.longs("end_mono_ns", Table.Packing.DELTA);
    private final Table.Strings taskOutcome = task.strings("outcome");
    private final Table.Strings taskReason = task.strings("reason");
    private final Table.Longs taskThreadCpu = task.longs("thread_cpu_ns");
    private final Table.Longs[] taskMetrics = new Table.Longs[TASK_METRICS.size()];

    private final Table recording = new Table("recording");
    private final Table.Longs recordingId = recording.ints("recording_id");
    private final Table.Strings recordingPurpose = recording.strings("purpose");
    private final Table.Strings recordingEngine = recording.strings("engine");
    private final Table.Longs recordingCpu = recording.longs("cpu_interval_ns");
    private final Table.Longs recordingWall = recording.longs("wall_interval_ns");
    private final Table.Longs recordingAlloc = recording.longs("alloc_interval_bytes");
    private final Table.Longs recordingLock = recording.longs("lock_interval_ns");
    private final Table.Longs chunkStartMs = recording.longs("chunk_start_ms");
    private final Table.Longs chunkStartNs = recording.longs("chunk_start_mono_ns");
    private final Table.Longs chunkEndMs = recording.longs("chunk_end_ms");
    private final Table.Longs chunkEndNs = recording.longs("chunk_end_mono_ns");
    private final Table.Longs recordingBytes = recording.longs("jfr_bytes");
    private final Table.Longs recordingEvents = recording.longs("events");
    private final Table.Longs recordingSamples = recording.longs("samples");

    private final Table trigger = new Table("trigger");
    private final Table.Longs triggerMs = trigger.longs("time_ms");
    private final Table.Longs triggerNs = trigger.longs("time_mono_ns");
    private final Table.Strings triggerRule = trigger.strings("rule");
    private final Table.Longs triggerStage = trigger.ints("stage_id");
    private final Table.Longs triggerStageAttempt = trigger.ints("stage_attempt");
    private final Table.Longs triggerTask = trigger.longs("task_id");
    private final Table.Doubles triggerThreshold = trigger.doubles("threshold");
    private final Table.Doubles triggerValue = trigger.doubles("value");
    private final Table.Strings triggerUnit = trigger.strings("unit");
    private final Table.Strings triggerAction = trigger.strings("action");
    private final Table.Longs triggerRecording = trigger.ints("recording_id");
    private final Table.Strings triggerNote = trigger.strings("note");

    private final Table dump = new Table("dump");
    private final Table.Longs dumpMs = dump.longs("time_ms");
    private final Table.Longs dumpNs = dump.longs("time_mono_ns");
    private final Table.Longs dumpTask = dump.longs("task_id");
    private final Table.Longs dumpStage = dump.ints("stage_id");
    private final Table.Longs dumpStageAttempt = dump.ints("stage_attempt");
    private final Table.Longs dumpTriggerNs = dump.longs("trigger_time_mono_ns");
    private final Table.Strings dumpThread = dump.strings("thread");
    private final Table.Strings dumpThreadState = dump.strings("thread_state");
    private final Table.Strings dumpText = dump.strings("text");

    private final Table gc = new Table("gc");
    private final Table.Longs gcStartMs = gc.longs("start_ms", Table.Packing.DELTA);
    private final Table.Longs gcStartNs = gc.longs("start_mono_ns", Table.Packing.DELTA);
    private final Table.Longs gcDuration = gc.longs("duration_ns");
    private final Table.Longs gcPause = gc.booleans("pause");
    private final Table.Strings gcCollector = gc.strings("collector");
    private final Table.Strings gcAction = gc.strings("action");
    private final Table.Strings gcCause = gc.strings("cause");
    private final Table.Longs gcHeapBefore = gc.longs("heap_before_bytes");
    private final Table.Longs gcHeapAfter = gc.longs("heap_after_bytes");
    private final Table.Longs gcHeapMax = gc.longs("heap_max_bytes");

    private final List<Table> all =
            Collections.unmodifiableList(Arrays.asList(sample, stack, frame, task, recording, trigger, dump, gc));

    Tables() {
        for (int i = 0; i < taskMetrics.length; i++) {
            taskMetrics[i] = task.longs(TASK_METRICS.get(i));
        }
    }

    /** All tables in the order of FORMAT.md, empty ones too. */
    List<Table> all() {
        return all;
    }

    /** The state of a task attempt as of now; call it once a flush for each task that changed or runs. */
    void addTask(TaskInfo info) {
        boolean running = info.running();
        taskStage.add(info.stageId);
        taskStageAttempt.add(info.stageAttempt);
        taskPartition.add(info.partition);
        taskAttempt.add(info.taskAttempt);
        taskId.add(info.taskId);
        taskThread.add(info.thread);
        taskThreadId.add(info.javaThreadId);
        taskStartMs.add(info.startMs);
        taskStartNs.add(info.startNs);
        taskEndMs.add(running ? Table.Longs.NULL : info.endMs);
        taskEndNs.add(running ? Table.Longs.NULL : info.endNs);
        taskOutcome.add(info.outcome);
        taskReason.add(info.reason);
        taskThreadCpu.add(info.threadCpuNs);
        long[] metrics = info.metrics;
        for (int i = 0; i < taskMetrics.length; i++) {
            taskMetrics[i].add(metrics == null ? Table.Longs.NULL : metrics[i]);
        }
    }

    /** @param threshold NaN where the rule has none */
    void addTrigger(long timeMs, long timeMonoNs, String rule, int stageId, int stageAttempt, long task,
                    double threshold, double value, String unit, String action, int recording, String note) {
        triggerMs.add(timeMs);
        triggerNs.add(timeMonoNs);
        triggerRule.add(rule);
        triggerStage.add(stageId);
        triggerStageAttempt.add(stageAttempt);
        triggerTask.add(task);
        triggerThreshold.add(threshold);
        triggerValue.add(value);
        triggerUnit.add(unit);
        triggerAction.add(action);
        triggerRecording.add(recording);
        triggerNote.add(note);
    }

    void addDump(long timeMs, long timeMonoNs, long task, int stageId, int stageAttempt, long triggerTimeMonoNs,
                 String thread, String threadState, String text) {
        dumpMs.add(timeMs);
        dumpNs.add(timeMonoNs);
        dumpTask.add(task);
        dumpStage.add(stageId);
        dumpStageAttempt.add(stageAttempt);
        dumpTriggerNs.add(triggerTimeMonoNs);
        dumpThread.add(thread);
        dumpThreadState.add(threadState);
        dumpText.add(text);
    }

    void addGc(long startMs, long startMonoNs, long durationNs, boolean pause, String collector, String action,
               String cause, long heapBeforeBytes, long heapAfterBytes, long heapMaxBytes) {
        gcStartMs.add(startMs);
        gcStartNs.add(startMonoNs);
        gcDuration.add(durationNs);
        gcPause.add(pause ? 1 : 0);
        gcCollector.add(collector);
        gcAction.add(action);
        gcCause.add(cause);
        gcHeapBefore.add(heapBeforeBytes);
        gcHeapAfter.add(heapAfterBytes);
        gcHeapMax.add(heapMaxBytes);
    }

    void addRecording(RecordingInfo info, long startMs, long startMonoNs, long endMs, long endMonoNs, long jfrBytes,
                      long events, long samples) {
        recordingId.add(info.recordingId);
        recordingPurpose.add(info.purpose);
        recordingEngine.add(info.engine);
        recordingCpu.add(info.cpuIntervalNs);
        recordingWall.add(info.wallIntervalNs);
        recordingAlloc.add(info.allocIntervalBytes);
        recordingLock.add(info.lockIntervalNs);
        chunkStartMs.add(startMs);
        chunkStartNs.add(startMonoNs);
        chunkEndMs.add(endMs);
        chunkEndNs.add(endMonoNs);
        recordingBytes.add(jfrBytes);
        recordingEvents.add(events);
        recordingSamples.add(samples);
    }

    /** Moves what a digest counted into the tables: the samples, and the stacks and frames that they use. */
    void addSamples(SampleTable samples, StackTable stacks) {
        SampleOrder order = new SampleOrder(samples, stacks);
        for (SampleContext context : order.contexts()) {
            int rows = context.size();
            sampleRecording.add((long) context.recordingId, rows);
            sampleStage.add((long) context.stageId, rows);
            sampleStageAttempt.add((long) context.stageAttempt, rows);
            sampleTask.add(context.taskId, rows);
            sampleSql.add(context.sqlExecutionId, rows);
            sampleKind.add(context.kind, rows);
            sampleEvent.add(context.event(), rows);
            sampleState.add(context.state(), rows);
            sampleBucket.add(context.bucketMs, rows);
            for (int index : order.stacks(context)) {
                sampleStack.add(stacks.stackHash(index));
                sampleSamples.add(context.samples(index));
                sampleValue.add(context.value(index));
            }
        }
        for (int frameIndex : order.frames()) {
            frameId.add(frame.rows());
            frameName.add(stacks.frameName(frameIndex));
            frameType.add(stacks.frameType(frameIndex));
            frameLine.add(stacks.frameLine(frameIndex));
        }
        int[] numbers = order.frameNumbers();
        for (int index : order.stacks()) {
            stackHash.add(stacks.stackHash(index));
            stackFrames.start();
            for (int i = stacks.start(index); i < stacks.end(index); i++) {
                stackFrames.push(numbers[stacks.frames()[i]]);
            }
        }
    }

    /** Whether no table has a row. */
    boolean isEmpty() {
        for (Table table : all) {
            if (table.rows() > 0) {
                return false;
            }
        }
        return true;
    }
}
