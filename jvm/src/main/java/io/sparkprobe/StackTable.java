package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The frames and stacks of one flush, each once; the same stack of two chunks or two class loaders is one. */
final class StackTable {
    /** Leaf and only frame of samples whose stack is not in the chunk. */
    static final String NO_STACK = "[no_stack]";
    /** Leaf and only frame of samples whose stack came after {@link DigestLimits#maxStacks}. */
    static final String STACK_LIMIT = "[stack_limit]";

    private static final String NATIVE = FrameNames.TYPES[FrameNames.NATIVE];

    private final DigestLimits limits;
    private final LongIntMap frameIds = new LongIntMap(1024);
    private final List<String> frameNames = new ArrayList<>();
    private final List<String> frameTypes = new ArrayList<>();
    private int[] frameLines = new int[1024];
    private long[] frameHashes = new long[1024];
    private long nameChars;

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
        if (id == frameLines.length) {
            frameLines = Arrays.copyOf(frameLines, id * 2);
            frameHashes = Arrays.copyOf(frameHashes, id * 2);
        }
        frameLines[id] = line;
        frameHashes[id] = hash;
        return id;
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
        return 2 * nameChars + 80L * frameCount() + 4L * frames.length + 44L * stackHashes.length;
    }
}
