package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The frames and stacks of one flush, each once; the same stack of two chunks or two class loaders is one. */
final class StackTable {
    /** Leaf and only frame of samples whose stack is not in the chunk. */
    static final String NO_STACK = "[no_stack]";
    /** Leaf and only frame of samples whose stack came after {@link DigestLimits#maxStacks}. */
    static final String STACK_LIMIT = "[stack_limit]";

    /** Answer for a stack of which only async-profiler's own signal handler is known. */
    static final int IN_HANDLER = -2;
    private static final String HANDLER = "WallClock::signalHandler";
    /** Where the kernel returns to from a handler, in glibc and in the vdso of arm64. */
    private static final List<String> HANDLER_CALLERS = Arrays.asList("__restore_rt", "__kernel_rt_sigreturn");

    private static final String NATIVE = FrameNames.TYPES[FrameNames.NATIVE];

    private final DigestLimits limits;
    private final LongIntMap frameIds = new LongIntMap(1024);
    private final List<String> frameNames = new ArrayList<>();
    private final List<String> frameTypes = new ArrayList<>();
    private int[] frameLines = new int[1024];
    private long[] frameHashes = new long[1024];
    private long nameChars;
    private final BitSet handlers = new BitSet();
    private final Map<Integer, Integer> withoutHandler = new HashMap<>();
    /** Hash of what a chunk's pools say of a frame -> its id here; of a class -> whether its lines are kept. */
    private final LongIntMap known = new LongIntMap(1024);
    private final LongIntMap knownLines = new LongIntMap(256);

    private final LongIntMap stackIds = new LongIntMap(1024);
    private long[] stackHashes = new long[1024];
    private int[] stackEnds = new int[1024];
    private int[] frames = new int[32 * 1024];
    private boolean full;

    StackTable(DigestLimits limits) {
        this.limits = limits;
    }

    int frame(String type, String name, int line) {
        long hash = FrameNames.frameHash(type, name, line);
        int id = frameIds.get(hash);
        if (id >= 0) {
            return id;
        }
        id = frameIds.size();
        frameIds.put(hash, id);
        frameNames.add(name);
        frameTypes.add(type);
        nameChars += name.length();
        if (name.equals(HANDLER)) {
            handlers.set(id);
        }
        if (id == frameLines.length) {
            frameLines = Arrays.copyOf(frameLines, id * 2);
            frameHashes = Arrays.copyOf(frameHashes, id * 2);
        }
        frameLines[id] = line;
        frameHashes[id] = hash;
        return id;
    }

    /**
     * Index of a stack without async-profiler's handler of the wall signal, and what it called: the stack itself where
     * the handler is not in it, {@link #IN_HANDLER} where it has nothing else.
     */
    int withoutHandler(int index) {
        if (handlers.isEmpty()) {
            return index;
        }
        Integer known = withoutHandler.get(index);
        if (known == null) {
            known = cutHandler(index);
            withoutHandler.put(index, known);
        }
        return known;
    }

    private int cutHandler(int index) {
        int start = start(index);
        for (int i = start; i < end(index); i++) {
            if (!handlers.get(frames[i])) {
                continue;
            }
            int depth = i - start;
            if (depth > 0 && HANDLER_CALLERS.contains(frameNames.get(frames[i - 1]))) {
                depth--;
            }
            int[] leafFirst = new int[depth];
            for (int k = 0; k < depth; k++) {
                leafFirst[k] = frames[start + depth - 1 - k];
            }
            return depth == 0 ? IN_HANDLER : stack(leafFirst, depth);
        }
        return index;
    }

    /** The frame that {@link #know} was told of, or -1. */
    int knownFrame(long hash) {
        return known.get(hash);
    }

    void know(long hash, int frame) {
        known.put(hash, frame);
    }

    /** 1 where the lines of a class are kept, 0 where not, -1 where {@link #knowLines} was not told. */
    int knownLines(long classHash) {
        return knownLines.get(classHash);
    }

    void knowLines(long classHash, int kept) {
        knownLines.put(classHash, kept);
    }

    /** Index of the stack of these frames, leaf first in the array. */
    int stack(int[] leafFirst, int depth) {
        long hash = FrameNames.STACK_HASH_START;
        for (int i = depth - 1; i >= 0; i--) {
            hash = FrameNames.push(hash, frameHashes[leafFirst[i]]);
        }
        int index = stackIds.get(hash);
        if (index >= 0) {
            return index;
        }
        index = stackIds.size();
        if (atLimit() && !isLimitMarker(leafFirst, depth)) {
            full = true;
            return limitStack();
        }
        stackIds.put(hash, index);
        int start = start(index);
        if (index == stackEnds.length) {
            stackEnds = Arrays.copyOf(stackEnds, index * 2);
            stackHashes = Arrays.copyOf(stackHashes, index * 2);
        }
        if (start + depth > frames.length) {
            frames = Arrays.copyOf(frames, Math.max(start + depth, frames.length * 2));
        }
        for (int i = 0; i < depth; i++) {
            frames[start + i] = leafFirst[depth - 1 - i];
        }
        stackHashes[index] = hash;
        stackEnds[index] = start + depth;
        return index;
    }

    /** A made-up frame, {@link #NO_STACK} or {@link #STACK_LIMIT}. */
    int marker(String name) {
        return frame(NATIVE, name, 0);
    }

    /** Index of the stack that stands for those beyond the limit. */
    int limitStack() {
        return stack(new int[] {marker(STACK_LIMIT)}, 1);
    }

    private boolean atLimit() {
        int count = stackIds.size();
        return count >= limits.maxStacks || (count & 255) == 0 && bytes() > limits.maxBytes / 2;
    }

    private boolean isLimitMarker(int[] leafFirst, int depth) {
        return depth == 1 && frameNames.get(leafFirst[0]).equals(STACK_LIMIT);
    }

    /** Whether a stack was replaced by {@link #STACK_LIMIT}. */
    boolean full() {
        return full;
    }

    int stackCount() {
        return stackIds.size();
    }

    int frameCount() {
        return frameIds.size();
    }

    long stackHash(int index) {
        return stackHashes[index];
    }

    /** Position of a stack's root frame in {@link #frames()}; the leaf's is one before {@link #end}. */
    int start(int index) {
        return index == 0 ? 0 : stackEnds[index - 1];
    }

    int end(int index) {
        return stackEnds[index];
    }

    int[] frames() {
        return frames;
    }

    String frameName(int id) {
        return frameNames.get(id);
    }

    String frameType(int id) {
        return frameTypes.get(id);
    }

    int frameLine(int id) {
        return frameLines[id];
    }

    /** Estimate of the heap taken. */
    long bytes() {
        return 2 * nameChars + 140L * frameCount() + 4L * frames.length + 44L * stackHashes.length;
    }
}
